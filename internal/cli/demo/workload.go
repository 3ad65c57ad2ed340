package demo

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// showClusters connects to every Cluster among the objects with its kubeconfig, shows its nodes
// and, if its control plane is real, runs a Deployment.
func (s *stage) showClusters(ctx context.Context, objects []*object, controllers bool) error {
	for _, o := range objects {
		if o.GetKind() != "Cluster" {
			continue
		}
		clients, err := s.open(ctx, o.GetName())
		if err != nil {
			return err
		}
		if err := s.showNodes(ctx, clients); err != nil {
			return err
		}
		if !controllers {
			s.say("These instances are simulated: no scheduler assigns a Deployment's pods to them.")
			continue
		}
		if err := s.runDeployment(ctx, clients); err != nil {
			return err
		}
	}
	return nil
}

// open makes clients from the Secret with the cluster's kubeconfig.
func (s *stage) open(ctx context.Context, name string) (kubernetes.Interface, error) {
	secret := &unstructured.Unstructured{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	secret.SetName(name + "-kubeconfig")
	found, err := s.cluster.get(ctx, &object{secret})
	if err != nil {
		return nil, err
	}
	encoded, _, _ := unstructured.NestedString(found.Object, "data", "value")
	kubeconfig, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", secret.GetName(), err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of cluster %s: %w", name, err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of cluster %s: %w", name, err)
	}
	return clients, nil
}

func (s *stage) showNodes(ctx context.Context, clients kubernetes.Interface) error {
	nodes, err := clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	s.say("%-46s %-7s %-14s %-16s %s", "NODE", "READY", "ROLES", "ZONE", "VERSION")
	for n := range nodes.Items {
		node := &nodes.Items[n]
		s.say(
			"%-46s %-7s %-14s %-16s %s",
			node.Name,
			readyWord(node),
			rolesOf(node),
			node.Labels[corev1.LabelTopologyZone],
			node.Status.NodeInfo.KubeletVersion,
		)
	}
	return nil
}

func readyWord(node *corev1.Node) corev1.ConditionStatus {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status
		}
	}
	return corev1.ConditionUnknown
}

func rolesOf(node *corev1.Node) string {
	var roles []string
	for _, label := range slices.Sorted(maps.Keys(node.Labels)) {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok {
			roles = append(roles, role)
		}
	}
	return strings.Join(roles, ",")
}

// runDeployment applies a Deployment and shows its pods Running.
func (s *stage) runDeployment(ctx context.Context, clients kubernetes.Interface) error {
	labels := map[string]string{"app": "hello"}
	hello := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "hello"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "hello", Image: "registry.k8s.io/pause:3.10.1"}}},
			},
		},
	}
	if _, err := clients.AppsV1().Deployments(namespace).Create(ctx, hello, metav1.CreateOptions{FieldManager: "demo"}); err != nil {
		return fmt.Errorf("apply a Deployment in the new cluster: %w", err)
	}
	var pods *corev1.PodList
	err := s.until(ctx, "the Deployment's pods to be Running", func() (bool, error) {
		var err error
		if pods, err = clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=hello"}); err != nil {
			return false, fmt.Errorf("list the Deployment's pods: %w", err)
		}
		running := slices.DeleteFunc(slices.Clone(pods.Items), func(pod corev1.Pod) bool { return pod.Status.Phase != corev1.PodRunning })
		return len(running) == int(*hello.Spec.Replicas), nil
	})
	if err != nil {
		return err
	}
	s.say("%-46s %-9s %s", "POD", "STATUS", "NODE")
	for n := range pods.Items {
		s.say("%-46s %-9s %s", pods.Items[n].Name, pods.Items[n].Status.Phase, pods.Items[n].Spec.NodeName)
	}
	s.say("(The kubelets are simulated: they report containers as running, and run none.)")
	return nil
}
