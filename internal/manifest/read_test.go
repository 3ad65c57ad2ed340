package manifest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/kops"
	"github.com/aws-operator/aws-operator/internal/manifest"
)

const (
	cluster = `apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: demo}
spec:
  release: v1.36.3
  region: eu-central-1
  network: {cidr: 10.0.0.0/16, zones: [eu-central-1a]}
`
	group = `apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: workers}
spec:
  cluster: demo
  minSize: 1
  maxSize: 3
  instanceTypes: [m6i.large]
  rollingUpdate: {batchSize: 25%, pause: 30s}
`
	queue = `apiVersion: service-operator.aws/v1alpha1
kind: SQSQueue
metadata: {name: billing}
spec: {visibilityTimeout: 30}
`
	secret = `apiVersion: v1
kind: Secret
metadata: {name: a}
`
	ofKops = `apiVersion: kops/v1alpha2
kind: Cluster
metadata: {name: old.example.com}
spec:
  channel: stable
  networkCIDR: 172.20.0.0/16
  subnets: [{name: a, zone: eu-central-1a, type: Public}]
---
apiVersion: kops/v1alpha2
kind: InstanceGroup
metadata: {name: master}
spec: {role: Master, machineType: m5.large, subnets: [a]}
`
)

func read(o manifest.Options, texts ...string) (*manifest.Set, error) {
	return manifest.Read([]manifest.Source{{Name: "demo.yml", Reader: strings.NewReader(strings.Join(texts, "---\n"))}}, o)
}

func TestClusterConfigOfEksctlIsTranslated(t *testing.T) {
	const text = `apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: old, region: eu-central-1, version: "1.36"}
availabilityZones: [eu-central-1a, eu-central-1b]
managedNodeGroups: [{name: workers, instanceType: m5.large, ssh: {allow: true}}]
`
	set, err := read(manifest.Options{}, text)
	if err != nil {
		t.Fatal(err)
	}
	clusters, groups := manifest.Objects[*clusterv1alpha1.Cluster](set), manifest.Objects[*clusterv1alpha1.InstanceGroup](set)
	if len(clusters) != 1 || clusters[0].Spec.ControlPlane.EKS == nil || len(groups) != 1 || len(set.Notes) == 0 {
		t.Errorf("clusters %v, groups %v, notes %v", clusters, groups, set.Notes)
	}
	if _, err := read(manifest.Options{}, strings.Replace(text, "ssh:", "shh:", 1)); err == nil || !strings.Contains(err.Error(), "eksctl has no such field") {
		t.Errorf("a field that eksctl does not have: %v", err)
	}
}

func TestObjectsAreRead(t *testing.T) {
	set, err := read(manifest.Options{Others: true}, "# nothing\n", cluster, group, queue, secret, ofKops)
	if err != nil {
		t.Fatal(err)
	}
	clusters, groups := manifest.Objects[*clusterv1alpha1.Cluster](set), manifest.Objects[*clusterv1alpha1.InstanceGroup](set)
	if len(clusters) != 2 || clusters[0].Name != "demo" || clusters[1].Name != "old" || clusters[1].Spec.Network.CIDR != "172.20.0.0/16" {
		t.Errorf("the clusters are %v", clusters)
	}
	if len(groups) != 1 || groups[0].Spec.RollingUpdate.BatchSize.StrVal != "25%" || groups[0].Spec.RollingUpdate.Pause.Seconds() != 30 {
		t.Errorf("the groups are %v", groups)
	}
	if queues := manifest.Objects[*servicev1alpha1.Object](set); len(queues) != 1 || queues[0].Kind != "SQSQueue" {
		t.Errorf("the services are %v", queues)
	}
	if others := manifest.Objects[*unstructured.Unstructured](set); len(others) != 1 || others[0].GetKind() != "Secret" {
		t.Errorf("the others are %v", others)
	}
	if second := set.Manifests[1]; second.File != "demo.yml" || second.Document != 2 || second.Line != 11 {
		t.Errorf("the second is of %s, document %d, line %d", second.File, second.Document, second.Line)
	}
	if len(set.Notes) == 0 || set.Notes[0].File != "demo.yml" || set.Notes[0].Document != 5 {
		t.Errorf("the notes are %v", set.Notes)
	}
}

func TestAListIsItsObjects(t *testing.T) {
	const list = `{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "cluster-operator.aws/v1alpha1", "kind": "InstanceGroup", "metadata": {"name": "a"}, "spec": {"cluster": "demo"}},
  {"apiVersion": "cluster-operator.aws/v1alpha1", "kind": "InstanceGroup", "metadata": {"name": "b"}, "spec": {"cluster": "demo"}}]}`
	set, err := read(manifest.Options{}, list)
	if err != nil || len(set.Manifests) != 2 || set.Manifests[1].Line != 3 {
		t.Errorf("%+v, %v", set, err)
	}
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	for name, test := range map[string]struct {
		texts []string
		want  string
	}{
		"a field that there is not":      {[]string{cluster, strings.Replace(group, "minSize", "minSze", 1)}, "demo.yml, document 2, line 14: spec.minSze: there is no such field; did you mean minSize?"},
		"one further down":               {[]string{strings.Replace(cluster, "zones", "zonez", 1)}, "demo.yml, document 1, line 7: spec.network.zonez: there is no such field; did you mean zones?"},
		"one in other letters":           {[]string{strings.Replace(group, "maxSize", "maxsize", 1)}, "line 7: spec.maxsize: there is no such field; did you mean maxSize?"},
		"text for a number":              {[]string{strings.Replace(group, "maxSize: 3", "maxSize: many", 1)}, `line 7: spec.maxSize: "many" is not a valid whole number`},
		"a number for text":              {[]string{strings.Replace(cluster, "release: v1.36.3", "release: 1.36", 1)}, "line 5: spec.release: YAML does not read 1.36 as a string: put it in quotes"},
		"a word for text":                {[]string{cluster + "  tags: {on: off}\n"}, "line 8: spec.tags.on: YAML does not read off as a string"},
		"a word for a boolean":           {[]string{cluster + "  paused: yes\n"}, "line 8: spec.paused: yes may be text or a boolean: write true or false"},
		"text for a list":                {[]string{strings.Replace(group, "[m6i.large]", "m6i.large", 1)}, "line 8: spec.instanceTypes: this is text, but must be a list"},
		"a duration that is none":        {[]string{strings.Replace(group, "30s", "soon", 1)}, `line 9: spec.rollingUpdate.pause: "soon" is invalid`},
		"a field that is there twice":    {[]string{cluster + "  region: eu-west-1\n"}, "line 8: region is defined twice, first in line 6"},
		"a version that there is not":    {[]string{strings.Replace(cluster, "v1alpha1", "v1beta1", 1)}, "line 1: apiVersion: unknown version; did you mean cluster-operator.aws/v1alpha1?"},
		"a group that there is not":      {[]string{strings.Replace(cluster, "cluster-operator", "clusters-operator", 1)}, "did you mean cluster-operator.aws/v1alpha1?"},
		"a fleet":                        {[]string{strings.Replace(cluster, "kind: Cluster", "kind: Fleet", 1)}, "line 2: kind: only an operator rolls fleets out"},
		"a kind that there is not":       {[]string{strings.Replace(cluster, "kind: Cluster", "kind: Clutser", 1)}, "line 2: kind: there is no kind Clutser in cluster-operator.aws: it has Cluster, InstanceGroup, Release; did you mean Cluster?"},
		"a kind that is missing":         {[]string{"apiVersion: v1\n"}, "kind: a manifest requires one"},
		"a name that is missing":         {[]string{strings.Replace(group, "{name: workers}", "{}", 1)}, "metadata.name: every object needs a name"},
		"an object that is there twice":  {[]string{group, group}, "document 2, line 11: InstanceGroup workers is defined twice, first in demo.yml, document 1"},
		"an object of another API group": {[]string{secret}, "apiVersion: v1 is not a supported API group"},
		"text that is no YAML":           {[]string{"a: [\n"}, "demo.yml, document 1, line 1: this is not YAML"},
		"a document that is no map":      {[]string{"- a\n"}, "this is a list"},
		"a cluster of kops that is not":  {[]string{strings.Replace(ofKops, "channel", "chanel", 1)}, "line 5: spec.chanel: kops has no such field; did you mean channel?"},
		"a tag that means nothing":       {[]string{"a: !Ref b\n"}, "the tag !Ref is not supported here"},
		"too many aliases": {[]string{"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"}, "use fewer aliases"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(manifest.Options{}, test.texts...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	_, err := read(manifest.Options{}, strings.Replace(cluster, "region", "regio", 1), strings.Replace(group, "minSize", "minSze", 1))
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v", err)
	}
}

func TestStrictRefusesWhatIsLost(t *testing.T) {
	if _, err := read(manifest.Options{Kops: kops.Options{Strict: true}}, ofKops); err == nil ||
		!strings.Contains(err.Error(), "spec.channel: stable") {
		t.Errorf("got %v", err)
	}
}

func TestAnchorsAndMergesAreResolved(t *testing.T) {
	const text = `apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: a, annotations: &x {b: c}}
spec: {cluster: demo, labels: {<<: *x, d: e}, minSize: 0x10, maxSize: 20}
`
	set, err := read(manifest.Options{}, text)
	if err != nil {
		t.Fatal(err)
	}
	g := manifest.Objects[*clusterv1alpha1.InstanceGroup](set)[0]
	if len(g.Spec.Labels) != 2 || g.Spec.Labels["b"] != "c" || g.Spec.MinSize != 16 {
		t.Errorf("read %+v", g.Spec)
	}
}

func TestOpenFindsFilesInFolders(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": cluster, "b.json": "{}", "c.txt": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sources, err := manifest.Open([]string{dir, filepath.Join(dir, "c.txt"), "-"}, strings.NewReader(group))
	if err != nil || len(sources) != 4 || sources[3].Name != "standard input" {
		t.Errorf("%v, %v", sources, err)
	}
	if _, err := manifest.Open([]string{filepath.Join(dir, "none")}, nil); err == nil {
		t.Error("a file that is not there is opened")
	}
	broken := errors.New("broken")
	if _, err := manifest.Read([]manifest.Source{{Name: "x", Reader: iotest.ErrReader(broken)}}, manifest.Options{}); !errors.Is(
		err, broken,
	) {
		t.Errorf("got %v", err)
	}
}

// FuzzRead reads anything without a panic, and what it accepts has a name.
func FuzzRead(f *testing.F) {
	for _, text := range []string{cluster, group, queue, secret, ofKops, cluster + "---\n" + group} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := read(manifest.Options{Others: true}, text)
		if err != nil {
			return
		}
		for _, m := range set.Manifests {
			if m.Object.GetName() == "" {
				t.Errorf("an object without a name: %+v", m)
			}
		}
	})
}
