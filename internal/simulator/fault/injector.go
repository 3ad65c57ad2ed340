package fault

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Phase is when a hook runs.
type Phase string

const (
	// Before is ahead of any effect of the call.
	Before Phase = "Before"
	// After is between the effect of the call and its answer.
	After Phase = "After"
)

// CallInfo describes a call to an [Injector].
type CallInfo struct {
	// Account, Region, Service and Operation identify the operation and where it is called.
	Account, Region, Service, Operation string
	// ResourceType is set for operations of CloudFormation on a resource.
	ResourceType string
	// Name is the name of what the call acts on; for resources, the logical ID.
	Name string
	// PhysicalID is the resource's physical ID, if it has one.
	PhysicalID string
	// Phase is before or after the effect; set only for hooks.
	Phase Phase
	// N is the number of the API call since the injector was created, from 1; set only for hooks.
	N int
}

// Failure is the AWS error that a call returns.
type Failure struct {
	// Code, Message and Status are the fields of the error.
	Code, Message string
	Status        int
}

// Effect is the result of the rules for a call. The zero value lets the call pass.
type Effect struct {
	// Latency is the time to wait before anything else.
	Latency time.Duration
	// Failure is the error to return, or nil.
	Failure *Failure
	// HangUp closes the connection without an answer.
	HangUp bool
	// AfterEffect makes the call take effect before it fails.
	AfterEffect bool
	// Deny returns AccessDenied for the call's action.
	Deny bool
}

// Fails reports whether the call fails.
func (e Effect) Fails() bool { return e.Failure != nil || e.HangUp || e.Deny }

// Injector decides which calls fail, counts them, and runs hooks. The zero value is ready for use.
// A nil pointer does nothing.
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

// Add adds a rule and returns a function that removes it. Rules apply in the order in which they
// were added: latencies add up, and the first failure wins.
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

// OnCall adds a hook that runs before and after the effect of every API call, on the goroutine that
// serves the call. It returns a function that removes the hook.
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

// Calls returns the number of API calls by "service/operation".
func (i *Injector) Calls() map[string]int {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return maps.Clone(i.calls)
}

// NeedsName reports whether a rule or a hook reads the name of what a call acts on. If not, callers
// need not determine it.
func (i *Injector) NeedsName() bool {
	if i == nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.named > 0 || len(i.hooks) > 0
}

// Begin counts an API call, runs the hooks before it and returns the effect of the rules. The
// returned function runs the hooks after the effect.
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

// Decide returns the effect of the rules on a call. It neither counts the call nor runs hooks. The
// CloudFormation engine calls it for each resource.
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

// DenialMessage is AWS's message for an action that is denied. The reason is "" for an action that no
// identity-based policy allows.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
func DenialMessage(principal, action, resource, reason string) string {
	message := "User: " + principal + " is not authorized to perform: " + action
	if resource != "" {
		message += " on resource: " + resource
	}
	return message + " " + cmp.Or(reason, "because no identity-based policy allows the "+action+" action")
}
