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

// rollout carries a rolling update of a group out: it shows [rolling.Roll] what
// there is, and does what it says. It looks again when the group has changed, a
// signal came or the time that the roll waits for has come.
type rollout struct {
	stack   *stack
	step    *step
	member  *member
	roller  rolling.Roller
	request resource.Request
	roll    *rolling.Roll
	// suspended are the processes that were suspended for the time of the roll.
	suspended []string
	// wake is when a look comes by itself.
	wake time.Time
	done func(reason string)
}

// rollerOf returns who rolls the resources of a type, nil when they do not roll.
func (s *stack) rollerOf(kind string) rolling.Roller {
	roller, _ := s.engine.provider(kind).(rolling.Roller)
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

// shaping are the properties of a group whose change the update policies
// AutoScalingReplacingUpdate and AutoScalingRollingUpdate are for.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-updatepolicy.html
var shaping = []string{"LaunchConfigurationName", "LaunchTemplate", "MixedInstancesPolicy", "PlacementGroup", "VPCZoneIdentifier"}

// replacesGroup tells whether a changed group is to be replaced by a new one, as
// its update policy may say. What is wrong with the policy, the update finds.
func (s *stack) replacesGroup(definition *template.Resource, changed [][]string) bool {
	policy, err := s.updatePolicy(s.revision, definition)
	return err == nil && policy.WillReplace && slices.ContainsFunc(changed, func(path []string) bool {
		return len(path) > 0 && slices.Contains(shaping, path[0])
	})
}

// resizing is what an update does to the sizes of a group.
type resizing struct {
	// properties are what the provider is told.
	properties map[string]any
	// policy replaces the group's instances afterwards, nil when nothing does.
	policy *rolling.Update
	// desired is the desired capacity that the template asks for, -1 when it does not.
	desired int
}

// resize finds out what an update of a group does to its sizes. Sizes that the
// template leaves as they were stay as they are in the group if the policy says so.
// A desired capacity that shrinks does so while the group is rolled, so that
// obsolete instances go and not others.
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

// rollOut replaces the obsolete instances of a group that was updated, and calls
// done with the reason why that failed, or an empty one. done is never called if
// the step has ended meanwhile.
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
		s.post(o.abort) // ahead of the rollback
	}
	err := o.begin(plan)
	switch {
	case !st.active():
	case err != nil:
		o.end(handlerText(err, st.token))
	default:
		o.look()
	}
}

// begin suspends processes and has the group watched.
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
		err = o.roller.Watch(ctx, o.request, func() { s.post(o.look) })
	})
	desired := plan.desired
	if desired < 0 {
		desired = g.Desired
	}
	o.roll = rolling.New(*plan.policy, rolling.Sizes{Min: g.Min, Desired: desired})
	return err
}

// look goes on with the roll as far as it gets.
func (o *rollout) look() {
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
		actions, wake := o.roll.Next(rolling.Observation{Now: o.stack.engine.now(), Group: g, Signals: o.signals()})
		if len(actions) == 0 {
			o.wakeAt(wake)
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

func (o *rollout) wakeAt(t time.Time) {
	if t.IsZero() || t.Equal(o.wake) {
		return
	}
	o.wake = t
	o.stack.after(max(t.Sub(o.stack.engine.now()), time.Millisecond), o.look)
}

// act does one thing and reports whether the roll goes on.
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

// call changes the group.
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

// end lets the group go and tells how the roll went.
func (o *rollout) end(reason string) {
	o.release()
	if o.step.active() {
		o.done(reason)
	}
}

// abort leaves a group whose roll was cancelled as it may stay.
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
			_ = o.call(a) // the rollback that follows says what is wrong with the group
		}
	}
	o.release()
}

// release resumes the processes that the roll suspended: those that somebody else
// had suspended stay so.
func (o *rollout) release() {
	o.member.rollout = nil
	o.stack.outside(func() {
		ctx := o.stack.background()
		// A group that is gone needs neither.
		_ = o.roller.Watch(ctx, o.request, nil)
		_, _ = o.roller.Suspend(ctx, o.request, o.suspended, false)
	})
}
