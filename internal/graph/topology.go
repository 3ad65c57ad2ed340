package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// State is the state of an instance and its node.
type State string

// The states, as a legend lists them.
const (
	Ready       State = "Ready"
	InService   State = "in service" // and the state of its node is unknown, or it has none
	Outdated    State = "outdated"
	Starting    State = "starting"
	NotReady    State = "NotReady"
	Terminating State = "terminating"
	Missing     State = "missing"
	Planned     State = "planned"
)

var states = []State{Ready, InService, Outdated, Starting, NotReady, Terminating, Missing, Planned}

// Topology is where a cluster runs: its zones, subnets, load balancer, groups and instances.
type Topology struct {
	// Name is the cluster's, Release and Region are those of the cluster.
	Name, Release, Region string
	// VPC describes the VPC, API the API's load balancer.
	VPC, API string
	// APIZones are the zones of the load balancer's subnets.
	APIZones []string
	// Zones are all zones, in their order.
	Zones []string
	// Layers are the public subnets and the nodes' subnets, and other subnets of groups.
	Layers []Layer
	// Notes are what is not known or not in the drawing.
	Notes []string
}

// Layer is subnets of one purpose, at most one in a zone, with the groups in them.
type Layer struct {
	Subnets []Subnet
	Groups  []Group
}

// Subnet is a subnet.
type Subnet struct {
	// Zone is its zone.
	Zone string
	// Facts are its role, its ID if it has one, its range, and whether it has a NAT gateway.
	Facts []string

	from model.Subnet
}

// Group is a slot, an instance group or the bastions.
type Group struct {
	// Name is control-plane-0, bastion or the name of the instance group. Text is its size and
	// types.
	Name, Text string
	// Zones are the zones of its subnets.
	Zones []string
	// Machines are its instances, and places of those that are missing or planned.
	Machines []Machine
}

// Machine is an instance with its node.
type Machine struct {
	// Node is the node's name without its domain, ID the instance's. Both are empty for a place.
	Node, ID string
	// Zone is its zone.
	Zone string
	// State is the worst of its states, Text all of them.
	State State
	Text  string
}

// mapper builds a topology.
type mapper struct {
	cluster *model.Cluster
	seen    *live.Observation
	nodes   map[string]*workload.Node
	vacant  State // of a place without an instance
	made    *Topology
}

// TopologyOf returns the topology of a resolved cluster and its groups. Without an observation, it
// is what is planned.
func TopologyOf(c *model.Cluster, groups []*model.Group, seen *live.Observation) *Topology {
	m := &mapper{cluster: c, seen: seen, vacant: Missing, nodes: map[string]*workload.Node{}, made: &Topology{
		Name: c.Name, Release: c.Release.Name, Region: c.Region, Zones: slices.Clone(c.Zones()),
	}}
	if seen != nil && len(seen.AWS.Groups) == 0 && seen.AWS.LoadBalancer == nil && seen.AWS.EKS == nil {
		m.note("AWS has nothing of the cluster yet. This is what its definition plans.")
		m.seen = nil
	}
	if m.seen == nil {
		m.vacant = Planned
	} else if seen.API != nil {
		for i := range seen.API.Nodes {
			m.nodes[seen.API.Nodes[i].InstanceID] = &seen.API.Nodes[i]
		}
	}
	m.network()
	m.api()
	m.groups(groups)
	m.observed()
	return m.made
}

func (m *mapper) note(format string, args ...any) {
	m.made.Notes = append(m.made.Notes, fmt.Sprintf(format, args...))
}

// network describes the VPC and its subnets.
func (m *mapper) network() {
	c := m.cluster
	m.made.VPC = strings.TrimSpace(c.VPC + " " + strings.Join(c.CIDRs, ", "))
	for _, role := range []v1alpha1.SubnetRole{v1alpha1.SubnetPublic, v1alpha1.SubnetPrivate} {
		if subnets := c.SubnetsOf(role); len(subnets) > 0 {
			m.layer(subnets)
		}
	}
}

// layer returns the layer of subnets, which is added if it is new.
func (m *mapper) layer(subnets []model.Subnet) *Layer {
	for i := range m.made.Layers {
		l := &m.made.Layers[i]
		if !slices.ContainsFunc(subnets, func(s model.Subnet) bool {
			return !slices.ContainsFunc(l.Subnets, func(o Subnet) bool { return o.from == s })
		}) {
			return l
		}
	}
	l := Layer{}
	for _, s := range subnets {
		m.zone(s.Zone)
		facts := []string{strings.ToLower(string(s.Role)) + " subnet"}
		for _, fact := range []string{s.ID, s.CIDR, m.gateway(s, len(l.Subnets) == 0)} {
			if fact != "" {
				facts = append(facts, fact)
			}
		}
		l.Subnets = append(l.Subnets, Subnet{Zone: s.Zone, Facts: facts, from: s})
	}
	m.made.Layers = append(m.made.Layers, l)
	return &m.made.Layers[len(m.made.Layers)-1]
}

// gateway names the NAT gateway in a subnet, which may be the first of its layer; empty if there is
// none.
func (m *mapper) gateway(s model.Subnet, first bool) string {
	nat := m.cluster.Spec.Network.NAT
	if s.Role == v1alpha1.SubnetPublic && m.cluster.NewVPC && m.cluster.NodeRole == v1alpha1.SubnetPrivate &&
		(nat == v1alpha1.NATPerZone || nat == v1alpha1.NATSingle && first) {
		return "NAT gateway"
	}
	return ""
}

// zone adds a zone.
func (m *mapper) zone(name string) {
	if !slices.Contains(m.made.Zones, name) {
		m.made.Zones = append(m.made.Zones, name)
	}
}

// api describes the API's load balancer, or the control plane that EKS runs.
func (m *mapper) api() {
	for _, s := range m.cluster.APISubnets() {
		m.made.APIZones = append(m.made.APIZones, s.Zone)
	}
	what := "API load balancer, "
	if m.cluster.Spec.ControlPlane.EKS != nil {
		what = "control plane of EKS, "
	}
	m.made.API = what + strings.ToLower(string(m.cluster.Spec.API.Access))
	switch {
	case m.seen == nil:
		m.made.API += ": planned"
	case m.seen.AWS.EKS != nil:
		m.made.API += fmt.Sprintf(": %s, %s, %s", m.seen.AWS.EKS.Status, m.seen.AWS.EKS.Version, m.seen.AWS.Server())
	case m.seen.AWS.LoadBalancer == nil:
		m.made.API += ": missing"
	default:
		healthy, all := 0, m.seen.AWS.LoadBalancer.Targets
		for i := range all {
			if all[i].State == "healthy" {
				healthy++
			}
		}
		m.made.API += fmt.Sprintf(": %d of %d targets healthy, %s", healthy, len(all), m.seen.AWS.Server())
	}
}

// groups adds the slots, the instance groups and the bastions, and what AWS has besides those.
func (m *mapper) groups(groups []*model.Group) {
	c := m.cluster
	known := map[string]bool{}
	add := func(g Group, least int32, subnets []model.Subnet) {
		known[g.Name] = true
		for _, s := range subnets {
			g.Zones = append(g.Zones, s.Zone)
		}
		m.fill(&g, int(least))
		l := m.layer(subnets)
		l.Groups = append(l.Groups, g)
	}
	for _, slot := range c.Slots {
		text := fmt.Sprintf("%s, etcd %d GiB", c.Spec.ControlPlane.InstanceType, c.Spec.ControlPlane.EtcdVolume.SizeGiB)
		add(Group{Name: live.SlotName(slot.Index), Text: text}, 1, []model.Subnet{slot.Subnet})
	}
	for _, g := range groups {
		text := fmt.Sprintf("%d to %d instances, %s", g.Spec.MinSize, g.Spec.MaxSize, strings.Join(g.Spec.InstanceTypes, ", "))
		if g.Spec.Spot != nil {
			text += ", spot"
		}
		if len(g.Subnets) > 1 && len(g.Subnets) < len(c.NodeSubnets()) { // It may pass a zone that it is not in.
			var zones []string
			for _, s := range g.Subnets {
				zones = append(zones, s.Zone)
			}
			text += ", in " + strings.Join(zones, " and ")
		}
		add(Group{Name: g.Name, Text: text}, g.Spec.ExpectedNodes(), g.Subnets)
	}
	if b := c.Spec.Bastion; b != nil {
		add(Group{Name: model.RoleBastion, Text: b.InstanceType}, b.Replicas, c.SubnetsOf(v1alpha1.SubnetPublic))
	}
	if m.seen == nil {
		return
	}
	for _, g := range m.seen.AWS.Groups {
		if !known[g.Name] {
			add(Group{Name: g.Name, Text: "not in the definition"}, 0, c.NodeSubnets())
		}
	}
}

// fill adds the group's instances, and places until there are as many as desired, each in the zone
// with the fewest.
func (m *mapper) fill(g *Group, desired int) {
	if m.seen != nil {
		if from := m.seen.AWS.Group(g.Name); from != nil {
			desired = max(from.Desired, from.Min)
			m.instances(g, from)
		}
	}
	in := map[string]int{}
	for i := range g.Machines {
		in[g.Machines[i].Zone]++
		if g.Machines[i].State == Terminating {
			desired++
		}
	}
	for len(g.Machines) < desired && len(g.Zones) > 0 {
		zone := slices.MinFunc(g.Zones, func(a, b string) int { return in[a] - in[b] })
		in[zone]++
		g.Machines = append(g.Machines, Machine{Zone: zone, State: m.vacant, Text: string(m.vacant)})
	}
}

// instances adds the instances of an Auto Scaling group, and their zones.
func (m *mapper) instances(g *Group, from *live.Group) {
	for i := range from.Instances {
		one := m.machine(&from.Instances[i], from)
		g.Machines = append(g.Machines, one)
		m.zone(one.Zone)
		if !slices.Contains(g.Zones, one.Zone) {
			g.Zones = append(g.Zones, one.Zone)
		}
	}
}

// machine returns an instance with the state of its node.
func (m *mapper) machine(one *live.Instance, of *live.Group) Machine {
	made := Machine{ID: one.ID, Zone: one.Zone}
	node := m.nodes[one.ID]
	made.State, made.Text = m.stateOf(one, node, of.Bastion())
	if made.State == Ready && of.Role == rollout.RoleControlPlane && m.seen.API.Slots[of.Slot] != "" {
		made.State, made.Text = NotReady, "Ready, but not serving"
	}
	if one.Outdated {
		made.Text += ", outdated"
		if made.State == Ready || made.State == InService {
			made.State = Outdated
		}
	}
	if node != nil {
		made.Node, _, _ = strings.Cut(node.Name, ".")
		if node.Unschedulable {
			made.Text += ", cordoned"
		}
	}
	return made
}

// stateOf returns the state of an instance and its node, in a word for people as well.
func (m *mapper) stateOf(one *live.Instance, node *workload.Node, bastion bool) (State, string) {
	known := !bastion && m.seen.API != nil && m.seen.API.Problem == ""
	switch {
	case strings.HasPrefix(one.State, "Terminat") || strings.HasPrefix(one.State, "Detach"):
		return Terminating, string(Terminating)
	case strings.HasPrefix(one.State, "Pending"):
		return Starting, string(Starting)
	case !one.Healthy:
		return NotReady, "unhealthy"
	case !known:
		return InService, string(InService)
	case node == nil:
		return Starting, "no node yet"
	case !node.Ready:
		return NotReady, string(NotReady)
	}
	return Ready, string(Ready)
}

// observed adds notes about what the drawing does not show.
func (m *mapper) observed() {
	if m.seen == nil || m.seen.API == nil {
		return
	}
	if m.seen.API.Problem != "" {
		m.note("The API does not respond, so that the state of nodes is unknown: %s.", strings.TrimSuffix(m.seen.API.Problem, "."))
		return
	}
	for slot := range m.cluster.Slots {
		if why := m.seen.API.Slots[slot]; why != "" {
			m.note("%s is unhealthy: %s.", live.SlotName(slot), strings.TrimSuffix(why, "."))
		}
	}
	there := map[string]bool{}
	for i := range m.seen.AWS.Groups {
		for _, one := range m.seen.AWS.Groups[i].Instances {
			there[one.ID] = true
		}
	}
	for i := range m.seen.API.Nodes {
		if node := &m.seen.API.Nodes[i]; !there[node.InstanceID] && (node.Group != "" || node.Slot != rollout.NoSlot) {
			m.note("Node %s has no instance in a group of the cluster.", node.Name)
		}
	}
}

// of returns the group's machines in a zone.
func (g *Group) of(zone string) []Machine {
	var found []Machine
	for _, one := range g.Machines {
		if one.Zone == zone {
			found = append(found, one)
		}
	}
	return found
}
