package controller

import (
	"errors"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// adoption returns what the object's stack takes over, nil if nothing. The first change of what was
// adopted waits for approval: the spec may differ from the resource. A refusal is the engine's to
// report, since an object that adopted its resource keeps it.
func (k *kind) adoption(obj *v1alpha1.Object, desired *render.Desired) (*stack.Import, error) {
	adoption, err := render.Adopts(obj, desired, k.service.options.Registry, &k.service.options.Limits)
	if refused, ok := errors.AsType[*render.RefusedError](err); ok {
		return &stack.Import{Refusal: &stack.Refusal{Reason: refused.Reason, Message: refused.Message}}, nil
	}
	if err != nil || adoption == nil {
		return nil, err //nolint:wrapcheck // of the same module
	}
	return &stack.Import{
		Resources: map[string]map[string]string{adoption.Resource: adoption.Identifier},
		Create:    adoption.Create, Review: approvals(obj),
	}, nil
}
