package kubeapi

import (
	"cmp"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	operator "k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
)

// mostPods is the maximum number of pods of a node that does not set it.
// https://kubernetes.io/docs/setup/best-practices/cluster-large/
const mostPods = 110

func sameLabels(a, b map[string]string) bool { return maps.Equal(a, b) }

// schedule finds a node for a pod: of the suitable ones, the one with the fewest pods of its
// controller, and then with the fewest pods.
func (p *simulation) schedule(name types.NamespacedName) {
	pod := p.pods[name]
	if pod == nil || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
		return
	}
	siblings := map[string]int{}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		for other := range p.of[owner.UID] {
			siblings[p.pods[other].Spec.NodeName]++
		}
	}
	var best string
	for node := range p.nodes {
		if !p.takes(node, pod) {
			continue
		}
		if best == "" || cmp.Or(
			cmp.Compare(siblings[node], siblings[best]), cmp.Compare(len(p.on[node]), len(p.on[best])), cmp.Compare(node, best)) < 0 {
			best = node
		}
	}
	if best != "" {
		p.bind(name, best)
	}
}

// fill binds waiting pods to a node.
func (p *simulation) fill(node string) {
	if len(p.waiting) == 0 {
		return
	}
	for _, name := range p.waiting.sorted() {
		if pod := p.pods[name]; pod.DeletionTimestamp == nil && p.takes(node, pod) {
			p.bind(name, node)
		}
	}
}

func (p *simulation) bind(name types.NamespacedName, node string) {
	p.editPod(name, func(pod *corev1.Pod) {
		pod.Spec.NodeName = node
		p.setCondition(pod, corev1.PodScheduled, corev1.ConditionTrue, "", "")
	})
}

// takes reports whether the scheduler may bind a pod to a node.
func (p *simulation) takes(name string, pod *corev1.Pod) bool {
	node := p.nodes[name]
	if node == nil || node.Spec.Unschedulable || !isReady(node) {
		return false
	}
	if !wants(&pod.Spec, node) || !tolerated(node.Spec.Taints, pod.Spec.Tolerations) {
		return false
	}
	room := int64(mostPods)
	if most, ok := node.Status.Allocatable[corev1.ResourcePods]; ok {
		room = most.Value()
	}
	return int64(len(p.on[name])) < room
}

// tolerated reports whether a pod tolerates all taints.
func tolerated(taints []corev1.Taint, tolerations []corev1.Toleration) bool {
	for i := range taints {
		if taints[i].Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(
			tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(logr.Discard(), &taints[i], false) },
		) {
			return false
		}
	}
	return true
}

// wants reports whether a node matches a pod's selector and affinity.
func wants(pod *corev1.PodSpec, node *corev1.Node) bool {
	for name, value := range pod.NodeSelector {
		if got, ok := node.Labels[name]; !ok || got != value {
			return false
		}
	}
	if pod.Affinity == nil || pod.Affinity.NodeAffinity == nil ||
		pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	return slices.ContainsFunc(pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms,
		func(term corev1.NodeSelectorTerm) bool {
			return holds(term.MatchExpressions, labels.Set(node.Labels)) && holds(term.MatchFields, labels.Set{"metadata.name": node.Name})
		})
}

func holds(expressions []corev1.NodeSelectorRequirement, values labels.Set) bool {
	for _, e := range expressions {
		requirement, err := labels.NewRequirement(e.Key, operators[e.Operator], e.Values)
		if err != nil || !requirement.Matches(values) {
			return false
		}
	}
	return true
}

var operators = map[corev1.NodeSelectorOperator]operator.Operator{
	corev1.NodeSelectorOpIn: operator.In, corev1.NodeSelectorOpNotIn: operator.NotIn,
	corev1.NodeSelectorOpExists: operator.Exists, corev1.NodeSelectorOpDoesNotExist: operator.DoesNotExist,
	corev1.NodeSelectorOpGt: operator.GreaterThan, corev1.NodeSelectorOpLt: operator.LessThan,
}
