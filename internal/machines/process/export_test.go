//go:build linux

package process

import (
	"context"
	"net"
	"net/netip"

	"github.com/google/nftables"
)

// ListenIn opens a socket inside a machine.
func (h *Host) ListenIn(instanceID string, address netip.AddrPort) (net.Listener, error) {
	m, err := h.find(instanceID)
	if err != nil {
		return nil, err
	}
	return m.listen(address)
}

// DialIn connects to an address from within a machine.
func (h *Host) DialIn(ctx context.Context, instanceID, protocol string, to netip.AddrPort) (net.Conn, error) {
	m, err := h.find(instanceID)
	if err != nil {
		return nil, err
	}
	var conn net.Conn
	err = m.ns.do(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, protocol, to.String())
		return err
	})
	return conn, err
}

// TablesIn returns the number of nftables tables that a machine has.
func (h *Host) TablesIn(instanceID string) (int, error) {
	m, err := h.find(instanceID)
	if err != nil {
		return 0, err
	}
	conn, err := nftables.New(nftables.WithNetNSFd(m.ns.fd()))
	if err != nil {
		return 0, err
	}
	tables, err := conn.ListTables()
	return len(tables), err
}
