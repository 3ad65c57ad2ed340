package fleets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/fleet"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// again is the delay after which the cache probably has what was written.
	again = 50 * time.Millisecond
	// maxClaims limits how many Clusters whose values are those of the template are claimed in one reconcile.
	maxClaims = 50
)

// rollOutStep rolls the template of a Fleet out.
type rollOutStep struct{ *controller }

// Name returns the step's name.
func (s rollOutStep) Name() string { return "rollout" }

// EnsureDeleted leaves the Clusters as they are.
func (s rollOutStep) EnsureDeleted(_ context.Context, f *v1alpha1.Fleet) operatorkit.Outcome {
	s.forget(f.UID)
	return operatorkit.Done()
}

// EnsureCreated applies the template to the Clusters whose turn it is.
func (s rollOutStep) EnsureCreated(ctx context.Context, f *v1alpha1.Fleet) operatorkit.Outcome {
	if err := s.watch(ctx); err != nil {
		return operatorkit.Fail(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(&f.Spec.Selector)
	if err != nil {
		return operatorkit.Stall("InvalidSelector", fmt.Sprintf("spec.selector is invalid: %s. Correct it.", err))
	}
	waves, err := fleet.Waves(&f.Spec.Rollout)
	if err != nil {
		return operatorkit.Stall("InvalidRollout", fmt.Sprintf("spec.rollout.waves cannot be used: %s. Correct it.", err))
	}
	template, err := fleet.NewTemplate(&f.Spec.Template)
	if err != nil {
		return operatorkit.Stall("InvalidSelector", fmt.Sprintf("spec.template cannot be used: %s. Correct it.", err))
	}
	r := &run{controller: s.controller, fleet: f, template: template, memory: s.memoryOf(f.UID), now: s.options.Clock.Now()}
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	if err := r.read(ctx, selector); err != nil {
		return operatorkit.Fail(err)
	}
	in, err := r.input(waves)
	if err != nil {
		return operatorkit.Fail(err)
	}
	plan := fleet.Decide(in)
	after, err := r.apply(ctx, &plan)
	s.show(f, &plan)
	if err != nil {
		return operatorkit.Fail(err)
	}
	return outcome(&plan, after)
}

// outcome turns a decision into conditions.
func outcome(plan *fleet.Plan, after time.Duration) operatorkit.Outcome {
	if plan.Recorded {
		after = again
	}
	after = soonest(after, plan.After)
	switch plan.Reason {
	case fleet.ReasonRolledOut:
		return operatorkit.Done().Explain(string(plan.Reason), plan.Message).RequeueAfter(after)
	case fleet.ReasonStopped:
		return operatorkit.Stall(string(plan.Reason), plan.Message).RequeueAfter(after)
	default:
		return operatorkit.Wait(after, string(plan.Reason), plan.Message).WithoutEvent()
	}
}

// soonest returns the shorter of two delays, of which zero is none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// show writes the decision into the status, and records an Event when a wave begins.
func (s rollOutStep) show(f *v1alpha1.Fleet, plan *fleet.Plan) {
	last := f.Status.Wave
	plan.Status.Conditions, plan.Status.ObservedGeneration = f.Status.Conditions, f.Status.ObservedGeneration
	f.Status = plan.Status
	status := metav1.ConditionFalse
	if plan.Reason == fleet.ReasonRolledOut {
		status = metav1.ConditionTrue
	}
	operatorkit.SetCondition(f, metav1.Condition{
		Type: servicev1alpha1.ConditionRolledOut, Status: status, Reason: string(plan.Reason), Message: plan.Message,
		LastTransitionTime: metav1.NewTime(s.options.Clock.Now()),
	})
	if f.Status.Wave != "" && f.Status.Wave != last {
		s.recorder.Eventf(f, nil, corev1.EventTypeNormal, "WaveStarted", "RollOut", "Wave %s begins.", f.Status.Wave)
	}
}

// run is one reconcile of a Fleet.
type run struct {
	*controller
	fleet    *v1alpha1.Fleet
	template *fleet.Template
	memory   *memory
	now      time.Time
	clusters []*v1alpha1.Cluster
	groups   map[string][]*v1alpha1.InstanceGroup
}

// claim returns the UIDs of the Clusters that have the template's values and whose fields the Fleet does not own yet.
func claims(plan *fleet.Plan) []types.UID {
	var found []types.UID
	for i := range plan.Members {
		if m := &plan.Members[i]; m.Unclaimed && !m.Outdated && !m.Paused {
			found = append(found, m.UID)
		}
	}
	return found
}

// apply applies the template to the Clusters of the decision, and claims fields. It returns the delay after which to
// continue, zero for the next change.
func (r *run) apply(ctx context.Context, plan *fleet.Plan) (time.Duration, error) {
	byUID := map[types.UID]*v1alpha1.Cluster{}
	for _, one := range r.clusters {
		byUID[one.UID] = one
	}
	var after time.Duration
	if r.anyRefused() {
		after = retryRefused
	}
	claimed := claims(plan)
	if len(claimed) > maxClaims {
		claimed, after = claimed[:maxClaims], again
	}
	var problems []error
	for _, uid := range append(plan.Apply, claimed...) {
		changed, err := r.applyAll(ctx, byUID[uid])
		if err != nil {
			problems = append(problems, err)
		}
		if !changed {
			after = again
		}
	}
	return after, errors.Join(problems...)
}

func (r *run) anyRefused() bool {
	for _, one := range r.memory.objects {
		if one.refused != "" {
			return true
		}
	}
	return false
}

// read reads the Clusters that the Fleet selects, and their InstanceGroups. The cache owns them.
func (r *run) read(ctx context.Context, selector selector) error {
	var clusters v1alpha1.ClusterList
	in := client.InNamespace(r.fleet.Namespace)
	if err := r.controller.clusters.List(
		ctx, &clusters, in, client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy,
	); err != nil {
		return fmt.Errorf("list the Clusters of the Fleet: %w", err)
	}
	var groups v1alpha1.InstanceGroupList
	if err := r.controller.clusters.List(ctx, &groups, in, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the InstanceGroups of the Fleet: %w", err)
	}
	r.groups = map[string][]*v1alpha1.InstanceGroup{}
	for i := range groups.Items {
		group := &groups.Items[i]
		r.groups[group.Spec.Cluster] = append(r.groups[group.Spec.Cluster], group)
	}
	for _, groups := range r.groups {
		slices.SortFunc(groups, func(a, b *v1alpha1.InstanceGroup) int { return cmp.Compare(a.Name, b.Name) })
	}
	for i := range clusters.Items {
		if clusters.Items[i].DeletionTimestamp.IsZero() {
			r.clusters = append(r.clusters, &clusters.Items[i])
		}
	}
	return nil
}

// input returns what the decision is made from.
func (r *run) input(waves []fleet.Wave) (fleet.Input, error) {
	in := fleet.Input{
		Now: r.now, Revision: r.template.Revision, Rollout: &r.fleet.Spec.Rollout, Waves: waves, Last: &r.fleet.Status,
	}
	labeled, uids := make([]fleet.Labeled, len(r.clusters)), map[types.UID]bool{}
	for i, one := range r.clusters {
		labeled[i] = fleet.Labeled{UID: one.UID, Labels: one.Labels}
		for _, object := range r.objectsOf(one) {
			uids[object.GetUID()] = true
		}
	}
	r.memory.keep(uids)
	for i, wave := range fleet.Assign(waves, labeled) {
		one, err := r.facts(r.clusters[i])
		if err != nil {
			return in, err
		}
		one.Wave = wave
		in.Clusters = append(in.Clusters, one)
	}
	return in, nil
}

// facts returns what the decision needs to know of a Cluster and its InstanceGroups.
func (r *run) facts(cluster *v1alpha1.Cluster) (fleet.Cluster, error) {
	var all fleet.Comparison
	var refused string
	behind := false // whether the cache has an object from before the template was applied to it
	for i, object := range r.objectsOf(cluster) {
		known, err := r.compare(object)
		if err != nil {
			return fleet.Cluster{}, err
		}
		behind = behind || object.GetGeneration() < known.applied
		if i == 0 {
			all, refused = *known.compared, known.refused
			continue
		}
		all = all.With(object.GetName(), *known.compared)
		if known.refused != "" {
			refused = cmp.Or(refused, "InstanceGroup "+object.GetName()+": "+known.refused)
		}
	}
	one := fleet.NewCluster(cluster, r.groups[cluster.Name], all, isPaused(cluster))
	one.Refused = refused
	if behind {
		one.Outdated, one.Unclaimed, one.New, one.Health = false, false, false, fleet.Unhealthy
		one.Message = "The operator has not reconciled the last change yet."
	}
	return one, nil
}

// compare compares the template with an object, once for each version of it.
func (r *run) compare(object client.Object) (*remembered, error) {
	known := r.memory.of(object, r.template.Revision, r.now)
	if known.compared != nil {
		return known, nil
	}
	compared, err := r.template.Compare(object, fleet.Manager(r.fleet.Name), known.conflicts)
	if err != nil {
		return nil, err //nolint:wrapcheck // It names the object.
	}
	known.compared = &compared
	return known, nil
}
