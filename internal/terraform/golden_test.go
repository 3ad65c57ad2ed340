package terraform_test

import (
	"bytes"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/golden"
	"github.com/aws-operator/aws-operator/internal/terraform"
)

// TestGolden holds the configurations of the examples. Bundles of slots 1 and 2 are like that of
// slot 0 and have no file.
func TestGolden(t *testing.T) {
	for name, f := range fixtures(t, "../../examples/clusters/*.yaml") {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("golden", name)
			if err := os.MkdirAll(filepath.Join("testdata", dir), 0o750); err != nil {
				t.Fatal(err)
			}
			var want []string
			for file, contents := range f.configuration(t, nil).Files {
				if strings.Contains(file, "control-plane-1") || strings.Contains(file, "control-plane-2") {
					continue
				}
				want = append(want, path.Base(file))
				golden.Equal(t, filepath.Join(dir, path.Base(file)), contents)
			}
			there, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range there {
				if !slices.Contains(want, filepath.Base(file)) {
					t.Errorf("%s is part of no configuration any more", file)
				}
			}
		})
	}
}

func TestTheSameClusterGivesTheSameBytes(t *testing.T) {
	every(t, func(t *testing.T, f fixture, c *terraform.Configuration) {
		t.Helper()
		if !maps.EqualFunc(c.Files, f.configuration(t, nil).Files, bytes.Equal) {
			t.Error("other files the second time")
		}
	})
}

// TestAFileForEachStackSaysTheSameAsOneFile compares the blocks of both layouts.
func TestAFileForEachStackSaysTheSameAsOneFile(t *testing.T) {
	every(t, func(t *testing.T, f fixture, whole *terraform.Configuration) {
		t.Helper()
		spread := f.configuration(t, func(in *terraform.Input) { in.Layout = terraform.LayoutStack })
		want, got := parse(t, whole), parse(t, spread)
		if slots := int(max(1, f.cluster.Spec.ControlPlane.Replicas)); f.cluster.Spec.ControlPlane.Replicas > 0 &&
			got.files != 2+slots+len(f.groups) {
			t.Errorf("there are %d files for %d slots and %d instance groups", got.files, slots, len(f.groups))
		}
		if !slices.Equal(slices.Sorted(maps.Keys(want.resources)), slices.Sorted(maps.Keys(got.resources))) {
			t.Error("one file has other resources than several")
		}
		if !slices.Equal(slices.Sorted(maps.Keys(want.locals)), slices.Sorted(maps.Keys(got.locals))) {
			t.Error("one file has other locals than several")
		}
		for file, contents := range whole.Files {
			if file != "kubernetes.tf" && !bytes.Equal(contents, spread.Files[file]) {
				t.Errorf("%s is another in the other layout", file)
			}
		}
	})
}

func TestTheProviderCanBeLeftOut(t *testing.T) {
	for name, f := range fixtures(t, "../../examples/clusters/two-accounts.yaml") {
		text := string(f.configuration(t, nil).Files["kubernetes.tf"])
		if !strings.Contains(text, "\nterraform {") || !strings.Contains(text, "\nprovider \"aws\" {") {
			t.Errorf("%s has no terraform or provider block", name)
		}
		if strings.Contains(text, "assume_role {") != (f.cluster.Spec.Role != nil) {
			t.Errorf("%s: the provider does not act as the cluster's role, or as one that it does not have", name)
		}
		text = string(f.configuration(t, func(in *terraform.Input) { in.OmitProvider = true }).Files["kubernetes.tf"])
		if strings.Contains(text, "\nterraform {") || strings.Contains(text, "\nprovider ") {
			t.Errorf("%s has a terraform or a provider block", name)
		}
	}
}

func TestFilesSayWhoseTheyAre(t *testing.T) {
	every(t, func(t *testing.T, f fixture, c *terraform.Configuration) {
		t.Helper()
		for file, contents := range c.Files {
			if !strings.HasSuffix(file, ".tf") {
				continue
			}
			if cluster, ok := terraform.IsWritten(contents); !ok || cluster != f.cluster.Name {
				t.Errorf("%s is not known as %s's", file, f.cluster.Name)
			}
		}
	})
	if _, ok := terraform.IsWritten([]byte("# A user's\n")); ok {
		t.Error("a user's file is treated as generated")
	}
}
