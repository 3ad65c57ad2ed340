package config_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/operator/operatortest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// The rights in operator.yaml are enough: an operator that acts as its service account, and so is
// held to them, makes a table and a cluster and takes them down again.
func TestTheOperatorsRightsAreEnough(t *testing.T) {
	admin := controlplanetest.SharedWithControllers(t).RESTConfig()
	c, err := client.New(admin, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, c, "operator.yaml", "Deployment")
	operatortest.Releases(t, admin, "v1.36.3")
	run(t, admin)
	objects := append(apply(t, c, "../examples/quickstart/dynamodb.yaml"), apply(t, c, "../examples/quickstart/cluster.yaml")...)
	for _, object := range objects {
		await(t, c, object, "Ready", func(now *unstructured.Unstructured, err error) bool { return err == nil && ready(now) })
	}
	for _, object := range objects {
		if err := c.Delete(t.Context(), object); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
	for _, object := range objects {
		await(t, c, object, "deleted", func(_ *unstructured.Unstructured, err error) bool {
			return err != nil && client.IgnoreNotFound(err) == nil
		})
	}
}

// run runs an operator as the service account of operator.yaml.
func run(t *testing.T, admin *rest.Config) {
	t.Helper()
	sim, endpoint := simulatortest.Start(t, simulator.Options{
		Machines: fake.New(fake.Options{}), Region: "eu-central-2", Patience: time.Second,
	})
	bound := rest.CopyConfig(admin)
	bound.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:aws-operator:aws-operator", Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}
	operatortest.Run(t, sim, aws.Credentials{AccessKeyID: "123456789012", SecretAccessKey: "secret"}, operator.Options{
		RESTConfig: bound, Region: "eu-central-2", EndpointURL: endpoint, WatchNamespaces: []string{"default"},
		LeaderElect: true, LeaderElectionNamespace: "aws-operator",
	})
}

// apply applies a manifest, as soon as its kinds are served, without the objects of some kinds.
func apply(t *testing.T, c client.Client, file string, without ...string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if len(object.Object) == 0 || len(without) > 0 && object.GetKind() == without[0] {
			continue
		}
		if mapping, err := c.RESTMapper().RESTMapping(object.GroupVersionKind().GroupKind()); err != nil ||
			mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			if object.GetNamespace() == "" {
				object.SetNamespace(metav1.NamespaceDefault)
			}
		}
		var last error
		err := wait.PollUntilContextTimeout(
			t.Context(),
			100*time.Millisecond,
			patience.Left(t),
			true,
			func(ctx context.Context) (bool, error) {
				last = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"))
				return last == nil, nil
			},
		)
		if err != nil {
			t.Fatalf("apply %s %s: %v", object.GetKind(), object.GetName(), last)
		}
		all = append(all, object)
	}
}

func await(
	t *testing.T, c client.Client, object *unstructured.Unstructured, what string, done func(*unstructured.Unstructured, error) bool,
) {
	t.Helper()
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(object.GroupVersionKind())
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience.Left(t), true, func(ctx context.Context) (bool, error) {
		return done(now, c.Get(ctx, client.ObjectKeyFromObject(object), now)), nil
	})
	if err != nil {
		t.Fatalf("%s %s is not %s: %v", object.GetKind(), object.GetName(), what, now.Object["status"])
	}
}

func ready(object *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if condition, ok := entry.(map[string]any); ok && condition["type"] == "Ready" {
			return condition["status"] == "True"
		}
	}
	return false
}
