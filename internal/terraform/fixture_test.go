package terraform_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/terraform"
)

// fixture is a cluster of a file and its instance groups.
type fixture struct {
	cluster *v1alpha1.Cluster
	groups  []*v1alpha1.InstanceGroup
}

// patterns are all manifests of clusters that the project has.
var patterns = []string{"../../examples/clusters/*.yaml", "../../examples/quickstart/cluster.yaml", "../cluster/render/testdata/*.yaml"}

// fixtures returns the clusters of the manifests by a name for each.
func fixtures(tb testing.TB, patterns ...string) map[string]fixture {
	tb.Helper()
	all := map[string]fixture{}
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			tb.Fatalf("there is no %s: %v", pattern, err)
		}
		for _, path := range paths {
			read(tb, path, all)
		}
	}
	return all
}

func read(tb testing.TB, path string, into map[string]fixture) {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var clusters []*v1alpha1.Cluster
	var groups []*v1alpha1.InstanceGroup
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			tb.Fatal(err)
		}
		switch kind.Kind {
		case "Cluster":
			c := &v1alpha1.Cluster{}
			clusters, err = append(clusters, c), yaml.UnmarshalStrict(document, c)
		case "InstanceGroup":
			g := &v1alpha1.InstanceGroup{}
			groups, err = append(groups, g), yaml.UnmarshalStrict(document, g)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	for _, c := range clusters {
		c.Namespace = "default"
		f := fixture{cluster: c}
		for _, g := range groups {
			if g.Spec.Cluster == c.Name {
				g.Namespace = "default"
				f.groups = append(f.groups, g)
			}
		}
		into[strings.TrimSuffix(filepath.Base(path), ".yaml")+"."+c.Name] = f
	}
}

var builtin = sync.OnceValues(release.Builtin)

// releaseOf returns the release that a fixture names: a built-in one, or one of a resource set.
func releaseOf(tb testing.TB, name string) *v1alpha1.Release {
	tb.Helper()
	releases, err := builtin()
	if err != nil {
		tb.Fatal(err)
	}
	if i := slices.IndexFunc(releases, func(r *v1alpha1.Release) bool { return r.Name == name }); i >= 0 {
		return releases[i]
	}
	of := *releases[len(releases)-1]
	of.Name, of.Spec.ResourceSet = name, strings.TrimPrefix(name, "set-")
	return &of
}

// input resolves a fixture.
func (f fixture) input(tb testing.TB) terraform.Input {
	tb.Helper()
	c, err := model.Resolve(model.Input{
		Cluster: f.cluster, Release: releaseOf(tb, f.cluster.Spec.Release), Operator: "aws-operator",
		AccountID: "123456789012", Partition: "aws", DNSSuffix: "amazonaws.com", Existing: f.existing(),
		Alone: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	in := terraform.Input{
		Cluster:       c,
		CACertificate: []byte(caCertificate),
		Keys:          keys(),
		EtcdRestore:   strings.Repeat("0c", 32),
		Nodeup: map[v1alpha1.Architecture]string{
			v1alpha1.AMD64: strings.Repeat("0a", 32), v1alpha1.ARM64: strings.Repeat("0b", 32),
		},
	}
	if issuer := f.cluster.Spec.ServiceAccountIssuer; issuer != nil && issuer.URL == "" {
		in.Public = map[string][]byte{"oidc/.well-known/openid-configuration": []byte(`{"issuer": "` + c.Issuer + `"}`)}
	}
	for _, g := range f.groups {
		group, err := model.ResolveGroup(c, g)
		if err != nil {
			tb.Fatal(err)
		}
		in.Groups = append(in.Groups, group)
	}
	return in
}

// keys are the files of the authorities, by their keys in the bucket.
func keys() map[string][]byte {
	all := map[string][]byte{}
	for _, key := range []string{
		model.KeyCACert, model.KeyCAKey, model.KeyEtcdCACert, model.KeyEtcdCAKey, model.KeyFrontProxyCACert, model.KeyFrontProxyCAKey,
		model.KeyServiceAccountPublic, model.KeyServiceAccountPrivate,
	} {
		all[key] = []byte("the secret of " + key)
	}
	return all
}

// existing returns the existing VPC that a cluster names, as AWS might have it.
func (f fixture) existing() *model.ExistingVPC {
	n := &f.cluster.Spec.Network
	if n.VPC == "" {
		return nil
	}
	v := &model.ExistingVPC{ID: n.VPC, CIDRs: []string{"10.9.0.0/16"}}
	add := func(id, zone string) {
		if !slices.ContainsFunc(v.Subnets, func(s model.ExistingSubnet) bool { return s.ID == id }) {
			v.Subnets = append(
				v.Subnets,
				model.ExistingSubnet{
					ID:         id,
					Zone:       zone,
					CIDR:       fmt.Sprintf("10.9.%d.0/24", len(v.Subnets)),
					RouteTable: "rtb-0123456789abcdef0",
				},
			)
		}
	}
	for _, s := range n.Subnets {
		add(s.ID, s.Zone)
	}
	for _, g := range f.groups {
		for _, id := range g.Spec.Subnets {
			add(id, n.Subnets[0].Zone)
		}
	}
	return v
}

// configuration maps a fixture.
func (f fixture) configuration(tb testing.TB, change func(*terraform.Input)) *terraform.Configuration {
	tb.Helper()
	in := f.input(tb)
	if change != nil {
		change(&in)
	}
	c, err := terraform.Cluster(in)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// every calls visit with each cluster of the patterns and its configuration, which is the same for
// all tests.
func every(t *testing.T, visit func(*testing.T, fixture, *terraform.Configuration)) {
	t.Helper()
	all := fixtures(t, patterns...)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if known[name] == nil {
			known[name] = all[name].configuration(t, nil)
		}
		t.Run(name, func(t *testing.T) { visit(t, all[name], known[name]) })
	}
}

var known = map[string]*terraform.Configuration{}

// caCertificate is a CA's, and always the same one, for golden files.
const caCertificate = `-----BEGIN CERTIFICATE-----
MIIBgTCCASegAwIBAgIUPPYLgyxAWbzOVv6ZEBupGbLZCcQwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKa3ViZXJuZXRlczAgFw0yNjExMjAxNTI0MTJaGA8yMTI2MTAy
NzE1MjQxMlowFTETMBEGA1UEAwwKa3ViZXJuZXRlczBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABB3xQJwBn7cS1rdYxmczEkNOMkM0f9eXAd4DTvowWYW7EfOIUj4k
U8cTnHK7wwDi1LlPIcrx1urwVxeWDPbL1rSjUzBRMB0GA1UdDgQWBBRmaMs+FiyB
//NS4vv4Gx87zhJPLjAfBgNVHSMEGDAWgBRmaMs+FiyB//NS4vv4Gx87zhJPLjAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQD9RMSEFJ6enseM88li
C3GprEHtuASfLHuYGtP73wC2IQIgcoJXw0TDBm66m+HSLhEZ3ZBn/CYyj3IgXLFy
l2fJygM=
-----END CERTIFICATE-----
`
