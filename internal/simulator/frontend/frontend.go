package frontend

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// claimPort is bound on a load balancer's loopback address as long as the load balancer exists, so
// that no other one uses the address, not even in another simulator.
const claimPort = 65535

// Frontends are the frontends of all load balancers.
type Frontends struct {
	host   machine.Host
	listen func(at netip.AddrPort) (net.Listener, error)
	ctx    context.Context //nolint:containedctx // the lifetime of all frontends
	cancel context.CancelFunc

	mu    sync.Mutex
	names map[string]*Frontend // by DNS name in lower case
	// life guards the end of ctx, so that no work starts afterwards.
	life sync.Mutex
	work sync.WaitGroup
}

// New returns no frontends. Sockets of the host are opened by listen, by default on the loopback
// network.
func New(host machine.Host, listen func(at netip.AddrPort) (net.Listener, error)) *Frontends {
	if listen == nil {
		listen = listenTCP
	}
	a := &Frontends{host: host, listen: listen, names: map[string]*Frontend{}}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// listenTCP opens a socket.
func listenTCP(at netip.AddrPort) (net.Listener, error) {
	return net.Listen("tcp", at.String()) //nolint:noctx,wrapcheck // binding takes no time; the caller adds the context
}

// Close closes all frontends, and returns when all connections have ended.
func (a *Frontends) Close() {
	a.life.Lock()
	a.cancel()
	a.life.Unlock()
	a.mu.Lock()
	all := slices.Collect(maps.Values(a.names))
	a.mu.Unlock()
	for _, f := range all {
		f.Close()
	}
	a.work.Wait()
}

// begin runs fn in the background, unless the frontends are closed.
func (a *Frontends) begin(fn func()) bool {
	a.life.Lock()
	defer a.life.Unlock()
	if a.ctx.Err() != nil {
		return false
	}
	a.work.Go(fn)
	return true
}

// Resolve returns the addresses of the load balancer with a DNS name, case-insensitively: as in AWS
// for a VPC, and those of the loopback network for the host, which is no VPC. An internal load
// balancer has no address in another VPC that machines of that VPC could reach, but its name
// resolves there, too. It returns nothing for other names.
func (a *Frontends) Resolve(vpcID, name string) []netip.Addr {
	a.mu.Lock()
	f, ok := a.names[canonical(name)]
	a.mu.Unlock()
	if !ok || !f.published.Load() {
		return nil
	}
	if vpcID == "" {
		return []netip.Addr{f.loopback}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.named)
}

func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// Frontend is what clients of one load balancer connect to.
type Frontend struct {
	all      *Frontends
	name     string
	loopback netip.Addr
	claim    net.Listener
	// published reports whether the name resolves.
	published atomic.Bool

	mu    sync.Mutex
	at    machine.Frontend
	named []netip.Addr
	ports map[uint16]*port
}

// Publish makes the name resolve.
func (f *Frontend) Publish() { f.published.Store(true) }

// Open returns the frontend of a load balancer, whose name does not resolve until [Frontend.Publish].
// It resolves to the public addresses in its VPC, or to the private ones if there are none.
func (a *Frontends) Open(dnsName, vpcID string, vpcRange netip.Prefix, private, public []netip.Addr) *Frontend {
	f := &Frontend{all: a, name: canonical(dnsName), at: machine.Frontend{VPCID: vpcID, VPCRange: vpcRange}, ports: map[uint16]*port{}}
	f.loopback, f.claim = a.claimAddress()
	f.Move(private, public)
	a.mu.Lock()
	a.names[f.name] = f
	a.mu.Unlock()
	return f
}

// claimAddress finds a free loopback address. On systems that only have 127.0.0.1, such as macOS,
// load balancers share it and must use different ports.
func (a *Frontends) claimAddress() (netip.Addr, net.Listener) {
	for range 32 {
		var raw [3]byte
		_, _ = rand.Read(raw[:]) // never fails, see crypto/rand
		at := netip.AddrFrom4([4]byte{127, 64 + raw[0]%64, raw[1], 1 + raw[2]%254})
		l, err := a.listen(netip.AddrPortFrom(at, claimPort))
		if err == nil {
			return at, l
		}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
}

// Move sets the addresses in the VPC. Connections to the previous ones continue.
func (f *Frontend) Move(private, public []netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.named = slices.Clone(public)
	if len(public) == 0 {
		f.named = slices.Clone(private)
	}
	f.at.Addresses = slices.Concat(private, public)
	for number, p := range f.ports {
		p.unserve()
		p.unserve = f.serve(number, p)
	}
}

func (f *Frontend) serve(number uint16, p *port) (stop func()) {
	at := f.at
	at.Port = number
	return f.all.host.Serve(at, p.take)
}

// Close closes all ports and removes the name.
func (f *Frontend) Close() {
	f.all.mu.Lock()
	if f.all.names[f.name] == f {
		delete(f.all.names, f.name)
	}
	f.all.mu.Unlock()
	f.mu.Lock()
	ports := f.ports
	f.ports = map[uint16]*port{}
	claim := f.claim
	f.claim = nil
	f.mu.Unlock()
	for _, p := range ports {
		p.close()
	}
	if claim != nil {
		_ = claim.Close()
	}
}

// port is an open port of a frontend.
type port struct {
	all     *Frontends
	socket  net.Listener
	unserve func()
	handle  func(ctx context.Context, client net.Conn)
	ctx     context.Context //nolint:containedctx // ends with the port
	cancel  context.CancelFunc

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// Listen opens a port. It calls handle with each connection, in a goroutine of its own; ctx ends when
// the port closes, and the connection closes when handle returns. It returns an error if the host's
// socket cannot be opened.
func (f *Frontend) Listen(number uint16, handle func(ctx context.Context, client net.Conn)) (stop func(), err error) {
	p := &port{all: f.all, handle: handle, conns: map[net.Conn]struct{}{}}
	if p.socket, err = f.all.listen(netip.AddrPortFrom(f.loopback, number)); err != nil {
		return nil, fmt.Errorf("listen on port %d for %s: %w", number, f.name, err)
	}
	p.ctx, p.cancel = context.WithCancel(f.all.ctx)
	f.all.begin(p.accept)
	f.mu.Lock()
	p.unserve = f.serve(number, p)
	f.ports[number] = p
	f.mu.Unlock()
	return func() {
		f.mu.Lock()
		open := f.ports[number] == p
		if open {
			delete(f.ports, number)
		}
		f.mu.Unlock()
		if open {
			p.close()
		}
	}, nil
}

func (p *port) accept() {
	for {
		conn, err := p.socket.Accept()
		if errors.Is(err, net.ErrClosed) || p.ctx.Err() != nil {
			return
		}
		if err != nil {
			continue
		}
		p.take(conn)
	}
}

// take handles one connection; it returns at once.
func (p *port) take(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	begun := p.ctx.Err() == nil && p.all.begin(func() {
		p.handle(p.ctx, conn)
		_ = conn.Close()
		p.mu.Lock()
		delete(p.conns, conn)
		p.mu.Unlock()
	})
	if !begun {
		_ = conn.Close()
		return
	}
	p.conns[conn] = struct{}{}
}

// close closes the port and every connection.
func (p *port) close() {
	p.unserve()
	_ = p.socket.Close()
	p.cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}
