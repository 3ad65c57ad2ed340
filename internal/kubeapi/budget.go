package kubeapi

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
)

// budget is a PodDisruptionBudget and the pods that it counts. Its status is as the disruption
// controller computes it:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/disruption/disruption.go but
// it is never behind the pods, so that nothing is kept of evictions under way.
type budget struct {
	*policyv1.PodDisruptionBudget

	name     types.NamespacedName
	selector labels.Selector
	pods     names
}

func (p *simulation) noteBudget(c change) {
	name := nameOf(c.object)
	old := p.budgets[name.Namespace][name.Name]
	var read *policyv1.PodDisruptionBudget
	if c.event != watch.Deleted {
		read = decode[policyv1.PodDisruptionBudget](c.object)
	}
	if old != nil && read != nil && old.UID == read.UID && old.Generation == read.Generation {
		old.PodDisruptionBudget = read
		return
	}
	if old != nil {
		p.lift(old)
	}
	if read == nil {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(read.Spec.Selector)
	if err != nil {
		selector = labels.Nothing()
	}
	b := &budget{PodDisruptionBudget: read, name: name, selector: selector, pods: names{}}
	if p.budgets[name.Namespace] == nil {
		p.budgets[name.Namespace] = map[string]*budget{}
	}
	p.budgets[name.Namespace][name.Name] = b
	for pod, object := range p.pods {
		if pod.Namespace == name.Namespace && selector.Matches(labels.Set(object.Labels)) {
			b.pods[pod] = struct{}{}
			p.guards[pod] = append(p.guards[pod], b)
		}
	}
	p.ask(guard, key{budgetKind, name}, "")
}

// lift removes a budget.
func (p *simulation) lift(b *budget) {
	delete(p.budgets[b.name.Namespace], b.name.Name)
	for pod := range b.pods {
		p.guards[pod] = slices.DeleteFunc(p.guards[pod], func(other *budget) bool { return other == b })
	}
}

// recount finds the budgets of a pod that is new or whose labels changed.
func (p *simulation) recount(name types.NamespacedName, pod *corev1.Pod) {
	for _, b := range p.guards[name] {
		delete(b.pods, name)
		p.ask(guard, key{budgetKind, b.name}, "")
	}
	p.guards[name] = nil
	for _, b := range p.budgets[name.Namespace] {
		if b.selector.Matches(labels.Set(pod.Labels)) {
			b.pods[name] = struct{}{}
			p.guards[name] = append(p.guards[name], b)
			p.ask(guard, key{budgetKind, b.name}, "")
		}
	}
}

// guard computes a budget's status.
func (p *simulation) guard(name types.NamespacedName) {
	b := p.budgets[name.Namespace][name.Name]
	if b == nil {
		return
	}
	status := *b.Status.DeepCopy()
	expected, desired, err := p.expect(b)
	if err != nil { // as its failSafe does
		status.DisruptionsAllowed = 0
		p.setAllowed(&status, metav1.ConditionFalse, policyv1.SyncFailedReason, err.Error())
		p.writeBudget(b, &status)
		return
	}
	var healthy int32
	for pod := range b.pods {
		if p.pods[pod].DeletionTimestamp == nil && isPodReady(p.pods[pod]) {
			healthy++
		}
	}
	status.CurrentHealthy, status.DesiredHealthy, status.ExpectedPods = healthy, desired, expected
	status.DisruptionsAllowed = max(0, healthy-desired)
	if expected <= 0 {
		status.DisruptionsAllowed = 0
	}
	status.ObservedGeneration = b.Generation
	if status.DisruptionsAllowed > 0 {
		p.setAllowed(&status, metav1.ConditionTrue, policyv1.SufficientPodsReason, "")
	} else {
		p.setAllowed(&status, metav1.ConditionFalse, policyv1.InsufficientPodsReason, "")
	}
	p.writeBudget(b, &status)
}

func (p *simulation) setAllowed(status *policyv1.PodDisruptionBudgetStatus, allowed metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: allowed, Reason: reason, Message: message,
		ObservedGeneration: status.ObservedGeneration, LastTransitionTime: metav1.NewTime(p.options.Clock.Now()),
	})
}

func (p *simulation) writeBudget(b *budget, status *policyv1.PodDisruptionBudgetStatus) {
	if equality.Semantic.DeepEqual(&b.Status, status) {
		return
	}
	_, _ = p.store.edit(budgetKind, b.name, func(object *unstructured.Unstructured) error { // It exists.
		object.Object["status"] = encoded(status)
		return nil
	})
}

// expect returns how many pods a budget expects and how many of them must be healthy.
func (p *simulation) expect(b *budget) (expected, desired int32, err error) {
	switch least, most := b.Spec.MinAvailable, b.Spec.MaxUnavailable; {
	case most != nil:
		if expected, err = p.scale(b); err != nil {
			return 0, 0, err
		}
		missing, err := intstr.GetScaledValueFromIntOrPercent(most, int(expected), true)
		return expected, max(0, expected-int32(missing)), err //nolint:gosec,wrapcheck // a number of pods; as the controller has it
	case least != nil && least.Type == intstr.String:
		if expected, err = p.scale(b); err != nil {
			return 0, 0, err
		}
		healthy, err := intstr.GetScaledValueFromIntOrPercent(least, int(expected), true)
		return expected, int32(healthy), err //nolint:gosec,wrapcheck // a number of pods; as the controller has it
	case least != nil:
		return int32(len(b.pods)), least.IntVal, nil //nolint:gosec // a number of pods
	}
	return 0, 0, nil
}

// scale returns the total desired replicas of the controllers of a budget's pods.
func (p *simulation) scale(b *budget) (int32, error) {
	scales := map[types.UID]int{}
	for name := range b.pods {
		owner := metav1.GetControllerOf(p.pods[name])
		if owner == nil {
			continue
		}
		set := p.scaled(name.Namespace, owner)
		if set == nil {
			return 0, fmt.Errorf("found no controllers for pod %q", name.Name)
		}
		scales[set.Metadata.UID] = set.replicas()
	}
	sum := 0
	for _, replicas := range scales {
		sum += replicas
	}
	return int32(sum), nil
}

// scaled returns the controller with the desired replicas: a Deployment rather than its ReplicaSet.
func (p *simulation) scaled(namespace string, owner *metav1.OwnerReference) *controller {
	for _, k := range []*kind{replicaSetKind, statefulSetKind, deploymentKind} {
		if k.Kind != owner.Kind {
			continue
		}
		set := p.sets[key{k, types.NamespacedName{Namespace: namespace, Name: owner.Name}}]
		if set == nil || set.Metadata.UID != owner.UID {
			return nil
		}
		if above := metav1.GetControllerOf(&set.Metadata); above != nil {
			return p.scaled(namespace, above)
		}
		return set
	}
	return nil
}
