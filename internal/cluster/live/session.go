package live

import (
	"context"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// Options configure a session. Clients and Cluster are required.
type Options struct {
	Clients Clients
	// Cluster, Groups and Secrets are the cluster's definition and its keys.
	Cluster *v1alpha1.Cluster
	Groups  []*v1alpha1.InstanceGroup
	Secrets []*corev1.Secret
	// Validity is the validity of the session's client certificate, one hour by default.
	Validity time.Duration
	// Patience is how long to wait initially for an API that does not respond, 15 seconds by
	// default.
	Patience time.Duration
	// Clock is the real clock by default.
	Clock clock.Clock
	// Resolve looks up the addresses of the API's name. The default is the resolver of Clients, or
	// else the local one.
	Resolve func(ctx context.Context, host string) ([]string, error)
	// Workload converts a kubeconfig to a client configuration. By default, it uses its current
	// context.
	Workload func(key types.NamespacedName, kubeconfig []byte) (*rest.Config, error)
}

const (
	// patience is the default of Options.Patience.
	patience = 15 * time.Second
	// resolveTimeout bounds looking up a name.
	resolveTimeout = 10 * time.Second
	// validity is the default of Options.Validity.
	validity = time.Hour
)

// Session observes one cluster repeatedly, over one connection.
type Session struct {
	options     Options
	connections *workload.Clusters
	end         func()
	connection  *workload.Cluster
	server      string
}

// Open starts a session without making requests. Close ends it.
func Open(options Options) *Session {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Resolve == nil {
		options.Resolve = lookup(options.Clients.Resolver())
	}
	if options.Validity == 0 {
		options.Validity = validity
	}
	if options.Patience == 0 {
		options.Patience = patience
	}
	s := &Session{options: options, connections: workload.New(workload.Options{Clock: options.Clock, Config: options.Workload})}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = s.connections.Start(ctx) })
	s.end = sync.OnceFunc(func() { cancel(); running.Wait() })
	return s
}

// lookup uses a resolver, or the local one if there is none.
func lookup(resolver awsapi.Resolver) func(ctx context.Context, host string) ([]string, error) {
	if resolver == nil {
		return net.DefaultResolver.LookupHost
	}
	return func(ctx context.Context, host string) ([]string, error) {
		found, err := resolver(ctx, host)
		addresses := make([]string, len(found))
		for i, address := range found {
			addresses[i] = address.String()
		}
		return addresses, err
	}
}

// Close ends the connection.
func (s *Session) Close() { s.end() }

// Connections returns the connections to the cluster: one, with the key [Session.Key], after
// [Session.Connect].
func (s *Session) Connections() *workload.Clusters { return s.connections }

// Key returns the key of the cluster's connection.
func (s *Session) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: s.options.Cluster.Namespace, Name: s.options.Cluster.Name}
}

// Find finds the cluster in AWS. It returns the errors of AWS.
func (s *Session) Find(ctx context.Context) (*Cluster, error) {
	return Find(ctx, s.options.Clients, s.options.Cluster)
}

// Connect connects to the API of the found cluster, and waits a while until it responds. It returns
// nil and the reason if the cluster has no address or there are no keys. It also returns a
// connection that does not respond yet, which keeps trying.
func (s *Session) Connect(ctx context.Context, found *Cluster) (*workload.Cluster, string) {
	server := found.Server()
	if server == "" {
		return nil, "it has no load balancer, and so no address"
	}
	if s.connection != nil && s.server == server {
		return s.connection, ""
	}
	connection, err := s.connect(ctx, found)
	if err != nil {
		return nil, err.Error()
	}
	s.connection, s.server = connection, server
	_ = Await(ctx, connection, s.options.Patience) // The caller observes the result.
	return connection, ""
}

// connect returns the connection to the found cluster, which outlives the call.
func (s *Session) connect(ctx context.Context, found *Cluster) (*workload.Cluster, error) {
	if found.EKS != nil {
		return s.connections.ConnectEKS(s.Key(), s.endpoint(found)) //nolint:wrapcheck,contextcheck // it names the cluster
	}
	host, serverName, err := s.options.Clients.Resolver().Dial(ctx, found.Address())
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the host
	}
	kubeconfig, err := Kubeconfig(
		s.options.Clock, s.options.Cluster, s.options.Secrets, model.APIServer(host), serverName, s.options.Validity,
	)
	if err != nil {
		return nil, err
	}
	return s.connections.Connect(s.Key(), kubeconfig) //nolint:wrapcheck,contextcheck // as above
}

// Observe observes the whole cluster. It returns the errors of AWS.
func (s *Session) Observe(ctx context.Context) (*Observation, error) {
	found, err := s.Find(ctx)
	if err != nil {
		return nil, err
	}
	o := &s.options
	observed := &Observation{Cluster: o.Cluster, Groups: o.Groups, Secrets: o.Secrets, AWS: found, Now: o.Clock.Now()}
	if found.Record != nil && found.Record.Alias != "" {
		observed.Resolves = s.resolve(ctx, found.Record.Name)
	}
	if found.Server() == "" {
		return observed, nil
	}
	connection, problem := s.Connect(ctx, found)
	if connection == nil {
		observed.API = &API{Problem: problem}
		return observed, nil
	}
	observed.API = Ask(ctx, connection, int(model.SpecOf(o.Cluster).ControlPlane.Replicas))
	return observed, nil
}

// resolve returns why a name cannot be resolved, empty if it can.
func (s *Session) resolve(ctx context.Context, host string) string {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	addresses, err := s.options.Resolve(ctx, host)
	switch {
	case err != nil:
		return err.Error()
	case len(addresses) == 0:
		return "it has no address"
	default:
		return ""
	}
}
