package addons

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	helmrelease "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

const (
	// askTimeout bounds one observation of the workloads.
	askTimeout = time.Minute
	// podsAsked bounds the pods of a workload that are read to find a reason.
	podsAsked = 100
	// maxProblems is how many workloads a condition names.
	maxProblems = 4
)

// addonWorkload is a Deployment, DaemonSet or StatefulSet of an addon.
type addonWorkload struct {
	addon, kind, namespace, name string
}

// String returns the workload's name for messages.
func (w *addonWorkload) String() string {
	return fmt.Sprintf("%s %s/%s of addon %s", w.kind, w.namespace, w.name, w.addon)
}

// workloadsIn returns the workloads of a Helm release without those of hooks, which terminate.
func workloadsIn(addon string, release *helmrelease.Release) []addonWorkload {
	var found []addonWorkload
	for _, document := range releaseutil.SplitManifests(release.Manifest) {
		var object metav1.PartialObjectMetadata
		if yaml.Unmarshal([]byte(document), &object) != nil || object.APIVersion != appsv1.SchemeGroupVersion.String() {
			continue
		}
		switch object.Kind {
		case "Deployment", "DaemonSet", "StatefulSet":
			found = append(found, addonWorkload{addon, object.Kind, cmp.Or(object.Namespace, release.Namespace), object.Name})
		}
	}
	return found
}

// rollout is the rollout status of a workload.
type rollout struct {
	// observed reports whether kube-controller-manager has observed the current generation.
	observed bool
	// wanted and available are the desired and the available number of up-to-date pods.
	wanted, available int32
	selector          *metav1.LabelSelector
}

// rolloutOf reads the rollout status of a workload.
// https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#deployment-status
func rolloutOf(ctx context.Context, clients kubernetes.Interface, w *addonWorkload) (*rollout, error) {
	switch w.kind {
	case "Deployment":
		d, err := clients.AppsV1().Deployments(w.namespace).Get(ctx, w.name, metav1.GetOptions{})
		if err != nil {
			return nil, err //nolint:wrapcheck // The caller names the workload.
		}
		return &rollout{
			d.Status.ObservedGeneration >= d.Generation,
			ptr.Deref(d.Spec.Replicas, 1),
			min(d.Status.UpdatedReplicas, d.Status.AvailableReplicas),
			d.Spec.Selector,
		}, nil
	case "StatefulSet":
		s, err := clients.AppsV1().StatefulSets(w.namespace).Get(ctx, w.name, metav1.GetOptions{})
		if err != nil {
			return nil, err //nolint:wrapcheck // The caller names the workload.
		}
		r := &rollout{
			s.Status.ObservedGeneration >= s.Generation,
			ptr.Deref(s.Spec.Replicas, 1),
			s.Status.AvailableReplicas,
			s.Spec.Selector,
		}
		if rolling := s.Spec.UpdateStrategy.RollingUpdate; s.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType &&
			(rolling == nil || ptr.Deref(rolling.Partition, 0) == 0) {
			r.available = min(r.available, s.Status.UpdatedReplicas)
		}
		return r, nil
	default:
		d, err := clients.AppsV1().DaemonSets(w.namespace).Get(ctx, w.name, metav1.GetOptions{})
		if err != nil {
			return nil, err //nolint:wrapcheck // The caller names the workload.
		}
		r := &rollout{
			d.Status.ObservedGeneration >= d.Generation,
			d.Status.DesiredNumberScheduled,
			d.Status.NumberAvailable,
			d.Spec.Selector,
		}
		if d.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType {
			r.available = min(r.available, d.Status.UpdatedNumberScheduled)
		}
		return r, nil
	}
}

// unavailable describes the workloads that are not available, "" if all are.
func unavailable(ctx context.Context, clients kubernetes.Interface, workloads []addonWorkload) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var problems []string
	for i := range workloads {
		problem, err := problemOf(ctx, clients, &workloads[i], len(problems) < maxProblems)
		if err != nil {
			return "", fmt.Errorf("%s: %w", &workloads[i], err)
		}
		if problem != "" {
			problems = append(problems, workloads[i].String()+": "+problem)
		}
	}
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(problems, "; "), nil
}

func problemOf(ctx context.Context, clients kubernetes.Interface, w *addonWorkload, why bool) (string, error) {
	r, err := rolloutOf(ctx, clients, w)
	switch {
	case apierrors.IsNotFound(err):
		return "it does not exist and was deleted after its installation", nil
	case err != nil:
		return "", err
	case !r.observed:
		return "kube-controller-manager has not observed its current generation yet", nil
	case r.available >= r.wanted:
		return "", nil
	}
	problem := fmt.Sprintf("%d of %d pods are not available", r.wanted-r.available, r.wanted)
	if !why {
		return problem, nil
	}
	reason, err := podReason(ctx, clients, w, r.selector)
	if err != nil || reason == "" {
		return problem, err
	}
	return problem + " (" + reason + ")", nil
}

// podReason returns what the first pod that is not Ready waits for, "" if unknown.
func podReason(ctx context.Context, clients kubernetes.Interface, w *addonWorkload, selector *metav1.LabelSelector) (string, error) {
	pods, err := clients.CoreV1().
		Pods(w.namespace).
		List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(selector), Limit: podsAsked})
	if err != nil {
		return "", err //nolint:wrapcheck // The caller names the workload.
	}
	if len(pods.Items) == 0 {
		return "it has no pods", nil
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if workload.PodUnreadySince(pod).IsZero() {
			continue
		}
		if reason := waitingFor(pod); reason != "" {
			return "pod " + pod.Name + ": " + reason, nil
		}
	}
	return "", nil
}

func waitingFor(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return describe(c.Reason, c.Message)
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if waiting := statuses[i].State.Waiting; waiting != nil {
				return "container " + statuses[i].Name + ": " + describe(waiting.Reason, waiting.Message)
			}
		}
	}
	return ""
}

// describe joins a reason and a message, shortened to fit a condition that names several pods.
func describe(reason, message string) string {
	const most = 200
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most], "") + " …"
	}
	if message == "" {
		return reason
	}
	return reason + ": " + strings.TrimSuffix(message, ".")
}
