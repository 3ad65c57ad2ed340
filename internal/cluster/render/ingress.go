package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// The security groups of a cluster, by their logical IDs.
const (
	groupLoadBalancer = "LoadBalancerSecurityGroup"
	groupControlPlane = "ControlPlaneSecurityGroup"
	groupWorker       = "WorkerSecurityGroup"
	groupBastion      = "BastionSecurityGroup"
)

// Ports that are not the cluster's to choose.
const (
	portSSH     = 22
	portKubelet = 10250
	// What overlay networks wrap pods' packets in: Flannel's and Cilium's VXLAN, and VXLAN's own
	// port, which Calico uses.
	// https://docs.cilium.io/en/stable/operations/system_requirements/#firewall-rules
	// https://docs.tigera.io/calico/latest/getting-started/kubernetes/requirements#network-requirements
	portVXLANLinux = 8472
	portVXLAN      = 4789
	// How Cilium's agents see whether they reach each other, beside an echo.
	portCiliumHealth = 4240
	// ICMP's type where other protocols have a first port, and any code where they have a last.
	icmpEcho, icmpAnyCode = 8, -1
)

const anywhere = "0.0.0.0/0"

// ingress is a rule of a security group.
type ingress struct {
	// LogicalID is the rule's: who may talk to whom about what, so that it stays when others come
	// and go.
	LogicalID string
	// Group is the logical ID of the security group.
	Group string
	// Why is for people.
	Why string
	// Protocol is as EC2 has it.
	Protocol string
	// Port and LastPort are the first and last port, 0 where all are meant; of ICMP, type and code.
	Port, LastPort int
	// FromGroup is the logical ID of the security group that may talk.
	FromGroup string
	// FromAddress is the logical ID of the elastic IP address that may talk.
	FromAddress string
	// FromCIDR is the range that may talk.
	FromCIDR string
}

// IPv6 is whether the range is one of IPv6.
func (r ingress) IPv6() bool { return strings.Contains(r.FromCIDR, ":") }

// flow is what one may say to another.
type flow struct {
	what     string
	why      string
	protocol string
	port     int
	lastPort int
}

func tcp(what string, port int, why string) flow {
	return flow{what: what, why: why, protocol: "tcp", port: port, lastPort: port}
}

func udp(what string, port int, why string) flow {
	return flow{what: what, why: why, protocol: "udp", port: port, lastPort: port}
}

// between returns the rules by which the machines of one group may talk to those
// of another.
func between(from, to string, flows ...flow) []ingress {
	var rules []ingress
	for _, f := range flows {
		rules = append(rules, ingress{
			LogicalID: short(to) + f.what + "From" + short(from), Group: to, Why: f.why,
			Protocol: f.protocol, Port: f.port, LastPort: f.lastPort, FromGroup: from,
		})
	}
	return rules
}

// fromRanges returns the rules by which ranges may talk to the machines of a group.
func fromRanges(cidrs []string, to string, f flow) []ingress {
	cidrs = slices.Clone(cidrs)
	slices.Sort(cidrs)
	var rules []ingress
	for _, cidr := range slices.Compact(cidrs) {
		rules = append(rules, ingress{
			LogicalID: short(to) + f.what + "From" + rangeID(cidr), Group: to, Why: f.why,
			Protocol: f.protocol, Port: f.port, LastPort: f.lastPort, FromCIDR: cidr,
		})
	}
	return rules
}

// short returns what a security group is of.
func short(group string) string { return strings.TrimSuffix(group, "SecurityGroup") }

// rangeID returns a range as it stands in logical IDs: 10x0x0x0p8.
func rangeID(cidr string) string {
	return strings.NewReplacer(".", "x", ":", "c", "/", "p").Replace(cidr)
}

// IngressRules are who may talk to whom.
func (s *baseScope) IngressRules() []ingress {
	api := tcp("API", model.PortAPI, "Kubernetes API")
	kubelet := tcp("Kubelet", portKubelet, "Logs, exec and metrics from the kubelet")
	ssh := tcp("SSH", portSSH, "SSH")
	pods := []flow{
		udp("VXLANLinux", portVXLANLinux, "Packets of pods, wrapped by Cilium or Flannel"),
		udp("VXLAN", portVXLAN, "Packets of pods, wrapped by Calico"),
		tcp("CiliumHealth", portCiliumHealth, "Health checks of Cilium"),
		{what: "Echo", why: "Health checks of Cilium", protocol: "icmp", port: icmpEcho, lastPort: icmpAnyCode},
	}
	etcd := flow{what: "Etcd", why: "etcd, clients and members", protocol: "tcp", port: model.PortEtcdClient, lastPort: model.PortEtcdPeer}
	all := flow{what: "All", why: "Pods, host ports and webhooks", protocol: "-1"}

	rules := s.loadBalancerRules(api)
	rules = append(rules, between(groupLoadBalancer, groupControlPlane, api)...)
	rules = append(rules, between(groupControlPlane, groupControlPlane, append([]flow{api, etcd, kubelet}, pods...)...)...)
	rules = append(rules, between(groupWorker, groupControlPlane, append([]flow{api, kubelet}, pods...)...)...)
	rules = append(rules, between(groupControlPlane, groupWorker, all)...)
	rules = append(rules, between(groupWorker, groupWorker, all)...)
	for _, to := range []string{groupControlPlane, groupWorker} {
		rules = append(rules, fromRanges(s.Spec.SSH.AllowedCIDRs, to, ssh)...)
		if s.Spec.Bastion != nil {
			rules = append(rules, between(groupBastion, to, ssh)...)
		}
	}
	if s.Spec.Bastion != nil {
		rules = append(rules, fromRanges(s.Spec.Bastion.AllowedCIDRs, groupBastion, ssh)...)
	}
	return rules
}

// loadBalancerRules say who reaches the API's load balancer: whom the spec
// allows, and the cluster's own machines. Those come from their own addresses to
// an internal load balancer, and from their NAT gateways' to a public one.
func (s *baseScope) loadBalancerRules(api flow) []ingress {
	rules := fromRanges(s.allowed(), groupLoadBalancer, api)
	if slices.Contains(s.allowed(), anywhere) {
		return rules
	}
	if !s.PublicAPI() {
		rules = append(rules, between(groupControlPlane, groupLoadBalancer, api)...)
		return append(rules, between(groupWorker, groupLoadBalancer, api)...)
	}
	for _, gateway := range s.Gateways() {
		rules = append(rules, ingress{
			LogicalID: "LoadBalancerAPIFromNAT" + zoneID(gateway.Zone), Group: groupLoadBalancer, Why: "Nodes, by their NAT gateway",
			Protocol: api.protocol, Port: api.port, LastPort: api.lastPort, FromAddress: "NATAddress" + zoneID(gateway.Zone),
		})
	}
	return rules
}

// allowed are the ranges that may reach the API.
func (s *baseScope) allowed() []string {
	if len(s.Spec.API.AllowedCIDRs) == 0 {
		return []string{anywhere}
	}
	return s.Spec.API.AllowedCIDRs
}

// reachable checks that the cluster's own nodes can reach the API. Nodes in public subnets reach a
// public load balancer from public addresses that are unknown before the instances run.
func (s *baseScope) reachable() error {
	if !s.PublicAPI() || s.NodeRole != v1alpha1.SubnetPublic || slices.Contains(s.allowed(), anywhere) ||
		len(s.Spec.API.SecurityGroups) > 0 {
		return nil
	}
	return model.Problems{{
		Field: "spec.api.allowedCIDRs",
		Message: fmt.Sprintf(
			"nodes in public subnets could not reach the API: their own addresses are not in %s", strings.Join(s.allowed(), ", "),
		),
		Remedy: "set spec.api.access to Internal, or spec.network.topology to Private, or let in " + anywhere,
	}}
}
