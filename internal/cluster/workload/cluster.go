package workload

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/internal/cluster/rewrite"
)

const (
	// protobuf is the encoding for nodes, which costs a third of JSON's.
	protobuf = "application/vnd.kubernetes.protobuf"
	// handshake bounds connecting.
	handshake = 10 * time.Second
)

// Cluster is the connection to one workload cluster.
type Cluster struct {
	key       types.NamespacedName
	digest    [sha256.Size]byte
	config    *rest.Config
	core      *corev1client.CoreV1Client
	all       func() (kubernetes.Interface, error)
	metadata  func() (metadata.Interface, error)
	transport *http.Transport
	owner     *Clusters
	eks       bool // EKS runs its control plane, and may launch nodes
	stop      context.CancelFunc
	done      chan struct{}

	answered func()        // closes the next
	attempts chan struct{} // closed when it is known whether the API responds

	mu        sync.RWMutex
	reachable bool
	problem   string
	silent    time.Time // when it was last known to be reachable, or connected
	refused   bool      // the API responds, but the operator does not use that
	nodes     map[string]Node
	size      kept   // of nodes
	sorted    []Node // of nodes, nil after a change
	// instances are the identified ones, unidentified those yet to look up in EC2; asking reports
	// that a lookup is in progress.
	instances    map[string]identified
	unidentified map[string]struct{}
	asking       bool
	// running ends with the connection.
	running context.Context //nolint:containedctx // node events start the work that it bounds
	asks    sync.WaitGroup
}

// connect creates a connection without starting it. It dials nothing.
func connect(key types.NamespacedName, config *rest.Config, owner *Clusters) (*Cluster, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of cluster %s: %w", key, err)
	}
	// The cluster has its own transport, since client-go never closes shared ones.
	transport := utilnet.SetTransportDefaults(&http.Transport{
		TLSClientConfig: tlsConfig, TLSHandshakeTimeout: handshake, MaxIdleConnsPerHost: 1,
		DialContext: config.Dial, // Nil except in tests.
	})
	wrapped, err := rest.HTTPWrappersForConfig(config, transport)
	if err != nil {
		return nil, fmt.Errorf("read the credentials of cluster %s: %w", key, err)
	}
	bare := &rest.Config{Host: config.Host, UserAgent: config.UserAgent, QPS: -1}
	bare.ContentType, bare.AcceptContentTypes = protobuf, protobuf
	client := &http.Client{Transport: effects{next: wrapped, cluster: key, logger: owner.options.Logger}}
	core, err := corev1client.NewForConfigAndClient(bare, client)
	if err != nil {
		return nil, fmt.Errorf("create a client of cluster %s: %w", key, err)
	}
	attempts := make(chan struct{})
	return &Cluster{
		answered: sync.OnceFunc(func() { close(attempts) }), attempts: attempts,
		key: key, config: config, core: core, transport: transport, owner: owner,
		all: sync.OnceValues(func() (kubernetes.Interface, error) { return kubernetes.NewForConfigAndClient(bare, client) }),
		metadata: sync.OnceValues(func() (metadata.Interface, error) {
			return metadata.NewForConfigAndClient(metadata.ConfigFor(bare), client)
		}),
		done: make(chan struct{}), nodes: map[string]Node{}, instances: map[string]identified{}, unidentified: map[string]struct{}{},
		problem: "it has not responded yet", silent: owner.options.Clock.Now(),
	}, nil
}

func (c *Cluster) start() {
	ctx, cancel := context.WithCancel(context.Background())
	c.stop, c.running = cancel, ctx
	go func() {
		defer close(c.done)
		c.follow(ctx)
	}()
}

// close ends the watch and the connection.
func (c *Cluster) close() {
	c.stop()
	<-c.done
	c.asks.Wait()
	c.transport.CloseIdleConnections()
}

// Key names the cluster's object in the management cluster.
func (c *Cluster) Key() types.NamespacedName { return c.key }

// Config returns the client configuration of the cluster.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Core returns the client of the core API. Callers set deadlines.
func (c *Cluster) Core() corev1client.CoreV1Interface { return c.core }

// Kubernetes returns the clientset over the same connection. It is created on first use, since most
// clusters never need it. Callers set deadlines.
func (c *Cluster) Kubernetes() (kubernetes.Interface, error) { return c.all() }

// Rewritable returns what package rewrite needs, over the same connection. It is created on first use. Callers set deadlines.
func (c *Cluster) Rewritable() (rewrite.Cluster, error) {
	of, err := c.metadata()
	if err != nil {
		return rewrite.Cluster{}, fmt.Errorf("create a client of the metadata of cluster %s: %w", c.key, err)
	}
	return rewrite.Cluster{REST: c.core.RESTClient(), Metadata: of}, nil
}

// NodeOf returns the node that runs on an EC2 instance, false if there is none.
func (c *Cluster) NodeOf(instanceID string) (Node, bool) { return c.nodeOf(instanceID) }

// MayHaveNode reports whether an EC2 instance has a node, or a Node claims it and EC2 has not said
// yet whether that is true. Only an instance for which it is false has no node.
func (c *Cluster) MayHaveNode(instanceID string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, node := range c.nodes {
		if node.InstanceID == instanceID || node.Claimed == instanceID && c.isPending(&node) {
			return true
		}
	}
	return false
}

// Reachable reports whether the API responds, according to the watch of nodes, and if not, why.
func (c *Cluster) Reachable() (bool, string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.reachable, c.problem
}

// AwaitAnswer waits until it is known whether the API responds, for a limited time. Only a new connection does not
// know that.
func (c *Cluster) AwaitAnswer(ctx context.Context, most time.Duration) {
	timer := c.owner.options.Clock.NewTimer(most)
	defer timer.Stop()
	select {
	case <-c.attempts:
	case <-timer.C():
	case <-ctx.Done():
	}
}

// SilentFor returns how long the API has not responded, 0 if it does. A new connection counts from its
// start.
func (c *Cluster) SilentFor() time.Duration {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.reachable {
		return 0
	}
	return c.owner.options.Clock.Since(c.silent)
}

// Refused reports whether the API is unreachable because the operator does not use its responses:
// they are too large, or redirect. The problem of [Cluster.Reachable] says which.
func (c *Cluster) Refused() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.refused
}

// Nodes returns the nodes sorted by name, which callers must not change. While the API does not
// respond, they are as last observed.
func (c *Cluster) Nodes() []Node {
	c.mu.RLock()
	sorted := c.sorted
	c.mu.RUnlock()
	if sorted != nil {
		return sorted
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sorted = make([]Node, 0, len(c.nodes))
	for _, node := range c.nodes {
		c.sorted = append(c.sorted, node)
	}
	slices.SortFunc(c.sorted, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return c.sorted
}

func (c *Cluster) nodeOf(instanceID string) (Node, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, node := range c.nodes {
		if node.InstanceID == instanceID {
			return node, true
		}
	}
	return Node{}, false
}

// setReachable records whether the API responds, and the error if it does not.
func (c *Cluster) setReachable(reachable bool, err error) {
	why := ""
	if err != nil {
		why = problem(err)
	}
	_, refused := errors.AsType[refusalError](err)
	c.mu.Lock()
	changed := c.reachable != reachable || c.refused != refused
	if c.reachable {
		c.silent = c.owner.options.Clock.Now()
	}
	c.reachable, c.refused, c.problem = reachable, refused, why
	c.mu.Unlock()
	c.answered()
	if changed {
		c.owner.publish(Change{Cluster: c.key, Whole: true})
	}
}

// replace sets the list of nodes. It looks up their instances first if that succeeds at once:
// otherwise a newly connected cluster would appear to have no nodes.
func (c *Cluster) replace(ctx context.Context, nodes map[string]Node, size kept) {
	c.mu.Lock()
	before := c.nodes
	c.nodes, c.size, c.sorted = nodes, size, nil
	c.judgeAll()
	asks := len(c.unidentified) > 0 && !c.asking
	c.mu.Unlock()
	if asks {
		_, _ = c.identifyOnce(ctx) // It is retried in the background.
	}
	c.mu.RLock()
	judged := maps.Clone(c.nodes)
	c.mu.RUnlock()
	for name, node := range judged {
		if was, ok := before[name]; !ok || !was.same(&node) {
			c.tell(&node)
		}
	}
	for name, was := range before {
		if _, ok := judged[name]; !ok {
			c.tell(&was)
		}
	}
	c.startIdentifying() //nolint:contextcheck // lookups end with the connection, not with their cause
}

// put adds or updates a node. It returns an error, and does neither, if it would exceed what is kept
// of one cluster.
func (c *Cluster) put(node *Node) error {
	c.mu.Lock()
	was, known := c.nodes[node.Name]
	size := c.size
	if known {
		size.remove(&was)
	}
	size.add(node)
	if err := size.excess(); err != nil {
		c.mu.Unlock()
		return err
	}
	c.size = size
	c.nodes[node.Name], c.sorted = *node, nil
	others := c.judge(node.Claimed)
	if was.Claimed != node.Claimed {
		others = append(others, c.judge(was.Claimed)...)
	}
	now, asks := c.nodes[node.Name], len(c.unidentified) > 0
	news := !was.same(&now) && !c.isPending(&now) // A pending node is published after EC2 has responded.
	c.mu.Unlock()
	if news {
		c.tell(&now)
	}
	c.tellOthers(node.Name, others)
	if asks {
		c.startIdentifying()
	}
	return nil
}

// remove removes a node.
func (c *Cluster) remove(node *Node) {
	c.mu.Lock()
	if was, ok := c.nodes[node.Name]; ok {
		node = &was
		c.size.remove(node)
	}
	delete(c.nodes, node.Name)
	c.sorted = nil
	c.forgetInstances()
	others := c.judge(node.Claimed)
	c.mu.Unlock()
	c.tell(node)
	c.tellOthers(node.Name, others)
}

// tellOthers publishes the nodes whose identity another node's change affected.
func (c *Cluster) tellOthers(but string, others []Node) {
	for i := range others {
		if others[i].Name != but {
			c.tell(&others[i])
		}
	}
}

func (c *Cluster) tell(node *Node) {
	c.owner.publish(Change{Cluster: c.key, Group: node.Group})
}
