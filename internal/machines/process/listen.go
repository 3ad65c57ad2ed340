//go:build linux

package process

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// The addresses that are served inside a machine. The first two are EC2's own:
// https://docs.aws.amazon.com/vpc/latest/userguide/AmazonDNS-concepts.html
var (
	metadataAddress = netip.MustParseAddr("169.254.169.254")
	resolverAddress = netip.MustParseAddr("169.254.169.253")
	apiAddress      = netip.MustParseAddr("169.254.169.249")
)

// sockets are the simulator's open sockets inside a machine. They keep the machine's network
// namespace alive, so they are all closed with the machine.
type sockets struct {
	instanceID string

	mu     sync.Mutex
	closed bool
	open   map[interface{ Close() error }]struct{}
}

// add adds a socket, or closes it if the sockets are already closed.
func (s *sockets) add(c interface{ Close() error }) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
		return
	}
	if s.open == nil {
		s.open = map[interface{ Close() error }]struct{}{}
	}
	s.open[c] = struct{}{}
}

func (s *sockets) remove(c interface{ Close() error }) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

func (s *sockets) close() {
	s.mu.Lock()
	open := s.open
	s.open, s.closed = nil, true
	s.mu.Unlock()
	for c := range open {
		_ = c.Close()
	}
}

// keptConn is a connection that is closed with its machine.
type keptConn struct {
	net.Conn
	owner *sockets
}

func (s *sockets) keep(conn net.Conn) net.Conn {
	s.add(conn)
	return &keptConn{Conn: conn, owner: s}
}

func (c *keptConn) Close() error {
	c.owner.remove(c.Conn)
	return c.Conn.Close()
}

// InstanceID returns the instance of the machine.
func (c *keptConn) InstanceID() string { return c.owner.instanceID }

// CloseWrite closes one direction, as proxies do.
func (c *keptConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// keptListener is a listener whose connections are closed with the machine.
type keptListener struct {
	net.Listener
	owner *sockets
}

func (l *keptListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.owner.keep(conn), nil
}

func (l *keptListener) Close() error {
	l.owner.remove(l.Listener)
	return l.Listener.Close()
}

// listen opens a TCP socket inside the machine.
func (m *guestMachine) listen(address netip.AddrPort) (net.Listener, error) {
	var listener net.Listener
	err := m.ns.do(func() (err error) {
		// This thread is in the machine's namespace, so the socket is too.
		listener, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp4", address.String())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen on %s in %s: %w", address, m.spec.InstanceID, err)
	}
	m.sockets.add(listener)
	return &keptListener{Listener: listener, owner: &m.sockets}, nil
}

// serveAll opens the link-local addresses of a machine.
func (h *Host) serveAll(m *guestMachine) error {
	metadata, err := m.listen(netip.AddrPortFrom(metadataAddress, 80))
	if err != nil {
		return err
	}
	api, err := m.listen(netip.AddrPortFrom(apiAddress, 443))
	if err != nil {
		return err
	}
	if err := h.serveNames(m); err != nil {
		return err
	}
	handler := m.spec.Metadata
	if handler == nil {
		handler = http.NotFoundHandler()
	}
	server := &http.Server{Handler: m.oneHop(handler), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(metadata) }()
	config := &tls.Config{GetCertificate: h.authority.certificate, MinVersion: tls.VersionTLS12}
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) { return nil, h.awaitRoute(m, hello) }
	go func() { _ = h.aws.Serve(tls.NewListener(api, config)) }()
	return nil
}

// oneHop answers a request for a token only to the machine itself. All launch templates of clusters
// have a hop limit of 1, so the response does not reach a pod with its own network:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-v2-how-it-works.html
func (m *guestMachine) oneHop(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		from, err := netip.ParseAddrPort(req.RemoteAddr)
		own := err == nil && (from.Addr() == m.spec.PrivateIP || from.Addr().IsLinkLocalUnicast() || from.Addr().IsLoopback())
		if req.Method == http.MethodPut && !own {
			<-req.Context().Done()
			return
		}
		handler.ServeHTTP(w, req)
	})
}

// serveNames starts the machine's resolver.
func (h *Host) serveNames(m *guestMachine) error {
	address := netip.AddrPortFrom(resolverAddress, 53)
	tcp, err := m.listen(address)
	if err != nil {
		return err
	}
	var udp net.PacketConn
	err = m.ns.do(func() (err error) {
		udp, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(address))
		return err
	})
	if err != nil {
		return fmt.Errorf("listen for DNS queries in %s: %w", m.spec.InstanceID, err)
	}
	m.sockets.add(udp)
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		_ = w.WriteMsg(h.answer(m.spec.VPCID, question))
	})
	for _, server := range []*dns.Server{{Listener: tcp, Handler: handler}, {PacketConn: udp, Handler: handler}} {
		go func() { _ = server.ActivateAndServe() }()
	}
	return nil
}
