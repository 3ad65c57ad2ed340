//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// syncMirrors creates mirror pods of static pods, and deletes those whose manifest no longer
// exists: https://kubernetes.io/docs/tasks/configure-pod-container/static-pod/
func (p *pods) syncMirrors(ctx context.Context, mirrors map[string]*corev1.Pod) error {
	var errs []error
	wanted := map[string]bool{}
	for _, static := range p.static.all() {
		wanted[static.hash] = true
		mirror, there := mirrors[static.hash]
		if !there {
			errs = append(errs, p.makeMirror(ctx, static))
			continue
		}
		errs = append(errs, p.reflect(ctx, static, mirror))
	}
	for hash, mirror := range mirrors {
		if !wanted[hash] || mirror.DeletionTimestamp != nil {
			errs = append(errs, p.remove(ctx, mirror))
		}
	}
	return errors.Join(errs...)
}

func (p *pods) makeMirror(ctx context.Context, static *staticPod) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var node corev1.Node
	if err := p.api.core.Get().Resource("nodes").Name(p.nodeName).Do(ctx).Into(&node); err != nil {
		return fmt.Errorf("find the node that owns a mirror pod: %w", err)
	}
	controller := true
	mirror := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: static.pod.Name + "-" + p.nodeName, Namespace: static.pod.Namespace,
		Labels: static.pod.Labels, Annotations: map[string]string{},
		// Nodes may create only pods that they own.
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: &controller},
		},
	}, Spec: *static.pod.Spec.DeepCopy()}
	maps.Copy(mirror.Annotations, static.pod.Annotations)
	mirror.Annotations[mirrorOf] = static.hash
	mirror.Annotations["kubernetes.io/config.hash"] = static.hash
	mirror.Annotations["kubernetes.io/config.source"] = "file"
	mirror.Spec.NodeName = p.nodeName
	// A static pod tolerates everything.
	mirror.Spec.Tolerations = append(mirror.Spec.Tolerations,
		corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
	err := p.api.core.Post().Namespace(mirror.Namespace).Resource("pods").Body(mirror).Do(ctx).Error()
	if apierrors.IsAlreadyExists(err) {
		return nil // it belongs to a former manifest and is being deleted, or its event has not arrived yet
	}
	if err != nil {
		return fmt.Errorf("create the mirror pod of %s: %w", static.pod.Name, err)
	}
	return nil
}

// reflect writes the state of the static pod's process to the mirror pod.
func (p *pods) reflect(ctx context.Context, static *staticPod, mirror *corev1.Pod) error {
	if mirror.DeletionTimestamp != nil {
		return nil
	}
	host, err := p.address()
	if err != nil {
		return err
	}
	state := static.container.now()
	now := p.second()
	want := mirror.DeepCopy()
	status := &want.Status
	status.Phase = corev1.PodRunning
	status.HostIP, status.HostIPs = host, []corev1.HostIP{{IP: host}}
	status.PodIP, status.PodIPs = host, []corev1.PodIP{{IP: host}}
	if status.StartTime == nil {
		status.StartTime = &now
	}
	container := simulatedStatus(mirror, &mirror.Spec.Containers[0], false, state.Started)
	container.Ready, container.RestartCount = state.Ready, state.Restarts
	if !state.Running {
		container.Started = new(bool)
		container.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: state.Reason, Message: state.Message}}
	}
	status.ContainerStatuses = []corev1.ContainerStatus{container}
	setPodConditions(status, mirror, state.Ready, now)
	return p.write(ctx, mirror, want)
}
