package operatorkit_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestStatusWriterReturnsAConflictAfterAnotherClientsWrite(t *testing.T) {
	w := newSuite(t)
	before := w.create("one")
	other := w.get("one")
	other.Status.Made = 5
	if err := w.c.Status().Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	after := before.DeepCopyObject().(*Widget)
	after.Status.Made = 1
	if err := operatorkit.NewStatusWriter[*Widget](w.c).Write(t.Context(), before, after); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
	if widget := w.get("one"); widget.Status.Made != 5 {
		t.Errorf("written despite the conflict: %+v", widget)
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
	before := w.create("one")
	after := before.DeepCopyObject().(*Widget)
	after.Spec.Release, after.Status.Made = "not written by the operator", 1
	after.Status.ObservedGeneration = after.Generation
	if err := operatorkit.NewStatusWriter[*Widget](w.c).Write(t.Context(), before, after); err != nil {
		t.Fatal(err)
	}
	widget := &Widget{}
	if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(before), widget); err != nil {
		t.Fatal(err)
	}
	if after.ResourceVersion != widget.ResourceVersion || after.Generation != 1 || after.Status.Made != 1 || widget.Status.Made != 1 {
		t.Errorf("after the write: %+v, on the server: %+v", after, widget)
	}
	if widget.Spec.Release != "" {
		t.Errorf("the spec was written: %q", widget.Spec.Release)
	}
}
