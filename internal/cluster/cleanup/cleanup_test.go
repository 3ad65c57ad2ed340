package cleanup_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/go-logr/logr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/cleanup"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// TestLoadBalancers removes what the cloud controller and the load balancer controller made, and
// what others made not.
func TestLoadBalancers(t *testing.T) {
	a := newAWS(t)
	subnet := a.subnet()
	classic := func(name string, tags map[string]string) {
		all := make([]elbtypes.Tag, 0, len(tags))
		for key, value := range tags {
			all = append(all, elbtypes.Tag{Key: aws.String(key), Value: aws.String(value)})
		}
		_, err := a.classic.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{
			LoadBalancerName: &name, Subnets: []string{subnet}, Scheme: aws.String("internal"), Tags: all,
			Listeners: []elbtypes.Listener{{LoadBalancerPort: 80, InstancePort: aws.Int32(30080), Protocol: aws.String("tcp")}},
		})
		must(t, err)
	}
	newer := func(name string, tags map[string]string) {
		all := make([]elbv2types.Tag, 0, len(tags))
		for key, value := range tags {
			all = append(all, elbv2types.Tag{Key: aws.String(key), Value: aws.String(value)})
		}
		made, err := a.balancers.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{
			Name: &name, Subnets: []string{subnet}, Type: elbv2types.LoadBalancerTypeEnumNetwork,
			Scheme: elbv2types.LoadBalancerSchemeEnumInternal, Tags: all,
		})
		must(t, err)
		group, err := a.balancers.CreateTargetGroup(t.Context(), &elbv2.CreateTargetGroupInput{
			Name: &name, VpcId: &a.vpc, Protocol: elbv2types.ProtocolEnumTcp, Port: aws.Int32(30080), Tags: all,
		})
		must(t, err)
		_, err = a.balancers.CreateListener(t.Context(), &elbv2.CreateListenerInput{
			LoadBalancerArn: made.LoadBalancers[0].LoadBalancerArn, Protocol: elbv2types.ProtocolEnumTcp, Port: aws.Int32(80),
			DefaultActions: []elbv2types.Action{
				{Type: elbv2types.ActionTypeEnumForward, TargetGroupArn: group.TargetGroups[0].TargetGroupArn},
			},
		})
		must(t, err)
	}
	classic("ours", owned("demo"))
	classic("theirs", owned("demo-two"))
	newer("ours", owned("demo"))
	newer("controllers", map[string]string{"elbv2.k8s.aws/cluster": "demo", "service.k8s.aws/stack": "default/web"})
	newer("theirs", map[string]string{"elbv2.k8s.aws/cluster": "demo-two"})
	newer("unrelated", map[string]string{"team": "web"})

	a.finishes(a.cleaner.AfterNodes)

	if got := a.balancerNames(); !slices.Equal(got, []string{"classic theirs", "group theirs", "group unrelated", "theirs", "unrelated"}) {
		t.Errorf("left are %q", got)
	}
	a.finishes(a.cleaner.Sweep)
}

// TestSecurityGroups deletes the security groups of load balancers, though they and the nodes'
// group reference each other.
func TestSecurityGroups(t *testing.T) {
	a := newAWS(t)
	nodes := a.group("nodes", map[string]string{"kubernetes.io/cluster/demo": "shared"})
	balancer := a.group("k8s-elb", owned("demo"))
	backend := a.group("k8s-traffic", map[string]string{"elbv2.k8s.aws/cluster": "demo"})
	a.letIn(nodes, balancer)
	a.letIn(nodes, backend)
	a.letIn(backend, balancer)
	a.letIn(balancer, backend)
	a.letIn(balancer, balancer)

	a.finishes(a.cleaner.AfterNodes)

	if got := a.groups(); !slices.Equal(got, []string{"nodes"}) {
		t.Errorf("left are %q", got)
	}
	if rules := a.rules(nodes); rules != 0 {
		t.Errorf("%d rules of the nodes' group still reference deleted groups", rules)
	}
}

// TestReferencedSecurityGroups waits while a user's group references a security group, reports it
// after a while, and leaves the group if the annotation is set.
func TestReferencedSecurityGroups(t *testing.T) {
	a := newAWS(t)
	held := a.group("k8s-elb", owned("demo"))
	users := a.group("database", nil)
	a.letIn(users, held)

	outcome := a.cleaner.AfterNodes(t.Context(), a.cluster, target)
	if outcome.Kind() != operatorkit.KindWait || outcome.Reason() != "RemovingLeftovers" || outcome.IsDegraded() {
		t.Errorf("at first it returns %s", outcome)
	}
	if rules := a.rules(users); rules != 1 {
		t.Errorf("the user's group has %d rules", rules)
	}
	a.clock.SetTime(a.clock.Now().Add(11 * time.Minute))
	outcome = a.cleaner.AfterNodes(t.Context(), a.cluster, target)
	if outcome.Reason() != "LeftoversInUse" || !outcome.IsDegraded() || outcome.After() < 10*time.Second ||
		!strings.Contains(outcome.Message(), held) || !strings.Contains(outcome.Message(), cleanup.LeaveAnnotation+"=true") {
		t.Errorf("later it returns %s, requeued after %s", outcome, outcome.After())
	}
	a.cluster.Annotations = map[string]string{cleanup.LeaveAnnotation: "true"}
	a.finishes(a.cleaner.AfterNodes)
	a.finishes(a.cleaner.Sweep)
	if got := a.groups(); !slices.Contains(got, "k8s-elb") {
		t.Errorf("left are %q", got)
	}
}

// TestARefusalKeepsNothingElse removes all else though AWS refuses one removal, and gives AWS's
// words for that one.
func TestARefusalKeepsNothingElse(t *testing.T) {
	a := newAWS(t)
	a.cluster.Spec.VolumePolicy = v1alpha1.VolumesDelete
	a.group("k8s-elb", owned("demo"))
	a.volume(owned("demo"))
	lift := a.sim.Faults().Add(fault.Rule{Service: "ec2", Operation: "DeleteSecurityGroup", Deny: true})

	outcome := a.cleaner.AfterNodes(t.Context(), a.cluster, target)
	if outcome.Reason() != "LeftoversRefused" || !outcome.IsDegraded() || !strings.Contains(outcome.Message(), "ec2:DeleteSecurityGroup") {
		t.Errorf("it says %s", outcome)
	}
	if got := a.volumes(); len(got) != 0 {
		t.Errorf("volumes are left: %q", got)
	}
	lift()
	a.finishes(a.cleaner.AfterNodes)
}

// TestInterfaces removes those that nothing is attached to.
func TestInterfaces(t *testing.T) {
	a := newAWS(t)
	subnet := a.subnet()
	a.networkInterface(subnet, owned("demo"))
	other := a.networkInterface(subnet, nil)
	a.finishes(a.cleaner.AfterNodes)
	if got := a.interfaces(); !slices.Equal(got, []string{other}) {
		t.Errorf("left are %q", got)
	}
}

// TestVolumes keeps the volumes of claims, unless the cluster's policy is to delete them; the sweep
// agrees.
func TestVolumes(t *testing.T) {
	a := newAWS(t)
	claim := a.volume(owned("demo"))
	a.volume(nil)
	a.finishes(a.cleaner.AfterNodes)
	a.finishes(a.cleaner.Sweep)
	if got := a.volumes(); len(got) != 2 {
		t.Errorf("left are %q", got)
	}
	a.cluster.Spec.VolumePolicy = v1alpha1.VolumesDelete
	a.leaves(claim)
	a.finishes(a.cleaner.AfterNodes)
	a.finishes(a.cleaner.Sweep)
	if got := a.volumes(); len(got) != 1 || got[0] == claim {
		t.Errorf("left are %q", got)
	}
}

// TestSnapshots deletes etcd's last snapshots, or keeps them without counting them as leftovers. It
// does not touch those of other clusters of the same name, and reports users' snapshots.
func TestSnapshots(t *testing.T) {
	a := newAWS(t)
	etcd := func(namespace, operator string) map[string]string {
		tags := owned("demo")
		tags["cluster-operator.aws/namespace"], tags["cluster-operator.aws/operator"] = namespace, operator
		tags["cluster-operator.aws/etcd-slot"] = "0"
		return tags
	}
	a.cluster.Annotations = map[string]string{cleanup.KeepSnapshotsAnnotation: "true"}
	a.snapshot(etcd("default", "test"))
	a.finishes(a.cleaner.Sweep)
	if got := a.snapshots(); len(got) != 1 {
		t.Fatalf("%d snapshots are kept", len(got))
	}
	a.cluster.Annotations = nil
	patience.UntilTrue(t, "no snapshot is left", func() bool { // a list may not have it yet
		a.finishes(a.cleaner.Sweep)
		return len(a.snapshots()) == 0
	})
	backup := a.snapshot(owned("demo"))
	a.leaves(backup)

	// A cluster that never had a base stack, beside one of its name.
	a.cluster.Status.Outputs = nil
	a.snapshot(etcd("elsewhere", "test"))
	a.snapshot(etcd("default", "another"))
	a.finishes(a.cleaner.Sweep)
	if got := a.snapshots(); len(got) != 3 {
		t.Errorf("left are %q", got)
	}
}

// TestANamesakeIsLeftAlone removes nothing in the name of a cluster that never had a network: the
// name is another's.
func TestANamesakeIsLeftAlone(t *testing.T) {
	a := newAWS(t)
	a.cluster.Spec.VolumePolicy = v1alpha1.VolumesDelete
	a.cluster.Status.Outputs = nil
	a.group("k8s-elb", owned("demo"))
	a.volume(owned("demo"))
	a.networkInterface(a.subnet(), owned("demo"))
	a.finishes(a.cleaner.AfterNodes)
	a.finishes(a.cleaner.Sweep)
	if len(a.groups()) != 1 || len(a.volumes()) != 1 || len(a.interfaces()) != 1 {
		t.Errorf("left are %q, %q and %q", a.groups(), a.volumes(), a.interfaces())
	}
}

// TestNames empties the private zone of what machines published there.
func TestNames(t *testing.T) {
	a := newAWS(t)
	zone := a.zone("demo.internal")
	a.cluster.Status.Outputs["HostedZone"] = zone
	a.publish(zone, "etcd-0.demo.internal")
	a.finishes(a.cleaner.AfterNodes)
	if got := a.names(zone); len(got) != 0 {
		t.Errorf("left are %q", got)
	}
	a.removeZone(zone)
	a.finishes(a.cleaner.AfterNodes) // also for a zone that no longer exists
}

// laggingTags returns the tags of before a deletion, as EC2 may do for some seconds.
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
type laggingTags struct {
	cleanup.Clients

	snapshot string
}

func (l laggingTags) Leftovers(t awsapi.Target) awsapi.Leftovers {
	return laggingLeftovers{l.Clients.Leftovers(t), l.snapshot}
}

type laggingLeftovers struct {
	awsapi.Leftovers

	snapshot string
}

func (l laggingLeftovers) DescribeTags(context.Context, *ec2.DescribeTagsInput, ...func(*ec2.Options)) (*ec2.DescribeTagsOutput, error) {
	return &ec2.DescribeTagsOutput{Tags: []types.TagDescription{{ResourceId: &l.snapshot}}}, nil
}

// TestDeletedSnapshotsAreNotLeft: the sweep does not report what it has just deleted.
func TestDeletedSnapshotsAreNotLeft(t *testing.T) {
	a := newAWS(t)
	tags := owned("demo")
	tags["cluster-operator.aws/namespace"], tags["cluster-operator.aws/operator"] = "default", "test"
	tags["cluster-operator.aws/etcd-slot"] = "0"
	lagging := cleanup.New(laggingTags{a.clients, a.snapshot(tags)}, "test", a.clock, logr.Discard())
	a.finishes(lagging.Sweep)
}
