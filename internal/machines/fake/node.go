package fake

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// labelControlPlane is the label and the taint with which kubeadm marks control-plane nodes.
const labelControlPlane = "node-role.kubernetes.io/control-plane"

func named(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// nodeOf returns the Node that the machine's kubelet, kubeadm and the cloud controller would
// create.
func (m *fakeMachine) nodeOf(b *bundle.Bundle) (*corev1.Node, error) {
	provider := m.providerID()
	values := map[string]string{
		bundle.NodeName: m.spec.PrivateDNSName, bundle.PrivateIP: m.spec.PrivateIP.String(), bundle.ProviderID: provider,
		bundle.Region: m.spec.Region, bundle.Zone: m.spec.Zone, bundle.InstanceType: m.spec.InstanceType,
	}
	node := named(m.spec.PrivateDNSName)
	node.Labels = map[string]string{
		corev1.LabelHostname: m.spec.PrivateDNSName, corev1.LabelArchStable: b.Architecture, corev1.LabelOSStable: "linux",
		bundle.Label: bundle.LabelValue(b.Hash()),
	}
	for name, value := range b.Kubelet.Labels {
		expanded, err := bundle.Expand(value, values)
		if err != nil {
			return nil, fmt.Errorf("label %s: %w", name, err)
		}
		node.Labels[name] = expanded
	}
	node.Spec.ProviderID = provider
	for _, text := range b.Kubelet.Taints {
		taint, err := parseTaint(text)
		if err != nil {
			return nil, err
		}
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
	if b.Role == bundle.ControlPlane { // kubeadm's phase mark-control-plane
		node.Labels[labelControlPlane] = ""
		mark := corev1.Taint{Key: labelControlPlane, Effect: corev1.TaintEffectNoSchedule}
		if !hasTaint(node.Spec.Taints, mark) {
			node.Spec.Taints = append(node.Spec.Taints, mark)
		}
	}
	m.setStatus(node, b.Kubernetes, b.Architecture)
	return node, nil
}

// providerID returns the instance as the cloud controller writes it.
func (m *fakeMachine) providerID() string {
	return fmt.Sprintf("aws:///%s/%s", m.spec.Zone, m.spec.InstanceID)
}

// setStatus sets the status that the kubelet reports.
func (m *fakeMachine) setStatus(node *corev1.Node, kubernetes, architecture string) {
	now := metav1.NewTime(m.host.options.Clock.Now())
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	node.Status = corev1.NodeStatus{
		Capacity: capacity, Allocatable: capacity,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: m.spec.PrivateIP.String()},
			{Type: corev1.NodeHostName, Address: m.spec.PrivateDNSName},
		},
		Conditions: []corev1.NodeCondition{m.readiness(now)},
		NodeInfo: corev1.NodeSystemInfo{
			KubeletVersion: kubernetes, Architecture: architecture, OperatingSystem: "linux",
			OSImage: "simulated", ContainerRuntimeVersion: "simulated://0",
		},
	}
}

// readiness returns the Ready condition that the kubelet reports when it joins.
func (m *fakeMachine) readiness(now metav1.Time) corev1.NodeCondition {
	c := corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "This machine is simulated.",
		LastHeartbeatTime: now, LastTransitionTime: now,
	}
	if m.silent || m.host.behaviour(m.spec.ImageID).NotReady {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "KubeletNotReady", "container runtime network not ready: cni plugin not initialized"
	}
	return c
}

// parseTaint parses key=value:effect.
func parseTaint(text string) (corev1.Taint, error) {
	pair, effect, ok := strings.Cut(text, ":")
	if !ok {
		return corev1.Taint{}, fmt.Errorf("taint %q has no effect", text)
	}
	key, value, _ := strings.Cut(pair, "=")
	return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}, nil
}

func hasTaint(taints []corev1.Taint, wanted corev1.Taint) bool {
	for i := range taints {
		if taints[i].MatchTaint(&wanted) {
			return true
		}
	}
	return false
}
