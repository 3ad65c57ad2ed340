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
	// pendingCause tells what changed the desired capacity last, for the next
	// activities' causes.
	pendingCause string
	// replacing counts launches that replace unhealthy instances.
	replacing int
	// failures counts launches that failed since one succeeded; retry is when to
	// try again.
	failures int
	retry    time.Time
	failure  string
	// balanceAfter is when zones may be balanced again.
	balanceAfter time.Time
	// deleting says that the group goes once its members are gone.
	deleting bool
	// aim is how many instances a stack waits for, failedBefore how many
	// launches had failed when it began to.
	aim int
	// watcher is called, without the lock, when the group may look different.
	watcher func()

	timer clock.Timer
	queue struct{ queued, running, again bool }
}

// settings are what CreateAutoScalingGroup and UpdateAutoScalingGroup set.
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
	// leaving is set once the member is on its way out.
	leaving bool
	// abandoned is why it never got into service.
	abandoned string
	// registered are the target groups that it is registered with.
	registered []string
	// left are those of them that it was taken out of on its way out.
	left []string
	// killed says that the instance was told to terminate.
	killed bool
	// standby says that it does not count for the group's capacity.
	standby bool
	// outgoing says that it goes when another has come.
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

// template of launches: the group's own or that of its mixed instances policy.
func (g *group) launchTemplate() *types.LaunchTemplateSpecification {
	if g.mixed != nil && g.mixed.LaunchTemplate != nil {
		return g.mixed.LaunchTemplate.LaunchTemplateSpecification
	}
	return g.template
}
