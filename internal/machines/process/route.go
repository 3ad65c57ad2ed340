//go:build linux

package process

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/firewall"
)

// errNoRoute ends a connection to AWS that the VPC does not carry, after the client has given up.
var errNoRoute = errors.New("the VPC carries no packets from the machine to this endpoint")

// awaitRoute returns when the packets of a connection to an endpoint of AWS pass: when security
// groups and network ACLs allow them and a route leads there. Until then the client gets no response,
// as if its packets were dropped. The connection itself stays in the machine, so it cannot be filtered
// by the kernel.
func (h *Host) awaitRoute(m *guestMachine, hello *tls.ClientHelloInfo) error {
	if !h.FiltersPackets() {
		return nil
	}
	for {
		changed := h.filter.next()
		if h.routed(m, hello.ServerName) {
			return nil
		}
		if hungUp(hello.Conn, changed) {
			return fmt.Errorf("%w: %s, %s", errNoRoute, m.spec.InstanceID, hello.ServerName)
		}
	}
}

// routed reports whether a packet from a machine to an endpoint passes.
func (h *Host) routed(m *guestMachine, name string) bool {
	h.mu.Lock()
	services := h.services
	h.mu.Unlock()
	network, ok := services.Firewall(m.spec.VPCID)
	if !ok {
		return false
	}
	return firewall.Compile(network).Allows(firewall.Packet{
		From: m.spec.PrivateIP, To: services.EndpointAddress(m.spec.VPCID, name), Protocol: firewall.TCP, Port: 443,
	})
}

// hungUp waits until the client closes the connection, and reports true, or until something changes.
// The client sends nothing meanwhile, because it waits for a response.
func hungUp(conn net.Conn, changed <-chan struct{}) bool {
	_ = conn.SetDeadline(time.Time{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = conn.Read(make([]byte, 1))
	}()
	select {
	case <-ended:
		return true
	case <-changed:
		_ = conn.SetReadDeadline(time.Unix(1, 0)) // ends the read
		<-ended
		_ = conn.SetReadDeadline(time.Time{})
		return false
	}
}
