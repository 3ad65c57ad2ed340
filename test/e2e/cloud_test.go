package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

var (
	clusters  = schema.GroupVersionResource{Group: "cluster-operator.aws", Version: "v1alpha1", Resource: "clusters"}
	groups    = schema.GroupVersionResource{Group: "cluster-operator.aws", Version: "v1alpha1", Resource: "instancegroups"}
	resources = map[string]schema.GroupVersionResource{
		"Cluster": clusters, "InstanceGroup": groups,
		"SQSQueue": queues, "DynamoDB": queues.GroupVersion().WithResource("dynamodbs"),
		"RDSInstance":    queues.GroupVersion().WithResource("rdsinstances"),
		"ServiceAccount": {Version: "v1", Resource: "serviceaccounts"}, "Deployment": {Group: "apps", Version: "v1", Resource: "deployments"},
	}
)

// cloud is a namespace of the management cluster, its own simulated AWS and an operator for both.
type cloud struct {
	t          *testing.T
	namespace  string
	kubeconfig string
	client     dynamic.Interface
	core       kubernetes.Interface
	simulator  *simulator.Simulator
	server     *httptest.Server
	dir        string
	nodeup     string
	logLevel   string
	program    string
	issuer     string
	names      string // the address of the simulator's DNS server
	key        aws.Credentials
	console    *console

	mutex    sync.Mutex
	operator *exec.Cmd
	exited   chan struct{}
	assumed  map[string]string // external IDs by the roles that were assumed with them
	// lastCall, if set, reports whether a call in the Query protocol is the operator's last one: AWS executes it, and
	// the operator is killed before the response.
	lastCall func(url.Values) bool
	close    func()
}

// console collects the output of fake machines.
type console struct {
	mutex sync.Mutex
	lines []string
}

func (c *console) write(_, line string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.lines = append(c.lines, line)
}

func (c *console) last(n int) string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return strings.Join(c.lines[max(0, len(c.lines)-n):], "\n")
}

// cloudOptions configure a cloud; the zero value has fake machines and no latency.
type cloudOptions struct {
	machines machine.Host
	latency  time.Duration
	// nodeup is the folder of the programs with which real machines boot.
	nodeup string
	// logLevel is the operator's --log-level, info unless set.
	logLevel string
	// program is the operator's program, this test binary unless set.
	program string
	// bootTime is how long fake machines boot.
	bootTime time.Duration
	// issuer is the issuer of tokens of service accounts that the operator and IAM know, none unless set.
	issuer string
}

func newCloud(t *testing.T, o cloudOptions) *cloud {
	t.Helper()
	plane := controlplanetest.SharedWithControllers(t)
	console := &console{}
	if o.machines == nil {
		o.machines = fake.New(fake.Options{BootTime: o.bootTime, Log: funcr.New(console.write, funcr.Options{})})
	}
	client, err := dynamic.NewForConfig(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := &cloud{
		t: t, dir: dir, nodeup: dir, logLevel: cmp.Or(o.logLevel, "info"), issuer: o.issuer, namespace: controlplanetest.Namespace(t, plane),
		console: console, program: cmp.Or(o.program, os.Args[0]), client: client,
		core: kubernetes.NewForConfigOrDie(plane.RESTConfig()),
		simulator: simulatortest.New(t, simulator.Options{
			Account: account, Region: region, Machines: o.machines, Patience: time.Second,
			Latency: func(string, string) time.Duration { return o.latency },
		}),
	}
	if c.names, err = c.simulator.ServeNames(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.server = httptest.NewServer(c.noting(c.simulator.Handler()))
	local, err := environment.LocalRelease(nil) // the built-in one has addons, whose charts are on the Internet
	if err != nil {
		t.Fatal(err)
	}
	if err := environment.ApplyRelease(t.Context(), plane.RESTConfig(), local); err != nil {
		t.Fatal(err)
	}
	// The operator has the generated policies, and no other permissions.
	c.key = simulatortest.User(t, c.config(account), "operator", simulatortest.Policies(t, c.config(account), operatorPolicies...)...)
	c.write(plane)
	if o.issuer != "" {
		_, err := iam.NewFromConfig(c.config(account)).CreateOpenIDConnectProvider(t.Context(), &iam.CreateOpenIDConnectProviderInput{
			Url: &o.issuer, ClientIDList: []string{"sts.amazonaws.com"},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if o.nodeup != "" {
		c.nodeup = o.nodeup
	}
	c.start()
	c.close = sync.OnceFunc(c.end)
	t.Cleanup(c.close)
	return c
}

// operatorPolicies are the files of the operator's policies.
var operatorPolicies = []string{"../../config/iam/operator-*.json", "../../config/iam/cloudformation-*.json"}

// noting records the external IDs with which roles are assumed, and kills the operator after its last call.
func (c *cloud) noting(next http.Handler) http.Handler {
	c.assumed = map[string]string{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mutex.Lock()
		last := c.lastCall
		c.mutex.Unlock()
		if last == nil && !strings.Contains(r.Header.Get("Authorization"), "/sts/") {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if form, err := url.ParseQuery(string(body)); err == nil && form.Get("Action") == "AssumeRole" {
			c.mutex.Lock()
			c.assumed[form.Get("RoleArn")] = form.Get("ExternalId")
			c.mutex.Unlock()
		}
		if form, err := url.ParseQuery(string(body)); err == nil && last != nil && last(form) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			c.kill()
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
}

// write writes what the operator reads: a kubeconfig, and a fake nodeup.
func (c *cloud) write(plane *controlplane.ControlPlane) {
	c.t.Helper()
	c.kubeconfig = filepath.Join(c.dir, "kubeconfig")
	for name, data := range map[string][]byte{
		"kubeconfig": plane.Kubeconfig(), "nodeup-linux-amd64": []byte("a fake nodeup"),
		"nodeup-linux-arm64": []byte("another fake nodeup"),
	} {
		if err := os.WriteFile(filepath.Join(c.dir, name), data, 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
}

// start runs an operator.
func (c *cloud) start() {
	c.t.Helper()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	log, err := os.OpenFile(filepath.Join(c.dir, "operator.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	//nolint:noctx // it lives until kill
	command := exec.Command(c.program, "operator", "--kubeconfig="+c.kubeconfig, "--nodeup-dir="+c.nodeup, "--log-level="+c.logLevel,
		"--aws-endpoint-url="+c.server.URL, "--aws-region="+region, "--aws-api-budget=unlimited",
		"--watch-namespace="+c.namespace, "--allow-roles="+c.namespace+"=arn:aws:iam::"+other+":role/cluster-operator",
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--service-account-issuer="+c.issuer)
	command.Env = append(os.Environ(), asOperator+"=yes",
		awsapi.ResolverVariable+"="+c.names, "AWS_ACCESS_KEY_ID="+c.key.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY="+c.key.SecretAccessKey, "AWS_EC2_METADATA_DISABLED=true")
	command.Stdout, command.Stderr = log, log
	if c.exited, err = launch(command); err != nil {
		c.t.Fatal(err)
	}
	c.operator = command
}

// kill kills the operator, as a power failure would, and returns when it has exited.
func (c *cloud) kill() {
	c.mutex.Lock()
	command, exited := c.operator, c.exited
	c.mutex.Unlock()
	_ = command.Process.Signal(syscall.SIGKILL)
	<-exited
}

func (c *cloud) end() {
	c.kill()
	c.server.CloseClientConnections()
	c.server.Close()
	c.simulator.Close()
}

// config returns a configuration for an account, in the region that the tests use there.
func (c *cloud) config(as string) aws.Config {
	where := region
	if as == other {
		where = "us-east-1"
	}
	return aws.Config{
		Region: where, BaseEndpoint: aws.String(c.server.URL), Credentials: credentials.NewStaticCredentialsProvider(as, "secret", ""),
		// The simulator fails at random, and the tests ask it thousands of times.
		RetryMaxAttempts: 10,
	}
}

// decode parses the objects of a manifest.
func decode(t *testing.T, manifest string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
}

// of returns the client for an object's kind.
func (c *cloud) of(object *unstructured.Unstructured) dynamic.ResourceInterface {
	return c.client.Resource(resources[object.GetKind()]).Namespace(c.namespace)
}

// apply applies a manifest, as soon as the kinds are served.
func (c *cloud) apply(manifest string) []*unstructured.Unstructured {
	c.t.Helper()
	objects := decode(c.t, manifest)
	for _, object := range objects {
		var last error
		c.await(func() string { return fmt.Sprintf("%s %s to be applied: %v", object.GetKind(), object.GetName(), last) }, func() bool {
			_, last = c.of(object).Apply(c.t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: "e2e", Force: true})
			return last == nil || apierrors.IsInvalid(last)
		})
		if last != nil {
			c.t.Fatal(last)
		}
	}
	return objects
}

// await waits until done returns true, or fails the test with all available information.
func (c *cloud) await(what func() string, done func() bool) {
	c.t.Helper()
	err := wait.PollUntilContextTimeout(
		c.t.Context(), 50*time.Millisecond, patience.Left(c.t), true, func(context.Context) (bool, error) { return done(), nil },
	)
	if err != nil {
		c.t.Fatalf("timed out waiting for %s\n%s", what(), c.story())
	}
}

// story returns the state of the objects and the operator's log.
func (c *cloud) story() string {
	var text bytes.Buffer
	for _, resource := range resources {
		list, err := c.client.Resource(resource).Namespace(c.namespace).List(context.WithoutCancel(c.t.Context()), metav1.ListOptions{})
		if err != nil {
			continue
		}
		for n := range list.Items {
			object := &list.Items[n]
			fmt.Fprintf(&text, "%s %s:\n", object.GetKind(), object.GetName())
			conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
			for _, condition := range conditions {
				line, _ := json.Marshal(condition)
				fmt.Fprintf(&text, "  %s\n", line)
			}
			stacks, _, _ := unstructured.NestedSlice(object.Object, "status", "stacks")
			for _, stack := range stacks {
				line, _ := json.Marshal(stack)
				fmt.Fprintf(&text, "  %.600s\n", line)
			}
		}
	}
	fmt.Fprintf(&text, "the machines' last words:\n%s\n", c.console.last(20))
	lines := slices.DeleteFunc(strings.Split(c.log(), "\n"), func(line string) bool { return strings.Contains(line, "Starting ") })
	fmt.Fprintf(&text, "the end of the operator's log:\n%s", strings.Join(lines[max(0, len(lines)-60):], "\n"))
	return text.String()
}

// log returns the operator's log.
func (c *cloud) log() string {
	text, _ := os.ReadFile(filepath.Join(c.dir, "operator.log")) // empty if there is none
	return string(text)
}

// awaitReady waits until all objects are ready with their current specs.
func (c *cloud) awaitReady(objects ...*unstructured.Unstructured) {
	c.t.Helper()
	var waitsFor string
	c.await(func() string { return waitsFor + " to be Ready" }, func() bool {
		for _, wanted := range objects {
			waitsFor = wanted.GetKind() + " " + wanted.GetName()
			object, err := c.of(wanted).Get(c.t.Context(), wanted.GetName(), metav1.GetOptions{})
			if err != nil || !isReady(object) {
				return false
			}
		}
		return true
	})
}

func isReady(object *unstructured.Unstructured) bool {
	observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	return condition(object, "Ready") == "True" && observed == object.GetGeneration()
}

// get returns the current object.
func (c *cloud) get(object *unstructured.Unstructured) *unstructured.Unstructured {
	c.t.Helper()
	found, err := c.of(object).Get(c.t.Context(), object.GetName(), metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return found
}

// remove deletes the Clusters among the objects and waits until all objects are deleted: a Cluster
// deletes its groups.
func (c *cloud) remove(objects ...*unstructured.Unstructured) {
	c.t.Helper()
	for _, object := range objects {
		if object.GetKind() != "Cluster" {
			continue
		}
		if err := c.of(object).Delete(c.t.Context(), object.GetName(), metav1.DeleteOptions{}); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, object := range objects {
		c.await(func() string { return object.GetKind() + " " + object.GetName() + " to go" }, func() bool {
			_, err := c.of(object).Get(c.t.Context(), object.GetName(), metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
}

// workload returns a client of a cluster from its kubeconfig Secret, as users would.
func (c *cloud) workload(name string) kubernetes.Interface {
	c.t.Helper()
	secret, err := c.core.CoreV1().Secrets(c.namespace).Get(c.t.Context(), name+"-kubeconfig", metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	if err != nil {
		c.t.Fatal(err)
	}
	return kubernetes.NewForConfigOrDie(config)
}

// nodes lists a cluster's nodes.
func (c *cloud) nodes(name string) []corev1.Node {
	c.t.Helper()
	list, err := c.workload(name).CoreV1().Nodes().List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return list.Items
}
