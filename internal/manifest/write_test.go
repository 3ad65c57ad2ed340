package manifest_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/manifest"
)

func write(t *testing.T, object client.Object) string {
	t.Helper()
	content, err := manifest.Definition(object)
	if err != nil {
		t.Fatal(err)
	}
	text, err := manifest.Write(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWhatIsWrittenIsWhatAPersonWouldWrite(t *testing.T) {
	for _, text := range []string{`apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata:
  name: demo
spec:
  bastion: {}
  network:
    cidr: 10.0.0.0/16
    zones:
    - eu-central-1a
  region: eu-central-1
  release: v1.36.3
`, `apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata:
  labels:
    team: a
  name: workers
spec:
  cluster: demo
  instanceTypes:
  - m6i.large
  maxSize: 3
  minSize: 1
  rollingUpdate:
    batchSize: 25%
    pause: 30s
`} {
		set, err := read(manifest.Options{}, text)
		if err != nil {
			t.Fatal(err)
		}
		object := set.Manifests[0].Object
		object.SetUID("a")
		object.SetGeneration(2)
		if written := write(t, object); written != text {
			t.Errorf("read:\n%s\nwritten:\n%s", text, written)
		}
	}
}

func TestDocumentsAreKeptApart(t *testing.T) {
	text, err := manifest.Write(map[string]any{"a": 1}, map[string]any{"b": 2})
	if err != nil || strings.TrimSpace(string(text)) != "a: 1\n---\nb: 2" {
		t.Errorf("%q, %v", text, err)
	}
}
