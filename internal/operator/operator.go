package operator

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	clusters "github.com/aws-operator/aws-operator/internal/cluster/controller"
	"github.com/aws-operator/aws-operator/internal/cluster/programs"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/internal/objectmetrics"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// DefaultClusterName is the default prefix of stack names.
const DefaultClusterName = "aws-operator"

// Options configure an operator. RESTConfig is required.
type Options struct {
	// RESTConfig reaches the cluster whose objects the operator serves.
	RESTConfig *rest.Config
	// Logger is the operator's logger; the zero value discards.
	Logger logr.Logger
	// Clock is the real clock when nil.
	Clock clock.WithTicker

	// Region, EndpointURL and Account select the target in AWS. An empty Region comes from the
	// SDK's default chain, an empty Account from STS.
	Region, EndpointURL, Account string
	// Budgets are rates of calls by AWS service, which override the defaults.
	Budgets map[string]awsapi.Budget
	// TemplateBucket is the bucket for templates that are too big for a request.
	TemplateBucket string
	// UserAgent is what AWS's logs show besides the SDK.
	UserAgent string

	// Limits bound what objects of services may have the operator do with its permissions in AWS.
	// The zero value refuses templates of users and resources that their namespace did not make.
	Limits render.Limits
	// ServiceAccountIssuer is the URL of the issuer of the cluster's service account tokens. EKSCluster is
	// the ARN of the EKS cluster with Pod Identity in which the pods run. Without one of them, spec.grants
	// is refused.
	ServiceAccountIssuer, EKSCluster string
	// ClusterAPI is whether Clusters and InstanceGroups follow the objects of Cluster API that own them.
	ClusterAPI bool
	// RequireIdentity refuses objects for which neither they nor their namespace name an
	// AWSIdentity.
	RequireIdentity bool
	// Roles are the roles that Clusters of a namespace may name in spec.role; empty refuses all.
	Roles []grant.Grant

	// NodeupDir is where the programs nodeup-linux-amd64 and nodeup-linux-arm64
	// are, which the machines of clusters boot with; empty is the folder of the
	// operator's own program.
	NodeupDir string

	// ClusterName distinguishes this operator's stacks from those of other operators in the same
	// account and region; empty is DefaultClusterName.
	ClusterName string
	// WatchNamespaces limits the operator to these namespaces; empty is all.
	WatchNamespaces []string
	// MaxConcurrentReconciles is the number of workers of each kind; 0 leaves
	// it to the controllers.
	MaxConcurrentReconciles int
	// SweepInterval is how often to list all stacks, in case an event was lost; 0 is the
	// listener's default.
	SweepInterval time.Duration
	// DriftInterval is the time between two checks of a stack for drift; 0 checks
	// only on request.
	DriftInterval time.Duration

	// MetricsAddress and ProbeAddress are listened on; "0" or empty listens
	// nowhere.
	MetricsAddress, ProbeAddress string
	// Profiling adds net/http/pprof's pages to the metrics' address.
	ProfilingAddress string
	// LeaderElect elects a leader among several replicas; only the leader reconciles.
	// LeaderElectionNamespace is the namespace of the lease, required outside a cluster.
	LeaderElect             bool
	LeaderElectionNamespace string
	// Shards is the number of parts into which the objects are divided among the replicas, which all reconcile; up to 1,
	// one process reconciles all objects. The Leases are in LeaderElectionNamespace.
	Shards int

	// shard is the part that a manager serves, registerer receives its metrics, and gatherer has those of the process.
	shard      operatorkit.Shard
	registerer prometheus.Registerer
	gatherer   prometheus.Gatherer
	// made receives the clients of AWS, if it is not nil.
	made func(*awsapi.Clients)
}

// Run runs the operator until ctx ends. It returns an error when AWS or the cluster cannot
// be reached at the start, and when leadership is lost.
func Run(ctx context.Context, opts Options) error {
	if opts.Shards > 1 {
		return runShards(ctx, opts)
	}
	mgr, err := New(ctx, opts)
	if err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the operator: %w", err)
	}
	return nil
}

// New returns the manager of an operator that is ready to be started. It makes
// the CRDs. It returns the errors of Run at the start.
func New(ctx context.Context, opts Options) (manager.Manager, error) {
	opts.setDefaults()
	ctrl.SetLogger(opts.Logger)
	mgr, err := newManager(opts)
	if err != nil {
		return nil, err
	}
	clients, err := awsapi.New(ctx, awsapi.Options{
		Region: opts.Region, EndpointURL: opts.EndpointURL, Budgets: opts.Budgets,
		Shares: opts.shard.Count, Registerer: opts.registerer, Clock: opts.Clock, UserAgent: opts.UserAgent, Logger: opts.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("find the way to AWS: %w", err)
	}
	if opts.made != nil {
		opts.made(clients)
	}
	if opts.Account == "" {
		if opts.Account, err = identify(ctx, clients); err != nil {
			return nil, err
		}
	}
	management, err := managementCluster(ctx, opts.RESTConfig)
	if err != nil {
		return nil, err
	}
	operations, err := stack.NewMetrics(opts.registerer)
	if err != nil {
		return nil, err
	}
	engine := stack.New(stack.Options{
		AccountID: opts.Account, ManagementCluster: management,
		Clients: clients, Clock: opts.Clock, TemplateBucket: opts.TemplateBucket, Metrics: operations,
	})
	listener := awsevents.New(awsevents.Options{
		Clients: clients, Engine: engine, Clock: opts.Clock, Logger: opts.Logger.WithName("events"),
		Registerer: opts.registerer, ClusterName: opts.ClusterName, Shard: opts.shard, SweepInterval: opts.SweepInterval,
		AccountID: opts.Account,
	})
	steps, err := operatorkit.NewMetrics("aws_operator", opts.registerer)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of steps: %w", err)
	}
	identities := identity.New(identity.Options{
		Client: mgr.GetClient(), Required: opts.RequireIdentity,
		Own: awsapi.Place{Account: opts.Account, Region: clients.Region(awsapi.Target{})},
	})
	p := parts{
		identities: identities,
		opts:       opts,
		clients:    clients,
		engine:     engine,
		listener:   listener,
		metrics:    steps,
		objects:    objectmetrics.New(opts.registerer, opts.Logger.WithName("metrics")),
		limiter:    operatorkit.NewBackgroundLimiter(opts.Clock, 0),
	}
	if err := setUpControllers(ctx, mgr, p); err != nil {
		return nil, err
	}
	if err := mgr.Add(listener); err != nil {
		return nil, fmt.Errorf("add the listener for AWS's events: %w", err)
	}
	if err := mgr.Add(p.objects); err != nil {
		return nil, fmt.Errorf("add the metrics of objects: %w", err)
	}
	if opts.shard.Count > 1 {
		return mgr, nil // the memory is that of the process
	}
	if err := mgr.Add(memoryTrimmer{clock: opts.Clock}); err != nil {
		return nil, fmt.Errorf("add what returns memory: %w", err)
	}
	return mgr, nil
}

// parts are the dependencies of the controllers.
type parts struct {
	opts     Options
	clients  *awsapi.Clients
	engine   *stack.Engine
	listener *awsevents.Listener
	metrics  *operatorkit.Metrics
	objects  *objectmetrics.Collector
	// identities says with which credentials the operator acts for an object.
	identities *identity.Identities
	limiter    *operatorkit.BackgroundLimiter // one for all: they share an API server
}

func (o *Options) setDefaults() {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.ClusterName == "" {
		o.ClusterName = DefaultClusterName
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	if o.UserAgent == "" {
		o.UserAgent = "aws-operator"
	}
	if o.registerer == nil {
		o.registerer, o.gatherer = metrics.Registry, cmp.Or[prometheus.Gatherer](o.gatherer, metrics.Registry)
	}
	o.NodeupDir = programs.Beside(o.NodeupDir)
}

func newManager(opts Options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register Kubernetes' types: %w", err)
	}
	if err := addTypes(scheme); err != nil {
		return nil, err
	}
	lock, err := leaderLock(&opts)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(opts.RESTConfig, ctrl.Options{
		Scheme: scheme,
		Logger: opts.Logger,
		Cache: cache.Options{
			DefaultNamespaces: namespaces(opts.WatchNamespaces),
			DefaultTransform:  cache.TransformStripManagedFields(),
			NewInformer:       clusters.InformersOf(opts.shard),
		},
		Metrics: metricsserver.Options{
			BindAddress: address(opts.MetricsAddress), FilterProvider: openMetrics(opts.gatherer),
		},
		HealthProbeBindAddress:        address(opts.ProbeAddress),
		PprofBindAddress:              address(opts.ProfilingAddress),
		LeaderElection:                lock != nil,
		LeaderElectionReleaseOnCancel: true,

		LeaderElectionResourceLockInterface: lock,
		// Each shard has a manager with the same controllers.
		Controller: config.Controller{SkipNameValidation: new(opts.shard.Count > 1)},
		// It exceeds those of the managers of shards.
		GracefulShutdownTimeout: gracefulShutdown(&opts),
	})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	if err := mgr.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("caches", cachesFilled(mgr)); err != nil {
		return nil, fmt.Errorf("add the readiness check: %w", err)
	}
	return mgr, nil
}

// openMetrics makes the metrics server offer the OpenMetrics format, the only one that has exemplars.
// controller-runtime has no option for it, and its filters are the way that it supports to replace the handler:
// https://github.com/kubernetes-sigs/controller-runtime/issues/3592
func openMetrics(from prometheus.Gatherer) func(*rest.Config, *http.Client) (metricsserver.Filter, error) {
	return func(*rest.Config, *http.Client) (metricsserver.Filter, error) {
		return func(logr.Logger, http.Handler) (http.Handler, error) {
			return promhttp.HandlerFor(from, promhttp.HandlerOpts{
				ErrorHandling: promhttp.HTTPErrorOnError, EnableOpenMetrics: true,
			}), nil
		}, nil
	}
}

// cachesFilled is ready once this operator knows the cluster, whether or not it
// leads: a rollout waits for readiness of the one that waits to lead.
func cachesFilled(mgr manager.Manager) healthz.Checker {
	return func(request *http.Request) error {
		if !mgr.GetCache().WaitForCacheSync(request.Context()) {
			return fmt.Errorf("the caches are not filled yet")
		}
		return nil
	}
}

func namespaces(names []string) map[string]cache.Config {
	if len(names) == 0 {
		return nil
	}
	all := make(map[string]cache.Config, len(names))
	for _, name := range names {
		all[name] = cache.Config{}
	}
	return all
}

// address is where to listen in controller-runtime's words, in which an empty
// string may mean a default port.
func address(addr string) string {
	if addr == "" {
		return "0"
	}
	return addr
}
