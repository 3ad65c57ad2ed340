package rollout_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
)

// until steps a simulation until a rollout is in a state, for a day at most.
func (p *simulation) until(t *testing.T, state rollout.State) rollout.Decision {
	t.Helper()
	for deadline := p.now.Add(24 * time.Hour); p.now.Before(deadline); {
		d := p.step(100)
		if len(p.problems) > 0 {
			t.Fatal(strings.Join(append(p.log, p.problems...), "\n"))
		}
		if d.State == state {
			return d
		}
		if len(d.Actions) == 0 {
			p.pass(max(d.Again, time.Second))
		}
	}
	t.Fatalf("it is never %s: %s", state, strings.Join(p.log, "\n"))
	return rollout.Decision{}
}

func TestRollsByTheNumbers(t *testing.T) {
	for name, one := range map[string]struct {
		least, desired, most int
		settings             rollout.Settings
		// grown is the greatest capacity that there ever was, fewest the fewest that served,
		// mostGone the most that were going at once.
		grown, fewest, mostTerminated int
	}{
		"one at a time keeps all but one": {3, 5, 5, rollout.Settings{BatchSize: 1, MinInService: 4}, 5, 4, 1},
		"a batch of two":                  {1, 5, 5, rollout.Settings{BatchSize: 2, MinInService: 1}, 5, 3, 2},
		// The third goes once the first is replaced, whose machine may still be on its way out.
		"a batch is smaller where too few would serve":         {1, 5, 5, rollout.Settings{BatchSize: 4, MinInService: 3}, 5, 3, 3},
		"a surge keeps all":                                    {3, 5, 8, rollout.Settings{BatchSize: 2, MinInService: 5, Surge: 2}, 7, 5, 2},
		"a surge fits into the greatest size":                  {3, 5, 6, rollout.Settings{BatchSize: 2, MinInService: 5, Surge: 4}, 6, 5, 2},
		"a surge is never more than there is to replace":       {1, 2, 9, rollout.Settings{BatchSize: 9, MinInService: 2, Surge: 7}, 4, 2, 2},
		"who must keep all grows by one":                       {3, 3, 4, rollout.Settings{BatchSize: 1, MinInService: 3}, 4, 3, 1},
		"a group of one that cannot grow is away for a while":  {1, 1, 1, rollout.Settings{BatchSize: 1, MinInService: 0}, 1, 0, 1},
		"a group of one that can grow is always there":         {1, 1, 2, rollout.Settings{BatchSize: 1, MinInService: 1}, 2, 1, 1},
		"more must serve than there are: as many as there are": {1, 2, 9, rollout.Settings{BatchSize: 1, MinInService: 5}, 3, 2, 1},
		"without nodes": {3, 4, 4, rollout.Settings{BatchSize: 2, MinInService: 2, CloudOnly: true}, 4, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			one.settings.Attempt, one.settings.ReadyTimeout, one.settings.DrainTimeout = "1", 10*time.Minute, 10*time.Minute
			p := newSimulation(rand.New(rand.NewPCG(1, 1)), one.least, one.desired, one.most, &one.settings)
			p.pass(0)
			grown, fewest, mostTerminated := 0, p.serving(), 0
			p.each = func() {
				grown, fewest = max(grown, p.observed.Desired), min(fewest, p.serving())
				terminated := 0
				for _, i := range p.observed.Instances {
					if i.Lifecycle == rollout.Leaving || i.Drain != "" {
						terminated++
					}
				}
				mostTerminated = max(mostTerminated, terminated)
			}
			p.until(t, rollout.Done)
			p.check(one.desired, false)
			if grown != one.grown || fewest != one.fewest || mostTerminated != one.mostTerminated || len(p.problems) > 0 {
				t.Errorf("it grew to %d, at least %d served, at most %d went at once: %v", grown, fewest, mostTerminated, p.problems)
			}
		})
	}
}

func TestNothingIsDoneToAnEmptyGroup(t *testing.T) {
	p := newSimulation(rand.New(rand.NewPCG(1, 1)), 0, 0, 3, &rollout.Settings{Attempt: "1", BatchSize: 1, Before: start.AddDate(1, 0, 0)})
	if d := p.step(9); d.State != rollout.Done || len(d.Actions) > 0 {
		t.Errorf("%+v", d)
	}
}

func TestNewMachinesThatAreNeverReadyStopTheRoll(t *testing.T) {
	for name, one := range map[string]struct {
		settings rollout.Settings
		old      int // that serve when it has stopped
		machines int
	}{
		"with a surge all is as it was":         {rollout.Settings{BatchSize: 2, MinInService: 4, Surge: 1}, 4, 4},
		"a canary is the only one taken":        {rollout.Settings{BatchSize: 3, MinInService: 1, Canary: 1}, 3, 4},
		"else a batch is taken, and no further": {rollout.Settings{BatchSize: 2, MinInService: 1}, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			one.settings.Attempt, one.settings.ReadyTimeout = "1", 10*time.Minute
			p := newSimulation(rand.New(rand.NewPCG(1, 1)), 1, 4, 6, &one.settings)
			p.broken = 2
			p.observed.Autoscaled = true
			p.pass(0)
			d := p.until(t, rollout.Stopped)
			p.pass(time.Hour)
			if p.serving() != one.old || p.active() != one.machines || p.observed.Desired != one.machines || !p.observed.Autoscaled ||
				!strings.Contains(d.Why, "was not Ready within 10m") {
				t.Errorf("%d of %d serve: %s", p.serving(), p.observed.Desired, d.Why)
			}
			p.template, p.settings.Attempt = 3, "2"
			p.pass(0)
			p.until(t, rollout.Done)
			p.check(4, true)
			if len(p.problems) > 0 {
				t.Error(p.problems)
			}
		})
	}
}

func TestMachinesThatCannotBeLaunchedStopTheRoll(t *testing.T) {
	p := newSimulation(
		rand.New(rand.NewPCG(1, 1)),
		1,
		3,
		5,
		&rollout.Settings{Attempt: "1", BatchSize: 1, MinInService: 3, Surge: 2, ReadyTimeout: 10 * time.Minute},
	)
	p.scarce = true
	p.pass(0)
	d := p.until(t, rollout.Stopped)
	if p.serving() != 3 || p.observed.Desired != 3 || !strings.Contains(d.Why, "could not launch 2 instances") {
		t.Errorf("%d of %d serve: %s", p.serving(), p.observed.Desired, d.Why)
	}
}

func TestADrainThatTakesTooLong(t *testing.T) {
	for name, one := range map[string]struct {
		policy drain.Policy
		state  rollout.State
	}{
		"goes on with Continue": {drain.Continue, rollout.Done},
		"stops with Abandon":    {drain.Abandon, rollout.Stopped},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSimulation(rand.New(rand.NewPCG(1, 1)), 1, 3, 3, &rollout.Settings{
				Attempt: "1", BatchSize: 2, MinInService: 1, ReadyTimeout: 10 * time.Minute, DrainTimeout: time.Hour,
				OnDrainTimeout: one.policy,
			})
			p.stuck = true
			p.pass(0)
			d := p.until(t, one.state)
			if p.serving() != 3 || one.state == rollout.Stopped && !strings.Contains(d.Why, "default/web") {
				t.Errorf("%d serve: %s", p.serving(), d.Why)
			}
		})
	}
}

func TestWhichSlotGoesNext(t *testing.T) {
	old := func(n int) rollout.Slot { return rollout.Slot{Number: n, Outdated: true} }
	well := func(n int) rollout.Slot { return rollout.Slot{Number: n, State: rollout.Done} }
	sick := func(s rollout.Slot) rollout.Slot { s.Problem = "etcd has no leader."; return s }
	for name, one := range map[string]struct {
		slots []rollout.Slot
		state rollout.State
		next  int
	}{
		"no slot is outdated": {[]rollout.Slot{well(0), well(1), well(2)}, rollout.Done, rollout.NoSlot},
		"the first":           {[]rollout.Slot{old(2), old(1), old(0)}, rollout.Rolling, 0},
		"the next":            {[]rollout.Slot{well(0), old(1), old(2)}, rollout.Rolling, 1},
		"a slot whose rollout has begun continues":    {[]rollout.Slot{old(0), {Number: 1, Outdated: true, State: rollout.Rolling, Problem: "It boots."}, old(2)}, rollout.Rolling, 1},
		"none while a new slot is unhealthy":          {[]rollout.Slot{sick(well(0)), old(1), old(2)}, rollout.Rolling, rollout.NoSlot},
		"an unhealthy slot is replaced before others": {[]rollout.Slot{old(0), old(1), sick(old(2))}, rollout.Rolling, 2},
		"none while two slots are unhealthy":          {[]rollout.Slot{old(0), sick(old(1)), sick(old(2))}, rollout.Rolling, rollout.NoSlot},
		"none after the rollout of one has stopped":   {[]rollout.Slot{{Number: 0, State: rollout.Stopped, Why: "It is not Ready."}, old(1), old(2)}, rollout.Stopped, rollout.NoSlot},
		"the only one": {[]rollout.Slot{old(0)}, rollout.Rolling, 0},
		"the only one, although it does not work": {[]rollout.Slot{sick(old(0))}, rollout.Rolling, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if d := rollout.DecideSlots(one.slots); d.State != one.state || d.Next != one.next || d.Why == "" {
				t.Errorf("%+v", d)
			}
		})
	}
}

func TestTheOrderOfAWholeCluster(t *testing.T) {
	of := func(roles ...rollout.Role) (groups []rollout.Group) {
		for _, role := range roles {
			groups = append(groups, rollout.Group{Role: role})
		}
		return groups
	}
	groups := of(
		rollout.RoleWorker, rollout.RoleControlPlane, rollout.RoleWorker, rollout.RoleBastion, rollout.RoleControlPlane, rollout.RoleWorker,
	)
	for name, one := range map[string]struct {
		atOnce int
		last   bool
		want   [][]int
	}{
		"bastions first, groups one by one": {0, false, [][]int{{3}, {1, 4}, {0}, {2}, {5}}},
		"bastions last, two groups at once": {2, true, [][]int{{1, 4}, {0, 2}, {5}, {3}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rollout.Order(groups, one.atOnce, one.last); !slices.EqualFunc(got, one.want, slices.Equal) {
				t.Errorf("%v", got)
			}
		})
	}
}

// Machines go in an order that leaves zones balanced, and a batch is not all of one zone.
func TestWhoGoesFirst(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	old := func(id, zone string, ready bool) rollout.Instance {
		return rollout.Instance{
			ID: id, Zone: zone, Lifecycle: rollout.InService, Outdated: true, Node: "node-" + id, Ready: ready,
			Launched: began.Add(time.Duration(id[len(id)-1]) * time.Second), Since: began,
		}
	}
	for name, c := range map[string]struct {
		instances []rollout.Instance
		batch     int
		want      []string
	}{
		"the oldest of equals":               {[]rollout.Instance{old("i-3", "a", true), old("i-1", "b", true), old("i-2", "c", true)}, 1, []string{"i-1"}},
		"of the fullest zone":                {[]rollout.Instance{old("i-1", "a", true), old("i-2", "b", true), old("i-3", "b", true)}, 1, []string{"i-2"}},
		"what does not serve, in any zone":   {[]rollout.Instance{old("i-1", "a", false), old("i-2", "b", true), old("i-3", "b", true)}, 1, []string{"i-1"}},
		"a batch from more zones than one":   {[]rollout.Instance{old("i-1", "a", true), old("i-2", "a", true), old("i-3", "a", true), old("i-4", "b", true), old("i-5", "b", true)}, 3, []string{"i-1", "i-2", "i-4"}},
		"a batch of all that are in a group": {[]rollout.Instance{old("i-1", "a", true), old("i-2", "b", true)}, 2, []string{"i-1", "i-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			size := len(c.instances)
			observed := &rollout.Observation{
				Min: 0, Max: size, Desired: size, Instances: c.instances, Validation: rollout.Validation{Passed: 1},
				Memory: &rollout.Memory{Attempt: "1", Started: began, Desired: size},
			}
			settings := rollout.Settings{Attempt: "1", BatchSize: c.batch, ReadyTimeout: time.Hour, DrainTimeout: time.Hour}
			var taken []string
			for _, action := range rollout.Decide(observed, &settings, began.Add(time.Hour)).Actions {
				if action.Kind == rollout.Drain || action.Kind == rollout.Terminate {
					taken = append(taken, action.Instance)
				}
			}
			if !slices.Equal(taken, c.want) {
				t.Errorf("%v, want %v", taken, c.want)
			}
		})
	}
}
