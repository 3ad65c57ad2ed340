package rollout_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
)

// simulation is a group in virtual time: Auto Scaling, booting instances, nodes that are drained,
// and users and autoscalers that change the group meanwhile, all at random.
type simulation struct {
	rand     *rand.Rand
	now      time.Time
	observed rollout.Observation
	settings rollout.Settings
	changed  time.Time // the desired capacity
	machines map[string]*simulatedMachine
	number   int
	template int // that the group launches from
	// slowest is the longest that a machine takes to boot, broken the template whose machines never
	// become Ready.
	slowest time.Duration
	broken  int
	// stuck drains never end by themselves.
	stuck    bool
	scarce   bool // nothing is launched
	unsure   bool // what the capacity should be in the end
	log      []string
	problems []string
	// each, if not nil, is called after each action and each time that passed.
	each func()
}

// simulatedMachine is the simulated state of an instance beyond what is observed.
type simulatedMachine struct {
	template       int
	ready, drained time.Time
	terminated     time.Time
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newSimulation(r *rand.Rand, least, desired, most int, settings *rollout.Settings) *simulation {
	p := &simulation{
		rand:     r,
		now:      start,
		settings: *settings,
		machines: map[string]*simulatedMachine{},
		template: 1,
		slowest:  3 * time.Minute,
		broken:   -1,
		changed:  start.Add(-time.Hour),
	}
	p.observed.Min, p.observed.Desired, p.observed.Max = least, desired, most
	for range desired {
		p.launch()
	}
	p.pass(time.Hour)
	p.template = 2
	return p
}

func (p *simulation) say(format string, args ...any) {
	p.log = append(p.log, p.now.Sub(start).String()+" "+fmt.Sprintf(format, args...))
}

func (p *simulation) problem(format string, args ...any) {
	p.say("PROBLEM "+format, args...)
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

func (p *simulation) launch() {
	p.number++
	id := fmt.Sprintf("i-%017x", p.number)
	boot := time.Duration(p.rand.Int64N(int64(p.slowest)))
	m := &simulatedMachine{template: p.template, ready: p.now.Add(boot)}
	if p.template == p.broken {
		m.ready = time.Time{}
	}
	p.machines[id] = m
	p.observed.Instances = append(p.observed.Instances, rollout.Instance{ID: id, Launched: p.now, Since: p.now})
	p.say("launched %s from %d", id, p.template)
}

func (p *simulation) find(id string) *rollout.Instance {
	at := slices.IndexFunc(p.observed.Instances, func(i rollout.Instance) bool { return i.ID == id })
	if at < 0 {
		return nil
	}
	return &p.observed.Instances[at]
}

func (p *simulation) active() (n int) {
	for _, i := range p.observed.Instances {
		if i.Lifecycle == rollout.Starting || i.Lifecycle == rollout.InService {
			n++
		}
	}
	return n
}

func (p *simulation) serving() (count int) {
	for n := range p.observed.Instances {
		if p.serves(&p.observed.Instances[n]) {
			count++
		}
	}
	return count
}

func (p *simulation) serves(i *rollout.Instance) bool {
	return i.Lifecycle == rollout.InService && (i.Ready || p.settings.CloudOnly) && !i.Cordoned && i.Drain == ""
}

// pass lets time pass, and what happens in it.
func (p *simulation) pass(d time.Duration) {
	p.now = p.now.Add(d)
	p.observed.Instances = slices.DeleteFunc(p.observed.Instances, func(i rollout.Instance) bool {
		terminated := p.machines[i.ID].terminated
		return !terminated.IsZero() && !p.now.Before(terminated)
	})
	for n := range p.observed.Instances {
		p.age(&p.observed.Instances[n])
	}
	for !p.scarce && p.active() < p.observed.Desired {
		p.launch()
	}
	for p.active() > p.observed.Desired { // Auto Scaling takes the oldest.
		at := slices.IndexFunc(p.observed.Instances, func(i rollout.Instance) bool {
			return i.Lifecycle == rollout.Starting || i.Lifecycle == rollout.InService
		})
		p.end(&p.observed.Instances[at], "Auto Scaling")
	}
	p.observed.Steady = p.now.Sub(p.changed)
	if p.each != nil {
		p.each()
	}
}

func (p *simulation) age(i *rollout.Instance) {
	m := p.machines[i.ID]
	if i.Lifecycle == rollout.Starting && p.now.Sub(i.Launched) > 20*time.Second {
		i.Lifecycle = rollout.InService
	}
	if i.Lifecycle == rollout.InService && !i.Ready && !m.ready.IsZero() && !p.now.Before(m.ready) {
		i.Ready, i.Since, i.Node = true, m.ready, "node-"+i.ID
	}
	if i.Drain == drain.Draining {
		switch {
		case !p.stuck && !p.now.Before(m.drained):
			i.Drain = drain.Empty
		case p.stuck && p.settings.OnDrainTimeout == drain.Abandon && p.now.Sub(m.drained) > p.settings.DrainTimeout:
			i.Drain, i.Blocked = drain.Kept, "the PodDisruptionBudget default/web"
		case p.stuck && p.now.Sub(m.drained) > p.settings.DrainTimeout:
			i.Drain = drain.TimedOut
		}
	}
	i.Outdated = m.template != p.template
}

// end begins the end of a machine.
func (p *simulation) end(i *rollout.Instance, by string) {
	p.say("%s ends %s", by, i.ID)
	i.Lifecycle, i.Ready = rollout.Leaving, false
	if i.Held = p.settings.AnswerHooks; i.Held {
		return // It waits until the lifecycle action is completed.
	}
	p.machines[i.ID].terminated = p.now.Add(time.Duration(1+p.rand.IntN(120)) * time.Second)
}

func (p *simulation) resize(to int, by string) {
	p.say("%s makes the capacity %d", by, to)
	p.observed.Desired, p.changed, p.observed.Steady = to, p.now, 0
}

// floor is how many must stay in service, by what the settings say.
func (p *simulation) floor() int {
	return min(p.settings.MinInService, p.observed.Max-1, p.observed.Memory.Desired)
}

// step decides and carries out what was decided, up to a number of actions: then it is killed.
func (p *simulation) step(actions int) rollout.Decision {
	d := rollout.Decide(&p.observed, &p.settings, p.now)
	for _, a := range d.Actions {
		if actions == 0 {
			p.say("killed before %s %s", a.Kind, a.Instance)
			break
		}
		actions--
		p.do(&a)
		if p.each != nil {
			p.each()
		}
	}
	if len(d.Actions) > 0 {
		p.say("%s", d.Why)
	}
	return d
}

func (p *simulation) do(a *rollout.Action) {
	switch a.Kind {
	case rollout.Remember:
		tag := rollout.Encode(a.Memory)
		if len(tag) > 256 || strings.ContainsAny(tag, "&%;<>\"'") {
			p.problem("the tag is %d long: %s", len(tag), tag)
		}
		m, err := rollout.Decode(tag)
		if err != nil {
			p.problem("%v", err)
		}
		p.observed.Memory = m
	case rollout.Forget:
		p.observed.Memory = nil
	case rollout.KeepOff:
		p.observed.Held = p.observed.Held || p.observed.Autoscaled
		p.observed.Autoscaled, p.observed.Suspended = false, p.observed.Memory.Suspended
	case rollout.LetBack:
		p.observed.Autoscaled, p.observed.Held, p.observed.Suspended = p.observed.Held || p.observed.Autoscaled, false, nil
	case rollout.SetCapacity:
		if a.Capacity < p.observed.Min || a.Capacity > p.observed.Max {
			p.problem("a capacity of %d was asked for", a.Capacity)
			return
		}
		p.resize(a.Capacity, "the roll")
	case rollout.Validate:
		p.observed.Validation = rollout.Validation{Passed: p.observed.Validation.Passed + 1, At: p.now}
		if p.rand.IntN(8) == 0 {
			p.observed.Validation = rollout.Validation{Problem: "Node other is not Ready.", At: p.now}
		}
	case rollout.Drain, rollout.Terminate:
		p.take(a)
	case rollout.Release:
		i := p.find(a.Instance)
		if !i.Held {
			p.problem("%s is released, but no hook holds it", i.ID)
		}
		i.Held = false
		p.machines[i.ID].terminated = p.now.Add(time.Duration(1+p.rand.IntN(120)) * time.Second)
	case rollout.CancelDrain:
		i := p.find(a.Instance)
		i.Drain, i.Cordoned = "", false
	}
}

// take drains or ends a machine, and complains if that must not be.
func (p *simulation) take(a *rollout.Action) {
	i := p.find(a.Instance)
	served := p.serves(i)
	p.observed.Validation = rollout.Validation{}
	left := slices.ContainsFunc(p.observed.Instances, func(i rollout.Instance) bool {
		return i.Outdated && i.Lifecycle == rollout.InService
	})
	if !i.Launched.Before(p.settings.Before) && !i.Outdated &&
		(p.observed.Memory.Surge == 0 && !a.Shrink || left && p.observed.Memory.Stopped == "") {
		p.problem("%s needs no update and is taken", i.ID)
	}
	if a.Kind == rollout.Drain {
		p.drain(i)
	} else {
		p.terminate(i, a.Shrink)
	}
	going := 0
	for _, other := range p.observed.Instances {
		if other.Lifecycle == rollout.Leaving || other.Drain != "" {
			going++
		}
	}
	if served && p.serving() < p.floor() {
		p.problem("%d serve, and %d must", p.serving(), p.floor())
	}
	if served && going > p.settings.BatchSize {
		p.problem("%d go at once", going)
	}
}

func (p *simulation) drain(i *rollout.Instance) {
	i.Drain, i.Ours, i.Cordoned = drain.Draining, true, true
	p.machines[i.ID].drained = p.now.Add(time.Duration(p.rand.Int64N(int64(5 * time.Minute))))
	if p.stuck {
		p.machines[i.ID].drained = p.now
	}
}

func (p *simulation) terminate(i *rollout.Instance, shrink bool) {
	if p.settings.OnDrainTimeout == drain.Abandon && i.Ready && i.Drain != drain.Empty && !p.settings.CloudOnly {
		p.problem("%s ends undrained", i.ID)
	}
	i.Drain = ""
	if shrink && p.observed.Desired == p.observed.Min {
		p.problem("the capacity would be below the least size")
	}
	if shrink {
		p.resize(p.observed.Desired-1, "the roll")
	}
	p.end(i, "the roll")
}
