package controller

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// kind is one modeled kind that is served.
type kind struct {
	name       string
	service    *service
	manager    *kindManager
	reconciler *operatorkit.Reconciler[*v1alpha1.Object]
	// events records Events about other conditions than those that the reconciler writes.
	events events.EventRecorder
	// ready caches the inputs with which an object's stack last became ready. While they are
	// unchanged and no event about the stack arrives, there is nothing to render and nothing to
	// call.
	ready *uidCache[uint64]
	// observed caches when resources that are only observed were last read.
	observed *uidCache[observation]
	// made caches what was created from an object's outputs.
	made *uidCache[*madeList]
	// models are replaced when the definition changes.
	models atomic.Pointer[models]
	// rollout is how far the definition's current revision has reached the objects.
	rollout rollout
	// definition is the version of the ModelDefinition that is served; nil for built-in kinds.
	definition atomic.Pointer[definitionVersion]
	// recorded is true once the directory has the references of every object.
	recorded atomic.Bool
	// stop ends the kind; done is closed when it has ended.
	stop context.CancelFunc
	done chan struct{}
}

// definitionVersion identifies a version of a ModelDefinition.
type definitionVersion struct {
	uid        types.UID
	generation int64
}

// serves reports whether the kind serves this version of the definition.
func (k *kind) serves(definition *v1alpha1.ModelDefinition) bool {
	known := k.definition.Load()
	return known != nil && *known == definitionVersion{uid: definition.UID, generation: definition.Generation}
}

// newKind creates a kind without starting it.
func (s *service) newKind(of *models) (*kind, error) {
	m := of.current
	manager, err := newKindManager(s.manager, m, s.options.WatchNamespaces, s.options.Shard)
	if err != nil {
		return nil, err
	}
	k := &kind{
		name:     m.Kind,
		service:  s,
		manager:  manager,
		ready:    newUIDCache[uint64](),
		made:     newUIDCache[*madeList](),
		observed: newUIDCache[observation](),
		done:     make(chan struct{}),
	}
	k.events = manager.GetEventRecorder(strings.ToLower(m.Kind))
	k.models.Store(of)
	k.reconciler, err = operatorkit.NewReconciler(operatorkit.Options[*v1alpha1.Object]{
		Client: manager.GetClient(),
		Pipelines: operatorkit.NewPipeline[*v1alpha1.Object](
			revisionStep{kind: k},
			referencesStep{kind: k},
			rolesStep{kind: k},
			stackStep{kind: k},
			additionalStep{kind: k},
			accountsStep{kind: k},
			driftStep{kind: k},
			settledStep{},
		),
		Admit:                   k.admit,
		Owns:                    s.owns,
		Finalizer:               v1alpha1.Finalizer,
		PausedAnnotation:        v1alpha1.PausedAnnotation,
		Metrics:                 s.options.Metrics,
		Clock:                   s.options.Clock,
		Name:                    strings.ToLower(m.Kind),
		MaxConcurrentReconciles: s.options.MaxConcurrentReconciles,
		BackgroundLimiter:       s.options.BackgroundLimiter,
	})
	if err != nil {
		return nil, fmt.Errorf("create the reconciler of %s: %w", m.Kind, err)
	}
	return k, nil
}

// run serves the kind until the context ends.
func (k *kind) run(ctx context.Context) error {
	defer close(k.done)
	informer, err := k.manager.cache.GetInformer(ctx, &v1alpha1.Object{})
	if err != nil {
		return fmt.Errorf("watch %s: %w", k.name, err)
	}
	if _, err := informer.AddEventHandler(k.changes(ctx)); err != nil {
		return fmt.Errorf("watch %s: %w", k.name, err)
	}
	if err := k.manager.start(ctx, k.service.fail); err != nil {
		return err
	}
	if err := k.recordReferences(ctx); err != nil {
		return err
	}
	k.recorded.Store(true)
	k.service.enqueueDefinition(k.name) // which counts the objects now
	if err := k.reconciler.Run(ctx, k.manager); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve %s: %w", k.name, err)
	}
	return nil
}

// recordReferences records the references of every object before the first reconcile. Otherwise an
// object would treat a shared resource as its own and remove the entries of the others.
func (k *kind) recordReferences(ctx context.Context) error {
	if !k.models.Load().refer() {
		return nil
	}
	var objects v1alpha1.ObjectList
	if err := k.manager.cache.List(ctx, &objects, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list %s: %w", k.name, err)
	}
	for i := range objects.Items {
		obj := &objects.Items[i]
		if targets, err := k.targets(ctx, obj); err == nil { // the reconcile of an invalid object reports the error
			k.service.directory.refer(k.key(obj), k.withRoles(obj, targets))
		}
	}
	return nil
}

// changes enqueues an object's dependents when the object changes.
func (k *kind) changes(ctx context.Context) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			k.follow(ctx, nil, obj)
			k.enqueueDependents(obj)
			k.rolloutSees(nil, obj)
		},
		UpdateFunc: func(old, obj any) {
			k.follow(ctx, old, obj)
			k.enqueueDependents(obj)
			k.rolloutSees(old, obj)
		},
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			if o, ok := obj.(*v1alpha1.Object); ok {
				k.onDelete(o)
			}
		},
	}
}

func (k *kind) enqueueDependents(obj any) {
	if o, ok := obj.(*v1alpha1.Object); ok {
		k.service.enqueue(k.service.directory.dependents(k.key(o))...)
	}
}

// onDelete removes a deleted object from the caches and enqueues its dependents and siblings.
func (k *kind) onDelete(obj *v1alpha1.Object) {
	key := k.key(obj)
	k.service.enqueue(k.service.directory.dependents(key)...)
	siblings := k.service.directory.siblings(key)
	k.ready.drop(obj.UID)
	k.made.drop(obj.UID)
	k.observed.drop(obj.UID)
	k.service.directory.forget(key, k.stackName(obj), obj.UID)
	k.service.enqueue(siblings...)
	if events := k.service.options.Events; events != nil {
		events.Release(string(obj.UID))
	}
	k.service.enqueueDefinition(k.name)
}

func (k *kind) key(obj *v1alpha1.Object) objectKey {
	return objectKey{Kind: k.name, NamespacedName: client.ObjectKeyFromObject(obj)}
}

func (k *kind) stackName(obj *v1alpha1.Object) string {
	return render.StackName(k.service.options.ClusterName, k.name, obj.Namespace, obj.Name)
}

// replaceModels serves the kind with other models and enqueues every object.
func (k *kind) replaceModels(ctx context.Context, of *models) error {
	k.models.Store(of)
	if err := k.recordReferences(ctx); err != nil {
		return err
	}
	var objects v1alpha1.ObjectList
	if err := k.manager.client.List(ctx, &objects); err != nil {
		return fmt.Errorf("list %s: %w", k.name, err)
	}
	for i := range objects.Items {
		k.reconciler.Enqueue(client.ObjectKeyFromObject(&objects.Items[i]))
	}
	return nil
}
