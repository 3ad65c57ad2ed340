package operator_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/local/process"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const (
	// replicaOf is the variable with the kubeconfig of a process that is a replica of a test's operator.
	replicaOf = "AWS_OPERATOR_TEST_REPLICA"
	// metricsOf and probesOf are those with its addresses.
	metricsOf = "AWS_OPERATOR_TEST_METRICS"
	probesOf  = "AWS_OPERATOR_TEST_PROBES"
	// stalls is the variable of a replica whose API server does not answer requests whose path ends in it.
	stalls = "AWS_OPERATOR_TEST_STALLS"
)

func TestMain(m *testing.M) {
	if kubeconfig := os.Getenv(replicaOf); kubeconfig != "" {
		if err := runReplica(kubeconfig); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	controlplanetest.Main(m)
}

// runReplica is what a replica's process does.
func runReplica(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("load %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	if path := os.Getenv(stalls); path != "" {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return stalled{path, next} })
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return operator.Run(ctx, operator.Options{
		RESTConfig: config, Region: "eu-west-1", EndpointURL: os.Getenv("AWS_ENDPOINT_URL"), ClusterName: "shared",
		Shards: 3, LeaderElectionNamespace: metav1.NamespaceDefault,
		MetricsAddress: os.Getenv(metricsOf), ProbeAddress: os.Getenv(probesOf),
	})
}

// stalled are requests of which some are not answered.
type stalled struct {
	path string
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s stalled) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, s.path) {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	return s.next.RoundTrip(request) //nolint:wrapcheck // of a transport
}

// replicas are the processes of one test's operator.
type replicaSuite struct {
	t          *testing.T
	kubeconfig string
	objects    client.Client
	leases     *kubernetes.Clientset
	stacks     *cloudformation.Client
	namespaces []string
}

func newReplicaSuite(t *testing.T) *replicaSuite {
	t.Helper()
	cluster := controlplanetest.Shared(t)
	server := httptest.NewServer(simulatortest.New(t, simulator.Options{}).Handler())
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "123456789012")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s := &replicaSuite{t: t, kubeconfig: kubeconfigOf(t, cluster), leases: kubernetes.NewForConfigOrDie(cluster.RESTConfig())}
	scheme := runtime.NewScheme()
	if err := servicev1alpha1.AddObjectToScheme(scheme, "SQSQueue"); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.objects, err = client.New(cluster.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	s.stacks = cloudformation.New(cloudformation.Options{
		Region: "eu-west-1", BaseEndpoint: &server.URL,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "123456789012", SecretAccessKey: "secret"}, nil
		}),
	})
	for range 12 {
		s.namespaces = append(s.namespaces, controlplanetest.Namespace(t, cluster))
	}
	return s
}

func kubeconfigOf(t *testing.T, cluster *controlplane.ControlPlane) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, cluster.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// start starts a replica.
func (s *replicaSuite) start() *exec.Cmd {
	s.t.Helper()
	return s.startWith()
}

// startWith starts a replica with variables.
func (s *replicaSuite) startWith(variables ...string) *exec.Cmd {
	s.t.Helper()
	program, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	replica := exec.CommandContext(s.t.Context(), program)
	replica.Env, replica.Stderr = append(append(os.Environ(), replicaOf+"="+s.kubeconfig), variables...), os.Stderr
	replica.Cancel = func() error { return replica.Process.Signal(syscall.SIGTERM) }
	if err := replica.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = replica.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = replica.Wait()
	})
	return replica
}

// holders returns who holds each shard.
func (s *replicaSuite) holders() []string {
	s.t.Helper()
	var holders []string
	for shard := range 3 {
		lease, err := s.leases.CoordinationV1().Leases(metav1.NamespaceDefault).Get(
			s.t.Context(), fmt.Sprintf("aws-operator-shared-shard-%d-of-3", shard), metav1.GetOptions{})
		if err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" {
			holders = append(holders, *lease.Spec.HolderIdentity)
		}
	}
	return holders
}

// awaitHolders waits until a number of replicas hold the three shards.
func (s *replicaSuite) awaitHolders(replicas int) {
	s.t.Helper()
	patience.Until(s.t, fmt.Sprintf("%d replicas hold the shards", replicas), func() error {
		holders := s.holders()
		distinct := map[string]bool{}
		for _, holder := range holders {
			distinct[holder] = true
		}
		if len(holders) != 3 || len(distinct) != replicas {
			return fmt.Errorf("the holders are %v", holders)
		}
		return nil
	})
}

func (s *replicaSuite) queue(i int) *servicev1alpha1.Object {
	return &servicev1alpha1.Object{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespaces[i%len(s.namespaces)], Name: fmt.Sprintf("queue-%d", i),
	}}
}

// edit sets the visibility timeout of a queue.
func (s *replicaSuite) edit(i, seconds int) {
	s.t.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"visibilityTimeout":%d}}`, seconds))
	if err := s.objects.Patch(s.t.Context(), s.queue(i), patch); err != nil {
		s.t.Fatal(err)
	}
}

// awaitReady waits until queues are Ready with their current generation.
func (s *replicaSuite) awaitReady(what string, count int) {
	s.t.Helper()
	patience.Until(s.t, what, func() error {
		for i := range count {
			obj := s.queue(i)
			if err := s.objects.Get(s.t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
				return err
			}
			ready := meta.FindStatusCondition(obj.Status.Conditions, servicev1alpha1.ConditionReady)
			if ready == nil || ready.Status != metav1.ConditionTrue || obj.Status.ObservedGeneration != obj.Generation {
				return fmt.Errorf("%s/%s is not ready: %+v", obj.Namespace, obj.Name, obj.Status.Conditions)
			}
		}
		return nil
	})
}

// operations counts the operations that CloudFormation began on the stacks of queues.
func (s *replicaSuite) operations() map[string]int {
	s.t.Helper()
	counts := map[string]int{}
	stacks, err := s.stacks.ListStacks(s.t.Context(), &cloudformation.ListStacksInput{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, stack := range stacks.StackSummaries {
		if !strings.HasPrefix(*stack.StackName, "shared-") {
			continue
		}
		events, err := s.stacks.DescribeStackEvents(s.t.Context(), &cloudformation.DescribeStackEventsInput{StackName: stack.StackId})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, event := range events.StackEvents {
			if *event.PhysicalResourceId == *stack.StackId && strings.HasSuffix(string(event.ResourceStatus), "_IN_PROGRESS") &&
				!strings.Contains(string(event.ResourceStatus), "CLEANUP") {
				counts[string(event.ResourceStatus)]++
			}
		}
	}
	return counts
}

// checkMetrics tests that a replica reports the objects of its shards only, and which shards it holds, as the alert
// AWSOperatorDown expects.
func (s *replicaSuite) checkMetrics(page string) {
	s.t.Helper()
	text := scrape(s.t, page, "")
	ours := map[string]bool{}
	for shard := range 3 {
		if strings.Contains(text, fmt.Sprintf(`leader_election_master_status{name="aws-operator-shared-shard-%d-of-3"} 1`, shard)) {
			ours[strconv.Itoa(shard)] = true
		}
	}
	reported := map[string]bool{}
	for _, match := range regexp.MustCompile(`aws_operator_objects{[^}]*kind="SQSQueue"[^}]*shard="(\d)"`).FindAllStringSubmatch(text, -1) {
		reported[match[1]] = true
	}
	if len(ours) == 0 || !maps.Equal(ours, reported) {
		s.t.Errorf("the replica holds the shards %v, and reports objects of %v", ours, reported)
	}
}

// TestReplicasShareObjects kills one of three replicas amid creations and edits: the others continue, and no stack is created
// or updated twice.
func TestReplicasShareObjects(t *testing.T) {
	s := newReplicaSuite(t)
	const queues = 36
	ports, err := process.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	metrics, probes := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	victim := s.start()
	s.awaitHolders(1)
	s.start()
	s.startWith(metricsOf+"="+metrics, probesOf+"="+probes)
	s.awaitHolders(3)
	patience.UntilTrue(t, "a replica is ready", func() bool { return answers(t, "http://"+probes+"/readyz") })
	for i := range queues {
		if i == queues/2 {
			if err := victim.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.objects.Create(t.Context(), s.queue(i)); err != nil {
			t.Fatal(err)
		}
	}
	killed := time.Now()
	s.awaitReady("all queues are Ready", queues)
	t.Logf("all queues were Ready %v after a replica was killed", time.Since(killed))
	s.awaitHolders(2)
	s.checkMetrics("http://" + metrics + "/metrics")
	victim = s.start()
	s.awaitHolders(3)
	for i := range queues {
		s.edit(i, 60+i)
		if i == queues/2 {
			if err := victim.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.awaitReady("all edits have their effect", queues)
	counts := s.operations()
	if counts["CREATE_IN_PROGRESS"] != queues || counts["UPDATE_IN_PROGRESS"] != queues || len(counts) != 2 {
		t.Errorf("the operations are %v, want one creation and one update of each of %d stacks", counts, queues)
	}
}

// A replica that gives up a shard before it has read the shard's objects, or anything at all, as when others start while
// the API server is slow, keeps running.
func TestReplicaGivesUpShardsThatItHasNotRead(t *testing.T) {
	for name, path := range map[string]string{
		"its objects are not read": "/sqsqueues", "nothing is read": "/namespaces/kube-system",
	} {
		t.Run(name, func(t *testing.T) {
			s := newReplicaSuite(t)
			s.startWith(stalls + "=" + path)
			s.awaitHolders(1)
			first := s.holders()[0]
			s.start()
			s.awaitHolders(2)
			s.start()
			s.awaitHolders(3)
			if !slices.Contains(s.holders(), first) {
				t.Errorf("the slow replica %s has lost all shards: %v", first, s.holders())
			}
		})
	}
}
