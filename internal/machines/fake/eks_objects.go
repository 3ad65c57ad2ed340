package fake

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/internal/kubeapi"
)

// eksObjects returns what a new EKS cluster has: the add-ons that EKS installs by default, and the role
// of administrators. https://docs.aws.amazon.com/eks/latest/userguide/eks-add-ons.html
func eksObjects() []kubeapi.Object {
	dns := map[string]string{"k8s-app": "kube-dns"}
	critical := []corev1.Toleration{
		{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists},
		{Key: labelControlPlane, Effect: corev1.TaintEffectNoSchedule},
	}
	replicas, one := int32(2), intstr.FromInt32(1)
	return []kubeapi.Object{
		&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: "cluster-admin"},
			Rules: []rbacv1.PolicyRule{
				{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
				{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
			},
		},
		daemonSet("aws-node", "amazon-k8s-cni"),
		daemonSet("kube-proxy", "eks/kube-proxy"),
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "coredns", Labels: dns},
			Spec: appsv1.DeploymentSpec{
				Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: dns},
				Template: systemPod(dns, "coredns", "eks/coredns", "system-cluster-critical", critical),
			},
		},
		&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "coredns", Labels: dns},
			Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: dns}},
		},
	}
}

// daemonSet returns a DaemonSet with a pod on every node.
func daemonSet(name, image string) *appsv1.DaemonSet {
	labels := map[string]string{"k8s-app": name}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name, Labels: labels},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: systemPod(labels, name, image, "system-node-critical", []corev1.Toleration{{Operator: corev1.TolerationOpExists}}),
		},
	}
}

func systemPod(labels map[string]string, name, image, priority string, tolerations []corev1.Toleration) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			PriorityClassName: priority, Tolerations: tolerations,
			Containers: []corev1.Container{{Name: name, Image: "602401143452.dkr.ecr.us-west-2.amazonaws.com/" + image}},
		},
	}
}
