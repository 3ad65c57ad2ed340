package awsevents

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
)

// waiting is an engine whose queue is never created; it counts the waiting calls by target.
type waiting struct {
	mu      sync.Mutex
	targets map[awsapi.Target]int
	forgot  []awsapi.Target
}

func (w *waiting) add(target awsapi.Target, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.targets[target] += n
}

func (w *waiting) count(target awsapi.Target) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.targets[target]
}

func (w *waiting) Ensure(ctx context.Context, target awsapi.Target, _ stack.Desired, _ stack.Record) (stack.Result, error) {
	w.add(target, 1)
	defer w.add(target, -1)
	<-ctx.Done()
	return stack.Result{}, context.Cause(ctx)
}

func (w *waiting) Sweep(context.Context, awsapi.Target) ([]stack.Event, error) { return nil, nil }
func (w *waiting) Observe(stack.Event)                                         {}

func (w *waiting) Forget(target awsapi.Target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgot = append(w.forgot, target)
}

func (w *waiting) forgotten() []awsapi.Target {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.forgot
}

func TestRetainStopsListening(t *testing.T) {
	engine := &waiting{targets: map[awsapi.Target]int{}}
	l := New(Options{Clients: &removedByHand{}, Engine: engine})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Start(ctx) }()
	own, near, far := awsapi.Target{}, awsapi.Target{Region: "eu-west-1"}, awsapi.Target{Region: "us-east-1"}
	l.Listen(near)
	l.Listen(far)
	eventually(t, "all targets are listened to", func() bool {
		return engine.count(own) == 1 && engine.count(near) == 1 && engine.count(far) == 1
	})
	l.Retain([]awsapi.Target{near})
	eventually(t, "the far one is not listened to", func() bool { return engine.count(far) == 0 })
	eventually(t, "the engine has forgotten it", func() bool { return slices.Equal(engine.forgotten(), []awsapi.Target{far}) })
	if engine.count(own) != 1 || engine.count(near) != 1 {
		t.Error("other targets are no longer listened to either")
	}
	l.Listen(far)
	eventually(t, "the far one is listened to again", func() bool { return engine.count(far) == 1 })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if all := engine.forgotten(); len(all) != 1 {
		t.Errorf("the engine has forgotten %v, also at the end of the process", all)
	}
}
