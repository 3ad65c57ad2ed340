package operatorkit_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestDeletingAnOwnedObjectReconcilesItsOwner(t *testing.T) {
	w := newSuite(t)
	mine := func(widget *Widget) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: widget.Name, Namespace: widget.Namespace}}
	}
	r, err := operatorkit.NewReconciler(operatorkit.Options[*Widget]{
		Client: w.mgr.GetClient(), Finalizer: finalizer,
		Pipelines: operatorkit.NewPipeline(operatorkit.NewStep("config", func(ctx context.Context, widget *Widget) operatorkit.Outcome {
			config := mine(widget)
			_, err := controllerutil.CreateOrUpdate(ctx, w.c, config, func() error {
				config.Data = map[string]string{"label": "L"}
				return controllerutil.SetControllerReference(widget, config, w.mgr.GetScheme())
			})
			if err != nil {
				return operatorkit.Fail(err)
			}
			return operatorkit.Done()
		}, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.SetupWithManager(w.mgr, operatorkit.Owned(w.mgr, &corev1.ConfigMap{}, &Widget{})); err != nil {
		t.Fatal(err)
	}
	w.start()
	widget := w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	if err := w.c.Delete(t.Context(), mine(widget)); err != nil {
		t.Fatal(err)
	}
	w.eventually("the ConfigMap is re-created", func() bool {
		return w.c.Get(t.Context(), client.ObjectKeyFromObject(widget), &corev1.ConfigMap{}) == nil
	}, func() any { return nil })
}

// This is a kind that users define while the operator runs: unstructured objects,
// and a controller that is stopped and started again.
func TestControllerOfADynamicKindCanBeRestarted(t *testing.T) {
	w := newSuite(t)
	w.start()
	newGadget := func() *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(widgetKind)
		return u
	}
	run := func(result string) (stop func()) {
		r, err := operatorkit.NewReconciler(operatorkit.Options[*unstructured.Unstructured]{
			Client: w.mgr.GetClient(), Finalizer: finalizer, New: newGadget,
			Pipelines: operatorkit.NewPipeline(
				operatorkit.NewStep("a", func(context.Context, *unstructured.Unstructured) operatorkit.Outcome {
					return operatorkit.Done().Explain(result, "Made.")
				}, nil),
			),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- r.Run(ctx, w.mgr) }()
		return func() {
			cancel()
			if err := <-stopped; err != nil {
				t.Errorf("the controller stopped with: %v", err)
			}
		}
	}
	stop := run("First")
	w.create("one")
	widget := w.waitFor("one", "Ready", metav1.ConditionTrue, "First")
	if widget.Status.ObservedGeneration != 1 {
		t.Errorf("observed generation %d, want 1", widget.Status.ObservedGeneration)
	}
	stop()
	stop = run("Second")
	w.waitFor("one", "Ready", metav1.ConditionTrue, "Second")
	w.delete("one")
	w.waitDeleted("one")
	stop()
}

// Amid many objects, those that were ready when the operator ended can wait; the others were under way.
func TestUnfinishedObjectsComeFirstAfterAStart(t *testing.T) {
	w := newSuite(t)
	for _, name := range []string{"a", "b", "x", "y"} {
		widget := w.create(name)
		widget.SetConditions([]metav1.Condition{{
			Type: operatorkit.ConditionReady, Status: metav1.ConditionTrue, Reason: operatorkit.ReasonReady,
			ObservedGeneration: widget.Generation, LastTransitionTime: metav1.Now(),
		}})
		if err := w.c.Status().Update(t.Context(), widget); err != nil {
			t.Fatal(err)
		}
	}
	w.create("unfinished")
	reconciled := make(chan string, 100)
	w.operate(operatorkit.Options[*Widget]{
		MaxConcurrentReconciles: 1,
		Pipelines: operatorkit.NewPipeline(operatorkit.NewStep("a", func(_ context.Context, widget *Widget) operatorkit.Outcome {
			reconciled <- widget.Name
			return operatorkit.Done()
		}, nil)),
	})
	if first := <-reconciled; first != "unfinished" {
		t.Errorf("%s came first", first)
	}
}

func TestNewReconcilerRequiresItsOptions(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(newScheme()).Build()
	pipeline := operatorkit.NewPipeline[*Widget]()
	cases := map[string]operatorkit.Options[*Widget]{
		"no client":    {Pipelines: pipeline, Finalizer: finalizer},
		"no pipelines": {Client: c, Finalizer: finalizer},
		"no finalizer": {Client: c, Pipelines: pipeline},
	}
	for name, options := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := operatorkit.NewReconciler(options); err == nil {
				t.Error("NewReconciler returned no error")
			}
		})
	}
	t.Run("a kind without conditions", func(t *testing.T) {
		_, err := operatorkit.NewReconciler(operatorkit.Options[*corev1.ConfigMap]{
			Client: c, Finalizer: finalizer, Pipelines: operatorkit.NewPipeline[*corev1.ConfigMap](),
		})
		if err == nil {
			t.Error("NewReconciler returned no error")
		}
	})
	t.Run("unstructured objects without a kind", func(t *testing.T) {
		_, err := operatorkit.NewReconciler(operatorkit.Options[*unstructured.Unstructured]{
			Client: c, Finalizer: finalizer, Pipelines: operatorkit.NewPipeline[*unstructured.Unstructured](),
		})
		if err == nil {
			t.Error("NewReconciler returned no error")
		}
	})
}
