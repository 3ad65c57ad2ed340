//go:build linux

package agent

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Two nodes reach each other's hosts at the addresses of the pod network. Between them, only packets
// of VXLAN with the nodes' addresses pass. No route leads to a deleted node.
func TestPodNetworkWrapsPacketsBetweenNodes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces needs root")
	}
	one := peer{node: netip.MustParseAddr("10.0.0.5"), pods: netip.MustParsePrefix("100.64.1.0/24")}
	two := peer{node: netip.MustParseAddr("10.0.0.6"), pods: netip.MustParsePrefix("100.64.2.0/24")}
	inOne, inTwo := inNamespace(t), inNamespace(t)
	var second int
	inTwo(func() error { second = unix.Gettid(); return nil })
	inOne(func() error {
		return netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: "eth0", PeerNamespace: netlink.NsPid(second)})
	})
	inOne(func() error { return assign(one.node) })
	inTwo(func() error { return assign(two.node) })
	for range 2 { // the second time, nothing is left to do
		inOne(func() error { return connected(t, one, two) })
		inTwo(func() error { return connected(t, two, one) })
	}

	var listener net.Listener
	inTwo(func() (err error) {
		listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp4", netip.AddrPortFrom(two.endpoint(), 80).String())
		return err
	})
	defer func() { _ = listener.Close() }()
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, _ = io.WriteString(conn, conn.RemoteAddr().(*net.TCPAddr).IP.String())
			_ = conn.Close()
		}
	}()
	var conn net.Conn
	inOne(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(t.Context(), "tcp4", netip.AddrPortFrom(two.endpoint(), 80).String())
		return err
	})
	defer func() { _ = conn.Close() }()
	if said, err := io.ReadAll(conn); err != nil || string(said) != one.endpoint().String() {
		t.Errorf("the other node sees %q, %v, want %s", said, err, one.endpoint())
	}

	inOne(func() error { return connected(t, one) })
	inOne(func() error {
		link, err := netlink.LinkByName(vxlanName)
		if err != nil {
			return err
		}
		routes, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Protocol: routeProtocol}, netlink.RT_FILTER_PROTOCOL)
		if err != nil || len(routes) != 0 {
			t.Errorf("routes to a former node: %v, %v", routes, err)
		}
		for _, family := range []int{unix.AF_INET, unix.AF_BRIDGE} {
			left, err := netlink.NeighList(link.Attrs().Index, family)
			for i := range left {
				if left[i].IP != nil {
					t.Errorf("a former node is known: %v, %v", left[i], err)
				}
			}
		}
		return nil
	})

	moved := peer{node: one.node, pods: netip.MustParsePrefix("100.64.9.0/24")}
	inOne(func() error { return connected(t, moved) })
	inOne(func() error {
		link, err := netlink.LinkByName(vxlanName)
		if err == nil && (!hasAddress(link, moved.endpoint()) || hasAddress(link, one.endpoint())) {
			t.Error("the node kept the address of its former range")
		}
		return err
	})
}

// connected connects a node, and checks the size of the largest packet.
func connected(t *testing.T, own peer, others ...peer) error {
	t.Helper()
	mtu, err := connectPods(own, others)
	if mtu != 1450 {
		t.Errorf("pods may send packets of %d bytes, want 1450", mtu)
	}
	return err
}

func assign(address netip.Addr) error {
	link, err := netlink.LinkByName("eth0")
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{IP: address.AsSlice(), Mask: net.CIDRMask(24, 32)}}); err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

// inNamespace makes a network namespace, and returns what runs a function on its thread.
func inNamespace(t *testing.T) (run func(func() error)) {
	t.Helper()
	work, results := make(chan func() error), make(chan error)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	go func() {
		runtime.LockOSThread() // the thread ends with its namespace
		results <- unix.Unshare(unix.CLONE_NEWNET)
		for {
			select {
			case f := <-work:
				results <- f()
			case <-ctx.Done():
				return
			}
		}
	}()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(<-results)
	return func(f func() error) {
		t.Helper()
		work <- f
		check(<-results)
	}
}
