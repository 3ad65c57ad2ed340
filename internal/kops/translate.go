package kops

import (
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/translation"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// Translated is an object of ours.
type Translated struct {
	// Object is the *v1alpha1.Cluster or *v1alpha1.InstanceGroup.
	Object client.Object
	// From is the document that it was made of.
	From yamltree.Document
}

// Translate makes Clusters and InstanceGroups of documents of kops, which must be together: groups
// name the subnets of their cluster, and masters and bastions become parts of it. The error is
// yamltree.Problems.
func Translate(documents []yamltree.Document, options Options) ([]Translated, []Note, error) {
	if len(options.Releases) == 0 {
		releases, err := release.Builtin()
		if err != nil {
			return nil, nil, fmt.Errorf("read the built-in releases: %w", err)
		}
		options.Releases = releases
	}
	t := &translator{options: options, Report: translation.Report{Tool: "kops"}}
	t.sort(documents)
	t.assign()
	for _, c := range t.clusters {
		c.translate()
	}
	t.checkNames()
	if options.Strict {
		t.Strict()
	}
	notes, err := t.Sorted()
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // they are yamltree.Problems
	}
	return t.made, notes, nil
}

// translator is a translation under way.
type translator struct {
	translation.Report

	options  Options
	clusters []*cluster
	groups   []*group
	keys     []*part
	made     []Translated
}

// sort tells clusters, groups and keys apart.
func (t *translator) sort(documents []yamltree.Document) {
	for _, d := range documents {
		version, kind := d.Value.Field("apiVersion"), d.Value.Field("kind")
		if version == nil || kind == nil {
			t.Problem(d, d.Value.Line, "", "", "every object needs an apiVersion and a kind: set both")
			continue
		}
		if !slices.Contains([]string{"kops/v1alpha2", "kops.k8s.io/v1alpha2"}, version.Text) {
			t.Problem(d, version.Line, "apiVersion", "kops.k8s.io/v1alpha2", "%s cannot be translated", version.Text)
			continue
		}
		metadata := d.Value.Field("metadata")
		name := metadata.Field("name")
		if name == nil || name.Kind != yamltree.String || name.Text == "" {
			t.Problem(d, d.Value.Line, "metadata.name", "", "every object needs a name: set one")
			continue
		}
		spec := d.Value.Field("spec")
		if spec == nil || spec.Kind != yamltree.Map {
			t.Problem(d, d.Value.Line, "spec", "", "the object has no spec: set one")
			continue
		}
		p := t.Part(d, kind.Text+" "+name.Text, "spec", spec, nil)
		of := ""
		if label := metadata.Field("labels").Field("kops.k8s.io/cluster"); label != nil {
			of = label.Text
		}
		switch kind.Text {
		case "Cluster":
			p.Table = clusterFields
			t.clusters = append(t.clusters, &cluster{t: t, spec: p, name: name.Text})
		case "InstanceGroup":
			p.Table = groupFields
			t.groups = append(t.groups, &group{t: t, spec: p, name: name.Text, of: of})
		case "SSHCredential":
			p.Table = fields{"publicKey": taken}
			t.keys = append(t.keys, p)
		default:
			kinds := []string{"Cluster", "InstanceGroup", "SSHCredential"}
			t.Problem(
				d,
				kind.Line,
				"kind",
				template.Closest(kind.Text, kinds),
				"a %s of kops cannot be translated: leave the document out",
				kind.Text,
			)
		}
	}
}

// assign gives each group and key to its cluster: the one that its label names, or the only one.
func (t *translator) assign() {
	for _, g := range t.groups {
		i := slices.IndexFunc(t.clusters, func(c *cluster) bool { return c.name == g.of })
		if i < 0 && g.of == "" && len(t.clusters) == 1 {
			i = 0
		}
		if i < 0 {
			t.Problem(
				g.spec.Document,
				g.spec.Document.Value.Line,
				"metadata.labels[kops.k8s.io/cluster]",
				"",
				"the cluster %q of group %s is not in the manifests: pass both together, since the cluster defines the subnets of the group",
				g.of,
				g.name,
			)
			continue
		}
		t.clusters[i].groups = append(t.clusters[i].groups, g)
		g.cluster = t.clusters[i]
	}
	for _, key := range t.keys {
		label := key.Document.Value.Field("metadata").Field("labels").Field("kops.k8s.io/cluster")
		for _, c := range t.clusters {
			if len(t.clusters) == 1 || label != nil && label.Text == c.name {
				c.keys = append(c.keys, key)
			}
		}
	}
}

// checkNames refuses two clusters that would be called the same.
func (t *translator) checkNames() {
	first := map[string]*cluster{}
	for _, c := range t.clusters {
		if other := first[c.result.Name]; other != nil {
			t.Problem(c.spec.Document, c.spec.Document.Value.Line, "metadata.name", "",
				"%s and %s would both have the name %s: translate one at a time, with --kops-name", other.name, c.name, c.result.Name)
		}
		first[c.result.Name] = c
	}
}

func (t *translator) add(from yamltree.Document, object client.Object) {
	object.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kindOf(object)))
	t.made = append(t.made, Translated{Object: object, From: from})
}

func kindOf(object client.Object) string {
	if _, ok := object.(*v1alpha1.Cluster); ok {
		return "Cluster"
	}
	return "InstanceGroup"
}
