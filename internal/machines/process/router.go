//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// router is a VPC's router, which has the first address of the VPC, with the VPC's load balancers: a
// network namespace that is connected to the VPC like a machine, in which no process runs. Machines
// send there what is not in the VPC, such as connections to public addresses of load balancers.
type router struct {
	ns        *namespace
	handle    *netlink.Handle // its sockets are in the namespace
	unplug    func()
	sockets   sockets
	vpcRange  netip.Prefix
	addresses map[netip.Addr]int // how many frontends use an address
	frontends int
}

// newRouter connects a router to a VPC.
func (n *network) newRouter(at machine.Frontend) (*router, error) {
	if !at.VPCRange.IsValid() {
		return nil, fmt.Errorf("the range of %s is unknown", at.VPCID)
	}
	ns, err := newNamespace()
	if err != nil {
		return nil, err
	}
	r := &router{ns: ns, vpcRange: at.VPCRange, addresses: map[netip.Addr]int{}}
	port, err := n.connect(at.VPCID, ns)
	if err != nil {
		ns.close()
		return nil, fmt.Errorf("connect the router of %s: %w", at.VPCID, err)
	}
	r.unplug = func() { n.disconnect(at.VPCID, port) }
	if err := ns.do(r.configure); err != nil {
		r.close()
		return nil, fmt.Errorf("configure the router of %s: %w", at.VPCID, err)
	}
	return r, nil
}

// configure configures the interfaces of the calling thread's namespace.
func (r *router) configure() (err error) {
	if r.handle, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return err
	}
	for _, name := range []string{"lo", "eth0"} {
		link, err := r.handle.LinkByName(name)
		if err != nil {
			return err
		}
		if name == "eth0" {
			own := netip.PrefixFrom(routerAddress(r.vpcRange), r.vpcRange.Bits())
			if err := address(r.handle, link, own); err != nil {
				return err
			}
		}
		if err := r.handle.LinkSetUp(link); err != nil {
			return err
		}
	}
	return nil
}

// routerAddress is the address of a VPC's router: https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
func routerAddress(vpcRange netip.Prefix) netip.Addr { return vpcRange.Masked().Addr().Next() }

func (r *router) close() {
	r.sockets.close()
	r.unplug()
	if r.handle != nil {
		r.handle.Close()
	}
	r.ns.close()
}

// add adds a use of an address: one of an interface of the VPC, or a public one.
func (r *router) add(at netip.Addr) error {
	if r.addresses[at]++; r.addresses[at] > 1 {
		return nil
	}
	return r.change(at, r.handle.AddrAdd, unix.EEXIST)
}

func (r *router) remove(at netip.Addr) {
	if r.addresses[at]--; r.addresses[at] == 0 {
		delete(r.addresses, at)
		_ = r.change(at, r.handle.AddrDel, unix.EADDRNOTAVAIL) // it ends with the namespace at the latest
	}
}

func (r *router) change(at netip.Addr, change func(netlink.Link, *netlink.Addr) error, done error) error {
	name := "lo"
	if r.vpcRange.Contains(at) {
		name = "eth0"
	}
	link, err := r.handle.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find the interface of %s: %w", at, err)
	}
	prefix := &net.IPNet{IP: at.AsSlice(), Mask: net.CIDRMask(at.BitLen(), at.BitLen())}
	if err := change(link, &netlink.Addr{IPNet: prefix}); err != nil && !errors.Is(err, done) {
		return fmt.Errorf("change the address %s: %w", at, err)
	}
	return nil
}

// serve listens on an address that was added, until the returned listener is closed.
func (r *router) serve(at netip.AddrPort, serve func(net.Conn)) (net.Listener, error) {
	var listener net.Listener
	err := r.ns.do(func() (err error) {
		listener, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp4", at.String())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", at, err)
	}
	r.sockets.add(listener)
	kept := &keptListener{Listener: listener, owner: &r.sockets}
	go func() {
		for {
			conn, err := kept.Accept()
			if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) {
				return
			}
			if err == nil {
				go serve(conn)
			}
		}
	}()
	return kept, nil
}

// Serve makes a port of a load balancer reachable from the machines of its VPC.
func (h *Host) Serve(at machine.Frontend, serve func(net.Conn)) (stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return func() {}
	}
	r, err := h.router(at)
	if err != nil {
		h.opts.Log.Error(err, "a load balancer cannot be reached from machines")
		return func() {}
	}
	r.frontends++
	var listeners []net.Listener
	for _, ip := range at.Addresses {
		err := r.add(ip)
		if err == nil {
			var listener net.Listener
			if listener, err = r.serve(netip.AddrPortFrom(ip, at.Port), serve); err == nil {
				listeners = append(listeners, listener)
			}
		}
		if err != nil {
			h.opts.Log.Error(err, "a load balancer cannot be reached from machines at one of its addresses")
		}
	}
	return func() {
		for _, listener := range listeners {
			_ = listener.Close()
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.routers[at.VPCID] != r {
			return // the host is closed
		}
		for _, ip := range at.Addresses {
			r.remove(ip)
		}
		if r.frontends--; r.frontends == 0 {
			delete(h.routers, at.VPCID)
			r.close()
		}
	}
}

// router returns the router of a VPC, which exists while it has a load balancer. The caller holds
// h.mu.
func (h *Host) router(at machine.Frontend) (*router, error) {
	if r, ok := h.routers[at.VPCID]; ok {
		return r, nil
	}
	r, err := h.network.newRouter(at)
	if err != nil {
		return nil, err
	}
	h.routers[at.VPCID] = r
	return r, nil
}
