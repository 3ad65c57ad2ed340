package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// models are the models of a kind.
type models struct {
	// current is the model of the ModelDefinition as it is, or the built-in one.
	current *model.Model
	// revision is the name of current's ModelRevision; empty for a built-in kind.
	revision string
	// older are the models of other revisions, by name, which objects may use until the rollout reaches
	// them.
	older map[string]*model.Model
}

// of returns the model of a revision.
func (m *models) of(revision string) (*model.Model, bool) {
	if revision == m.revision {
		return m.current, true
	}
	found, ok := m.older[revision]
	return found, ok
}

// revisions are the names of all revisions, the current one first.
func (m *models) revisions() []string {
	return append([]string{m.revision}, slices.Sorted(maps.Keys(m.older))...)
}

// refer reports whether objects of one of the models may refer to other objects.
func (m *models) refer() bool {
	refers := func(one *model.Model) bool {
		return len(one.References)+len(one.AccessLevels) > 0 || one.ExecutionRole != ""
	}
	return refers(m.current) || slices.ContainsFunc(slices.Collect(maps.Values(m.older)), refers)
}

// without returns the models without those revisions that are not used.
func (m *models) without(used map[string]bool) *models {
	kept := &models{current: m.current, revision: m.revision, older: map[string]*model.Model{}}
	for name, one := range m.older {
		if used[name] {
			kept.older[name] = one
		}
	}
	return kept
}

// modelOf returns the model of the revision that an object uses. The object's first step has checked that
// there is one; before, and when the object is deleted, it is the current model.
func (k *kind) modelOf(obj *v1alpha1.Object) *model.Model {
	all := k.models.Load()
	if found, ok := all.of(obj.Status.ModelRevision); ok {
		return found
	}
	return all.current
}

// models makes sure that a definition's revision exists, and returns its model with those of the older
// revisions.
func (s definitionStep) models(ctx context.Context, definition *v1alpha1.ModelDefinition, current *model.Model) (*models, error) {
	revision, err := model.NewRevision(definition)
	if err != nil {
		return nil, err //nolint:wrapcheck // of the same module
	}
	if err := s.keepRevision(ctx, revision); err != nil {
		return nil, err
	}
	return s.modelsOf(ctx, definition, current, revision.Name)
}

// modelsOf returns a definition's model with those of the older revisions.
func (s definitionStep) modelsOf(
	ctx context.Context, definition *v1alpha1.ModelDefinition, current *model.Model, revision string,
) (*models, error) {
	all, err := s.revisions(ctx, definition.Name)
	if err != nil {
		return nil, err
	}
	found := &models{current: current, revision: revision, older: map[string]*model.Model{}}
	for i := range all {
		if all[i].Name == revision {
			continue
		}
		old, err := model.CompileRevision(&all[i], s.service.options.Registry)
		if err == nil && old.Kind != current.Kind {
			err = fmt.Errorf("ModelRevision %s is of kind %s", all[i].Name, old.Kind)
		}
		if err != nil { // the objects that use it say so
			ctrllog.FromContext(ctx).Error(err, "the ModelRevision is not used", "revision", all[i].Name)
			continue
		}
		found.older[all[i].Name] = old
	}
	return found, nil
}

// keepRevision creates a revision, or corrects one that another client has changed.
func (s definitionStep) keepRevision(ctx context.Context, revision *v1alpha1.ModelRevision) error {
	known := &v1alpha1.ModelRevision{}
	err := s.service.manager.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(revision), known)
	switch {
	case apierrors.IsNotFound(err):
		err = s.service.manager.GetClient().Create(ctx, revision.DeepCopy(), client.FieldOwner(fieldOwner))
	case err == nil:
		if _, bad := model.CompileRevision(known, s.service.options.Registry); bad != nil || known.Spec.Kind != revision.Spec.Kind {
			known.Spec = revision.Spec
			err = s.service.manager.GetClient().Update(ctx, known, client.FieldOwner(fieldOwner))
		}
	}
	if err != nil {
		return fmt.Errorf("keep ModelRevision %s: %w", revision.Name, err)
	}
	return nil
}

// revisions lists the revisions of a definition.
func (s definitionStep) revisions(ctx context.Context, definition string) ([]v1alpha1.ModelRevision, error) {
	var all v1alpha1.ModelRevisionList
	if err := s.service.manager.GetAPIReader().List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list ModelRevisions: %w", err)
	}
	return slices.DeleteFunc(all.Items, func(r v1alpha1.ModelRevision) bool { return r.Spec.ModelDefinition != definition }), nil
}

// forget deletes the revisions of a definition that are not used, and removes the fields that only they have
// from the CustomResourceDefinition.
func (s definitionStep) forget(ctx context.Context, k *kind, definition *v1alpha1.ModelDefinition, used map[string]bool) error {
	all := k.models.Load()
	kept := all.without(used)
	if len(kept.older) == len(all.older) {
		return nil
	}
	k.models.Store(kept)
	if err := s.deleteRevisions(ctx, definition.Name, used); err != nil {
		return err
	}
	return s.applyCRD(ctx, kept, definition)
}

// deleteRevisions deletes the revisions of a definition except for some.
func (s definitionStep) deleteRevisions(ctx context.Context, definition string, except map[string]bool) error {
	all, err := s.revisions(ctx, definition)
	if err != nil {
		return err
	}
	for i := range all {
		if except[all[i].Name] {
			continue
		}
		err := s.service.manager.GetClient().Delete(ctx, &all[i], client.Preconditions{UID: &all[i].UID})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete ModelRevision %s: %w", all[i].Name, err)
		}
	}
	return nil
}
