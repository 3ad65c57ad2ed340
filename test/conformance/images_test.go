package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The images can be made of the programs of this host and of those that make conformance builds.
func TestImagesHaveTheNamesThatTheSuitePulls(t *testing.T) {
	if err := missing(); err != nil {
		t.Skip(err)
	}
	programs, layout := t.TempDir(), filepath.Join(t.TempDir(), "images")
	for _, name := range []string{"agnhost", "nonewprivs"} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("a program"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeImages(t.Context(), filepath.Join("..", ".."), programs, layout); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		Manifests []struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"manifests"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, manifest := range index.Manifests {
		names = append(names, manifest.Annotations["org.opencontainers.image.ref.name"])
	}
	// The versions in k8s.io/kubernetes/test/utils/image/manifest.go of v1.36.3.
	for _, want := range []string{
		"agnhost:2.63.0", "agnhost:2.55", "busybox:1.37.0-1", "nginx:1.15-4", "nginx:1.27-0", "nonroot:1.5", "kitten:1.8",
	} {
		if !slices.Contains(names, tests+want) {
			t.Errorf("there is no image %s among %q", tests+want, names)
		}
	}
}
