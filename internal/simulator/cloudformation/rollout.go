package cloudformation

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/rolling"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// rollout executes a rolling update of a group: it passes [rolling.Roll] what it observes and
// executes the actions that it returns. It reconciles when the group changes, when a signal
// arrives, and at the time that the roll returns.
type rollout struct {
	stack   *stack
	step    *step
	member  *member
	roller  rolling.Roller
	request resource.Request
	roll    *rolling.Roll
	// suspended are the processes to resume after the roll.
	suspended []string
	// nextReconcile is the time of the scheduled reconcile.
	nextReconcile time.Time
	done          func(reason string)
}

// rollerOf returns the roller of a resource type, or nil if the type does not support rolling
// updates.
func (s *stack) rollerOf(kind string) rolling.Roller {
	roller, _ := s.engine.Provider(kind).(rolling.Roller)
	return roller
}

// updatePolicy evaluates the update policy of a definition in a revision.
func (s *stack) updatePolicy(rev *revision, definition *template.Resource) (rolling.Policy, error) {
	if definition == nil || definition.UpdatePolicy == nil {
		return rolling.Policy{}, nil
	}
	v, err := s.scope(rev).Value(definition.UpdatePolicy)
	if err != nil {
		return rolling.Policy{}, err
	}
	value, _ := v.(map[string]any)
	return rolling.Parse(value)
}

// launchProperties are the properties of a group to which the update policies
// AutoScalingReplacingUpdate and AutoScalingRollingUpdate apply.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-updatepolicy.html
var launchProperties = []string{"LaunchConfigurationName", "LaunchTemplate", "MixedInstancesPolicy", "PlacementGroup", "VPCZoneIdentifier"}

// replacesGroup reports whether the update policy replaces a changed group with a new one. It
// ignores errors in the policy, which the update reports.
func (s *stack) replacesGroup(definition *template.Resource, changed [][]string) bool {
	policy, err := s.updatePolicy(s.revision, definition)
	return err == nil && policy.WillReplace && slices.ContainsFunc(changed, func(path []string) bool {
		return len(path) > 0 && slices.Contains(launchProperties, path[0])
	})
}

// resizing is the effect of an update on the sizes of a group.
type resizing struct {
	// properties are the properties for the provider.
	properties map[string]any
	// policy is the policy that then replaces the group's instances, or nil.
	policy *rolling.Update
	// desired is the desired capacity in the template, or -1.
	desired int
}

// resize computes the effect of an update on the sizes of a group. If the policy says so, sizes
// that did not change in the template keep their live values. A smaller desired capacity takes
// effect during the roll, so that the group terminates obsolete instances rather than others.
func (s *stack) resize(st *step, m *member, rev *revision, before, after map[string]any) (resizing, error) {
	out := resizing{properties: after, desired: -1}
	roller := s.rollerOf(m.kind)
	if roller == nil {
		return out, nil
	}
	policy, err := s.updatePolicy(rev, m.definition)
	if err != nil {
		return out, err
	}
	var live rolling.Group
	s.outside(func() { live, err = roller.Observe(s.background(), s.request(m, st.token)) })
	if err != nil {
		return out, err
	}
	out.properties, out.policy = maps.Clone(after), policy.Rolling
	if policy.IgnoreUnmodifiedSizes {
		for name, size := range map[string]int{"MinSize": live.Min, "MaxSize": live.Max, "DesiredCapacity": live.Desired} {
			if textProperty(after, name) != "" && textProperty(before, name) == textProperty(after, name) {
				out.properties[name] = strconv.Itoa(size)
			}
		}
	}
	most, _ := strconv.Atoi(textProperty(out.properties, "MaxSize"))
	if policy.Rolling == nil {
		return out, nil
	}
	if err := policy.Rolling.CheckSize(most); err != nil {
		return out, err
	}
	if n, err := strconv.Atoi(textProperty(out.properties, "DesiredCapacity")); err == nil {
		out.desired = n
		if n < live.Desired {
			out.properties["DesiredCapacity"] = strconv.Itoa(min(live.Desired, most))
		}
	}
	return out, nil
}

// rollOut replaces the obsolete instances of an updated group, and calls done with the reason of a
// failure, or with "". It does not call done if the step has ended.
func (s *stack) rollOut(st *step, m *member, r resource.Request, plan resizing, done func(reason string)) {
	if plan.policy == nil {
		done("")
		return
	}
	o := &rollout{stack: s, step: st, member: m, roller: s.rollerOf(m.kind), request: r, done: done}
	m.rollout = o
	cancelled := st.cancelled
	st.cancelled = func() {
		cancelled()
		s.post(o.abort) // before the rollback
	}
	err := o.begin(plan)
	switch {
	case !st.active():
	case err != nil:
		o.end(handlerText(err, st.token))
	default:
		o.reconcile()
	}
}

// begin suspends processes and watches the group.
func (o *rollout) begin(plan resizing) error {
	ctx, s := o.stack.background(), o.stack
	var (
		g   rolling.Group
		err error
	)
	s.outside(func() {
		if g, err = o.roller.Observe(ctx, o.request); err != nil {
			return
		}
		if o.suspended, err = o.roller.Suspend(ctx, o.request, plan.policy.SuspendProcesses, true); err != nil {
			return
		}
		err = o.roller.Watch(ctx, o.request, func() { s.post(o.reconcile) })
	})
	desired := plan.desired
	if desired < 0 {
		desired = g.Desired
	}
	o.roll = rolling.New(*plan.policy, rolling.Sizes{Min: g.Min, Desired: desired})
	return err
}

// reconcile executes the roll until it has to wait.
func (o *rollout) reconcile() {
	for o.member.rollout == o && o.step.active() {
		var (
			g   rolling.Group
			err error
		)
		o.stack.outside(func() { g, err = o.roller.Observe(o.stack.background(), o.request) })
		switch {
		case !o.step.active():
			return
		case err != nil:
			o.end(handlerText(err, o.step.token))
			return
		}
		actions, next := o.roll.Next(rolling.Observation{Now: o.stack.engine.now(), Group: g, Signals: o.signals()})
		if len(actions) == 0 {
			o.reconcileAt(next)
			return
		}
		for _, a := range actions {
			if !o.act(a) {
				return
			}
		}
	}
}

func (o *rollout) signals() map[string]bool {
	out := make(map[string]bool, len(o.member.signals))
	for id, sig := range o.member.signals {
		out[id] = sig.ok
	}
	return out
}

func (o *rollout) reconcileAt(t time.Time) {
	if t.IsZero() || t.Equal(o.nextReconcile) {
		return
	}
	o.nextReconcile = t
	o.stack.after(max(t.Sub(o.stack.engine.now()), time.Millisecond), o.reconcile)
}

// act executes one action and reports whether the roll continues.
func (o *rollout) act(a rolling.Action) bool {
	switch {
	case a.Say != "":
		o.stack.setMember(o.member, o.member.status, a.Say)
		return true
	case a.Done, a.Fail != "":
		o.end(a.Fail)
		return false
	}
	if err := o.call(a); err != nil {
		if o.step.active() {
			o.end(handlerText(err, o.step.token))
		}
		return false
	}
	return o.step.active()
}

// call executes an action on the group.
func (o *rollout) call(a rolling.Action) (err error) {
	ctx := o.stack.background()
	o.stack.outside(func() {
		if a.Resize != nil {
			err = o.roller.Resize(ctx, o.request, a.Resize.Min, a.Resize.Desired)
		}
		for _, t := range a.Terminate {
			if err == nil {
				err = o.roller.Terminate(ctx, o.request, t.ID, t.Decrement)
			}
		}
	})
	return err
}

// end releases the group and reports the result.
func (o *rollout) end(reason string) {
	o.release()
	if o.step.active() {
		o.done(reason)
	}
}

// abort restores the group's minimum after the roll was cancelled.
func (o *rollout) abort() {
	if o.member.rollout != o {
		return
	}
	var (
		g   rolling.Group
		err error
	)
	o.stack.outside(func() { g, err = o.roller.Observe(o.stack.background(), o.request) })
	if err == nil {
		for _, a := range o.roll.Abort(g) {
			_ = o.call(a) // the rollback that follows reports errors of the group
		}
	}
	o.release()
}

// release resumes the processes that the roll suspended. Processes that the user suspended stay
// suspended.
func (o *rollout) release() {
	o.member.rollout = nil
	o.stack.outside(func() {
		ctx := o.stack.background()
		// A deleted group needs neither.
		_ = o.roller.Watch(ctx, o.request, nil)
		_, _ = o.roller.Suspend(ctx, o.request, o.suspended, false)
	})
}
