package examples_test

import (
	"bytes"
	"embed"
	"errors"
	"io"
	"io/fs"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/examples"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

func TestClustersAreAcceptedAndResolve(t *testing.T) {
	server := controlplanetest.Shared(t)
	ctx := patience.Context(t)
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	if err := operatorkit.EnsureCRDs(ctx, server.RESTConfig(), "examples-test", crds...); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(server.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	releases, err := release.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range releases {
		if err := c.Create(ctx, one.DeepCopy(), client.DryRunAll); err != nil {
			t.Errorf("built-in release %s is refused: %v", one.Name, err)
		}
	}
	files, err := fs.Glob(examples.Clusters, "clusters/*.yaml")
	if err != nil || len(files) != 15 {
		t.Fatalf("%d files of clusters (%v), want 15", len(files), err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			accepted := apply(t, c, controlplanetest.Namespace(t, server), examples.Clusters, file)
			accepted.resolve(t, releases)
		})
	}
}

// TestFleetIsAccepted tests that the API server accepts the fleet and its clusters.
func TestFleetIsAccepted(t *testing.T) {
	server := controlplanetest.Shared(t)
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	if err := operatorkit.EnsureCRDs(patience.Context(t), server.RESTConfig(), "examples-test", crds...); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(server.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made := apply(t, c, controlplanetest.Namespace(t, server), examples.Fleet, "fleet/clusters.yaml")
	if len(made.clusters) != 4 {
		t.Errorf("there are %d clusters, want 4", len(made.clusters))
	}
	if fleets := apply(t, c, controlplanetest.Namespace(t, server), examples.Fleet, "fleet/fleet.yaml").fleets; fleets != 1 {
		t.Errorf("there are %d fleets, want 1", fleets)
	}
}

// manifests are the objects of a file as the API server returned them, with its defaults.
type manifests struct {
	clusters []*v1alpha1.Cluster
	groups   []*v1alpha1.InstanceGroup
	fleets   int
}

// apply makes the objects of a file; a field that is not known is an error.
func apply(t *testing.T, c client.Client, namespace string, from embed.FS, file string) manifests {
	t.Helper()
	data, err := from.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte("# ")) {
		t.Errorf("%s does not begin with what it is for", file)
	}
	var made manifests
	strict := client.WithFieldValidation(c, "Strict")
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(obj); errors.Is(err, io.EOF) {
			return made
		} else if err != nil {
			t.Fatal(err)
		}
		obj.SetNamespace(namespace)
		if err := strict.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		switch obj.GetKind() {
		case "Cluster":
			cluster := &v1alpha1.Cluster{}
			convert(t, obj, cluster)
			made.clusters = append(made.clusters, cluster)
		case "InstanceGroup":
			group := &v1alpha1.InstanceGroup{}
			convert(t, obj, group)
			made.groups = append(made.groups, group)
		case "Fleet":
			made.fleets++
		default:
			t.Errorf("%s has a %s", file, obj.GetKind())
		}
	}
}

func convert(t *testing.T, from *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, into); err != nil {
		t.Fatal(err)
	}
}

// resolve resolves every cluster and its groups.
func (m manifests) resolve(t *testing.T, releases []*v1alpha1.Release) {
	t.Helper()
	groups := 0
	for _, cluster := range m.clusters {
		i := slices.IndexFunc(releases, func(r *v1alpha1.Release) bool { return r.Name == cluster.Spec.Release })
		if i < 0 {
			t.Fatalf("cluster %s names no built-in release: %s", cluster.Name, cluster.Spec.Release)
		}
		resolved, err := model.Resolve(model.Input{
			Cluster: cluster, Release: releases[i], Operator: "aws-operator", AccountID: "123456789012", Partition: "aws",
			DNSSuffix: "amazonaws.com",
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range m.groups {
			if group.Spec.Cluster != cluster.Name {
				continue
			}
			groups++
			if _, err := model.ResolveGroup(resolved, group); err != nil {
				t.Error(err)
			}
		}
	}
	if len(m.clusters) == 0 || groups != len(m.groups) {
		t.Errorf("%d clusters, %d of %d groups are theirs", len(m.clusters), groups, len(m.groups))
	}
}
