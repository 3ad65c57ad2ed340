package operatorkit

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Condition types that the reconciler writes. All other conditions of an object
// belong to its steps; the reconciler does not change them.
const (
	// ConditionReady is True when every step is done for the current generation.
	ConditionReady = "Ready"
	// ConditionSynced is the result of the last run: True if it had no problem,
	// False if it failed, stalled or is degraded, Unknown if the object is paused.
	ConditionSynced = "Synced"
	// ConditionStalled is True if a user must act, and absent otherwise.
	ConditionStalled = "Stalled"
	// ConditionReconciling is True while the object waits or is retried, and absent otherwise.
	ConditionReconciling = "Reconciling"
)

// maxMessage is the maximum length of metav1.Condition's message.
const maxMessage = 32768

// Conditioned is implemented by objects that have conditions in their status.
// *unstructured.Unstructured does not need it: there the package reads and
// writes status.conditions and status.observedGeneration.
type Conditioned interface {
	GetConditions() []metav1.Condition
	SetConditions(conditions []metav1.Condition)
}

// GenerationObserver is implemented, in addition to Conditioned, by objects that
// have status.observedGeneration.
type GenerationObserver interface {
	SetObservedGeneration(generation int64)
}

// Conditions returns the object's conditions, nil if it has none.
func Conditions(obj client.Object) []metav1.Condition {
	switch o := obj.(type) {
	case Conditioned:
		return o.GetConditions()
	case *unstructured.Unstructured:
		return unstructuredConditions(o)
	default:
		return nil
	}
}

// FindCondition returns the object's condition of the given type, nil if it has none.
func FindCondition(obj client.Object, conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(Conditions(obj), conditionType)
}

// SetCondition adds or changes a condition of the object in memory. Steps use it
// for their own conditions. An empty observedGeneration becomes the object's
// generation. An empty lastTransitionTime becomes the current time if the status
// changed.
func SetCondition(obj client.Object, condition metav1.Condition) {
	if condition.ObservedGeneration == 0 {
		condition.ObservedGeneration = obj.GetGeneration()
	}
	conditions := slices.Clone(Conditions(obj))
	if meta.SetStatusCondition(&conditions, condition) {
		setConditions(obj, conditions)
	}
}

// RemoveCondition removes a condition of the object in memory.
func RemoveCondition(obj client.Object, conditionType string) {
	conditions := slices.Clone(Conditions(obj))
	if meta.RemoveStatusCondition(&conditions, conditionType) {
		setConditions(obj, conditions)
	}
}

// verdict is the result of one run, from which the conditions follow.
type verdict struct {
	kind              Kind
	paused            bool
	degraded, noEvent bool
	reason, message   string
}

func verdictOf(o Outcome) verdict {
	o = o.explained()
	v := verdict{
		kind:     o.kind,
		degraded: o.degraded,
		noEvent:  o.kind == KindWait && o.noEvent && !o.degraded,
		reason:   o.reason,
		message:  o.Message(),
	}
	if v.kind == KindDone && v.reason == "" {
		v.reason, v.message = ReasonReady, "All resources of this object are up to date."
	}
	return v
}

// write sets the object's conditions. It is the only place that decides the
// values of Ready, Synced, Stalled and Reconciling. It does not change an object
// whose conditions already have these values.
func (v verdict) write(obj client.Object, now metav1.Time) {
	generation := obj.GetGeneration()
	old := Conditions(obj)
	conditions := slices.Clone(old)
	set := func(conditionType string, status metav1.ConditionStatus) {
		meta.SetStatusCondition(&conditions, metav1.Condition{
			Type: conditionType, Status: status, Reason: v.reason, Message: cut(v.message, maxMessage),
			ObservedGeneration: generation, LastTransitionTime: now,
		})
	}
	flag := func(conditionType string, on bool) {
		if on {
			set(conditionType, metav1.ConditionTrue)
			return
		}
		if meta.FindStatusCondition(conditions, conditionType) != nil { // RemoveStatusCondition always allocates a list.
			meta.RemoveStatusCondition(&conditions, conditionType)
		}
	}
	ready := meta.FindStatusCondition(conditions, ConditionReady)

	switch {
	case v.paused:
		// A pause does not change what exists, so Ready keeps its value.
		if ready == nil {
			set(ConditionReady, metav1.ConditionUnknown)
		}
		set(ConditionSynced, metav1.ConditionUnknown)
		flag(ConditionReconciling, false)
	case v.kind == KindDone:
		set(ConditionReady, metav1.ConditionTrue)
		set(ConditionSynced, metav1.ConditionTrue)
		flag(ConditionStalled, false)
		flag(ConditionReconciling, false)
	case v.kind == KindWait:
		set(ConditionReady, metav1.ConditionFalse)
		synced := metav1.ConditionTrue
		if v.degraded {
			synced = metav1.ConditionFalse
		}
		set(ConditionSynced, synced)
		flag(ConditionStalled, false)
		flag(ConditionReconciling, true)
	case v.kind == KindStall:
		set(ConditionReady, metav1.ConditionFalse)
		set(ConditionSynced, metav1.ConditionFalse)
		flag(ConditionStalled, true)
		flag(ConditionReconciling, false)
	default:
		// A failure says nothing about what exists: an object that was Ready at
		// this generation stays Ready.
		if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != generation {
			set(ConditionReady, metav1.ConditionFalse)
		}
		set(ConditionSynced, metav1.ConditionFalse)
		flag(ConditionStalled, false)
		flag(ConditionReconciling, true)
	}
	if !slices.Equal(old, conditions) && !equality.Semantic.DeepEqual(old, conditions) {
		setConditions(obj, conditions)
	}
	if !v.paused {
		setObservedGeneration(obj, generation)
	}
}

func supportsConditions(obj client.Object) bool {
	switch obj.(type) {
	case Conditioned, *unstructured.Unstructured:
		return true
	default:
		return false
	}
}

func setConditions(obj client.Object, conditions []metav1.Condition) {
	switch o := obj.(type) {
	case Conditioned:
		o.SetConditions(conditions)
	case *unstructured.Unstructured:
		setUnstructuredConditions(o, conditions)
	}
}

func setObservedGeneration(obj client.Object, generation int64) {
	switch o := obj.(type) {
	case GenerationObserver:
		o.SetObservedGeneration(generation)
	case *unstructured.Unstructured:
		status(o)["observedGeneration"] = generation
	}
}

// status returns the object's status, and adds an empty one if there is none.
func status(o *unstructured.Unstructured) map[string]any {
	if s, ok := o.Object["status"].(map[string]any); ok {
		return s
	}
	s := map[string]any{}
	o.Object["status"] = s
	return s
}

// unstructuredConditions reads status.conditions and skips entries that are not conditions.
func unstructuredConditions(o *unstructured.Unstructured) []metav1.Condition {
	s, _ := o.Object["status"].(map[string]any)
	items, _ := s["conditions"].([]any)
	var conditions []metav1.Condition
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		var c metav1.Condition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c); err == nil {
			conditions = append(conditions, c)
		}
	}
	return conditions
}

func setUnstructuredConditions(o *unstructured.Unstructured, conditions []metav1.Condition) {
	items := make([]any, 0, len(conditions))
	for i := range conditions {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&conditions[i])
		if err == nil {
			items = append(items, fields)
		}
	}
	status(o)["conditions"] = items
}

// cut shortens s to at most size bytes, at the boundary of a rune.
func cut(s string, size int) string {
	if len(s) <= size {
		return s
	}
	const ellipsis = "…"
	end := size - len(ellipsis)
	for end > 0 && s[end]&0xC0 == 0x80 {
		end--
	}
	return s[:end] + ellipsis
}
