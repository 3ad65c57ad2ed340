package inprocess

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/kubeapi"
)

// writeTimeout bounds the last writes at the end of a run.
const writeTimeout = 30 * time.Second

// keeper writes changes in the API to the state.
type keeper struct {
	state   State
	cluster string

	// mu guards the changes and the content of the state. The API holds it for each change, so it
	// must never be held for long.
	mu      sync.Mutex
	changed map[string]kubeapi.Event
	order   []string
	known   map[string]*unstructured.Unstructured

	// writing is held during every write, so that a flush waits for writes in progress.
	writing sync.Mutex
	failed  error
}

func newKeeper(state State, cluster string) *keeper {
	return &keeper{state: state, cluster: cluster, changed: map[string]kubeapi.Event{}, known: map[string]*unstructured.Unstructured{}}
}

// kept returns an empty object of a kind that the state stores, nil for other kinds.
func kept(kind string) client.Object {
	switch kind {
	case "Cluster":
		return &v1alpha1.Cluster{}
	case "InstanceGroup":
		return &v1alpha1.InstanceGroup{}
	case "Secret":
		return &corev1.Secret{}
	default:
		return nil
	}
}

// observe records a change, which is written before its client gets the response.
func (k *keeper) observe(e kubeapi.Event) {
	if kept(e.Kind) == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	name := e.Kind + "/" + e.Object.GetName()
	if _, ok := k.changed[name]; !ok {
		k.order = append(k.order, name)
	}
	k.changed[name] = e
}

// loaded marks all objects as stored in the state.
func (k *keeper) loaded() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, e := range k.changed {
		k.known[name] = e.Object
	}
	k.changed, k.order = map[string]kubeapi.Event{}, nil
}

// flush writes the changes. After a failed write, it writes nothing any more.
func (k *keeper) flush(ctx context.Context) error {
	k.writing.Lock()
	defer k.writing.Unlock()
	if k.failed != nil {
		return k.failed
	}
	k.mu.Lock()
	changed, order := k.changed, k.order
	k.changed, k.order = map[string]kubeapi.Event{}, nil
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	for _, name := range order {
		if k.failed = k.write(ctx, name, changed[name]); k.failed != nil {
			return k.failed
		}
	}
	return nil
}

// write writes one object, or removes it. A deleted Cluster stays until everything else is removed,
// since the rest is found through it.
func (k *keeper) write(ctx context.Context, name string, e kubeapi.Event) error {
	if e.Type != watch.Deleted {
		object, err := typed(e.Kind, e.Object)
		if err != nil {
			return err
		}
		if err := k.state.Save(ctx, k.cluster, object); err != nil {
			return fmt.Errorf("write the progress to the state: %w", err)
		}
		k.known[name] = e.Object
		return nil
	}
	if e.Kind == "Cluster" {
		return nil
	}
	return k.remove(ctx, name, e.Object)
}

func (k *keeper) remove(ctx context.Context, name string, from *unstructured.Unstructured) error {
	object, err := typed(from.GetKind(), from)
	if err != nil {
		return err
	}
	if err := k.state.Remove(ctx, k.cluster, object); err != nil {
		return fmt.Errorf("remove deleted objects from the state: %w", err)
	}
	delete(k.known, name)
	return nil
}

// removeAll removes the remaining objects of a deleted cluster from the state, the Cluster last.
func (k *keeper) removeAll(ctx context.Context) error {
	if err := k.flush(ctx); err != nil {
		return err
	}
	k.writing.Lock()
	defer k.writing.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	names := slices.Sorted(maps.Keys(k.known)) // Cluster is the first of the kinds.
	slices.Reverse(names)
	for _, name := range names {
		if err := k.remove(ctx, name, k.known[name]); err != nil {
			return err
		}
	}
	return nil
}

func typed(kind string, from *unstructured.Unstructured) (client.Object, error) {
	object := kept(kind)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, object); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, from.GetName(), err)
	}
	return object, nil
}

// through responds to requests that change an object only after the change is written. A failed
// write ends the run.
func (k *keeper) through(next http.Handler, end func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet {
			next.ServeHTTP(w, req)
			return
		}
		held := &heldAnswer{header: w.Header(), code: http.StatusOK}
		next.ServeHTTP(held, req)
		if err := k.flush(req.Context()); err != nil {
			end(err)
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(held.code)
		_, _ = w.Write(held.body.Bytes())
	})
}

// heldAnswer is a response that is not sent yet.
type heldAnswer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter, as the others do.
func (a *heldAnswer) Header() http.Header { return a.header }

// WriteHeader keeps the code.
func (a *heldAnswer) WriteHeader(code int) { a.code = code }

// Write keeps data.
func (a *heldAnswer) Write(data []byte) (int, error) { return a.body.Write(data) }
