package simulation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
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
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	region      = "eu-central-1"
	account     = "123456789012"
	clusterName = "test"
	namespace   = "default"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	// Kubernetes' client makes goroutines that handle errors sleep until a millisecond has passed
	// since the last error of the process. Virtual time begins in 2000: that would be 26 years.
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// host runs fake machines, and makes load balancers reachable in the network.
type host struct {
	*fake.Host
	network *network
}

// suite is a simulated AWS, a management cluster and an operator.
type suite struct {
	t       *testing.T
	network *network
	sim     *simulator.Simulator
	host    *fake.Host
	faults  *fault.Injector
	config  *rest.Config
	client  client.Client
	nodeup  string
	stop    func()
	// frozen delays what the operator's watches of the management cluster report.
	frozen atomic.Bool

	// transport carries the operator's calls of AWS, as the caller of credentials.
	transport   http.RoundTripper
	credentials aws.CredentialsProvider
	// roles are those that Clusters may name.
	roles []grant.Grant
	// registry has the operator's metrics; nil registers none.
	registry prometheus.Registerer
	// extend adds to an operator; nil adds nothing.
	extend func(context.Context, *parts) error
}

// parts are what an operator consists of.
type parts struct {
	manager  ctrl.Manager
	clients  *awsapi.Clients
	engine   *stack.Engine
	events   *awsevents.Listener
	workload *workload.Clusters
	cleanup  *cleanup.Cleaner
	metrics  *operatorkit.Metrics
}

// newSuite creates an environment without an operator.
func newSuite(t *testing.T, nodeup string, seed uint64) *suite {
	t.Helper()
	w := &suite{t: t, network: newNetwork(), faults: &fault.Injector{}, nodeup: nodeup, stop: func() {}}
	w.host = fake.New(fake.Options{BootTime: 40 * time.Second})
	w.sim = simulatortest.New(t, simulator.Options{
		Account: account, Region: region, Machines: &host{w.host, w.network}, Faults: w.faults, Listen: w.network.listen,
		Endpoint: "http://aws.test", Latency: latency, Seed: seed, Lag: 5 * time.Second, Speed: 1,
	})
	w.transport, w.credentials = inProcess{w.sim.Handler()}, credentials.NewStaticCredentialsProvider(account, "secret", "")
	w.config = newManagement(t, w.network, &w.frozen)
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.client, err = client.New(w.config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	return w
}

// latency is how long CloudFormation takes for a resource.
func latency(resourceType, _ string) time.Duration {
	if resourceType == "AWS::EC2::NatGateway" {
		return time.Minute
	}
	return 3 * time.Second
}

// start runs an operator until w.stop is called or the test ends.
func (w *suite) start() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	mgr, err := w.operator(ctx)
	if err != nil {
		cancel()
		w.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	w.stop = sync.OnceFunc(func() {
		// A manager that is stopped during its start spins until everything has started
		// (controller-runtime's runnableGroup.Start), during which no virtual time passes.
		select {
		case <-mgr.Elected():
			cancel()
			err = <-done
		case err = <-done:
			cancel()
		}
		if err != nil {
			w.t.Errorf("the operator failed: %v", err)
		}
	})
	w.t.Cleanup(w.stop)
}

func (w *suite) operator(ctx context.Context) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(w.config, ctrl.Options{
		Scheme: runtime.NewScheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: aws.Bool(true)},
		Cache:      cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	clients, err := awsapi.New(ctx, awsapi.Options{
		Region: region, EndpointURL: "http://aws.test", Transport: w.transport, Resolver: w.sim.Lookup,
		Credentials: w.credentials, Registerer: w.registry,
		// The adaptive mode may wait in zero-length intervals until time has passed, which never
		// happens in virtual time.
		Retryer: func() aws.Retryer { return retry.NewStandard() },
	})
	if err != nil {
		return nil, err
	}
	engine := stack.New(stack.Options{Clients: clients})
	p := &parts{
		manager: mgr, clients: clients, engine: engine,
		events: awsevents.New(awsevents.Options{
			Clients: clients, Engine: engine, ClusterName: clusterName, AccountID: account, Registerer: w.registry,
		}),
		workload: workload.New(workload.Options{Config: func(_ types.NamespacedName, kubeconfig []byte) (*rest.Config, error) {
			config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
			if err == nil {
				config.Dial = w.network.dial
			}
			return config, err
		}}),
		cleanup: cleanup.New(clients, clusterName, clock.RealClock{}, logr.Discard()),
	}
	if w.registry != nil {
		if p.metrics, err = operatorkit.NewMetrics("aws_operator", w.registry); err != nil {
			return nil, err
		}
	}
	err = controller.Setup(ctx, mgr, controller.Options{
		Engine: engine, Events: p.events, Clients: clients, AccountID: account, ClusterName: clusterName,
		Workload: p.workload, Roles: w.roles, Metrics: p.metrics, NodeupDir: w.nodeup, Cleanup: p.cleanup,
	})
	if err == nil && w.extend != nil {
		err = w.extend(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	return mgr, mgr.Add(p.events)
}

// nodeupFiles creates fake nodeup programs; all runs share one folder.
func nodeupFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, architecture := range []string{"amd64", "arm64"} {
		if err := os.WriteFile(filepath.Join(dir, "nodeup-linux-"+architecture), []byte("a fake nodeup"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
