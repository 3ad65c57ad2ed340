package workload

import (
	"cmp"
	"context"
	"crypto/sha256"
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
	"k8s.io/client-go/rest"
)

const (
	// protobuf is what nodes are read in: a third of the work of JSON.
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
	transport *http.Transport
	owner     *Clusters
	stop      context.CancelFunc
	done      chan struct{}

	mu        sync.RWMutex
	reachable bool
	problem   string
	nodes     map[string]Node
	sorted    []Node // of nodes, nil after a change
	// instances are those that EC2 was asked for, unidentified those that it is to be asked for; asking says that it is being asked.
	instances    map[string]identified
	unidentified map[string]struct{}
	asking       bool
	// running ends with the connection.
	running context.Context //nolint:containedctx // what it bounds is begun by news of nodes
	asks    sync.WaitGroup
}

// connect makes a connection that is not started. It dials nothing.
func connect(key types.NamespacedName, config *rest.Config, owner *Clusters) (*Cluster, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of cluster %s: %w", key, err)
	}
	// The transport is the cluster's own: those that client-go shares are never closed.
	transport := utilnet.SetTransportDefaults(&http.Transport{
		TLSClientConfig: tlsConfig, TLSHandshakeTimeout: handshake, MaxIdleConnsPerHost: 1,
		DialContext: config.Dial, // Nil but in tests.
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
		return nil, fmt.Errorf("make a client of cluster %s: %w", key, err)
	}
	return &Cluster{
		key: key, config: config, core: core, transport: transport, owner: owner,
		all:  sync.OnceValues(func() (kubernetes.Interface, error) { return kubernetes.NewForConfigAndClient(bare, client) }),
		done: make(chan struct{}), nodes: map[string]Node{}, instances: map[string]identified{}, unidentified: map[string]struct{}{}, problem: "it has not answered yet",
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

// Config returns how the cluster is reached, for clients of one's own.
func (c *Cluster) Config() *rest.Config {
	config := rest.CopyConfig(c.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return effects{next: next, cluster: c.key, logger: c.owner.options.Logger}
	})
	return config
}

// Core returns the client of the core API. Its calls bring their own deadlines.
func (c *Cluster) Core() corev1client.CoreV1Interface { return c.core }

// Kubernetes returns the clients of all of the API, over the same connection. They are made when they are first asked for, since most
// clusters never need them. Their calls bring their own deadlines.
func (c *Cluster) Kubernetes() (kubernetes.Interface, error) { return c.all() }

// NodeOf returns the node that runs on an EC2 instance, false if there is none.
func (c *Cluster) NodeOf(instanceID string) (Node, bool) { return c.nodeOf(instanceID) }

// Reachable reports whether the API answers, as far as the watch of nodes can tell, and if not, why.
func (c *Cluster) Reachable() (bool, string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.reachable, c.problem
}

// Nodes returns the nodes, by name, which the caller must not change. While the API does not answer they are as they were
// last seen.
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

// setReachable notes whether the API answers.
func (c *Cluster) setReachable(reachable bool, problem string) {
	c.mu.Lock()
	changed := c.reachable != reachable
	c.reachable, c.problem = reachable, problem
	c.mu.Unlock()
	if changed {
		c.owner.publish(Change{Cluster: c.key, Whole: true})
	}
}

// replace takes over a whole list of nodes. Their instances are looked up first, if that is possible at once: a cluster that was just
// connected to would look as if it had no nodes.
func (c *Cluster) replace(ctx context.Context, nodes map[string]Node) {
	c.mu.Lock()
	before := c.nodes
	c.nodes, c.sorted = nodes, nil
	c.judgeAll()
	asks := len(c.unidentified) > 0 && !c.asking
	c.mu.Unlock()
	if asks {
		_ = c.identifyOnce(ctx) // It is tried again beside.
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
	c.startIdentifying() //nolint:contextcheck // the questions end with the connection, not with what calls for them
}

// put takes over one node.
func (c *Cluster) put(node *Node) {
	c.mu.Lock()
	was := c.nodes[node.Name]
	c.nodes[node.Name], c.sorted = *node, nil
	others := c.judge(node.Claimed)
	if was.Claimed != node.Claimed {
		others = append(others, c.judge(was.Claimed)...)
	}
	now, asks := c.nodes[node.Name], len(c.unidentified) > 0
	news := !was.same(&now) && !c.isPending(&now) // One that is pending is published when EC2 has answered.
	c.mu.Unlock()
	if news {
		c.tell(&now)
	}
	c.tellOthers(node.Name, others)
	if asks {
		c.startIdentifying()
	}
}

// remove forgets a node.
func (c *Cluster) remove(node *Node) {
	c.mu.Lock()
	if was, ok := c.nodes[node.Name]; ok {
		node = &was
	}
	delete(c.nodes, node.Name)
	c.sorted = nil
	c.forgetInstances()
	others := c.judge(node.Claimed)
	c.mu.Unlock()
	c.tell(node)
	c.tellOthers(node.Name, others)
}

// tellOthers publishes the nodes of which news of another changed what they are.
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
