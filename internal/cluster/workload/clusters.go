package workload

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
)

// Options configure Clusters. The zero value is valid.
type Options struct {
	// Clock is the real clock by default.
	Clock clock.Clock
	// Logger discards messages by default.
	Logger logr.Logger
	// UserAgent appears in the clusters' audit logs; it is aws-operator by default.
	UserAgent string
	// Config converts a kubeconfig to a client configuration. By default, it uses the current
	// context.
	Config func(key types.NamespacedName, kubeconfig []byte) (*rest.Config, error)
}

// Change is a change in a workload cluster: it became reachable or unreachable, or a node was
// added, changed or deleted.
type Change struct {
	// Cluster is the key of the Cluster in the management cluster.
	Cluster types.NamespacedName
	// Group is the instance group of the changed node; empty for control-plane nodes and for
	// changes of the whole cluster.
	Group string
	// Whole is true for changes of the cluster itself, which concern all groups.
	Whole bool
}

// Clusters holds the connections to all workload clusters. It is safe for concurrent use.
type Clusters struct {
	options  Options
	identify Identify

	mu          sync.RWMutex
	clusters    map[types.NamespacedName]*Cluster
	subscribers []func(Change)
	ended       bool
}

// errEnded is the error of a connection that is requested while the process stops.
var errEnded = errors.New("connections to workload clusters have ended")

// New returns Clusters without a connection.
func New(options Options) *Clusters {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Logger.GetSink() == nil {
		options.Logger = logr.Discard()
	}
	if options.UserAgent == "" {
		options.UserAgent = "aws-operator"
	}
	if options.Config == nil {
		options.Config = func(_ types.NamespacedName, kubeconfig []byte) (*rest.Config, error) {
			return clientcmd.RESTConfigFromKubeConfig(kubeconfig)
		}
	}
	return &Clusters{options: options, clusters: map[types.NamespacedName]*Cluster{}}
}

// Start keeps the connections until the context ends, then closes them. It implements the manager's
// Runnable.
func (c *Clusters) Start(ctx context.Context) error {
	<-ctx.Done()
	c.mu.Lock()
	all := c.clusters
	c.clusters, c.ended = map[types.NamespacedName]*Cluster{}, true
	c.mu.Unlock()
	for _, one := range all {
		one.close()
	}
	return nil
}

// NeedLeaderElection reports that only the leader connects to workload clusters.
func (c *Clusters) NeedLeaderElection() bool { return true }

// Subscribe passes every change to fn, which must return quickly and may be called concurrently.
func (c *Clusters) Subscribe(fn func(Change)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribers = append(c.subscribers, fn)
}

// Connect returns the cluster's connection, and creates it if there is none with this kubeconfig
// yet. It does not wait until the API responds: see [Cluster.Reachable]. It returns an error if the
// kubeconfig is invalid, or after Start has ended.
func (c *Clusters) Connect(key types.NamespacedName, kubeconfig []byte) (*Cluster, error) {
	return c.connection(key, sha256.Sum256(kubeconfig), func() (*Cluster, error) {
		config, err := c.options.Config(key, kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("read the kubeconfig of cluster %s: %w", key, err)
		}
		return c.make(key, config)
	})
}

// connection returns the cluster's connection, and makes it if there is none with this digest yet.
func (c *Clusters) connection(key types.NamespacedName, digest [sha256.Size]byte, makes func() (*Cluster, error)) (*Cluster, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.clusters[key]
	if ok && known.digest == digest {
		return known, nil
	}
	if c.ended { // A reconcile may take longer than Start to end.
		return nil, errEnded
	}
	made, err := makes()
	if err != nil {
		return nil, err
	}
	made.digest = digest
	c.clusters[key] = made
	if ok {
		go known.close() // close waits for the watch, which may be publishing a change and wait for the lock
	}
	made.start()
	return made, nil
}

// make creates a connection without starting it.
func (c *Clusters) make(key types.NamespacedName, config *rest.Config) (*Cluster, error) {
	config.UserAgent = c.options.UserAgent
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return guard{next} })
	return connect(key, config, c)
}

// Get returns the cluster's connection, nil if there is none.
func (c *Clusters) Get(key types.NamespacedName) *Cluster {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.clusters[key]
}

// Close ends the cluster's connection, if there is one.
func (c *Clusters) Close(key types.NamespacedName) {
	c.mu.Lock()
	known, ok := c.clusters[key]
	delete(c.clusters, key)
	c.mu.Unlock()
	if ok {
		known.close()
	}
}

// NodeOf returns the cluster and the node of an EC2 instance. In clusters whose control plane EKS runs, it ignores nodes
// of no instance group: EC2 does not confirm what they claim, and one could claim an instance of another cluster.
func (c *Clusters) NodeOf(instanceID string) (*Cluster, Node, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, one := range c.clusters {
		if node, ok := one.nodeOf(instanceID); ok && (!one.eks || node.Group != "" && c.identify != nil) {
			return one, node, true
		}
	}
	return nil, Node{}, false
}

// publish notifies the subscribers.
func (c *Clusters) publish(change Change) {
	c.mu.RLock()
	subscribers := c.subscribers
	c.mu.RUnlock()
	for _, subscriber := range subscribers {
		subscriber(change)
	}
}
