package render_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/eksboot"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/golden"
)

// setRelease is a release of one of the resource sets.
func setRelease(set string) *v1alpha1.Release {
	return &v1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Name: "set-" + set},
		Spec: v1alpha1.ReleaseSpec{
			Kubernetes: "v1.36.3", ResourceSet: set,
			Addons: []v1alpha1.ReleaseAddon{{Name: release.AddonCalico, Optional: true}},
			Images: map[v1alpha1.Architecture]v1alpha1.MachineImage{
				v1alpha1.AMD64: {Parameter: "/aws/service/canonical/ubuntu/server/24.04/stable/20260101/amd64/hvm/ebs-gp3/ami-id"},
				v1alpha1.ARM64: {Parameter: "/aws/service/canonical/ubuntu/server/24.04/stable/20260101/arm64/hvm/ebs-gp3/ami-id"},
			},
		},
	}
}

// fixture is a cluster and its instance groups.
type fixture struct {
	cluster *v1alpha1.Cluster
	groups  []*v1alpha1.InstanceGroup
}

// read reads the manifests of a file with one cluster.
func read(t *testing.T, path string) fixture {
	t.Helper()
	all := readAll(t, path)
	if len(all) != 1 {
		t.Fatalf("%s has %d clusters", path, len(all))
	}
	return all[0]
}

// readAll reads the manifests of a file.
func readAll(t *testing.T, path string) []fixture {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []fixture
	var groups []*v1alpha1.InstanceGroup
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			t.Fatal(err)
		}
		switch kind.Kind {
		case "Cluster":
			c := &v1alpha1.Cluster{}
			all, err = append(all, fixture{cluster: c}), yaml.UnmarshalStrict(document, c)
		case "InstanceGroup":
			g := &v1alpha1.InstanceGroup{}
			groups, err = append(groups, g), yaml.UnmarshalStrict(document, g)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range all {
		for _, g := range groups {
			if g.Spec.Cluster == all[i].cluster.Name && g.Namespace == all[i].cluster.Namespace {
				all[i].groups = append(all[i].groups, g)
			}
		}
	}
	return all
}

// vpc returns the existing VPC that a cluster names, as AWS might have it: with
// the subnets that the cluster names, and those that its groups name besides.
func (f fixture) vpc() *model.ExistingVPC {
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

// resolve returns the models of a fixture.
func (f fixture) resolve(t *testing.T, r *v1alpha1.Release) (*model.Cluster, []*model.Group) {
	t.Helper()
	in := model.Input{
		Cluster: f.cluster, Release: r, Operator: "management",
		AccountID: "123456789012", Partition: "aws", DNSSuffix: "amazonaws.com", Existing: f.vpc(),
	}
	c, err := model.Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	var groups []*model.Group
	for _, g := range f.groups {
		group, err := model.ResolveGroup(c, g)
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, group)
	}
	return c, groups
}

// outputs are those of a base stack, as if AWS had made it.
func outputs(s *render.Stack) map[string]string {
	values := map[string]string{}
	for name := range s.Template.Outputs {
		values[name] = "the-" + name
	}
	return values
}

// userData is what machines boot with.
func userData(t *testing.T, c *model.Cluster, architecture v1alpha1.Architecture) string {
	t.Helper()
	text, err := bootstrap.UserData(bootstrap.UserDataInput{
		Region: c.Region, DNSSuffix: c.DNSSuffix, Bucket: c.Bucket, Architecture: string(architecture),
		NodeupSHA256: strings.Repeat("0a", 32), BundleSHA256: strings.Repeat("0b", 32),
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// userDataOf is what machines of a group boot with.
func userDataOf(t *testing.T, c *model.Cluster, g *model.Group, outputs map[string]string) string {
	t.Helper()
	if c.EKS() == nil {
		return userData(t, c, g.Spec.Architecture)
	}
	boot, err := eksboot.Of(c, g, outputs)
	if err != nil {
		t.Fatal(err)
	}
	return boot.UserData
}

// stacks renders all stacks of a fixture: base, slots, groups.
func (f fixture) stacks(t *testing.T, r *v1alpha1.Release) []*render.Stack {
	t.Helper()
	c, groups := f.resolve(t, r)
	base, err := render.Base(c)
	if err != nil {
		t.Fatal(err)
	}
	stacks := []*render.Stack{base}
	for _, slot := range c.Slots {
		s, err := render.Slot(c, slot.Index, outputs(base), userData(t, c, c.ControlPlaneArchitecture))
		if err != nil {
			t.Fatal(err)
		}
		stacks = append(stacks, s)
	}
	for _, g := range groups {
		s, err := render.Group(c, g, outputs(base), userDataOf(t, c, g, outputs(base)))
		if err != nil {
			t.Fatal(err)
		}
		stacks = append(stacks, s)
	}
	addons, err := render.EKSAddons(c)
	if err != nil {
		t.Fatal(err)
	}
	if addons != nil {
		stacks = append(stacks, addons)
	}
	for _, s := range stacks {
		valid(t, s)
	}
	return stacks
}

// valid holds a template against the rules of templates and the schemas, as the
// stack engine does.
func valid(tb testing.TB, s *render.Stack) {
	tb.Helper()
	if problems := slices.Concat(s.Template.Check(), schema.Default().Validate(s.Template)); len(problems) > 0 {
		tb.Errorf("stack %s: %v", s.Name, problems)
	}
}

// TestGolden renders testdata's manifests: what is in the golden files is what
// AWS gets. A published resource set's files never change.
func TestGolden(t *testing.T) {
	for _, path := range manifests(t, "testdata/*.yaml") {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			f := read(t, path)
			compare(t, name, f.stacks(t, setRelease(strings.TrimPrefix(f.cluster.Spec.Release, "set-"))))
		})
	}
}

// TestRenderingIsDeterministic renders twice.
func TestRenderingIsDeterministic(t *testing.T) {
	f := read(t, "testdata/private.yaml")
	again := f.stacks(t, setRelease(release.Set110))
	for i, s := range f.stacks(t, setRelease(release.Set110)) {
		if !bytes.Equal(document(t, s), document(t, again[i])) {
			t.Errorf("stack %s is rendered otherwise the second time", s.Name)
		}
	}
}

// compare compares the stacks of a cluster with its golden files. Slots 1 and 2
// are like slot 0 and have none.
func compare(t *testing.T, name string, stacks []*render.Stack) {
	t.Helper()
	for _, s := range stacks {
		if slot := s.Tags[model.TagSlot]; slot == "" || slot == "0" {
			golden.Equal(t, filepath.Join("golden", name+"."+s.Name+".template.yaml"), document(t, s))
		}
	}
}

// manifests lists files.
func manifests(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths
}

// document writes a stack as its template, and what is beside it as comments.
func document(t *testing.T, s *render.Stack) []byte {
	t.Helper()
	beside, err := yaml.Marshal(map[string]any{
		"name": s.Name, "parameters": s.Parameters, "tags": s.Tags, "ownerTags": s.OwnerTags, "capabilities": s.Capabilities,
		"terminationProtection": s.TerminationProtection, "policy": s.Policy,
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for line := range strings.Lines(string(beside)) {
		fmt.Fprintf(&out, "# %s", line)
	}
	out.Write(s.Template.YAML())
	return out.Bytes()
}

// TestEverySetRendersEveryCluster also checks that every template fits into a request without S3,
// and all user data into EC2's limit.
func TestEverySetRendersEveryCluster(t *testing.T) {
	for _, set := range release.Sets() {
		for _, path := range manifests(t, "testdata/*.yaml") {
			t.Run(set+"/"+filepath.Base(path), func(t *testing.T) {
				f := read(t, path)
				f.cluster.Spec.Release = "set-" + set
				for _, s := range f.stacks(t, setRelease(set)) {
					if size := len(s.Template.CanonicalJSON()); size >= template.MaxInlineBytes {
						t.Errorf("stack %s is %d bytes, more than can be sent in a request", s.Name, size)
					}
					for name := range s.Template.Parameters {
						if s.Parameters[name] == "" {
							t.Errorf("stack %s gives no value for parameter %s", s.Name, name)
						}
					}
					if len(s.Template.Parameters) != len(s.Parameters) {
						t.Errorf("stack %s has parameters %v, and gives %v", s.Name, s.Template.Parameters, s.Parameters)
					}
					for _, owner := range s.OwnerTags {
						if s.Tags[owner] == "" {
							t.Errorf("stack %s does not say whose it is by tag %s", s.Name, owner)
						}
					}
				}
			})
		}
	}
}
