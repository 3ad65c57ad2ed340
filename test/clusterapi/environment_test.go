package clusterapi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	clusterreconciler "sigs.k8s.io/cluster-api/core/reconcilers/cluster"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinepool"
	"sigs.k8s.io/cluster-api/core/setup"
	"sigs.k8s.io/cluster-api/util/index"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/cleanup"
	operator "github.com/aws-operator/aws-operator/internal/cluster/controller"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	region     = "eu-central-1"
	account    = "123456789012"
	identifier = "test"
)

func TestMain(m *testing.M) {
	if os.Getenv("TEST_CLUSTER_API_LOG") != "" {
		ctrl.SetLogger(zap.New(zap.UseDevMode(true)))
	} else {
		ctrl.SetLogger(logr.Discard())
	}
	controlplanetest.Main(m)
}

// environment is a namespace of a real API server with the CRDs of Cluster API, its controllers, the operator,
// and a simulated AWS with fake machines.
type environment struct {
	t          *testing.T
	cluster    *controlplane.ControlPlane
	client     client.Client
	namespace  string
	aws        aws.Config
	kubeconfig string
}

func newEnvironment(t *testing.T) *environment {
	t.Helper()
	e := &environment{t: t, cluster: controlplanetest.Shared(t)}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if e.client, err = client.New(e.cluster.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	e.namespace = controlplanetest.Namespace(t, e.cluster)
	e.installCRDs()
	e.run(e.operator())
	e.run(e.clusterAPI(scheme))
	return e
}

// module returns the folder of Cluster API's module.
func (e *environment) module() string {
	e.t.Helper()
	out, err := exec.CommandContext(e.t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		e.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// installCRDs installs the CRDs of Cluster API's module.
func (e *environment) installCRDs() {
	e.t.Helper()
	files, err := filepath.Glob(filepath.Join(e.module(), "core/config/crd/bases/*.yaml"))
	if err != nil || len(files) == 0 {
		e.t.Fatalf("the module has no CRDs: %v", err)
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			e.t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, crd); err != nil {
			e.t.Fatal(err)
		}
		crds = append(crds, crd)
	}
	if err := operatorkit.EnsureCRDs(e.t.Context(), e.cluster.RESTConfig(), "test", crds...); err != nil {
		e.t.Fatal(err)
	}
}

// run runs a manager until the test ends.
func (e *environment) run(mgr ctrl.Manager) {
	e.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	e.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			e.t.Errorf("a manager returned an error: %v", err)
		}
	})
}

// clusterAPI returns a manager with Cluster API's controllers of Clusters and MachinePools, set up as in its
// main program, and with the rights of its role and of the chart's role for it.
// https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/core/main.go
func (e *environment) clusterAPI(scheme *runtime.Scheme) ctrl.Manager {
	e.t.Helper()
	ctx := e.t.Context()
	name := "cluster-api-controller-manager"
	config := e.as("cluster-api", e.ofModule(), e.ofChart("clusterapi.yaml"))
	caches := setup.ManagerCacheOptions(scheme, name, e.namespace, 10*time.Minute)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Cache: caches, Client: setup.ManagerClientOptions(),
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	if err := index.AddDefaultIndexes(ctx, mgr); err != nil {
		e.t.Fatal(err)
	}
	secrets, err := setup.CreateSecretCachingClient(mgr)
	if err != nil {
		e.t.Fatal(err)
	}
	clusters, err := clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient: secrets, Cache: setup.ClusterCacheCacheOptions(), Client: setup.ClusterCacheClientOptions(name, 20, 30),
	}, controller.Options{})
	if err != nil {
		e.t.Fatal(err)
	}
	err = errors.Join(
		(&clusterreconciler.Reconciler{
			Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), ClusterCache: clusters, RemoteConnectionGracePeriod: 50 * time.Second,
		}).SetupWithManager(ctx, mgr, controller.Options{}),
		(&machinepool.Reconciler{
			Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), ClusterCache: clusters,
		}).SetupWithManager(ctx, mgr, controller.Options{}),
	)
	if err != nil {
		e.t.Fatal(err)
	}
	return mgr
}

// operator returns a manager with the operator's controllers of clusters, which act on a simulated AWS. It has
// the rights that the chart gives it.
func (e *environment) operator() ctrl.Manager {
	e.t.Helper()
	ctx := e.t.Context()
	nodeup := e.t.TempDir()
	for _, architecture := range []string{"amd64", "arm64"} {
		if err := os.WriteFile(filepath.Join(nodeup, "nodeup-linux-"+architecture), []byte(architecture), 0o600); err != nil {
			e.t.Fatal(err)
		}
	}
	sim, endpoint := simulatortest.Start(e.t, simulator.Options{
		Region: region, Machines: fake.New(fake.Options{}), Patience: 100 * time.Millisecond,
	})
	e.aws = aws.Config{
		Region: region, BaseEndpoint: aws.String(simulatortest.Serve(e.t, sim.Observer())),
		Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	}
	key := simulatortest.User(e.t, e.aws, "operator", simulatortest.Administrator)
	clients, err := awsapi.New(ctx, awsapi.Options{
		Region: region, EndpointURL: endpoint, Budgets: map[string]awsapi.Budget{awsapi.AnyService: awsapi.Unlimited},
		Credentials: credentials.StaticCredentialsProvider{Value: key}, Resolver: sim.Lookup,
	})
	if err != nil {
		e.t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(e.as("operator", e.ofChart("rights.yaml")), ctrl.Options{
		Scheme: runtime.NewScheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{e.namespace: {}}},
		// Cluster API has a controller of that name, too.
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	engine := stack.New(stack.Options{
		Clients: clients, RetryDelay: 50 * time.Millisecond, MaxRetryDelay: 100 * time.Millisecond, SlowRetry: 200 * time.Millisecond,
	})
	events := awsevents.New(awsevents.Options{Clients: clients, Engine: engine, ClusterName: identifier, AccountID: account})
	releases, err := release.Builtin()
	if err != nil {
		e.t.Fatal(err)
	}
	err = operator.Setup(ctx, mgr, operator.Options{
		Engine: engine, Events: events, Clients: clients, AccountID: account, ClusterName: identifier,
		Workload: workload.New(workload.Options{}), NodeupDir: nodeup, WatchNamespaces: []string{e.namespace},
		Releases: releases, ClusterAPI: true,
		Cleanup: cleanup.New(clients, identifier, clock.RealClock{}, logr.Discard()),
	})
	if err != nil {
		e.t.Fatal(err)
	}
	if err := mgr.Add(events); err != nil {
		e.t.Fatal(err)
	}
	return mgr
}

// apply creates the objects of a file of the folder examples in the environment's namespace.
func (e *environment) apply(file string) {
	e.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		e.t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), obj); err != nil {
			e.t.Fatalf("%s: %v", file, err)
		}
		obj.SetNamespace(e.namespace)
		if err := e.client.Create(e.t.Context(), obj); err != nil {
			e.t.Fatalf("create %s %s: %v", obj.GetObjectKind().GroupVersionKind(), obj.GetName(), err)
		}
	}
}

// edit changes an object.
func (e *environment) edit(obj client.Object, change func()) {
	e.t.Helper()
	e.get(obj)
	before := obj.DeepCopyObject().(client.Object)
	change()
	if err := e.client.Patch(e.t.Context(), obj, client.MergeFrom(before)); err != nil {
		e.t.Fatal(err)
	}
}

func (e *environment) get(obj client.Object) {
	e.t.Helper()
	if err := e.client.Get(e.t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		e.t.Fatal(err)
	}
}

// until waits until an object is as check wants it.
func (e *environment) until(what string, obj client.Object, check func() error) {
	e.t.Helper()
	patience.Until(e.t, what, func() error {
		if err := e.client.Get(e.t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		return check()
	})
}

// isTrue returns an error unless a condition is True.
func isTrue(conditions []metav1.Condition, types ...string) error {
	for _, one := range types {
		if meta.IsStatusConditionTrue(conditions, one) {
			continue
		}
		lines := []string{one + " is not True:"}
		for _, c := range conditions {
			lines = append(lines, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
		}
		return errors.New(strings.Join(lines, "\n\t"))
	}
	return nil
}

// stacks returns the names of the stacks that exist, but not of the operator's own.
func (e *environment) stacks() []string {
	e.t.Helper()
	out, err := cloudformation.NewFromConfig(e.aws).DescribeStacks(e.t.Context(), &cloudformation.DescribeStacksInput{})
	if err != nil {
		e.t.Fatal(err)
	}
	var names []string
	for i := range out.Stacks {
		if name := aws.ToString(out.Stacks[i].StackName); !strings.HasPrefix(name, "aws-operator-events") {
			names = append(names, name)
		}
	}
	return names
}

// instances returns the IDs of the instances that are not terminated.
func (e *environment) instances() []string {
	e.t.Helper()
	out, err := ec2.NewFromConfig(e.aws).DescribeInstances(e.t.Context(), &ec2.DescribeInstancesInput{})
	if err != nil {
		e.t.Fatal(err)
	}
	var ids []string
	for _, reservation := range out.Reservations {
		for i := range reservation.Instances {
			if reservation.Instances[i].State.Name != "terminated" {
				ids = append(ids, aws.ToString(reservation.Instances[i].InstanceId))
			}
		}
	}
	return ids
}

// runClusterctl runs the real clusterctl and returns its output.
func (e *environment) runClusterctl(args ...string) string {
	e.t.Helper()
	if e.kubeconfig == "" {
		e.kubeconfig = filepath.Join(e.t.TempDir(), "kubeconfig")
		if err := os.WriteFile(e.kubeconfig, e.cluster.Kubeconfig(), 0o600); err != nil {
			e.t.Fatal(err)
		}
	}
	command := exec.CommandContext(e.t.Context(), "go", append([]string{"tool", "clusterctl"}, append(args,
		"--kubeconfig", e.kubeconfig, "--namespace", e.namespace)...)...)
	// It would look for a newer version of itself.
	command.Env = append(os.Environ(), "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "XDG_CONFIG_HOME="+e.t.TempDir())
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		e.t.Fatalf("clusterctl %v: %v\n%s", args, err, problems.String())
	}
	return string(out)
}
