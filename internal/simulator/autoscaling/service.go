package autoscaling

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Balancers provides the target groups of instances.
type Balancers interface {
	// Exists reports whether a target group exists.
	Exists(account, region, targetGroup string) bool
	// Register adds an instance to a target group. It returns an error if the target group does not
	// exist.
	Register(account, region, targetGroup, instanceID string) error
	// Deregister removes an instance from a target group.
	Deregister(account, region, targetGroup, instanceID string) error
	// Health returns the health of an instance in a target group: "unused" if it is not registered
	// there.
	Health(account, region, targetGroup, instanceID string) elb.TargetHealthStateEnum
	// Watch calls fn with the ID of an instance when its health in a target group changes. Call
	// Watch before the first registration.
	Watch(fn func(instanceID string))
}

// Options are the dependencies of groups.
type Options struct {
	// Compute launches and terminates the instances.
	Compute *ec2.Service
	// Balancers provides the target groups.
	Balancers Balancers
	// Zone returns the zone of a subnet, and whether the subnet exists.
	Zone func(account, region, subnetID string) (zone string, ok bool)
	// Publish emits an event on the default bus. By default events are dropped.
	Publish func(ctx context.Context, account, region, source, detailType string, resources []string, detail any)
}

// Service is the simulated Auto Scaling of all accounts and regions.
type Service struct {
	env     *resource.Env
	options Options
	regions wire.Store[region]
	queue   queue
	// owners maps instances to their groups.
	owners sync.Map
}

// region holds the groups of one account and region.
type region struct {
	wire.Target

	mu     sync.Mutex
	groups map[string]*group
}

// New returns a service without groups.
func New(env *resource.Env, options Options) *Service {
	s := &Service{env: env, options: options}
	if options.Publish == nil {
		s.options.Publish = func(context.Context, string, string, string, string, []string, any) {}
	}
	s.queue.run = s.converge
	s.regions.New = func(p wire.Target) *region { return &region{Target: p, groups: map[string]*group{}} }
	options.Compute.Watch(func(i ec2.Instance) { s.instanceChanged(i.ID) })
	options.Balancers.Watch(s.instanceChanged)
	return s
}

// instanceChanged enqueues the group of an instance. It may be called with locks held, because the
// queue reconciles the group.
func (s *Service) instanceChanged(id string) {
	if g, ok := s.owner(id); ok {
		s.queue.post(g)
	}
}

// owner returns the group of an instance.
func (s *Service) owner(id string) (*group, bool) {
	g, ok := s.owners.Load(id)
	if !ok {
		return nil, false
	}
	owner, ok := g.(*group)
	return owner, ok
}

// Close lets running steps finish and stops all groups.
func (s *Service) Close() {
	s.queue.stop()
	for _, r := range s.regions.All() {
		r.mu.Lock()
		for _, g := range r.groups {
			if g.timer != nil {
				g.timer.Stop()
			}
		}
		r.mu.Unlock()
	}
}

func (s *Service) partition() string { return cmp.Or(s.env.Partition, "aws") }

func (s *Service) now() time.Time { return s.env.Clock.Now() }

// at returns the region of a call.
func (s *Service) at(ctx context.Context) *region { return s.regions.At(wire.TargetFrom(ctx)) }

// find returns a group by its name. The caller holds the lock.
func (r *region) find(name *string) (*group, error) {
	if name == nil || *name == "" {
		return nil, validation(
			"1 validation error detected: Value null at 'autoScalingGroupName' failed to satisfy constraint: Member must not be null",
		)
	}
	g, ok := r.groups[*name]
	if !ok {
		return nil, validation("AutoScalingGroup name not found - AutoScalingGroup '%s' not found", *name)
	}
	return g, nil
}

// change runs fn on a group under its region's lock and enqueues the group.
func (s *Service) change(ctx context.Context, name *string, fn func(*group) error) error {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	g, err := r.find(name)
	if err != nil {
		return err
	}
	if err := fn(g); err != nil {
		return err
	}
	s.queue.post(g)
	return nil
}

// changeOwner is like change, for the group of an instance.
func (s *Service) changeOwner(ctx context.Context, id *string, fn func(*group, *member) error) error {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if g, ok := s.owner(deref(id)); ok && g.region == r {
		if m := g.member(*id); m != nil {
			if err := fn(g, m); err != nil {
				return err
			}
			s.queue.post(g)
			return nil
		}
	}
	return validation("Instance Id not found - No managed instance found for instance ID: %s", deref(id))
}

func (r *region) names() []string {
	return slices.Sorted(maps.Keys(r.groups))
}

func validation(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationError", format, args...)
}

func unsupported(what string) *wire.Error {
	return validation("The simulator does not support %s.", what)
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// Service returns the operations for the wire layer.
func (s *Service) Service() *wire.Service {
	return &wire.Service{
		Name: "autoscaling", Describe: s.access, NameOf: s.nameOf, Protocols: []wire.Protocol{wire.Query}, APIVersion: "2011-01-01",
		XMLNamespace: "http://autoscaling.amazonaws.com/doc/2011-01-01/",
		Operations: map[string]wire.Operation{
			"AttachInstances":                     wire.Op(s.attachInstances),
			"AttachLoadBalancerTargetGroups":      wire.Op(s.attachTargetGroups).WithEmptyResult(),
			"AttachTrafficSources":                wire.Op(s.attachTrafficSources).WithEmptyResult(),
			"BatchDeleteScheduledAction":          wire.Op(s.batchDeleteScheduled),
			"BatchPutScheduledUpdateGroupAction":  wire.Op(s.batchPutScheduled),
			"CancelInstanceRefresh":               wire.Op(s.cancelInstanceRefresh),
			"CompleteLifecycleAction":             wire.Op(s.completeLifecycleAction).WithEmptyResult(),
			"CreateAutoScalingGroup":              wire.Op(s.createGroup),
			"CreateOrUpdateTags":                  wire.Op(s.createOrUpdateTags),
			"DeleteAutoScalingGroup":              wire.Op(s.deleteGroup),
			"DeleteLifecycleHook":                 wire.Op(s.deleteLifecycleHook).WithEmptyResult(),
			"DeleteScheduledAction":               wire.Op(s.deleteScheduledAction),
			"DeleteTags":                          wire.Op(s.deleteTags),
			"DescribeAccountLimits":               wire.Op(s.describeAccountLimits),
			"DescribeAutoScalingGroups":           wire.Op(s.describeGroups),
			"DescribeAutoScalingInstances":        wire.Op(s.describeInstances),
			"DescribeInstanceRefreshes":           wire.Op(s.describeInstanceRefreshes),
			"DescribeLifecycleHookTypes":          wire.Op(s.describeLifecycleHookTypes),
			"DescribeLifecycleHooks":              wire.Op(s.describeLifecycleHooks),
			"DescribeLoadBalancerTargetGroups":    wire.Op(s.describeTargetGroups),
			"DescribeLoadBalancers":               wire.Op(s.describeLoadBalancers),
			"DescribeNotificationConfigurations":  wire.Op(s.describeNotificationConfigurations),
			"DescribePolicies":                    wire.Op(s.describePolicies),
			"DescribeScalingActivities":           wire.Op(s.describeActivities),
			"DescribeScalingProcessTypes":         wire.Op(s.describeProcessTypes),
			"DescribeScheduledActions":            wire.Op(s.describeScheduledActions),
			"DescribeTags":                        wire.Op(s.describeTags),
			"DescribeTerminationPolicyTypes":      wire.Op(s.describeTerminationPolicyTypes),
			"DescribeTrafficSources":              wire.Op(s.describeTrafficSources),
			"DescribeWarmPool":                    wire.Op(s.describeWarmPool),
			"DetachInstances":                     wire.Op(s.detachInstances),
			"DetachLoadBalancerTargetGroups":      wire.Op(s.detachTargetGroups).WithEmptyResult(),
			"DetachTrafficSources":                wire.Op(s.detachTrafficSources).WithEmptyResult(),
			"DisableMetricsCollection":            wire.Op(s.disableMetrics),
			"EnableMetricsCollection":             wire.Op(s.enableMetrics),
			"EnterStandby":                        wire.Op(s.enterStandby),
			"ExitStandby":                         wire.Op(s.exitStandby),
			"PutLifecycleHook":                    wire.Op(s.putLifecycleHook).WithEmptyResult(),
			"PutScheduledUpdateGroupAction":       wire.Op(s.putScheduledAction),
			"PutWarmPool":                         wire.Op(s.putWarmPool),
			"RecordLifecycleActionHeartbeat":      wire.Op(s.recordHeartbeat).WithEmptyResult(),
			"ResumeProcesses":                     wire.Op(s.resumeProcesses),
			"RollbackInstanceRefresh":             wire.Op(s.rollbackInstanceRefresh),
			"SetDesiredCapacity":                  wire.Op(s.setDesiredCapacity),
			"SetInstanceHealth":                   wire.Op(s.setInstanceHealth),
			"SetInstanceProtection":               wire.Op(s.setInstanceProtection).WithEmptyResult(),
			"StartInstanceRefresh":                wire.Op(s.startInstanceRefresh),
			"SuspendProcesses":                    wire.Op(s.suspendProcesses),
			"TerminateInstanceInAutoScalingGroup": wire.Op(s.terminateInstance),
			"UpdateAutoScalingGroup":              wire.Op(s.updateGroup),
		},
	}
}
