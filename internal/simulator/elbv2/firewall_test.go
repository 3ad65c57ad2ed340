package elbv2_test

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/elbv2"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// filteringHost is a host that filters packets.
type filteringHost struct{ *host }

var _ machine.Filtering = filteringHost{}

func (filteringHost) FiltersPackets() bool { return true }

// insider is a connection from within a machine.
type insider struct {
	net.Conn
	id string
}

func (c insider) InstanceID() string { return c.id }

// filtered is a suite with an internal load balancer that has a security group, one target and one
// client.
type filtered struct {
	*suite

	group, balancerGroup, targetGroups string
	balancer                           types.LoadBalancer
	target, client                     string
}

func startFiltered(t *testing.T, balancerGroups ...string) *filtered {
	t.Helper()
	h := newHost()
	f := &filtered{suite: startWith(t, elbv2.Options{Host: filteringHost{h}})}
	f.host = h
	made, err := f.ec2.CreateSecurityGroup(t.Context(), &awsec2.CreateSecurityGroupInput{
		VpcId: &f.vpcID, GroupName: aws.String("balancer"), Description: aws.String("balancer"),
	})
	f.balancerGroup = *must(t, made, err).GroupId
	if balancerGroups == nil {
		balancerGroups = []string{f.balancerGroup}
	}
	out, err := f.CreateLoadBalancer(t.Context(), &awselb.CreateLoadBalancerInput{
		Name: aws.String("api"), Type: types.LoadBalancerTypeEnumNetwork, Scheme: types.LoadBalancerSchemeEnumInternal,
		Subnets: f.subnets, SecurityGroups: balancerGroups,
	})
	f.balancer = must(t, out, err).LoadBalancers[0]
	f.group = f.targetGroup("api", nil)
	f.listener(*f.balancer.LoadBalancerArn, f.group, 6443)
	f.target, f.client = f.launch(0), f.launch(1)
	f.host.listen(t, f.target)
	groups, err := f.ec2.DescribeSecurityGroups(t.Context(), &awsec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
		{Name: aws.String("vpc-id"), Values: []string{f.vpcID}}, {Name: aws.String("group-name"), Values: []string{"default"}},
	}})
	f.targetGroups = *must(t, groups, err).SecurityGroups[0].GroupId
	f.register(f.group, f.target)
	return f
}

func permission(group, cidr string) []ec2types.IpPermission {
	p := ec2types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(6443), ToPort: aws.Int32(6443)}
	if group != "" {
		p.UserIdGroupPairs = []ec2types.UserIdGroupPair{{GroupId: &group}}
	} else {
		p.IpRanges = []ec2types.IpRange{{CidrIp: &cidr}}
	}
	return []ec2types.IpPermission{p}
}

func (f *filtered) allow(to, group, cidr string) {
	f.t.Helper()
	_, err := f.ec2.AuthorizeSecurityGroupIngress(f.t.Context(), &awsec2.AuthorizeSecurityGroupIngressInput{
		GroupId: &to, IpPermissions: permission(group, cidr),
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *filtered) revoke(to, group, cidr string) {
	f.t.Helper()
	_, err := f.ec2.RevokeSecurityGroupIngress(f.t.Context(), &awsec2.RevokeSecurityGroupIngressInput{
		GroupId: &to, IpPermissions: permission(group, cidr),
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// preserve sets whether targets see the addresses of clients.
func (f *filtered) preserve(value string) {
	f.t.Helper()
	_, err := f.ModifyTargetGroupAttributes(f.t.Context(), &awselb.ModifyTargetGroupAttributesInput{
		TargetGroupArn: &f.group,
		Attributes:     []types.TargetGroupAttribute{{Key: aws.String("preserve_client_ip.enabled"), Value: &value}},
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// answers reports whether a machine gets a response through the load balancer.
func (f *filtered) answers(instance string) bool {
	f.t.Helper()
	f.host.mu.Lock()
	serve := f.host.served[netip.AddrPortFrom(f.balancers.Resolve(*f.balancer.VpcId, *f.balancer.DNSName)[0], 6443)]
	f.host.mu.Unlock()
	inside, outside := net.Pipe()
	defer func() { _ = inside.Close() }()
	if err := inside.SetDeadline(time.Now().Add(time.Second)); err != nil { // before the load balancer closes the other end
		f.t.Fatal(err)
	}
	serve(insider{Conn: outside, id: instance})
	_, err := io.ReadFull(inside, make([]byte, 2))
	return err == nil
}

const (
	dropped = "unhealthy Target.Timeout"
	passing = "healthy"
)

// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-security-groups.html
func TestHealthChecksAreSubjectToTheTargetsSecurityGroups(t *testing.T) {
	f := startFiltered(t)
	f.becomes(f.group, f.target, dropped)
	f.allow(f.targetGroups, f.balancerGroup, "")
	f.becomes(f.group, f.target, passing)
	f.revoke(f.targetGroups, f.balancerGroup, "")
	f.becomes(f.group, f.target, dropped)
}

// Without security groups, only the addresses of the load balancer's subnets identify it.
func TestBalancerWithoutSecurityGroupsSendsFromItsSubnets(t *testing.T) {
	f := startFiltered(t, []string{}...)
	if got := f.balancer.SecurityGroups; len(got) > 0 {
		t.Fatalf("it has the groups %v", got)
	}
	f.allow(f.targetGroups, "", "10.0.0.0/16")
	f.becomes(f.group, f.target, passing)
}

func TestClientsAreSubjectToTheBalancersSecurityGroups(t *testing.T) {
	f := startFiltered(t)
	f.allow(f.targetGroups, f.balancerGroup, "")
	f.preserve("false")
	f.becomes(f.group, f.target, passing)
	if f.answers(f.client) {
		t.Error("a client without a rule gets a response")
	}
	f.allow(f.balancerGroup, f.targetGroups, "")
	if !f.answers(f.client) {
		t.Error("a client with a rule gets no response")
	}
	if !f.answers(f.target) {
		t.Error("a target cannot reach itself, though targets do not see the addresses of clients")
	}
}

// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html#client-ip-preservation
func TestPreservedAddressIsWhatTargetsAllow(t *testing.T) {
	f := startFiltered(t)
	f.allow(f.balancerGroup, f.targetGroups, "")
	f.preserve("true")
	f.allow(f.targetGroups, "", "10.0.1.0/24") // the subnet of the target and of one of the load balancer's interfaces
	f.becomes(f.group, f.target, passing)
	f.revoke(f.targetGroups, "", "10.0.1.0/24")
	f.allow(f.targetGroups, "", "10.0.3.0/24") // another interface of the load balancer, not the client
	f.becomes(f.group, f.target, passing)
	if f.answers(f.client) {
		t.Error("the target allows only addresses of the load balancer, and the client gets a response")
	}
	f.allow(f.targetGroups, "", "10.0.2.0/24")
	if !f.answers(f.client) {
		t.Error("the target allows the client's address, and it gets no response")
	}
	if f.answers(f.target) {
		t.Error("a target reaches itself with its own address preserved")
	}
}
