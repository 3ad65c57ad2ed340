package render_test

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// base renders the base stack of testdata's cluster after a change.
func base(t *testing.T, path string, change func(*v1alpha1.ClusterSpec)) (*render.Stack, error) {
	t.Helper()
	f := read(t, path)
	change(&f.cluster.Spec)
	c, _ := fixture{cluster: f.cluster}.resolve(t, setRelease(strings.TrimPrefix(f.cluster.Spec.Release, "set-")))
	s, err := render.Base(c)
	if err == nil {
		valid(t, s)
	}
	return s, err
}

// mustBase is base for what must succeed.
func mustBase(t *testing.T, path string, change func(*v1alpha1.ClusterSpec)) *render.Stack {
	t.Helper()
	s, err := base(t, path, change)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ofType lists the logical IDs of a type, sorted.
func ofType(s *render.Stack, resourceType string) []string {
	var ids []string
	for id, r := range s.Template.Resources {
		if r.Type == resourceType {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// property returns a property as compact JSON, empty for none.
func property(s *render.Stack, id string, path ...string) string {
	r := s.Template.Resources[id]
	if r == nil {
		return ""
	}
	n := r.Properties
	for _, key := range path {
		if n = n.Get(key); n == nil {
			return ""
		}
	}
	return string(n.AppendJSON(nil))
}

func TestNAT(t *testing.T) {
	for _, c := range []struct {
		name     string
		topology v1alpha1.Topology
		nat      v1alpha1.NAT
		gateways []string
		routes   map[string]string
	}{
		{
			name: "per zone: each zone goes out by its own", topology: v1alpha1.TopologyPrivate, nat: v1alpha1.NATPerZone,
			gateways: []string{"NATGatewayEuCentral1a", "NATGatewayEuCentral1b", "NATGatewayEuCentral1c"},
			routes: map[string]string{
				"PrivateDefaultRouteEuCentral1a": `{"Ref":"NATGatewayEuCentral1a"}`,
				"PrivateDefaultRouteEuCentral1b": `{"Ref":"NATGatewayEuCentral1b"}`,
				"PrivateDefaultRouteEuCentral1c": `{"Ref":"NATGatewayEuCentral1c"}`,
			},
		},
		{
			name: "single: all go out by the first zone's", topology: v1alpha1.TopologyPrivate, nat: v1alpha1.NATSingle,
			gateways: []string{"NATGatewayEuCentral1a"},
			routes: map[string]string{
				"PrivateDefaultRouteEuCentral1a": `{"Ref":"NATGatewayEuCentral1a"}`,
				"PrivateDefaultRouteEuCentral1b": `{"Ref":"NATGatewayEuCentral1a"}`,
				"PrivateDefaultRouteEuCentral1c": `{"Ref":"NATGatewayEuCentral1a"}`,
			},
		},
		{
			name: "existing: each zone goes out by the one that is named for it", topology: v1alpha1.TopologyPrivate,
			nat: v1alpha1.NATExisting,
			routes: map[string]string{
				"PrivateDefaultRouteEuCentral1a": `"nat-0a"`, "PrivateDefaultRouteEuCentral1b": `"nat-0b"`,
				"PrivateDefaultRouteEuCentral1c": `"nat-0c"`,
			},
		},
		{name: "none: there is no way out", topology: v1alpha1.TopologyPrivate, nat: v1alpha1.NATNone},
		{name: "public nodes need none", topology: v1alpha1.TopologyPublic},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustBase(t, "testdata/private.yaml", func(spec *v1alpha1.ClusterSpec) {
				spec.API.AllowedCIDRs = nil
				spec.Network.Topology, spec.Network.NAT = c.topology, c.nat
				if c.nat == v1alpha1.NATExisting {
					spec.Network.NATGateways = map[string]string{
						"eu-central-1a": "nat-0a",
						"eu-central-1b": "nat-0b",
						"eu-central-1c": "nat-0c",
					}
				}
			})
			if diff := cmp.Diff(c.gateways, ofType(s, "AWS::EC2::NatGateway")); diff != "" {
				t.Errorf("gateways (-want +got):\n%s", diff)
			}
			if got := ofType(s, "AWS::EC2::EIP"); len(got) != len(c.gateways) {
				t.Errorf("there are addresses %v for gateways %v", got, c.gateways)
			}
			var routes map[string]string
			for _, id := range ofType(s, "AWS::EC2::Route") {
				if strings.HasPrefix(id, "Private") {
					if routes == nil {
						routes = map[string]string{}
					}
					routes[id] = property(s, id, "NatGatewayId")
				}
			}
			if diff := cmp.Diff(c.routes, routes); diff != "" {
				t.Errorf("routes (-want +got):\n%s", diff)
			}
		})
	}
}

// A transit gateway is another property of a route than a NAT gateway.
func TestTransitGatewaysAreRoutedTo(t *testing.T) {
	s := mustBase(t, "testdata/private.yaml", func(spec *v1alpha1.ClusterSpec) {
		spec.API.AllowedCIDRs, spec.Network.NAT = nil, v1alpha1.NATExisting
		spec.Network.NATGateways = map[string]string{"eu-central-1a": "tgw-0a", "eu-central-1b": "nat-0b", "eu-central-1c": "tgw-0a"}
	})
	if got := property(s, "PrivateDefaultRouteEuCentral1a", "TransitGatewayId"); got != `"tgw-0a"` {
		t.Errorf("the first zone's route goes through transit gateway %q", got)
	}
	if got := property(s, "PrivateDefaultRouteEuCentral1b", "NatGatewayId"); got != `"nat-0b"` {
		t.Errorf("the second zone's route goes through NAT gateway %q", got)
	}
}

// An added zone adds resources and joins lists; nothing that is there is renamed
// or moved.
func TestAnotherZoneRenamesNothing(t *testing.T) {
	lists := []string{"APILoadBalancer", "S3Endpoint", "BastionAutoScalingGroup"}
	with := func(zones ...string) *render.Stack {
		return mustBase(t, "testdata/private.yaml", func(spec *v1alpha1.ClusterSpec) {
			spec.Network.Zones, spec.ControlPlane.Zones = zones, []string{"eu-central-1b"}
		})
	}
	two, three := with("eu-central-1b", "eu-central-1c"), with("eu-central-1b", "eu-central-1a", "eu-central-1c")
	for id, before := range two.Template.Resources {
		after := three.Template.Resources[id]
		switch {
		case after == nil:
			t.Errorf("%s was removed", id)
		case !slices.Contains(lists, id) && !template.Equal(before.Properties, after.Properties):
			t.Errorf("%s has changed from %s to %s", id, before.Properties.AppendJSON(nil), after.Properties.AppendJSON(nil))
		}
	}
}

// An existing VPC gets what the cluster itself consists of, and nothing more.
func TestExistingVPCIsLeftAlone(t *testing.T) {
	s := mustBase(t, "testdata/existing.yaml", func(*v1alpha1.ClusterSpec) {})
	for id, r := range s.Template.Resources {
		switch r.Type {
		case "AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupIngress", "AWS::EC2::Volume":
			continue
		}
		if strings.HasPrefix(r.Type, "AWS::EC2::") {
			t.Errorf("%s is a %s", id, r.Type)
		}
	}
	if got := string(s.Template.Outputs[model.OutputVPC].Value.AppendJSON(nil)); got != `"vpc-0123456789abcdef0"` {
		t.Errorf("the VPC is %s", got)
	}
}

func TestWhoReachesTheAPI(t *testing.T) {
	restricted := []string{"198.51.100.0/24"}
	for _, c := range []struct {
		name   string
		path   string
		change func(*v1alpha1.ClusterSpec)
		want   []string
	}{
		{
			name: "all addresses are allowed by default", path: "testdata/public.yaml",
			change: func(*v1alpha1.ClusterSpec) {},
			want:   []string{"LoadBalancerAPIFrom0x0x0x0p0"},
		},
		{
			name: "nodes behind NAT come from the gateway's address", path: "testdata/private.yaml",
			change: func(spec *v1alpha1.ClusterSpec) {
				spec.API.AllowedCIDRs, spec.Network.NAT = restricted, v1alpha1.NATSingle
			},
			want: []string{"LoadBalancerAPIFrom198x51x100x0p24", "LoadBalancerAPIFromNATEuCentral1a"},
		},
		{
			name: "nodes reach an internal load balancer from their own addresses", path: "testdata/existing.yaml",
			change: func(spec *v1alpha1.ClusterSpec) { spec.API.AllowedCIDRs = restricted },
			want:   []string{"LoadBalancerAPIFrom198x51x100x0p24", "LoadBalancerAPIFromControlPlane", "LoadBalancerAPIFromWorker"},
		},
		{
			name: "a range named twice is one rule, and IPv6 is a range as well", path: "testdata/existing.yaml",
			change: func(spec *v1alpha1.ClusterSpec) {
				spec.API.AllowedCIDRs = []string{"0.0.0.0/0", "2001:db8::/32", "0.0.0.0/0"}
			},
			want: []string{"LoadBalancerAPIFrom0x0x0x0p0", "LoadBalancerAPIFrom2001cdb8ccp32"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustBase(t, c.path, c.change)
			var got []string
			for _, id := range ofType(s, "AWS::EC2::SecurityGroupIngress") {
				if strings.HasPrefix(id, "LoadBalancer") {
					got = append(got, id)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
}

// Nodes that could never reach the API are said to be so, not made.
func TestPublicNodesMustReachTheAPI(t *testing.T) {
	_, err := base(t, "testdata/public.yaml", func(spec *v1alpha1.ClusterSpec) { spec.API.AllowedCIDRs = []string{"198.51.100.0/24"} })
	problems, ok := errors.AsType[model.Problems](err)
	if !ok || len(problems) != 1 || problems[0].Field != "spec.api.allowedCIDRs" {
		t.Errorf("got %v", err)
	}
}

// Only the control plane reaches etcd, and only the control plane and workers reach the kubelets.
func TestWhoReachesTheControlPlane(t *testing.T) {
	s := mustBase(t, "testdata/private.yaml", func(*v1alpha1.ClusterSpec) {})
	got := map[string][]string{}
	for _, id := range ofType(s, "AWS::EC2::SecurityGroupIngress") {
		to, _, _ := strings.Cut(id, "From")
		if property(s, id, "GroupId") == `{"Fn::GetAtt":["ControlPlaneSecurityGroup","GroupId"]}` {
			got[strings.TrimPrefix(to, "ControlPlane")] = append(
				got[strings.TrimPrefix(to, "ControlPlane")], strings.TrimPrefix(id, to+"From"),
			)
		}
	}
	want := map[string][]string{
		"API":          {"ControlPlane", "LoadBalancer", "Worker"},
		"Etcd":         {"ControlPlane"},
		"Kubelet":      {"ControlPlane", "Worker"},
		"SSH":          {"198x51x100x0p24", "Bastion"},
		"VXLAN":        {"ControlPlane", "Worker"},
		"VXLANLinux":   {"ControlPlane", "Worker"},
		"CiliumHealth": {"ControlPlane", "Worker"},
		"Echo":         {"ControlPlane", "Worker"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// Slots reach the API by the load balancer that they are targets of: with clients' addresses
// preserved, those packets would be dropped.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html#client-ip-preservation
func TestSlotsReachThemselvesByTheLoadBalancer(t *testing.T) {
	s := mustBase(t, "testdata/public.yaml", func(*v1alpha1.ClusterSpec) {})
	if got := property(s, "APITargetGroup", "TargetGroupAttributes"); !strings.Contains(
		got,
		`{"Key":"preserve_client_ip.enabled","Value":"false"}`,
	) {
		t.Errorf("the target group's attributes are %s", got)
	}
}

// Resource sets differ in what their features say, and in nothing else.
func TestWhatSetsDifferIn(t *testing.T) {
	old := mustBase(t, "testdata/private-1.0.0.yaml", func(*v1alpha1.ClusterSpec) {})
	next := mustBase(t, "testdata/private.yaml", func(*v1alpha1.ClusterSpec) {})
	if !slices.Equal(slices.Sorted(maps.Keys(old.Template.Resources)), slices.Sorted(maps.Keys(next.Template.Resources))) {
		t.Error("the sets have different resources")
	}
	for id, r := range next.Template.Resources {
		if same := template.Equal(r.Properties, old.Template.Resources[id].Properties); same == (id == "APILoadBalancer") {
			t.Errorf("%s: the same in both sets: %v", id, same)
		}
	}
}

// What EC2 takes as a rule's description.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpRange.html
func TestDescriptionsAreWhatEC2Takes(t *testing.T) {
	allowed := regexp.MustCompile(`^"[a-zA-Z0-9. _:/()#,@\[\]+=&;{}!$*-]{1,255}"$`)
	s := mustBase(t, "testdata/private.yaml", func(*v1alpha1.ClusterSpec) {})
	for _, id := range ofType(s, "AWS::EC2::SecurityGroupIngress") {
		if got := property(s, id, "Description"); !allowed.MatchString(got) {
			t.Errorf("%s: %s", id, got)
		}
	}
	for _, id := range ofType(s, "AWS::EC2::SecurityGroup") {
		if got := property(s, id, "GroupDescription"); !allowed.MatchString(got) {
			t.Errorf("%s: %s", id, got)
		}
	}
}
