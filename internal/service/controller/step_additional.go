package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// additionalStep creates the ConfigMaps, Secrets and Services from the outputs.
type additionalStep struct{ kind *kind }

// Name returns the step's name.
func (s additionalStep) Name() string { return "additional" }

// EnsureCreated creates what is missing, updates what was changed, and deletes what is no longer
// wanted.
func (s additionalStep) EnsureCreated(ctx context.Context, obj *v1alpha1.Object) operatorkit.Outcome {
	use, outcome := s.kind.useNow(ctx, obj)
	if !outcome.IsDone() {
		return outcome
	}
	in, _, err := s.kind.inputs(ctx, obj, use)
	if err != nil {
		return operatorkit.Fail(err)
	}
	inputs, err := in.digest(obj, s.kind.version.Load())
	if err != nil {
		return operatorkit.Fail(err)
	}
	if s.kind.inPlace(ctx, obj, inputs) {
		return operatorkit.Done()
	}
	list := &madeList{inputs: inputs, output: obj.Status.OutputDigest}
	made, err := s.make(ctx, obj, in, list)
	if err != nil {
		return additionalOutcome(err)
	}
	if err := s.remove(ctx, obj, made); err != nil {
		return additionalOutcome(err)
	}
	s.kind.made.keep(obj.UID, list)
	obj.AdditionalResources = nil
	if len(made.ConfigMaps)+len(made.Secrets)+len(made.Services) > 0 {
		obj.AdditionalResources = made
	}
	return operatorkit.Done()
}

// make ensures everything that the model asks for and returns the names.
func (s additionalStep) make(
	ctx context.Context, obj *v1alpha1.Object, in inputs, list *madeList,
) (*v1alpha1.AdditionalResources, error) {
	m, made := s.kind.model.Load(), &v1alpha1.AdditionalResources{}
	if len(m.ConfigMaps)+len(m.Secrets)+len(m.Services) == 0 {
		return made, nil
	}
	services, err := render.Services(m, obj, in.facts)
	if err != nil {
		return nil, invalidOrMissing(err)
	}
	names := map[string]string{}
	for _, want := range services {
		name, err := s.kind.ensureAdditional(ctx, obj, want.Name, serviceContent(want), list)
		if err != nil {
			return nil, err
		}
		made.Services = append(made.Services, name)
		names[want.ID] = name
	}
	configMaps, err := render.ConfigMaps(m, obj, in.facts, names)
	if err != nil {
		return nil, invalidOrMissing(err)
	}
	if made.ConfigMaps, err = s.ensureData(ctx, obj, configMaps, configMapContent, list); err != nil {
		return nil, err
	}
	secrets, err := render.Secrets(m, obj, in.facts, names)
	if err != nil {
		return nil, invalidOrMissing(err)
	}
	made.Secrets, err = s.ensureData(ctx, obj, secrets, secretContent, list)
	return made, err
}

func (s additionalStep) ensureData(
	ctx context.Context, obj *v1alpha1.Object, wanted []render.Data, contentOf func(map[string]string) content, list *madeList,
) ([]string, error) {
	var names []string
	for _, want := range wanted {
		name, err := s.kind.ensureAdditional(ctx, obj, want.Name, contentOf(want.Values), list)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// EnsureDeleted deletes everything that was created, also where garbage collection is disabled.
func (s additionalStep) EnsureDeleted(ctx context.Context, obj *v1alpha1.Object) operatorkit.Outcome {
	s.kind.made.drop(obj.UID)
	if err := s.remove(ctx, obj, &v1alpha1.AdditionalResources{}); err != nil {
		return additionalOutcome(err)
	}
	return operatorkit.Done()
}

// remove deletes what was created before and is no longer wanted.
func (s additionalStep) remove(ctx context.Context, obj *v1alpha1.Object, wanted *v1alpha1.AdditionalResources) error {
	had := obj.AdditionalResources
	if had == nil {
		return nil
	}
	for _, group := range []struct {
		had, wanted []string
		empty       func() client.Object
	}{
		{had.ConfigMaps, wanted.ConfigMaps, configMapContent(nil).empty},
		{had.Secrets, wanted.Secrets, secretContent(nil).empty},
		{had.Services, wanted.Services, serviceContent(render.Service{}).empty},
	} {
		for _, name := range group.had {
			if slices.Contains(group.wanted, name) {
				continue
			}
			if err := s.kind.service.removeOwned(ctx, obj, name, group.empty()); err != nil {
				return err
			}
		}
	}
	return nil
}

// invalidError is an error in the model's expressions.
type invalidError struct{ error }

// Unwrap returns the wrapped error.
func (e *invalidError) Unwrap() error { return e.error }

// invalidOrMissing returns an error of rendering as one that additionalOutcome knows.
func invalidOrMissing(err error) error {
	if missing, ok := errors.AsType[*render.MissingValueError](err); ok {
		return missing
	}
	return &invalidError{err}
}

// takenError means that both possible names are in use.
type takenError struct{ kind, name, other string }

// Error names the objects with these names.
func (e *takenError) Error() string {
	return fmt.Sprintf("%s %s and %s already exist and do not belong to this object; rename or delete one of them", e.kind, e.name, e.other)
}

func additionalOutcome(err error) operatorkit.Outcome {
	switch e := err.(type) { //nolint:errorlint // all are returned by functions in this file and never wrapped
	case *invalidError:
		return operatorkit.Stall("InvalidAdditionalResources", sentence("The additional resources of the ModelDefinition are invalid", e.error))
	case *render.MissingValueError:
		return operatorkit.Wait(0, "ValueMissing", missingMessage(e)).Degraded()
	case *takenError:
		return operatorkit.Stall("NameTaken", e.Error()+".")
	}
	if apierrors.IsForbidden(err) {
		return operatorkit.Fail(err).Explain("Forbidden", sentence("The operator lacks a permission in Kubernetes", err))
	}
	return operatorkit.Fail(err)
}

// missingMessage names the value and says where it may come from.
func missingMessage(e *render.MissingValueError) string {
	source := "Set it in the spec"
	if strings.Contains(e.Value, ".output.") {
		source = "Add the output to the template of the stack"
	}
	return fmt.Sprintf("%s. %s, or write {{ default \"\" %s }} in the ModelDefinition if the value is optional.", e.Error(), source, e.Value)
}
