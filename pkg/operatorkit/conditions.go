package operatorkit

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Conditions that the kit writes. Every other condition of an object belongs
// to its steps and is left alone.
const (
	// ConditionReady is True when every step is done for the current generation.
	ConditionReady = "Ready"
	// ConditionSynced tells how the last run went: True without an error,
	// False when it failed or stalled, Unknown when the object is paused.
	ConditionSynced = "Synced"
	// ConditionStalled is True when a person must act, and absent otherwise.
	ConditionStalled = "Stalled"
	// ConditionReconciling is True while the kit is at work, and absent otherwise.
	ConditionReconciling = "Reconciling"
)

// maxMessage is what metav1.Condition allows a message to hold.
const maxMessage = 32768

// Conditioned is implemented by objects that have conditions in their status.
// *unstructured.Unstructured need not implement it: there the kit reads and
// writes status.conditions and status.observedGeneration.
type Conditioned interface {
	GetConditions() []metav1.Condition
	SetConditions(conditions []metav1.Condition)
}

// GenerationObserver is implemented, beside Conditioned, by objects that have
// status.observedGeneration.
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

// SetCondition adds or changes a condition of the object in memory; it is for
// steps that have conditions of their own. An empty observedGeneration becomes
// the object's generation; an empty lastTransitionTime becomes now, if the
// status changed.
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

// verdict is what one run says about an object.
type verdict struct {
	kind            Kind
	paused          bool
	troubled, quiet bool
	reason, message string
}

func verdictOf(o Outcome) verdict {
	v := verdict{kind: o.Kind(), troubled: o.trouble, quiet: o.kind == KindWait && o.quiet && !o.trouble, reason: o.Reason(), message: o.Message()}
	switch {
	case v.kind == KindDone && v.reason == "":
		v.reason, v.message = ReasonReady, "Everything this object asks for is in place."
	case v.kind == KindFail && v.reason == "":
		v.reason, v.message = ReasonFailed, fmt.Sprintf("This failed and will be tried again: %v.", o.Err())
	}
	return v
}

// write puts the verdict into the object's conditions. It is the one place
// that decides what Ready, Synced, Stalled and Reconciling say. Nothing in the
// object changes if it already says so.
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
		if meta.FindStatusCondition(conditions, conditionType) != nil { // Removing makes a list anew, also without it.
			meta.RemoveStatusCondition(&conditions, conditionType)
		}
	}
	ready := meta.FindStatusCondition(conditions, ConditionReady)

	switch {
	case v.paused:
		// What exists is as it was; only that nobody looks after it is new.
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
		if v.troubled {
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
		// A failed look says nothing about what exists: what was ready for
		// this generation stays ready.
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

// restamp moves what was observed at one generation to another.
func restamp(obj client.Object, from, to int64) {
	conditions := slices.Clone(Conditions(obj))
	for i := range conditions {
		if conditions[i].ObservedGeneration == from {
			conditions[i].ObservedGeneration = to
		}
	}
	setConditions(obj, conditions)
	setObservedGeneration(obj, to)
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

// status returns the object's status, which it makes if there is none.
func status(o *unstructured.Unstructured) map[string]any {
	if s, ok := o.Object["status"].(map[string]any); ok {
		return s
	}
	s := map[string]any{}
	o.Object["status"] = s
	return s
}

// unstructuredConditions reads status.conditions and skips what is no condition.
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

// cut shortens s to at most size bytes, at a rune's end.
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
