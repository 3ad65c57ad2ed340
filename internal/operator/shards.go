package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/replicas"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// endingShards is how long the process waits for its shards to end, which take up to 30 s each, at the same time.
const endingShards = 40 * time.Second

// runShards serves those shards of the objects that are this replica's own, until the context ends.
func runShards(ctx context.Context, opts Options) error {
	opts.setDefaults()
	ctrl.SetLogger(opts.Logger)
	leases, err := leasesOf(&opts)
	if err != nil {
		return err
	}
	if opts.Account == "" {
		if opts.Account, err = ownAccount(ctx, opts); err != nil {
			return err
		}
	}
	if err := ensureKinds(ctx, opts.RESTConfig); err != nil {
		return err
	}
	served := &shards{running: map[int]shard{}}
	opts.gatherer = served
	base, err := newManager(opts)
	if err != nil {
		return err
	}
	replica := replicas.New(replicas.Options{
		Client: leases.client, Namespace: leases.namespace, Name: leases.name, Identity: leases.identity, Shards: opts.Shards,
		Logger: opts.Logger.WithName("replicas"),
		Uses:   served.uses, Share: served.share,
		Serve: func(ctx context.Context, part operatorkit.Shard) error { return served.serve(ctx, opts, part) },
	})
	if err := base.AddReadyzCheck("shards", served.ready(replica.Joined)); err != nil {
		return fmt.Errorf("add the readiness check: %w", err)
	}
	if err := base.Add(manager.RunnableFunc(replica.Run)); err != nil {
		return fmt.Errorf("add the replica: %w", err)
	}
	if err := base.Add(memoryTrimmer{clock: opts.Clock}); err != nil {
		return fmt.Errorf("add what returns memory: %w", err)
	}
	if err := base.Start(ctx); err != nil {
		return fmt.Errorf("run the operator: %w", err)
	}
	return nil
}

// ownAccount asks AWS for the account of the operator's credentials.
func ownAccount(ctx context.Context, opts Options) (string, error) {
	clients, err := awsapi.New(ctx, awsapi.Options{
		Region: opts.Region, EndpointURL: opts.EndpointURL, UserAgent: opts.UserAgent, Clock: opts.Clock, Logger: opts.Logger,
	})
	if err != nil {
		return "", fmt.Errorf("find the way to AWS: %w", err)
	}
	return identify(ctx, clients)
}

func identify(ctx context.Context, clients *awsapi.Clients) (string, error) {
	account, err := clients.Identity(ctx)
	if err != nil {
		return "", fmt.Errorf("ask AWS whose credentials these are (or name the account with --aws-account-id): %w", err)
	}
	return account, nil
}

// gracefulShutdown is how long a manager waits for its parts to end: the base of shards longer than those.
func gracefulShutdown(opts *Options) *time.Duration {
	if opts.Shards > 1 && opts.shard.Count == 0 {
		return new(endingShards)
	}
	return nil
}

// shards are the shards that this process serves.
type shards struct {
	mu      sync.Mutex
	running map[int]shard
}

type shard struct {
	manager  manager.Manager
	registry *prometheus.Registry
	clients  *awsapi.Clients
}

// serve serves a shard with a manager of its own until the context ends.
func (s *shards) serve(ctx context.Context, opts Options, part operatorkit.Shard) error {
	one := shard{registry: prometheus.NewRegistry()}
	opts.Logger = opts.Logger.WithValues("shard", part.Index)
	opts.shard = part
	opts.registerer = prometheus.WrapRegistererWith(prometheus.Labels{"shard": strconv.Itoa(part.Index)}, one.registry)
	opts.made = func(clients *awsapi.Clients) { one.clients = clients }
	opts.MetricsAddress, opts.ProbeAddress, opts.ProfilingAddress, opts.LeaderElect = "", "", "", false
	var err error
	if one.manager, err = New(ctx, opts); err != nil {
		if ctx.Err() != nil {
			return nil // The shard was given up before it was served.
		}
		return err
	}
	s.set(part.Index, &one)
	defer s.set(part.Index, nil)
	if err := one.manager.Start(ctx); err != nil {
		return fmt.Errorf("run the shard's manager: %w", err)
	}
	return nil
}

func (s *shards) set(index int, one *shard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one == nil {
		delete(s.running, index)
		return
	}
	s.running[index] = *one
}

func (s *shards) all() []shard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.running))
}

// uses counts the shards that use the call budget of each account and region.
func (s *shards) uses() map[string]int {
	uses := map[string]int{}
	for _, one := range s.all() {
		for _, place := range one.clients.Places() {
			uses[place]++
		}
	}
	return uses
}

// share divides the call budgets among all shards that use them.
func (s *shards) share(uses map[string]int) {
	for _, one := range s.all() {
		one.clients.Share(uses)
	}
}

// ready is the readiness check: this replica knows the others, and the caches of the shards that it serves are filled.
func (s *shards) ready(joined func() bool) healthz.Checker {
	return func(request *http.Request) error {
		if !joined() {
			return errors.New("this replica does not know the others yet")
		}
		for _, one := range s.all() {
			if err := cachesFilled(one.manager)(request); err != nil {
				return err
			}
		}
		return nil
	}
}

// Gather returns the metrics of the process and of each shard, which have a label with the shard's number.
func (s *shards) Gather() ([]*dto.MetricFamily, error) {
	from := prometheus.Gatherers{metrics.Registry}
	for _, one := range s.all() {
		from = append(from, one.registry)
	}
	return from.Gather() //nolint:wrapcheck // for the handler of the metrics' page
}
