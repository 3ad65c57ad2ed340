package drain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
)

const (
	// evictionsAtOnce bounds the concurrent evictions on one node, evictionsPerIteration those per
	// iteration: a slow admission webhook must not delay the heartbeats.
	evictionsAtOnce       = 10
	evictionsPerIteration = 30
	evictionTimeout       = 10 * time.Second
	// acceptedFor is how long an accepted eviction may take to show on the pod before it is
	// repeated.
	acceptedFor = 5 * time.Second
)

// refusal is why a pod was not evicted; zero if it was.
type refusal struct {
	budgets []string
	problem string
}

// evict evicts pods and records the results.
func (r *run) evict(ctx context.Context, pods []podView) {
	clients, err := r.to.Kubernetes()
	if err != nil {
		r.problem = fmt.Sprintf("The cluster's clients cannot be created: %s.", err)
		return
	}
	pods = pods[:min(len(pods), evictionsPerIteration)]
	refusals := make([]refusal, len(pods))
	places := make(chan struct{}, evictionsAtOnce)
	var group sync.WaitGroup
	for i := range pods {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			ctx, cancel := context.WithTimeout(ctx, evictionTimeout)
			defer cancel()
			refusals[i] = evictPod(ctx, clients, &pods[i])
		})
	}
	group.Wait()
	r.problem = ""
	for i := range pods {
		r.note(&pods[i], refusals[i])
	}
}

// note records the result of an eviction and the time of the next attempt.
func (r *run) note(pod *podView, why refusal) {
	now := r.now()
	if len(why.budgets) == 0 && why.problem == "" {
		r.tries[pod.uid] = &tries{next: now.Add(acceptedFor)}
		return
	}
	tried := r.tries[pod.uid]
	if tried == nil || tried.first.IsZero() {
		tried = &tries{first: now}
		r.tries[pod.uid] = tried
	}
	tried.next, tried.blockedBy = now.Add(retryIn(now.Sub(tried.first), r.view.kept)), why.budgets
	if why.problem != "" {
		r.problem = why.problem
	}
}

// evictPod evicts a pod with its own grace period.
func evictPod(ctx context.Context, clients kubernetes.Interface, pod *podView) refusal {
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.key.Namespace, Name: pod.key.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.uid}},
	}
	// The caller decides about retries: the client would wait silently.
	err := clients.CoreV1().RESTClient().Post().Namespace(pod.key.Namespace).Resource("pods").Name(pod.key.Name).SubResource("eviction").
		MaxRetries(0).Body(eviction).Do(ctx).Error()
	switch {
	case err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err): // Another pod has the name.
		return refusal{}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause): // It is deleted with its namespace.
		return refusal{}
	case isBudget(err):
		return refusal{budgets: budgetsOf(err, pod)}
	case severalBudgets(err):
		budgets, problem := matching(ctx, clients, pod)
		return refusal{budgets: budgets, problem: problem}
	default:
		return refusal{problem: fmt.Sprintf("Pod %s cannot be evicted: %s.", pod.key, strings.TrimSuffix(err.Error(), "."))}
	}
}

// isBudget reports whether a PodDisruptionBudget refused an eviction, as opposed to rate limiting.
// https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/
func isBudget(err error) bool {
	return apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)
}

// budgetsOf parses the budgets that refused an eviction: "The disruption budget NAME needs …" or "…
// is still being processed …", see k8s.io/kubernetes/pkg/registry/core/pod/storage/eviction.go.
func budgetsOf(err error, pod *podView) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var budgets []string
	for _, cause := range status.Status().Details.Causes {
		rest, ok := strings.CutPrefix(cause.Message, "The disruption budget ")
		if cause.Type == policyv1.DisruptionBudgetCause && ok {
			name, _, _ := strings.Cut(rest, " ")
			budgets = append(budgets, pod.key.Namespace+"/"+name)
		}
	}
	return budgets
}

// severalBudgets reports whether an eviction was refused because several PodDisruptionBudgets
// select the pod, for which the API has a separate error.
func severalBudgets(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError &&
		strings.Contains(status.Status().Message, "more than one PodDisruptionBudget")
}

// matching returns the PodDisruptionBudgets that select a pod, and the resulting problem.
func matching(ctx context.Context, clients kubernetes.Interface, pod *podView) (budgets []string, problem string) {
	problem = fmt.Sprintf("Pod %s cannot be evicted because more than one PodDisruptionBudget selects it. Keep only one of them.", pod.key)
	found, err := clients.CoreV1().Pods(pod.key.Namespace).Get(ctx, pod.key.Name, metav1.GetOptions{})
	if err != nil {
		return nil, problem
	}
	list, err := clients.PolicyV1().PodDisruptionBudgets(pod.key.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, problem
	}
	for i := range list.Items {
		selector, err := metav1.LabelSelectorAsSelector(list.Items[i].Spec.Selector)
		if err == nil && selector.Matches(labels.Set(found.Labels)) {
			budgets = append(budgets, pod.key.Namespace+"/"+list.Items[i].Name)
		}
	}
	slices.Sort(budgets)
	return budgets, problem
}
