package operatorkit_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// A status that another client writes is reconciled, also if it is written during a run that writes nothing.
func TestStatusOfAnotherClientIsReconciled(t *testing.T) {
	w := newSuite(t)
	var seen, during atomic.Int64
	edit := func(made int64) {
		other := w.get("one")
		other.Status.Made = made
		if err := w.c.Status().Update(t.Context(), other); err != nil {
			t.Error(err)
		}
	}
	w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("a", func(_ context.Context, widget *Widget) operatorkit.Outcome {
			seen.Store(widget.Status.Made)
			if widget.Status.Made == 5 && during.CompareAndSwap(0, 1) {
				edit(6)
			}
			return operatorkit.Done()
		}, nil),
	)})
	w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	edit(5)
	w.eventually("the status that was written during the run", func() bool { return seen.Load() == 6 }, func() any { return seen.Load() })
}

// Two operators that write different statuses, as when a leader does not know yet that it lost its
// lease, react to each other about once a second, not without a pause.
func TestTwoOperatorsDoNotReactToEachOtherWithoutAPause(t *testing.T) {
	first := newSuite(t)
	var runs atomic.Int64
	var began atomic.Pointer[time.Time]
	for i, w := range []*suite{first, newSuiteIn(t, first.namespace)} {
		w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
			operatorkit.NewStep("a", func(_ context.Context, widget *Widget) operatorkit.Outcome {
				began.CompareAndSwap(nil, new(time.Now()))
				widget.Status.Made = int64(i + 1)
				runs.Add(1)
				return operatorkit.Done()
			}, nil),
		)})
	}
	first.create("one")
	first.eventually("the operators react to each other", func() bool { return runs.Load() >= 6 }, func() any { return runs.Load() })
	if took := time.Since(*began.Load()); took < 2*time.Second {
		t.Errorf("%d runs within %s", runs.Load(), took.Round(time.Millisecond))
	}
}
