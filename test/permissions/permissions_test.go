package permissions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const (
	// operatorKey is the access key of the limited operator.
	operatorKey = "AKIAOPERATOR"
	signal      = "cloudformation:SignalResource"
	// patience is how long the test waits for a roll on a busy host.
	patience = 10 * time.Minute
)

// The policies in config/iam are sufficient: an operator whose credentials allow nothing else
// creates a table and a cluster, changes them, rolls nodes, moves the cluster to another release
// and deletes everything. Every action in them is checked: without the permission to signal, the
// roll stops and the status names the action, until the policy allows it.
func TestOperatorsPoliciesAreSufficient(t *testing.T) {
	w := newLimited(t)
	w.allow(strings.NewReplacer(`"`+signal+`",`, ""))
	table := w.apply("../../examples/quickstart/dynamodb.yaml", "", "")[0]
	objects := w.apply("../../examples/quickstart/cluster.yaml", "v1.36.3", "v1.35.7")
	cluster, group := objects[0], objects[1]
	w.await(table, "Ready", settled)
	w.await(cluster, "Ready", settled)
	w.await(group, "Ready", rolled)

	w.patch(table, `{"spec": {"readCapacityUnits": 10}}`)
	w.await(table, "updated", settled)
	w.patch(group, `{"spec": {"instanceTypes": ["t3a.medium"]}}`)
	w.await(group, "denied a signal", func(now *unstructured.Unstructured) bool {
		status, err := json.Marshal(now.Object["status"])
		return err == nil &&
			strings.Contains(
				string(status), "lacks the permission "+signal+" on arn:aws:cloudformation:eu-central-2:123456789012:stack/demo-workers/",
			)
	})
	w.allow(strings.NewReplacer())
	w.await(group, "rolled", rolled)
	w.patch(cluster, `{"spec": {"release": "v1.36.3"}}`)
	for _, object := range objects {
		w.await(object, "upgraded", func(now *unstructured.Unstructured) bool {
			version, _, _ := unstructured.NestedString(now.Object, "status", "version")
			return version == "v1.36.3" && rolled(now)
		})
	}
	w.remove(table, group, cluster)
}

// limited is an operator with limited credentials.
type limited struct {
	t        *testing.T
	policies *access.Policies
	client   client.Client
}

func newLimited(t *testing.T) *limited {
	t.Helper()
	admin := controlplanetest.SharedWithControllers(t).RESTConfig()
	for _, version := range []string{"v1.35.7", "v1.36.3"} {
		local, err := environment.LocalRelease(nil) // the built-in ones have addons, whose charts are on the Internet
		if err != nil {
			t.Fatal(err)
		}
		local.Name, local.Spec.Kubernetes = version, version
		if err := environment.ApplyRelease(t.Context(), admin, local); err != nil {
			t.Fatal(err)
		}
	}
	w := &limited{t: t}
	var err error
	if w.client, err = client.New(admin, client.Options{}); err != nil {
		t.Fatal(err)
	}
	if w.policies, err = access.Parse(map[string][]string{operatorKey: nil}); err != nil {
		t.Fatal(err)
	}
	sim := simulator.New(simulator.Options{
		Machines: fake.New(fake.Options{}), Region: "eu-central-2", Patience: time.Second, Policies: w.policies,
	})
	server := httptest.NewServer(sim.Handler())
	names, err := sim.ServeNames(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(awsapi.ResolverVariable, names)
	t.Setenv("AWS_ACCESS_KEY_ID", operatorKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	folder := t.TempDir()
	for _, name := range []string{"nodeup-linux-amd64", "nodeup-linux-arm64"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("a fake nodeup"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- operator.Run(ctx, operator.Options{RESTConfig: admin, Region: "eu-central-2", EndpointURL: server.URL, NodeupDir: folder})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the operator ended with %v", err)
		}
		server.CloseClientConnections()
		server.Close()
		sim.Close()
	})
	return w
}

// allow gives the operator the policies in config/iam for modeled kinds and clusters, edited.
func (w *limited) allow(edit *strings.Replacer) {
	w.t.Helper()
	var documents []string
	for _, pattern := range []string{"operator-*.json", "cloudformation-*.json"} {
		files, err := filepath.Glob(filepath.Join("../../config/iam", pattern))
		if err != nil || len(files) == 0 {
			w.t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				w.t.Fatal(err)
			}
			documents = append(documents, edit.Replace(string(data)))
		}
	}
	if err := w.policies.Set(operatorKey, documents...); err != nil {
		w.t.Fatal(err)
	}
}

// apply creates the objects of a manifest, with a part of its text replaced, as soon as their kinds
// are served.
func (w *limited) apply(file, old, replacement string) (all []*unstructured.Unstructured) {
	w.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	if old != "" {
		data = bytes.ReplaceAll(data, []byte(old), []byte(replacement))
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			w.t.Fatal(err)
		}
		object.SetNamespace(metav1.NamespaceDefault)
		w.poll(object, "applied", func(*unstructured.Unstructured, error) bool {
			return w.client.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test")) == nil
		})
		all = append(all, object)
	}
}

func (w *limited) patch(object *unstructured.Unstructured, patch string) {
	w.t.Helper()
	if err := w.client.Patch(w.t.Context(), object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
}

func (w *limited) remove(objects ...*unstructured.Unstructured) {
	w.t.Helper()
	for _, object := range objects {
		if err := w.client.Delete(w.t.Context(), object.DeepCopy()); client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err)
		}
	}
	for _, object := range objects {
		w.poll(object, "deleted", func(_ *unstructured.Unstructured, err error) bool {
			return err != nil && client.IgnoreNotFound(err) == nil
		})
	}
}

func (w *limited) await(object *unstructured.Unstructured, what string, done func(*unstructured.Unstructured) bool) {
	w.t.Helper()
	w.poll(object, what, func(now *unstructured.Unstructured, err error) bool { return err == nil && done(now) })
}

func (w *limited) poll(object *unstructured.Unstructured, what string, done func(*unstructured.Unstructured, error) bool) {
	w.t.Helper()
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(object.GroupVersionKind())
	err := wait.PollUntilContextTimeout(w.t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		return done(now, w.client.Get(ctx, client.ObjectKeyFromObject(object), now)), nil
	})
	if err != nil {
		status, _ := json.MarshalIndent(now.Object["status"], "", "  ")
		w.t.Fatalf("%s %s is not %s: %v\n%s", object.GetKind(), object.GetName(), what, err, status)
	}
}

// settled reports whether an object is ready with its current spec.
func settled(object *unstructured.Unstructured) bool {
	observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	return observed == object.GetGeneration() && ready(object)
}

// rolled reports whether all nodes of a Cluster or InstanceGroup are up to date and ready.
func rolled(object *unstructured.Unstructured) bool {
	count := func(field string) int64 {
		n, _, _ := unstructured.NestedInt64(object.Object, "status", "nodes", field)
		return n
	}
	return settled(object) && count("desired") > 0 && count("ready") == count("desired") && count("updated") == count("desired")
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
