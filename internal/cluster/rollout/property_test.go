package rollout_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
)

var (
	seedFlag = flag.Uint64("rollout.seed", 0, "simulate this seed only, and log every step")
	runsFlag = flag.Uint64("rollout.runs", 1000, "how many seeds to simulate")
)

// TestRolloutsKeepInvariants simulates random seeds. Whatever happens, the invariants hold (see
// simulation.take), and in the end all instances are new, the group has its desired capacity, and
// the rollout has left nothing on the group.
func TestRolloutsKeepInvariants(t *testing.T) {
	first, last := uint64(1), *runsFlag
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	for seed := first; seed <= last; seed++ {
		p := simulate(seed)
		if *seedFlag != 0 {
			t.Log(strings.Join(p.log, "\n"))
		}
		if len(p.problems) > 0 {
			t.Fatalf("seed %d (see it with -rollout.seed=%d): %s", seed, seed, strings.Join(p.problems, "\n"))
		}
	}
}

// simulate runs one seed to its end.
func simulate(seed uint64) *simulation {
	r := rand.New(rand.NewPCG(seed, 1))
	least := r.IntN(6)
	most := max(1, least+r.IntN(6))
	desired := least + r.IntN(most-least+1)
	p := newSimulation(r, least, desired, most, someSettings(r, most))
	p.observed.Autoscaled = r.IntN(2) == 0
	autoscaled := p.observed.Autoscaled
	wish := desired
	quiet := p.now.Add(time.Duration(r.Int64N(int64(3 * time.Hour))))
	deadline := quiet.Add(48 * time.Hour)
	for p.now.Before(deadline) && len(p.problems) == 0 {
		if p.now.Before(quiet) && p.observed.Memory != nil {
			wish = p.disturb(wish)
		}
		actions := 100
		if r.IntN(4) == 0 {
			actions = r.IntN(3)
		}
		d := p.step(actions)
		if d.State == rollout.Done && p.observed.Memory == nil && !p.now.Before(quiet) {
			p.check(wish, autoscaled)
			return p
		}
		if len(d.Actions) == 0 || actions < len(d.Actions) {
			p.pass(max(d.Again, time.Second) + time.Duration(r.IntN(20))*time.Second)
		}
	}
	p.problem("it never ends: %s", rollout.Decide(&p.observed, &p.settings, p.now).Why)
	return p
}

func someSettings(r *rand.Rand, most int) *rollout.Settings {
	s := &rollout.Settings{
		Attempt: "1", BatchSize: 1 + r.IntN(3), MinInService: r.IntN(most + 2), Canary: r.IntN(3),
		Pause: time.Duration(r.IntN(3)) * time.Minute, ReadyTimeout: 10 * time.Minute, DrainTimeout: 10 * time.Minute,
		HookDrains: r.IntN(2) == 0, ValidateCount: r.IntN(3),
	}
	if r.IntN(8) == 0 {
		s.Before = start.Add(time.Minute) // all that the group has in the beginning
	}
	if r.IntN(2) == 0 {
		s.Surge = r.IntN(most + 1)
	}
	if r.IntN(4) == 0 {
		s.OnDrainTimeout = drain.Abandon
	}
	s.CloudOnly = r.IntN(8) == 0
	s.AnswerHooks = !s.HookDrains && r.IntN(2) == 0
	return s
}

// disturb has something happen to the group, now and then. It returns the capacity that people
// want.
func (p *simulation) disturb(wish int) int {
	switch p.rand.IntN(60) {
	case 0: // a spot instance is taken back
		if i := p.anyActive(); i != nil {
			p.end(i, "spot")
		}
	case 1: // a user resizes the group
		// During the surge, the change cannot be attributed, so the final size is unknown.
		m := p.observed.Memory
		p.unsure = p.unsure || m.From != 0 || m.Surge != 0 || len(m.Ending) > 0
		wish = p.observed.Min + p.rand.IntN(p.observed.Max-p.observed.Min+1)
		p.resize(wish, "a user")
	case 2: // another edit
		p.template++
		if p.rand.IntN(3) == 0 {
			p.template = 1 // back to the first
		}
		p.settings.Attempt += "+"[:p.rand.IntN(2)] // not all change what is asked for
		p.say("edit: template %d", p.template)
		p.pass(0)
	case 3: // a node is not well for a while
		if i := p.anyActive(); i != nil && i.Ready {
			i.Ready, i.Since = false, p.now
			p.machines[i.ID].ready = p.now.Add(time.Minute)
			p.say("%s is not well", i.ID)
		}
	}
	return wish
}

func (p *simulation) anyActive() *rollout.Instance {
	var of []*rollout.Instance
	for n := range p.observed.Instances {
		if i := &p.observed.Instances[n]; i.Lifecycle == rollout.InService {
			of = append(of, i)
		}
	}
	if len(of) == 0 {
		return nil
	}
	return of[p.rand.IntN(len(of))]
}

// check complains if the end is not as it should be.
func (p *simulation) check(wish int, autoscaled bool) {
	p.pass(10 * time.Minute)
	if p.unsure {
		wish = min(max(p.observed.Desired, p.observed.Min), p.observed.Max)
	}
	if p.observed.Desired != wish || p.active() != wish {
		p.problem("%d machines of %d are there in the end, and %d should be", p.active(), p.observed.Desired, wish)
	}
	if slices.ContainsFunc(p.observed.Instances, func(i rollout.Instance) bool {
		return i.Outdated || i.Drain != "" || i.Launched.Before(p.settings.Before)
	}) {
		p.problem("a machine is left over")
	}
	if p.observed.Autoscaled != autoscaled || p.observed.Held || len(p.observed.Suspended) > 0 {
		p.problem("the autoscaler is not as it was")
	}
}
