package autoscaling

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"k8s.io/utils/clock"
)

// group is one Auto Scaling group. Its region's lock guards it.
type group struct {
	name, arn string
	region    *region
	created   time.Time
	settings

	desired   int
	suspended map[string]string // process → reason
	hooks     []*hook
	scheduled []*scheduled
	// refreshes are the instance refreshes, newest first.
	refreshes []*refresh
	members   []*member
	// activities are the scaling activities, newest first.
	activities []*activity
	// pendingCause is the last change of the desired capacity, for the causes of the next
	// activities.
	pendingCause string
	// replacing counts launches that replace unhealthy instances.
	replacing int
	// failures counts the failed launches since the last success; retry is the time of the next
	// attempt.
	failures int
	retry    time.Time
	failure  string
	// balanceAfter is the earliest time to balance zones again.
	balanceAfter time.Time
	// deleting says that the group is deleted when it has no members left.
	deleting bool
	// aim is the number of instances that a stack waits for; failedBefore is the number of failed
	// launches before it started to wait.
	aim int
	// watcher is called, without the lock, when the group may have changed.
	watcher func()

	timer clock.Timer
	queue struct{ queued, running, again bool }
}

// settings are the parameters of CreateAutoScalingGroup and UpdateAutoScalingGroup.
type settings struct {
	min, max        int
	subnets         []string
	template        *types.LaunchTemplateSpecification
	mixed           *types.MixedInstancesPolicy
	targetGroups    []string
	healthCheckType string
	grace           time.Duration
	cooldown        int32
	warmup          *int32
	policies        []string
	protect         bool
	rebalance       *bool
	context         string
	serviceRole     string
	metrics         []types.EnabledMetric
	tags            []types.Tag
	capacityType    string
	lifecycle       *types.InstanceLifecyclePolicy
}

// member is an instance of a group.
type member struct {
	id, zone, subnet    string
	instanceType, image string
	templateID          string
	templateVersion     string
	spot                bool
	state               types.LifecycleState
	unhealthy           bool
	protected           bool
	launched, inService time.Time
	activity            *activity
	waits               []*wait
	// leaving says that the member is being terminated, detached or moved to standby.
	leaving bool
	// abandoned is why it never got into service.
	abandoned string
	// registered are the target groups that it is registered with.
	registered []string
	// left are the target groups from which its termination deregistered it.
	left []string
	// terminationRequested says that the group has asked EC2 to terminate the instance.
	terminationRequested bool
	// standby says that it does not count towards the group's capacity.
	standby bool
	// outgoing, if set, says that it is terminated when its replacement is in service.
	outgoing *outgoing
}

// active reports whether the member counts towards the group's capacity.
func (m *member) active() bool { return !m.leaving && !m.standby }

func (g *group) active() int {
	n := 0
	for _, m := range g.members {
		if m.active() {
			n++
		}
	}
	return n
}

func (g *group) inService() int {
	n := 0
	for _, m := range g.members {
		if m.active() && m.state == types.LifecycleStateInService {
			n++
		}
	}
	return n
}

func (g *group) member(id string) *member {
	for _, m := range g.members {
		if m.id == id {
			return m
		}
	}
	return nil
}

func (g *group) remove(m *member) {
	g.members = slices.DeleteFunc(g.members, func(other *member) bool { return other == m })
}

func (g *group) is(suspended string) bool {
	_, ok := g.suspended[suspended]
	return ok
}

// launchTemplate returns the group's own template or that of its mixed instances policy.
func (g *group) launchTemplate() *types.LaunchTemplateSpecification {
	if g.mixed != nil && g.mixed.LaunchTemplate != nil {
		return g.mixed.LaunchTemplate.LaunchTemplateSpecification
	}
	return g.template
}
