package autoscaling

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func wireLimit(format string, args ...any) *wire.Error {
	return wire.Errorf("LimitExceeded", format, args...)
}

func (s *Service) createGroup(
	ctx context.Context, in *autoscaling.CreateAutoScalingGroupInput,
) (*autoscaling.CreateAutoScalingGroupOutput, error) {
	if err := tagRules.Check(nil, valuesOf(in.Tags)); err != nil {
		return nil, err
	}
	_, err := s.create(s.at(ctx), in)
	return nil, err
}

// create creates a group.
func (s *Service) create(r *region, in *autoscaling.CreateAutoScalingGroupInput) (*group, error) {
	name := deref(in.AutoScalingGroupName)
	switch {
	case name == "" || len(name) > 255 || strings.Contains(name, ":"):
		return nil, validation("1 validation error detected: Value '%s' at 'autoScalingGroupName' failed to satisfy constraint", name)
	case in.MinSize == nil || in.MaxSize == nil:
		return nil, validation(
			"1 validation error detected: Value null at 'minSize' or 'maxSize' failed to satisfy constraint: Member must not be null",
		)
	}
	request := ofCreate(in)
	set, desired, err := request.apply(newSettings(), 0, true)
	if err != nil {
		return nil, err
	}
	set.tags, err = ownTags(name, in.Tags)
	if err != nil {
		return nil, err
	}
	set.targetGroups = slices.Clone(in.TargetGroupARNs)
	for _, source := range in.TrafficSources {
		set.targetGroups = append(set.targetGroups, deref(source.Identifier))
	}
	if err := s.checkReferences(r, set); err != nil {
		return nil, err
	}
	if err := s.checkTargets(r, set.targetGroups); err != nil {
		return nil, err
	}
	now := s.now()
	g := &group{name: name, region: r, created: now, settings: set, desired: desired, suspended: map[string]string{}}
	g.arn = r.ARN(s.partition(), "autoscaling", "autoScalingGroup:"+uuid.NewString()+":autoScalingGroupName/"+name)
	for _, h := range in.LifecycleHookSpecificationList {
		if err := g.putHook(h); err != nil {
			return nil, err
		}
	}
	g.pendingCause = fmt.Sprintf(
		"%s a user request created an AutoScalingGroup changing the desired capacity from 0 to %d.  ", at(now), desired,
	)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.groups[name]; ok {
		return nil, wire.Errorf(
			"AlreadyExists", "AutoScalingGroup by this name already exists - A group with the name %s already exists", name,
		)
	}
	r.groups[name] = g
	s.queue.post(g)
	return g, nil
}

// checkReferences returns an error if a group names something that does not exist: subnets, launch
// templates, instance types, images. AWS does a dry run of a launch.
func (s *Service) checkReferences(r *region, set settings) error {
	for _, id := range set.subnets {
		if _, ok := s.options.Zone(r.Account, r.Region, id); !ok {
			return validation("The subnet ID '%s' does not exist", id)
		}
	}
	g := &group{settings: set}
	for _, kind := range g.kinds() {
		request := templateRequest(kind.template)
		if request.LaunchTemplateID == "" && request.LaunchTemplateName == "" {
			return validation("Launch template ID or name must be specified.")
		}
		request.Account, request.Region, request.InstanceType = r.Account, r.Region, kind.instanceType
		request.SubnetID, request.Requester = set.subnets[0], requester
		if err := s.options.Compute.CheckLaunch(request); err != nil {
			return validation("You must use a valid fully-formed launch template. %s", sentence(err))
		}
	}
	return nil
}

// checkTargets returns an error if a target group does not exist.
func (s *Service) checkTargets(r *region, arns []string) error {
	for _, arn := range arns {
		if !s.options.Balancers.Exists(r.Account, r.Region, arn) {
			return validation("Provided Target Groups may not be valid. Please ensure they exist and try again.")
		}
	}
	return nil
}

func (s *Service) updateGroup(
	ctx context.Context, in *autoscaling.UpdateAutoScalingGroupInput,
) (*autoscaling.UpdateAutoScalingGroupOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	g, err := r.find(in.AutoScalingGroupName)
	if err != nil {
		r.mu.Unlock()
		return nil, err
	}
	old, desired := g.settings, g.desired
	r.mu.Unlock()
	set, desired, err := ofUpdate(in).apply(old, desired, false)
	if err != nil {
		return nil, err
	}
	if err := s.checkReferences(r, set); err != nil {
		return nil, err
	}
	return nil, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		g.update(s.now(), set, desired)
		return nil
	})
}

// update changes the settings and the size of a group.
func (g *group) update(now time.Time, set settings, desired int) {
	set.tags, set.targetGroups, set.metrics = g.tags, g.targetGroups, g.metrics // they have their own calls
	g.settings = set
	if desired != g.desired {
		g.pendingCause = fmt.Sprintf(
			"%s a user request update of AutoScalingGroup constraints to min: %d, max: %d, desired: %d changing the desired capacity from %d to %d.  ",
			at(now),
			set.min,
			set.max,
			desired,
			g.desired,
			desired,
		)
	}
	g.desired = desired
	g.retryNow()
}

// retryNow retries failed launches at once, because the change may have fixed the cause.
func (g *group) retryNow() { g.failures, g.retry, g.failure = 0, time.Time{}, "" }

func (s *Service) deleteGroup(
	ctx context.Context, in *autoscaling.DeleteAutoScalingGroupInput,
) (*autoscaling.DeleteAutoScalingGroupOutput, error) {
	return nil, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		force := deref(in.ForceDelete)
		switch {
		case force && g.retains():
			return validation("You cannot force delete an AutoScalingGroup whose instance lifecycle policy retains instances.")
		case len(g.members) > 0 && !force && g.leavingOnly():
			return wire.Errorf(
				"ScalingActivityInProgress",
				"You cannot delete an AutoScalingGroup while there are scaling activities in progress for that group.",
			)
		case len(g.members) > 0 && !force:
			return wire.Errorf(
				"ResourceInUse",
				"You cannot delete an AutoScalingGroup while there are instances or pending Spot instance request(s) still in the group.",
			)
		}
		g.beginDeletion(s.now(), force)
		return nil
	})
}

func (g *group) leavingOnly() bool {
	return !slices.ContainsFunc(g.members, func(m *member) bool { return !m.leaving || m.retained() })
}

// beginDeletion starts the deletion of a group. With force, hooks do not hold its instances.
func (g *group) beginDeletion(now time.Time, force bool) {
	if !g.deleting {
		verb := "deleted"
		if force {
			verb = "force deleted"
		}
		g.pendingCause = fmt.Sprintf(
			"%s a user request %s AutoScalingGroup changing the desired capacity from %d to 0.  ", at(now), verb, g.desired,
		)
	}
	g.deleting, g.desired, g.min = true, 0, 0
	delete(g.suspended, processTerminate)
	for _, m := range g.members {
		if m.standby {
			m.standby = false
		}
		if m.retained() && force {
			g.out(now, m, g.pendingCause)
		}
		if !force {
			continue
		}
		for _, w := range m.waits {
			w.result = resultAbandon
		}
	}
	if force {
		g.hooks = nil
	}
}

func (s *Service) describeGroups(
	ctx context.Context, in *autoscaling.DescribeAutoScalingGroupsInput,
) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	r := s.at(ctx)
	found, next, err := r.choose(in)
	if err != nil {
		return nil, err
	}
	zones := s.zonesOf(r, found)
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &autoscaling.DescribeAutoScalingGroupsOutput{AutoScalingGroups: []types.AutoScalingGroup{}, NextToken: next}
	for _, g := range found {
		out.AutoScalingGroups = append(out.AutoScalingGroups, g.sdk(zones))
	}
	return out, nil
}

// choose returns a page of the requested groups.
func (r *region) choose(in *autoscaling.DescribeAutoScalingGroupsInput) (found []*group, next *string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, name := range r.names() {
		if len(in.AutoScalingGroupNames) > 0 && !slices.Contains(in.AutoScalingGroupNames, name) {
			continue
		}
		ok, err := r.groups[name].matches(in.Filters)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			names = append(names, name)
		}
	}
	names, next, err = page(names, in.NextToken, in.MaxRecords)
	for _, name := range names {
		found = append(found, r.groups[name])
	}
	return found, next, err
}

// zonesOf returns the zones of all subnets of the groups.
func (s *Service) zonesOf(r *region, groups []*group) map[string]string {
	r.mu.Lock()
	subnets := map[string]string{}
	for _, g := range groups {
		for _, id := range g.subnets {
			subnets[id] = ""
		}
	}
	r.mu.Unlock()
	for id := range subnets {
		subnets[id], _ = s.options.Zone(r.Account, r.Region, id)
	}
	return subnets
}

// matches reports whether filters of DescribeAutoScalingGroups select the group.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_Filter.html
func (g *group) matches(filters []types.Filter) (bool, error) {
	for _, f := range filters {
		name := deref(f.Name)
		ok := false
		key, byKey := strings.CutPrefix(name, "tag:")
		switch {
		case name == "tag-key":
			ok = slices.ContainsFunc(g.tags, func(t types.Tag) bool { return slices.Contains(f.Values, deref(t.Key)) })
		case name == "tag-value":
			ok = slices.ContainsFunc(g.tags, func(t types.Tag) bool { return slices.Contains(f.Values, deref(t.Value)) })
		case byKey:
			ok = slices.ContainsFunc(g.tags, func(t types.Tag) bool {
				return deref(t.Key) == key && slices.Contains(f.Values, deref(t.Value))
			})
		default:
			return false, validation("Filter type %s is not correct. Allowed Filter types are: tag-key, tag-value, tag:<key>", name)
		}
		if !ok {
			return false, nil
		}
	}
	return true, nil
}
