package kops_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/kops"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// FuzzTranslate translates any manifest without a panic. A manifest that is refused gives nothing,
// a translated object has a name, and the same manifest gives the same objects.
func FuzzTranslate(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range append(files, "../../examples/kops/cluster.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: a.example.com}\nspec: {subnets: [{}], etcdClusters: null}\n")
	f.Add("apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: nodes}\nspec: {role: Node, minSize: -1, maxSize: 9999999999}\n")
	releases, err := release.Builtin()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		documents, err := yamltree.Parse("cluster.yaml", []byte(text))
		if err != nil {
			return
		}
		made, notes, err := kops.Translate(documents, kops.Options{Releases: releases})
		if err != nil {
			if len(made) > 0 || len(notes) > 0 {
				t.Errorf("it is refused (%v) and gives %d objects and %d notes", err, len(made), len(notes))
			}
			return
		}
		again, _, err := kops.Translate(documents, kops.Options{Releases: releases})
		if err != nil || len(again) != len(made) {
			t.Fatalf("the second translation gives %d objects, %v, the first %d", len(again), err, len(made))
		}
		for i, one := range made {
			if one.Object.GetName() == "" {
				t.Errorf("an object has no name: %+v", one.Object)
			}
			if first, second := asJSON(t, one.Object), asJSON(t, again[i].Object); first != second {
				t.Errorf("%s differs:\n%s\n%s", one.Object.GetName(), first, second)
			}
		}
	})
}

func asJSON(t *testing.T, object any) string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
