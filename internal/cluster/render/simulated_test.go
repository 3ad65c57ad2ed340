package render_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
)

// TestSimulatedStacks makes the stacks of clusters in a simulated account, with
// the engine that the operator uses, and deletes them.
func TestSimulatedStacks(t *testing.T) {
	for _, path := range []string{"testdata/public.yaml", "testdata/private.yaml", "testdata/existing.yaml", "testdata/issuer.yaml"} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel() // most of it is waiting
			f := read(t, path)
			spec := &f.cluster.Spec
			region := newSuite(t, spec.Region)
			// What the manifests name, and is not there.
			spec.DNS, spec.ControlPlane.Image, spec.IAM.PermissionsBoundary = nil, "", ""
			spec.API.SecurityGroups, spec.ControlPlane.SecurityGroups = nil, nil
			for _, g := range f.groups {
				g.Spec.SecurityGroups, g.Spec.Image, g.Spec.Subnets, g.Spec.CapacityReservation = nil, "", nil, nil
				if p := g.Spec.Placement; p != nil && p.Group != "" {
					g.Spec.Placement = nil
				}
				if strings.HasPrefix(g.Spec.InstanceTypes[0], "p5.") { // of Capacity Blocks, which the simulator lacks
					g.Spec.InstanceTypes = []string{"m6i.large"}
				}
			}
			if spec.Network.VPC != "" {
				region.network(t, &spec.Network)
			}
			region.cluster(t, f)
			region.removeAll(t)
		})
	}
}

// TestSimulatedUpdates changes a cluster that is there: another release with the
// next resource set, another zone, another access list, a bastion, and back.
func TestSimulatedUpdates(t *testing.T) {
	t.Parallel()
	changed := func(change func(*v1alpha1.ClusterSpec)) *render.Stack {
		return mustBase(t, "testdata/public.yaml", func(spec *v1alpha1.ClusterSpec) {
			spec.Network.Topology = v1alpha1.TopologyPrivate
			change(spec)
		})
	}
	region := newSuite(t, "eu-central-1")
	old := changed(func(spec *v1alpha1.ClusterSpec) { spec.Release = "set-" + release.Set100 })
	region.make(t, old)
	next := region.make(t, changed(func(spec *v1alpha1.ClusterSpec) {
		spec.Network.Zones = append(spec.Network.Zones, "eu-central-1b")
		spec.API.AllowedCIDRs = []string{"198.51.100.0/24"}
		spec.Bastion = &v1alpha1.Bastion{AllowedCIDRs: []string{"198.51.100.0/24"}}
		spec.Tags = map[string]string{"team": "platform"}
	}))
	for _, output := range []string{"PrivateSubnetEuCentral1b", "BastionSecurityGroup"} {
		if next[output] == "" {
			t.Errorf("there is no output %s", output)
		}
	}
	region.make(t, old)
	region.removeAll(t)
}

// network makes a VPC for a cluster to stand in.
func (l *suite) network(t *testing.T, n *v1alpha1.Network) {
	t.Helper()
	text := "Resources:\n  VPC: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.9.0.0/16, EnableDnsHostnames: true, EnableDnsSupport: true}}\n"
	ids := "Outputs:\n  VPC: {Value: !Ref VPC}\n"
	for i, s := range n.Subnets {
		text += fmt.Sprintf(
			"  Subnet%d: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref VPC, AvailabilityZone: %s, CidrBlock: 10.9.%d.0/24}}\n",
			i,
			s.Zone,
			i,
		)
		ids += fmt.Sprintf("  Subnet%d: {Value: !Ref Subnet%d}\n", i, i)
	}
	parsed, err := template.Parse("network.yaml", []byte(text+ids))
	if err != nil {
		t.Fatal(err)
	}
	outputs := l.make(t, &render.Stack{Name: "network", Template: parsed, Tags: map[string]string{"owner": "a user"}})
	n.VPC = outputs["VPC"]
	for i := range n.Subnets {
		n.Subnets[i].ID = outputs[fmt.Sprint("Subnet", i)]
	}
}

// cluster makes all stacks of a cluster.
func (l *suite) cluster(t *testing.T, f fixture) {
	t.Helper()
	c, groups := f.resolve(t, setRelease(strings.TrimPrefix(f.cluster.Spec.Release, "set-")))
	s, err := render.Base(c)
	if err != nil {
		t.Fatal(err)
	}
	outputs := l.make(t, s)
	for _, slot := range c.Slots {
		s, err := render.Slot(c, slot.Index, outputs, userData(t, c, c.ControlPlaneArchitecture))
		if err != nil {
			t.Fatal(err)
		}
		l.make(t, s)
	}
	for _, g := range groups {
		s, err := render.Group(c, g, outputs, userData(t, c, g.Spec.Architecture))
		if err != nil {
			t.Fatal(err)
		}
		l.make(t, s)
	}
}

// suite is a simulated region and the stacks that were made there.
type suite struct {
	packets *vpc.Service
	engine  *stack.Engine
	scaling awsapi.AutoScaling
	made    []made
}

type made struct {
	desired stack.Desired
	record  stack.Record
	outputs map[string]string
}

func newSuite(t *testing.T, region string) *suite {
	t.Helper()
	simulated, endpoint := simulatortest.Start(t, simulator.Options{Region: region})
	keys := credentials.NewStaticCredentialsProvider("123456789012", "secret", "")
	clients, err := awsapi.New(t.Context(), awsapi.Options{Region: region, EndpointURL: endpoint, Credentials: keys})
	if err != nil {
		t.Fatal(err)
	}
	return &suite{
		packets: simulated.Network(),
		engine:  stack.New(stack.Options{Clients: clients, PollInterval: 20 * time.Millisecond}),
		scaling: clients.AutoScaling(awsapi.Target{}),
	}
}

// make makes a stack, or updates the one of that name, and returns its outputs.
func (l *suite) make(t *testing.T, s *render.Stack) map[string]string {
	t.Helper()
	i := slices.IndexFunc(l.made, func(m made) bool { return m.desired.Name == s.Name })
	if i < 0 {
		i, l.made = len(l.made), append(l.made, made{})
	}
	m := &l.made[i]
	m.desired = stack.Desired{
		Name: s.Name, Template: s.Template, Parameters: s.Parameters, Tags: s.Tags, OwnerTags: s.OwnerTags,
		Capabilities: s.Capabilities, TerminationProtection: s.TerminationProtection, Policy: s.Policy, MaxAttempts: 1,
	}
	if len(m.desired.Tags) == 0 { // The engine requires tags to identify its stacks.
		m.desired.Tags = map[string]string{"test": s.Name}
	}
	l.follow(t, stack.Ready, func() (stack.Result, error) {
		result, err := l.engine.Ensure(t.Context(), awsapi.Target{}, m.desired, m.record)
		m.record = result.Record
		if result.Outputs != nil {
			m.outputs = result.Outputs
		}
		return result, err
	})
	return m.outputs
}

// removeAll deletes the stacks, the last first.
func (l *suite) removeAll(t *testing.T) {
	t.Helper()
	for i := len(l.made) - 1; i >= 0; i-- {
		m := &l.made[i]
		l.follow(t, stack.Gone, func() (stack.Result, error) {
			result, err := l.engine.Delete(
				t.Context(),
				awsapi.Target{},
				m.desired.Name,
				m.record,
				stack.DeleteOptions{OwnerTags: ownerOf(&m.desired), DisableTerminationProtection: true},
			)
			m.record = result.Record
			l.completeHooks(t)
			return result, err
		})
	}
}

// completeHooks completes all waiting lifecycle actions: no controller drains nodes here.
func (l *suite) completeHooks(t *testing.T) {
	t.Helper()
	out, err := l.scaling.DescribeAutoScalingInstances(t.Context(), &autoscaling.DescribeAutoScalingInstancesInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range out.AutoScalingInstances {
		if aws.ToString(one.LifecycleState) != string(types.LifecycleStateTerminatingWait) {
			continue
		}
		_, err := l.scaling.CompleteLifecycleAction(t.Context(), &autoscaling.CompleteLifecycleActionInput{
			AutoScalingGroupName: one.AutoScalingGroupName, LifecycleHookName: aws.String("drain"),
			InstanceId: one.InstanceId, LifecycleActionResult: aws.String("CONTINUE"),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// follow goes on until the stack is as wanted.
func (l *suite) follow(t *testing.T, want stack.State, step func() (stack.Result, error)) {
	t.Helper()
	deadline := time.NewTimer(patience.Left(t))
	defer deadline.Stop()
	for {
		result, err := step()
		switch {
		case err != nil:
			t.Fatal(err)
		case result.State == want:
			return
		case result.State == stack.Stalled, strings.Contains(result.Message, "ROLLBACK"):
			t.Fatalf("%s: %s", result.Reason, result.Message)
		}
		select {
		case <-time.After(result.RequeueAfter):
		case <-deadline.C:
			t.Fatalf("not %s in time: %s: %s", want, result.Reason, result.Message)
		}
	}
}

// ownerOf returns the tags that prove a stack to be the cluster's.
func ownerOf(desired *stack.Desired) map[string]string {
	if len(desired.OwnerTags) == 0 {
		return desired.Tags
	}
	tags := map[string]string{}
	for _, name := range desired.OwnerTags {
		tags[name] = desired.Tags[name]
	}
	return tags
}
