package rollout_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// alive has machines live until stop is called.
func (w *suite) alive() (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				w.live()
			}
		}
	})
	return sync.OnceFunc(func() { close(done); running.Wait() })
}

func TestARunRollsAndReports(t *testing.T) {
	t.Parallel() // It mostly waits.
	w := newSuite(t)
	w.group(1, 2, 3)
	version := w.edit()
	s := settings()
	s.Surge, s.MinInService = 1, 2
	group := aGroup(s)
	row := w.row(group)
	if row.Status != "NeedsUpdate" || row.NeedUpdate != 2 || row.Ready != 2 || row.Nodes != 2 || row.Min != 1 || row.Target != 2 ||
		row.Max != 3 {
		t.Errorf("before: %+v", row)
	}
	stop := w.alive()
	defer stop()
	var reported []string
	ctx, cancel := context.WithCancel(patience.Context(t))
	defer cancel()
	err := w.roller.Run(
		ctx, &rollout.RunOptions{Groups: []rollout.Group{*group}}, func(p rollout.Progress) { reported = append(reported, p.Did...) },
	)
	must(t, err)
	stop()
	w.restored(2, version)
	if !slices.Contains(reported, "Growing the group by 1 instance during the rollout.") {
		t.Errorf("it reported %v", reported)
	}
	if row := w.row(group); row.Status != "Ready" || row.NeedUpdate != 0 {
		t.Errorf("after: %+v", row)
	}
}

func (w *suite) row(group *rollout.Group) rollout.Row {
	w.t.Helper()
	rows, err := w.roller.Plan(w.t.Context(), []rollout.Group{*group})
	must(w.t, err)
	return rows[0]
}

func TestARunThatStopsSaysWhy(t *testing.T) {
	t.Parallel() // It mostly waits.
	w := newSuite(t)
	w.group(1, 1, 2)
	w.broken[w.edit()] = true
	defer w.alive()()
	s := settings()
	s.MinInService, s.ReadyTimeout = 1, time.Second
	ctx, cancel := context.WithCancel(patience.Context(t))
	defer cancel()
	err := w.roller.Run(ctx, &rollout.RunOptions{Groups: []rollout.Group{*aGroup(s)}}, func(rollout.Progress) {})
	if err == nil || !strings.Contains(err.Error(), "was not Ready within 1s") {
		t.Errorf("%v", err)
	}
}

func TestASlotIsReplacedAndTheOthersAreAskedBetween(t *testing.T) {
	t.Parallel() // It mostly waits.
	w := newSuite(t)
	w.group(1, 1, 1)
	version := w.edit()
	defer w.alive()()
	group := aGroup(settings())
	group.Role, group.Slot, group.MinInService = rollout.RoleControlPlane, 0, 0
	asked := 0
	ctx, cancel := context.WithCancel(patience.Context(t))
	defer cancel()
	var reported []string
	err := w.roller.Run(ctx, &rollout.RunOptions{
		Groups: []rollout.Group{*group},
		Slots: func(context.Context) (map[int]string, error) {
			if asked++; asked == 1 {
				return nil, errors.New("the API does not answer")
			}
			return nil, nil //nolint:nilnil // nothing is wrong
		},
	}, func(p rollout.Progress) { reported = append(reported, p.Why) })
	must(t, err)
	w.restored(1, version)
	if asked < 2 {
		t.Errorf("they were asked %d times: %v", asked, reported)
	}
}
