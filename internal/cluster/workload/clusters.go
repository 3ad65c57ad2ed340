package workload

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
)

// Options configure Clusters; the zero value is good.
type Options struct {
	// Clock is by default the real one.
	Clock clock.Clock
	// Logger is by default silent.
	Logger logr.Logger
	// UserAgent is what the clusters' audit logs show; by default aws-operator.
	UserAgent string
	// Config turns a kubeconfig into what is dialed; by default its current context as it is.
	Config func(key types.NamespacedName, kubeconfig []byte) (*rest.Config, error)
}

// Change is news of a workload cluster: that it became reachable or unreachable, or that a node came,
// changed or went.
type Change struct {
	// Cluster is the cluster's object in the management cluster.
	Cluster types.NamespacedName
	// Group is the instance group of the node that changed; empty for control-plane nodes and when it is
	// the cluster itself, and with it every group, that there is news of.
	Group string
	// Whole is true when the news is of the cluster itself.
	Whole bool
}

// Clusters holds the connections to all workload clusters. It is safe for use by many goroutines.
type Clusters struct {
	options  Options
	identify Identify

	mu          sync.RWMutex
	clusters    map[types.NamespacedName]*Cluster
	subscribers []func(Change)
}

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

// Start keeps the connections until the context ends, then closes them. It is a manager's Runnable.
func (c *Clusters) Start(ctx context.Context) error {
	<-ctx.Done()
	c.mu.Lock()
	all := c.clusters
	c.clusters = map[types.NamespacedName]*Cluster{}
	c.mu.Unlock()
	for _, one := range all {
		one.close()
	}
	return nil
}

// NeedLeaderElection says that only the leader is in touch with workload clusters.
func (c *Clusters) NeedLeaderElection() bool { return true }

// Subscribe has every change passed to fn, which must return quickly and may be called by several
// goroutines at once.
func (c *Clusters) Subscribe(fn func(Change)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribers = append(c.subscribers, fn)
}

// Connect returns the cluster's connection, which it makes if there is none by this kubeconfig yet.
// It does not wait until the API answers: see [Cluster.Reachable]. It errs when the kubeconfig cannot
// be used.
func (c *Clusters) Connect(key types.NamespacedName, kubeconfig []byte) (*Cluster, error) {
	digest := sha256.Sum256(kubeconfig)
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.clusters[key]
	if ok && known.digest == digest {
		return known, nil
	}
	config, err := c.options.Config(key, kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of cluster %s: %w", key, err)
	}
	config.UserAgent = c.options.UserAgent
	made, err := connect(key, config, c)
	if err != nil {
		return nil, err
	}
	made.digest = digest
	c.clusters[key] = made
	if ok {
		go known.close() // it waits for its watch, which may be telling of a change and so wait for the lock
	}
	made.start()
	return made, nil
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

// NodeOf returns which cluster has the node that runs on an EC2 instance.
func (c *Clusters) NodeOf(instanceID string) (*Cluster, Node, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, one := range c.clusters {
		if node, ok := one.nodeOf(instanceID); ok {
			return one, node, true
		}
	}
	return nil, Node{}, false
}

// publish tells the subscribers.
func (c *Clusters) publish(change Change) {
	c.mu.RLock()
	subscribers := c.subscribers
	c.mu.RUnlock()
	for _, subscriber := range subscribers {
		subscriber(change)
	}
}
