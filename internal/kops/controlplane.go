package kops

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/translation"
)

// Roles of groups, under the names that kops gave them over time.
const (
	roleControlPlane = "ControlPlane"
	roleNode         = "Node"
	roleBastion      = "Bastion"
)

// role returns the role by any of its names, empty if it is none.
func role(name string) string {
	switch strings.ToLower(name) {
	case "master", "controlplane", "control-plane":
		return roleControlPlane
	case "node", "":
		return roleNode
	case "bastion":
		return roleBastion
	}
	return ""
}

// withRole returns the cluster's groups of a role, by name.
func (c *cluster) withRole(wanted string) []*group {
	var found []*group
	for _, g := range c.groups {
		given := g.spec.Text("role")
		switch role(given) {
		case wanted:
			found = append(found, g)
		case "":
			if wanted == roleNode { // said once
				g.spec.Refuse("role", "the role must be Master, ControlPlane, Node or Bastion")
			}
		}
	}
	slices.SortStableFunc(found, func(a, b *group) int { return strings.Compare(a.name, b.name) })
	return found
}

// controlPlane translates masters and etcd to slots.
func (c *cluster) controlPlane(cp *v1alpha1.ControlPlane) {
	masters := c.withRole(roleControlPlane)
	members := c.etcd(cp)
	zones := c.slotZones(masters, members)
	switch count := len(zones); count {
	case 1, 3:
		cp.Replicas = int32(count)
	case 0:
		c.t.Problem(c.spec.Document, c.spec.Document.Value.Line, "spec", "",
			"no groups have the role Master or ControlPlane: pass them with the cluster")
	default:
		c.t.Problem(c.spec.Document, c.spec.Document.Value.Line, "spec", "",
			"%d masters are not supported: the number of etcd members is fixed, so define groups and etcdMembers for 1 or 3", len(zones))
	}
	cp.Zones = inTurn(zones)
	if len(cp.Zones) > 0 && !slices.EqualFunc(turns(cp.Zones, len(zones)), slices.Sorted(slices.Values(zones)), strings.EqualFold) {
		c.t.Problem(
			c.spec.Document,
			c.spec.Document.Value.Line,
			"spec",
			"",
			"masters in zones %s are not supported: slots are distributed over the zones in turn",
			strings.Join(zones, ", "),
		)
	}
	for i, g := range masters {
		own := g.slots()
		if i == 0 {
			etcd, replicas, args := cp.EtcdVolume, cp.Replicas, cp.ExtraArgs
			inZones := cp.Zones
			*cp = own
			cp.EtcdVolume, cp.Replicas, cp.Zones, cp.ExtraArgs = etcd, replicas, inZones, args
			continue
		}
		c.alike(cp, g, &own)
	}
}

// alike says if a master is not as the first one, which all slots are as.
func (c *cluster) alike(cp *v1alpha1.ControlPlane, g *group, own *v1alpha1.ControlPlane) {
	for _, id := range own.SecurityGroups {
		cp.SecurityGroups = appendNew(cp.SecurityGroups, id)
	}
	same := own.InstanceType == cp.InstanceType && own.Image == cp.Image &&
		reflect.DeepEqual(own.RootVolume, cp.RootVolume) && maps.Equal(own.Labels, cp.Labels) &&
		reflect.DeepEqual(own.NodeSetup, cp.NodeSetup)
	if !same {
		g.spec.Note("", Warning, "its type, image, disk, labels, files or hooks differ from those of the first master, which all slots use")
	}
}

// inTurn returns the different zones, those of most slots first, as slots stand in them in turn.
func inTurn(zones []string) []string {
	count := map[string]int{}
	var different []string
	for _, zone := range zones {
		if count[zone] == 0 {
			different = append(different, zone)
		}
		count[zone]++
	}
	slices.SortStableFunc(different, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	return different
}

// turns returns the zones of n slots that stand in zones in turn, sorted.
func turns(zones []string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = zones[i%len(zones)]
	}
	slices.Sort(all)
	return all
}

// slotZones returns the zone of each slot: of each member of etcd the zone of its group, or else
// those of the groups.
func (c *cluster) slotZones(masters []*group, members []string) []string {
	var zones, machines []string
	taken := map[string]int{}
	for _, g := range masters {
		own := g.zones()
		for i := range g.spec.Number("minSize", 1) {
			if len(own) > 0 {
				machines = append(machines, own[int(i)%len(own)])
			}
		}
	}
	if len(members) == 0 {
		return machines
	}
	for _, member := range members {
		i := slices.IndexFunc(masters, func(g *group) bool { return g.name == member })
		if i < 0 {
			c.spec.Refuse("etcdClusters", fmt.Sprintf("an etcd member belongs to group %s, which is not a master in the manifests", member))
			return nil
		}
		own := masters[i].zones()
		if len(own) == 0 {
			return nil
		}
		zones = append(zones, own[taken[member]%len(own)])
		taken[member]++
	}
	if len(zones) != len(machines) {
		c.spec.Refuse(
			"etcdClusters",
			fmt.Sprintf("etcd has %d members, but the cluster has %d masters: each slot has one member", len(zones), len(machines)),
		)
	}
	return zones
}

// slots translates a group of masters.
func (g *group) slots() v1alpha1.ControlPlane {
	g.spec.Number("maxSize", 1)
	cp := v1alpha1.ControlPlane{
		InstanceType:   g.spec.Text("machineType"),
		Image:          g.image(),
		RootVolume:     translation.Volume(g.spec, rootVolume),
		SecurityGroups: securityGroupsOf(g.spec, "additionalSecurityGroups"),
		Labels:         g.labels(),
		NodeSetup:      g.nodeSetup(),
	}
	if cp.InstanceType == "" {
		g.spec.Note("machineType", Info, "the default instance type of slots is m6i.large")
	}
	g.finish()
	return cp
}

var etcdVolume = translation.VolumeNames{Kind: "volumeType", Size: "volumeSize", IOPS: "volumeIops", Throughput: "volumeThroughput"}

// etcd translates etcd's volumes and returns the groups of the members of the main cluster, by the
// members' names.
func (c *cluster) etcd(cp *v1alpha1.ControlPlane) []string {
	members := map[string]string{}
	for i, p := range c.spec.Sections("etcdClusters", etcdFields) {
		name := p.Text("name")
		args := etcdArgumentsOf(p)
		for _, m := range p.Sections("etcdMembers", memberFields) {
			volume := translation.Volume(m, etcdVolume)
			group, member := m.Text("instanceGroup"), m.Text("name")
			m.Finish()
			if name == "main" || name == "" && i == 0 {
				members[member] = group
				cp.EtcdVolume = larger(cp.EtcdVolume, volume)
			}
		}
		if name == "main" {
			cp.ExtraArgs.Etcd = orNil(args)
		} else {
			p.Note("name", Info, "one etcd stores everything, including events")
		}
		p.Finish()
	}
	groups := make([]string, 0, len(members))
	for _, member := range sorted(members) {
		groups = append(groups, members[member])
	}
	return groups
}

// larger returns the volume that does for both.
func larger(a, b v1alpha1.Volume) v1alpha1.Volume {
	v := v1alpha1.Volume{
		Type: cmp.Or(a.Type, b.Type), SizeGiB: max(a.SizeGiB, b.SizeGiB), IOPS: max(a.IOPS, b.IOPS),
		ThroughputMiBps: max(a.ThroughputMiBps, b.ThroughputMiBps),
	}
	if b.Type == v1alpha1.VolumeIO2 {
		v.Type = b.Type
	}
	if v.Type == v1alpha1.VolumeIO2 {
		v.ThroughputMiBps = 0
	}
	return v
}

// etcdArgumentsOf translates etcd's timing, which its flags take in milliseconds.
func etcdArgumentsOf(p *part) map[string]string {
	args := map[string]string{}
	for field, flag := range map[string]string{"heartbeatInterval": "heartbeat-interval", "leaderElectionTimeout": "election-timeout"} {
		text := p.Text(field)
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			p.Refuse(field, "write a duration, for example 500ms")
			continue
		}
		args[flag] = strconv.FormatInt(d.Milliseconds(), 10)
	}
	return args
}

// bastion translates the groups of bastions to one.
func (c *cluster) bastion() *v1alpha1.Bastion {
	var b *v1alpha1.Bastion
	const most = 10
	for _, g := range c.withRole(roleBastion) {
		kind, size := g.spec.Text("machineType"), min(g.spec.Number("minSize", 1), most)
		g.spec.Number("maxSize", 1)
		g.spec.Field("subnets")
		if b == nil {
			b = &v1alpha1.Bastion{InstanceType: kind}
		}
		b.Replicas += size
		for field, why := range map[string]string{
			"image":                    "bastions use the release's image",
			"additionalSecurityGroups": "bastions have only the security group of the operator",
		} {
			if v := g.spec.Field(field); v != nil && !translation.Empty(v) {
				g.spec.Note(field, Info, why)
			}
		}
		g.finish()
	}
	if b != nil && b.Replicas == 0 {
		return nil
	}
	return b
}

// zones returns the zones of the group's subnets, which are named; a subnet of the name of its zone
// needs no more.
func (g *group) zones() []string {
	var zones []string
	for _, s := range g.subnets() {
		zones = appendNew(zones, s.zone)
	}
	return zones
}

// subnets returns the group's subnets; all for nodes when it names none.
func (g *group) subnets() []*subnet {
	names := g.spec.Texts("subnets")
	var found []*subnet
	for _, name := range names {
		i := slices.IndexFunc(g.cluster.subnets, func(s *subnet) bool { return s.name == name })
		if i < 0 {
			if !g.reported {
				g.reported = true
				g.spec.Refuse("subnets", "the cluster has no subnet "+name)
			}
			continue
		}
		found = append(found, g.cluster.subnets[i])
	}
	if len(names) > 0 {
		return found
	}
	for _, s := range g.cluster.subnets {
		if s.role == v1alpha1.SubnetRole(g.cluster.result.Spec.Network.Topology) {
			found = append(found, s)
		}
	}
	return found
}
