package config_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/config/chart"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/local/process"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/operator/operatortest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "operator" { // A test starts this program as the operator.
		os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	controlplanetest.Main(m)
}

// The least rights that the chart gives are enough: an operator that serves one namespace, has the
// arguments of the chart and acts as its service account, and so is held to them, makes a table and a
// cluster and takes them down again. config/operator.yaml gives the same rights in all namespaces.
func TestTheOperatorsRightsAreEnough(t *testing.T) {
	admin := controlplanetest.SharedWithControllers(t).RESTConfig()
	c, err := client.New(admin, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	operatortest.Releases(t, admin, "v1.36.3")
	aws := startAWS(t)
	release := chart.Release{Name: "least", Namespace: controlplanetest.Namespace(t, controlplanetest.Shared(t))}
	values := aws.values(t)
	values["watchNamespaces"] = []any{metav1.NamespaceDefault}
	manifests, err := chart.Render("chart/aws-operator", release, values)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects(t, []byte(manifests)) {
		if object.GetKind() == "Deployment" {
			continue
		}
		if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test")); err != nil {
			t.Fatalf("apply %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	runOperator(t, admin, manifests)
	made := append(apply(t, c, "../examples/quickstart/dynamodb.yaml"), apply(t, c, "../examples/quickstart/cluster.yaml")...)
	for _, object := range made {
		await(t, c, object, "Ready", func(now *unstructured.Unstructured, err error) bool { return err == nil && ready(now) })
	}
	for _, object := range made {
		if err := c.Delete(t.Context(), object); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
	for _, object := range made {
		await(t, c, object, "deleted", func(_ *unstructured.Unstructured, err error) bool {
			return err != nil && client.IgnoreNotFound(err) == nil
		})
	}
}

// simulated is a simulator of AWS, and the folder with the programs of its instances.
type simulated struct{ endpoint, programs string }

// startAWS starts a simulator, whose credentials and names the environment of the test has.
func startAWS(t *testing.T) simulated {
	t.Helper()
	sim, endpoint := simulatortest.Start(t, simulator.Options{
		Machines: fake.New(fake.Options{}), Region: "eu-central-2", Patience: time.Second,
	})
	names, err := sim.ServeNames(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(awsapi.ResolverVariable, names)
	t.Setenv("AWS_ACCESS_KEY_ID", "123456789012")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	folder := t.TempDir()
	for _, name := range []string{"nodeup-linux-amd64", "nodeup-linux-arm64"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("stands for nodeup"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return simulated{endpoint, folder}
}

// values returns values of the chart with which the operator runs outside of a pod. Ports differ from
// those of other operators on this computer.
func (s simulated) values(t *testing.T) map[string]any {
	t.Helper()
	ports, err := process.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{
		"aws": map[string]any{"region": "eu-central-2", "endpointURL": s.endpoint}, "nodeupDir": s.programs,
		"leaderElection": map[string]any{"namespace": metav1.NamespaceDefault},
		"metrics":        map[string]any{"port": ports[0]}, "probes": map[string]any{"port": ports[1]},
	}
}

// runOperator starts this program as the operator of the Deployment in manifests: with its arguments
// and as its service account. It returns when the startup probe of the pod would succeed. The operator
// runs until the test ends or the returned function is called.
func runOperator(t *testing.T, admin *rest.Config, manifests string) (stop func()) {
	t.Helper()
	deployment := &appsv1.Deployment{}
	if err := k8syaml.UnmarshalStrict([]byte(chart.From(manifests, "deployment.yaml")), deployment); err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	bound := rest.CopyConfig(admin)
	bound.Impersonate.UserName = "system:serviceaccount:" + deployment.Namespace + ":" + pod.ServiceAccountName
	controlplanetest.UseKubeconfig(t, bound, deployment.Namespace)
	ctx := context.WithoutCancel(t.Context()) // It is ended as the kubelet ends a pod, and not killed.
	operator := exec.CommandContext(ctx, os.Args[0], pod.Containers[0].Args...)
	operator.Stdout, operator.Stderr = t.Output(), t.Output()
	if err := operator.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- operator.Wait() }()
	stop = sync.OnceFunc(func() {
		_ = operator.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			t.Errorf("the operator ended with %v", err)
		}
	})
	t.Cleanup(stop)
	of := &pod.Containers[0]
	for _, probe := range []*corev1.Probe{of.StartupProbe, of.LivenessProbe, of.ReadinessProbe} {
		url := fmt.Sprintf("http://127.0.0.1:%d%s", port(of.Ports, probe.HTTPGet.Port.StrVal), probe.HTTPGet.Path)
		healthy := func(ctx context.Context) (bool, error) { return answers(ctx, url), nil }
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience.Left(t), true, healthy)
		if err != nil {
			t.Fatalf("the probe of %s fails: %v", url, err)
		}
	}
	return stop
}

func port(ports []corev1.ContainerPort, name string) int32 {
	for _, port := range ports {
		if port.Name == name {
			return port.ContainerPort
		}
	}
	return 0
}

func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// apply applies a manifest, as soon as its kinds are served, without the objects of a kind.
func apply(t *testing.T, c client.Client, file string, without ...string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []*unstructured.Unstructured
	for _, object := range objects(t, data) {
		if len(without) > 0 && object.GetKind() == without[0] {
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
	return all
}

// objects returns the objects of a manifest.
func objects(t *testing.T, manifest []byte) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
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
