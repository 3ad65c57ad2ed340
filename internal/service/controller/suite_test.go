package controller_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/service/controller"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplanetest.Main(m)
}

const (
	region      = "eu-west-1"
	account     = "123456789012"
	clusterName = "test"
)

// suite is a namespace of a real API server, a simulated AWS and an operator.
type suite struct {
	t         *testing.T
	cluster   *controlplane.ControlPlane
	client    client.Client
	namespace string
	sim       *simulator.Simulator
	endpoint  string
	observer  string // the endpoint of the test's own clients
	limits    render.Limits
	issuer    string        // of service account tokens
	eks       string        // ARN of the EKS cluster with Pod Identity
	drift     time.Duration // the interval of drift checks; 0 is on request
	clock     *skewedClock  // of the operator
	other     string        // another namespace that the operator watches, if any
	shards    int           // how many operators share the objects
	// wrap is between the operator and the API server, if any.
	wrap func(http.RoundTripper) http.RoundTripper
	stop func()
}

// skewedClock is the real clock, and some time ahead of it.
type skewedClock struct {
	clock.RealClock
	ahead atomic.Int64
}

func (c *skewedClock) Now() time.Time                  { return c.RealClock.Now().Add(time.Duration(c.ahead.Load())) }
func (c *skewedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *skewedClock) step(by time.Duration)           { c.ahead.Add(int64(by)) }

// newSuite starts an operator with its own simulator in a new namespace. Latency may be nil.
func newSuite(t *testing.T, latency func(resourceType, operation string) time.Duration) *suite {
	t.Helper()
	return newSuiteOf(t, simulator.Options{Latency: latency}, render.Limits{})
}

// newCountedSuite is newSuite for tests that count calls: no call has to be repeated.
func newCountedSuite(t *testing.T) *suite {
	t.Helper()
	return newSuiteOf(t, simulator.Options{Lag: simulator.NoLag}, render.Limits{})
}

// newLimitedSuite is newSuite with an operator that has limits.
func newLimitedSuite(t *testing.T, latency func(resourceType, operation string) time.Duration, limits render.Limits) *suite {
	t.Helper()
	return newSuiteOf(t, simulator.Options{Latency: latency}, limits)
}

func newSuiteOf(t *testing.T, o simulator.Options, limits render.Limits) *suite {
	t.Helper()
	w := prepareSuite(t, o, limits)
	w.startOperator()
	return w
}

// prepareSuite is newSuiteOf without an operator.
func prepareSuite(t *testing.T, o simulator.Options, limits render.Limits) *suite {
	t.Helper()
	w := &suite{t: t, cluster: controlplanetest.Shared(t), limits: limits, clock: &skewedClock{}, shards: shardsOfTests(t)}
	c, err := client.New(w.cluster.RESTConfig(), client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	w.client = c
	w.namespace = controlplanetest.Namespace(t, w.cluster)
	o.Region, o.Faults = region, &fault.Injector{}
	sim, endpoint := simulatortest.Start(t, o)
	w.sim = sim
	observer := simulatortest.Serve(t, w.sim.Observer()) // the tests compare what exists with what should
	w.endpoint, w.observer = endpoint, observer
	return w
}

// shardsVariable makes each suite run that many operators, which share the objects.
const shardsVariable = "TEST_SHARDS"

func shardsOfTests(t *testing.T) int {
	t.Helper()
	text := os.Getenv(shardsVariable)
	if text == "" {
		return 1
	}
	shards, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return shards
}

// startOperator runs an operator until w.stop is called or the test ends: a process for each shard.
func (w *suite) startOperator() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, w.shards)
	w.stop = sync.OnceFunc(func() {
		cancel()
		for range w.shards {
			if err := <-done; err != nil {
				w.t.Errorf("the operator failed: %v", err)
			}
		}
	})
	w.t.Cleanup(w.stop)
	for index := range w.shards {
		mgr, err := w.operator(ctx, operatorkit.Shard{Index: index, Count: w.shards})
		if err != nil {
			for range w.shards - index {
				done <- nil
			}
			w.t.Fatal(err)
		}
		go func() { done <- mgr.Start(ctx) }()
	}
}

func (w *suite) operator(ctx context.Context, shard operatorkit.Shard) (ctrl.Manager, error) {
	restConfig := rest.CopyConfig(w.cluster.RESTConfig())
	if w.wrap != nil {
		restConfig.Wrap(w.wrap)
	}
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme: runtime.NewScheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: aws.Bool(true)},
	})
	if err != nil {
		return nil, err
	}
	clients, err := awsapi.New(ctx, awsapi.Options{
		Region: region, EndpointURL: w.endpoint, Budgets: map[string]awsapi.Budget{awsapi.AnyService: awsapi.Unlimited},
		Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	})
	if err != nil {
		return nil, err
	}
	engine := stack.New(stack.Options{
		Clients: clients, RetryDelay: 50 * time.Millisecond, MaxRetryDelay: 100 * time.Millisecond, SlowRetry: 200 * time.Millisecond,
		DriftPoll: 20 * time.Millisecond, Clock: w.clock,
	})
	events := awsevents.New(awsevents.Options{Clients: clients, Engine: engine, ClusterName: clusterName, Shard: shard, AccountID: account})
	err = controller.Setup(ctx, mgr, controller.Options{
		Engine: engine, Events: events, Region: region, AccountID: account, ClusterName: clusterName,
		WatchNamespaces: w.watched(), Shard: shard, Limits: w.limits, DriftInterval: w.drift, Clock: w.clock,
		ServiceAccountIssuer: w.issuer, EKSCluster: w.eks,
	})
	if err != nil {
		return nil, err
	}
	return mgr, mgr.Add(events)
}

// watched are the namespaces that the operator watches.
func (w *suite) watched() []string {
	if w.other == "" {
		return []string{w.namespace}
	}
	return []string{w.namespace, w.other}
}

// inAnotherShard returns the suite for another namespace, which another operator serves if there are several.
func (w *suite) inAnotherShard() *suite {
	w.t.Helper()
	of := func(namespace string) (index int) {
		for !(operatorkit.Shard{Index: index, Count: w.shards}).Has(namespace) {
			index++
		}
		return index
	}
	other := *w
	for other.namespace == w.namespace || w.shards > 1 && of(other.namespace) == of(w.namespace) {
		other.namespace = controlplanetest.Namespace(w.t, w.cluster)
	}
	w.other, other.other = other.namespace, other.namespace
	return &other
}

// apply applies the objects of a YAML document.
func (w *suite) apply(manifests string) {
	w.t.Helper()
	if err := w.tryApply(manifests); err != nil {
		w.t.Fatal(err)
	}
}

func (w *suite) tryApply(manifests string) error {
	for _, obj := range w.decode(manifests) {
		if err := w.client.Patch(w.t.Context(), obj, client.Apply, client.FieldOwner("test"), client.ForceOwnership); err != nil { //nolint:staticcheck // the objects are unstructured
			return err
		}
	}
	return nil
}

func (w *suite) decode(manifests string) []*unstructured.Unstructured {
	w.t.Helper()
	reader := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), 4096)
	var objects []*unstructured.Unstructured
	for {
		obj := &unstructured.Unstructured{}
		err := reader.Decode(&obj.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if len(obj.Object) == 0 {
			continue
		}
		if obj.GetAPIVersion() == "" {
			obj.SetAPIVersion("service-operator.aws/v1alpha1")
		}
		if obj.GetKind() != "ModelDefinition" && obj.GetKind() != "CustomResourceDefinition" {
			obj.SetNamespace(w.namespace)
		}
		objects = append(objects, obj)
	}
}

// get reads an object of the group.
func (w *suite) get(kind, name string) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("service-operator.aws/v1alpha1")
	obj.SetKind(kind)
	key := client.ObjectKey{Namespace: w.namespace, Name: name}
	if kind == "ModelDefinition" || kind == "ModelRevision" {
		key.Namespace = ""
	}
	return obj, w.client.Get(w.t.Context(), key, obj)
}

// eventually waits until check returns no error.
func (w *suite) eventually(what string, check func() error) {
	w.t.Helper()
	patience.Until(w.t, what, check)
}

// condition waits until an object's condition has a status and, unless it is empty, a reason.
func (w *suite) condition(kind, name, conditionType, status, reason string) *metav1.Condition {
	w.t.Helper()
	var found *metav1.Condition
	w.eventually(fmt.Sprintf("%s %s is %s=%s %s", kind, name, conditionType, status, reason), func() error {
		obj, err := w.get(kind, name)
		if err != nil {
			return err
		}
		found = findCondition(obj, conditionType)
		if found == nil || string(found.Status) != status || reason != "" && found.Reason != reason ||
			found.ObservedGeneration != obj.GetGeneration() {
			return fmt.Errorf("generation %d, status %v", obj.GetGeneration(), show(obj.Object["status"]))
		}
		return nil
	})
	return found
}

// ready waits until an object is ready, and returns it.
func (w *suite) ready(kind, name string) *unstructured.Unstructured {
	w.t.Helper()
	w.condition(kind, name, "Ready", "True", "")
	obj, err := w.get(kind, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return obj
}

func findCondition(obj *unstructured.Unstructured, conditionType string) *metav1.Condition {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	var conditions []metav1.Condition
	for _, item := range list {
		c := metav1.Condition{}
		if m, ok := item.(map[string]any); ok {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &c); err == nil {
				conditions = append(conditions, c)
			}
		}
	}
	return meta.FindStatusCondition(conditions, conditionType)
}

// change patches an object the way kubectl patch does.
func (w *suite) change(kind, name, mergePatch string) {
	w.t.Helper()
	obj, err := w.get(kind, name)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.Patch(w.t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(mergePatch))); err != nil {
		w.t.Fatal(err)
	}
}

// delete deletes an object and waits until it no longer exists.
func (w *suite) delete(kind, name string) {
	w.t.Helper()
	obj, err := w.get(kind, name)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.Delete(w.t.Context(), obj); err != nil {
		w.t.Fatal(err)
	}
	w.gone(kind, name)
}

func (w *suite) gone(kind, name string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%s %s is deleted", kind, name), func() error {
		obj, err := w.get(kind, name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("%w, status %s", errors.Join(err, errStill), show(obj.Object["status"]))
	})
}

var errStill = errors.New("it is still there")

// awsConfig is how tests talk to the simulator themselves.
func (w *suite) awsConfig() aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: aws.String(w.observer),
		Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	}
}

// stacks returns the names and statuses of the stacks that exist and are not the operator's own.
func (w *suite) stacks() map[string]string {
	w.t.Helper()
	out, err := cloudformation.NewFromConfig(w.awsConfig()).DescribeStacks(w.t.Context(), &cloudformation.DescribeStacksInput{})
	if err != nil {
		w.t.Fatal(err)
	}
	stacks := map[string]string{}
	for _, s := range out.Stacks {
		if !strings.HasPrefix(aws.ToString(s.StackName), "aws-operator-events") {
			stacks[aws.ToString(s.StackName)] = string(s.StackStatus)
		}
	}
	return stacks
}

func show(value any) string {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%v", value)
	return out.String()
}

func nested(obj *unstructured.Unstructured, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, path...)
	return value
}
