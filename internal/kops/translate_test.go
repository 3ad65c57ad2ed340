package kops_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/golden"
	"github.com/aws-operator/aws-operator/internal/kops"
	"github.com/aws-operator/aws-operator/internal/manifest/tree"
)

func TestClustersBecomeOurs(t *testing.T) {
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

// withoutStatus leaves out what a person would not write.
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
	documents, err := tree.Parse(name+".kops.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	made, notes, err := kops.Translate(documents, o)
	if err != nil {
		t.Fatal(err)
	}
	return made, notes
}
