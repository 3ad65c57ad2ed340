package state_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/state"
)

// inKops returns the manifest of a cluster that has a name in kops.
func inKops(name, kopsName string) string {
	return strings.Replace(demo, "name: demo", "name: "+name+"\n  annotations: {cluster-operator.aws/kops-name: "+kopsName+"}", 1)
}

func TestClusterIsFoundByItsNameInKops(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *state.State{
		"folder":             func(t *testing.T) *state.State { t.Helper(); return open(t, t.TempDir()) },
		"management cluster": newManagement,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			actions(t, s, inKops("k8s", "k8s.example.com"), inKops("blue", "shop.example.com"), inKops("green", "shop.example.com"), demo)
			for typed, want := range map[string]string{
				"k8s.example.com":  "k8s",
				"K8S.Example.com":  "k8s",
				"k8s.example.com.": "k8s",
				"demo":             "demo",
				"k8s":              "k8s",
				// The command that loads it reports it.
				"absent": "absent",
			} {
				if got, err := s.NameOf(t.Context(), typed); err != nil || got != want {
					t.Errorf("%s is %s, %v, want %s", typed, got, err, want)
				}
			}
			_, err := s.NameOf(t.Context(), "shop.example.com")
			if _, ok := errors.AsType[*state.AmbiguousError](err); !ok ||
				err.Error() != "shop.example.com is the name in kops of 2 clusters, blue and green: use the name of one of them" {
				t.Errorf("two clusters of one name: %v", err)
			}
			_, err = s.NameOf(t.Context(), "example.com")
			if _, ok := errors.AsType[*state.NotFoundError](err); !ok ||
				!strings.HasSuffix(err.Error(), "there is blue (in kops shop.example.com), demo, green (in kops shop.example.com), k8s (in kops k8s.example.com)") {
				t.Errorf("no cluster of the name: %v", err)
			}
		})
	}
}

func TestManifestsCountLikeTheState(t *testing.T) {
	s := open(t, t.TempDir())
	actions(t, s, inKops("k8s", "k8s.example.com"))
	manifest := func(text string) *v1alpha1.Cluster {
		c, ok := objects(t, text)[0].(*v1alpha1.Cluster)
		if !ok {
			t.Fatal("the manifest has no Cluster")
		}
		return c
	}
	if got, err := s.NameOf(t.Context(), "new.example.com", manifest(inKops("new", "new.example.com"))); err != nil || got != "new" {
		t.Errorf("a cluster that only a manifest defines: %s, %v", got, err)
	}
	if got, err := s.NameOf(t.Context(), "k8s.example.com", manifest(inKops("k8s", "k8s.example.com"))); err != nil || got != "k8s" {
		t.Errorf("a cluster that both define: %s, %v", got, err)
	}
	_, err := s.NameOf(t.Context(), "k8s.example.com", manifest(inKops("copy", "k8s.example.com")))
	if _, ok := errors.AsType[*state.AmbiguousError](err); !ok {
		t.Errorf("a second cluster of the name in a manifest: %v", err)
	}
}

// A cluster that cannot be read could be a second one of the name.
func TestUnreadableClusterIsReported(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	actions(t, s, inKops("k8s", "k8s.example.com"), demo)
	if err := os.WriteFile(filepath.Join(dir, "demo", "cluster.yaml"), []byte("kind: {"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.NameOf(t.Context(), "k8s.example.com"); err == nil || !strings.Contains(err.Error(), filepath.Join("demo", "cluster.yaml")) {
		t.Errorf("the file is not named: %v", err)
	}
	if got, err := s.NameOf(t.Context(), "k8s"); err != nil || got != "k8s" {
		t.Errorf("its own name: %s, %v", got, err)
	}
}
