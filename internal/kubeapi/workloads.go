package kubeapi

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// controller is a Deployment, ReplicaSet, StatefulSet or DaemonSet.
type controller struct {
	workload

	kind *kind
}

// workload is what these kinds have in common.
type workload struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Replicas *int32                 `json:"replicas"`
		Template corev1.PodTemplateSpec `json:"template"`
	} `json:"spec"`
}

// replicas returns the desired replicas, one by default.
func (c *controller) replicas() int { return int(ptr.Deref(c.Spec.Replicas, 1)) }

func (c *controller) ref() *metav1.OwnerReference {
	return metav1.NewControllerRef(&c.Metadata, c.kind.groupVersion().WithKind(c.kind.Kind))
}

// concernOf returns the concern for a kind of controller.
func concernOf(k *kind) concern {
	switch k {
	case deploymentKind:
		return deploy
	case daemonSetKind:
		return count
	}
	return replicate
}

// askOwner queues the controller of a changed object.
func (p *simulation) askOwner(namespace string, owner *metav1.OwnerReference, node string) {
	for _, k := range []*kind{replicaSetKind, statefulSetKind, daemonSetKind, deploymentKind} {
		if k.Kind != owner.Kind || k.groupVersion().String() != owner.APIVersion {
			continue
		}
		of := key{k, types.NamespacedName{Namespace: namespace, Name: owner.Name}}
		p.ask(concernOf(k), of, "")
		if k == daemonSetKind && node != "" {
			p.ask(daemonize, of, node)
		}
	}
}

func (p *simulation) noteSet(c change) {
	of := key{c.kind, nameOf(c.object)}
	old := p.sets[of]
	var set *controller
	if c.event != watch.Deleted {
		if read := decode[workload](c.object); read != nil {
			set = &controller{*read, c.kind}
		}
	}
	if old != nil && (set == nil || old.Metadata.UID != set.Metadata.UID) {
		p.forgetSet(of, old)
	}
	if set == nil {
		return
	}
	p.sets[of] = set
	if owner := metav1.GetControllerOf(&set.Metadata); owner != nil {
		add(p.under, owner.UID, of.name)
		p.askOwner(of.name.Namespace, owner, "")
	}
	p.ask(concernOf(c.kind), of, "")
	if old != nil && old.Metadata.Generation == set.Metadata.Generation {
		return
	}
	if c.kind == daemonSetKind {
		p.daemons[of] = set
		for _, node := range slices.Sorted(maps.Keys(p.nodes)) {
			p.ask(daemonize, of, node)
		}
	}
	for _, b := range p.budgets[of.name.Namespace] { // How many pods it expects may have changed.
		p.ask(guard, key{budgetKind, b.name}, "")
	}
}

// forgetSet deletes the objects of a deleted controller.
func (p *simulation) forgetSet(of key, old *controller) {
	delete(p.sets, of)
	delete(p.daemons, of)
	if owner := metav1.GetControllerOf(&old.Metadata); owner != nil {
		drop(p.under, owner.UID, of.name)
		p.askOwner(of.name.Namespace, owner, "")
	}
	for _, name := range p.of[old.Metadata.UID].sorted() {
		p.ask(collect, key{podKind, name}, "")
	}
	for _, name := range p.under[old.Metadata.UID].sorted() {
		p.ask(collect, key{replicaSetKind, name}, "")
	}
}

// hashLabel distinguishes the pods of a Deployment's ReplicaSets.
const hashLabel = "pod-template-hash"

// deploy maintains one ReplicaSet for a Deployment. A new template applies to new pods only: there
// is no rolling update.
func (p *simulation) deploy(of key) {
	d := p.sets[of]
	if d == nil || d.Metadata.DeletionTimestamp != nil {
		return
	}
	if len(p.under[d.Metadata.UID]) == 0 {
		p.addReplicaSet(d)
	}
	for _, name := range p.under[d.Metadata.UID].sorted() {
		set := p.sets[key{replicaSetKind, name}]
		if set == nil {
			continue
		}
		template := d.templateWith(set.Metadata.Labels[hashLabel])
		_, _ = p.store.edit(replicaSetKind, name, func(object *unstructured.Unstructured) error { // It exists.
			if err := unstructured.SetNestedField(object.Object, int64(d.replicas()), "spec", "replicas"); err != nil {
				return err //nolint:wrapcheck // The caller ignores it.
			}
			return unstructured.SetNestedMap(object.Object, encoded(&template), "spec", "template") //nolint:wrapcheck // The caller ignores it.
		})
		all, ready := p.tally(set)
		p.report(of, map[string]any{
			"observedGeneration": d.Metadata.Generation, "replicas": all, "updatedReplicas": all, "readyReplicas": ready,
			"availableReplicas":   ready,
			"unavailableReplicas": max(0, int64(d.replicas())-ready),
			"conditions":          availability(ready >= int64(d.replicas())),
		})
	}
}

// availability returns the condition Available, for which tools wait.
func availability(available bool) []any {
	status, reason := "True", "MinimumReplicasAvailable"
	if !available {
		status, reason = "False", "MinimumReplicasUnavailable"
	}
	return []any{
		map[string]any{"type": "Available", "status": status, "reason": reason},
		map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
	}
}

func (c *controller) templateWith(hash string) corev1.PodTemplateSpec {
	template := *c.Spec.Template.DeepCopy()
	if hash != "" {
		template.Labels = maps.Clone(template.Labels)
		if template.Labels == nil {
			template.Labels = map[string]string{}
		}
		template.Labels[hashLabel] = hash
	}
	return template
}

func (p *simulation) addReplicaSet(d *controller) {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(d.Metadata.UID))
	hash := utilrand.SafeEncodeString(fmt.Sprint(sum.Sum32()))
	template := d.templateWith(hash)
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.Metadata.Name + "-" + hash, Labels: template.Labels, OwnerReferences: []metav1.OwnerReference{*d.ref()},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: d.Spec.Replicas, Template: template, Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
		},
	}
	_, _ = p.store.add(replicaSetKind, d.Metadata.Namespace, &unstructured.Unstructured{Object: encoded(set)}) // It has none yet.
}

// tally counts the pods of a controller that are not terminating, and those of them that are Ready.
func (p *simulation) tally(c *controller) (all, ready int64) {
	for name := range p.of[c.Metadata.UID] {
		if pod := p.pods[name]; active(pod) {
			all++
			if isPodReady(pod) {
				ready++
			}
		}
	}
	return all, ready
}

// active reports whether a pod counts as a replica.
func active(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// report writes a controller's status.
func (p *simulation) report(of key, status map[string]any) {
	_, _ = p.store.edit(of.kind, of.name, func(object *unstructured.Unstructured) error { // It exists.
		object.Object["status"] = status
		return nil
	})
}

// replicate creates and deletes pods of a ReplicaSet or StatefulSet.
func (p *simulation) replicate(of key) {
	set := p.sets[of]
	if set == nil || set.Metadata.DeletionTimestamp != nil {
		return
	}
	if of.kind == statefulSetKind {
		p.number(set)
	} else {
		p.level(set)
	}
	all, ready := p.tally(set)
	p.report(of, map[string]any{
		"observedGeneration": set.Metadata.Generation, "replicas": all, "readyReplicas": ready, "availableReplicas": ready,
	})
}

// level scales a ReplicaSet's pods to its replicas.
func (p *simulation) level(set *controller) {
	var pods []*corev1.Pod
	for name := range p.of[set.Metadata.UID] {
		if active(p.pods[name]) {
			pods = append(pods, p.pods[name])
		}
	}
	for range set.replicas() - len(pods) {
		p.addPod(set, set.Metadata.Name+"-"+utilrand.String(5), "")
	}
	if len(pods) <= set.replicas() {
		return
	}
	// Pods that are not Ready are deleted first.
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(-cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
	for _, pod := range pods[set.replicas():] {
		p.ask(collect, key{podKind, nameOf(pod)}, "")
	}
}

func rank(pod *corev1.Pod) int {
	switch {
	case isPodReady(pod):
		return 2
	case pod.Spec.NodeName != "":
		return 1
	}
	return 0
}

// number brings a StatefulSet's pods to the ordinals it wants; one that ends is replaced when it no
// longer exists.
func (p *simulation) number(set *controller) {
	wanted := map[string]bool{}
	for ordinal := range set.replicas() {
		name := fmt.Sprintf("%s-%d", set.Metadata.Name, ordinal)
		wanted[name] = true
		if p.pods[types.NamespacedName{Namespace: set.Metadata.Namespace, Name: name}] == nil {
			p.addPod(set, name, "")
		}
	}
	for name := range p.of[set.Metadata.UID] {
		if !wanted[name.Name] && active(p.pods[name]) {
			p.ask(collect, key{podKind, name}, "")
		}
	}
}

// daemonTolerations are what the DaemonSet controller lets all its pods tolerate.
// https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations
var daemonTolerations = func() (all []corev1.Toleration) {
	for _, taint := range []string{
		"not-ready:NoExecute", "unreachable:NoExecute", "disk-pressure:NoSchedule", "memory-pressure:NoSchedule",
		"pid-pressure:NoSchedule", "unschedulable:NoSchedule",
	} {
		name, effect, _ := strings.Cut(taint, ":")
		all = append(all, corev1.Toleration{
			Key: "node.kubernetes.io/" + name, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(effect),
		})
	}
	return all
}()

// daemonize creates or deletes the pod of a DaemonSet on a node.
func (p *simulation) daemonize(of key, name string) {
	set, node := p.sets[of], p.nodes[name]
	if set == nil || set.Metadata.DeletionTimestamp != nil || node == nil {
		return
	}
	spec := &set.Spec.Template.Spec
	wanted := wants(spec, node) && tolerated(node.Spec.Taints, append(slices.Clone(spec.Tolerations), daemonTolerations...))
	var found *corev1.Pod
	for pod := range p.on[name] {
		if _, owned := p.of[set.Metadata.UID][pod]; owned {
			found = p.pods[pod]
		}
	}
	switch {
	case wanted && found == nil:
		p.addPod(set, set.Metadata.Name+"-"+utilrand.String(5), name)
	case !wanted && found != nil && found.DeletionTimestamp == nil:
		p.ask(collect, key{podKind, nameOf(found)}, "")
	}
}

// count writes a DaemonSet's status.
func (p *simulation) count(of key) {
	set := p.sets[of]
	if set == nil {
		return
	}
	all, ready := p.tally(set)
	p.report(of, map[string]any{
		"observedGeneration": set.Metadata.Generation, "desiredNumberScheduled": all, "currentNumberScheduled": all,
		"updatedNumberScheduled": all,
		"numberReady":            ready, "numberAvailable": ready, "numberUnavailable": all - ready, "numberMisscheduled": int64(0),
	})
}

// addPod creates a pod of a controller, on a node if its controller determines that.
func (p *simulation) addPod(set *controller, name, node string) {
	template := set.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.OwnerReferences, pod.Spec.NodeName = name, []metav1.OwnerReference{*set.ref()}, node
	if set.kind == daemonSetKind {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, daemonTolerations...)
	}
	object := &unstructured.Unstructured{Object: encoded(pod)}
	admitPod(object)
	_, _ = p.store.add(podKind, set.Metadata.Namespace, object) // The name is free.
}
