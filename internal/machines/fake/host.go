package fake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/kubeapi"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// Options configure the simulation.
type Options struct {
	// Clock is the clock of the machines. The default is the real clock.
	Clock clock.WithTicker
	// BootTime is the time from a machine's start until it reads its user data.
	BootTime time.Duration
	// PodStart and PodStop are how long pods take to become Ready and, within their grace period,
	// to terminate. The default is no time. Annotations of a pod override them; see package
	// kubeapi.
	PodStart, PodStop time.Duration
	// Observe, if set, receives every change in a cluster, in order; the bucket identifies the
	// cluster. The cluster waits while it runs. It must not call the cluster.
	Observe func(bucket string, e kubeapi.Event)
	// Log receives the console output of machines. By default it is dropped.
	Log logr.Logger
}

// Host simulates machines. It is a [machine.Host].
type Host struct {
	options  Options
	services machine.Services
	running  sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	machines map[string]*fakeMachine
	clusters map[string]*cluster
	dormant  map[*cluster]string // clusters of which only snapshots exist, and their buckets
	images   map[string]Behaviour
	// controlPlanes are those of EKS clusters.
	controlPlanes map[machine.ControlPlaneKey]*controlPlane
}

// New returns a host without machines.
func New(o Options) *Host {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log.GetSink() == nil {
		o.Log = logr.Discard()
	}
	return &Host{
		options:  o,
		machines: map[string]*fakeMachine{},
		clusters: map[string]*cluster{},
		dormant:  map[*cluster]string{},
		images:   map[string]Behaviour{},

		controlPlanes: map[machine.ControlPlaneKey]*controlPlane{},
	}
}

// Connect sets the services that machines reach.
func (h *Host) Connect(services machine.Services) { h.services = services }

// Boot starts to simulate a machine.
func (h *Host) Boot(spec machine.Spec) error {
	ctx, stop := context.WithCancel(context.Background())
	m := &fakeMachine{host: h, spec: spec, stop: stop, log: h.options.Log.WithValues("instance", spec.InstanceID)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		stop()
		return errClosed
	}
	if h.machines[spec.InstanceID] != nil {
		stop()
		return fmt.Errorf("the machine of %s is already running", spec.InstanceID)
	}
	h.machines[spec.InstanceID] = m
	h.running.Go(func() { m.boot(ctx) })
	return nil
}

// Terminate ends a machine: its member stops serving, and its Node is deleted.
func (h *Host) Terminate(instanceID string) {
	h.mu.Lock()
	m := h.machines[instanceID]
	delete(h.machines, instanceID)
	h.mu.Unlock()
	if m != nil {
		m.end()
	}
}

// Attach does nothing, because a fake machine has no disks.
func (h *Host) Attach(string, string, string) error { return nil }

// Detach does nothing.
func (h *Host) Detach(string, string) {}

// Console returns what a running machine has written to its console.
func (h *Host) Console(instanceID string) ([]byte, error) {
	m, err := h.machine(instanceID)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Clone(m.console), nil
}

// Dial connects to the API of a running slot.
func (h *Host) Dial(_ context.Context, instanceID string, port int) (net.Conn, error) {
	h.mu.Lock()
	m := h.machines[instanceID]
	h.mu.Unlock()
	if m == nil {
		return nil, refused(instanceID, port)
	}
	c := m.serves()
	if c == nil || port != apiPort {
		return nil, refused(instanceID, port)
	}
	here, ok := c.dial(instanceID)
	if !ok {
		return nil, refused(instanceID, port)
	}
	return here, nil
}

func refused(instanceID string, port int) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("%s refuses connections to port %d", instanceID, port)}
}

// Serve does nothing, because fake machines make no connections.
func (h *Host) Serve(machine.Frontend, func(net.Conn)) (stop func()) { return func() {} }

// Close ends all machines.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	machines, clusters, dormant, controlPlanes := h.machines, h.clusters, h.dormant, h.controlPlanes
	h.machines, h.clusters, h.dormant = map[string]*fakeMachine{}, map[string]*cluster{}, map[*cluster]string{}
	h.controlPlanes = map[machine.ControlPlaneKey]*controlPlane{}
	h.mu.Unlock()
	for _, m := range machines {
		m.end()
	}
	for _, c := range clusters {
		c.close()
	}
	for c := range dormant {
		c.close()
	}
	for _, c := range controlPlanes {
		c.close()
	}
	h.running.Wait()
}

// cluster returns the cluster of a bucket. If there is none, it calls makes to create it.
func (h *Host) cluster(bucket string, makes func() (*cluster, error)) (*cluster, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errClosed
	}
	if c := h.clusters[bucket]; c != nil {
		return c, nil
	}
	if makes == nil {
		return nil, errNoCluster
	}
	c, err := makes()
	if err != nil {
		return nil, err
	}
	h.clusters[bucket] = c
	return c, nil
}

// errClosed means that the host ends.
var errClosed = errors.New("the host of machines is closed")

// errNoCluster means that no slot of the cluster is up yet.
var errNoCluster = errors.New("the API does not answer")
