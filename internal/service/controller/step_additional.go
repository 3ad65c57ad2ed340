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
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// additionalStep creates the ConfigMaps, Secrets and Services from the outputs: those of the model, and
// those of spec.writeTo.
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
	in, lack, err := s.kind.inputs(ctx, obj, use)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if lack != nil {
		return operatorkit.Wait(lack.after, lack.reason, lack.message)
	}
	inputs, err := in.additionalDigest(obj)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if s.kind.inPlace(ctx, obj, inputs) {
		return operatorkit.Done()
	}
	list := &madeList{inputs: inputs, output: obj.Status.OutputDigest}
	made, err := s.make(ctx, obj, in, list)
	if err != nil {
		list.record(obj) // otherwise what was made would stay if the spec does not ask for it any more
		return additionalOutcome(err)
	}
	if err := s.remove(ctx, obj, made); err != nil {
		return additionalOutcome(err)
	}
	obj.Status.AdditionalResources = nil
	if len(made.ConfigMaps)+len(made.Secrets)+len(made.Services) > 0 {
		obj.Status.AdditionalResources = made
	}
	if len(list.taken) > 0 {
		return additionalOutcome(list.taken[0])
	}
	s.kind.made.keep(obj.UID, list)
	return operatorkit.Done()
}

// make ensures everything that the model and spec.writeTo ask for and returns the names.
func (s additionalStep) make(
	ctx context.Context, obj *v1alpha1.Object, in inputs, list *madeList,
) (*v1alpha1.AdditionalResources, error) {
	m, made := s.kind.modelOf(obj), &v1alpha1.AdditionalResources{}
	ownConfigMaps, ownSecrets, err := render.WriteTo(m, obj, s.kind.roleARNs(obj, in.use))
	if err != nil {
		return nil, err
	}
	services, err := render.Services(m, in.object, in.facts)
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
	configMaps, err := render.ConfigMaps(m, in.object, in.facts, names)
	if err != nil {
		return nil, invalidOrMissing(err)
	}
	if made.ConfigMaps, err = s.ensureData(ctx, obj, append(configMaps, ownConfigMaps...), configMapContent, list); err != nil {
		return nil, err
	}
	secrets, err := render.Secrets(m, in.object, in.facts, names)
	if err != nil {
		return nil, invalidOrMissing(err)
	}
	made.Secrets, err = s.ensureData(ctx, obj, append(secrets, ownSecrets...), secretContent, list)
	return made, err
}

func (s additionalStep) ensureData(
	ctx context.Context, obj *v1alpha1.Object, wanted []render.Data, contentOf func(map[string]string) content, list *madeList,
) ([]string, error) {
	var names []string
	for _, want := range wanted {
		filled := contentOf(want.Values)
		filled.field = want.Field
		name, err := s.kind.ensureAdditional(ctx, obj, want.Name, filled, list)
		if taken, ok := errors.AsType[*takenError](err); ok && want.Field != "" {
			list.taken = append(list.taken, taken)
			continue
		}
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
	had := obj.Status.AdditionalResources
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

// takenError means that all possible names are in use: the two of the model, or that of an entry of
// spec.writeTo.
type takenError struct {
	kind, name, other string
	// field is the entry of spec.writeTo, or empty. Own means that this object has the name already.
	field string
	own   bool
}

// Error names the objects with these names.
func (e *takenError) Error() string {
	switch {
	case e.own:
		return fmt.Sprintf("%s.name: the kind itself makes %s %s for this object; choose another name", e.field, e.kind, e.name)
	case e.field != "":
		return fmt.Sprintf("%s.name: %s %s already exists and does not belong to this object; delete it, or choose another name", e.field, e.kind, e.name)
	}
	return fmt.Sprintf("%s %s and %s already exist and do not belong to this object; rename or delete one of them", e.kind, e.name, e.other)
}

func additionalOutcome(err error) operatorkit.Outcome {
	switch e := err.(type) { //nolint:errorlint // all are returned by functions in this package or of render, and never wrapped
	case template.Problems:
		return invalidWriteTo(e)
	case *invalidError:
		return operatorkit.Stall("InvalidAdditionalResources", sentence("The additional resources of the ModelDefinition are invalid", e.error))
	case *render.MissingValueError:
		return operatorkit.Wait(0, "ValueMissing", missingMessage(e)).Degraded()
	case *takenError:
		taken := operatorkit.Stall("NameTaken", e.Error()+".")
		if e.field != "" && !e.own {
			taken = taken.RequeueAfter(poll) // no event says that the user freed the name
		}
		return taken
	}
	if apierrors.IsForbidden(err) {
		return operatorkit.Fail(err).Explain("Forbidden", sentence("The operator lacks a permission in Kubernetes", err))
	}
	return operatorkit.Fail(err)
}

// invalidWriteTo reports the problems of spec.writeTo.
func invalidWriteTo(err error) operatorkit.Outcome {
	return operatorkit.Stall("InvalidWriteTo", sentence("The outputs cannot be written", err))
}

// missingMessage names the value and says where it may come from.
func missingMessage(e *render.MissingValueError) string {
	if e.Entry != "" {
		return fmt.Sprintf("%s. Set what the output needs in the spec, or write {{ default \"\" %s }} in %s.data if the value is optional.",
			e.Error(), e.Value, e.Entry)
	}
	source := "Set it in the spec"
	if strings.Contains(e.Value, ".output.") {
		source = "Add the output to the template of the stack"
	}
	return fmt.Sprintf("%s. %s, or write {{ default \"\" %s }} in the ModelDefinition if the value is optional.", e.Error(), source, e.Value)
}
