package elbv2

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// claimPort is bound on a load balancer's address as long as the load balancer exists, so that no
// other one uses the address, not even in another simulator.
const claimPort = 65535

// dialTimeout is the timeout for connecting to one target.
const dialTimeout = 5 * time.Second

// address sets a load balancer's DNS name, which keeps the case of the load balancer's name. If
// there are machines, it also sets the address that [Service.Resolve] returns for the name. The
// caller holds the lock.
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
	b.address, b.claim = s.claimAddress()
	s.publishName(strings.ToLower(b.dnsName), b.address)
}

// Resolve returns the address of the load balancer with a DNS name, case-insensitively. The address
// is the same inside machines and on their host. It returns nothing for other names, and for load
// balancers that do not forward.
func (s *Service) Resolve(name string) []netip.Addr {
	found, ok := s.names.Load(strings.ToLower(strings.TrimSuffix(name, ".")))
	if !ok {
		return nil
	}
	return []netip.Addr{found.(netip.Addr)} //nolint:forcetypeassert // no other type is stored
}

// claimAddress finds a free loopback address. On systems that only have 127.0.0.1, such as macOS,
// load balancers share it and must use different ports.
func (s *Service) claimAddress() (netip.Addr, net.Listener) {
	for range 32 {
		var raw [3]byte
		_, _ = rand.Read(raw[:]) // never fails, see crypto/rand
		a := netip.AddrFrom4([4]byte{127, 64 + raw[0]%64, raw[1], 1 + raw[2]%254})
		l, err := s.options.Listen(netip.AddrPortFrom(a, claimPort))
		if err == nil {
			return a, l
		}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
}

// listenTCP opens a socket.
func listenTCP(at netip.AddrPort) (net.Listener, error) {
	return net.Listen("tcp", at.String()) //nolint:noctx,wrapcheck // binding takes no time; the caller adds the context
}

// stop stops a load balancer. The caller holds the lock.
func (b *balancer) stop() {
	for _, l := range b.listeners {
		l.close()
	}
	if b.claim != nil {
		_ = b.claim.Close()
		b.claim = nil
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
	if !l.balancer.address.IsValid() {
		return nil
	}
	at := netip.AddrPortFrom(l.balancer.address, uint16(l.port)) //nolint:gosec // a port, checked
	socket, err := s.options.Listen(at)
	if err != nil {
		return wire.Errorf("InternalFailure", "The simulator cannot listen for load balancer %s: %v", l.balancer.name, err).WithStatus(500)
	}
	f := &forwarder{s: s, r: r, conns: map[net.Conn]struct{}{}}
	f.ctx, f.cancel = context.WithCancel(s.ctx)
	b, arn := l.balancer, l.arn
	f.group = func() string { // called under the lock, because the listener may change
		if now, ok := b.listeners[arn]; ok {
			return now.group
		}
		return ""
	}
	s.begin(func() { f.accept(socket) })
	unserve := s.options.Host.Serve(at, f.take)
	l.end = func() {
		unserve()
		_ = socket.Close()
		f.stop()
	}
	return nil
}

// forwarder forwards the connections of one listener to targets.
type forwarder struct {
	s      *Service
	r      *region
	group  func() string
	ctx    context.Context //nolint:containedctx // ends with the listener
	cancel context.CancelFunc

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

func (f *forwarder) accept(socket net.Listener) {
	for {
		conn, err := socket.Accept()
		if errors.Is(err, net.ErrClosed) || f.ctx.Err() != nil {
			return
		}
		if err != nil {
			continue
		}
		f.take(conn)
	}
}

// take forwards one connection; it returns at once.
func (f *forwarder) take(conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx.Err() != nil {
		_ = conn.Close()
		return
	}
	begun := f.s.begin(func() {
		f.s.forwarding(f, conn)
		f.mu.Lock()
		delete(f.conns, conn)
		f.mu.Unlock()
	})
	if !begun {
		_ = conn.Close()
		return
	}
	f.conns[conn] = struct{}{}
}

// stop closes every connection.
func (f *forwarder) stop() {
	f.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	closeAll(f.conns)
}

// forward connects a client to the first target that accepts, and returns when the connection ends.
func (f *forwarder) forward(client net.Conn) {
	defer func() { _ = client.Close() }()
	for _, t := range f.turn() {
		ctx, cancel := context.WithTimeout(f.ctx, dialTimeout)
		server, err := f.s.options.Host.Dial(ctx, t.machine, int(t.port))
		cancel()
		if err != nil {
			f.r.mu.Lock()
			f.s.recheck(t)
			f.r.mu.Unlock()
			continue
		}
		f.track(t, server)
		join(client, server)
		f.untrack(t, server)
		return
	}
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

// track records a connection to a target, for its deregistration. The connection is closed with the
// listener.
func (f *forwarder) track(t *target, server net.Conn) {
	f.r.mu.Lock()
	t.conns[server] = struct{}{}
	f.r.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conns[server] = struct{}{}
	if f.ctx.Err() != nil {
		_ = server.Close()
	}
}

// untrack removes a connection. The last one of a draining target completes its deregistration.
func (f *forwarder) untrack(t *target, server net.Conn) {
	_ = server.Close()
	f.mu.Lock()
	delete(f.conns, server)
	f.mu.Unlock()
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

// join copies in both directions until both are closed.
func join(a, b net.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() { pour(a, b) })
	pour(b, a)
	wg.Wait()
}

// pour copies in one direction and then closes that half of the connection.
func pour(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
}
