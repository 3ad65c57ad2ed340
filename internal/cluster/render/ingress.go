package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// The security groups of a cluster, by their logical IDs.
const (
	groupLoadBalancer = "LoadBalancerSecurityGroup"
	groupControlPlane = "ControlPlaneSecurityGroup"
	groupWorker       = "WorkerSecurityGroup"
	groupBastion      = "BastionSecurityGroup"
)

// Fixed ports.
const (
	portSSH     = 22
	portKubelet = 10250
	// The encapsulation of overlay networks: Flannel's and Cilium's VXLAN port, and VXLAN's
	// standard port, which Calico uses.
	// https://docs.cilium.io/en/stable/operations/system_requirements/#firewall-rules
	// https://docs.tigera.io/calico/latest/getting-started/kubernetes/requirements#network-requirements
	portVXLANLinux = 8472
	portVXLAN      = 4789
	// Typha of Calico, which its agents connect to, and which may run on any node.
	portTypha = 5473
	// The health checks of Cilium's agents, in addition to ICMP echo.
	portCiliumHealth = 4240
	// The ICMP type is in the place of the first port, and any ICMP code in that of the last.
	icmpEcho, icmpAnyCode = 8, -1
)

const anywhere = "0.0.0.0/0"

// ingress is a rule of a security group.
type ingress struct {
	// LogicalID is the logical ID of the rule. It consists of source, target and purpose, so that
	// it does not depend on other rules.
	LogicalID string
	// Group is the logical ID of the security group.
	Group string
	// Why is the description of the rule.
	Why string
	// Protocol is EC2's name of the protocol.
	Protocol string
	// Port and LastPort are the first and last port, 0 for all; for ICMP, type and code.
	Port, LastPort int
	// FromGroup is the logical ID of the source security group.
	FromGroup string
	// FromAddress is the logical ID of the source elastic IP address.
	FromAddress string
	// FromCIDR is the source range.
	FromCIDR string
}

// IPv6 reports whether the range is an IPv6 range.
func (r ingress) IPv6() bool { return strings.Contains(r.FromCIDR, ":") }

// flow is allowed traffic: a protocol and its ports.
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

// between returns the rules that allow traffic from the instances of one group to those of another.
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

// fromRanges returns the rules that allow traffic from ranges to the instances of a group.
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

// short returns the short name of a security group.
func short(group string) string { return strings.TrimSuffix(group, "SecurityGroup") }

// rangeID returns a range in the form of logical IDs: 10x0x0x0p8.
func rangeID(cidr string) string {
	return strings.NewReplacer(".", "x", ":", "c", "/", "p").Replace(cidr)
}

// IngressRules are the rules for all allowed traffic.
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
	if s.UsesAddon(release.AddonCalico) {
		pods = append(pods, tcp("Typha", portTypha, "Calico's agents"))
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

// loadBalancerRules allow traffic to the API's load balancer from the ranges of the spec and from
// the cluster's own instances. Their source addresses are their own for an internal load balancer,
// and those of their NAT gateways for a public one.
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

// allowed returns the ranges that may reach the API.
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
