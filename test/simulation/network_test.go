package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
)

// network connects listeners and dialers in memory.
type network struct {
	mu        sync.Mutex
	listeners map[string]*listener
}

func newNetwork() *network { return &network{listeners: map[string]*listener{}} }

var errTaken = errors.New("address already in use")

// listen opens an address.
func (n *network) listen(at netip.AddrPort) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := at.String()
	if n.listeners[name] != nil {
		return nil, fmt.Errorf("listen on %s: %w", name, errTaken)
	}
	l := &listener{network: n, name: name, connections: make(chan net.Conn), closed: make(chan struct{})}
	n.listeners[name] = l
	return l, nil
}

// dial connects to an address.
func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[address]
	n.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("%s: connection refused", address)}
	if l == nil {
		return nil, refused
	}
	here, there := net.Pipe()
	select {
	case l.connections <- there:
		return here, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type listener struct {
	network     *network
	name        string
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.connections:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		delete(l.network.listeners, l.name)
	})
	return nil
}

func (l *listener) Addr() net.Addr {
	at, _ := netip.ParseAddrPort(l.name)
	return net.TCPAddrFromAddrPort(at)
}

// inProcess passes requests to a handler that returns whole responses.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	answered := make(chan *http.Response, 1)
	request := req.Clone(ctx)
	if request.Body == nil {
		request.Body = http.NoBody
	}
	request.RequestURI, request.RemoteAddr = req.URL.RequestURI(), "192.0.2.1:1234"
	if request.Host == "" {
		request.Host = req.URL.Host
	}
	go func() {
		defer func() {
			if recover() != nil { // this is how a handler aborts a connection
				close(answered)
			}
		}()
		recorder := httptest.NewRecorder()
		p.handler.ServeHTTP(recorder, request)
		answered <- recorder.Result()
	}()
	select {
	case response, ok := <-answered:
		if !ok {
			return nil, io.ErrUnexpectedEOF
		}
		response.Request = req
		return response, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
