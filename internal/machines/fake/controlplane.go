package fake

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// apiServer is kubeadm's name of the API server's static pod.
const apiServer = "kube-apiserver"

// mirror creates a slot's control plane pods as its kubelet does: one mirror pod for each static
// pod of kubeadm.
// https://kubernetes.io/docs/tasks/configure-pod-container/static-pod/
func (m *fakeMachine) mirror(c *cluster, b *bundle.Bundle) error {
	node := named(m.node)
	if err := c.api.Get(node); err != nil {
		return err //nolint:wrapcheck // has enough context
	}
	for _, component := range []string{"etcd", apiServer, "kube-controller-manager", "kube-scheduler"} {
		image := "registry.k8s.io/" + component
		if component != "etcd" {
			image += ":" + b.Kubernetes
		}
		if err := c.api.Put(m.static(node, component, image)); err != nil {
			return err //nolint:wrapcheck // has enough context
		}
	}
	return nil
}

// static returns the mirror pod of a component.
func (m *fakeMachine) static(node *corev1.Node, component, image string) *corev1.Pod {
	now := metav1.NewTime(m.host.options.Clock.Now())
	condition := func(kind corev1.PodConditionType) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem, Name: component + "-" + node.Name,
			Labels:      map[string]string{"component": component, "tier": "control-plane"},
			Annotations: map[string]string{corev1.MirrorPodAnnotationKey: m.spec.InstanceID, "kubernetes.io/config.source": "file"},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: new(true)},
			},
		},
		Spec: corev1.PodSpec{
			NodeName: node.Name, HostNetwork: true, PriorityClassName: "system-node-critical", RestartPolicy: corev1.RestartPolicyAlways,
			Containers:  []corev1.Container{{Name: component, Image: image}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: m.spec.PrivateIP.String(), HostIP: m.spec.PrivateIP.String(), StartTime: &now,
			Conditions: []corev1.PodCondition{
				condition(corev1.PodScheduled),
				condition(corev1.ContainersReady),
				condition(corev1.PodReady),
			},
		},
	}
}

// reach returns the handler of a pod's port. Only API servers have one.
func (c *cluster) reach(pod *corev1.Pod, port string) (http.Handler, error) {
	node, ok := strings.CutPrefix(pod.Name, apiServer+"-")
	if !ok || pod.Namespace != metav1.NamespaceSystem || port != "" && port != strconv.Itoa(apiPort) {
		return nil, errors.New("connect: connection refused")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for slot, m := range c.slots {
		if m.node == node {
			return health(c.works(slot, m)), nil
		}
	}
	return nil, errors.New("i/o timeout")
}

// health serves the unauthenticated health endpoints of an API server.
func health(etcd bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name := strings.TrimPrefix(req.URL.Path, "/")
		switch {
		case name != "readyz" && name != "livez" && name != "healthz":
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
		case etcd:
			_, _ = io.WriteString(w, "ok")
		default:
			// https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apiserver/pkg/server/healthz/healthz.go
			http.Error(w, "[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\n"+name+" check failed", http.StatusInternalServerError)
		}
	})
}
