package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// service holds what all kinds share, and the kinds that are served.
type service struct {
	options   Options
	manager   manager.Manager
	directory *directory
	// additional is the cache, direct an uncached client, of what is made from outputs.
	additional cache.Cache
	direct     client.Client

	definitions *operatorkit.Reconciler[*v1alpha1.ModelDefinition]
	templates   *operatorkit.Reconciler[*v1alpha1.CloudFormationTemplate]

	builtIn []*model.Model

	mu    sync.Mutex
	kinds map[string]*kind
	// definedBy says which ModelDefinition a user's kind is from.
	definedBy map[string]string
	// run is the context of the kinds; nil until the operator leads.
	run     context.Context //nolint:containedctx // kinds come and go while the operator leads; their life ends with it
	running sync.WaitGroup
	failure chan error
}

// Start serves the built-in kinds, and what definitions add, until the context ends.
func (s *service) Start(ctx context.Context) error {
	s.mu.Lock()
	s.run = ctx
	s.mu.Unlock()
	if !s.additional.WaitForCacheSync(ctx) {
		return fmt.Errorf("the cache of additional resources did not fill: %w", context.Cause(ctx))
	}
	for _, m := range s.builtIn {
		if err := s.serve(ctx, m, ""); err != nil {
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

// NeedLeaderElection says that only the leader serves kinds.
func (s *service) NeedLeaderElection() bool { return true }

// errNotLeading says that kinds cannot be served yet.
var errNotLeading = errors.New("the operator does not serve kinds yet")

// serve starts a kind, or serves one that is started by the new model.
//
//nolint:contextcheck // The kind outlives the reconcile that starts it.
func (s *service) serve(ctx context.Context, m *model.Model, definition string) error {
	s.mu.Lock()
	if s.run == nil {
		s.mu.Unlock()
		return errNotLeading
	}
	if known, ok := s.kinds[m.Kind]; ok {
		s.mu.Unlock()
		return known.replaceModel(ctx, m)
	}
	defer s.mu.Unlock()
	k, err := s.newKind(m)
	if err != nil {
		return err
	}
	s.kinds[m.Kind] = k
	s.definedBy[m.Kind] = definition
	kindCtx, stop := context.WithCancel(s.run)
	k.stop = stop
	s.running.Go(func() {
		if err := k.run(kindCtx); err != nil && kindCtx.Err() == nil {
			s.fail(err)
		}
	})
	return nil
}

// withdraw stops serving a kind and waits, for a moment, until it has ended.
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

// served returns a kind that is served, nil if it is not.
func (s *service) served(kindName string) *kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kinds[kindName]
}

// isBuiltIn reports whether the kind is in the catalog, whether or not it is served yet.
func (s *service) isBuiltIn(kindName string) bool {
	return slices.ContainsFunc(s.builtIn, func(m *model.Model) bool { return m.Kind == kindName })
}

// definition returns the name of the ModelDefinition that a kind is served for; built-in kinds have
// an empty one.
func (s *service) definition(kindName string) (name string, served bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, served = s.definedBy[kindName]
	return name, served
}

// fail ends the operator: a kind that is not served any more must not go unnoticed.
func (s *service) fail(err error) {
	select {
	case s.failure <- err:
	default:
	}
}

// wake looks at objects again soon.
func (s *service) wake(keys ...objectKey) {
	for _, key := range keys {
		if k := s.served(key.Kind); k != nil {
			k.reconciler.Enqueue(key.NamespacedName)
		}
	}
}

// wakeDefinition looks at the definition of a kind again: its last object may be gone.
func (s *service) wakeDefinition(kindName string) {
	if name, ok := s.definition(kindName); ok && name != "" {
		s.definitions.Enqueue(types.NamespacedName{Name: name})
	}
}

// observe turns an event about a stack into a look at its object.
func (s *service) observe(event awsevents.Event) {
	if event.Stack == nil {
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
