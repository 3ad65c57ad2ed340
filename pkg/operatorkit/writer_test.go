package operatorkit_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestFieldsWriterWritesResultsOutsideTheStatus(t *testing.T) {
	w := newSuite(t)
	writer, err := operatorkit.NewFieldsWriter[*Widget](w.mgr.GetClient(), "output")
	if err != nil {
		t.Fatal(err)
	}
	w.operate(operatorkit.Options[*Widget]{Writer: writer, Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("a", func(_ context.Context, widget *Widget) operatorkit.Outcome {
			widget.Spec.Release = "not written by the operator"
			widget.Output = map[string]string{"label": "L"}
			if widget.Spec.Size > 0 {
				widget.Output = nil
			}
			return operatorkit.Done()
		}, nil),
	)})
	w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	w.eventually("output", func() bool { return w.get("one").Output != nil }, func() any { return w.get("one") })
	widget := w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	if diff := cmp.Diff(map[string]string{"label": "L"}, widget.Output); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if widget.Status.ObservedGeneration != widget.Generation {
		t.Errorf(
			"observed generation %d of %d: writing the output must not count as an edit",
			widget.Status.ObservedGeneration,
			widget.Generation,
		)
	}
	if widget.Spec.Release != "" {
		t.Errorf("the spec was written: %q", widget.Spec.Release)
	}
	w.edit("one", func(widget *Widget) { widget.Spec.Size = 1 })
	w.eventually("output removed", func() bool { return w.get("one").Output == nil }, func() any { return w.get("one") })
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
}

func TestNewFieldsWriterRejectsReservedFields(t *testing.T) {
	for _, field := range []string{"apiVersion", "kind", "metadata", "spec", "status"} {
		if _, err := operatorkit.NewFieldsWriter[*Widget](nil, "output", field); err == nil {
			t.Errorf("NewFieldsWriter returned no error for %q", field)
		}
	}
}

func TestWritersReturnAConflictAfterAnotherClientsWrite(t *testing.T) {
	w := newSuite(t)
	fields, err := operatorkit.NewFieldsWriter[*Widget](w.c, "output")
	if err != nil {
		t.Fatal(err)
	}
	for name, writer := range map[string]operatorkit.Writer[*Widget]{
		"status": operatorkit.NewStatusWriter[*Widget](w.c), "fields": fields,
	} {
		t.Run(name, func(t *testing.T) {
			before := w.create(name)
			other := w.get(name)
			other.Status.Made = 5
			if err := w.c.Status().Update(t.Context(), other); err != nil {
				t.Fatal(err)
			}
			after := before.DeepCopyObject().(*Widget)
			after.Output, after.Status.Made = map[string]string{"label": "L"}, 1
			if err := writer.Write(t.Context(), before, after); !apierrors.IsConflict(err) {
				t.Errorf("got %v, want a conflict", err)
			}
			widget := w.get(name)
			if widget.Output != nil || widget.Status.Made != 5 {
				t.Errorf("written despite the conflict: %+v", widget)
			}
		})
	}
}

// What a run did is recorded although a user edits the object meanwhile.
func TestStatusIsWrittenDespiteAnEdit(t *testing.T) {
	w := newSuite(t)
	writer := operatorkit.NewStatusWriter[*Widget](w.c)
	before := w.create("one")
	w.edit("one", func(widget *Widget) {
		widget.Spec.Size, widget.Annotations = 1, map[string]string{"example.com/a": "b"}
	})
	after := before.DeepCopyObject().(*Widget)
	after.Status.Made = 1
	if err := writer.Write(t.Context(), before, after); err != nil {
		t.Fatal(err)
	}
	widget := w.get("one")
	if widget.Status.Made != 1 || widget.Spec.Size != 1 || widget.Annotations["example.com/a"] != "b" {
		t.Errorf("the object is %+v", widget)
	}
	if after.ResourceVersion != widget.ResourceVersion {
		t.Errorf("the writer returned version %s of %s", after.ResourceVersion, widget.ResourceVersion)
	}
}

func TestWriterStoresTheServersResponse(t *testing.T) {
	w := newSuite(t)
	writer, err := operatorkit.NewFieldsWriter[*Widget](w.c, "output")
	if err != nil {
		t.Fatal(err)
	}
	before := w.create("one")
	after := before.DeepCopyObject().(*Widget)
	after.Output, after.Status.Made = map[string]string{"label": "L"}, 1
	after.Status.ObservedGeneration = after.Generation
	if err := writer.Write(t.Context(), before, after); err != nil {
		t.Fatal(err)
	}
	widget := &Widget{}
	if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(before), widget); err != nil {
		t.Fatal(err)
	}
	if after.ResourceVersion != widget.ResourceVersion || after.Generation != 2 || after.Status.ObservedGeneration != 2 ||
		after.Status.Made != 1 {
		t.Errorf("after the write: %+v, on the server: %+v", after, widget)
	}
}
