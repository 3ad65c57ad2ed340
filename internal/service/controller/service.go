package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/objectmetrics"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// service holds what all kinds share, and the kinds that are served.
type service struct {
	options   Options
	manager   manager.Manager
	directory *directory
	// additional is the cache of the objects made from outputs; direct is an uncached client for
	// them.
	additional cache.Cache
	direct     client.Client
	// sources is the cache of the ConfigMaps and Secrets from which objects may take values.
	sources cache.Cache
	// roles are those of the service accounts to which objects grant access.
	roles *roles

	// events records Events about ModelDefinitions.
	events      events.EventRecorder
	definitions *operatorkit.Reconciler[*v1alpha1.ModelDefinition]
	templates   *operatorkit.Reconciler[*v1alpha1.CloudFormationTemplate]

	builtIn []*model.Model

	mu    sync.Mutex
	kinds map[string]*kind
	// definedBy maps a user's kind to its ModelDefinition.
	definedBy map[string]string
	// run is the context of the kinds; nil until the operator is the leader.
	run     context.Context //nolint:containedctx // kinds start and stop while the operator leads; the context ends with the leadership
	running sync.WaitGroup
	failure chan error
}

// Start serves the built-in kinds, and those of definitions, until the context ends.
func (s *service) Start(ctx context.Context) error {
	s.mu.Lock()
	s.run = ctx
	s.mu.Unlock()
	if !s.additional.WaitForCacheSync(ctx) {
		return fmt.Errorf("the cache of additional resources did not sync: %w", context.Cause(ctx))
	}
	if !s.sources.WaitForCacheSync(ctx) {
		return fmt.Errorf("the cache of ConfigMaps and Secrets with values did not sync: %w", context.Cause(ctx))
	}
	for _, m := range s.builtIn {
		if err := s.serve(ctx, &models{current: m}, ""); err != nil {
			return err
		}
	}
	defer s.running.Wait()
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.failure:
		return err
	}
}

// NeedLeaderElection makes only the leader serve kinds.
func (s *service) NeedLeaderElection() bool { return true }

// errNotLeading means that kinds cannot be served yet.
var errNotLeading = errors.New("the operator does not serve kinds yet")

// serve starts a kind, or replaces the models of one that is started.
//
//nolint:contextcheck // The kind outlives the reconcile that starts it.
func (s *service) serve(ctx context.Context, of *models, definition string) error {
	s.mu.Lock()
	if s.run == nil {
		s.mu.Unlock()
		return errNotLeading
	}
	if known, ok := s.kinds[of.current.Kind]; ok {
		s.mu.Unlock()
		return known.replaceModels(ctx, of)
	}
	defer s.mu.Unlock()
	k, err := s.newKind(of)
	if err != nil {
		return err
	}
	s.kinds[k.name] = k
	s.definedBy[k.name] = definition
	kindCtx, stop := context.WithCancel(s.run)
	k.stop = stop
	s.running.Go(func() {
		if err := k.run(kindCtx); err != nil && kindCtx.Err() == nil {
			s.fail(err)
		}
	})
	return nil
}

// withdraw stops serving a kind and waits up to 5 seconds until it has stopped.
func (s *service) withdraw(kindName string) {
	s.mu.Lock()
	k, ok := s.kinds[kindName]
	delete(s.kinds, kindName)
	delete(s.definedBy, kindName)
	s.mu.Unlock()
	if !ok {
		return
	}
	k.stop()
	select {
	case <-k.done:
	case <-time.After(5 * time.Second):
	}
}

// served returns a kind that is served, or nil.
func (s *service) served(kindName string) *kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kinds[kindName]
}

// all returns the kinds that are served.
func (s *service) all() []*kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.kinds))
}

// visitObjects visits the cached objects of the kinds that are served. It skips kinds whose cache is
// not filled yet.
func (s *service) visitObjects(ctx context.Context, visit objectmetrics.Visit) error {
	for _, k := range s.all() {
		if !k.recorded.Load() {
			continue
		}
		cached := objectmetrics.Cached(k.manager.cache, k.manager.scheme, &v1alpha1.ObjectList{})
		if err := cached.Where(func(obj client.Object) bool { return s.options.Shard.Has(obj.GetNamespace()) })(ctx, visit); err != nil {
			return err
		}
	}
	return nil
}

// isBuiltIn reports whether the kind is in the catalog, served or not.
func (s *service) isBuiltIn(kindName string) bool {
	return slices.ContainsFunc(s.builtIn, func(m *model.Model) bool { return m.Kind == kindName })
}

// definition returns the name of the ModelDefinition of a kind, which is empty for built-in kinds.
func (s *service) definition(kindName string) (name string, served bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, served = s.definedBy[kindName]
	return name, served
}

// fail stops the operator: a kind that is no longer served must not go unnoticed.
func (s *service) fail(err error) {
	select {
	case s.failure <- err:
	default:
	}
}

// enqueue enqueues objects.
func (s *service) enqueue(keys ...objectKey) {
	for _, key := range keys {
		if k := s.served(key.Kind); k != nil {
			k.reconciler.Enqueue(key.NamespacedName)
		}
	}
}

// enqueueDefinition enqueues the definition of a kind, whose last object may be deleted.
func (s *service) enqueueDefinition(kindName string) {
	if name, ok := s.definition(kindName); ok && name != "" {
		s.definitions.Enqueue(types.NamespacedName{Name: name})
	}
}

// observe enqueues the owner of the stack of an event.
func (s *service) observe(event awsevents.Event) {
	if event.Stack == nil {
		return
	}
	if s.roles.observe(event.Stack.StackName) {
		return
	}
	owner, ok := s.directory.owner(event.Stack.StackName)
	if !ok {
		return
	}
	if k := s.served(owner.key.Kind); k != nil {
		k.ready.drop(owner.uid)
		k.reconciler.Enqueue(owner.key.NamespacedName)
	}
}
