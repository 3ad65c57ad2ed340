//go:build linux

package process

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// cloneFlags are the namespaces that are created with a machine's process 1; its network namespace
// exists before.
const cloneFlags = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC

// network is the hub: the namespace that holds a bridge for each VPC.
type network struct {
	hub *namespace

	mu      sync.Mutex
	handle  *netlink.Handle // its sockets are in the hub
	bridges map[string]*bridge
	owners  map[string]owner // of ports, by the port's name
	serial  int
}

// bridge is the bridge of a VPC.
type bridge struct {
	link  *netlink.Bridge
	ports int
	zone  uint16 // of connection tracking, because two VPCs may have the same addresses
}

func newNetwork() (*network, error) {
	hub, err := newNamespace()
	if err != nil {
		return nil, err
	}
	n := &network{hub: hub, bridges: map[string]*bridge{}, owners: map[string]owner{}}
	err = hub.do(func() (err error) {
		n.handle, err = netlink.NewHandle(unix.NETLINK_ROUTE, unix.NETLINK_NETFILTER)
		return err
	})
	if err != nil {
		hub.close()
		return nil, fmt.Errorf("open a netlink handle in the hub's network: %w", err)
	}
	return n, nil
}

func (n *network) close() {
	n.handle.Close()
	n.hub.close()
}

// plug connects a machine's namespace to its VPC and assigns its addresses. The returned function
// disconnects it.
func (n *network) plug(spec machine.Spec, ns *namespace) (unplug func(), err error) {
	port, err := n.connect(spec.VPCID, ns)
	if err != nil {
		return nil, fmt.Errorf("connect %s to its VPC: %w", spec.InstanceID, err)
	}
	disown := n.own(port, spec)
	unplug = func() {
		disown()
		n.disconnect(spec.VPCID, port)
	}
	if err := ns.do(func() error { return configure(spec) }); err != nil {
		unplug()
		return nil, fmt.Errorf("assign the addresses of %s: %w", spec.InstanceID, err)
	}
	return unplug, nil
}

// connect connects eth0 in ns to the VPC's bridge.
func (n *network) connect(vpc string, ns *namespace) (netlink.Link, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b, err := n.bridge(vpc)
	if err != nil {
		return nil, err
	}
	n.serial++
	attrs := netlink.NewLinkAttrs()
	attrs.Name = fmt.Sprintf("port%d", n.serial)
	attrs.MasterIndex = b.link.Index
	port := &netlink.Veth{LinkAttrs: attrs, PeerName: "eth0", PeerNamespace: netlink.NsFd(ns.fd())}
	if err := n.handle.LinkAdd(port); err != nil {
		return nil, fmt.Errorf("create the veth pair: %w", err)
	}
	b.ports++
	return port, n.handle.LinkSetUp(port)
}

func (n *network) bridge(vpc string) (*bridge, error) {
	if b, ok := n.bridges[vpc]; ok {
		return b, nil
	}
	n.serial++
	attrs := netlink.NewLinkAttrs()
	attrs.Name = fmt.Sprintf("vpc%d", n.serial)
	b := &bridge{link: &netlink.Bridge{LinkAttrs: attrs}, zone: n.freeZone()}
	if err := n.handle.LinkAdd(b.link); err != nil {
		return nil, fmt.Errorf("create the bridge of %s: %w", vpc, err)
	}
	if err := n.handle.LinkSetUp(b.link); err != nil {
		return nil, fmt.Errorf("start the bridge of %s: %w", vpc, err)
	}
	n.bridges[vpc] = b
	return b, nil
}

// disconnect removes the connection, and the bridge after its last one.
func (n *network) disconnect(vpc string, port netlink.Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	// It no longer exists if the machine's namespace has ended.
	_ = n.handle.LinkDel(port)
	b := n.bridges[vpc]
	if b.ports--; b.ports == 0 {
		_ = n.handle.LinkDel(b.link)
		delete(n.bridges, vpc)
	}
}

// configure configures the interfaces of the calling thread's namespace.
func configure(spec machine.Spec) error {
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer handle.Close()
	lo, err := handle.LinkByName("lo")
	if err != nil {
		return err
	}
	eth0, err := handle.LinkByName("eth0")
	if err != nil {
		return err
	}
	for _, ip := range []netip.Addr{metadataAddress, resolverAddress, apiAddress} {
		if err := address(handle, lo, netip.PrefixFrom(ip, 32)); err != nil {
			return err
		}
	}
	if spec.MAC != "" {
		mac, err := net.ParseMAC(spec.MAC)
		if err != nil {
			return err
		}
		if err := handle.LinkSetHardwareAddr(eth0, mac); err != nil {
			return fmt.Errorf("set the hardware address %s: %w", mac, err)
		}
	}
	if err := address(handle, eth0, netip.PrefixFrom(spec.PrivateIP, spec.VPCRange.Bits())); err != nil {
		return err
	}
	for _, link := range []netlink.Link{lo, eth0} {
		if err := handle.LinkSetUp(link); err != nil {
			return err
		}
	}
	// Without load balancers nothing answers there, but programs use the interface of the default
	// route to determine their address.
	gateway := routerAddress(spec.VPCRange)
	err = handle.RouteAdd(&netlink.Route{LinkIndex: eth0.Attrs().Index, Gw: gateway.AsSlice()})
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add the default route: %w", err)
	}
	return nil
}

func address(handle *netlink.Handle, link netlink.Link, prefix netip.Prefix) error {
	ip := &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
	if err := handle.AddrAdd(link, &netlink.Addr{IPNet: ip}); err != nil {
		return fmt.Errorf("add the address %s to %s: %w", prefix, link.Attrs().Name, err)
	}
	return nil
}

// bridgesWork checks that the host supports the network of a VPC.
func bridgesWork(hub *namespace) error {
	return hub.do(func() error {
		for _, link := range []netlink.Link{
			&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "vpc0"}},
			&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "port0"}, PeerName: "eth0"},
		} {
			if err := netlink.LinkAdd(link); err != nil {
				return fmt.Errorf("the kernel cannot create an interface of type %s: %w", link.Type(), err)
			}
		}
		return nil
	})
}
