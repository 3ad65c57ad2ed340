package controller

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// kind is one modelled kind that is served.
type kind struct {
	name       string
	service    *service
	manager    *kindManager
	reconciler *operatorkit.Reconciler[*v1alpha1.Object]
	// ready remembers the inputs with which an object's stack was last found to be ready. As long as
	// they are the same and no event told of the stack, there is nothing to render and nothing to
	// ask AWS.
	ready *memo[uint64]
	// made remembers what was made from an object's outputs.
	made *memo[*madeList]
	// model is replaced when its definition changes; version counts that.
	model   atomic.Pointer[model.Model]
	version atomic.Uint64
	// definition is the version of the ModelDefinition that is served; nil for built-in kinds.
	definition atomic.Pointer[definitionVersion]
	// stop ends the kind; done is closed when it has ended.
	stop context.CancelFunc
	done chan struct{}
}

// definitionVersion is a version of a ModelDefinition.
type definitionVersion struct {
	uid        types.UID
	generation int64
}

// serves reports whether the kind is served as this version of its definition says.
func (k *kind) serves(definition *v1alpha1.ModelDefinition) bool {
	known := k.definition.Load()
	return known != nil && *known == definitionVersion{uid: definition.UID, generation: definition.Generation}
}

// newKind makes what serves a kind, without starting it.
func (s *service) newKind(m *model.Model) (*kind, error) {
	manager, err := newKindManager(s.manager, m, s.options.WatchNamespaces)
	if err != nil {
		return nil, err
	}
	k := &kind{name: m.Kind, service: s, manager: manager, ready: newMemo[uint64](), made: newMemo[*madeList](), done: make(chan struct{})}
	k.model.Store(m)
	writer, err := operatorkit.NewFieldsWriter[*v1alpha1.Object](manager.GetClient(), "output", "additionalResources")
	if err != nil {
		return nil, fmt.Errorf("make the writer of %s: %w", m.Kind, err)
	}
	k.reconciler, err = operatorkit.NewReconciler(operatorkit.Options[*v1alpha1.Object]{
		Client: manager.GetClient(),
		Pipelines: operatorkit.NewPipeline[*v1alpha1.Object](
			referencesStep{kind: k},
			stackStep{kind: k},
			additionalStep{kind: k},
		),
		Finalizer:               v1alpha1.Finalizer,
		PausedAnnotation:        v1alpha1.PausedAnnotation,
		Writer:                  writer,
		Metrics:                 s.options.Metrics,
		Clock:                   s.options.Clock,
		Name:                    strings.ToLower(m.Kind),
		MaxConcurrentReconciles: s.options.MaxConcurrentReconciles,
		BackgroundLimiter:       s.options.BackgroundLimiter,
	})
	if err != nil {
		return nil, fmt.Errorf("make the reconciler of %s: %w", m.Kind, err)
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
	if _, err := informer.AddEventHandler(k.changes()); err != nil {
		return fmt.Errorf("watch %s: %w", k.name, err)
	}
	if err := k.manager.start(ctx, k.service.fail); err != nil {
		return err
	}
	if err := k.know(ctx); err != nil {
		return err
	}
	if err := k.reconciler.Run(ctx, k.manager); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve %s: %w", k.name, err)
	}
	return nil
}

// know records what every object names before the first of them is looked at: what one shares with
// others it would else take for its own alone, and take away from them.
func (k *kind) know(ctx context.Context) error {
	if len(k.model.Load().References) == 0 {
		return nil
	}
	var objects v1alpha1.ObjectList
	if err := k.manager.cache.List(ctx, &objects, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list %s: %w", k.name, err)
	}
	for i := range objects.Items {
		obj := &objects.Items[i]
		if targets, err := k.targets(obj); err == nil { // An object that is wrong in itself says so itself.
			k.service.directory.refer(k.key(obj), targets)
		}
	}
	return nil
}

// changes passes on what happens to an object to those that name it.
func (k *kind) changes() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { k.wakeDependents(obj) },
		UpdateFunc: func(_, obj any) { k.wakeDependents(obj) },
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			if o, ok := obj.(*v1alpha1.Object); ok {
				k.gone(o)
			}
		},
	}
}

func (k *kind) wakeDependents(obj any) {
	if o, ok := obj.(*v1alpha1.Object); ok {
		k.service.wake(k.service.directory.dependents(k.key(o))...)
	}
}

// gone forgets an object and tells those that named it or stood beside it.
func (k *kind) gone(obj *v1alpha1.Object) {
	key := k.key(obj)
	k.service.wake(k.service.directory.dependents(key)...)
	siblings := k.service.directory.siblings(key)
	k.ready.drop(obj.UID)
	k.made.drop(obj.UID)
	k.service.directory.forget(key, k.stackName(obj), obj.UID)
	k.service.wake(siblings...)
	k.service.wakeDefinition(k.name)
}

func (k *kind) key(obj *v1alpha1.Object) objectKey {
	return objectKey{Kind: k.name, NamespacedName: client.ObjectKeyFromObject(obj)}
}

func (k *kind) stackName(obj *v1alpha1.Object) string {
	return render.StackName(k.service.options.ClusterName, k.name, obj.Namespace, obj.Name)
}

// replaceModel serves the kind by a new model from now on and looks at every object again.
func (k *kind) replaceModel(ctx context.Context, m *model.Model) error {
	k.model.Store(m)
	k.version.Add(1)
	if err := k.know(ctx); err != nil {
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
