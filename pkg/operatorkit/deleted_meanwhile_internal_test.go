package operatorkit

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// thing is an object with conditions.
type thing struct{ corev1.ConfigMap }

func (t *thing) DeepCopyObject() runtime.Object  { return &thing{*t.DeepCopy()} }
func (*thing) GetConditions() []metav1.Condition { return nil }
func (*thing) SetConditions([]metav1.Condition)  {}

// late is a client whose cache has an object until just after it was read.
type late struct {
	client.Client

	scheme *runtime.Scheme
	object *thing
	read   func()
}

func (l *late) Scheme() *runtime.Scheme { return l.scheme }

func (l *late) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	l.object.DeepCopyInto(&into.(*thing).ConfigMap) //nolint:forcetypeassert // the reconciler's type
	l.read()
	return nil
}

func (l *late) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, l.object.Name)
}

// An object whose deletion is done may disappear from the cache after a reconcile has read it.
func TestNoStepRunsForAnObjectThatIsDeletedMeanwhile(t *testing.T) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}, &thing{})
	const finalizer = "example.com/finalizer"
	object := &thing{corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "one", UID: "1", Finalizers: []string{finalizer},
	}}}
	object.DeletionTimestamp = new(metav1.Now())
	ran := 0
	cache := &late{scheme: scheme, object: object}
	r, err := NewReconciler(Options[*thing]{Client: cache, Finalizer: finalizer, Pipelines: NewPipeline(
		NewStep("count", nil, func(context.Context, *thing) Outcome {
			ran++
			return Done()
		}),
	)})
	if err != nil {
		t.Fatal(err)
	}
	cache.read = func() {}
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)}
	for range 2 {
		if _, err := r.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		cache.read = func() { r.changes().Delete(t.Context(), event.TypedDeleteEvent[*thing]{Object: object}, nil) }
	}
	if ran != 1 {
		t.Errorf("the deletion ran %d times", ran)
	}
}
