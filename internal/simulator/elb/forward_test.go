package elb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
	"github.com/aws-operator/aws-operator/internal/simulator/elb"
	"github.com/aws-operator/aws-operator/internal/simulator/frontend"
	"github.com/aws-operator/aws-operator/internal/simulator/iam"
	"github.com/aws-operator/aws-operator/internal/simulator/kms"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// host is a host whose machines answer with their instance and the port, except one, which refuses.
type host struct {
	machine.Absent

	refuses string
}

func (h *host) Dial(_ context.Context, id string, port int) (net.Conn, error) {
	if id == h.refuses {
		return nil, errors.New("connection refused")
	}
	client, server := net.Pipe()
	go func() {
		_, _ = fmt.Fprintf(server, "%s at %d", id, port)
		_ = server.Close()
	}()
	return client, nil
}

func TestClassicLoadBalancerForwardsToInstancesThatAccept(t *testing.T) {
	ctx := t.Context()
	env, keys := &resource.Env{Clock: clock.RealClock{}}, &wire.Keys{}
	networks := vpc.New(env)
	compute := ec2.New(env, networks, ec2.Options{Profiles: iam.New(env, keys), Ciphers: kms.New(env), Keys: keys})
	h := &host{}
	frontends := frontend.New(h, nil)
	t.Cleanup(func() { frontends.Close(); compute.Close() })
	config := wiretest.Serve(t, wire.NewRouter([]*wire.Service{
		compute.Service(), elb.New(env, elb.Options{Compute: compute, Networks: networks, Host: h, Frontends: frontends}).Service(),
	}, nil, env.Clock))
	machines, c := awsec2.NewFromConfig(config), awselb.NewFromConfig(config)

	made, err := machines.CreateVpc(ctx, &awsec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	vpcID := *must(t, made, err).Vpc.VpcId
	gateway, err := machines.CreateInternetGateway(ctx, &awsec2.CreateInternetGatewayInput{})
	_, err = machines.AttachInternetGateway(ctx, &awsec2.AttachInternetGatewayInput{
		InternetGatewayId: must(t, gateway, err).InternetGateway.InternetGatewayId, VpcId: &vpcID,
	})
	if err != nil {
		t.Fatal(err)
	}
	net1, err := machines.CreateSubnet(ctx, &awsec2.CreateSubnetInput{VpcId: &vpcID, CidrBlock: aws.String("10.0.1.0/24")})
	subnet := *must(t, net1, err).Subnet.SubnetId
	image, _ := compute.PublicParameter("eu-central-1", "/aws/service/canonical/ubuntu/server/24.04/stable/20260610/amd64/hvm/ebs-gp3/ami-id")
	run, err := machines.RunInstances(ctx, &awsec2.RunInstancesInput{
		ImageId: &image, InstanceType: ec2types.InstanceTypeM6iLarge, SubnetId: &subnet, MinCount: aws.Int32(2), MaxCount: aws.Int32(2),
	})
	var instances []types.Instance
	for _, i := range must(t, run, err).Instances {
		instances = append(instances, types.Instance{InstanceId: i.InstanceId})
		patience.UntilTrue(t, "the instance runs", func() bool {
			now, _ := compute.Instance("123456789012", "eu-central-1", *i.InstanceId)
			return now.State == ec2types.InstanceStateNameRunning
		})
	}
	h.refuses = *instances[0].InstanceId
	out, err := c.CreateLoadBalancer(ctx, &awselb.CreateLoadBalancerInput{
		LoadBalancerName: aws.String("A1bC"), Subnets: []string{subnet},
		Listeners: []types.Listener{{LoadBalancerPort: 8080, InstancePort: aws.Int32(30080), Protocol: aws.String("tcp")}},
	})
	name := *must(t, out, err).DNSName
	// As in AWS, the name of an internet-facing load balancer resolves to public addresses, also in its VPC:
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/elb-internet-facing-load-balancers.html
	if inside := frontends.Resolve(vpcID, strings.ToLower(name)); len(inside) != 1 || inside[0].IsPrivate() || inside[0].IsLoopback() {
		t.Errorf("in its VPC, %s has the addresses %v", name, inside)
	}
	outside := frontends.Resolve("", name)
	if len(outside) != 1 || !outside[0].IsLoopback() {
		t.Fatalf("on the host, %s has the addresses %v", name, outside)
	}
	visit := func(port uint16) string {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", netip.AddrPortFrom(outside[0], port).String())
		if err != nil {
			return err.Error()
		}
		defer func() { _ = conn.Close() }()
		said, _ := io.ReadAll(conn)
		return string(said)
	}
	if said := visit(8080); said != "" {
		t.Errorf("without instances it answers %q", said)
	}
	_, err = c.RegisterInstancesWithLoadBalancer(
		ctx, &awselb.RegisterInstancesWithLoadBalancerInput{LoadBalancerName: aws.String("A1bC"), Instances: instances},
	)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if want, said := *instances[1].InstanceId+" at 30080", visit(8080); said != want {
			t.Errorf("it answers %q, want %q", said, want)
		}
	}
	if _, err := c.DeleteLoadBalancer(ctx, &awselb.DeleteLoadBalancerInput{LoadBalancerName: aws.String("A1bC")}); err != nil {
		t.Fatal(err)
	}
	if said := visit(8080); !strings.Contains(said, "refused") {
		t.Errorf("a deleted load balancer answers %q", said)
	}
	if left := frontends.Resolve("", name); left != nil {
		t.Errorf("a deleted load balancer has the addresses %v", left)
	}
}
