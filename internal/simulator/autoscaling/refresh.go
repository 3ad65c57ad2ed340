package autoscaling

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// refresh is an instance refresh: it replaces the instances of a group while it keeps a percentage
// of them healthy. Hooks and load balancers apply as usual.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/instance-refresh-overview.html
type refresh struct {
	id, reason string
	status     types.InstanceRefreshStatus
	start      time.Time
	end        *time.Time
	given      *types.RefreshPreferences
	wanted     *types.DesiredConfiguration
	rollback   *types.RollbackDetails

	least, most int // percentages: the minimum healthy and the maximum
	warmup      time.Duration
	protected   types.ScaleInProtectedInstances
	standby     types.StandbyInstances
	// before is the launch configuration from before the refresh. The group reports it until the
	// refresh has succeeded, and returns to it if the refresh does not succeed.
	before struct {
		template *types.LaunchTemplateSpecification
		mixed    *types.MixedInstancesPolicy
	}
	// total is the number of instances to replace, todo are those not started; original are the
	// instances at the start of the refresh.
	total          int
	todo, original map[string]bool
}

const processInstanceRefresh = "InstanceRefresh"

// keptRefreshes limits a group's history; AWS keeps six weeks.
const keptRefreshes = 50

// refreshed returns the running refresh, or nil.
func (g *group) refreshed() *refresh {
	if len(g.refreshes) == 0 || g.refreshes[0].end != nil {
		return nil
	}
	return g.refreshes[0]
}

func (g *group) refreshing() bool { return g.refreshed() != nil }

// warm reports whether a member counts as healthy. During a refresh, a new member counts only after
// the warm-up time.
func (p *pass) warm(m *member) bool {
	r := p.g.refreshed()
	if r == nil || r.original[m.id] {
		return true
	}
	due := m.inService.Add(r.warmup)
	if p.now.Before(due) {
		p.until(due)
		return false
	}
	return true
}

// refresh returns the next action of an instance refresh, or nil if it has to wait.
func (p *pass) refresh() effect {
	g := p.g
	r := g.refreshed()
	if r == nil || g.is(processInstanceRefresh) || g.deleting {
		return nil
	}
	healthy, complete := p.health()
	next, waits := r.next(g)
	switch {
	case next == nil && !waits && complete:
		r.succeed(p.now)
		return func() {}
	case next == nil || g.is(processTerminate) || g.is(processLaunch):
		return nil
	}
	least, most := (g.desired*r.least+99)/100, g.desired*r.most/100
	if r.least == 100 {
		most = max(most, g.desired+1) // it launches before it terminates
	}
	// A group that may neither shrink nor grow still loses one instance.
	stuck := complete && most <= g.desired
	switch {
	case healthy > least || stuck:
		delete(r.todo, next.id)
		return g.out(p.now, next, at(p.now)+" an instance was taken out of service in response to an instance refresh.  "+
			at(p.now)+" instance "+next.id+" was selected for termination.")
	case g.desired+g.outgoingMembers()+1 <= most:
		delete(r.todo, next.id)
		next.outgoing = &outgoing{why: "an instance was taken out of service in response to an instance refresh.  " +
			at(p.now) + " instance " + next.id + " was selected for termination.", refreshed: true}
		return func() {}
	}
	return nil
}

// health counts the healthy members that stay, and reports whether they are the desired capacity
// and all members are healthy.
func (p *pass) health() (healthy int, complete bool) {
	complete = true
	for _, m := range p.g.members {
		switch {
		case !m.active():
		case m.outgoing != nil || m.state != types.LifecycleStateInService || m.unhealthy || !p.warm(m):
			complete = false
		default:
			healthy++
		}
	}
	return healthy, complete && healthy == p.g.desired
}

// next returns the next member to replace, or nil; waits reports whether the refresh has to wait
// for some members.
func (r *refresh) next(g *group) (next *member, waits bool) {
	left := map[string]bool{}
	for _, m := range g.members {
		if !r.todo[m.id] || m.leaving {
			continue
		}
		switch {
		case m.standby && r.standby == types.StandbyInstancesIgnore, m.protected && r.protected == types.ScaleInProtectedInstancesIgnore:
			continue
		case m.standby, m.protected && r.protected == types.ScaleInProtectedInstancesWait, m.state != types.LifecycleStateInService:
			waits = true
		case next == nil:
			next = m
		}
		left[m.id] = true
	}
	r.todo = left
	return next, waits
}

func (r *refresh) succeed(now time.Time) {
	r.status, r.reason = types.InstanceRefreshStatusSuccessful, ""
	if r.rollback != nil {
		r.status = types.InstanceRefreshStatusRollbackSuccessful
	}
	r.end = &now
}

// restoreLaunch restores the former launch configuration of a group, and keeps outgoing instances
// that are still in service.
func (r *refresh) restoreLaunch(g *group) {
	if r.wanted != nil {
		g.template, g.mixed = r.before.template, r.before.mixed
	}
	for _, m := range g.members {
		if m.outgoing != nil && m.outgoing.refreshed {
			m.outgoing = nil
		}
	}
}

func (s *Service) startInstanceRefresh(
	ctx context.Context, in *autoscaling.StartInstanceRefreshInput,
) (*autoscaling.StartInstanceRefreshOutput, error) {
	r, err := s.newRefresh(in)
	if err != nil {
		return nil, err
	}
	reg := s.at(ctx)
	reg.mu.Lock()
	g, err := reg.find(in.AutoScalingGroupName)
	if err != nil {
		reg.mu.Unlock()
		return nil, err
	}
	set := g.settings
	reg.mu.Unlock()
	r.before.template, r.before.mixed = set.template, set.mixed
	if w := in.DesiredConfiguration; w != nil {
		change := request{template: w.LaunchTemplate, mixed: w.MixedInstancesPolicy}
		change.applyLaunch(&set)
		if err := set.check(); err != nil {
			return nil, err
		}
		if err := s.checkReferences(reg, set); err != nil {
			return nil, err
		}
	}
	fits := s.shape(&group{region: reg, settings: set})
	return &autoscaling.StartInstanceRefreshOutput{InstanceRefreshId: &r.id}, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		if g.refreshing() {
			return wire.Errorf(
				"InstanceRefreshInProgress",
				"An Instance Refresh is already in progress and blocks the execution of this Instance Refresh.",
			)
		}
		if in.DesiredConfiguration != nil {
			g.template, g.mixed = set.template, set.mixed
		}
		r.fill(g, fits)
		g.refreshes = append([]*refresh{r}, g.refreshes[:min(len(g.refreshes), keptRefreshes-1)]...)
		return nil
	})
}

// fill determines the instances to replace, and takes defaults from the group's settings.
func (r *refresh) fill(g *group, fits func(*member) bool) {
	skip := r.given != nil && deref(r.given.SkipMatching)
	for _, m := range g.members {
		if m.id == "" || m.leaving {
			continue
		}
		r.original[m.id] = true
		if !skip || !fits(m) {
			r.todo[m.id] = true
		}
	}
	r.total = len(r.todo)
	if r.warmup < 0 {
		r.warmup = g.grace
		if g.warmup != nil {
			r.warmup = time.Duration(*g.warmup) * time.Second
		}
	}
}

// newRefresh parses the preferences and rejects unsupported ones.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_RefreshPreferences.html
func (s *Service) newRefresh(in *autoscaling.StartInstanceRefreshInput) (*refresh, error) {
	r := &refresh{
		id: uuid.NewString(), status: types.InstanceRefreshStatusInProgress, start: s.now(), given: in.Preferences,
		wanted: in.DesiredConfiguration,
		least:  90, most: 100, warmup: -1, todo: map[string]bool{}, original: map[string]bool{},
		protected: types.ScaleInProtectedInstancesWait, standby: types.StandbyInstancesWait,
	}
	if in.Strategy != "" && in.Strategy != types.RefreshStrategyRolling {
		return nil, unsupported("instance refreshes by the strategy " + string(in.Strategy))
	}
	p := in.Preferences
	if p == nil {
		return r, nil
	}
	for _, f := range []refusal{
		{len(p.CheckpointPercentages) > 0 || p.CheckpointDelay != nil, "checkpoints of instance refreshes"},
		{deref(p.AutoRollback), "automatic rollbacks of instance refreshes"},
		{deref(p.BakeTime) > 0, "bake times of instance refreshes"},
		{p.AlarmSpecification != nil && len(p.AlarmSpecification.Alarms) > 0, "alarms of instance refreshes"},
		{p.StandbyInstances == types.StandbyInstancesTerminate, "instance refreshes that terminate instances in standby"},
	} {
		if f.given {
			return nil, unsupported(f.what)
		}
	}
	if p.ScaleInProtectedInstances != "" {
		r.protected = p.ScaleInProtectedInstances
	}
	if p.StandbyInstances != "" {
		r.standby = p.StandbyInstances
	}
	if p.InstanceWarmup != nil && *p.InstanceWarmup >= 0 {
		r.warmup = time.Duration(*p.InstanceWarmup) * time.Second
	}
	return r, r.percentages(p)
}

// percentages parses the minimum and maximum healthy percentages.
func (r *refresh) percentages(p *types.RefreshPreferences) error {
	if p.MinHealthyPercentage != nil {
		r.least = int(*p.MinHealthyPercentage)
	}
	if p.MaxHealthyPercentage != nil {
		r.most = int(*p.MaxHealthyPercentage)
	}
	switch {
	case r.least < 0 || r.least > 100:
		return validation("MinHealthyPercentage must be between 0 and 100, not %d.", r.least)
	case p.MaxHealthyPercentage != nil && p.MinHealthyPercentage == nil:
		return validation("You must specify MinHealthyPercentage together with MaxHealthyPercentage.")
	case r.most < 100 || r.most > 200:
		return validation("MaxHealthyPercentage must be between 100 and 200, not %d.", r.most)
	case r.most-r.least > 100:
		return validation("The difference between MaxHealthyPercentage and MinHealthyPercentage cannot be greater than 100.")
	}
	return nil
}

func noRefresh(g *group) error {
	return wire.Errorf(
		"ActiveInstanceRefreshNotFound", "No in progress or pending Instance Refresh found for Auto Scaling group %s", g.name,
	)
}

func (s *Service) cancelInstanceRefresh(
	ctx context.Context, in *autoscaling.CancelInstanceRefreshInput,
) (*autoscaling.CancelInstanceRefreshOutput, error) {
	out := &autoscaling.CancelInstanceRefreshOutput{}
	return out, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		r := g.refreshed()
		if r == nil {
			return noRefresh(g)
		}
		now := s.now()
		r.restoreLaunch(g)
		r.status, r.reason, r.end = types.InstanceRefreshStatusCancelled, "Cancelled due to user request.", &now
		out.InstanceRefreshId = &r.id
		return nil
	})
}

func (s *Service) rollbackInstanceRefresh(
	ctx context.Context, in *autoscaling.RollbackInstanceRefreshInput,
) (*autoscaling.RollbackInstanceRefreshOutput, error) {
	out := &autoscaling.RollbackInstanceRefreshOutput{}
	return out, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		r := g.refreshed()
		switch {
		case r == nil || r.rollback != nil:
			return noRefresh(g)
		case r.wanted == nil || !versionFixed(r.before.template):
			return wire.Errorf(
				"IrreversibleInstanceRefresh",
				"An instance refresh can be rolled back only with a desired configuration and a launch template version that is a number.",
			)
		}
		remaining := r.remaining(g)
		r.rollback = &types.RollbackDetails{
			RollbackReason: aws.String("Rollback was requested by a user."), RollbackStartTime: aws.Time(s.now()),
			//nolint:gosec // few
			InstancesToUpdateOnRollback: aws.Int32(int32(remaining)), PercentageCompleteOnRollback: aws.Int32(r.percentage(remaining)),
		}
		r.restoreLaunch(g)
		r.status, r.todo = types.InstanceRefreshStatusRollbackInProgress, map[string]bool{}
		for _, m := range g.members {
			if m.id != "" && !m.leaving && !r.original[m.id] {
				r.todo[m.id] = true
			}
		}
		r.total = len(r.todo)
		out.InstanceRefreshId = &r.id
		return nil
	})
}

// versionFixed reports whether a template's version is fixed, that is, a number.
func versionFixed(t *types.LaunchTemplateSpecification) bool {
	return t == nil || !slices.Contains([]string{"", "$Latest", "$Default"}, deref(t.Version))
}

// remaining returns the number of instances that are not updated: those that the refresh has not
// started, and those whose replacements are not in service.
func (r *refresh) remaining(g *group) int {
	if r.end != nil {
		return len(r.todo)
	}
	missing := g.desired
	for _, m := range g.members {
		if m.active() && m.outgoing == nil && m.state == types.LifecycleStateInService {
			missing--
		}
	}
	return min(len(r.todo)+max(missing, 0), r.total)
}

func (r *refresh) percentage(remaining int) int32 {
	if r.total == 0 {
		return 100
	}
	return int32(100 * (r.total - remaining) / r.total) //nolint:gosec // a percentage
}

func (r *refresh) sdk(g *group) types.InstanceRefresh {
	remaining := r.remaining(g)
	return types.InstanceRefresh{
		AutoScalingGroupName: &g.name, InstanceRefreshId: &r.id, Status: r.status, StatusReason: wire.Optional(r.reason),
		StartTime: aws.Time(r.start), EndTime: r.end, InstancesToUpdate: aws.Int32(int32(remaining)), //nolint:gosec // few
		PercentageComplete: aws.Int32(r.percentage(remaining)), Preferences: r.given, DesiredConfiguration: r.wanted,
		RollbackDetails: r.rollback, Strategy: types.RefreshStrategyRolling,
	}
}

func (s *Service) describeInstanceRefreshes(
	ctx context.Context, in *autoscaling.DescribeInstanceRefreshesInput,
) (*autoscaling.DescribeInstanceRefreshesOutput, error) {
	reg := s.at(ctx)
	reg.mu.Lock()
	defer reg.mu.Unlock()
	g, err := reg.find(in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	most := 50
	if in.MaxRecords != nil {
		most = int(min(max(*in.MaxRecords, 1), 100))
	}
	out := &autoscaling.DescribeInstanceRefreshesOutput{InstanceRefreshes: []types.InstanceRefresh{}}
	from := deref(in.NextToken)
	for _, r := range g.refreshes {
		switch {
		case len(in.InstanceRefreshIds) > 0 && !slices.Contains(in.InstanceRefreshIds, r.id):
			continue
		case from != "" && from != r.id:
			continue
		case len(out.InstanceRefreshes) == most:
			out.NextToken = &r.id
			return out, nil
		}
		from = ""
		out.InstanceRefreshes = append(out.InstanceRefreshes, r.sdk(g))
	}
	return out, nil
}
