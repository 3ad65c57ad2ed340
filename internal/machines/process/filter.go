//go:build linux

package process

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/aws-operator/aws-operator/internal/machines/packetfilter"
	"github.com/aws-operator/aws-operator/internal/simulator/firewall"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

var _ machine.Filtering = (*Host)(nil)

// filter keeps the kernel's rules equal to the VPCs' firewalls.
type filter struct {
	host     *Host
	firewall func(vpcID string) (*firewall.Network, bool) // nil: everything passes
	dirty    chan struct{}
	end      chan struct{}
	ended    chan struct{}

	mu      sync.Mutex
	closed  bool
	loaded  []packetfilter.VPC
	changed chan struct{} // closed and replaced after each change
}

func newFilter(h *Host) *filter {
	return &filter{host: h, dirty: make(chan struct{}, 1), end: make(chan struct{}), changed: make(chan struct{})}
}

// connect begins to filter, if the simulator has VPCs and the kernel can.
func (f *filter) connect(services machine.Services) {
	if services.Firewall == nil {
		return
	}
	if err := f.prepare(); err != nil {
		f.host.opts.Log.Error(err, "security groups, network ACLs and routes are not enforced")
		return
	}
	f.firewall = services.Firewall
	f.ended = make(chan struct{})
	services.Watch(f.markDirty)
	go f.follow()
}

// prepare makes the kernel pass packets of bridges to the rules.
func (f *filter) prepare() error {
	if err := packetfilter.Supported(); err != nil {
		return err
	}
	return f.host.network.hub.do(func() error {
		return os.WriteFile("/proc/sys/net/bridge/bridge-nf-call-iptables", []byte("1"), 0o600)
	})
}

func (f *filter) markDirty() {
	select {
	case f.dirty <- struct{}{}:
	default: // an update that has not begun will see the change
	}
}

func (f *filter) follow() {
	defer close(f.ended)
	for {
		select {
		case <-f.end:
			return
		case <-f.dirty:
			if err := f.update(); err != nil {
				f.host.opts.Log.Error(err, "update the rules for packets")
			}
		}
	}
}

func (f *filter) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	close(f.end)
	if f.ended != nil {
		<-f.ended
	}
}

// update loads the rules if they have changed.
func (f *filter) update() error {
	if f.firewall == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	wanted := f.host.network.vpcs(f.firewall)
	if f.loaded == nil || !reflect.DeepEqual(wanted, f.loaded) {
		if err := packetfilter.Load(f.host.network.hub.fd(), wanted); err != nil {
			return fmt.Errorf("filter the packets of VPCs: %w", err)
		}
		f.loaded = wanted
	}
	close(f.changed)
	f.changed = make(chan struct{})
	return nil
}

// next returns a channel that is closed after the next update.
func (f *filter) next() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

// CanFilterPackets returns an error if this kernel cannot filter packets between machines, which then
// all pass.
func CanFilterPackets() error { return packetfilter.Supported() }

// FiltersPackets reports whether packets are filtered.
func (h *Host) FiltersPackets() bool { return h.filter.firewall != nil }

// owner is the machine at a port.
type owner struct{ vpc, instanceID string }

// own records the machine at a port. The returned function forgets the machine and its connections.
func (n *network) own(port netlink.Link, spec machine.Spec) (disown func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := port.Attrs().Name
	n.owners[name] = owner{vpc: spec.VPCID, instanceID: spec.InstanceID}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.owners, name)
		n.forgetConnections(n.bridges[spec.VPCID].zone, spec.PrivateIP)
	}
}

// vpcs returns the rules of all bridges. A VPC that does not exist carries nothing.
func (n *network) vpcs(of func(vpcID string) (*firewall.Network, bool)) []packetfilter.VPC {
	n.mu.Lock()
	bridges := make(map[string]packetfilter.VPC, len(n.bridges))
	for id, b := range n.bridges {
		bridges[id] = packetfilter.VPC{Bridge: b.link.Name, Zone: b.zone}
	}
	owners := maps.Clone(n.owners)
	n.mu.Unlock()
	list := []packetfilter.VPC{}
	for id, v := range bridges {
		if network, ok := of(id); ok {
			v.Rules = firewall.Compile(network)
			for _, name := range slices.Sorted(maps.Keys(owners)) {
				if owners[name].vpc == id {
					v.Ports = append(v.Ports, packetfilter.Port{Name: name, Addresses: addressesOf(network, owners[name].instanceID)})
				}
			}
		}
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b packetfilter.VPC) int { return cmp.Compare(a.Zone, b.Zone) })
	return list
}

// addressesOf returns the addresses of an instance's interfaces, or nil if one of them has no source
// and destination check.
func addressesOf(n *firewall.Network, instanceID string) []netip.Addr {
	list := []netip.Addr{}
	for i := range n.Interfaces {
		e := &n.Interfaces[i]
		if e.Instance != instanceID {
			continue
		}
		if !e.SourceDestCheck {
			return nil
		}
		list = append(list, e.Addresses...)
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// freeZone returns a conntrack zone that no bridge has. The caller holds n.mu.
func (n *network) freeZone() uint16 {
	for zone := uint16(1); ; zone++ {
		taken := false
		for _, b := range n.bridges {
			taken = taken || b.zone == zone
		}
		if !taken {
			return zone
		}
	}
}

// forgetConnections ends the tracking of an address's connections, because another machine may get
// the address.
func (n *network) forgetConnections(zone uint16, address netip.Addr) {
	for _, side := range []netlink.ConntrackFilterType{netlink.ConntrackOrigSrcIP, netlink.ConntrackOrigDstIP} {
		match := &netlink.ConntrackFilter{}
		if match.AddZone(zone) != nil || match.AddIP(side, address.AsSlice()) != nil {
			continue
		}
		_, _ = n.handle.ConntrackDeleteFilters(netlink.ConntrackTable, unix.AF_INET, match) // they end when they are idle
	}
}
