package render_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// choice is one of several ways to fill a field.
type choice struct {
	name string
	make func(*v1alpha1.ClusterSpec)
}

// shapes are the ways in which clusters differ, every one with every other.
var shapes = [][]choice{
	{
		{"private", func(s *v1alpha1.ClusterSpec) { s.Network.Topology = v1alpha1.TopologyPrivate }},
		{"public", func(s *v1alpha1.ClusterSpec) { s.Network.Topology = v1alpha1.TopologyPublic }},
	},
	{
		{"nat-per-zone", func(s *v1alpha1.ClusterSpec) { s.Network.NAT = v1alpha1.NATPerZone }},
		{"nat-single", func(s *v1alpha1.ClusterSpec) { s.Network.NAT = v1alpha1.NATSingle }},
		{"nat-none", func(s *v1alpha1.ClusterSpec) { s.Network.NAT = v1alpha1.NATNone }},
		{"nat-existing", func(s *v1alpha1.ClusterSpec) {
			s.Network.NAT, s.Network.NATGateways = v1alpha1.NATExisting, map[string]string{}
			for _, zone := range s.Network.Zones {
				s.Network.NATGateways[zone] = "nat-" + zone
			}
		}},
	},
	{
		{"api-public", func(*v1alpha1.ClusterSpec) {}},
		{"api-internal", func(s *v1alpha1.ClusterSpec) {
			s.API.Access, s.API.AllowedCIDRs = v1alpha1.APIInternal, []string{"10.0.0.0/8"}
		}},
	},
	{
		{"no-bastion", func(*v1alpha1.ClusterSpec) {}},
		{"bastion", func(s *v1alpha1.ClusterSpec) {
			s.Bastion = &v1alpha1.Bastion{AllowedCIDRs: []string{"198.51.100.0/24"}}
			s.SSH.AuthorizedKeys = []string{"ssh-ed25519 AAAA person@example.com"}
		}},
	},
	{
		{"plain", func(*v1alpha1.ClusterSpec) {}},
		{"dns-issuer-policies", func(s *v1alpha1.ClusterSpec) {
			s.DNS = &v1alpha1.DNS{HostedZoneID: "Z0123456789ABCDEFGHIJ", Name: "api.example.com"}
			s.ServiceAccountIssuer = &v1alpha1.ServiceAccountIssuer{}
			s.IAM.WorkerPolicies = []string{"arn:aws:iam::aws:policy/ReadOnlyAccess"}
			s.IAM.PermissionsBoundary = "arn:aws:iam::123456789012:policy/boundary"
			s.Role = &v1alpha1.AssumedRole{ARN: "arn:aws:iam::123456789012:role/operator"}
		}},
	},
}

// TestEveryShape renders every combination, in one zone and in as many as there
// can be: all of them are sound, and fit into a request.
func TestEveryShape(t *testing.T) {
	for _, zones := range []string{"a", "abcdef"} {
		total := 1
		for _, of := range shapes {
			total *= len(of)
		}
		for n := range total {
			f := fixture{cluster: &v1alpha1.Cluster{
				ObjectMeta: metav1.ObjectMeta{Name: "shape", Namespace: "default"},
				Spec: v1alpha1.ClusterSpec{
					Release: "set-" + release.Set110,
					Region:  "eu-central-1",
					Network: v1alpha1.Network{CIDR: "10.0.0.0/16"},
				},
			}}
			spec, name := &f.cluster.Spec, zones
			for _, letter := range zones {
				spec.Network.Zones = append(spec.Network.Zones, spec.Region+string(letter))
			}
			for _, of := range shapes {
				chosen := of[n%len(of)]
				n /= len(of)
				chosen.make(spec)
				name += "," + chosen.name
			}
			c, _ := f.resolve(t, setRelease(release.Set110))
			s, err := render.Base(c)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			valid(t, s)
			if size := len(s.Template.CanonicalJSON()); size >= template.MaxInlineBytes {
				t.Errorf("%s: %d bytes, more than can be sent in a request", name, size)
			}
		}
	}
}

// TestExamples renders the examples with the built-in releases, as the operator
// would: golden files hold what becomes of them.
func TestExamples(t *testing.T) {
	releases, err := release.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range manifests(t, "../../../examples/clusters/*.yaml") {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			for _, f := range readAll(t, path) {
				i := slices.IndexFunc(releases, func(r *v1alpha1.Release) bool { return r.Name == f.cluster.Spec.Release })
				if i < 0 {
					t.Fatalf("there is no release %s", f.cluster.Spec.Release)
				}
				compare(t, "example-"+name, f.stacks(t, releases[i]))
			}
		})
	}
}
