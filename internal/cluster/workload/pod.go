package workload

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// IsSystemPod reports whether a cluster's health depends on a pod: by its priority class, or
// because it is a static pod. It returns false for terminating and completed pods.
// https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/
func IsSystemPod(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded {
		return false
	}
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror || pod.Spec.PriorityClassName == "system-cluster-critical" || pod.Spec.PriorityClassName == "system-node-critical"
}

// PodUnreadySince returns since when a pod is not Ready; zero if it is.
func PodUnreadySince(pod *corev1.Pod) time.Time {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			if c.Status == corev1.ConditionTrue {
				return time.Time{}
			}
			return c.LastTransitionTime.Time
		}
	}
	return pod.CreationTimestamp.Time
}
