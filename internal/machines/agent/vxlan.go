//go:build linux

package agent

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The pod network wraps packets between nodes in VXLAN with Linux's port, as Flannel does: the VPC
// sees the nodes' addresses only, and its security groups must allow the port.
// https://github.com/flannel-io/flannel/blob/master/Documentation/backends.md#vxlan
const (
	vxlanName = "pods.1"
	vxlanID   = 1
	vxlanPort = 8472
	// vxlanOverhead is the size of the headers around a packet: Ethernet, VXLAN, UDP and IPv4.
	// https://www.rfc-editor.org/rfc/rfc7348#section-5
	vxlanOverhead = 14 + 8 + 8 + 20
)

// peer is a node of the pod network.
type peer struct {
	node netip.Addr   // its address in the VPC
	pods netip.Prefix // the range of its pods
}

// endpoint is the address at which a node's host has its end of the network: the first one of its
// range, which no pod gets.
func (p peer) endpoint() netip.Addr { return p.pods.Masked().Addr() }

// hardware is the hardware address of a node's end. It follows from the node's address, so that nodes
// need not announce theirs; 0a means that it is locally administered.
func (p peer) hardware() net.HardwareAddr {
	a := p.node.As4()
	return net.HardwareAddr{0x0a, 0x58, a[0], a[1], a[2], a[3]}
}

// connectPods creates the node's end of the pod network and connects it to exactly these nodes. It
// returns the size of the largest packet of a pod.
func connectPods(own peer, others []peer) (mtu int, err error) {
	link, err := vxlanLink(own)
	if err != nil {
		return 0, err
	}
	wanted := map[netip.Prefix]peer{}
	for _, p := range others {
		wanted[p.pods] = p
	}
	errs := []error{forgetPeers(link, wanted)}
	for _, p := range others {
		errs = append(errs, connectPeer(link, p))
	}
	return link.Attrs().MTU, errors.Join(errs...)
}

// vxlanLink returns the node's end of the network. It replaces one of another address or range, which
// a node can get, and one that is not complete.
func vxlanLink(own peer) (netlink.Link, error) {
	port, err := linkOf(own.node)
	if err != nil {
		return nil, err
	}
	link, err := netlink.LinkByName(vxlanName)
	switch missing := (netlink.LinkNotFoundError{}); {
	case errors.As(err, &missing):
		return addVXLAN(own, port.Attrs())
	case err != nil:
		return nil, fmt.Errorf("find the interface of the pod network: %w", err)
	case link.Attrs().HardwareAddr.String() == own.hardware().String() && link.Attrs().Flags&net.FlagUp != 0 &&
		hasAddress(link, own.endpoint()):
		return link, nil
	}
	if err := netlink.LinkDel(link); err != nil {
		return nil, fmt.Errorf("remove the former interface of the pod network: %w", err)
	}
	return addVXLAN(own, port.Attrs())
}

func addVXLAN(own peer, port *netlink.LinkAttrs) (netlink.Link, error) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.HardwareAddr, attrs.MTU = vxlanName, own.hardware(), port.MTU-vxlanOverhead
	link := &netlink.Vxlan{
		LinkAttrs: attrs, VxlanId: vxlanID, VtepDevIndex: port.Index, SrcAddr: own.node.AsSlice(), Port: vxlanPort, Learning: false,
	}
	if err := netlink.LinkAdd(link); err != nil {
		return nil, fmt.Errorf("create the interface of the pod network: %w", err)
	}
	host := &net.IPNet{IP: own.endpoint().AsSlice(), Mask: net.CIDRMask(32, 32)}
	if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: host}); err != nil {
		return nil, fmt.Errorf("assign the address of the pod network: %w", err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return nil, fmt.Errorf("start the interface of the pod network: %w", err)
	}
	return link, nil
}

// linkOf returns the interface with an address.
func linkOf(address netip.Addr) (netlink.Link, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list the interfaces: %w", err)
	}
	for _, link := range links {
		if hasAddress(link, address) {
			return link, nil
		}
	}
	return nil, fmt.Errorf("no interface has the node's address %s", address)
}

func hasAddress(link netlink.Link, wanted netip.Addr) bool {
	all, err := netlink.AddrList(link, netlink.FAMILY_V4)
	if err != nil {
		return false
	}
	for _, a := range all {
		if a.IP.Equal(wanted.AsSlice()) {
			return true
		}
	}
	return false
}

// connectPeer tells the kernel where the pods of another node are: a route, the hardware address of
// its next hop, and the node at which that is.
func connectPeer(link netlink.Link, p peer) error {
	index, at := link.Attrs().Index, p.endpoint().AsSlice()
	err := errors.Join(
		netlink.NeighSet(&netlink.Neigh{
			LinkIndex: index, State: netlink.NUD_PERMANENT, Type: unix.RTN_UNICAST, IP: at, HardwareAddr: p.hardware(),
		}),
		netlink.NeighSet(&netlink.Neigh{
			LinkIndex: index, Family: unix.AF_BRIDGE, State: netlink.NUD_PERMANENT, Flags: netlink.NTF_SELF, IP: p.node.AsSlice(),
			HardwareAddr: p.hardware(),
		}),
		netlink.RouteReplace(&netlink.Route{
			LinkIndex: index, Scope: netlink.SCOPE_UNIVERSE, Gw: at, Flags: int(netlink.FLAG_ONLINK), Protocol: routeProtocol,
			Dst: &net.IPNet{IP: at, Mask: net.CIDRMask(p.pods.Bits(), 32)},
		}),
	)
	if err != nil {
		return fmt.Errorf("connect to the pods of %s: %w", p.node, err)
	}
	return nil
}

// forgetPeers removes what leads to other ranges than the wanted ones, or to former nodes of those.
func forgetPeers(link netlink.Link, wanted map[netip.Prefix]peer) error {
	routes, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Protocol: routeProtocol}, netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return fmt.Errorf("list the routes: %w", err)
	}
	var errs []error
	for i := range routes {
		if to, err := netip.ParsePrefix(routes[i].Dst.String()); err != nil || !wanted[to].node.IsValid() {
			errs = append(errs, netlink.RouteDel(&routes[i]))
		}
	}
	hops, nodes := map[string]string{}, map[string]string{} // hardware addresses, by address
	for _, p := range wanted {
		hops[p.endpoint().String()], nodes[p.node.String()] = p.hardware().String(), p.hardware().String()
	}
	for family, keep := range map[int]map[string]string{unix.AF_INET: hops, unix.AF_BRIDGE: nodes} {
		have, err := netlink.NeighList(link.Attrs().Index, family)
		if err != nil {
			return fmt.Errorf("list the neighbors: %w", err)
		}
		for i := range have {
			if have[i].IP != nil && have[i].State&netlink.NUD_PERMANENT != 0 && keep[have[i].IP.String()] != have[i].HardwareAddr.String() {
				errs = append(errs, netlink.NeighDel(&have[i]))
			}
		}
	}
	return errors.Join(errs...)
}
