package cleanup_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/cleanup"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const region = "eu-central-1"

// target is the operator's own account and region.
var target = awsapi.Target{}

// simulated is AWS on loopback with a VPC, a cluster named demo in it that is being deleted, and a
// cleaner.
type simulated struct {
	t       *testing.T
	sim     *simulator.Simulator
	clients *awsapi.Clients
	cleaner *cleanup.Cleaner
	clock   *testclock.FakePassiveClock
	cluster *v1alpha1.Cluster
	vpc     string
	apis
	// seen is what truly exists.
	seen apis
}

// apis are clients of what a cluster's workload creates.
type apis struct {
	ec2       *ec2.Client
	classic   *elb.Client
	balancers *elbv2.Client
	zones     *route53.Client
}

func newAPIs(endpoint string) apis {
	config := aws.Config{
		Region: region, BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("123456789012", "secret", ""),
	}
	return apis{ec2.NewFromConfig(config), elb.NewFromConfig(config), elbv2.NewFromConfig(config), route53.NewFromConfig(config)}
}

func newAWS(t *testing.T) *simulated {
	t.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	a := &simulated{t: t, clock: testclock.NewFakePassiveClock(now)}
	sim, endpoint := simulatortest.Start(t, simulator.Options{
		Region: region, Faults: &fault.Injector{}, Patience: time.Millisecond,
	})
	a.sim = sim
	keys := credentials.NewStaticCredentialsProvider("123456789012", "secret", "")
	clients, err := awsapi.New(t.Context(), awsapi.Options{
		Region: region, EndpointURL: endpoint, Credentials: keys, Budgets: map[string]awsapi.Budget{awsapi.AnyService: awsapi.Unlimited},
	})
	must(t, err)
	a.apis, a.seen = newAPIs(endpoint), newAPIs(simulatortest.Serve(t, sim.Observer()))
	made, err := a.ec2.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	must(t, err)
	a.vpc = aws.ToString(made.Vpc.VpcId)
	a.clients, a.cleaner = clients, cleanup.New(clients, "test", a.clock, logr.Discard())
	a.cluster = &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", DeletionTimestamp: &metav1.Time{Time: now}},
		Status:     v1alpha1.ClusterStatus{Outputs: map[string]string{"VPC": a.vpc}},
	}
	return a
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type call func(context.Context, *v1alpha1.Cluster, awsapi.Target) operatorkit.Outcome

// finishes calls until nothing is left to wait for.
func (a *simulated) finishes(remove call) {
	a.t.Helper()
	deadline := time.NewTimer(patience.Left(a.t))
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		outcome := remove(a.t.Context(), a.cluster, target)
		if outcome.IsDone() {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			a.t.Fatalf("it never ends: %s", outcome)
		}
	}
}

// leaves waits until the sweep reports something that the user has to delete.
func (a *simulated) leaves(id string) {
	a.t.Helper()
	patience.Until(a.t, "the sweep reports "+id, func() error {
		outcome := a.cleaner.Sweep(a.t.Context(), a.cluster, target)
		if outcome.Reason() != "LeftOver" || !strings.Contains(outcome.Message(), id) {
			return errors.New(outcome.String())
		}
		return nil
	})
}

func owned(cluster string) map[string]string {
	return map[string]string{"kubernetes.io/cluster/" + cluster: "owned"}
}

func specs(kind types.ResourceType, tags map[string]string) []types.TagSpecification {
	if len(tags) == 0 {
		return nil
	}
	spec := types.TagSpecification{ResourceType: kind}
	for key, value := range tags {
		spec.Tags = append(spec.Tags, types.Tag{Key: aws.String(key), Value: aws.String(value)})
	}
	return []types.TagSpecification{spec}
}

func (a *simulated) inVPC() []types.Filter {
	return []types.Filter{{Name: aws.String("vpc-id"), Values: []string{a.vpc}}}
}

func (a *simulated) subnet() string {
	a.t.Helper()
	made, err := a.ec2.CreateSubnet(
		a.t.Context(),
		&ec2.CreateSubnetInput{VpcId: &a.vpc, CidrBlock: aws.String("10.0.1.0/24"), AvailabilityZone: aws.String(region + "a")},
	)
	must(a.t, err)
	return aws.ToString(made.Subnet.SubnetId)
}

func (a *simulated) group(name string, tags map[string]string) string {
	a.t.Helper()
	made, err := a.ec2.CreateSecurityGroup(a.t.Context(), &ec2.CreateSecurityGroupInput{
		GroupName: &name, Description: &name, VpcId: &a.vpc, TagSpecifications: specs(types.ResourceTypeSecurityGroup, tags),
	})
	must(a.t, err)
	return aws.ToString(made.GroupId)
}

// letIn adds a rule to a group that lets another in.
func (a *simulated) letIn(group, other string) {
	a.t.Helper()
	_, err := a.ec2.AuthorizeSecurityGroupIngress(
		a.t.Context(),
		&ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: []types.IpPermission{{
			IpProtocol: aws.String("tcp"), FromPort: aws.Int32(80), ToPort: aws.Int32(80),
			UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &other}},
		}}},
	)
	must(a.t, err)
}

// rules counts the groups that a group lets in.
func (a *simulated) rules(group string) (count int) {
	a.t.Helper()
	out, err := a.seen.ec2.DescribeSecurityGroups(a.t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}})
	must(a.t, err)
	for _, rule := range out.SecurityGroups[0].IpPermissions {
		count += len(rule.UserIdGroupPairs)
	}
	return count
}

// groups returns the names of the VPC's groups, without the default one.
func (a *simulated) groups() (names []string) {
	a.t.Helper()
	out, err := a.seen.ec2.DescribeSecurityGroups(a.t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: a.inVPC()})
	must(a.t, err)
	for i := range out.SecurityGroups {
		if name := aws.ToString(out.SecurityGroups[i].GroupName); name != "default" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// balancerNames returns what there is of load balancers and target groups.
func (a *simulated) balancerNames() (names []string) {
	a.t.Helper()
	classic, err := a.seen.classic.DescribeLoadBalancers(a.t.Context(), &elb.DescribeLoadBalancersInput{})
	must(a.t, err)
	for i := range classic.LoadBalancerDescriptions {
		names = append(names, "classic "+aws.ToString(classic.LoadBalancerDescriptions[i].LoadBalancerName))
	}
	newer, err := a.seen.balancers.DescribeLoadBalancers(a.t.Context(), &elbv2.DescribeLoadBalancersInput{})
	must(a.t, err)
	for i := range newer.LoadBalancers {
		names = append(names, aws.ToString(newer.LoadBalancers[i].LoadBalancerName))
	}
	groups, err := a.seen.balancers.DescribeTargetGroups(a.t.Context(), &elbv2.DescribeTargetGroupsInput{})
	must(a.t, err)
	for i := range groups.TargetGroups {
		names = append(names, "group "+aws.ToString(groups.TargetGroups[i].TargetGroupName))
	}
	slices.Sort(names)
	return names
}

func (a *simulated) networkInterface(subnet string, tags map[string]string) string {
	a.t.Helper()
	made, err := a.ec2.CreateNetworkInterface(
		a.t.Context(),
		&ec2.CreateNetworkInterfaceInput{SubnetId: &subnet, TagSpecifications: specs(types.ResourceTypeNetworkInterface, tags)},
	)
	must(a.t, err)
	return aws.ToString(made.NetworkInterface.NetworkInterfaceId)
}

func (a *simulated) interfaces() (ids []string) {
	a.t.Helper()
	out, err := a.seen.ec2.DescribeNetworkInterfaces(a.t.Context(), &ec2.DescribeNetworkInterfacesInput{Filters: a.inVPC()})
	must(a.t, err)
	for i := range out.NetworkInterfaces {
		ids = append(ids, aws.ToString(out.NetworkInterfaces[i].NetworkInterfaceId))
	}
	return ids
}

func (a *simulated) volume(tags map[string]string) string {
	a.t.Helper()
	made, err := a.ec2.CreateVolume(a.t.Context(), &ec2.CreateVolumeInput{
		AvailabilityZone: aws.String(region + "a"), Size: aws.Int32(1), TagSpecifications: specs(types.ResourceTypeVolume, tags),
	})
	must(a.t, err)
	return aws.ToString(made.VolumeId)
}

func (a *simulated) volumes() (ids []string) {
	a.t.Helper()
	out, err := a.seen.ec2.DescribeVolumes(a.t.Context(), &ec2.DescribeVolumesInput{})
	must(a.t, err)
	for i := range out.Volumes {
		ids = append(ids, aws.ToString(out.Volumes[i].VolumeId))
	}
	return ids
}

// snapshot creates a snapshot of a volume, which it then deletes.
func (a *simulated) snapshot(tags map[string]string) string {
	a.t.Helper()
	volume := a.volume(nil)
	made, err := a.ec2.CreateSnapshot(
		a.t.Context(), &ec2.CreateSnapshotInput{VolumeId: &volume, TagSpecifications: specs(types.ResourceTypeSnapshot, tags)},
	)
	must(a.t, err)
	_, err = a.ec2.DeleteVolume(a.t.Context(), &ec2.DeleteVolumeInput{VolumeId: &volume})
	must(a.t, err)
	return aws.ToString(made.SnapshotId)
}

func (a *simulated) snapshots() (ids []string) {
	a.t.Helper()
	out, err := a.seen.ec2.DescribeSnapshots(a.t.Context(), &ec2.DescribeSnapshotsInput{OwnerIds: []string{"self"}})
	must(a.t, err)
	for i := range out.Snapshots {
		ids = append(ids, aws.ToString(out.Snapshots[i].SnapshotId))
	}
	return ids
}

func (a *simulated) zone(name string) string {
	a.t.Helper()
	made, err := a.zones.CreateHostedZone(a.t.Context(), &route53.CreateHostedZoneInput{
		Name: &name, CallerReference: &name, VPC: &route53types.VPC{VPCId: &a.vpc, VPCRegion: region},
	})
	must(a.t, err)
	return aws.ToString(made.HostedZone.Id)
}

func (a *simulated) publish(zone, name string) {
	a.t.Helper()
	_, err := a.zones.ChangeResourceRecordSets(
		a.t.Context(),
		&route53.ChangeResourceRecordSetsInput{HostedZoneId: &zone, ChangeBatch: &route53types.ChangeBatch{
			Changes: []route53types.Change{{Action: route53types.ChangeActionCreate, ResourceRecordSet: &route53types.ResourceRecordSet{
				Name: &name, Type: route53types.RRTypeA, TTL: aws.Int64(10),
				ResourceRecords: []route53types.ResourceRecord{{Value: aws.String("10.0.1.4")}},
			}}},
		}},
	)
	must(a.t, err)
}

// names returns a zone's names of machines.
func (a *simulated) names(zone string) (names []string) {
	a.t.Helper()
	out, err := a.seen.zones.ListResourceRecordSets(a.t.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: &zone})
	must(a.t, err)
	for i := range out.ResourceRecordSets {
		if record := &out.ResourceRecordSets[i]; record.Type == route53types.RRTypeA {
			names = append(names, aws.ToString(record.Name))
		}
	}
	return names
}

func (a *simulated) removeZone(zone string) {
	a.t.Helper()
	_, err := a.zones.DeleteHostedZone(a.t.Context(), &route53.DeleteHostedZoneInput{Id: &zone})
	must(a.t, err)
}
