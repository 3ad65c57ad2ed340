package v1alpha1_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/admit"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// server is an API server with the CRDs of clusters.
type server struct {
	client.Client
	namespace string
}

func newServer(t *testing.T) server {
	t.Helper()
	cluster := controlplanetest.Shared(t)
	ctx := patience.Context(t)
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	if err := operatorkit.EnsureCRDs(ctx, cluster.RESTConfig(), "cluster-api-test", crds...); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cluster.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return server{Client: c, namespace: controlplanetest.Namespace(t, cluster)}
}

// object parses a manifest and merges fields into it.
func (s server) object(t *testing.T, manifest, with string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &obj.Object); err != nil {
		t.Fatal(err)
	}
	over := map[string]any{}
	if err := yaml.Unmarshal([]byte(with), &over); err != nil {
		t.Fatal(err)
	}
	merge(obj.Object, over)
	if obj.GetKind() != "Release" {
		obj.SetNamespace(s.namespace)
	}
	return obj
}

// merge merges fields into an object's; null removes a field.
func merge(into, over map[string]any) {
	for key, value := range over {
		deeper, isMap := value.(map[string]any)
		there, wasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && wasMap:
			merge(there, deeper)
		default:
			into[key] = value
		}
	}
}

// create validates the creation of the object with a dry run.
func (s server) create(t *testing.T, obj *unstructured.Unstructured) error {
	t.Helper()
	given := obj.DeepCopy()
	return agreed(t, given, nil, s.Create(t.Context(), obj, client.DryRunAll))
}

// agreed returns the API server's error for an object, after checking that package admit returns
// the same error without an API server.
func agreed(t *testing.T, obj, old *unstructured.Unstructured, said error) error {
	t.Helper()
	var before client.Object
	if old != nil {
		before = old
	}
	// YAML decodes every number as a float; JSON does not.
	data, err := obj.MarshalJSON()
	if err == nil {
		err = obj.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := admit.Check(t.Context(), obj, before); (err == nil) != (said == nil) {
		t.Errorf("the API server says: %v\nwithout it: %v", said, err)
	}
	return said
}

// update creates the object, then changes it.
func (s server) update(t *testing.T, obj *unstructured.Unstructured, change string) error {
	t.Helper()
	given, old, said := s.changed(t, obj, change, func() {})
	return agreed(t, given, old, said)
}

// updateUp creates a Cluster, sets the version that it runs, then changes it. Package admit does not know
// that version.
func (s server) updateUp(t *testing.T, obj *unstructured.Unstructured, change string) error {
	t.Helper()
	_, _, said := s.changed(t, obj, change, func() {
		if err := unstructured.SetNestedField(obj.Object, "v1.36.3", "status", "version"); err != nil {
			t.Fatal(err)
		}
		if err := s.Status().Update(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	})
	return said
}

// changed creates the object and returns it changed, as it was before, and the API server's error.
func (s server) changed(
	t *testing.T, obj *unstructured.Unstructured, change string, created func(),
) (given, old *unstructured.Unstructured, said error) {
	t.Helper()
	obj.SetGenerateName(obj.GetName() + "-")
	if obj.GetKind() == "Release" {
		obj.SetGenerateName(obj.GetName() + "-test")
	}
	obj.SetName("")
	if err := s.Create(t.Context(), obj, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		t.Fatalf("what is to be changed was refused: %v", err)
	}
	t.Cleanup(func() { _ = s.Delete(context.Background(), obj) })
	created()
	over := map[string]any{}
	if err := yaml.Unmarshal([]byte(change), &over); err != nil {
		t.Fatal(err)
	}
	old = obj.DeepCopy()
	merge(obj.Object, over)
	return obj.DeepCopy(), old, s.Update(t.Context(), obj, client.DryRunAll)
}
