package controller_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/cleanup"
	"github.com/aws-operator/aws-operator/internal/cluster/controller"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplanetest.MainAtOnce(m, testsPerCore)
}

const (
	// testsPerCore is how many tests run at once. With more, tests of timeouts would see a slow computer.
	testsPerCore = 3

	region      = "eu-central-1"
	account     = "123456789012"
	clusterName = "test"
)

// suite is a namespace of a real API server, a simulated AWS, with simulated instances if the test
// needs them, and an operator.
type suite struct {
	t         *testing.T
	cluster   *controlplane.ControlPlane
	client    client.Client
	namespace string
	sim       *simulator.Simulator
	// key is that of the operator, which is an administrator and can assume roles.
	key        aws.Credentials
	endpoint   string
	observer   string // the endpoint of the test's own clients
	nodeup     string
	metrics    *prometheus.Registry // of the operator that was last started
	clock      clock.Clock          // of the controllers; nil is the real clock
	resolver   awsapi.Resolver      // of the operator; nil is the simulator's
	drift      time.Duration        // the interval of checks for drift; 0 checks only on request
	shards     int                  // how many operators share the Clusters
	clusterAPI bool                 // whether the operator follows Cluster API
	caches     []client.Reader      // of the operators that were last started
	stop       func()
}

// simulatedHost returns a host of simulated instances.
func simulatedHost() machine.Host { return fake.New(fake.Options{}) }

// newSuite returns the suite of a test that runs beside others, since tests wait most of their time.
func newSuite(t *testing.T, machines machine.Host, latency func(resourceType, operation string) time.Duration) *suite {
	t.Helper()
	t.Parallel()
	return newSuiteAlone(t, machines, latency)
}

// newSuiteAlone returns the suite of a test that changes what other tests see, such as the
// environment.
func newSuiteAlone(t *testing.T, machines machine.Host, latency func(resourceType, operation string) time.Duration) *suite {
	t.Helper()
	w := &suite{t: t, cluster: controlplanetest.Shared(t), nodeup: t.TempDir(), shards: 1}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.client, err = client.New(w.cluster.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	for _, architecture := range []string{"amd64", "arm64"} {
		if err := os.WriteFile(
			filepath.Join(w.nodeup, "nodeup-linux-"+architecture), []byte("nodeup for "+architecture), 0o600,
		); err != nil {
			t.Fatal(err)
		}
	}
	w.namespace = controlplanetest.Namespace(t, w.cluster)
	sim, endpoint := simulatortest.Start(t, simulator.Options{
		Region: region, Latency: latency, Faults: &fault.Injector{}, Machines: machines, Patience: 100 * time.Millisecond,
	})
	w.sim = sim
	observer := simulatortest.Serve(t, w.sim.Observer()) // the tests compare what exists with what should
	w.endpoint, w.observer = endpoint, observer
	w.key = simulatortest.User(t, w.awsConfig(account, region), "operator", simulatortest.Administrator)
	return w
}

// start runs an operator until w.stop is called or the test ends: a process for each shard.
func (w *suite) start() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, w.shards)
	w.stop = sync.OnceFunc(func() {
		cancel()
		for range w.shards {
			if err := <-done; err != nil {
				w.t.Errorf("the operator returned an error: %v", err)
			}
		}
	})
	w.t.Cleanup(w.stop)
	w.caches = nil
	for index := range w.shards {
		mgr, err := w.operator(ctx, operatorkit.Shard{Index: index, Count: w.shards})
		if err != nil {
			for range w.shards - index {
				done <- nil
			}
			w.t.Fatal(err)
		}
		w.caches = append(w.caches, mgr.GetClient())
		go func() { done <- mgr.Start(ctx) }()
	}
}

func (w *suite) operator(ctx context.Context, shard operatorkit.Shard) (ctrl.Manager, error) {
	restConfig := rest.CopyConfig(w.cluster.RESTConfig())
	restConfig.QPS = -1
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme: runtime.NewScheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: aws.Bool(true)},
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{w.namespace: {}},
			DefaultTransform:  cache.TransformStripManagedFields(),
			NewInformer:       controller.InformersOf(shard),
		},
	})
	if err != nil {
		return nil, err
	}
	resolver := w.resolver
	if resolver == nil {
		resolver = w.sim.Lookup
	}
	clients, err := awsapi.New(ctx, awsapi.Options{
		Region: region, EndpointURL: w.endpoint, Budgets: map[string]awsapi.Budget{awsapi.AnyService: awsapi.Unlimited},
		Credentials: credentials.StaticCredentialsProvider{Value: w.key}, Resolver: resolver,
	})
	if err != nil {
		return nil, err
	}
	engine := stack.New(stack.Options{
		Clients: clients, RetryDelay: 50 * time.Millisecond, MaxRetryDelay: 100 * time.Millisecond, SlowRetry: 200 * time.Millisecond,
		DriftPoll: 20 * time.Millisecond,
	})
	events := awsevents.New(awsevents.Options{Clients: clients, Engine: engine, ClusterName: clusterName, Shard: shard, AccountID: account})
	w.metrics = prometheus.NewRegistry()
	metrics, err := operatorkit.NewMetrics("test", w.metrics)
	if err != nil {
		return nil, err
	}
	err = controller.Setup(ctx, mgr, controller.Options{
		Metrics: metrics, Clock: w.clock, DriftInterval: w.drift, Shard: shard,
		Engine: engine, Events: events, Clients: clients, AccountID: account, ClusterName: clusterName,
		Workload:  workload.New(workload.Options{}),
		NodeupDir: w.nodeup, WatchNamespaces: []string{w.namespace},
		Releases:   []*v1alpha1.Release{aRelease("v1.36.3")},
		Roles:      []grant.Grant{{Namespace: w.namespace, Pattern: "arn:aws:iam::210987654321:role/*"}},
		ClusterAPI: w.clusterAPI,
		Cleanup:    cleanup.New(clients, clusterName, clock.RealClock{}, logr.Discard()),
	})
	if err != nil {
		return nil, err
	}
	return mgr, mgr.Add(events)
}

func aRelease(name string) *v1alpha1.Release {
	artifact := func(name, path string, format v1alpha1.ArtifactFormat) v1alpha1.Artifact {
		sources := map[v1alpha1.Architecture]v1alpha1.ArtifactSource{}
		for _, architecture := range []v1alpha1.Architecture{v1alpha1.AMD64, v1alpha1.ARM64} {
			sources[architecture] = v1alpha1.ArtifactSource{
				URL:    "https://example.com/" + string(architecture) + "/" + name,
				SHA256: strings.Repeat("ab", 32),
			}
		}
		return v1alpha1.Artifact{Name: name, Version: "2.1.0", Format: format, Path: path, Sources: sources}
	}
	return &v1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ReleaseSpec{
			Kubernetes: "v1.36.3", ResourceSet: "1.1.0", State: v1alpha1.ReleaseActive,
			Components: map[string]string{"etcd": "3.6.8-0", "coredns": "v1.14.0", "pause": "3.10.1"},
			Artifacts: []v1alpha1.Artifact{
				artifact("containerd", "/usr/local", v1alpha1.ArtifactTarGz),
				artifact("runc", "/usr/local/sbin/runc", v1alpha1.ArtifactBinary),
				artifact("kubelet", "/usr/local/bin/kubelet", v1alpha1.ArtifactBinary),
				artifact("kubeadm", "/usr/local/bin/kubeadm", v1alpha1.ArtifactBinary),
			},
			Images: map[v1alpha1.Architecture]v1alpha1.MachineImage{
				v1alpha1.AMD64: {Parameter: "/aws/service/canonical/ubuntu/server/24.04/stable/20260101/amd64/hvm/ebs-gp3/ami-id"},
				v1alpha1.ARM64: {Parameter: "/aws/service/canonical/ubuntu/server/24.04/stable/20260101/arm64/hvm/ebs-gp3/ami-id"},
			},
		},
	}
}

// aCluster returns the quick start's cluster in the suite's namespace.
func (w *suite) aCluster(name string) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace},
		Spec: v1alpha1.ClusterSpec{
			Release: "v1.36.3", Region: region,
			Network: v1alpha1.Network{
				CIDR: "10.0.0.0/16", Zones: []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"},
				Topology: v1alpha1.TopologyPrivate, NAT: v1alpha1.NATSingle,
			},
			ControlPlane: v1alpha1.ControlPlane{Replicas: 3, InstanceType: "m6i.large"},
		},
	}
}

func (w *suite) aGroup(name, cluster string) *v1alpha1.InstanceGroup {
	return &v1alpha1.InstanceGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace},
		Spec:       v1alpha1.InstanceGroupSpec{Cluster: cluster, MinSize: 2, MaxSize: 4, InstanceTypes: []string{"m6i.large"}},
	}
}

func (w *suite) create(objects ...client.Object) {
	w.t.Helper()
	for _, obj := range objects {
		if err := w.client.Create(w.t.Context(), obj); err != nil {
			w.t.Fatal(err)
		}
	}
}

// eventually waits until check returns no error.
func (w *suite) eventually(what string, check func() error) {
	w.t.Helper()
	patience.Until(w.t, what, check)
}

// condition waits until an object's condition has a status and, unless empty, a reason.
func (w *suite) condition(obj conditioned, conditionType string, status metav1.ConditionStatus, reason string) *metav1.Condition {
	w.t.Helper()
	var found *metav1.Condition
	w.eventually(fmt.Sprintf("%T %s is %s=%s %s", obj, obj.GetName(), conditionType, status, reason), func() error {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		found = meta.FindStatusCondition(obj.GetConditions(), conditionType)
		if found == nil || found.Status != status || reason != "" && found.Reason != reason ||
			found.ObservedGeneration != obj.GetGeneration() {
			return fmt.Errorf("generation %d, conditions %v", obj.GetGeneration(), describeConditions(obj.GetConditions()))
		}
		return nil
	})
	return found
}

var errStill = errors.New("not yet")

type conditioned interface {
	client.Object
	GetConditions() []metav1.Condition
}

func describeConditions(conditions []metav1.Condition) string {
	lines := make([]string, len(conditions))
	for i, c := range conditions {
		lines[i] = fmt.Sprintf("\n\t%s=%s (%d) %s: %s", c.Type, c.Status, c.ObservedGeneration, c.Reason, c.Message)
	}
	return strings.Join(lines, "")
}

// waitDeleted waits until an object is deleted.
func (w *suite) waitDeleted(obj conditioned) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%T %s is deleted", obj, obj.GetName()), func() error {
		err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(obj), obj)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("it still exists: %s", describeConditions(obj.GetConditions())))
	})
}

// awsConfig returns the configuration of the tests' own clients of the simulator.
func (w *suite) awsConfig(account, region string) aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: aws.String(w.observer),
		Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	}
}

// stacks returns the statuses, by name, of the existing stacks except the operator's own.
func (w *suite) stacks(account, region string) map[string]string {
	w.t.Helper()
	out, err := cloudformation.NewFromConfig(w.awsConfig(account, region)).
		DescribeStacks(w.t.Context(), &cloudformation.DescribeStacksInput{})
	if err != nil {
		w.t.Fatal(err)
	}
	stacks := map[string]string{}
	for i := range out.Stacks {
		if name := aws.ToString(out.Stacks[i].StackName); !strings.HasPrefix(name, "aws-operator-events") {
			stacks[name] = string(out.Stacks[i].StackStatus)
		}
	}
	return stacks
}

// complete waits until exactly these stacks exist and are created.
func (w *suite) complete(account, region string, names ...string) {
	w.t.Helper()
	w.eventually("the stacks are created", func() error {
		stacks := w.stacks(account, region)
		for _, name := range names {
			if stacks[name] != "CREATE_COMPLETE" {
				return fmt.Errorf("want %v, have %v", names, stacks)
			}
		}
		if len(stacks) != len(names) {
			return fmt.Errorf("want %v, have %v", names, stacks)
		}
		return nil
	})
}

func (w *suite) s3(account, region string) *s3.Client {
	return s3.NewFromConfig(w.awsConfig(account, region), func(o *s3.Options) { o.UsePathStyle = true })
}

// objects returns the sorted keys in a bucket.
func (w *suite) objects(account, region, bucket string) []string {
	w.t.Helper()
	out, err := w.s3(account, region).ListObjectsV2(w.t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(bucket)})
	if err != nil {
		w.t.Fatal(err)
	}
	var keys []string
	for i := range out.Contents {
		keys = append(keys, aws.ToString(out.Contents[i].Key))
	}
	slices.Sort(keys)
	return keys
}

func (w *suite) buckets(account, region string) []string {
	w.t.Helper()
	out, err := w.s3(account, region).ListBuckets(w.t.Context(), &s3.ListBucketsInput{})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for i := range out.Buckets {
		names = append(names, aws.ToString(out.Buckets[i].Name))
	}
	return names
}

func (w *suite) secret(name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, secret)
}

// calls counts the calls to AWS except those that poll for events.
func (w *suite) calls() int {
	sum := 0
	for name, count := range w.sim.Calls() {
		if !strings.HasPrefix(name, "sqs/") {
			sum += count
		}
	}
	return sum
}

// reconciles returns the number of successful reconciles of Clusters, and their total duration.
func (w *suite) reconciles() (count uint64, took time.Duration) {
	w.t.Helper()
	families, err := w.metrics.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			of := map[string]string{}
			for _, label := range metric.GetLabel() {
				of[label.GetName()] = label.GetValue()
			}
			if family.GetName() == "test_reconcile_duration_seconds" && of["kind"] == "Cluster" && of["outcome"] == "done" {
				count += metric.GetHistogram().GetSampleCount()
				took += time.Duration(metric.GetHistogram().GetSampleSum() * float64(time.Second))
			}
		}
	}
	return count, took
}
