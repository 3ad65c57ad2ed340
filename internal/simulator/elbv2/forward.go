package elbv2

import (
	"context"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/internal/simulator/frontend"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// dialTimeout is the timeout for connecting to one target.
const dialTimeout = 5 * time.Second

// address sets a load balancer's DNS name, which keeps the case of the load balancer's name. If
// there are machines, it also opens the frontend, whose addresses [Service.Resolve] returns for the
// name. The caller holds the lock.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/network-load-balancers.html
func (s *Service) address(r *region, b *balancer, id string) {
	middle := ".elb." + r.Region
	if b.kind == types.LoadBalancerTypeEnumApplication {
		middle = "." + r.Region + ".elb"
	}
	_, suffix := partition.Of(r.Region)
	b.dnsName = b.name + "-" + id + middle + "." + suffix
	if b.scheme == types.LoadBalancerSchemeEnumInternal && b.kind == types.LoadBalancerTypeEnumApplication {
		b.dnsName = "internal-" + b.dnsName
	}
	if !s.forwards() || b.kind != types.LoadBalancerTypeEnumNetwork {
		return
	}
	var within netip.Prefix
	if v, ok := s.options.Networks.VPC(r.Account, r.Region, b.vpcID); ok {
		within = v.CIDRs[0]
	}
	private, public := b.addresses()
	b.frontend = s.options.Frontends.Open(b.dnsName, b.vpcID, within, private, public)
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/network-load-balancers.html#load-balancer-state
	if s.options.Provisioning <= 0 {
		b.frontend.Publish()
		return
	}
	s.env.Clock.AfterFunc(s.options.Provisioning, b.frontend.Publish)
}

// addresses returns the addresses of a load balancer in its zones.
func (b *balancer) addresses() (private, public []netip.Addr) {
	for _, z := range b.zones {
		private = append(private, z.private)
		if z.public.IsValid() {
			public = append(public, z.public)
		}
	}
	return private, public
}

// Resolve returns the addresses of the load balancer with a DNS name, as
// [frontend.Frontends.Resolve] does. It returns nothing for load balancers that do not forward.
func (s *Service) Resolve(vpcID, name string) []netip.Addr {
	return s.options.Frontends.Resolve(vpcID, name)
}

// stop stops a load balancer. The caller holds the lock.
func (b *balancer) stop() {
	for _, l := range b.listeners {
		l.close()
	}
	if b.frontend != nil {
		b.frontend.Close()
		b.frontend = nil
	}
}

func (l *listener) close() {
	if l.end != nil {
		l.end()
		l.end = nil
	}
}

// open starts listening. The caller holds the lock.
func (s *Service) open(r *region, l *listener) error {
	b, arn := l.balancer, l.arn
	if b.frontend == nil {
		return nil
	}
	f := &forwarder{s: s, r: r, passes: s.passage(r, b, int(l.port))}
	f.group = func() string { // called under the lock, because the listener may change
		if now, ok := b.listeners[arn]; ok {
			return now.group
		}
		return ""
	}
	end, err := b.frontend.Listen(uint16(l.port), f.forward) //nolint:gosec // a port, checked
	if err != nil {
		return wire.Errorf("InternalFailure", "The simulator cannot listen for load balancer %s: %v", b.name, err).WithStatus(500)
	}
	l.end = end
	return nil
}

// forwarder forwards the connections of one listener to targets.
type forwarder struct {
	s      *Service
	r      *region
	group  func() string
	passes passage
}

// forward connects a client to the first target that accepts, and returns when the connection ends.
func (f *forwarder) forward(ctx context.Context, client net.Conn) {
	from := f.passes.source(client)
	if !f.passes.admits(from) {
		_, _ = io.Copy(io.Discard, client) // the client gets no response
		return
	}
	for _, t := range f.turn() {
		server, err := f.dial(ctx, t, from)
		if err != nil {
			f.r.mu.Lock()
			f.s.recheck(t)
			f.r.mu.Unlock()
			continue
		}
		f.track(t, server)
		stop := context.AfterFunc(ctx, func() { _ = server.Close() })
		frontend.Join(client, server)
		stop()
		f.untrack(t, server)
		return
	}
}

// dial connects to a target for a client.
func (f *forwarder) dial(ctx context.Context, t *target, from source) (net.Conn, error) {
	if !f.passes.reaches(t, from) {
		return nil, errNoResponse
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return f.s.options.Host.Dial(ctx, t.machine, int(t.port)) //nolint:wrapcheck // the caller only retries
}

// turn returns the targets in the order to try for a connection: the healthy ones in turn, or all
// if none is healthy.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/target-group-health-checks.html
func (f *forwarder) turn() []*target {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	g, ok := f.r.groups[f.group()]
	if !ok {
		return nil
	}
	var healthy, others []*target
	for _, t := range g.targets {
		switch t.state {
		case types.TargetHealthStateEnumHealthy:
			healthy = append(healthy, t)
		case types.TargetHealthStateEnumInitial, types.TargetHealthStateEnumUnhealthy:
			others = append(others, t)
		default: // neither unused nor draining targets get new connections
		}
	}
	if len(healthy) == 0 {
		healthy = others
	}
	if len(healthy) == 0 {
		return nil
	}
	g.next++
	first := g.next % len(healthy)
	return append(append([]*target{}, healthy[first:]...), healthy[:first]...)
}

// track records a connection to a target, for its deregistration.
func (f *forwarder) track(t *target, server net.Conn) {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	t.conns[server] = struct{}{}
}

// untrack removes a connection. The last one of a draining target completes its deregistration.
func (f *forwarder) untrack(t *target, server net.Conn) {
	_ = server.Close()
	f.r.mu.Lock()
	delete(t.conns, server)
	drained := len(t.conns) == 0 && t.state == types.TargetHealthStateEnumDraining
	if drained {
		t.group.drop(t)
	}
	f.r.mu.Unlock()
	if drained {
		f.s.notify(t)
	}
}
