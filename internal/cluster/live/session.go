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

// Options say what to look at. Clients and Cluster are required.
type Options struct {
	Clients Clients
	// Cluster, Groups and Secrets are the cluster's definition and its keys.
	Cluster *v1alpha1.Cluster
	Groups  []*v1alpha1.InstanceGroup
	Secrets []*corev1.Secret
	// Validity is how long the certificate holds that the API is opened with; an hour unless set.
	Validity time.Duration
	// Patience is how long it is waited at first for an API that does not answer; 15 seconds unless set.
	Patience time.Duration
	// Clock is the real one unless set.
	Clock clock.Clock
	// Resolve looks up the addresses of the API's name; the resolver of Clients, or else this machine's, unless set.
	Resolve func(ctx context.Context, host string) ([]string, error)
	// Workload turns a kubeconfig into what is dialed; its current context as it is unless set.
	Workload func(key types.NamespacedName, kubeconfig []byte) (*rest.Config, error)
}

const (
	// patience is how long it is waited for an API unless told otherwise.
	patience = 15 * time.Second
	// resolveTimeout bounds looking up a name.
	resolveTimeout = 10 * time.Second
	// validity is how long certificates hold unless told otherwise.
	validity = time.Hour
)

// Session looks at one cluster again and again, over one connection.
type Session struct {
	options     Options
	connections *workload.Clusters
	end         func()
	connection  *workload.Cluster
	server      string
}

// Open begins a session, in which nothing is asked yet. Close ends it.
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

// lookup asks a resolver, or this machine's if there is none.
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

// Connections returns the connections to the cluster: one, known by [Session.Key], once [Session.Connect] made it.
func (s *Session) Connections() *workload.Clusters { return s.connections }

// Key is what the cluster's connection is known by.
func (s *Session) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: s.options.Cluster.Namespace, Name: s.options.Cluster.Name}
}

// Find looks for the cluster in AWS. It errs when AWS does.
func (s *Session) Find(ctx context.Context) (*Cluster, error) {
	return Find(ctx, s.options.Clients, s.options.Cluster)
}

// Connect connects to the API of the cluster as it was found, and waits a while until it answers. It returns nil, and why in a few words,
// if it has no address or no keys are there. A connection that does not answer yet is returned: it is tried on.
func (s *Session) Connect(ctx context.Context, found *Cluster) (*workload.Cluster, string) {
	server := found.Server()
	if server == "" {
		return nil, "it has no load balancer, and so no address"
	}
	if s.connection != nil && s.server == server {
		return s.connection, ""
	}
	host, serverName, err := s.options.Clients.Resolver().Dial(ctx, found.Address())
	if err != nil {
		return nil, err.Error()
	}
	kubeconfig, err := Kubeconfig(s.options.Clock, s.options.Cluster, s.options.Secrets, model.APIServer(host), serverName, s.options.Validity)
	if err != nil {
		return nil, err.Error()
	}
	connection, err := s.connections.Connect(s.Key(), kubeconfig) //nolint:contextcheck // the connection outlives the call
	if err != nil {
		return nil, err.Error()
	}
	s.connection, s.server = connection, server
	_ = Await(ctx, connection, s.options.Patience) // Whoever asks it is told.
	return connection, ""
}

// Look looks at all of the cluster. It errs when AWS does.
func (s *Session) Look(ctx context.Context) (*Look, error) {
	found, err := s.Find(ctx)
	if err != nil {
		return nil, err
	}
	o := &s.options
	look := &Look{Cluster: o.Cluster, Groups: o.Groups, Secrets: o.Secrets, AWS: found, Now: o.Clock.Now()}
	if found.Record != nil && found.Record.Alias != "" {
		look.Resolves = s.resolve(ctx, found.Record.Name)
	}
	if found.Server() == "" {
		return look, nil
	}
	connection, problem := s.Connect(ctx, found)
	if connection == nil {
		look.API = &API{Problem: problem}
		return look, nil
	}
	look.API = Ask(ctx, connection, int(model.SpecOf(o.Cluster).ControlPlane.Replicas))
	return look, nil
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
