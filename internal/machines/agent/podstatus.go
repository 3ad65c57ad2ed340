//go:build linux

package agent

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setRunning sets the status of a healthy running pod.
func setRunning(status *corev1.PodStatus, pod *corev1.Pod, address, host string, now metav1.Time) {
	status.Phase = corev1.PodRunning
	status.HostIP, status.HostIPs = host, []corev1.HostIP{{IP: host}}
	status.PodIP, status.PodIPs = address, []corev1.PodIP{{IP: address}}
	if status.StartTime == nil {
		status.StartTime = &now
	}
	status.InitContainerStatuses = make([]corev1.ContainerStatus, 0, len(pod.Spec.InitContainers))
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		status.InitContainerStatuses = append(status.InitContainerStatuses, simulatedStatus(pod, c, !sidecar, *status.StartTime))
	}
	status.ContainerStatuses = make([]corev1.ContainerStatus, 0, len(pod.Spec.Containers))
	for i := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, simulatedStatus(pod, &pod.Spec.Containers[i], false, *status.StartTime))
	}
	setPodConditions(status, pod, true, now)
}

// setPodConditions sets the conditions that a kubelet owns.
func setPodConditions(status *corev1.PodStatus, pod *corev1.Pod, containersReady bool, now metav1.Time) {
	ready := containersReady
	for _, gate := range pod.Spec.ReadinessGates {
		ready = ready && slices.ContainsFunc(status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		})
	}
	setPodCondition(status, corev1.PodReadyToStartContainers, true, "", now)
	setPodCondition(status, corev1.PodInitialized, true, "", now)
	setPodCondition(status, corev1.ContainersReady, containersReady, "ContainersNotReady", now)
	setPodCondition(status, corev1.PodReady, ready, "ContainersNotReady", now)
}

func setPodCondition(status *corev1.PodStatus, kind corev1.PodConditionType, holds bool, otherwise string, now metav1.Time) {
	value, reason := corev1.ConditionTrue, ""
	if !holds {
		value, reason = corev1.ConditionFalse, otherwise
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.Type != kind {
			continue
		}
		if c.Status != value {
			c.LastTransitionTime = now
		}
		c.Status, c.Reason = value, reason
		return
	}
	status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: value, Reason: reason, LastTransitionTime: now})
}

// simulatedStatus returns the status of a simulated container, in which no process runs.
func simulatedStatus(pod *corev1.Pod, c *corev1.Container, done bool, since metav1.Time) corev1.ContainerStatus {
	started := !done
	status := corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: "simulated://" + c.Image, ContainerID: "simulated://" + string(pod.UID) + "-" + c.Name,
		Ready: true, Started: &started,
	}
	if done {
		status.State.Terminated = &corev1.ContainerStateTerminated{
			Reason: "Completed", StartedAt: since, FinishedAt: since, ContainerID: status.ContainerID,
		}
		return status
	}
	status.State.Running = &corev1.ContainerStateRunning{StartedAt: since}
	return status
}

// sameStatus compares the fields that this program writes.
func sameStatus(a, b *corev1.PodStatus) bool {
	return a.Phase == b.Phase && a.PodIP == b.PodIP && a.HostIP == b.HostIP &&
		equality.Semantic.DeepEqual(a.ContainerStatuses, b.ContainerStatuses) &&
		equality.Semantic.DeepEqual(a.InitContainerStatuses, b.InitContainerStatuses) &&
		equality.Semantic.DeepEqual(a.Conditions, b.Conditions)
}
