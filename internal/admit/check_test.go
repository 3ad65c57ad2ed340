package admit_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/examples"
	"github.com/aws-operator/aws-operator/internal/admit"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
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
spec: {cluster: demo, minSize: 1, maxSize: 3, instanceTypes: [m6i.large]}
`
)

func read(t *testing.T, text string) client.Object {
	t.Helper()
	set, err := manifest.Read([]manifest.Source{{Name: "x.yaml", Reader: strings.NewReader(text)}}, manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return set.Manifests[0].Object
}

func TestWhatTheAPIServerRefusesIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ text, old, new, want string }{
		"a value that is missing":            {cluster, "  region: eu-central-1\n", "", "spec.region: "},
		"a value of another form":            {cluster, "region: eu-central-1", "region: Frankfurt", "spec.region: write an AWS region"},
		"a zone that is elsewhere":           {cluster, "[eu-central-1a]", "[us-east-1a]", "network.zones has a zone of another region"},
		"a word that is none":                {cluster, "network: {", "network: {topology: Secret, ", `spec.network.topology: "Secret" is not supported; use one of `},
		"a name that stacks cannot have":     {cluster, "name: demo", "name: Demo_1", "Cluster Demo_1: metadata.name: stacks, a zone and a bucket are named after the cluster: use a name of at most 40 lower-case letters"},
		"numbers that contradict each other": {group, "maxSize: 3", "maxSize: 0", "maxSize"},
	} {
		t.Run(name, func(t *testing.T) {
			err := admit.Check(t.Context(), read(t, strings.Replace(test.text, test.old, test.new, 1)), nil)
			if admit.IsRefused(err) == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestWhatCannotChangeIsRefused(t *testing.T) {
	before := read(t, cluster)
	if err := admit.Check(t.Context(), read(t, strings.Replace(cluster, "v1.36.3", "v1.36.4", 1)), before); err != nil {
		t.Errorf("another release is refused: %v", err)
	}
	moved := strings.ReplaceAll(cluster, "eu-central-1", "eu-west-1")
	if err := admit.Check(t.Context(), read(t, moved), before); err == nil ||
		!strings.Contains(err.Error(), "region cannot change: create a new cluster") {
		t.Errorf("another region: got %v", err)
	}
}

func TestWhatIsGoodIsAccepted(t *testing.T) {
	for _, text := range []string{cluster, group} {
		if err := admit.Check(t.Context(), read(t, text), nil); err != nil {
			t.Error(err)
		}
	}
	folder, err := examples.Clusters.ReadDir("clusters")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range folder {
		text, err := examples.Clusters.ReadFile("clusters/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		set, err := manifest.Read([]manifest.Source{{Name: file.Name(), Reader: strings.NewReader(string(text))}}, manifest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range set.Manifests {
			if err := admit.Check(t.Context(), m.Object, nil); err != nil {
				t.Errorf("%s: %v", file.Name(), err)
			}
		}
	}
	builtin, err := release.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range builtin {
		if err := admit.Check(t.Context(), r, r); err != nil {
			t.Error(err)
		}
	}
}
