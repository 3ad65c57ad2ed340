package render_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/simulator/firewall"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
)

// The places between which a cluster's packets travel.
const (
	slotA, slotB, workerA, workerB = "slot A", "slot B", "worker A", "worker B"
	balancer, bastion, anyone      = "load balancer", "bastion", "the user's computer"
	gateway                        = "NAT gateway"
	awsAPIs, bucket                = "AWS's APIs", "the bucket"
)

// need is traffic that a cluster needs. If it is impossible, what breaks does so on AWS.
type need struct {
	breaks   string
	from, to string
	traffic  firewall.Traffic
	source   string // the page that says so
}

func tcpPort(n int) firewall.Traffic {
	return firewall.Traffic{Protocol: firewall.TCP, First: n, Last: n}
}

func udpPort(n int) firewall.Traffic {
	return firewall.Traffic{Protocol: firewall.UDP, First: n, Last: n}
}

// Pages about the needs.
const (
	kubernetesPorts = "https://kubernetes.io/docs/reference/networking/ports-and-protocols/"
	apiAccess       = "https://kubernetes.io/docs/concepts/architecture/control-plane-node-communication/"
	ciliumPorts     = "https://docs.cilium.io/en/stable/operations/system_requirements/#firewall-rules"
	calicoPorts     = "https://docs.tigera.io/calico/latest/getting-started/kubernetes/requirements#network-requirements"
	metricsServer   = "https://kubernetes-sigs.github.io/metrics-server/#requirements"
	endpointsPage   = "https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html"
	balancerGroups  = "https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-security-groups.html"
)

// commonNeeds are those of every cluster of several slots and workers.
func commonNeeds() []need {
	echo := firewall.Traffic{Protocol: firewall.ICMP, First: 8, Last: 0}
	list := []need{
		{"requests and health checks of the API's load balancer", balancer, slotA, tcpPort(6443), balancerGroups},
		{"etcd's members cannot form a quorum", slotA, slotB, tcpPort(2380), kubernetesPorts},
		{"an etcd client of another slot", slotA, slotB, tcpPort(2379), kubernetesPorts},
		{"pods of a slot cannot reach the Service kubernetes", slotA, slotB, tcpPort(6443), apiAccess},
		{"pods of a worker cannot reach the Service kubernetes", workerA, slotA, tcpPort(6443), apiAccess},
		{"logs and exec of pods of another slot", slotA, slotB, tcpPort(10250), kubernetesPorts},
		{"logs and exec of pods of workers", slotA, workerA, tcpPort(10250), kubernetesPorts},
		{"metrics-server on a worker cannot reach a slot's kubelet", workerA, slotA, tcpPort(10250), metricsServer},
		{"metrics-server on a worker cannot reach another one's kubelet", workerA, workerB, tcpPort(10250), metricsServer},
		{"a NodePort that is used from a slot", slotA, workerA, tcpPort(30000), kubernetesPorts},
		{"a slot cannot find its volume", slotA, awsAPIs, tcpPort(443), endpointsPage},
		{"a slot cannot read its bundle", slotA, bucket, tcpPort(443), endpointsPage},
		{"a worker cannot read its token", workerA, awsAPIs, tcpPort(443), endpointsPage},
		{"a worker cannot read its bundle", workerA, bucket, tcpPort(443), endpointsPage},
		{"a NodePort that is used from a worker", workerA, workerB, tcpPort(32767), kubernetesPorts},
	}
	for _, pair := range [][2]string{{slotA, slotB}, {slotA, workerA}, {workerA, slotA}, {workerA, workerB}} {
		way := pair[0] + " to " + pair[1]
		list = append(list,
			need{"Cilium's and Flannel's packets of pods, " + way, pair[0], pair[1], udpPort(8472), ciliumPorts},
			need{"Calico's packets of pods, " + way, pair[0], pair[1], udpPort(4789), calicoPorts},
			need{"Cilium's health checks, " + way, pair[0], pair[1], tcpPort(4240), ciliumPorts},
			need{"Cilium's echo requests, " + way, pair[0], pair[1], echo, ciliumPorts},
		)
	}
	return list
}

// typhaNeeds are the connections of Calico's agents to Typha, which may run on any node.
func typhaNeeds() (list []need) {
	for _, pair := range [][2]string{{slotA, slotB}, {slotA, workerA}, {workerA, slotA}, {workerA, workerB}} {
		list = append(list, need{"Typha, " + pair[0] + " to " + pair[1], pair[0], pair[1], tcpPort(5473), calicoPorts})
	}
	return list
}

func sshNeeds(from string, to ...string) (list []need) {
	for _, at := range to {
		list = append(list, need{"SSH from " + from + " to " + at, from, at, tcpPort(22), kubernetesPorts})
	}
	return list
}

func apiNeeds(from ...string) (list []need) {
	for _, at := range from {
		list = append(list, need{"the API for " + at, at, balancer, tcpPort(6443), balancerGroups})
	}
	return list
}

// Every rule of a security group is there for something, and none is missing: with all rules, all of
// the cluster's needs are met, and each rule's removal breaks one of them.
func TestEverySecurityGroupRuleIsNeeded(t *testing.T) {
	user := []string{"198.51.100.7/32"}
	for _, c := range []struct {
		name   string
		change func(*v1alpha1.ClusterSpec)
		needs  []need
	}{
		{
			name: "public API, public nodes", change: func(spec *v1alpha1.ClusterSpec) { spec.Network.Topology = v1alpha1.TopologyPublic },
			needs: apiNeeds(anyone, workerA),
		},
		{
			name: "public API for some, private nodes behind NAT gateways, bastions", change: func(spec *v1alpha1.ClusterSpec) {
				spec.Network.Topology, spec.API.AllowedCIDRs = v1alpha1.TopologyPrivate, user
				spec.Bastion, spec.SSH.AllowedCIDRs = &v1alpha1.Bastion{AllowedCIDRs: user}, nil
			},
			needs: slices.Concat(apiNeeds(anyone, gateway), sshNeeds(bastion, slotA, workerA), sshNeeds(anyone, bastion)),
		},
		{
			name: "internal API", change: func(spec *v1alpha1.ClusterSpec) {
				spec.Network.Topology = v1alpha1.TopologyPrivate
				spec.API.Access, spec.API.AllowedCIDRs = v1alpha1.APIInternal, user
				spec.SSH.AllowedCIDRs = user
			},
			needs: slices.Concat(apiNeeds(anyone, slotA, workerA), sshNeeds(anyone, slotA, workerA)),
		},
		{
			name: "Calico", change: func(spec *v1alpha1.ClusterSpec) {
				spec.Network.Topology = v1alpha1.TopologyPublic
				spec.Addons = []v1alpha1.Addon{{Name: release.AddonCalico}}
			},
			needs: append(apiNeeds(anyone, workerA), typhaNeeds()...),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			region := newSuite(t, "eu-central-1")
			outputs := region.make(t, mustBase(t, "testdata/public.yaml", func(spec *v1alpha1.ClusterSpec) {
				spec.ControlPlane.Replicas = 3
				spec.Network.Zones = []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"}
				c.change(spec)
			}))
			network, places := region.places(t, outputs)
			needs := slices.Concat(commonNeeds(), c.needs)
			for _, problem := range unmet(network, places, needs) {
				t.Errorf("with all rules: %s", problem)
			}
			standard, _ := region.packets.VPC("123456789012", "eu-central-1", outputs["VPC"])
			for g := range network.Groups {
				group := &network.Groups[g]
				if group.ID == standard.DefaultSecurityGroup {
					continue // every VPC has it
				}
				all := group.Rules
				for i, rule := range all {
					if rule.Egress {
						continue // each group's own, which allows everything
					}
					group.Rules = slices.Delete(slices.Clone(all), i, i+1)
					broken := unmet(network, places, needs)
					if len(broken) == 0 {
						t.Errorf("nothing needs the rule of %s for %+v from %s%v", group.ID, rule.Traffic, rule.Group, rule.Ranges)
					} else {
						t.Logf("without the rule of %s for %+v from %s%v: %s", group.ID, rule.Traffic, rule.Group, rule.Ranges, strings.Join(broken, "; "))
					}
				}
				group.Rules = all
			}
			region.removeInterfaces(t, network)
			region.removeAll(t)
		})
	}
}

// unmet returns what breaks.
func unmet(n *firewall.Network, places map[string][]netip.Addr, needs []need) (broken []string) {
	rules := firewall.Compile(n)
	for _, x := range needs {
		for _, from := range places[x.from] {
			for _, to := range places[x.to] {
				packet := firewall.Packet{
					From: from, To: to, Protocol: x.traffic.Protocol, Port: x.traffic.First, Type: x.traffic.First, Code: x.traffic.Last,
				}
				if !rules.Allows(packet) {
					broken = append(broken, fmt.Sprintf("%s (%s to %s, %s)", x.breaks, from, to, x.source))
				}
			}
		}
		if len(places[x.from]) == 0 || len(places[x.to]) == 0 {
			broken = append(broken, fmt.Sprintf("%s: there is no %s or %s", x.breaks, x.from, x.to))
		}
	}
	return broken
}

// places makes interfaces for the instances of a cluster, and returns the addresses of all places.
func (l *suite) places(t *testing.T, outputs map[string]string) (*firewall.Network, map[string][]netip.Addr) {
	t.Helper()
	const account, region = "123456789012", "eu-central-1"
	places := map[string][]netip.Addr{
		anyone:  {netip.MustParseAddr("198.51.100.7")},
		awsAPIs: {l.packets.EndpointAddress(outputs["VPC"], "ec2.eu-central-1.amazonaws.com")},
		bucket:  {l.packets.EndpointAddress(outputs["VPC"], "the-bucket.s3.eu-central-1.amazonaws.com")},
	}
	subnet := outputs["PrivateSubnetEuCentral1a"]
	public := subnet == ""
	if public {
		subnet = outputs["PublicSubnetEuCentral1a"]
	}
	for place, group := range map[string]string{
		slotA: "ControlPlaneSecurityGroup", slotB: "ControlPlaneSecurityGroup",
		workerA: "WorkerSecurityGroup", workerB: "WorkerSecurityGroup", bastion: "BastionSecurityGroup",
	} {
		if outputs[group] == "" {
			continue
		}
		made, err := l.packets.NewInterface(account, region, subnet, vpc.InterfaceRequest{
			SecurityGroups: []string{outputs[group]}, Description: place, PublicIP: public,
		})
		if err != nil {
			t.Fatal(err)
		}
		places[place] = []netip.Addr{made.PrivateIP}
	}
	n, ok := l.packets.Firewall(outputs["VPC"])
	if !ok {
		t.Fatal("there is no VPC")
	}
	for i := range n.Interfaces {
		described, _ := l.packets.DescribeInterface(account, region, n.Interfaces[i].ID)
		switch described.InterfaceType { //nolint:exhaustive // a cluster has no others
		case types.NetworkInterfaceTypeNetworkLoadBalancer:
			places[balancer] = append(places[balancer], n.Interfaces[i].Addresses[0])
		case types.NetworkInterfaceTypeNatGateway:
			places[gateway] = append(places[gateway], n.Interfaces[i].Public)
		}
	}
	return n, places
}

// removeInterfaces deletes what places has made.
func (l *suite) removeInterfaces(t *testing.T, n *firewall.Network) {
	t.Helper()
	for i := range n.Interfaces {
		described, _ := l.packets.DescribeInterface("123456789012", "eu-central-1", n.Interfaces[i].ID)
		if described.InterfaceType == types.NetworkInterfaceTypeInterface {
			if err := l.packets.DeleteInterface("123456789012", "eu-central-1", n.Interfaces[i].ID); err != nil {
				t.Fatal(err)
			}
		}
	}
}
