package eksctl

import (
	"fmt"
	"slices"

	"github.com/Masterminds/semver/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/translation"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// Group is the API group of eksctl's ClusterConfig.
const Group = "eksctl.io"

// Options are what a translation needs besides the documents.
type Options struct {
	// Strict makes every note an error.
	Strict bool
	// Release names the Release that translated clusters run; the newest with the minor version of
	// metadata.version when empty.
	Release string
	// Releases are those to choose from; the built-in ones when empty.
	Releases []*v1alpha1.Release
	// Name is what the translated cluster is called; its name in eksctl when empty. It can be given for
	// one cluster only.
	Name string
}

// Translated is an object of ours.
type Translated struct {
	// Object is the *v1alpha1.Cluster or *v1alpha1.InstanceGroup.
	Object client.Object
	// From is the document that it was made of.
	From yamltree.Document
}

// Translate makes a Cluster and InstanceGroups of each ClusterConfig. The error is yamltree.Problems.
func Translate(documents []yamltree.Document, options Options) ([]Translated, []translation.Note, error) {
	if len(options.Releases) == 0 {
		releases, err := release.Builtin()
		if err != nil {
			return nil, nil, fmt.Errorf("read the built-in releases: %w", err)
		}
		options.Releases = releases
	}
	report := &translation.Report{Tool: "eksctl"}
	var made []Translated
	names := map[string]bool{}
	for _, d := range documents {
		c := read(report, d, options)
		if c == nil {
			continue
		}
		objects := c.translate()
		if names[c.result.Name] {
			report.Problem(d, d.Value.Line, "metadata.name", "", "another cluster has the name %s: rename one of them", c.result.Name)
		}
		names[c.result.Name] = true
		for _, object := range objects {
			made = append(made, Translated{Object: object, From: d})
		}
	}
	if options.Strict {
		report.Strict()
	}
	notes, err := report.Sorted()
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // they are yamltree.Problems
	}
	return made, notes, nil
}

// cluster is a ClusterConfig under translation.
type cluster struct {
	report   *translation.Report
	document yamltree.Document
	options  Options
	spec     *translation.Part
	metadata *translation.Part
	result   *v1alpha1.Cluster
	groups   []*group
	// subnets are the existing subnets.
	subnets []subnet
}

// read returns the ClusterConfig of a document, nil if it has none.
func read(report *translation.Report, d yamltree.Document, options Options) *cluster {
	version, kind := d.Value.Field("apiVersion"), d.Value.Field("kind")
	switch {
	case version == nil || kind == nil:
		report.Problem(d, d.Value.Line, "", "", "every object needs an apiVersion and a kind: set both")
		return nil
	case version.Text != Group+"/v1alpha5":
		report.Problem(d, version.Line, "apiVersion", Group+"/v1alpha5", "%s cannot be translated", version.Text)
		return nil
	case kind.Text != "ClusterConfig":
		report.Problem(d, kind.Line, "kind", "ClusterConfig", "a %s of eksctl cannot be translated: leave the document out", kind.Text)
		return nil
	}
	object := "ClusterConfig"
	if name := d.Value.Field("metadata").Field("name"); name != nil {
		object += " " + name.Text
	}
	c := &cluster{report: report, document: d, options: options, spec: report.Part(d, object, "", d.Value, clusterFields)}
	c.spec.Use("apiVersion", "kind")
	if c.metadata = c.spec.Section("metadata", metaFields); c.metadata == nil {
		report.Problem(d, d.Value.Line, "metadata", "", "the object has no metadata: set metadata.name and metadata.region")
		return nil
	}
	return c
}

// translate makes the Cluster and its InstanceGroups.
func (c *cluster) translate() []client.Object {
	c.result = &v1alpha1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Name: c.name()},
	}
	s := &c.result.Spec
	s.ControlPlane.EKS = &v1alpha1.EKS{}
	if s.Region = c.metadata.Text("region"); s.Region == "" {
		c.metadata.Refuse("region", "a cluster needs a region: set one, for example eu-central-1")
	}
	s.Release = c.release()
	s.Tags = tags(c.metadata)
	c.autoMode()
	c.readGroups()
	c.network()
	c.access()
	c.controlPlane()
	c.addons()
	c.iam()
	objects := []client.Object{c.result}
	for _, g := range c.groups {
		objects = append(objects, g.translate())
	}
	c.metadata.Finish()
	c.spec.Finish()
	return objects
}

// clusterName matches what a cluster of ours may be called.
var clusterName = lazyregexp.New(`^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$`)

func (c *cluster) name() string {
	name := c.metadata.Text("name")
	if c.options.Name != "" {
		name = c.options.Name
	}
	if !clusterName.MatchString(name) {
		c.metadata.Refuse("name", "this is not a valid name: use at most 40 lower-case letters, digits and hyphens that begin with a letter")
	}
	return name
}

// ownTag matches the tags that the operator sets itself.
var ownTag = lazyregexp.New(`(?i)^(aws:|kubernetes\.io/cluster/|cluster-operator\.aws/)`)

// tags returns the tags of a section, except reserved ones.
func tags(p *translation.Part) map[string]string {
	all := p.Labels("tags")
	for key := range all {
		if ownTag.MatchString(key) {
			delete(all, key)
			p.Note("tags", translation.Info, fmt.Sprintf("the tag %s is reserved by the operator or AWS", key))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// release returns the Release that the cluster runs: the one that the options name, or the newest of the
// minor version, or else the next newer one, or else the newest.
func (c *cluster) release() string {
	version := c.metadata.Text("version")
	if c.options.Release != "" {
		return c.options.Release
	}
	var known []*v1alpha1.Release
	for _, r := range c.options.Releases {
		if r.Spec.State != v1alpha1.ReleaseDeprecated && minor(r.Spec.Kubernetes) != nil {
			known = append(known, r)
		}
	}
	if len(known) == 0 {
		c.metadata.Refuse("version", "there are no releases: name one")
		return ""
	}
	slices.SortStableFunc(known, func(a, b *v1alpha1.Release) int {
		return semver.MustParse(a.Spec.Kubernetes).Compare(semver.MustParse(b.Spec.Kubernetes))
	})
	chosen := known[len(known)-1]
	if wanted := minor(version); wanted != nil {
		if i := slices.IndexFunc(known, func(r *v1alpha1.Release) bool { return !minor(r.Spec.Kubernetes).LessThan(wanted) }); i >= 0 {
			chosen = newestPatch(known[i:])
		}
		if minor(chosen.Spec.Kubernetes).Equal(wanted) {
			return chosen.Name
		}
	}
	severity, why := translation.Warning, "Make sure that your workloads do not use APIs that were removed in between"
	if version == "" {
		severity, why = translation.Info, "Name another one if you need it"
	}
	c.metadata.Note("version", severity, fmt.Sprintf("the cluster runs release %s with Kubernetes %s. %s", chosen.Name, chosen.Spec.Kubernetes, why))
	return chosen.Name
}

// newestPatch returns the newest of the releases, oldest first, that have the first one's minor version.
func newestPatch(known []*v1alpha1.Release) *v1alpha1.Release {
	newest := known[0]
	for _, r := range known {
		if minor(r.Spec.Kubernetes).Equal(minor(newest.Spec.Kubernetes)) {
			newest = r
		}
	}
	return newest
}

// minor returns a version without its patch, nil if it is not one.
func minor(version string) *semver.Version {
	v, err := semver.NewVersion(version)
	if err != nil {
		return nil
	}
	return semver.New(v.Major(), v.Minor(), 0, "", "")
}
