package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/plural"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Reasons of the condition RolledOut.
const (
	reasonRolledOut      = "RolledOut"
	reasonRollingOut     = "RollingOut"
	reasonRolloutPaused  = "RolloutPaused"
	reasonRolloutStopped = "RolloutStopped"
)

// rollout holds the objects that may take a kind's current revision. It starts empty: an object that has taken
// the revision says so in its status.
type rollout struct {
	mu       sync.Mutex
	revision string
	admitted map[types.UID]bool
	// underWay is whether an object does not use the current revision yet.
	underWay bool
}

// admits reports whether an object may take a revision.
func (r *rollout) admits(uid types.UID, revision string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.revision == revision && r.admitted[uid]
}

// set replaces the admitted objects, and returns those that were not admitted before.
func (r *rollout) set(revision string, admitted map[types.UID]bool, underWay bool) (added map[types.UID]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	added = map[types.UID]bool{}
	for uid := range admitted {
		if r.revision != revision || !r.admitted[uid] {
			added[uid] = true
		}
	}
	r.revision, r.admitted, r.underWay = revision, admitted, underWay
	return added
}

func (r *rollout) isUnderWay() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.underWay
}

// rolloutSees enqueues the definition if the change of an object matters to its rollout.
func (k *kind) rolloutSees(old, changed any) {
	obj, ok := changed.(*v1alpha1.Object)
	current := k.models.Load().revision
	if !ok || current == "" {
		return
	}
	var pin string
	if was, ok := old.(*v1alpha1.Object); ok {
		pin = was.Annotations[v1alpha1.RevisionAnnotation]
	}
	other := obj.Status.ModelRevision != "" && obj.Status.ModelRevision != current
	if other || obj.Annotations[v1alpha1.RevisionAnnotation] != pin || k.rollout.isUnderWay() {
		k.service.enqueueDefinition(k.name)
	}
}

// progress is how far a revision has reached the objects of a kind.
type progress struct {
	revision string
	// total are the objects that take part; pinned do not.
	total, pinned int
	// updating objects have taken the revision, or may, and are not ready with it; approving objects of these
	// wait for approval.
	updating, approving int
	// waiting are the objects that use another revision.
	waiting []*v1alpha1.Object
	// failed are the objects whose update failed.
	failed []*v1alpha1.Object
	// used are the revisions that objects use or name.
	used map[string]bool
}

// outdated is the number of objects that are not ready with the revision.
func (p *progress) outdated() int { return len(p.waiting) + len(p.failed) + p.updating + p.approving }

// rolloutObjects returns all objects of the kind. An operator for some namespaces reads those of all, which
// the operators share a definition for.
func (k *kind) rolloutObjects(ctx context.Context) ([]v1alpha1.Object, error) {
	var from client.Reader = k.manager.cache
	options := []client.ListOption{client.UnsafeDisableDeepCopy}
	if len(k.service.options.WatchNamespaces) > 0 {
		from, options = k.manager.live, nil
	}
	var objects v1alpha1.ObjectList
	if err := from.List(ctx, &objects, options...); err != nil {
		return nil, fmt.Errorf("list %s: %w", k.name, err)
	}
	return objects.Items, nil
}

// progress counts the objects of the kind by their revision.
func (k *kind) progress(ctx context.Context) (*progress, error) {
	objects, err := k.rolloutObjects(ctx)
	if err != nil {
		return nil, err
	}
	p := &progress{revision: k.models.Load().revision}
	p.used = map[string]bool{p.revision: true}
	for i := range objects {
		obj := &objects[i]
		used, pin := obj.Status.ModelRevision, obj.Annotations[v1alpha1.RevisionAnnotation]
		p.used[used], p.used[pin] = true, true
		switch {
		case !obj.DeletionTimestamp.IsZero():
		case pin != "":
			p.pinned++
		case takesAtOnce(obj) || used == p.revision && obj.Status.PreviousModelRevision == "":
			p.total++
		case used != p.revision:
			p.total++
			p.waiting = append(p.waiting, obj)
		case len(obj.Status.PendingChanges) > 0:
			p.total++
			p.approving++
		case updateFailed(obj):
			p.total++
			p.failed = append(p.failed, obj)
		default:
			p.total++
			p.updating++
		}
	}
	slices.SortFunc(p.waiting, func(a, b *v1alpha1.Object) int {
		return cmp.Or(cmp.Compare(p.rank(a), p.rank(b)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return p, nil
}

// rank orders the objects that wait: those that go back to where they came from are first, since the
// revision that they leave may have failed, and those that were not ready before are last, since they may
// not become ready now.
func (p *progress) rank(obj *v1alpha1.Object) int {
	switch {
	case obj.Status.PreviousModelRevision == p.revision:
		return 0
	case isTrue(obj, v1alpha1.ConditionReady):
		return 1
	default:
		return 2
	}
}

func isTrue(obj *v1alpha1.Object, condition string) bool {
	c := operatorkit.FindCondition(obj, condition)
	return c != nil && c.Status == metav1.ConditionTrue
}

// updateFailed reports whether an object cannot become ready, or its update was rolled back. A call that
// failed and is repeated says nothing about the update.
func updateFailed(obj *v1alpha1.Object) bool {
	synced := operatorkit.FindCondition(obj, v1alpha1.ConditionSynced)
	return isTrue(obj, v1alpha1.ConditionStalled) ||
		synced != nil && synced.Status == metav1.ConditionFalse && !slices.Contains(failedCalls, synced.Reason)
}

// failedCalls are the reasons of an object with a call that failed and is repeated.
var failedCalls = []string{
	operatorkit.ReasonFailed, string(awsapi.Throttled), string(awsapi.Unreachable), string(awsapi.Unavailable), string(awsapi.Expired),
}

// advance lets the next objects take the revision, up to the limit, and enqueues them. Objects of other shards keep
// their places in the order, so that the shards together stay within the limit: each admits only its own of the same
// next objects.
func (k *kind) advance(p *progress, rolloutOf *v1alpha1.ModelRollout) {
	limit := rolloutOf.Limit(p.total)
	admitted := map[types.UID]bool{}
	var next []*v1alpha1.Object
	for _, obj := range p.waiting {
		switch {
		case k.rollout.admits(obj.UID, p.revision):
			admitted[obj.UID] = true // its reconcile has not been seen yet
		case !operatorkit.HasPausedAnnotation(obj, v1alpha1.PausedAnnotation) && k.service.watches(obj.Namespace):
			next = append(next, obj)
		}
	}
	free := limit - p.updating - len(admitted)
	if len(p.failed) > 0 || rolloutOf != nil && rolloutOf.Paused {
		free = 0
	}
	for _, obj := range next[:max(0, min(free, len(next)))] {
		if k.service.owns(client.ObjectKeyFromObject(obj)) {
			admitted[obj.UID] = true
		}
	}
	added := k.rollout.set(p.revision, admitted, p.outdated() > 0)
	for _, obj := range next {
		if added[obj.UID] {
			k.reconciler.Enqueue(client.ObjectKeyFromObject(obj))
		}
	}
}

// rollOut lets the current revision reach further objects, and writes how far it is into the definition's
// status.
func (s definitionStep) rollOut(ctx context.Context, k *kind, definition *v1alpha1.ModelDefinition) operatorkit.Outcome {
	all := k.models.Load()
	definition.Status.Revision = all.revision
	if !k.recorded.Load() {
		return served(all.current) // the kind enqueues the definition when it knows its objects
	}
	p, err := k.progress(ctx)
	if err != nil {
		return operatorkit.Fail(err)
	}
	k.advance(p, definition.Spec.Rollout)
	definition.Status.OutdatedObjects, definition.Status.PinnedObjects = int32(p.outdated()), int32(p.pinned) //nolint:gosec // far fewer
	s.show(definition, p)
	if err := s.forget(ctx, k, definition, p.used); err != nil {
		return operatorkit.Fail(err)
	}
	return served(all.current)
}

// show writes the condition RolledOut, and records an Event when its reason changes.
func (s definitionStep) show(definition *v1alpha1.ModelDefinition, p *progress) {
	status, reason, message := p.describe(definition.Spec.Rollout)
	last := operatorkit.FindCondition(definition, v1alpha1.ConditionRolledOut)
	operatorkit.SetCondition(definition, metav1.Condition{
		Type: v1alpha1.ConditionRolledOut, Status: status, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(s.service.options.Clock.Now()),
	})
	if last == nil || last.Reason == reason {
		return
	}
	kind := corev1.EventTypeNormal
	if reason == reasonRolloutStopped {
		kind = corev1.EventTypeWarning
	}
	s.service.events.Eventf(definition, nil, kind, reason, "RollOut", "%s", message)
}

// describe says how far the rollout is.
func (p *progress) describe(rolloutOf *v1alpha1.ModelRollout) (metav1.ConditionStatus, string, string) {
	var pinned string
	if p.pinned > 0 {
		pinned = fmt.Sprintf(" %s %s pinned to a revision by the annotation %s.", plural.Count(p.pinned, "object"), verb(p.pinned, "is", "are"),
			v1alpha1.RevisionAnnotation)
	}
	rest := fmt.Sprintf("%d of %s %s not ready with revision %s.", p.outdated(), plural.Count(p.total, "object"), verb(p.outdated(), "is", "are"), p.revision)
	switch {
	case p.outdated() == 0:
		return metav1.ConditionTrue, reasonRolledOut, fmt.Sprintf("All objects use revision %s.", p.revision) + pinned
	case len(p.failed) > 0:
		return metav1.ConditionFalse, reasonRolloutStopped, p.failure() + " " + rest + pinned
	case rolloutOf != nil && rolloutOf.Paused:
		return metav1.ConditionFalse, reasonRolloutPaused, rest + " spec.rollout.paused holds back further objects." + pinned
	default:
		return metav1.ConditionFalse, reasonRollingOut, rest + p.held() + pinned
	}
}

// failure says which updates failed, and what a user can do.
func (p *progress) failure() string {
	first := p.failed[0]
	var why string
	if synced := operatorkit.FindCondition(first, v1alpha1.ConditionSynced); synced != nil {
		why = " " + strings.TrimSuffix(synced.Message, ".") + "."
	}
	return fmt.Sprintf("The update of %s/%s failed, so that no further objects are updated.%s Correct the object, or change this ModelDefinition; "+
		"apply its previous version to go back.", first.Namespace, first.Name, why)
}

// held counts the objects that wait for a user.
func (p *progress) held() string {
	paused := 0
	for _, obj := range p.waiting {
		if operatorkit.HasPausedAnnotation(obj, v1alpha1.PausedAnnotation) {
			paused++
		}
	}
	var text string
	if p.approving > 0 {
		text += fmt.Sprintf(" The changes of %s wait for approval.", plural.Count(p.approving, "object"))
	}
	if paused > 0 {
		text += fmt.Sprintf(" %s %s paused.", plural.Count(paused, "object"), verb(paused, "is", "are"))
	}
	return text
}

// verb returns the form of a verb for a number of things.
func verb(number int, singular, plural string) string {
	if number == 1 {
		return singular
	}
	return plural
}
