package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/backup"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// watched is a cluster that is up and whose nodes are observed.
type watched struct {
	*suite
	cluster *v1alpha1.Cluster
	inside  client.Client

	mu     sync.Mutex
	fewest int      // the lowest number of healthy slots
	moved  []string // nodes in the order of their upgrade
	broken []string // violations
}

const formerRelease = "v1.35.9"

// newWatched creates a cluster with a number of slots, the previous release, and groups, and waits
// for all nodes.
func newWatched(t *testing.T, replicas int32, machines machine.Host, change func(*v1alpha1.Cluster), groups ...string) *watched {
	t.Helper()
	w := newSuite(t, machines, nil)
	w.start()
	former := aRelease(formerRelease)
	former.Spec.Kubernetes = formerRelease
	if err := w.client.Create(t.Context(), former); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	cluster := w.aCluster("demo")
	cluster.Spec.Release, cluster.Spec.ControlPlane.Replicas = formerRelease, replicas
	if change != nil {
		change(cluster)
	}
	w.create(cluster)
	for _, name := range groups {
		w.create(w.aGroup(name, "demo"))
	}
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	for _, name := range groups {
		w.condition(w.aGroup(name, "demo"), "Ready", metav1.ConditionTrue, "")
	}
	v := &watched{suite: w, cluster: cluster, inside: w.inside("demo"), fewest: int(replicas)}
	v.watch()
	return v
}

// watch observes the nodes repeatedly until the test ends.
func (w *watched) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	w.t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		tick := time.NewTicker(15 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			list := &corev1.NodeList{}
			if err := w.inside.List(ctx, list); err == nil {
				w.observe(list.Items)
			}
		}
	}()
}

func (w *watched) observe(nodes []corev1.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	serving, oldest, newest := map[string]bool{}, "", ""
	for i := range nodes {
		slot, version := nodes[i].Labels["cluster-operator.aws/slot"], nodes[i].Status.NodeInfo.KubeletVersion
		if slot == "" {
			newest = max(newest, version)
			continue
		}
		if nodeReady(&nodes[i]) {
			serving[slot] = true
			if oldest == "" || version < oldest {
				oldest = version
			}
		}
		if version != formerRelease && version != "" && !slices.Contains(w.moved, slot) {
			w.moved = append(w.moved, slot)
		}
	}
	w.fewest = min(w.fewest, len(serving))
	if newest > oldest && oldest != "" {
		w.broken = append(w.broken, fmt.Sprintf("a node of %s is newer than a slot of %s", newest, oldest))
	}
}

func nodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// kept checks that nothing was violated so far.
func (w *watched) kept(fewest int, moved string) {
	w.t.Helper()
	list := &corev1.NodeList{}
	if err := w.inside.List(w.t.Context(), list); err != nil {
		w.t.Fatal(err)
	}
	w.observe(list.Items)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fewest < fewest {
		w.t.Errorf("at one moment only %d slots were healthy, want at least %d", w.fewest, fewest)
	}
	if got := strings.Join(w.moved, " "); got != moved {
		w.t.Errorf("the slots moved in the order %q, not %q", got, moved)
	}
	for _, problem := range w.broken {
		w.t.Error(problem)
	}
}

// runs waits until the whole control plane runs a release.
func (w *watched) runs(release string) {
	w.t.Helper()
	w.eventually("the cluster runs "+release, func() error {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(w.cluster), w.cluster); err != nil {
			return err
		}
		if s := &w.cluster.Status; s.Release != release || s.Version != release {
			return fmt.Errorf(
				"it runs %q (%q), rollout %+v, stacks %v; %s",
				s.Release,
				s.Version,
				s.Rollout,
				w.stacks(account, region),
				describeConditions(s.Conditions),
			)
		}
		return nil
	})
}

// versions returns the distinct versions of all Ready nodes.
func (w *watched) versions() []string {
	w.t.Helper()
	list := &corev1.NodeList{}
	if err := w.inside.List(w.t.Context(), list); err != nil {
		w.t.Fatal(err)
	}
	var found []string
	for i := range list.Items {
		found = append(found, list.Items[i].Status.NodeInfo.KubeletVersion)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// A minor version upgrade completes, also when the operator is killed repeatedly.
func TestUpgradeChangesSlotsOneByOneThenGroups(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(map[bool]string{false: "undisturbed", true: "killed repeatedly"}[killed], func(t *testing.T) {
			w := newWatched(t, 3, simulatedHost(), nil, "demo-workers")
			w.runs(formerRelease)
			w.patch(w.cluster, `{"spec":{"release":"v1.36.3"}}`)
			for range 8 {
				if !killed {
					break
				}
				pause(t, 150*time.Millisecond)
				w.stop()
				w.start()
			}
			w.runs("v1.36.3")
			w.condition(w.cluster, "Ready", metav1.ConditionTrue, "")
			w.eventually("all nodes run the new version", func() error {
				if got := w.versions(); !slices.Equal(got, []string{"v1.36.3"}) {
					return fmt.Errorf("they are %v", got)
				}
				return nil
			})
			w.kept(2, "0 1 2")
			rolloutStatus := w.cluster.Status.Rollout
			if rolloutStatus == nil || rolloutStatus.State != v1alpha1.RolloutDone || rolloutStatus.Updated != 3 ||
				rolloutStatus.Total != 3 ||
				rolloutStatus.Finished == nil {
				t.Errorf("the rollout is reported as %+v", rolloutStatus)
			}
		})
	}
}

// A rollout completes also when the operator cannot record what it sent, because another client
// changed the Cluster in the meantime.
func TestRolloutSurvivesConflictingWrites(t *testing.T) {
	for name, edit := range map[string]func(c client.Client, cluster *v1alpha1.Cluster, patch client.Patch) error{
		"of the metadata": func(c client.Client, cluster *v1alpha1.Cluster, patch client.Patch) error {
			return c.Patch(context.Background(), cluster, patch)
		},
		"of the status": func(c client.Client, cluster *v1alpha1.Cluster, patch client.Patch) error {
			return c.Status().Patch(context.Background(), cluster, patch)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatched(t, 3, simulatedHost(), nil)
			before := w.instances()
			var edits atomic.Int32
			t.Cleanup(w.sim.Faults().OnCall(func(info fault.CallInfo) {
				if info.Operation != "UpdateStack" || info.Phase != fault.After {
					return
				}
				patch := fmt.Sprintf(
					`{"metadata":{"annotations":{"example.com/edits":"%d"}},"status":{"resourceSet":"1.1.0+%[1]d"}}`, edits.Add(1),
				)
				if err := edit(w.client, w.aCluster("demo"), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
					t.Error(err)
				}
			}))
			w.patch(w.cluster, `{"spec":{"controlPlane":{"roll":"2026-11-23"}}}`)
			w.condition(w.cluster, "Ready", metav1.ConditionTrue, "")
			for _, id := range w.instances() {
				if slices.Contains(before, id) {
					t.Errorf("%s was not replaced", id)
				}
			}
			w.kept(2, "")
			if edits.Load() < 3 {
				t.Errorf("%d updates were sent, want one per slot", edits.Load())
			}
		})
	}
}

// Changes that need no new instance replace none.
func TestTagChangeReplacesNoSlot(t *testing.T) {
	w := newWatched(t, 3, simulatedHost(), nil)
	before := w.instances()
	w.patch(w.cluster, `{"spec":{"tags":{"team":"blue"},"api":{"allowedCIDRs":["198.51.100.0/24"]},"backup":{"keep":3}}}`)
	w.condition(w.cluster, "Ready", metav1.ConditionTrue, "")
	if after := w.instances(); !slices.Equal(before, after) {
		t.Errorf("the instances were %v and are %v", before, after)
	}
	if w.cluster.Status.Rollout != nil {
		t.Errorf("a rollout is reported: %+v", w.cluster.Status.Rollout)
	}
}

// A changed spec.controlPlane.roll replaces the slots' instances.
func TestSlotsAreReplacedOnRequest(t *testing.T) {
	w := newWatched(t, 3, simulatedHost(), nil)
	before := w.instances()
	w.patch(w.cluster, `{"spec":{"controlPlane":{"roll":"2026-11-22"}}}`)
	w.condition(w.cluster, "Ready", metav1.ConditionTrue, "")
	after := w.instances()
	for _, id := range after {
		if slices.Contains(before, id) {
			t.Errorf("%s was not replaced", id)
		}
	}
	if len(after) != 3 {
		t.Errorf("the instances are %v", after)
	}
	w.kept(2, "")
	w.patch(w.cluster, `{"spec":{"controlPlane":{"roll":null}}}`)
	w.condition(w.cluster, "Ready", metav1.ConditionTrue, "")
	if now := w.instances(); !slices.Equal(after, now) {
		t.Errorf("the instances were %v and are %v", after, now)
	}
}

// instances returns the sorted instances of the slots.
func (w *watched) instances() []string {
	w.t.Helper()
	out, err := ec2.NewFromConfig(w.awsConfig(account, region)).DescribeInstances(w.t.Context(), &ec2.DescribeInstancesInput{})
	if err != nil {
		w.t.Fatal(err)
	}
	var found []string
	for i := range out.Reservations {
		for j := range out.Reservations[i].Instances {
			one := &out.Reservations[i].Instances[j]
			if one.State.Name == "running" {
				found = append(found, aws.ToString(one.InstanceId))
			}
		}
	}
	slices.Sort(found)
	return found
}

// The second slot's change times out: the slot rolls back, the others stay unchanged, and the next
// edit starts with it.
func TestUnhealthySlotStopsTheRollout(t *testing.T) {
	w := newWatched(t, 3, fake.New(fake.Options{BootTime: 5 * time.Second}), nil)
	w.patch(w.cluster, `{"spec":{"release":"v1.36.3"}}`)
	w.slotIs(1, "UPDATE_IN_PROGRESS")
	console := cloudformation.NewFromConfig(w.awsConfig(account, region))
	if _, err := console.CancelUpdateStack(t.Context(), &cloudformation.CancelUpdateStackInput{
		StackName: aws.String("demo-control-plane-1"),
	}); err != nil {
		t.Fatal(err)
	}
	said := w.condition(w.cluster, "Stalled", metav1.ConditionTrue, "")
	if !strings.Contains(said.Message, "slot 1 of the control plane") || !strings.Contains(said.Message, "other slots are unchanged") {
		t.Errorf("the message is %s", said.Message)
	}
	w.condition(w.cluster, "ControlPlaneReady", metav1.ConditionFalse, said.Reason)
	if s := &w.cluster.Status; s.Release != formerRelease || s.Rollout.State != v1alpha1.RolloutStopped || s.Rollout.Updated != 1 {
		t.Errorf("the status is %s, %+v", s.Release, s.Rollout)
	}
	w.slotIs(2, "CREATE_COMPLETE")
	w.patch(w.cluster, `{"spec":{"tags":{"another":"try"}}}`)
	w.runs("v1.36.3")
	w.kept(2, "0 1 2")
}

// slotIs waits until a slot's stack has a status.
func (w *watched) slotIs(slot int, status string) {
	w.t.Helper()
	name := fmt.Sprintf("demo-control-plane-%d", slot)
	w.eventually(name+" is "+status, func() error {
		if got := w.stacks(account, region)[name]; got != status {
			_ = w.client.Get(w.t.Context(), client.ObjectKeyFromObject(w.cluster), w.cluster) // The error reports the last observed state.
			return fmt.Errorf("it is %s, and the cluster %s", got, describeConditions(w.cluster.Status.Conditions))
		}
		return nil
	})
}

// The only instance of a control plane is replaced after a snapshot, unless backups are disabled.
func TestSingleSlotIsReplacedAfterASnapshot(t *testing.T) {
	for _, disabled := range []bool{false, true} {
		t.Run(fmt.Sprintf("backups disabled %t", disabled), func(t *testing.T) { replaceSingleSlot(t, disabled) })
	}
}

func replaceSingleSlot(t *testing.T, disabled bool) {
	t.Helper()
	set := func(c *v1alpha1.Cluster) { c.Spec.Backup.Disabled = disabled }
	w := newWatched(t, 1, fake.New(fake.Options{BootTime: time.Second}), set, "demo-workers")
	before := w.instances()
	w.patch(w.cluster, `{"spec":{"release":"v1.36.3"}}`)
	w.condition(w.cluster, "ControlPlaneReady", metav1.ConditionFalse, "ReplacingSlot")
	out, err := ec2.NewFromConfig(w.awsConfig(account, region)).
		DescribeSnapshots(t.Context(), &ec2.DescribeSnapshotsInput{OwnerIds: []string{"self"}, Filters: []ec2types.Filter{
			{Name: aws.String("tag:" + backup.Tag), Values: []string{"before-*"}},
		}})
	want := map[bool]int{false: 1, true: 0}[disabled]
	if err != nil || len(out.Snapshots) != want || want > 0 && out.Snapshots[0].State != "completed" {
		t.Errorf("the snapshots are %+v, %v", out, err)
	}
	w.runs("v1.36.3")
	w.condition(w.cluster, "Ready", metav1.ConditionTrue, "")
	w.eventually("all instances are replaced", func() error {
		for _, one := range w.instances() {
			if slices.Contains(before, one) {
				return fmt.Errorf("%s still exists", one)
			}
		}
		return nil
	})
}

// Releases that the cluster cannot change to have no effect, and the cluster continues to be
// operated.
func TestRefusedUpgradesChangeNothing(t *testing.T) {
	w := newWatched(t, 1, simulatedHost(), func(c *v1alpha1.Cluster) { c.Spec.Release = "v1.36.3" }, "demo-workers")
	w.runs("v1.36.3")
	for sentence, c := range map[string]struct{ release, reason, says string }{
		"a minor version down":          {formerRelease, "UpgradeRefused", "set spec.release back to v1.36.3"},
		"a Release that does not exist": {"v1.99.0", "ReleaseNotFound", "running cluster stays unchanged"},
	} {
		calls := w.sim.Calls()["cloudformation/UpdateStack"]
		w.patch(w.cluster, fmt.Sprintf(`{"spec":{"release":%q}}`, c.release))
		if said := w.condition(w.cluster, "Stalled", metav1.ConditionTrue, c.reason); !strings.Contains(said.Message, c.says) {
			t.Errorf("%s: the message is %s", sentence, said.Message)
		}
		if now := w.sim.Calls()["cloudformation/UpdateStack"]; now != calls {
			t.Errorf("%s: %d updates were sent", sentence, now-calls)
		}
		w.replaced(w.cluster, w.inside)
		w.patch(w.cluster, `{"spec":{"release":"v1.36.3"}}`)
		w.condition(w.cluster, "Ready", metav1.ConditionTrue, "")
	}
	group := w.aGroup("demo-late", "demo")
	w.patch(w.cluster, fmt.Sprintf(`{"spec":{"release":%q}}`, formerRelease))
	w.condition(w.cluster, "Stalled", metav1.ConditionTrue, "UpgradeRefused")
	w.create(group)
	w.condition(group, "Ready", metav1.ConditionTrue, "")
}
