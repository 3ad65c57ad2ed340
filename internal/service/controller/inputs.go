package controller

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// inputs are everything that determines an object's stack.
type inputs struct {
	use   identity.Use
	facts render.Facts
	// object is the object with the values of spec.valuesFrom in its spec.
	object   *v1alpha1.Object
	override *render.Override
}

// digest hashes the inputs, the object and the revision of its model.
func (in inputs) digest(obj *v1alpha1.Object) (uint64, error) {
	sum := fnv.New64a() // writing to a hash never fails
	_, _ = fmt.Fprintf(
		sum, "%s|%s|%s|%s|%s|", obj.Status.ModelRevision, obj.Annotations[v1alpha1.AllowAnnotation],
		obj.Annotations[v1alpha1.DeletionPolicyAnnotation], obj.Status.StackID, obj.Status.ResourceStatus,
	)
	spec, err := render.StackSpec(in.object)
	if err != nil {
		return 0, fmt.Errorf("hash the spec: %w", err)
	}
	_, _ = sum.Write(spec)
	if in.use.Identity != "" {
		_, _ = fmt.Fprintf(sum, "|%+v", in.use)
	} else if len(in.use.Tags) > 0 {
		_, _ = fmt.Fprintf(sum, "|%v", in.use.Tags)
	}
	if in.override != nil {
		_, _ = fmt.Fprintf(sum, "|%s|%s", in.override.File, in.override.Template)
	}
	if len(in.facts.References) > 0 {
		data, err := json.Marshal([]any{in.facts.References, in.facts.Siblings})
		if err != nil {
			return 0, fmt.Errorf("encode references: %w", err)
		}
		_, _ = sum.Write(data)
	}
	return sum.Sum64(), nil
}

// additionalDigest hashes what determines the ConfigMaps, Secrets and Services of an object, except for
// its output.
func (in inputs) additionalDigest(obj *v1alpha1.Object) (uint64, error) {
	digest, err := in.digest(obj)
	if err != nil {
		return 0, err
	}
	sum := fnv.New64a() // writing to a hash never fails
	_, _ = fmt.Fprintf(sum, "%d|%s", digest, obj.Spec)
	return sum.Sum64(), nil
}

// record decodes the engine's record of the object's stack.
func record(obj *v1alpha1.Object) (stack.Record, error) {
	r, err := decodeRecord(obj.Status.Stack)
	if err != nil {
		return r, err
	}
	r.StackID, r.Status, r.StatusReason = obj.Status.StackID, obj.Status.ResourceStatus, obj.Status.ResourceStatusReason
	return r, nil
}

func decodeRecord(data []byte) (stack.Record, error) {
	r := stack.Record{}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &r); err != nil {
			return r, fmt.Errorf("decode the stack's record: %w", err)
		}
	}
	return r, nil
}

// setRecord writes the engine's record into the status. The API server returns the fields in another
// order, so an equal record stays as it is: otherwise each reconcile would write the status.
func setRecord(obj *v1alpha1.Object, r stack.Record) error {
	obj.Status.StackID, obj.Status.ResourceStatus, obj.Status.ResourceStatusReason = r.StackID, r.Status, r.StatusReason
	r.StackID, r.Status, r.StatusReason = "", "", ""
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the stack's record: %w", err)
	}
	if string(data) == "{}" {
		data = nil
	} else if known, err := decodeRecord(obj.Status.Stack); err == nil {
		if same, err := json.Marshal(known); err == nil && bytes.Equal(same, data) {
			return nil
		}
	}
	obj.Status.Stack = data
	return nil
}

// allowed parses the dangerous changes that the object's owner allows.
func allowed(obj *v1alpha1.Object) policy.Allow {
	allow := policy.ParseAllow(obj.Annotations[v1alpha1.AllowAnnotation])
	allow.Object = obj.Name
	return allow
}

// adoptFrom parses what the object may adopt.
func adoptFrom(obj *v1alpha1.Object) []string {
	return stack.ParseAdoptFrom(obj.Annotations[stack.AdoptAnnotation])
}

// outputDigest is a short hash of an object's output.
func outputDigest(output map[string]v1alpha1.Value) string {
	if len(output) == 0 {
		return ""
	}
	return digestOf(output)
}
