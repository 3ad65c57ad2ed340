package engine_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/engine"
)

// A cluster is made, and a second run finds nothing to do; an edit is carried out; deleted, nothing is left of it in AWS or the state.
func TestAClusterIsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.run(w.options(engine.Ready)))
	made := w.stacks()
	if want := []string{"demo", "demo-control-plane-0", "demo-workers"}; !slices.Equal(slices.Sorted(maps.Keys(made)), want) {
		t.Fatalf("there are stacks %v, not %v", made, want)
	}
	if queues := w.queues(); len(queues) > 0 {
		t.Errorf("the run made queues, which nobody would remove: %v", queues)
	}
	if names := w.state.names(); !slices.Contains(names, "Secret/demo-kubeconfig") || !slices.Contains(names, "Secret/demo-ca") {
		t.Errorf("the state lacks the cluster's Secrets: %v", names)
	}

	before := w.sim.Calls()
	w.must(w.run(w.options(engine.Ready)))
	for call, count := range w.sim.Calls() {
		for _, verb := range []string{"/Create", "/Update", "/Put", "/Delete"} {
			if strings.Contains(call, verb) && count != before[call] {
				t.Errorf("a second run calls %s: %d times, %d times before", call, count, before[call])
			}
		}
	}

	edit(w, aGroup(), func(g *v1alpha1.InstanceGroup) { g.Spec.MinSize = 3 })
	w.must(w.run(w.options(engine.Ready)))
	if !maps.Equal(w.stacks(), made) {
		t.Errorf("an edit changed which stacks there are: %v, before %v", w.stacks(), made)
	}

	w.must(w.run(w.options(engine.Gone)))
	if left := w.stacks(); len(left) > 0 {
		t.Errorf("stacks are left: %v", left)
	}
	for _, name := range w.state.names() {
		if !strings.HasPrefix(name, "Release/") {
			t.Errorf("%s is left in the state", name)
		}
	}
}

// A run that is interrupted wherever it is is gone on with by the next.
func TestAnInterruptedRunIsGoneOnWith(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	interrupted := errors.New("somebody pressed Ctrl-C")
	until := func(goal engine.Goal, holds func(engine.Progress) bool) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		o := w.options(goal)
		o.Observe = func(p engine.Progress) {
			if holds(p) {
				cancel(interrupted)
			}
		}
		if err := w.runIn(ctx, o); !errors.Is(err, interrupted) {
			t.Fatalf("an interrupted run ends with %v", err)
		}
	}
	until(engine.Ready, func(p engine.Progress) bool { return len(p.Cluster.Status.Stacks) > 0 })
	first := w.stacks()
	until(engine.Ready, func(p engine.Progress) bool { return p.Cluster.Status.Endpoint != "" })
	w.must(w.run(w.options(engine.Ready)))
	for name, id := range first {
		if now := w.stacks()[name]; now != id {
			t.Errorf("stack %s was made again: %s, at first %s", name, now, id)
		}
	}
	if stacks := w.stacks(); len(stacks) != 3 {
		t.Errorf("there are stacks %v", stacks)
	}
	until(engine.Gone, func(p engine.Progress) bool { return len(p.Groups) == 0 })
	w.must(w.run(w.options(engine.Gone)))
	if left := w.stacks(); len(left) > 0 {
		t.Errorf("stacks are left: %v", left)
	}
}
