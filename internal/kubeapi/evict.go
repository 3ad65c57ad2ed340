package kubeapi

import (
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// evict deletes a pod if its budget allows it. The rules and the messages are the API server's:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/pod/storage/eviction.go
func (s *Server) evict(w http.ResponseWriter, req *http.Request, t target) error {
	sent, err := body(req, t)
	if err != nil {
		return err
	}
	eviction := decode[policyv1.Eviction](sent)
	if eviction == nil {
		return apierrors.NewBadRequest("not a Eviction object")
	}
	if eviction.Name != "" && eviction.Name != t.name {
		return apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	var options metav1.DeleteOptions
	if eviction.DeleteOptions != nil {
		options = *eviction.DeleteOptions
	}
	if len(options.DryRun) == 0 {
		options.DryRun = req.URL.Query()["dryRun"]
	}
	if err := s.simulation.evict(t.key(), options); err != nil {
		return err
	}
	reply(w, http.StatusCreated, succeeded(http.StatusCreated))
	return nil
}

func (p *simulation) evict(name types.NamespacedName, options metav1.DeleteOptions) error {
	p.store.mu.Lock()
	defer p.store.release()
	object, err := p.store.find(podKind, name)
	if err != nil {
		return err
	}
	if err := meets(object, options.Preconditions); err != nil {
		return apierrors.NewConflict(schema.GroupResource{Resource: "Pod"}, name.Name, err)
	}
	if pod := p.pods[name]; pod == nil || !ignoresBudget(pod) {
		if err := p.permitted(name); err != nil {
			return err
		}
	}
	options.Preconditions = nil
	if len(options.DryRun) == 0 {
		p.editPod(name, func(pod *corev1.Pod) {
			p.setCondition(pod, corev1.DisruptionTarget, corev1.ConditionTrue, "EvictionByEvictionAPI", "Eviction API: evicting")
		})
	}
	_, err = p.store.drop(podKind, name, options)
	return err
}

// ignoresBudget reports whether the eviction of a pod disrupts nothing.
func ignoresBudget(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending:
		return true
	default:
		return pod.DeletionTimestamp != nil
	}
}

// permitted returns an error if a pod's budgets do not allow its eviction.
func (p *simulation) permitted(name types.NamespacedName) error {
	guards := p.guards[name]
	if len(guards) == 0 {
		return nil
	}
	if len(guards) > 1 {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		}}
	}
	b := guards[0]
	if !isPodReady(p.pods[name]) {
		policy := b.Spec.UnhealthyPodEvictionPolicy
		if policy != nil && *policy == policyv1.AlwaysAllow ||
			b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0 {
			return nil
		}
	}
	return b.check()
}

// check returns an error if a budget allows no disruption.
func (b *budget) check() error {
	switch {
	case b.Status.ObservedGeneration < b.Generation:
		return refusal(10, fmt.Sprintf("The disruption budget %s is still being processed by the server.", b.Name))
	case b.Status.DisruptionsAllowed < 0:
		return apierrors.NewForbidden(schema.GroupResource{Group: "policy", Resource: "poddisruptionbudget"}, b.Name,
			errors.New("pdb disruptions allowed is negative"))
	case b.Status.DisruptionsAllowed > 0:
		return nil
	}
	condition := meta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
	failed := condition != nil && condition.Status == metav1.ConditionFalse && condition.Message != ""
	switch {
	case failed && condition.Reason == policyv1.SyncFailedReason:
		return refusal(
			0,
			fmt.Sprintf(
				"The disruption budget %s does not allow evicting pods currently because it failed sync: %s", b.Name, condition.Message,
			),
		)
	case b.Status.CurrentHealthy <= b.Status.DesiredHealthy:
		return refusal(
			0,
			fmt.Sprintf(
				"The disruption budget %s needs %d healthy pods and has %d currently",
				b.Name,
				b.Status.DesiredHealthy,
				b.Status.CurrentHealthy,
			),
		)
	case failed:
		return refusal(
			0,
			fmt.Sprintf(
				"The disruption budget %s does not allow evicting pods currently (%s): %s", b.Name, condition.Reason, condition.Message,
			),
		)
	}
	return refusal(0, fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", b.Name))
}

// refusal returns the response to an eviction that a budget forbids, with the seconds after which
// to retry.
func refusal(after int, why string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", after)
	err.ErrStatus.Details.Causes = append(
		err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: why},
	)
	return err
}
