//go:build linux

package process

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// Dial connects to a port of a machine, from within the machine.
func (h *Host) Dial(ctx context.Context, instanceID string, port int) (net.Conn, error) {
	m, err := h.find(instanceID)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	if port < 1 || port > 65535 {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("no such port: %d", port)}
	}
	target := netip.AddrPortFrom(m.spec.PrivateIP, uint16(port))
	var conn net.Conn
	err = m.ns.do(func() (err error) {
		var dialer net.Dialer
		conn, err = dialer.DialContext(ctx, "tcp4", target.String())
		return err
	})
	if err != nil {
		return nil, err
	}
	return m.sockets.keep(conn), nil
}
