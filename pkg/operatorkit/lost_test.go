package operatorkit_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// removeFromStore removes a widget from etcd, as a deletion does that began before the finalizer was
// added: it looks for finalizers first and then removes the object without another look.
// https://github.com/kubernetes/kubernetes/issues/77988
func (w *suite) removeFromStore(name string) {
	w.t.Helper()
	shared.Lock()
	store := shared.environment.ControlPlane.Etcd.URL.String()
	shared.Unlock()
	key := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "/registry/%s/widgets/%s/%s", widgetKind.Group, w.namespace, name))
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, store+"/v3/kv/deleterange", strings.NewReader(`{"key":"`+key+`"}`))
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer out.Body.Close()
	if answer, err := io.ReadAll(out.Body); err != nil || !strings.Contains(string(answer), `"deleted":"1"`) {
		w.t.Fatalf("etcd answers %s: %s, %v", out.Status, answer, err)
	}
}

// operateThings runs a reconciler whose step makes a thing for each widget, by UID, and deletes it in
// two runs.
func (w *suite) operateThings(began func(*Widget), things, deleted *callLog) {
	w.t.Helper()
	w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("thing", func(_ context.Context, widget *Widget) operatorkit.Outcome {
			began(widget)
			things.note(string(widget.UID))
			return operatorkit.Done()
		}, func(_ context.Context, widget *Widget) operatorkit.Outcome {
			if widget.Status.Made == 0 {
				widget.Status.Made = 1
				return operatorkit.Wait(1, "Deleting", "Being deleted.")
			}
			deleted.note(string(widget.UID))
			return operatorkit.Done()
		}),
	)})
}

// The API server may remove an object although its finalizer was just added. What the run that added it
// makes is deleted all the same, also if a new object has the name.
func TestObjectThatLostARaceIsDeleted(t *testing.T) {
	w, things, deleted := newSuite(t), &callLog{}, &callLog{}
	removed := false
	w.operateThings(func(widget *Widget) {
		if !removed { // amid the first run
			removed = true
			w.removeFromStore(widget.Name)
		}
	}, things, deleted)
	first := w.create("one")
	w.waitDeleted("one")
	second := w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	want := []string{string(first.UID)}
	if diff := cmp.Diff(want, deleted.read()); diff != "" {
		t.Errorf("deletions before the second widget is ready (-want +got):\n%s", diff)
	}
	w.delete("one")
	w.waitDeleted("one")
	if diff := cmp.Diff(append(want, string(second.UID)), deleted.read()); diff != "" {
		t.Errorf("deletions (-want +got):\n%s", diff)
	}
}

// A deletion that stalls does not keep a new object of the same name from its reconciles.
func TestLostObjectWhoseDeletionStallsMakesWay(t *testing.T) {
	w := newSuite(t)
	removed := false
	w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("thing", func(_ context.Context, widget *Widget) operatorkit.Outcome {
			if !removed {
				removed = true
				w.removeFromStore(widget.Name)
			}
			return operatorkit.Done()
		}, func(context.Context, *Widget) operatorkit.Outcome {
			return operatorkit.Stall("Protected", "The thing is protected.")
		}),
	)})
	w.create("one")
	w.waitDeleted("one")
	w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
}

// A user who removes the finalizer wants to keep what the object has.
func TestObjectWithoutFinalizerIsNotDeleted(t *testing.T) {
	w, things, deleted := newSuite(t), &callLog{}, &callLog{}
	w.operateThings(func(*Widget) {}, things, deleted)
	w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	w.edit("one", func(widget *Widget) { widget.Annotations, widget.Finalizers = map[string]string{paused: "true"}, nil })
	w.delete("one")
	w.waitDeleted("one")
	w.create("two")
	w.waitFor("two", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	if got := deleted.read(); len(got) > 0 {
		t.Errorf("deletions %q", got)
	}
}
