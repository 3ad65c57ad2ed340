package kubeapi

import (
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	// ReadyAfter is an annotation of pods: how long the pod takes until it is Ready, as "5s", or
	// "never".
	ReadyAfter = "played.aws-operator/ready-after"
	// StopsAfter is an annotation of pods: how long the pod takes to end, as "20s", or "never". It
	// is killed at the end of its grace period.
	StopsAfter = "played.aws-operator/stops-after"
	never      = "never"
)

const (
	// unreachable is how long pods stay on a node that is not ready.
	// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions
	unreachable = 5 * time.Minute
	// nodeNotReady is why a pod is not ready whose node is not.
	nodeNotReady = "NodeNotReady"
)

// SetNodeReady writes a Node's condition Ready, like its kubelet or the node lifecycle controller.
// It returns an error if the Node does not exist.
func (s *Server) SetNodeReady(name string, status corev1.ConditionStatus, reason, message string) error {
	now := metav1.NewTime(s.store.clock.Now())
	_, err := s.store.update(nodeKind, types.NamespacedName{Name: name}, func(object *unstructured.Unstructured) error {
		node := decode[corev1.Node](object)
		if node == nil {
			return fmt.Errorf("node %s cannot be read", name)
		}
		ready := corev1.NodeCondition{
			Type: corev1.NodeReady, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now,
		}
		at := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
		switch {
		case at < 0:
			node.Status.Conditions = append(node.Status.Conditions, ready)
		case node.Status.Conditions[at].Status == status:
			return nil
		default:
			node.Status.Conditions[at] = ready
		}
		object.Object = encoded(node)
		return nil
	})
	return err
}

func isReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// isPodReady reports whether a pod is Ready, like the disruption controller: by the condition only.
func isPodReady(pod *corev1.Pod) bool {
	c := podCondition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func (p *simulation) setCondition(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) {
	c := podCondition(pod, kind)
	if c == nil {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind})
		c = &pod.Status.Conditions[len(pod.Status.Conditions)-1]
	}
	if c.Status != status {
		c.LastTransitionTime = metav1.NewTime(p.options.Clock.Now())
	}
	c.Status, c.Reason, c.Message = status, reason, message
}

// editPod changes an existing pod.
func (p *simulation) editPod(name types.NamespacedName, edit func(*corev1.Pod)) {
	pod := p.pods[name]
	if pod == nil {
		return
	}
	changed := pod.DeepCopy()
	edit(changed)
	_, _ = p.store.edit(podKind, name, func(object *unstructured.Unstructured) error { // It exists.
		object.Object = encoded(changed)
		return nil
	})
}

// run starts and ends a pod, like the kubelet of its node.
func (p *simulation) run(name types.NamespacedName) {
	pod := p.pods[name]
	if pod == nil || !p.alive(pod.Spec.NodeName) {
		return
	}
	switch {
	case pod.DeletionTimestamp != nil:
		p.end(name, pod)
	case pod.Status.Phase == "" || pod.Status.Phase == corev1.PodPending:
		p.start(name, pod)
	}
}

// alive reports whether a node has a working kubelet.
func (p *simulation) alive(node string) bool {
	n := p.nodes[node]
	return n != nil && isReady(n)
}

func (p *simulation) start(name types.NamespacedName, pod *corev1.Pod) {
	if p.starting[pod.UID] {
		return
	}
	wait, ever := delay(pod, ReadyAfter, p.options.PodStart)
	if !ever {
		return
	}
	p.starting[pod.UID] = true
	p.later(wait, func() {
		delete(p.starting, pod.UID)
		now := p.pods[name]
		if now == nil || now.UID != pod.UID || now.DeletionTimestamp != nil || !p.alive(now.Spec.NodeName) {
			return
		}
		p.editPod(name, p.started)
	})
}

func (p *simulation) started(pod *corev1.Pod) {
	now := metav1.NewTime(p.options.Clock.Now())
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
	if pod.Status.PodIP == "" {
		p.addresses++
		pod.Status.PodIP = fmt.Sprintf("10.%d.%d.%d", 128+p.addresses>>16&127, p.addresses>>8&255, p.addresses&255)
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		p.setCondition(pod, kind, corev1.ConditionTrue, "", "")
	}
}

func (p *simulation) end(name types.NamespacedName, pod *corev1.Pod) {
	given := ptr.Deref(pod.DeletionGracePeriodSeconds, 0)
	if before, known := p.ending[pod.UID]; known && before == given {
		return
	}
	wait, ever := delay(pod, StopsAfter, p.options.PodStop)
	if left := pod.DeletionTimestamp.Sub(p.options.Clock.Now()); !ever || wait > left {
		wait = left
	}
	p.ending[pod.UID] = given
	p.later(wait, func() {
		now := p.pods[name]
		if now == nil || now.UID != pod.UID {
			return
		}
		if !p.alive(now.Spec.NodeName) {
			delete(p.ending, pod.UID)
			return
		}
		_, _ = p.store.drop(podKind, name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}) // It exists.
	})
}

// delay returns how long a pod takes for something; false means forever.
func delay(pod *corev1.Pod, annotation string, usual time.Duration) (time.Duration, bool) {
	own, ok := pod.Annotations[annotation]
	if !ok {
		return usual, true
	}
	if own == never {
		return math.MaxInt64, false
	}
	length, err := time.ParseDuration(own)
	if err != nil {
		return usual, true
	}
	return length, true
}

// visit applies the readiness of a node to its pods, like the node lifecycle controller.
func (p *simulation) visit(name string) {
	node := p.nodes[name]
	if node == nil {
		return
	}
	since, lost := p.lost[name]
	switch ready := isReady(node); {
	case ready == !lost:
	case ready:
		delete(p.lost, name)
		for _, pod := range p.on[name].sorted() {
			p.recover(pod)
		}
	default:
		since = p.options.Clock.Now()
		p.lost[name] = since
		for _, pod := range p.on[name].sorted() {
			p.suspect(pod)
		}
		p.later(unreachable, func() {
			if p.lost[name].Equal(since) {
				p.abandon(name)
			}
		})
	}
}

func (p *simulation) recover(name types.NamespacedName) {
	p.ask(run, key{podKind, name}, "")
	if c := podCondition(p.pods[name], corev1.PodReady); c != nil && c.Reason == nodeNotReady {
		p.editPod(name, func(pod *corev1.Pod) { p.setCondition(pod, corev1.PodReady, corev1.ConditionTrue, "", "") })
	}
}

func (p *simulation) suspect(name types.NamespacedName) {
	if isPodReady(p.pods[name]) {
		p.editPod(name, func(pod *corev1.Pod) {
			p.setCondition(pod, corev1.PodReady, corev1.ConditionFalse, nodeNotReady, "Node is not ready")
		})
	}
}

// abandon deletes the pods of a node that has been lost for long, except those that tolerate it.
func (p *simulation) abandon(node string) {
	for _, name := range p.on[node].sorted() {
		pod := p.pods[name]
		owner := metav1.GetControllerOf(pod)
		if pod.DeletionTimestamp != nil || owner != nil && (owner.Kind == "DaemonSet" || owner.Kind == "Node") {
			continue
		}
		p.ask(collect, key{podKind, name}, "")
	}
}

// orphan removes the pods of a deleted node.
func (p *simulation) orphan(node string) {
	if p.nodes[node] != nil {
		return
	}
	for _, name := range p.on[node].sorted() {
		_, _ = p.store.drop(podKind, name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}) // It exists.
	}
}
