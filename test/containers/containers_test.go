package containers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/local/containerbuild"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// enabled makes the test run: it builds programs for minutes and needs programs of the host.
const enabled = "TEST_CONTAINERS"

const manifests = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: pods, namespace: default}
spec:
  release: v1.36.3-containers
  region: eu-central-1
  network: {cidr: 10.10.0.0/16, zones: [eu-central-1a], topology: Public}
  controlPlane: {replicas: 1, instanceType: t3.medium}
  certificates: {kubeletServing: Verified}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: pods-workers, namespace: default}
spec: {cluster: pods, minSize: 1, maxSize: 1, instanceTypes: [t3.medium]}
`

// image is the image of package containers/web.
const image = "registry.k8s.io/machine/web:1"

var (
	releases = schema.GroupVersionResource{Group: "cluster-operator.aws", Version: "v1alpha1", Resource: "releases"}
	kinds    = map[string]schema.GroupVersionResource{
		"Cluster": releases.GroupVersion().WithResource("clusters"), "InstanceGroup": releases.GroupVersion().WithResource("instancegroups"),
	}
)

// A cluster of one slot and one worker becomes Ready with programs that this project did not write:
// static pods are containers, pods reach each other across nodes and through Services by name, and
// the API server reaches kubelets, whose certificates it verifies, for logs and exec. AWS's cloud
// controller manager initializes nodes, deletes those whose instances are terminated, and makes Services
// reachable through load balancers; metrics-server serves the usage of nodes and pods. Deletion leaves
// nothing, in AWS and on this computer.
func TestPodsRun(t *testing.T) {
	skip(t)
	env, client := start(t)
	before := time.Now()
	objects := apply(t, client, manifests)
	for _, object := range objects {
		await(t, client, object)
	}
	t.Logf("one slot and one worker were Ready after %s", time.Since(before).Round(time.Second/10))

	w, c := connect(t, env, "pods"), clouds(t, env)
	w.checkNodes(t)
	w.checkNodesInitialized(t)
	server, visitor := w.runPods(t)
	w.expose(t)
	own := "http://" + w.pod(t, server).Status.PodIP + ":8080"
	for _, url := range []string{"http://web", "http://web.default.svc.cluster.local:80/", own} {
		if said := w.exec(t, visitor, "/web", "get", url); said != server+"\n" {
			t.Errorf("a pod on another node gets %q from %s, want %q", said, url, server)
		}
	}
	if said := w.exec(t, visitor, "/web", "lookup", "s3.eu-central-1.amazonaws.com"); !strings.Contains(said, "169.254.169.249") {
		t.Errorf("a pod resolves an endpoint of AWS as %q", said)
	}
	if said, err := w.tryExec(visitor, "/web", "put", "http://169.254.169.254/latest/api/token"); err == nil {
		t.Errorf("a pod got a token of the instance metadata service, beyond its one hop: %q", said)
	}
	logs, err := w.client.CoreV1().Pods("default").GetLogs(server, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil || !strings.Contains(string(logs), "serving as "+server) {
		t.Errorf("the logs of a pod are %q, %v", logs, err)
	}
	proxied, err := w.client.CoreV1().Services("default").ProxyGet("http", "web", "80", "/", nil).DoRaw(t.Context())
	if err != nil || string(proxied) != server+"\n" {
		t.Errorf("through the API server the Service answers %q, %v", proxied, err)
	}

	w.checkExposed(t, c, server, visitor)
	w.checkWrapped(t, c, visitor, own)
	w.checkServing(t)
	w.checkTop(t, w.kubeconfig)
	w.checkTerminated(t, env, c, server)

	for _, object := range slices.Backward(objects) {
		remove(t, client, object)
	}
	if left := traces(t); len(left) > 0 {
		t.Errorf("deletion left cgroups of machines: %v", left)
	}
	c.checkNoBalancers(t)
}

func skip(t *testing.T) {
	t.Helper()
	if os.Getenv(enabled) == "" {
		t.Skipf("run it with make test-containers, which builds the programs and sets %s", enabled)
	}
	if err := errors.Join(process.Supported(), containerbuild.Missing(t.Context())); err != nil {
		t.Skip(err)
	}
}

// start starts an environment on machines that run containers, with a Release whose workers prove
// their identity.
func start(t *testing.T) (*environment.Environment, dynamic.Interface) {
	t.Helper()
	return startWith(t, environment.Options{})
}

// startWith is start with options of the environment.
func startWith(t *testing.T, options environment.Options) (*environment.Environment, dynamic.Interface) {
	t.Helper()
	root, err := kubebuild.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	options.Dir, options.Operator = t.TempDir(), filepath.Join(root, "bin", "aws-operator")
	options.Machines, options.Out, options.Progress = environment.ContainerMachines, os.Stderr, os.Stderr
	env, err := environment.Up(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			show(t, env.Dir())
		}
		if err := env.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	client := dynamic.NewForConfigOrDie(env.RESTConfig())
	release, err := client.Resource(releases).Get(t.Context(), kubebuild.KubernetesVersion, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	release = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": release.GetAPIVersion(), "kind": release.GetKind(), "spec": release.Object["spec"],
		"metadata": map[string]any{"name": "v1.36.3-containers"},
	}}
	if err := unstructured.SetNestedField(release.Object, "1.2.0", "spec", "resourceSet"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resource(releases).Create(t.Context(), release, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return env, client
}

// show logs the ends of the machines' consoles and of their units' logs.
func show(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{"machines/consoles/*.log", "machines/machines/*/log/*.log"} {
		paths, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, path := range paths {
			data, _ := os.ReadFile(path)
			t.Logf("%s:\n%s", path, data[max(0, len(data)-3000):])
		}
	}
}

func apply(t *testing.T, client dynamic.Interface, manifests string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(manifests, "---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		all := client.Resource(kinds[object.GetKind()]).Namespace("default")
		if _, err := all.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	return objects
}

func await(t *testing.T, client dynamic.Interface, object *unstructured.Unstructured) {
	t.Helper()
	patience.Until(t, object.GetKind()+" "+object.GetName()+" is Ready", func() error {
		found, err := client.Resource(kinds[object.GetKind()]).Namespace("default").Get(t.Context(), object.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
		for _, c := range conditions {
			if fields, ok := c.(map[string]any); ok && fields["type"] == "Ready" && fields["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", conditions)
	})
}

func remove(t *testing.T, client dynamic.Interface, object *unstructured.Unstructured) {
	t.Helper()
	all := client.Resource(kinds[object.GetKind()]).Namespace("default")
	if err := all.Delete(t.Context(), object.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	patience.Until(t, object.GetKind()+" "+object.GetName()+" is deleted", func() error {
		_, err := all.Get(t.Context(), object.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it exists"))
	})
}

// traces returns cgroups of machines.
func traces(t *testing.T) []string {
	t.Helper()
	var left []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(filepath.Base(path), "aws-operator-i-") {
			left = append(left, path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return left
}

// workload is the cluster that the operator made.
type workload struct {
	kubeconfig []byte
	config     *rest.Config
	client     kubernetes.Interface
}

func connect(t *testing.T, env *environment.Environment, cluster string) *workload {
	t.Helper()
	secrets := kubernetes.NewForConfigOrDie(env.RESTConfig()).CoreV1().Secrets("default")
	secret, err := secrets.Get(t.Context(), cluster+"-kubeconfig", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	if err != nil {
		t.Fatal(err)
	}
	return &workload{kubeconfig: secret.Data["value"], config: config, client: kubernetes.NewForConfigOrDie(config)}
}

// checkNodes checks that no node's kubelet and runtime are simulated.
func (w *workload) checkNodes(t *testing.T) {
	t.Helper()
	nodes, err := w.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 2 {
		t.Fatalf("the cluster has %d nodes, %v", len(nodes.Items), err)
	}
	for _, node := range nodes.Items {
		if !strings.HasPrefix(node.Status.NodeInfo.ContainerRuntimeVersion, "containerd://2.") {
			t.Errorf("the runtime of %s is %s", node.Name, node.Status.NodeInfo.ContainerRuntimeVersion)
		}
	}
}

// runPods runs a server on the worker, with a Service, and a visitor on the slot.
func (w *workload) runPods(t *testing.T) (server, visitor string) {
	t.Helper()
	pod := func(name string, spec corev1.PodSpec) {
		spec.Containers = []corev1.Container{{Name: "web", Image: image, Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}}
		_, err := w.client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}, Spec: spec,
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	patience.Until(t, "the default service account exists", func() error {
		_, err := w.client.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	pod("server", corev1.PodSpec{})
	pod("visitor", corev1.PodSpec{
		NodeSelector: map[string]string{"node-role.kubernetes.io/control-plane": ""},
		Tolerations:  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
	})
	_, err := w.client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "server"}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"server", "visitor"} {
		patience.Until(t, "the pod "+name+" runs", func() error {
			if phase := w.pod(t, name).Status.Phase; phase != corev1.PodRunning {
				return fmt.Errorf("it is %s", phase)
			}
			return nil
		})
	}
	patience.Until(t, "a pod resolves the Service and reaches it", func() error {
		_, err := w.tryExec("visitor", "/web", "get", "http://web")
		return err
	})
	return "server", "visitor"
}

func (w *workload) pod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pod, err := w.client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func (w *workload) exec(t *testing.T, pod string, command ...string) string {
	t.Helper()
	said, err := w.tryExec(pod, command...)
	if err != nil {
		t.Errorf("%v in %s: %v", command, pod, err)
	}
	return said
}

// tryExec runs a command in a pod, as kubectl exec does.
func (w *workload) tryExec(pod string, command ...string) (string, error) {
	request := w.client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(w.config, "GET", request.URL().String())
	if err != nil {
		return "", err
	}
	var out, errOut bytes.Buffer
	err = executor.StreamWithContext(context.Background(), remotecommand.StreamOptions{Stdout: &out, Stderr: io.Writer(&errOut)})
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(errOut.String()))
	}
	return out.String(), nil
}
