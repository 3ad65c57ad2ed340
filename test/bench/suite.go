package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

const (
	region  = "eu-central-1"
	account = "123456789012"
)

var queues = schema.GroupVersionResource{Group: "service-operator.aws", Version: "v1alpha1", Resource: "sqsqueues"}

// suite is a management cluster, a simulated AWS and an operator.
type suite struct {
	simulator *simulator.Simulator
	operator  *operator
	// client is for objects of the first kind, dynamic for all.
	client  dynamic.ResourceInterface
	dynamic dynamic.Interface

	plane  *controlplane.ControlPlane
	server *http.Server
	dir    string

	mutex sync.Mutex
	ready map[string]time.Time
	// changed receives at every change of ready.
	changed chan struct{}
	// context ends when the suite is closed.
	context context.Context //nolint:containedctx // of the watches
	cancel  context.CancelFunc
	// tap receives the requests in AWS's Query protocol.
	tap atomic.Pointer[func(url.Values)]
}

// newSuite starts everything and watches the objects of kinds; the first kind is the one that is
// created, edited and touched.
func newSuite(ctx context.Context, binary string, options simulator.Options, kinds ...schema.GroupVersionResource) (w *suite, err error) {
	if w, err = newStoppedSuite(ctx, binary, options, kinds...); err != nil {
		return w, err
	}
	if err := w.operator.start(ctx); err != nil {
		w.close()
		return w, err
	}
	for _, kind := range kinds {
		if err := w.watch(w.dynamic.Resource(kind).Namespace("default")); err != nil {
			w.close()
			return w, err
		}
	}
	return w, nil
}

// newStoppedSuite is newSuite without starting the operator and watching objects.
func newStoppedSuite(
	ctx context.Context, binary string, options simulator.Options, kinds ...schema.GroupVersionResource,
) (w *suite, err error) {
	w = &suite{ready: map[string]time.Time{}, changed: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.dir, err = os.MkdirTemp("", "aws-operator-bench-"); err != nil {
		return w, fmt.Errorf("create a folder: %w", err)
	}
	if w.plane, err = controlplane.Start(ctx, controlplane.Options{Progress: os.Stderr, Profiling: true}); err != nil {
		return w, err
	}
	local, err := environment.LocalRelease(nil) // the built-in one has addons, whose charts are on the Internet
	if err != nil {
		return w, err
	}
	if err = environment.ApplyRelease(ctx, w.plane.RESTConfig(), local); err != nil {
		return w, err
	}
	kubeconfig := filepath.Join(w.dir, "kubeconfig")
	if err = os.WriteFile(kubeconfig, w.plane.Kubeconfig(), 0o600); err != nil {
		return w, fmt.Errorf("write the kubeconfig: %w", err)
	}
	options.Account, options.Region, options.Lag = account, region, simulator.NoLag
	w.simulator = simulator.New(options)
	names, err := w.simulator.ServeNames(ctx)
	if err != nil {
		return w, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it lives as long as the program
	if err != nil {
		return w, fmt.Errorf("listen: %w", err)
	}
	w.server = &http.Server{Handler: w.tapped(w.simulator.Handler()), ReadHeaderTimeout: time.Minute}
	go func() { _ = w.server.Serve(listener) }()
	for _, name := range []string{"nodeup-linux-amd64", "nodeup-linux-arm64"} { // fake machines do not run it
		if err = os.WriteFile(filepath.Join(w.dir, name), []byte("a fake nodeup"), 0o600); err != nil {
			return w, fmt.Errorf("write the fake nodeup: %w", err)
		}
	}
	endpoint := "http://" + listener.Addr().String()
	key, err := operatorsKey(ctx, endpoint)
	if err != nil {
		return w, err
	}
	w.operator = &operator{binary: binary, kubeconfig: kubeconfig, endpoint: endpoint, key: key, names: names, dir: w.dir}
	config := rest.CopyConfig(w.plane.RESTConfig())
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return w, fmt.Errorf("create a client: %w", err)
	}
	w.client = client.Resource(kinds[0]).Namespace("default")
	w.context, w.cancel = context.WithCancel(ctx)
	w.dynamic = client
	return w, nil
}

// onRequest calls do for every request in AWS's Query protocol, before it has an effect.
func (w *suite) onRequest(do func(url.Values)) { w.tap.Store(&do) }

func (w *suite) tapped(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		do := w.tap.Load()
		if do != nil && strings.HasPrefix(req.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				http.Error(rw, err.Error(), http.StatusBadRequest)
				return
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
			if form, err := url.ParseQuery(string(body)); err == nil {
				(*do)(form)
			}
		}
		next.ServeHTTP(rw, req)
	})
}

// close stops everything and deletes the files.
func (w *suite) close() {
	if w.cancel != nil {
		w.cancel()
	}
	if w.operator != nil {
		_ = w.operator.stop(9)
	}
	if w.server != nil {
		_ = w.server.Close()
	}
	if w.simulator != nil {
		w.simulator.Close()
	}
	if w.plane != nil {
		_ = w.plane.Stop()
	}
	_ = os.RemoveAll(w.dir)
}

// watch records when each object becomes ready.
func (w *suite) watch(client dynamic.ResourceInterface) error {
	ctx := w.context
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list objects: %w", err)
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), listWatch{client})
	if err != nil {
		return fmt.Errorf("watch objects: %w", err)
	}
	go func() {
		for event := range watcher.ResultChan() {
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			w.note(event.Type, object)
		}
	}()
	return nil
}

type listWatch struct{ client dynamic.ResourceInterface }

// WatchWithContext implements watchtools' watcher.
func (l listWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return l.client.Watch(ctx, options)
}

func (w *suite) note(kind watch.EventType, object *unstructured.Unstructured) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	name := object.GetName()
	_, was := w.ready[name]
	switch is := kind != watch.Deleted && isReady(object); {
	case is && !was:
		w.ready[name] = time.Now() //nolint:forbidigo // a benchmark measures real time
	case !is && was:
		delete(w.ready, name)
	default:
		return
	}
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func isReady(object *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	for _, condition := range conditions {
		fields, ok := condition.(map[string]any)
		if ok && fields["type"] == "Ready" {
			return fields["status"] == "True" && observed == object.GetGeneration()
		}
	}
	return false
}

// create applies queues named prefix-0 to prefix-(n-1), four concurrently: more would only queue at
// the API server, and kubectl sends one after another.
func (w *suite) create(ctx context.Context, prefix string, n int) error {
	return parallel(n, func(i int) error {
		queue := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": queues.GroupVersion().String(),
			"kind":       "SQSQueue",
			"metadata":   map[string]any{"name": fmt.Sprintf("%s-%d", prefix, i)},
			"spec":       map[string]any{"visibilityTimeout": int64(30), "delaySeconds": int64(0)},
		}}
		_, err := w.client.Create(ctx, queue, metav1.CreateOptions{FieldManager: "bench"})
		return err
	})
}

// awaitReady waits until n queues are ready.
func (w *suite) awaitReady(ctx context.Context, n int, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		w.mutex.Lock()
		have := len(w.ready)
		w.mutex.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d queues are ready after %s", have, n, limit)
		case <-w.changed:
		}
	}
}

// edit changes one field of a queue's spec.
func (w *suite) edit(ctx context.Context, name string, visibilityTimeout int) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"visibilityTimeout": visibilityTimeout}})
	if err != nil {
		return fmt.Errorf("create a patch: %w", err)
	}
	_, err = w.client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "bench"})
	return err
}

// touch sets an annotation without meaning, so that the operator reconciles the object and finds
// nothing to do.
func (w *suite) touch(ctx context.Context, name, value string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"bench":%q}}}`, value)
	_, err := w.client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "bench"})
	return err
}

// calls returns the number of AWS calls, without long polls for events.
func (w *suite) calls() (objects, queue int) {
	for operation, n := range w.simulator.Calls() {
		switch operation {
		case "sqs/ReceiveMessage", "sqs/DeleteMessageBatch", "sqs/DeleteMessage":
			queue += n
		default:
			objects += n
		}
	}
	return objects, queue
}

// parallel runs do for 0 to n-1 on four goroutines and returns the first error.
func parallel(n int, do func(int) error) error {
	const workers = 4
	indexes := make(chan int)
	failures := make(chan error, workers)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := range indexes {
				if err := do(i); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	var failure error
	for i := 0; i < n && failure == nil; i++ {
		select {
		case indexes <- i:
		case failure = <-failures:
		}
	}
	close(indexes)
	group.Wait()
	close(failures)
	for err := range failures {
		failure = err
	}
	return failure
}

// waitFor polls every 50 ms until done returns true.
func waitFor(ctx context.Context, limit time.Duration, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := done()
		if err != nil || ok {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s for %s", limit, what)
		case <-tick.C:
		}
	}
}

// onUpdate runs do whenever an UpdateStack call arrives, before its effect.
func (w *suite) onUpdate(do func()) (remove func()) {
	return w.simulator.Faults().OnCall(func(c fault.CallInfo) {
		if c.Operation == "UpdateStack" && c.Phase == fault.Before {
			do()
		}
	})
}

// completions returns when each queue's stack became complete, by the queue's name.
func (w *suite) completions(ctx context.Context) (map[string]time.Time, error) {
	client := cloudformation.New(cloudformation.Options{
		Region: region, BaseEndpoint: aws.String(w.operator.endpoint),
		Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	})
	completed := map[string]time.Time{}
	pages := cloudformation.NewDescribeStacksPaginator(client, &cloudformation.DescribeStacksInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describe stacks: %w", err)
		}
		for _, stack := range page.Stacks {
			events, err := client.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: stack.StackId})
			if err != nil {
				return nil, fmt.Errorf("describe the events of %s: %w", *stack.StackName, err)
			}
			name := strings.TrimSuffix(strings.TrimPrefix(*stack.StackName, "aws-operator-sqsqueue-"), "-default")
			completed[name] = *events.StackEvents[0].Timestamp
		}
	}
	return completed, nil
}
