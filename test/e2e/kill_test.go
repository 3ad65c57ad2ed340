package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/aws-operator/aws-operator/internal/cli"
	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const (
	account = "123456789012"
	region  = "eu-central-1"
	// asOperator makes this test binary run as the operator, so that the test can kill it.
	asOperator = "E2E_RUN_AS_OPERATOR"
)

func TestMain(m *testing.M) {
	if os.Getenv(asOperator) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	controlplanetest.Main(m)
}

var (
	queues     = schema.GroupVersionResource{Group: "service-operator.aws", Version: "v1alpha1", Resource: "sqsqueues"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// manner is when the operator is killed relative to a call.
type manner string

const (
	// requestLost kills the operator before the call has any effect.
	requestLost manner = "request lost"
	// answerLost kills the operator after AWS has executed the call.
	answerLost manner = "answer lost"
)

// TestKilledAtEveryCall runs the lifecycle of a queue (created, edited, deleted) repeatedly and
// kills the operator at the first AWS call, then at the second, and so on until none is left. In
// every case a restarted operator must reach the same result as one that was never killed.
func TestKilledAtEveryCall(t *testing.T) {
	plane := controlplanetest.Shared(t)
	want := newLife(t, plane).run(t, 0, requestLost)
	if want.calls == 0 {
		t.Fatal("the undisturbed lifecycle made no AWS call: the test would prove nothing")
	}
	for _, how := range []manner{requestLost, answerLost} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			kills := 0
			for n := 1; ; n++ {
				got := newLife(t, plane).run(t, n, how)
				if !got.killed {
					break
				}
				kills++
				if diff := cmp.Diff(want.ends, got.ends); diff != "" {
					t.Errorf("killed at call %d (%s): differs from an undisturbed lifecycle:\n%s", n, got.killedAt, diff)
				}
			}
			if kills < want.calls/2 {
				t.Errorf("only %d kills for %d calls of an undisturbed lifecycle", kills, want.calls)
			}
			t.Logf("killed at %d calls", kills)
		})
	}
}

// life is one queue's lifecycle in its own environment: its own AWS, namespace and operator.
type life struct {
	namespace  string
	kubeconfig string
	client     dynamic.Interface
	dir        string
	simulator  *simulator.Simulator
	// toTest serves the simulator to the test, toOperator to the operator: only there are calls
	// counted and interrupted.
	toTest, toOperator *httptest.Server
	// killAt and how define the operator's last call; 0 for none.
	killAt int
	how    manner

	mutex    sync.Mutex
	operator *exec.Cmd
	exited   chan struct{}
	ended    bool
	calls    int
	killedAt string
}

// ends is what is compared between lifecycles: the state after each part.
type ends struct {
	Made, Edited, Deleted standing
}

// standing is what exists in Kubernetes and AWS at one moment.
type standing struct {
	Output    map[string]any
	ConfigMap map[string]any
	// Status is the stack's as the object reports it, without the operation: if CloudFormation answers
	// a restarted operator with the status before an update, the next sweep corrects that.
	Status     string
	Ready      string
	Visibility string
	Queues     []string
	// Stacks counts all stacks by name, including deleted ones.
	Stacks map[string]int
	// Updates counts the updates of the queue's stack that CloudFormation executed.
	Updates int
}

type outcome struct {
	ends     ends
	calls    int
	killed   bool
	killedAt string
}

func newLife(t *testing.T, plane *controlplane.ControlPlane) *life {
	t.Helper()
	sim := simulatortest.New(t, simulator.Options{Account: account, Region: region})
	client, err := dynamic.NewForConfig(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	l := &life{
		namespace: controlplanetest.Namespace(t, plane),
		simulator: sim,
		client:    client,
		dir:       t.TempDir(),
		toTest:    httptest.NewServer(sim.Handler()),
	}
	l.toOperator = httptest.NewServer(l.deadly(sim.Handler()))
	l.kubeconfig = filepath.Join(l.dir, "kubeconfig")
	if err := os.WriteFile(l.kubeconfig, plane.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// run runs the lifecycle and kills the operator at the n-th call; 0 for never.
func (l *life) run(t *testing.T, n int, how manner) outcome {
	t.Helper()
	l.killAt, l.how = n, how
	defer l.close()
	l.start()

	queue := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": queues.GroupVersion().String(),
		"kind":       "SQSQueue",
		"metadata":   map[string]any{"name": "orders"},
		"spec":       map[string]any{"visibilityTimeout": int64(30)},
	}}
	l.await(t, "the kind to be served", func() bool {
		_, err := l.queues().Create(t.Context(), queue, metav1.CreateOptions{})
		return err == nil
	})
	var o outcome
	l.awaitReady(t)
	o.ends.Made = l.standing(t)

	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"visibilityTimeout": 45}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.queues().Patch(t.Context(), "orders", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	l.await(t, "the edit to reach AWS", func() bool { return l.visibility(t) == "45" })
	l.awaitReady(t)
	o.ends.Edited = l.standing(t)

	if err := l.queues().Delete(t.Context(), "orders", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.await(t, "the object to be deleted", func() bool {
		_, err := l.queues().Get(t.Context(), "orders", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	o.ends.Deleted = l.standing(t)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	o.calls, o.killed, o.killedAt = l.calls, l.killedAt != "", l.killedAt
	return o
}

// deadly wraps AWS for the operator: the chosen call kills the operator and breaks its connection.
// Long polls for events are not counted, because their number varies.
func (l *life) deadly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		operation := operationOf(r, body)
		if strings.HasSuffix(operation, "ReceiveMessage") || !l.isLast(operation) {
			next.ServeHTTP(w, r)
			return
		}
		if l.how == answerLost {
			next.ServeHTTP(httptest.NewRecorder(), r)
		}
		l.kill()
		l.start()
		panic(http.ErrAbortHandler)
	})
}

// operationOf returns the operation of a call: a header in the JSON protocols, a parameter in
// Query.
func operationOf(r *http.Request, body []byte) string {
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		return target
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return r.Method + " " + r.URL.Path
	}
	return form.Get("Action")
}

// isLast counts a call and reports whether it is the one that kills.
func (l *life) isLast(operation string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.killedAt != "" || l.ended {
		return false
	}
	l.calls++
	if l.calls != l.killAt {
		return false
	}
	l.killedAt = operation
	return true
}

// start runs an operator.
func (l *life) start() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.ended {
		return
	}
	log, err := os.OpenFile(filepath.Join(l.dir, "operator.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err) // the server's goroutine cannot fail the test
	}
	defer func() { _ = log.Close() }()
	//nolint:noctx // it lives until kill
	command := exec.Command(os.Args[0], "operator", "--kubeconfig="+l.kubeconfig,
		"--aws-endpoint-url="+l.toOperator.URL, "--aws-region="+region, "--aws-api-budget=unlimited",
		"--watch-namespace="+l.namespace, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	command.Env = append(os.Environ(), asOperator+"=yes",
		"AWS_ACCESS_KEY_ID="+account, "AWS_SECRET_ACCESS_KEY=secret", "AWS_EC2_METADATA_DISABLED=true")
	command.Stdout, command.Stderr = log, log
	if l.exited, err = launch(command); err != nil {
		panic(err)
	}
	l.operator = command
}

// launch starts an operator that ends with the test binary, also if that is killed; exited is
// closed when the operator has exited.
func launch(command *exec.Cmd) (exited chan struct{}, err error) {
	command.SysProcAttr = withParent()
	exited = make(chan struct{})
	started := make(chan error)
	go func() {
		// The kernel considers the thread that starts a process its parent.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // it ends by SIGKILL, which Wait reports as an error
		}
		close(exited)
	}()
	return exited, <-started
}

// kill kills the operator, as a power failure would, and returns when it has exited.
func (l *life) kill() {
	l.mutex.Lock()
	command, exited := l.operator, l.exited
	l.mutex.Unlock()
	_ = command.Process.Signal(syscall.SIGKILL)
	<-exited
}

func (l *life) close() {
	l.mutex.Lock()
	l.ended = true
	l.mutex.Unlock()
	l.kill()
	l.toOperator.CloseClientConnections()
	l.toOperator.Close()
	l.toTest.Close()
	l.simulator.Close()
}

func (l *life) queues() dynamic.ResourceInterface {
	return l.client.Resource(queues).Namespace(l.namespace)
}

// await waits until done returns true, or fails the test with the operator's log.
func (l *life) await(t *testing.T, what string, done func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience.Left(t), true,
		func(context.Context) (bool, error) { return done(), nil })
	if err == nil {
		return
	}
	log, _ := os.ReadFile(filepath.Join(l.dir, "operator.log"))
	object, _ := l.queues().Get(t.Context(), "orders", metav1.GetOptions{})
	described, _ := json.MarshalIndent(object, "", "  ")
	t.Fatalf("killed at call %d %q (%s): timed out waiting for %s\nobject: %s\noperator's log:\n%s",
		l.killAt, l.killedAt, l.how, what, described, log)
}

// awaitReady waits until the queue is ready with its current spec.
func (l *life) awaitReady(t *testing.T) {
	t.Helper()
	l.await(t, "the queue to be Ready", func() bool {
		object, err := l.queues().Get(t.Context(), "orders", metav1.GetOptions{})
		if err != nil {
			return false
		}
		observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		return condition(object, "Ready") == "True" && observed == object.GetGeneration()
	})
}

func condition(object *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, ok := c.(map[string]any); ok && fields["type"] == kind {
			status, _ := fields["status"].(string)
			return status
		}
	}
	return ""
}

func (l *life) config() aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: aws.String(l.toTest.URL),
		Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	}
}

// visibility returns the queue's visibility timeout in AWS, or "" if there is no queue.
func (l *life) visibility(t *testing.T) string {
	t.Helper()
	client := sqs.NewFromConfig(l.config())
	found, err := client.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("orders")})
	if err != nil {
		return ""
	}
	attributes, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: found.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameVisibilityTimeout},
	})
	if err != nil {
		return ""
	}
	return attributes.Attributes["VisibilityTimeout"]
}

// standing lists everything in Kubernetes and AWS.
func (l *life) standing(t *testing.T) standing {
	t.Helper()
	s := standing{Visibility: l.visibility(t), Stacks: map[string]int{}}
	if object, err := l.queues().Get(t.Context(), "orders", metav1.GetOptions{}); err == nil {
		s.Output, _, _ = unstructured.NestedMap(object.Object, "status", "output")
		status, _, _ := unstructured.NestedString(object.Object, "status", "resourceStatus")
		_, s.Status, _ = strings.Cut(status, "_")
		s.Ready = condition(object, "Ready")
	}
	if configMap, err := l.client.Resource(configMaps).Namespace(l.namespace).Get(t.Context(), "orders", metav1.GetOptions{}); err == nil {
		s.ConfigMap, _, _ = unstructured.NestedMap(configMap.Object, "data")
	}
	listed, err := sqs.NewFromConfig(l.config()).ListQueues(t.Context(), &sqs.ListQueuesInput{})
	if err != nil {
		t.Fatal(err)
	}
	s.Queues = slices.Sorted(slices.Values(listed.QueueUrls))
	client := cloudformation.NewFromConfig(l.config())
	pages := cloudformation.NewListStacksPaginator(client, &cloudformation.ListStacksInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, summary := range page.StackSummaries {
			s.Stacks[*summary.StackName]++
			s.Updates += l.updates(t, client, summary)
		}
	}
	return l.comparable(s)
}

// updates counts the updates of a stack, except the operator's own stack.
func (l *life) updates(t *testing.T, client *cloudformation.Client, summary cfntypes.StackSummary) int {
	t.Helper()
	if strings.HasPrefix(*summary.StackName, "aws-operator-events") {
		return 0
	}
	n := 0
	pages := cloudformation.NewDescribeStackEventsPaginator(client, &cloudformation.DescribeStackEventsInput{StackName: summary.StackId})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range page.StackEvents {
			if event.ResourceStatus == cfntypes.ResourceStatusUpdateInProgress &&
				aws.ToString(event.PhysicalResourceId) == *summary.StackId {
				n++
			}
		}
	}
	return n
}

// comparable replaces what always differs between two lifecycles: the namespace and the servers'
// addresses.
func (l *life) comparable(s standing) standing {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	plain := strings.NewReplacer(l.toOperator.URL, "AWS", l.toTest.URL, "AWS").Replace(string(text))
	// A stack's name ends in a hash if the namespace has a hyphen.
	plain = regexp.MustCompile(regexp.QuoteMeta(l.namespace)+`(-[0-9a-f]{8})?`).ReplaceAllString(plain, "NAMESPACE")
	var out standing
	if err := json.Unmarshal([]byte(plain), &out); err != nil {
		panic(err)
	}
	return out
}
