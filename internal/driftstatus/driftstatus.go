// Package driftstatus converts results of drift checks to what objects show, for the controllers of
// services and of clusters.
package driftstatus

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
)

// Reasons of the condition Drifted that the engine does not know.
const (
	// ReasonPolicy: the annotation with the policy has an unknown value.
	ReasonPolicy = "UnknownDriftPolicy"
	// ReasonExceptions: the annotation with the exceptions cannot be parsed.
	ReasonExceptions = "InvalidIgnoreDrift"
)

// Policy returns a policy as the API spells it, or what the user wrote if it is unknown. The default is
// to report drift.
func Policy(written string) string {
	written = strings.TrimSpace(written)
	for _, known := range []string{v1alpha1.DriftPolicyReport, v1alpha1.DriftPolicyRevert, v1alpha1.DriftPolicyIgnore} {
		if strings.EqualFold(written, known) {
			return known
		}
	}
	return cmp.Or(written, v1alpha1.DriftPolicyReport)
}

// Asked is the text that requests a check: the values of the annotations for a request, and for the
// exceptions, whose change makes a result outdated.
func Asked(request, exceptions string) string {
	return strings.TrimPrefix(request+"\n"+exceptions, "\n")
}

// Record returns the engine's record of the checks. One that cannot be read, because another client
// wrote it, counts as none.
func Record(status *v1alpha1.DriftStatus) (r stack.DriftRecord) {
	if status == nil || json.Unmarshal(status.Record, &r) != nil {
		return stack.DriftRecord{}
	}
	return r
}

// Keep writes the outcome of a check into a status, which was read as the record before. It returns the
// status, nil if there is nothing to keep.
func Keep(status *v1alpha1.DriftStatus, before *stack.DriftRecord, result *stack.DriftResult) (*v1alpha1.DriftStatus, error) {
	if !result.Record.Equal(before) {
		data, err := json.Marshal(result.Record)
		if err != nil {
			return status, fmt.Errorf("encode the record of drift checks: %w", err)
		}
		if status == nil {
			status = &v1alpha1.DriftStatus{}
		}
		status.Record = data
	}
	drift := result.Drift
	if drift == nil || status == nil {
		return status, nil
	}
	status.Resources = resources(drift)
	status.Omitted = int32(drift.Omitted) //nolint:gosec // CloudFormation allows 500 resources
	if drift.Status != stack.DriftUnknown && result.Record.Concluded != nil {
		status.CheckedAt = new(metav1.NewTime(*result.Record.Concluded))
	}
	return status, nil
}

// Condition returns the status of the condition Drifted for a result.
func Condition(status stack.DriftStatus) metav1.ConditionStatus {
	switch status {
	case stack.Drifted:
		return metav1.ConditionTrue
	case stack.InSync:
		return metav1.ConditionFalse
	case stack.DriftUnknown:
		return metav1.ConditionUnknown
	default:
		return metav1.ConditionUnknown
	}
}

func resources(drift *stack.Drift) []v1alpha1.DriftedResource {
	var shown []v1alpha1.DriftedResource
	for i := range drift.Resources {
		found := &drift.Resources[i]
		one := v1alpha1.DriftedResource{
			Resource: found.Resource, Type: found.Type, PhysicalID: found.PhysicalID, State: v1alpha1.DriftModified,
			Omitted: int32(found.Omitted), //nolint:gosec // a template has at most 1 MB
		}
		if found.Deleted {
			one.State = v1alpha1.DriftDeleted
		}
		for _, p := range found.Properties {
			one.Properties = append(one.Properties, v1alpha1.DriftedProperty{
				Path: p.Path, Difference: p.Difference, Expected: p.Expected, Actual: p.Actual,
			})
		}
		shown = append(shown, one)
	}
	return shown
}

// Resources returns the resources that a status says have drifted.
func Resources(status *v1alpha1.DriftStatus) []stack.DriftedResource {
	if status == nil {
		return nil
	}
	var found []stack.DriftedResource
	for i := range status.Resources {
		shown := &status.Resources[i]
		one := stack.DriftedResource{
			Resource: shown.Resource, Type: shown.Type, PhysicalID: shown.PhysicalID, Deleted: shown.State == v1alpha1.DriftDeleted,
			Omitted: int(shown.Omitted),
		}
		for _, p := range shown.Properties {
			one.Properties = append(one.Properties, stack.DriftedProperty{
				Path: p.Path, Difference: p.Difference, Expected: p.Expected, Actual: p.Actual,
			})
		}
		found = append(found, one)
	}
	return found
}

// maxNote is the longest text of an Event, in bytes: "it should be less than 1kB".
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
const maxNote = 1000

// Note returns a text that fits into an Event.
func Note(text string) string {
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote], "") + " …"
}

// Clipped returns the beginning of a value of a user for a message.
func Clipped(value string) string {
	const most = 50
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return value
}
