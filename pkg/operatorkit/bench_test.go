package operatorkit_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// cachedWidget is a client whose cache contains one widget. All its other methods panic.
type cachedWidget struct {
	client.Client
	scheme *runtime.Scheme
	widget *Widget
}

func (c *cachedWidget) Scheme() *runtime.Scheme { return c.scheme }

func (c *cachedWidget) Get(_ context.Context, _ client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	*out.(*Widget) = *c.widget.DeepCopyObject().(*Widget)
	return nil
}

// oneWidget writes to the memory of the client.
type oneWidget struct{ cache *cachedWidget }

func (w oneWidget) Write(_ context.Context, _, after *Widget) error {
	w.cache.widget = after.DeepCopyObject().(*Widget)
	return nil
}

// BenchmarkNothingChanged measures a no-op reconcile without steps and without an
// API server.
func BenchmarkNothingChanged(b *testing.B) {
	c := &cachedWidget{scheme: newScheme(), widget: &Widget{ObjectMeta: metav1.ObjectMeta{
		Name: "one", Namespace: "default", Generation: 1, ResourceVersion: "1", Finalizers: []string{finalizer},
		Labels: map[string]string{"app": "a"}, Annotations: map[string]string{"note": "n"},
	}}}
	step := operatorkit.NewStep("a", func(context.Context, *Widget) operatorkit.Outcome { return operatorkit.Done() }, nil)
	r, err := operatorkit.NewReconciler(operatorkit.Options[*Widget]{
		Client: c, Finalizer: finalizer, Writer: oneWidget{c}, Pipelines: operatorkit.NewPipeline(step, step, step),
	})
	if err != nil {
		b.Fatal(err)
	}
	req := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "one"}}
	if _, err := r.Reconcile(b.Context(), req); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Reconcile(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
