package autoscaling

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

const (
	checkEC2 = "EC2"
	checkELB = "ELB"
	checkEBS = "EBS"
	checkVPC = "VPC_LATTICE"
)

// policies are the predefined termination policies.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-termination-policies.html
var policies = []string{
	"AllocationStrategy", "ClosestToNextInstanceHour", "Default", "NewestInstance", "OldestInstance",
	"OldestLaunchConfiguration", "OldestLaunchTemplate",
}

// newSettings returns the default settings of a group.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_CreateAutoScalingGroup.html
func newSettings() settings {
	return settings{healthCheckType: checkEC2, cooldown: 300, policies: []string{"Default"}}
}

// request holds the common parameters of the creation and the update of a group. Nil and empty
// members are not set.
type request struct {
	min, max, desired *int32
	subnets           *string
	template          *types.LaunchTemplateSpecification
	mixed             *types.MixedInstancesPolicy
	healthCheckType   *string
	grace             *int32
	cooldown          *int32
	warmup            *int32
	policies          []string
	protect           *bool
	rebalance         *bool
	context           *string
	serviceRole       *string
	capacityType      *string
	maxLifetime       *int32
	lifecycle         *types.InstanceLifecyclePolicy
	refused           []refusal
}

// refusal is an unsupported parameter that would change what a group does.
type refusal struct {
	given bool
	what  string
}

func (r *request) check() error {
	for _, f := range r.refused {
		if f.given {
			return unsupported(f.what)
		}
	}
	return nil
}

func ofCreate(in *autoscaling.CreateAutoScalingGroupInput) *request {
	return &request{
		min: in.MinSize, max: in.MaxSize, desired: in.DesiredCapacity, subnets: in.VPCZoneIdentifier, template: in.LaunchTemplate,
		mixed: in.MixedInstancesPolicy, healthCheckType: in.HealthCheckType, grace: in.HealthCheckGracePeriod, cooldown: in.DefaultCooldown,
		warmup: in.DefaultInstanceWarmup, policies: in.TerminationPolicies, protect: in.NewInstancesProtectedFromScaleIn,
		rebalance: in.CapacityRebalance, context: in.Context, serviceRole: in.ServiceLinkedRoleARN,
		capacityType: in.DesiredCapacityType, maxLifetime: in.MaxInstanceLifetime, lifecycle: in.InstanceLifecyclePolicy,
		refused: []refusal{
			{deref(in.LaunchConfigurationName) != "", "launch configurations: use a launch template"},
			{deref(in.InstanceId) != "", "groups made from an instance"},
			{len(in.LoadBalancerNames) > 0, "classic load balancers of groups: use target groups"},
			{deref(in.PlacementGroup) != "", "placement groups"},
			{in.CapacityReservationSpecification != nil, "capacity reservations"},
			{in.AvailabilityZoneImpairmentPolicy != nil && deref(in.AvailabilityZoneImpairmentPolicy.ZonalShiftEnabled), "zonal shifts"},
			{in.InstanceMaintenancePolicy != nil && maintained(in.InstanceMaintenancePolicy), "instance maintenance policies"},
			{deletionProtected(in.DeletionProtection), "deletion protection of groups"},
			{distributed(in.AvailabilityZoneDistribution), "balanced-only distribution over zones"},
			{deref(in.MaxInstanceLifetime) > 0, "a maximum instance lifetime"},
			{in.DesiredCapacityType != nil && *in.DesiredCapacityType != "units", "capacity in other than units"},
		},
	}
}

func ofUpdate(in *autoscaling.UpdateAutoScalingGroupInput) *request {
	return &request{
		min: in.MinSize, max: in.MaxSize, desired: in.DesiredCapacity, subnets: in.VPCZoneIdentifier, template: in.LaunchTemplate,
		mixed: in.MixedInstancesPolicy, healthCheckType: in.HealthCheckType, grace: in.HealthCheckGracePeriod, cooldown: in.DefaultCooldown,
		warmup: in.DefaultInstanceWarmup, policies: in.TerminationPolicies, protect: in.NewInstancesProtectedFromScaleIn,
		rebalance: in.CapacityRebalance, context: in.Context, serviceRole: in.ServiceLinkedRoleARN,
		capacityType: in.DesiredCapacityType, maxLifetime: in.MaxInstanceLifetime, lifecycle: in.InstanceLifecyclePolicy,
		refused: []refusal{
			{deref(in.LaunchConfigurationName) != "", "launch configurations: use a launch template"},
			{deref(in.PlacementGroup) != "", "placement groups"},
			{in.CapacityReservationSpecification != nil, "capacity reservations"},
			{in.AvailabilityZoneImpairmentPolicy != nil && deref(in.AvailabilityZoneImpairmentPolicy.ZonalShiftEnabled), "zonal shifts"},
			{in.InstanceMaintenancePolicy != nil && maintained(in.InstanceMaintenancePolicy), "instance maintenance policies"},
			{deletionProtected(in.DeletionProtection), "deletion protection of groups"},
			{distributed(in.AvailabilityZoneDistribution), "balanced-only distribution over zones"},
			{deref(in.MaxInstanceLifetime) > 0, "a maximum instance lifetime"},
			{in.DesiredCapacityType != nil && *in.DesiredCapacityType != "units", "capacity in other than units"},
		},
	}
}

// maintained reports whether a maintenance policy is set: -1 means no value.
func maintained(p *types.InstanceMaintenancePolicy) bool {
	return p.MinHealthyPercentage != nil && *p.MinHealthyPercentage != -1 || p.MaxHealthyPercentage != nil && *p.MaxHealthyPercentage != -1
}

func deletionProtected(p types.DeletionProtection) bool { return p != "" && p != "none" }

func distributed(d *types.AvailabilityZoneDistribution) bool {
	return d != nil && d.CapacityDistributionStrategy == types.CapacityDistributionStrategyBalancedOnly
}

// apply merges the request over the old settings and validates the result.
func (r *request) apply(old settings, desired int, first bool) (next settings, capacity int, err error) {
	if err := r.check(); err != nil {
		return old, 0, err
	}
	next = old
	r.applySizes(&next)
	r.applyLaunch(&next)
	r.applyHealth(&next)
	r.applyRest(&next)
	capacity, err = r.capacity(&next, desired, first)
	if err != nil {
		return old, 0, err
	}
	return next, capacity, next.check()
}

func (r *request) applySizes(s *settings) {
	if r.min != nil {
		s.min = int(*r.min)
	}
	if r.max != nil {
		s.max = int(*r.max)
	}
	if r.subnets != nil {
		s.subnets = nil
		for id := range strings.SplitSeq(*r.subnets, ",") {
			if id = strings.TrimSpace(id); id != "" && !slices.Contains(s.subnets, id) {
				s.subnets = append(s.subnets, id)
			}
		}
	}
}

func (r *request) applyLaunch(s *settings) {
	switch {
	case r.mixed != nil:
		s.mixed, s.template = r.mixed, nil
		if s.mixed.InstancesDistribution == nil {
			s.mixed.InstancesDistribution = &types.InstancesDistribution{}
		}
	case r.template != nil:
		s.mixed, s.template = nil, r.template
	}
}

func (r *request) applyHealth(s *settings) {
	if r.healthCheckType != nil {
		s.healthCheckType = *r.healthCheckType
	}
	if r.grace != nil {
		s.grace = time.Duration(*r.grace) * time.Second
	}
	if r.cooldown != nil {
		s.cooldown = *r.cooldown
	}
	if r.warmup != nil {
		s.warmup = r.warmup
		if *r.warmup == -1 {
			s.warmup = nil
		}
	}
}

func (r *request) applyRest(s *settings) {
	if len(r.policies) > 0 {
		s.policies = r.policies
	}
	if r.protect != nil {
		s.protect = *r.protect
	}
	if r.rebalance != nil {
		s.rebalance = r.rebalance
	}
	if r.context != nil {
		s.context = *r.context
	}
	if r.serviceRole != nil {
		s.serviceRole = *r.serviceRole
	}
	if r.lifecycle != nil {
		s.lifecycle = r.lifecycle
	}
	if r.capacityType != nil {
		s.capacityType = *r.capacityType
	}
}

// capacity returns the desired capacity after the request. If the request does not set one, the
// current one moves into the bounds.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_UpdateAutoScalingGroup.html
func (r *request) capacity(s *settings, desired int, first bool) (int, error) {
	switch {
	case s.min < 0 || s.max < 0:
		return 0, validation("1 validation error detected: sizes must be greater than or equal to 0")
	case s.min > s.max:
		return 0, validation("Max bound, %d, must be greater than or equal to min bound, %d", s.max, s.min)
	case r.desired != nil && (int(*r.desired) < s.min || int(*r.desired) > s.max):
		return 0, validation("Desired capacity:%d must be between the specified min size:%d and max size:%d", *r.desired, s.min, s.max)
	case r.desired != nil:
		return int(*r.desired), nil
	case first:
		return s.min, nil
	}
	return min(max(desired, s.min), s.max), nil
}

// check returns an error for invalid settings.
func (s *settings) check() error {
	if len(s.subnets) == 0 {
		return validation("At least one Availability Zone or VPC Subnet is required.")
	}
	for _, name := range s.policies {
		if !slices.Contains(policies, name) {
			return validation("Invalid termination policy: %s", name)
		}
	}
	for kind := range strings.SplitSeq(s.healthCheckType, ",") {
		switch kind {
		case checkEC2, checkELB, checkEBS:
		case checkVPC:
			return unsupported("health checks of VPC Lattice")
		default:
			return validation("Invalid Health Check Type: %s", kind)
		}
	}
	if err := checkRetention(s.lifecycle); err != nil {
		return err
	}
	if s.template == nil && s.mixed == nil {
		return validation(
			"Valid requests must contain either LaunchTemplate, LaunchConfigurationName, InstanceId or MixedInstancesPolicy parameter.",
		)
	}
	return s.checkMixed()
}

func (s *settings) checkMixed() error {
	if s.mixed == nil {
		return nil
	}
	if s.mixed.LaunchTemplate == nil || s.mixed.LaunchTemplate.LaunchTemplateSpecification == nil {
		return validation("Mixed instances policy must specify a launch template.")
	}
	for _, o := range s.mixed.LaunchTemplate.Overrides {
		switch {
		case o.InstanceRequirements != nil:
			return unsupported("attribute-based instance types")
		case o.WeightedCapacity != nil && *o.WeightedCapacity != "1":
			return unsupported("weighted capacity")
		case deref(o.ImageId) != "":
			return unsupported("images of instance type overrides")
		}
	}
	return checkDistribution(s.mixed.InstancesDistribution)
}

// checkDistribution returns an error for invalid shares of on-demand and spot instances.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html
func checkDistribution(d *types.InstancesDistribution) error {
	if d == nil {
		return nil
	}
	strategies := []string{"", "lowest-price", "capacity-optimized", "capacity-optimized-prioritized", "price-capacity-optimized"}
	percentage := int32(100)
	if d.OnDemandPercentageAboveBaseCapacity != nil {
		percentage = *d.OnDemandPercentageAboveBaseCapacity
	}
	switch {
	case percentage < 0 || percentage > 100:
		return validation("Invalid On-Demand percentage above base capacity: %d. It must be between 0 and 100.", percentage)
	case deref(d.OnDemandBaseCapacity) < 0:
		return validation("Invalid On-Demand base capacity: %d. It must not be negative.", *d.OnDemandBaseCapacity)
	case !slices.Contains(strategies, deref(d.SpotAllocationStrategy)):
		return validation("Invalid Spot allocation strategy: %s", *d.SpotAllocationStrategy)
	case !slices.Contains([]string{"", "prioritized", "lowest-price"}, deref(d.OnDemandAllocationStrategy)):
		return validation("Invalid On-Demand allocation strategy: %s", *d.OnDemandAllocationStrategy)
	case len(d.DistributionSegments) > 0:
		return unsupported("distribution segments")
	}
	return nil
}
