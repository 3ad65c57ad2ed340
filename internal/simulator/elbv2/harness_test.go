package elbv2_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation"
	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
	"github.com/aws-operator/aws-operator/internal/simulator/elbv2"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/iam"
	"github.com/aws-operator/aws-operator/internal/simulator/kms"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

const (
	account = "123456789012"
	region  = "eu-central-1"
)

// host is a host whose machines are listeners of the test, by instance.
type host struct {
	machine.Absent

	mu     sync.Mutex
	open   map[string]net.Listener
	served map[netip.AddrPort]func(net.Conn) // by address in the VPC
	asked  chan struct{}
}

func newHost() *host {
	return &host{open: map[string]net.Listener{}, served: map[netip.AddrPort]func(net.Conn){}, asked: make(chan struct{}, 64)}
}

func (h *host) Dial(ctx context.Context, id string, _ int) (net.Conn, error) {
	h.mu.Lock()
	l := h.open[id]
	h.mu.Unlock()
	if l != nil {
		select {
		case h.asked <- struct{}{}:
		default: // few tests listen
		}
	}
	if l == nil {
		return nil, errors.New("connection refused")
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
}

func (h *host) Serve(at machine.Frontend, serve func(net.Conn)) func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range at.Addresses {
		h.served[netip.AddrPortFrom(a, at.Port)] = serve
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, a := range at.Addresses {
			delete(h.served, netip.AddrPortFrom(a, at.Port))
		}
	}
}

// listen makes an instance accept connections: it sends its ID, then echoes, and continues after
// the client has closed its half.
func (h *host) listen(t *testing.T, id string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				if _, err := io.WriteString(c, id+"\n"); err != nil {
					return
				}
				_, _ = io.Copy(c, c)
				_, _ = io.WriteString(c, "bye")
			}()
		}
	}()
	h.mu.Lock()
	h.open[id] = l
	h.mu.Unlock()
}

// shut makes an instance refuse connections.
func (h *host) shut(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.open[id].Close()
	delete(h.open, id)
}

// suite is Elastic Load Balancing with EC2 and CloudFormation, in an account with a VPC of three
// subnets.
type suite struct {
	*awselb.Client

	t       *testing.T
	ec2     *awsec2.Client
	cfn     *awscfn.Client
	compute *ec2.Service
	host    *host
	vpcID   string
	subnets []string

	balancers *elbv2.Service
}

func start(t *testing.T, machines bool) *suite {
	t.Helper()
	if !machines {
		return startWith(t, elbv2.Options{})
	}
	h := newHost()
	w := startWith(t, elbv2.Options{Host: h})
	w.host = h
	return w
}

func startWith(t *testing.T, o elbv2.Options) *suite {
	t.Helper()
	return startAt(t, clock.RealClock{}, o)
}

func startAt(t *testing.T, clk clock.WithTickerAndDelayedExecution, o elbv2.Options) *suite {
	t.Helper()
	w := &suite{t: t}
	env := &resource.Env{Clock: clk}
	keys := &wire.Keys{}
	networks := vpc.New(env)
	w.compute = ec2.New(env, networks, ec2.Options{Profiles: iam.New(env, keys), Ciphers: kms.New(env), Keys: keys})
	o.Compute, o.Networks, o.Patience = w.compute, networks, cmp.Or(o.Patience, 20*time.Millisecond)
	balancers := elbv2.New(env, o)
	w.balancers = balancers
	engine := cloudformation.New(cloudformation.Options{Env: env, Providers: balancers.Providers(), Faults: fault.New()})
	t.Cleanup(func() { balancers.Close(); w.compute.Close() })
	config := wiretest.Serve(t, wire.NewRouter([]*wire.Service{w.compute.Service(), balancers.Service(), engine.Service()}, nil, env.Clock))
	w.Client, w.ec2, w.cfn = awselb.NewFromConfig(config), awsec2.NewFromConfig(config), awscfn.NewFromConfig(config)

	made, err := w.ec2.CreateVpc(t.Context(), &awsec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	w.vpcID = *must(t, made, err).Vpc.VpcId
	for i, zone := range []string{"a", "b", "c"} {
		subnet, err := w.ec2.CreateSubnet(t.Context(), &awsec2.CreateSubnetInput{
			VpcId: &w.vpcID, CidrBlock: aws.String(fmt.Sprintf("10.0.%d.0/24", i+1)), AvailabilityZone: aws.String(region + zone),
		})
		w.subnets = append(w.subnets, *must(t, subnet, err).Subnet.SubnetId)
	}
	return w
}

func must[T any](t *testing.T, out T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// launch launches an instance into a subnet and waits until it runs.
func (w *suite) launch(subnet int) string {
	w.t.Helper()
	image, _ := w.compute.PublicParameter(region, "/aws/service/canonical/ubuntu/server/24.04/stable/20260610/amd64/hvm/ebs-gp3/ami-id")
	out, err := w.ec2.RunInstances(w.t.Context(), &awsec2.RunInstancesInput{
		ImageId: &image, InstanceType: ec2types.InstanceTypeM6iLarge, SubnetId: &w.subnets[subnet], MinCount: aws.Int32(1),
		MaxCount: aws.Int32(1),
	})
	id := *must(w.t, out, err).Instances[0].InstanceId
	w.eventually("instance "+id, func() bool {
		i, _ := w.compute.Instance(account, region, id)
		return i.State == ec2types.InstanceStateNameRunning
	})
	return id
}

func (w *suite) balancer(name string) types.LoadBalancer {
	w.t.Helper()
	out, err := w.CreateLoadBalancer(w.t.Context(), &awselb.CreateLoadBalancerInput{
		Name: &name, Type: types.LoadBalancerTypeEnumNetwork, Scheme: types.LoadBalancerSchemeEnumInternal, Subnets: w.subnets,
		Tags: []types.Tag{{Key: aws.String("cluster"), Value: aws.String("demo")}},
	})
	return must(w.t, out, err).LoadBalancers[0]
}

func (w *suite) targetGroup(name string, change func(*awselb.CreateTargetGroupInput)) string {
	w.t.Helper()
	in := &awselb.CreateTargetGroupInput{
		Name: &name, Protocol: types.ProtocolEnumTcp, Port: aws.Int32(6443), VpcId: &w.vpcID, TargetType: types.TargetTypeEnumInstance,
	}
	if change != nil {
		change(in)
	}
	out, err := w.CreateTargetGroup(w.t.Context(), in)
	return *must(w.t, out, err).TargetGroups[0].TargetGroupArn
}

func (w *suite) listener(balancer, group string, port int32) string {
	w.t.Helper()
	out, err := w.CreateListener(w.t.Context(), &awselb.CreateListenerInput{
		LoadBalancerArn: &balancer, Port: &port, Protocol: types.ProtocolEnumTcp,
		DefaultActions: []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: &group}},
	})
	return *must(w.t, out, err).Listeners[0].ListenerArn
}

func (w *suite) register(group string, ids ...string) {
	w.t.Helper()
	in := &awselb.RegisterTargetsInput{TargetGroupArn: &group}
	for _, id := range ids {
		in.Targets = append(in.Targets, types.TargetDescription{Id: &id})
	}
	if _, err := w.RegisterTargets(w.t.Context(), in); err != nil {
		w.t.Fatal(err)
	}
}

// health returns "state reason" of a target.
func (w *suite) health(group, id string) string {
	w.t.Helper()
	out, err := w.DescribeTargetHealth(w.t.Context(), &awselb.DescribeTargetHealthInput{
		TargetGroupArn: &group, Targets: []types.TargetDescription{{Id: &id}},
	})
	h := must(w.t, out, err).TargetHealthDescriptions[0].TargetHealth
	if h.Reason == "" {
		return string(h.State)
	}
	return string(h.State) + " " + string(h.Reason)
}

func (w *suite) becomes(group, id, state string) {
	w.t.Helper()
	w.eventually(id+" to be "+state, func() bool { return w.health(group, id) == state })
}

func (w *suite) eventually(what string, holds func() bool) {
	w.t.Helper()
	patience.UntilTrue(w.t, what, holds)
}

// interfaces returns the descriptions of the VPC's network interfaces.
func (w *suite) interfaces() []string {
	w.t.Helper()
	out, err := w.ec2.DescribeNetworkInterfaces(w.t.Context(), &awsec2.DescribeNetworkInterfacesInput{})
	var list []string
	for _, i := range must(w.t, out, err).NetworkInterfaces {
		if aws.ToBool(i.RequesterManaged) {
			list = append(list, *i.Description+" "+string(i.InterfaceType))
		}
	}
	slices.Sort(list)
	return list
}

// visit connects to the load balancer with a name and returns the connection and the ID of the
// target.
func (w *suite) visit(name string, port int32) (net.Conn, string, error) {
	addresses := w.balancers.Resolve("", name)
	if len(addresses) != 1 {
		return nil, "", fmt.Errorf("%s has the addresses %v", name, addresses)
	}
	c, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(
		w.t.Context(), "tcp", net.JoinHostPort(addresses[0].String(), strconv.Itoa(int(port))),
	)
	if err != nil {
		return nil, "", err
	}
	_ = c.SetDeadline(time.Unix(1<<33, 0))
	var id []byte
	var b [1]byte
	for {
		if _, err := c.Read(b[:]); err != nil {
			_ = c.Close()
			return nil, "", err
		}
		if b[0] == '\n' {
			return c, string(id), nil
		}
		id = append(id, b[0])
	}
}

func (w *suite) stack(name string) cfntypes.Stack {
	w.t.Helper()
	out, err := w.cfn.DescribeStacks(w.t.Context(), &awscfn.DescribeStacksInput{StackName: &name})
	return must(w.t, out, err).Stacks[0]
}
