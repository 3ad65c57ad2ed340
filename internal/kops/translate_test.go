package kops_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/golden"
	"github.com/aws-operator/aws-operator/internal/kops"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

func TestClustersAreTranslated(t *testing.T) {
	for _, name := range []string{"private", "public"} {
		t.Run(name, func(t *testing.T) {
			made, notes := translated(t, name, kops.Options{})
			var out bytes.Buffer
			for _, one := range made {
				data, err := yaml.Marshal(one.Object)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&out, "---\n%s", withoutStatus(data))
			}
			golden.Equal(t, name+".yaml", out.Bytes())
			out.Reset()
			for _, note := range notes {
				fmt.Fprintf(&out, "%s: %s\n", note.Severity, note)
			}
			golden.Equal(t, name+".notes", out.Bytes())
		})
	}
}

// exampleHeader says what the file is that begins with it.
const exampleHeader = `# The result of translating ../kops/cluster.yaml with --kops-release v1.36.3: three slots in three zones and two
# groups, in an existing VPC, with an API that only the company's networks reach, and a bastion. Only the name comes
# from kops unchanged. Replace the IDs of the VPC, subnets and security groups.
`

// TestTheExampleIsTheTranslatedManifest has the translation among the examples, which all
// tests of clusters read.
func TestTheExampleIsTheTranslatedManifest(t *testing.T) {
	data, err := os.ReadFile("../../examples/kops/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents, err := yamltree.Parse("cluster.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := kops.Translate(documents, kops.Options{Release: "v1.36.3"})
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, len(made))
	for i, one := range made {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(one.Object)
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(withoutEmpty(content))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	golden.Equal(t, "../../../examples/clusters/from-kops.yaml", []byte(exampleHeader+strings.Join(texts, "---\n")))
}

// withoutEmpty removes empty values, which users do not write.
func withoutEmpty(content map[string]any) map[string]any {
	for key, value := range content {
		inner, ok := value.(map[string]any)
		if ok {
			inner = withoutEmpty(inner)
		}
		if value == nil || ok && len(inner) == 0 {
			delete(content, key)
		}
	}
	return content
}

// withoutStatus removes the status, which users do not write.
func withoutStatus(data []byte) []byte {
	text, _, _ := strings.Cut(string(data), "status:\n")
	return []byte(strings.ReplaceAll(text, "  creationTimestamp: null\n", ""))
}

func translated(t *testing.T, name string, o kops.Options) ([]kops.Translated, []kops.Note) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".kops.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	documents, err := yamltree.Parse(name+".kops.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	made, notes, err := kops.Translate(documents, o)
	if err != nil {
		t.Fatal(err)
	}
	return made, notes
}
