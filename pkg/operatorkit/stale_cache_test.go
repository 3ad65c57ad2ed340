package operatorkit_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// The cache may lag behind the reconciler's own writes.
func TestEveryRunSeesTheStatusOfTheLastRun(t *testing.T) {
	w, seen := newSuite(t), &callLog{}
	var r *operatorkit.Reconciler[*Widget]
	started := make(chan struct{})
	r = w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("count", func(_ context.Context, widget *Widget) operatorkit.Outcome {
			<-started
			if widget.Status.Made == 20 {
				return operatorkit.Done()
			}
			widget.Status.Made++
			seen.note(fmt.Sprint(widget.Status.Made))
			r.Enqueue(client.ObjectKeyFromObject(widget))
			return operatorkit.Wait(0, "Counting", "Not complete.")
		}, nil),
	)})
	close(started)
	w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i+1))
	}
	if diff := cmp.Diff(want, seen.read()); diff != "" {
		t.Errorf("a step ran on a stale status (-want +got):\n%s", diff)
	}
}

// The cache may still contain an object whose finalizer the reconciler just removed.
func TestNoStepRunsAfterADeletionWasDone(t *testing.T) {
	w, ended := newSuite(t), &callLog{}
	var r *operatorkit.Reconciler[*Widget]
	started := make(chan struct{})
	r = w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("count", nil, func(_ context.Context, widget *Widget) operatorkit.Outcome {
			<-started
			ended.note(widget.Name)
			r.Enqueue(client.ObjectKeyFromObject(widget)) // an event of the last effect
			return operatorkit.Done()
		}),
	)})
	close(started)
	var want []string
	for i := range 30 {
		name := fmt.Sprintf("widget-%02d", i)
		want = append(want, name)
		w.create(name)
		w.waitFor(name, "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
		w.delete(name)
		w.waitDeleted(name)
	}
	w.create("last")
	w.waitFor("last", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	if diff := cmp.Diff(want, ended.read()); diff != "" {
		t.Errorf("the deletions that ran (-want +got):\n%s", diff)
	}
}
