package controller

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// followAgain is the interval of reading a definition of another process that is not served yet, or is being deleted.
const followAgain = time.Second

// owns reports whether this process reconciles the objects of a namespace. Objects refer to others of their
// namespace, share roles with them and have names from them, so a namespace is never divided.
func (s *service) owns(key types.NamespacedName) bool { return s.options.Shard.Has(key.Namespace) }

// ownsDefinition reports whether this process reconciles a ModelDefinition.
func (s *service) ownsDefinition(key types.NamespacedName) bool { return s.options.Shard.Has(key.Name) }

// follow keeps the directory of an object of another shard up to date, of which an object of this one may be a
// sibling. The reconcile of an own object does that itself.
func (k *kind) follow(ctx context.Context, old, changed any) {
	obj, ok := changed.(*v1alpha1.Object)
	if !ok || k.service.owns(client.ObjectKeyFromObject(obj)) || !k.models.Load().refer() {
		return
	}
	before, known := old.(*v1alpha1.Object)
	targets, err := k.targets(ctx, obj)
	if err != nil {
		targets = nil // its own reconcile reports the error
	}
	key := k.key(obj)
	moved := k.service.directory.refer(key, targets)
	if moved || known && outputDigest(before.Status.Output) != outputDigest(obj.Status.Output) {
		k.service.enqueue(k.service.directory.siblings(key)...)
	}
}

// follow serves the kind of a definition that another process owns, once that process serves it, and lets the
// objects of this shard take its current revision when it is their turn. Only the owner writes the definition, its
// revisions and its CustomResourceDefinition.
func (s definitionStep) follow(
	ctx context.Context, key types.NamespacedName, definition *v1alpha1.ModelDefinition, exists bool,
) (time.Duration, error) {
	if !exists {
		return s.unfollow(ctx, key.Name)
	}
	known := s.service.served(definition.Spec.ObjectKind())
	if known == nil || !known.serves(definition) {
		var after time.Duration
		var err error
		if known, after, err = s.serveAlso(ctx, definition); known == nil {
			return after, err
		}
	}
	if !known.recorded.Load() {
		return 0, nil // the kind enqueues the definition when it knows its objects
	}
	p, err := known.progress(ctx)
	if err != nil {
		return 0, err
	}
	known.advance(p, definition.Spec.Rollout)
	return 0, nil
}

// serveAlso serves the kind of a definition that another process serves. It returns no kind if that process does not serve
// it, or not yet: then the definition's status changes when it does. A status that another client has forged makes this
// process serve no kind that belongs to another definition.
func (s definitionStep) serveAlso(ctx context.Context, definition *v1alpha1.ModelDefinition) (*kind, time.Duration, error) {
	m, err := model.Compile(definition.Name, &definition.Spec, s.service.options.Registry)
	if err != nil {
		return nil, 0, nil //nolint:nilerr // the owner reports the error
	}
	revision, err := model.NewRevision(definition)
	if err != nil || definition.Status.Revision != revision.Name {
		return nil, 0, nil //nolint:nilerr // as above
	}
	if reason, _, err := s.taken(ctx, definition, m); err != nil || reason != "" {
		return nil, 0, err
	}
	of, err := s.modelsOf(ctx, definition, m, revision.Name)
	if err != nil {
		return nil, 0, err
	}
	if outcome := s.serve(ctx, of, definition); !outcome.IsDone() {
		return nil, followAgain, outcome.Err()
	}
	known := s.service.served(m.Kind)
	if known == nil {
		return nil, followAgain, nil
	}
	known.definition.Store(&definitionVersion{uid: definition.UID, generation: definition.Generation})
	return known, 0, nil
}

// unfollow stops serving the kind of a deleted definition, once its CustomResourceDefinition no longer exists: until
// then, objects of the kind may be left to delete.
func (s definitionStep) unfollow(ctx context.Context, definition string) (time.Duration, error) {
	for _, k := range s.service.all() {
		if owner, ok := s.service.definition(k.name); !ok || owner != definition {
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		name := k.models.Load().current.CRD().Name
		err := s.service.direct.Get(ctx, client.ObjectKey{Name: name}, crd)
		if client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("read CustomResourceDefinition %s: %w", name, err)
		}
		if err == nil && crd.Annotations[definedBy] == definition {
			return followAgain, nil
		}
		if apierrors.IsNotFound(err) || crd.Annotations[definedBy] != definition {
			s.service.withdraw(k.name)
		}
	}
	return 0, nil
}
