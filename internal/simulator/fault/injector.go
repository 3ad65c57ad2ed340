package fault

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Phase says when a hook runs.
type Phase string

const (
	// Before is ahead of any effect.
	Before Phase = "Before"
	// After is once the effect took place, ahead of the answer.
	After Phase = "After"
)

// CallInfo is what an [Injector] knows about a call.
type CallInfo struct {
	// Account, Region, Service and Operation say what was called where.
	Account, Region, Service, Operation string
	// ResourceType is set for a resource that CloudFormation handles.
	ResourceType string
	// Name is what the call is about; for resources the logical id.
	Name string
	// PhysicalID is the resource's physical id, where it has one.
	PhysicalID string
	// Phase says whether the effect took place yet; set for hooks.
	Phase Phase
	// N counts the API calls since the injector was made, from 1; set for hooks.
	N int
}

// Failure is the AWS error that a call is to end with.
type Failure struct {
	// Code, Message and Status are the error's.
	Code, Message string
	Status        int
}

// Effect is what is to happen to a call. The zero value lets it pass.
type Effect struct {
	// Latency is to be waited before anything else.
	Latency time.Duration
	// Failure is the error to answer with, nil for none.
	Failure *Failure
	// HangUp closes the connection without an answer.
	HangUp bool
	// AfterEffect says that the call does its work before it fails.
	AfterEffect bool
	// Deny answers with AccessDenied for the call's action.
	Deny bool
}

// Fails reports whether the call is not to end well.
func (e Effect) Fails() bool { return e.Failure != nil || e.HangUp || e.Deny }

// Injector decides which calls go wrong, counts them, and runs hooks. The zero
// value is ready for use, and so is a nil pointer, which does nothing.
type Injector struct {
	mu    sync.Mutex
	rules []*armed
	hooks map[int]func(CallInfo)
	next  int
	calls map[string]int
	total int
	named int
}

type armed struct {
	Rule

	id   int
	seen int
}

// New returns an injector without rules.
func New() *Injector { return &Injector{} }

// Add arms a rule and returns how to take it back. Rules are tried in the order
// in which they were added; latencies add up and the first failure wins.
func (i *Injector) Add(r Rule) (remove func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.next++
	a := &armed{Rule: r, id: i.next}
	i.rules = append(i.rules, a)
	if r.Name != "" {
		i.named++
	}
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		before := len(i.rules)
		i.rules = slices.DeleteFunc(i.rules, func(o *armed) bool { return o.id == a.id })
		if len(i.rules) < before && r.Name != "" {
			i.named--
		}
	}
}

// OnCall adds a hook that runs before and after the effect of every API call,
// on the goroutine that serves it, and returns how to remove it.
func (i *Injector) OnCall(hook func(CallInfo)) (remove func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.next++
	id := i.next
	hooks := maps.Clone(i.hooks)
	if hooks == nil {
		hooks = map[int]func(CallInfo){}
	}
	hooks[id] = hook
	i.hooks = hooks
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		hooks := maps.Clone(i.hooks)
		delete(hooks, id)
		i.hooks = hooks
	}
}

// Calls returns how many API calls were made by "service/operation".
func (i *Injector) Calls() map[string]int {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return maps.Clone(i.calls)
}

// NeedsName reports whether a rule or a hook looks at the name of what a call
// is about, so that callers need not find it out otherwise.
func (i *Injector) NeedsName() bool {
	if i == nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.named > 0 || len(i.hooks) > 0
}

// Begin counts an API call, runs the hooks ahead of it and says what is to
// happen to it. The returned function runs the hooks after the effect.
func (i *Injector) Begin(c CallInfo) (effect Effect, after func()) {
	if i == nil {
		return Effect{}, func() {}
	}
	i.mu.Lock()
	if i.calls == nil {
		i.calls = map[string]int{}
	}
	i.calls[c.Service+"/"+c.Operation]++
	i.total++
	c.N = i.total
	hooks := i.hooks
	i.mu.Unlock()
	runHooks(hooks, c, Before)
	return i.Decide(c), func() { runHooks(hooks, c, After) }
}

// Decide says what is to happen to a call without counting it or running hooks.
// The CloudFormation engine asks it about each resource.
func (i *Injector) Decide(c CallInfo) Effect {
	if i == nil {
		return Effect{}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	var effect Effect
	for _, r := range i.rules {
		if !r.matches(&c) {
			continue
		}
		r.seen++
		if r.seen <= r.Skip || (r.Times > 0 && r.seen > r.Skip+r.Times) {
			continue
		}
		effect.Latency += r.Latency
		if !effect.Fails() {
			r.fail(&effect)
		}
	}
	return effect
}

func (r *armed) fail(e *Effect) {
	e.HangUp, e.Deny, e.AfterEffect = r.HangUp, r.Deny, r.AfterEffect
	if r.Code == "" {
		return
	}
	status := r.Status
	if status == 0 {
		status = 400
	}
	e.Failure = &Failure{Code: r.Code, Message: r.Message, Status: status}
}

func runHooks(hooks map[int]func(CallInfo), c CallInfo, p Phase) {
	c.Phase = p
	for _, id := range slices.Sorted(maps.Keys(hooks)) {
		hooks[id](c)
	}
}

// Wait waits for d on the clock, or until the context ends.
func Wait(ctx context.Context, clk clock.Clock, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := clk.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// DenialMessage is the sentence with which AWS denies an action that no
// identity-based policy allows; see
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
func DenialMessage(principal, action, resource string) string {
	message := "User: " + principal + " is not authorized to perform: " + action
	if resource != "" {
		message += " on resource: " + resource
	}
	return message + " because no identity-based policy allows the " + action + " action"
}
