package simulation

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
)

// watcher checks the invariants.
type watcher struct {
	r *run
	// nodes and instances are as last observed.
	nodes     map[string]corev1.Node // by instance
	instances map[string]ec2.Instance
	draining  map[string]time.Time // since when an instance's node is cordoned
	notes     []string
}

func newWatcher(r *run) *watcher {
	return &watcher{r: r, nodes: map[string]corev1.Node{}, instances: map[string]ec2.Instance{}, draining: map[string]time.Time{}}
}

// note records what happened, for the story of a failed run.
func (r *run) note(text string) {
	if r.watcher != nil {
		r.watcher.notes = append(r.watcher.notes, fmt.Sprintf("%8s %s", time.Since(r.began), text))
	}
}

// damaged records an injected failure of a machine: until all are repaired, weaker invariants
// apply.
func (r *run) damaged(slot bool, instance string) {
	r.note("it strikes " + instance)
	r.struck[instance] = true
	if slot {
		r.slotDamage = true
	} else {
		r.groupDamage = true
	}
}

// check compares the state with the invariants.
func (w *watcher) check() {
	before := w.nodes
	w.checkCluster()
	now := map[string]ec2.Instance{}
	for _, instance := range w.r.machines() {
		now[instance.ID] = instance
	}
	for id, was := range w.instances {
		is, there := now[id]
		ended := !there || is.State == ec2types.InstanceStateNameShuttingDown
		if ended && was.State == ec2types.InstanceStateNameRunning {
			w.ended(&was, before)
		}
	}
	w.instances = now
	w.budget()
	w.versions()
	w.repair()
}

// ended checks how an instance was terminated.
func (w *watcher) ended(i *ec2.Instance, before map[string]corev1.Node) {
	w.r.note("instance " + i.ID + " of " + i.Tags["aws:autoscaling:groupName"] + " ends")
	if w.r.struck[i.ID] {
		return
	}
	if isSlot(i) {
		w.slotEnded(i)
		return
	}
	node, known := before[i.ID]
	if !known {
		return // it never joined
	}
	w.drained(i, &node)
}

// slotEnded checks that the operator and CloudFormation terminate a slot only while all others
// serve.
func (w *watcher) slotEnded(ended *ec2.Instance) {
	if w.r.scenario.slots == 1 {
		return
	}
	others := 0
	for id, node := range w.nodes {
		if i, ok := w.instances[id]; ok && id != ended.ID && isSlot(&i) && isReady(&node) {
			others++
		}
	}
	if others < int(w.r.scenario.slots)/2+1 {
		w.r.t.Errorf("slot instance %s was terminated while only %d others were ready: etcd loses its quorum", ended.ID, others)
	} else if others < int(w.r.scenario.slots)-1 && !w.r.slotDamage {
		w.r.t.Errorf("slot instance %s was terminated while only %d others were ready", ended.ID, others)
	}
}

// drained checks that no node with pods of the application is terminated before the drain's
// deadline. While no operator runs, nothing is drained, and the lifecycle hook holds an instance only for
// that long.
func (w *watcher) drained(i *ec2.Instance, node *corev1.Node) {
	if w.r.away {
		w.r.groupDamage = true
		return
	}
	since, cordoned := w.draining[i.ID]
	if cordoned && time.Since(since) >= w.r.scenario.group.RollingUpdate.DrainTimeout.Duration-between {
		w.r.groupDamage = true // its remaining pods were deleted regardless of the budget, as the policy Continue says
		return
	}
	left := w.podsOn(node.Name)
	if len(left) > 0 {
		w.r.t.Errorf(
			"instance %s was terminated with %s on it, %s after it was cordoned (%v)",
			i.ID,
			strings.Join(left, ", "),
			time.Since(since),
			cordoned,
		)
	}
}

func (w *watcher) podsOn(node string) []string {
	pods, err := w.r.workload.CoreV1().Pods("default").List(w.r.t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return nil
	}
	var names []string
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	return names
}

// checkCluster checks the nodes, if the API answers.
func (w *watcher) checkCluster() {
	list, err := w.r.workload.CoreV1().Nodes().List(w.r.t.Context(), metav1.ListOptions{})
	if err != nil {
		if w.r.scenario.slots > 1 && !w.r.slotDamage {
			w.r.t.Errorf("the API does not answer: %v", err)
		}
		return
	}
	nodes := map[string]corev1.Node{}
	for i := range list.Items {
		node := &list.Items[i]
		if strings.HasPrefix(node.Name, lies) {
			continue
		}
		id := node.Spec.ProviderID[strings.LastIndex(node.Spec.ProviderID, "/")+1:]
		nodes[id] = *node
		if _, known := w.draining[id]; node.Spec.Unschedulable && !known {
			w.draining[id] = time.Now()
		}
	}
	w.nodes = nodes
}

// budget checks that no more pods are unavailable than the budget allows, unless machines failed or
// drains timed out.
func (w *watcher) budget() {
	if ready := w.r.readyPods(); ready >= 0 && ready < int(w.r.scenario.replicas)-1 && !w.r.groupDamage {
		w.r.t.Errorf("%d of %d pods are ready, and the budget allows one to be unavailable", ready, w.r.scenario.replicas)
	}
}

// versions checks that no node is newer than the oldest slot.
func (w *watcher) versions() {
	var oldest *version.Version
	for id, node := range w.nodes {
		if i, ok := w.instances[id]; ok && isSlot(&i) {
			v := version.MustParseSemantic(node.Status.NodeInfo.KubeletVersion)
			if oldest == nil || v.LessThan(oldest) {
				oldest = v
			}
		}
	}
	for id, node := range w.nodes {
		if i, ok := w.instances[id]; ok && !isSlot(&i) && oldest != nil &&
			oldest.LessThan(version.MustParseSemantic(node.Status.NodeInfo.KubeletVersion)) {
			w.r.t.Errorf("node %s has version %s, and a slot %s", node.Name, node.Status.NodeInfo.KubeletVersion, oldest)
		}
	}
}

// repair records that injected failures are repaired.
func (w *watcher) repair() {
	slots, workers := 0, 0
	struckSlot, struckWorker := false, false // the damage may still affect their pods
	for id, i := range w.instances {
		if w.r.struck[id] && i.State != ec2types.InstanceStateNameTerminated {
			struckSlot, struckWorker = struckSlot || isSlot(&i), struckWorker || !isSlot(&i)
		}
	}
	for id, node := range w.nodes {
		i, ok := w.instances[id]
		switch {
		case !ok || !isReady(&node) || w.r.struck[id] || i.State != ec2types.InstanceStateNameRunning: // or its pods still count
		case isSlot(&i):
			slots++
		default:
			workers++
		}
	}
	if !struckSlot && slots >= int(w.r.scenario.slots) {
		w.r.slotDamage = false
	}
	if !struckWorker && workers >= int(w.r.scenario.group.MinSize) && w.r.readyPods() == int(w.r.scenario.replicas) {
		w.r.groupDamage = false
	}
}

func isReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// isSettled describes what does not match the specs yet, or returns "".
func (r *run) isSettled() string {
	cluster, workers := r.getCluster(), r.getGroup()
	switch {
	case cluster.Status.ObservedGeneration != cluster.Generation || !meta.IsStatusConditionTrue(cluster.Status.Conditions, "Ready"):
		return "the Cluster is not ready"
	case workers.Status.ObservedGeneration != workers.Generation || !meta.IsStatusConditionTrue(workers.Status.Conditions, "Ready"):
		return "the InstanceGroup is not ready"
	case r.watcher == nil:
		return ""
	case cluster.Status.Release != cluster.Spec.Release || workers.Status.Release != cluster.Spec.Release:
		return fmt.Sprintf("the release is %q and the workers' %q", cluster.Status.Release, workers.Status.Release)
	}
	count := 0
	for id, node := range r.watcher.nodes {
		i, ok := r.watcher.instances[id]
		switch {
		case !ok:
			return "node " + node.Name + " has no instance"
		case node.Spec.Unschedulable || !isReady(&node):
			return "node " + node.Name + " is cordoned or not ready"
		case isSlot(&i):
		case workers.Status.Stack == nil || !strings.HasPrefix(workers.Status.Stack.Bundle, node.Labels["cluster-operator.aws/bundle"]):
			return "node " + node.Name + " has another bundle"
		default:
			count++
		}
	}
	if count < int(workers.Spec.MinSize) || count > int(workers.Spec.MaxSize) {
		return fmt.Sprintf("there are %d workers", count)
	}
	if ready := r.readyPods(); ready != int(r.scenario.replicas) {
		return fmt.Sprintf("%d of %d pods are ready", ready, r.scenario.replicas)
	}
	return ""
}

// finish checks the final state.
func (r *run) finish() {
	r.t.Helper()
	for _, instance := range r.machines() {
		if instance.State != ec2types.InstanceStateNameRunning {
			r.t.Errorf("instance %s finally is %s", instance.ID, instance.State)
		}
	}
}

// story describes what happened, and the state of the objects.
func (r *run) story() string {
	var text bytes.Buffer
	if r.watcher != nil {
		text.WriteString(strings.Join(r.watcher.notes, "\n"))
	}
	cluster, workers := &v1alpha1.Cluster{}, &v1alpha1.InstanceGroup{}
	_ = r.client.Get(
		context.Background(), types.NamespacedName{Namespace: namespace, Name: "demo"}, cluster,
	) // an unreadable object is omitted
	_ = r.client.Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: group}, workers)
	for name, conditions := range map[string][]metav1.Condition{
		"Cluster": cluster.Status.Conditions, "InstanceGroup": workers.Status.Conditions,
	} {
		for _, c := range conditions {
			fmt.Fprintf(&text, "\n%s %s=%s %s: %s", name, c.Type, c.Status, c.Reason, c.Message)
		}
	}
	for _, s := range cluster.Status.Stacks {
		fmt.Fprintf(&text, "\nstack %s %s %s %s", s.Name, s.Status, s.Reason, s.Record.Raw)
	}
	if s := workers.Status.Stack; s != nil && s.Record != nil {
		fmt.Fprintf(&text, "\nstack %s %s %s %s", s.Name, s.Status, s.Reason, s.Record.Raw)
	}
	for id, i := range r.sim.Instances().Kept(account, region) {
		fmt.Fprintf(&text, "\nkept %s %d", id, i)
	}
	if r.watcher != nil {
		for id, node := range r.watcher.nodes {
			fmt.Fprintf(
				&text,
				"\nnode %s on %s: ready %v, cordoned %v, bundle %s",
				node.Name,
				id,
				isReady(&node),
				node.Spec.Unschedulable,
				node.Labels["cluster-operator.aws/bundle"],
			)
		}
	}
	return text.String()
}
