package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// rolling is a cluster with one slot and a Ready group, whose nodes are observed.
type rolling struct {
	*suite
	host   *fake.Host
	group  *v1alpha1.InstanceGroup
	name   string // the group's, for goroutines that must not read the group
	inside client.Client

	mu     sync.Mutex
	fewest int
}

// newRolling creates a cluster with a group, modified by change, and waits for its nodes.
func newRolling(t *testing.T, change func(*v1alpha1.InstanceGroup)) *rolling {
	t.Helper()
	host := fake.New(fake.Options{})
	w := newSuite(t, host, nil)
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("demo-workers", "demo")
	cluster.Spec.ControlPlane.Replicas = 1
	group.Spec.MinSize, group.Spec.MaxSize = 3, 3
	if change != nil {
		change(group)
	}
	w.create(cluster, group)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	w.condition(group, "Ready", metav1.ConditionTrue, "")
	r := &rolling{suite: w, host: host, group: group, name: group.Name, inside: w.inside("demo")}
	r.watch()
	return r
}

// nodes returns the group's nodes by instance.
func (r *rolling) nodes(ctx context.Context) (map[string]corev1.Node, error) {
	list := &corev1.NodeList{}
	if err := r.inside.List(ctx, list, client.MatchingLabels{"cluster-operator.aws/instance-group": r.name}); err != nil {
		return nil, err
	}
	found := map[string]corev1.Node{}
	for i := range list.Items {
		found[list.Items[i].Spec.ProviderID[strings.LastIndex(list.Items[i].Spec.ProviderID, "/")+1:]] = list.Items[i]
	}
	return found, nil
}

func (r *rolling) mustNodes() map[string]corev1.Node {
	r.t.Helper()
	nodes, err := r.nodes(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return nodes
}

// watch records the number of Ready nodes of the group until the test ends.
func (r *rolling) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	r.t.Cleanup(func() { cancel(); <-done })
	r.fewest = len(r.mustNodes())
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			nodes, err := r.nodes(ctx)
			if err != nil {
				continue
			}
			serving := 0
			for _, node := range nodes {
				if isReady(&node) && !node.Spec.Unschedulable {
					serving++
				}
			}
			r.mu.Lock()
			r.fewest = min(r.fewest, serving)
			r.mu.Unlock()
		}
	}()
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// kept checks that at least so many nodes were Ready at every moment.
func (r *rolling) kept(want int) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fewest < want {
		r.t.Errorf("at one moment only %d nodes were Ready, want at least %d", r.fewest, want)
	}
}

// ended waits until a rollout of the group's current generation ends.
func (r *rolling) ended(state v1alpha1.RolloutState) {
	r.t.Helper()
	r.eventually("the rollout is "+string(state), func() error {
		if err := r.client.Get(r.t.Context(), client.ObjectKeyFromObject(r.group), r.group); err != nil {
			return err
		}
		rolloutStatus := r.group.Status.Rollout
		if rolloutStatus == nil || rolloutStatus.State != state || r.group.Status.ObservedGeneration != r.group.Generation {
			return fmt.Errorf(
				"it is %+v, stack %s, conditions %s",
				rolloutStatus,
				r.group.Status.Stack.Status,
				describeConditions(r.group.Status.Conditions),
			)
		}
		return nil
	})
}

// kubectl scale sets the number of a group's nodes, within minSize and maxSize.
func TestGroupIsScaled(t *testing.T) {
	r := newRolling(t, func(group *v1alpha1.InstanceGroup) { group.Spec.MinSize, group.Spec.MaxSize = 2, 4 })
	scale := func(replicas int) (int32, error) {
		body := &autoscalingv1.Scale{}
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
		err := r.client.SubResource("scale").Patch(t.Context(), r.group.DeepCopy(), patch, client.WithSubResourceBody(body))
		return body.Spec.Replicas, err
	}
	for _, replicas := range []int{4, 3} {
		if got, err := scale(replicas); err != nil || got != int32(replicas) {
			t.Fatalf("scaled to %d, %v", got, err)
		}
		r.only(replicas, "")
		r.condition(r.group, "Ready", metav1.ConditionTrue, "")
	}
	if r.group.Status.Rollout != nil {
		t.Errorf("a rollout is reported: %+v", r.group.Status.Rollout)
	}
	if _, err := scale(5); err == nil || !strings.Contains(err.Error(), "replicas must be between minSize and maxSize") {
		t.Errorf("scaling above maxSize returned %v", err)
	}
	err := r.client.Patch(t.Context(), r.group.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"autoscale":true}}`)))
	if err == nil || !strings.Contains(err.Error(), "remove replicas, or set autoscale to false") {
		t.Errorf("autoscale with replicas returned %v", err)
	}
	r.patch(r.group, `{"spec":{"replicas":null,"minSize":1}}`)
	r.condition(r.group, "Ready", metav1.ConditionTrue, "")
	r.only(3, "")
}

// A changed label of a group replaces its nodes one after the other, while as many as possible stay
// in service.
func TestLabelChangeReplacesAllNodes(t *testing.T) {
	r := newRolling(t, func(group *v1alpha1.InstanceGroup) { group.Spec.Autoscale = true })
	before, was := r.mustNodes(), r.group.Status.Stack.Bundle
	r.patch(r.group, `{"spec":{"labels":{"team":"new"}}}`)
	r.ended(v1alpha1.RolloutDone)
	after := r.only(3, "new")
	r.condition(r.group, "Ready", metav1.ConditionTrue, "")
	r.condition(r.group, "NodesUpdated", metav1.ConditionTrue, "AllUpdated")
	r.kept(2)
	for id, node := range after {
		if _, old := before[id]; old || node.Labels["team"] != "new" ||
			!strings.HasPrefix(r.group.Status.Stack.Bundle, node.Labels["cluster-operator.aws/bundle"]) {
			t.Errorf("node %s on %s is not new: %v", node.Name, id, node.Labels)
		}
	}
	rolloutStatus := r.group.Status.Rollout
	if len(after) != 3 || rolloutStatus.Updated != 3 || rolloutStatus.Total != 3 || rolloutStatus.Finished == nil ||
		r.group.Status.Nodes.UpdatedSummary != "3/3" ||
		r.group.Status.Stack.Bundle == was {
		t.Errorf("%d nodes, rollout %+v, nodes %+v", len(after), rolloutStatus, r.group.Status.Nodes)
	}
	if calls := r.sim.Calls(); calls["cloudformation/SignalResource"] != 3 {
		t.Errorf("%d signals were sent for 3 instances", calls["cloudformation/SignalResource"])
	}
	if tags := r.tags(); tags["k8s.io/cluster-autoscaler/enabled"] != "true" || tags["cluster-operator.aws/autoscaler-held"] != "" {
		t.Errorf("the cluster autoscaler was not resumed: %v", tags)
	}
	if r.sim.Calls()["autoscaling/DeleteTags"] == 0 {
		t.Error("the cluster autoscaler was not suspended")
	}
}

// A changed spec.roll replaces the instances. Removing it does not.
func TestInstancesAreReplacedOnRequest(t *testing.T) {
	r := newRolling(t, nil)
	before := r.mustNodes()
	r.patch(r.group, `{"spec":{"roll":"2026-11-22"}}`)
	r.ended(v1alpha1.RolloutDone)
	after := r.only(3, "")
	r.condition(r.group, "Ready", metav1.ConditionTrue, "")
	r.kept(2)
	for id := range after {
		if _, old := before[id]; old {
			t.Errorf("the node on %s was not replaced", id)
		}
	}
	r.patch(r.group, `{"spec":{"roll":null,"minSize":4,"maxSize":4}}`)
	r.condition(r.group, "Ready", metav1.ConditionTrue, "")
	for id := range after {
		if _, still := r.only(4, "")[id]; !still {
			t.Errorf("removing spec.roll replaced the node on %s", id)
		}
	}
	r.patch(r.group, `{"spec":{"labels":{"team":"new"}}}`)
	r.ended(v1alpha1.RolloutDone)
	r.only(4, "new")
	r.condition(r.group, "Ready", metav1.ConditionTrue, "")
}

// tags returns the tags of the group's Auto Scaling group.
func (r *rolling) tags() map[string]string {
	r.t.Helper()
	out, err := r.scaling().DescribeAutoScalingGroups(r.t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{
		AutoScalingGroupNames: []string{r.group.Status.AutoScalingGroup},
	})
	if err != nil || len(out.AutoScalingGroups) != 1 {
		r.t.Fatalf("%d groups: %v", len(out.AutoScalingGroups), err)
	}
	tags := map[string]string{}
	for _, tag := range out.AutoScalingGroups[0].Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return tags
}

func (r *rolling) scaling() *autoscaling.Client {
	return autoscaling.NewFromConfig(r.awsConfig(account, region))
}

// only waits until the group has exactly count nodes, all Ready and, if team is not empty, with
// that label.
func (r *rolling) only(count int, team string) map[string]corev1.Node {
	r.t.Helper()
	var found map[string]corev1.Node
	r.eventually(fmt.Sprintf("the group has %d nodes of team %q", count, team), func() error {
		nodes, err := r.nodes(r.t.Context())
		if err != nil {
			return err
		}
		var names []string
		good := len(nodes) == count
		for _, node := range nodes {
			good = good && isReady(&node) && node.Labels["team"] == team
			names = append(names, node.Name+" "+node.Labels["team"])
		}
		if !good {
			return fmt.Errorf("there are %v", names)
		}
		found = nodes
		return nil
	})
	return found
}

// Changes of sizes, tags and rollout settings replace no node. New instances have the new tags.
func TestChangesWithoutNodeReplacement(t *testing.T) {
	r := newRolling(t, func(group *v1alpha1.InstanceGroup) { group.Spec.Tags = map[string]string{"team": "old"} })
	before := r.mustNodes()
	r.patch(
		r.group,
		`{"spec":{"maxSize":5,"tags":{"team":"new"},"rollingUpdate":{"batchSize":2,"drainTimeout":"1m"},"repair":{"disabled":true}}}`,
	)
	r.condition(r.group, "Ready", metav1.ConditionTrue, "")
	r.patch(r.group, `{"spec":{"minSize":4}}`)
	r.condition(r.group, "Ready", metav1.ConditionTrue, "")
	after := r.only(4, "")
	for id := range before {
		if _, ok := after[id]; !ok {
			t.Errorf("the node on %s was replaced", id)
		}
	}
	for id := range after {
		if _, old := before[id]; old {
			continue
		}
		out, err := ec2.NewFromConfig(r.awsConfig(account, region)).
			DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(out.Reservations[0].Instances[0].Tags, func(tag ec2types.Tag) bool {
			return aws.ToString(tag.Key) == "team" && aws.ToString(tag.Value) == "new"
		}) {
			t.Errorf("the new instance has the tags %v", out.Reservations[0].Instances[0].Tags)
		}
	}
	if r.group.Status.Rollout != nil {
		t.Errorf("there was a rollout: %+v", r.group.Status.Rollout)
	}
	// Changes that replace no node take effect with the next rollout.
	r.patch(r.group, `{"spec":{"labels":{"team":"new"}}}`)
	r.ended(v1alpha1.RolloutDone)
	r.only(4, "new")
}

// brokenImage is an image whose instances never join.
const brokenImage = "ami-0bad0bad0bad0bad0"

// An image that does not boot rolls the group back to its previous configuration while as many
// nodes as possible stay in service, and the group reports the instance. The next edit retries, and
// reverting the spec changes nothing.
func TestRollbackWhenNewNodesNeverJoin(t *testing.T) {
	r := newRolling(t, func(group *v1alpha1.InstanceGroup) {
		group.Spec.RollingUpdate.ReadyTimeout = &metav1.Duration{Duration: 10 * time.Second}
	})
	r.sim.Instances().AddImage(region, ec2types.Image{ImageId: aws.String(brokenImage)})
	r.host.SetImage(brokenImage, fake.Behaviour{NeverJoins: true})
	was := r.group.Status.Stack.Bundle
	r.patch(r.group, `{"spec":{"image":"`+brokenImage+`","labels":{"team":"new"}}}`)
	stalled := r.condition(r.group, "Stalled", metav1.ConditionTrue, "NodesNotReady")
	for _, words := range []string{"New nodes were not ready within 10s: instance i-", "did not join", "Change the object or its annotation aws-operator/retry to retry"} {
		if !strings.Contains(stalled.Message, words) {
			t.Errorf("the group reports %q", stalled.Message)
		}
	}
	r.ended(v1alpha1.RolloutRolledBack)
	r.condition(r.group, "NodesUpdated", metav1.ConditionFalse, "RolledBack")
	r.kept(2)
	r.only(3, "")
	// The annotation sends the same change again.
	sent, first := r.sim.Calls()["cloudformation/UpdateStack"], r.group.Status.Rollout.Started
	r.patch(r.group, `{"metadata":{"annotations":{"aws-operator/retry":"again"}}}`)
	r.eventually("the change is sent again, and rolls back again", func() error {
		r.ended(v1alpha1.RolloutRolledBack)
		if again := r.sim.Calls()["cloudformation/UpdateStack"]; again != sent+1 || !first.Before(r.group.Status.Rollout.Started) {
			return fmt.Errorf("%d updates were sent, the rollout is %+v", again-sent, r.group.Status.Rollout)
		}
		return nil
	})
	r.condition(r.group, "Stalled", metav1.ConditionTrue, "NodesNotReady")
	r.only(3, "")
	if now := r.group.Status.Stack.Bundle; now != was {
		t.Errorf("the instances boot with %s, and the status has %s", was, now)
	}
	updates := r.sim.Calls()["cloudformation/UpdateStack"]
	r.patch(r.group, `{"spec":{"image":null,"labels":null}}`)
	r.condition(r.group, "Ready", metav1.ConditionTrue, "")
	r.condition(r.group, "NodesUpdated", metav1.ConditionTrue, "AllUpdated")
	if again := r.sim.Calls()["cloudformation/UpdateStack"]; again != updates {
		t.Error("reverting the spec changed the stack")
	}
	// The default timeout is long enough on a busy computer.
	r.patch(r.group, `{"spec":{"labels":{"team":"good"},"rollingUpdate":{"readyTimeout":null}}}`)
	r.ended(v1alpha1.RolloutDone)
	r.only(3, "good")
	r.kept(2)
}

// The operator observes the rollback late: the instance that never joined is terminated already, and others replace it. The
// operator finds the instance in the activities of the Auto Scaling group.
func TestRollbackThatIsObservedLateNamesTheInstance(t *testing.T) {
	r := newRolling(t, func(group *v1alpha1.InstanceGroup) {
		group.Spec.RollingUpdate.ReadyTimeout = &metav1.Duration{Duration: 10 * time.Second}
	})
	r.sim.Instances().AddImage(region, ec2types.Image{ImageId: aws.String(brokenImage)})
	r.host.SetImage(brokenImage, fake.Behaviour{NeverJoins: true})
	r.sim.Faults().Add(fault.Rule{Service: "autoscaling", Operation: "DescribeAutoScalingGroups", Latency: 6 * time.Second})
	r.patch(r.group, `{"spec":{"image":"`+brokenImage+`","labels":{"team":"new"}}}`)
	stalled := r.condition(r.group, "Stalled", metav1.ConditionTrue, "NodesNotReady")
	out, err := r.scaling().DescribeScalingActivities(t.Context(), &autoscaling.DescribeScalingActivitiesInput{
		AutoScalingGroupName: aws.String(r.group.Status.AutoScalingGroup),
	})
	if err != nil {
		t.Fatal(err)
	}
	nodes, absent := r.mustNodes(), 0
	for i := range out.Activities {
		id, launched := strings.CutPrefix(*out.Activities[i].Description, "Launching a new EC2 instance: ")
		if _, joined := nodes[id]; launched && !joined && out.Activities[i].StartTime.After(r.group.Status.Rollout.Started.Time) {
			absent++
			if !strings.Contains(stalled.Message, "instance "+id+" did not join") {
				t.Errorf("the group reports %q, not that %s did not join", stalled.Message, id)
			}
		}
	}
	if absent == 0 {
		t.Error("no instance was launched that did not join")
	}
}

// A PodDisruptionBudget that permits no eviction cancels the change. The group reports the node and
// the budget, the pods stay until they may be evicted, and the next edit succeeds.
func TestDrainTimeoutCancelsTheUpdate(t *testing.T) {
	r := newRolling(t, func(group *v1alpha1.InstanceGroup) {
		group.Spec.RollingUpdate.DrainTimeout = &metav1.Duration{Duration: 10 * time.Second}
		group.Spec.RollingUpdate.OnDrainTimeout = v1alpha1.DrainAbandon
		group.Spec.RollingUpdate.Pause = &metav1.Duration{Duration: 5 * time.Second} // so that the change is in progress at the timeout
	})
	was := r.group.Status.Stack.Bundle
	labels := map[string]string{"app": "db"}
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "db-budget", Namespace: "default"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(0)),
			Selector:       &metav1.LabelSelector{MatchLabels: labels},
		},
	}
	guarded := []client.Object{budget}
	for id, node := range r.mustNodes() {
		guarded = append(guarded, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "db-" + id, Namespace: "default", Labels: labels},
			Spec:       corev1.PodSpec{NodeName: node.Name, Containers: []corev1.Container{{Name: "db", Image: "db"}}},
		})
	}
	for _, obj := range guarded {
		if err := r.inside.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	r.patch(r.group, `{"spec":{"labels":{"team":"new"}}}`)
	stalled := r.condition(r.group, "Stalled", metav1.ConditionTrue, "DrainTimedOut")
	for _, words := range []string{"could not be drained in time", "default/db-budget blocks eviction", "The group was rolled back to its previous configuration", "Change the object or its annotation aws-operator/retry to retry"} {
		if !strings.Contains(stalled.Message, words) {
			t.Errorf("the group reports %q", stalled.Message)
		}
	}
	r.ended(v1alpha1.RolloutRolledBack)
	if now := r.group.Status.Stack.Bundle; now != was {
		t.Errorf("the instances boot with %s, and the status has %s", was, now)
	}
	for _, obj := range guarded[1:] {
		if err := r.inside.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			t.Errorf("a pod that the budget protects: %v", err)
		}
	}
	if err := r.inside.Delete(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	r.only(3, "")
	r.patch(r.group, `{"spec":{"labels":{"team":"good"}}}`)
	r.ended(v1alpha1.RolloutDone)
	r.only(3, "good")
}

// An instance fails while CloudFormation waits for its signal.
func TestNewInstanceThatFailsDuringAnUpdateIsReplaced(t *testing.T) {
	r := newRolling(t, func(group *v1alpha1.InstanceGroup) {
		group.Spec.RollingUpdate.Pause = &metav1.Duration{Duration: 5 * time.Second} // while CloudFormation waits for the instance
	})
	r.patch(r.group, `{"spec":{"labels":{"team":"new"}}}`)
	dead := ""
	r.eventually("a new node joins", func() error {
		if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(r.group), r.group); err != nil {
			return err
		}
		if rolloutStatus := r.group.Status.Rollout; rolloutStatus == nil ||
			rolloutStatus.Updated == 0 { // The operator has not observed it.
			return errStill
		}
		for id, node := range r.mustNodes() {
			if node.Labels["team"] == "new" {
				dead = id
				return nil
			}
		}
		return errStill
	})
	if err := r.sim.Instances().Fail(account, region, dead); err != nil {
		t.Fatal(err)
	}
	r.ended(v1alpha1.RolloutDone)
	if _, there := r.only(3, "new")[dead]; there {
		t.Errorf("instance %s, which is terminated, has a node", dead)
	}
}

// The operator is restarted repeatedly during a rolling update.
func TestRollingUpdateSurvivesOperatorRestarts(t *testing.T) {
	r := newRolling(t, func(group *v1alpha1.InstanceGroup) {
		group.Spec.Autoscale = true
	})
	r.patch(r.group, `{"spec":{"labels":{"team":"new"}}}`)
	for range 3 {
		pause(t, 300*time.Millisecond)
		r.stop()
		r.start()
	}
	r.ended(v1alpha1.RolloutDone)
	r.only(3, "new")
	r.eventually("the cluster autoscaler is resumed", func() error {
		if tags := r.tags(); tags["k8s.io/cluster-autoscaler/enabled"] != "true" {
			return fmt.Errorf("the tags are %v", tags)
		}
		return nil
	})
}

// CloudFormation throttles the signals of a rolling update while the spec is edited to be invalid.
func TestThrottledSignalsAreRetried(t *testing.T) {
	r := newRolling(t, nil)
	r.sim.Faults().Add(fault.Throttle("cloudformation", "SignalResource", 5))
	r.patch(r.group, `{"spec":{"labels":{"team":"new"}}}`)
	r.condition(r.group, "Ready", metav1.ConditionFalse, "Rolling")
	r.patch(r.group, `{"spec":{"zones":["eu-central-1z"]}}`)
	r.only(3, "new")
	r.condition(r.group, "Stalled", metav1.ConditionTrue, "InvalidSpec")
	r.patch(r.group, `{"spec":{"zones":null}}`)
	r.ended(v1alpha1.RolloutDone)
	r.kept(2)
}

// A group is paused during a rolling update, which does not fail for lack of signals.
func TestPausedGroupContinuesItsRollingUpdate(t *testing.T) {
	r := newRolling(t, nil)
	seen := r.seen("cloudformation/SignalResource:1")
	r.patch(r.group, `{"spec":{"labels":{"team":"new"}}}`)
	select {
	case <-seen:
	case <-time.After(patience.Left(t)):
		t.Fatal("no signal was sent")
	}
	r.patch(r.group, `{"metadata":{"annotations":{"aws-operator/paused":"true"}}}`)
	r.only(3, "new")
	r.patch(r.group, `{"metadata":{"annotations":{"aws-operator/paused":null}}}`)
	r.ended(v1alpha1.RolloutDone)
}

// A group of one, an empty group and a group of spot instances are updated.
func TestRollingUpdateOfSingleEmptyAndSpotGroups(t *testing.T) {
	r := newRolling(t, func(group *v1alpha1.InstanceGroup) { group.Spec.MinSize, group.Spec.MaxSize = 1, 1 })
	empty, spot := r.aGroup("demo-empty", "demo"), r.aGroup("demo-spot", "demo")
	empty.Spec.MinSize, empty.Spec.MaxSize = 0, 1
	spot.Spec.Spot = &v1alpha1.Spot{OnDemandBase: 1}
	spot.Spec.InstanceTypes = []string{"m6i.large", "m6a.large"}
	r.create(empty, spot)
	for _, group := range []*v1alpha1.InstanceGroup{empty, spot} {
		r.condition(group, "Ready", metav1.ConditionTrue, "")
	}
	for group, count := range map[*v1alpha1.InstanceGroup]int{r.group: 1, empty: 0, spot: 2} {
		r.patch(group, `{"spec":{"labels":{"team":"new"}}}`)
		of := &rolling{suite: r.suite, group: group, name: group.Name, inside: r.inside}
		of.ended(v1alpha1.RolloutDone)
		of.only(count, "new")
		r.condition(group, "NodesUpdated", metav1.ConditionTrue, "AllUpdated")
	}
}
