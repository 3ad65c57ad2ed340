package ec2

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// fleetTag is the tag that EC2 sets on the instances of a fleet.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/tag-ec2-fleet.html
const fleetTag = "aws:ec2:fleet-id"

// fleetRequester is the requester of the instances of fleets. AWS does not document it.
const fleetRequester = "ec2fleet.amazonaws.com"

// madeFleet is the recorded response to a request with a client token.
type madeFleet struct {
	digest string
	out    *ec2.CreateFleetOutput
	at     time.Time
}

// fleetTokensKept is how long a client token is remembered. AWS documents no time for fleets.
const fleetTokensKept = 24 * time.Hour

// fleetPool is an override of a fleet: a pool of capacity that instances may come from.
type fleetPool struct {
	launch *launch
	config *types.FleetLaunchTemplateSpecification
	// override is what the request says about the pool; it is empty without overrides.
	override types.FleetLaunchTemplateOverrides
	zone     string
	priority float64
}

// createFleet launches the instances of a fleet of type instant, the only type that the simulator
// supports: one request, whose response has the instances and the errors of each override.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateFleet.html
func (s *Service) createFleet(ctx context.Context, in *ec2.CreateFleetInput) (*ec2.CreateFleetOutput, error) {
	if err := checkFleet(in); err != nil {
		return nil, err
	}
	onDemand, spot, err := targets(in.TargetCapacitySpecification)
	if err != nil {
		return nil, err
	}
	tags, err := vpc.TagsFor(
		in.TagSpecifications,
		types.ResourceTypeFleet, types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeNetworkInterface,
	)
	if err != nil {
		return nil, err
	}
	for _, kind := range slices.Sorted(maps.Keys(tags)) {
		if err := s.mayTag(ctx, kind, tags[kind], "CreateFleet"); err != nil {
			return nil, err
		}
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	token := aws.ToString(in.ClientToken)
	if made, ok := r.fleets[token]; ok && token != "" {
		if made.digest != digest(in) {
			return nil, wire.Errorf(
				"IdempotentParameterMismatch",
				"Arguments on this idempotent request are inconsistent with arguments used in previous request(s).",
			)
		}
		return made.out, nil
	}
	pools, err := s.pools(r, in, tags)
	if err != nil {
		return nil, err
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	if err := distinct(pools); err != nil {
		return nil, err
	}
	f := &fleet{Service: s, ctx: ctx, region: r, id: "fleet-" + newFleetID(), pools: pools}
	f.launch(onDemand, false, string(onDemandStrategy(in.OnDemandOptions)))
	f.launch(spot, true, string(spotStrategy(in.SpotOptions)))
	out := &ec2.CreateFleetOutput{
		FleetId: &f.id, Instances: append([]types.CreateFleetInstance{}, f.instances...),
		Errors: append([]types.CreateFleetError{}, f.errors...),
	}
	if token != "" {
		now := s.env.Clock.Now()
		maps.DeleteFunc(r.fleets, func(_ string, f *madeFleet) bool { return now.Sub(f.at) > fleetTokensKept })
		r.fleets[token] = &madeFleet{digest: digest(in), out: out, at: now}
	}
	return out, nil
}

// newFleetID returns an ID in the form of fleets, 12a34b55-67cd-8ef9-ba9b-9208dEXAMPLE.
func newFleetID() string {
	part := func(n int) string {
		id := newID("f") + newID("f")
		return id[len(id)-n:]
	}
	return part(8) + "-" + part(4) + "-" + part(4) + "-" + part(4) + "-" + part(12)
}

func onDemandStrategy(o *types.OnDemandOptionsRequest) types.FleetOnDemandAllocationStrategy {
	if o == nil || o.AllocationStrategy == "" {
		return types.FleetOnDemandAllocationStrategyLowestPrice
	}
	return o.AllocationStrategy
}

func spotStrategy(o *types.SpotOptionsRequest) types.SpotAllocationStrategy {
	if o == nil || o.AllocationStrategy == "" {
		return types.SpotAllocationStrategyLowestPrice
	}
	return o.AllocationStrategy
}

// checkFleet returns an error for a request that EC2 refuses or that the simulator does not support.
func checkFleet(in *ec2.CreateFleetInput) error {
	if len(in.LaunchTemplateConfigs) == 0 {
		return missing("LaunchTemplateConfigs")
	}
	overrides := 0
	for i := range in.LaunchTemplateConfigs {
		overrides += len(in.LaunchTemplateConfigs[i].Overrides)
	}
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/fleet-quotas.html
	if n := len(in.LaunchTemplateConfigs); n > 50 || overrides > 300 {
		return invalid("The request has %d launch templates and %d overrides; at most 50 and 300 are allowed.", n, overrides)
	}
	onDemand, spot := cmp.Or(in.OnDemandOptions, &types.OnDemandOptionsRequest{}), cmp.Or(in.SpotOptions, &types.SpotOptionsRequest{})
	for _, p := range []struct {
		name string
		used bool
	}{
		{"Type", in.Type != types.FleetTypeInstant},
		{"Context", in.Context != nil},
		{"ExcessCapacityTerminationPolicy", in.ExcessCapacityTerminationPolicy != ""},
		{"ReplaceUnhealthyInstances", aws.ToBool(in.ReplaceUnhealthyInstances)},
		{"ReservedCapacityOptions", in.ReservedCapacityOptions != nil},
		{"TerminateInstancesWithExpiration", aws.ToBool(in.TerminateInstancesWithExpiration)},
		{"ValidFrom", in.ValidFrom != nil},
		{"ValidUntil", in.ValidUntil != nil},
		{"OnDemandOptions.CapacityReservationOptions", onDemand.CapacityReservationOptions != nil},
		{"OnDemandOptions.MaxTotalPrice", onDemand.MaxTotalPrice != nil},
		{"OnDemandOptions.MinTargetCapacity", onDemand.MinTargetCapacity != nil},
		{"OnDemandOptions.SingleAvailabilityZone", aws.ToBool(onDemand.SingleAvailabilityZone)},
		{"OnDemandOptions.SingleInstanceType", aws.ToBool(onDemand.SingleInstanceType)},
		{"SpotOptions.AllocationStrategy", spot.AllocationStrategy == types.SpotAllocationStrategyDiversified},
		{"SpotOptions.InstanceInterruptionBehavior", spot.InstanceInterruptionBehavior != "" &&
			spot.InstanceInterruptionBehavior != types.SpotInstanceInterruptionBehaviorTerminate},
		{"SpotOptions.InstancePoolsToUseCount", spot.InstancePoolsToUseCount != nil},
		{"SpotOptions.MaintenanceStrategies", spot.MaintenanceStrategies != nil},
		{"SpotOptions.MaxTotalPrice", spot.MaxTotalPrice != nil},
		{"SpotOptions.MinTargetCapacity", spot.MinTargetCapacity != nil},
		{"SpotOptions.SingleAvailabilityZone", aws.ToBool(spot.SingleAvailabilityZone)},
		{"SpotOptions.SingleInstanceType", aws.ToBool(spot.SingleInstanceType)},
	} {
		if p.used {
			return unsupported(p.name)
		}
	}
	return nil
}

// targets returns how many instances a fleet has on demand and as spot instances.
func targets(t *types.TargetCapacitySpecificationRequest) (onDemand, spot int, err error) {
	if t == nil || t.TotalTargetCapacity == nil {
		return 0, 0, missing("TargetCapacitySpecification.TotalTargetCapacity")
	}
	if t.TargetCapacityUnitType != "" && t.TargetCapacityUnitType != types.TargetCapacityUnitTypeUnits {
		return 0, 0, unsupported("TargetCapacitySpecification.TargetCapacityUnitType")
	}
	onDemand, spot = int(aws.ToInt32(t.OnDemandTargetCapacity)), int(aws.ToInt32(t.SpotTargetCapacity))
	rest := int(*t.TotalTargetCapacity) - onDemand - spot
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/fleet-quotas.html
	if *t.TotalTargetCapacity < 1 || *t.TotalTargetCapacity > 10000 || onDemand < 0 || spot < 0 || rest < 0 {
		return 0, 0, invalid("The total target capacity %d does not fit %d on demand and %d spot; it is at most 10000.",
			*t.TotalTargetCapacity, onDemand, spot)
	}
	switch t.DefaultTargetCapacityType {
	case "", types.DefaultTargetCapacityTypeOnDemand:
		return onDemand + rest, spot, nil
	case types.DefaultTargetCapacityTypeSpot:
		return onDemand, spot + rest, nil
	default:
		return 0, 0, unsupported("TargetCapacitySpecification.DefaultTargetCapacityType")
	}
}

// pools returns the pools of a request in its order. The caller holds the lock.
func (s *Service) pools(r *region, in *ec2.CreateFleetInput, tags map[types.ResourceType]map[string]string) ([]*fleetPool, error) {
	var pools []*fleetPool
	for i := range in.LaunchTemplateConfigs {
		c := &in.LaunchTemplateConfigs[i]
		of := c.LaunchTemplateSpecification
		switch {
		case of == nil:
			return nil, missing("LaunchTemplateSpecification")
		case of.LaunchTemplateSpecificationUserData != nil:
			return nil, unsupported("LaunchTemplateSpecification.LaunchTemplateSpecificationUserData")
		case aws.ToString(of.Version) == "":
			return nil, missing("LaunchTemplateSpecification.Version")
		}
		t, err := r.template(of.LaunchTemplateId, of.LaunchTemplateName)
		if err != nil {
			return nil, err
		}
		v, err := t.version(*of.Version)
		if err != nil {
			return nil, err
		}
		overrides := c.Overrides
		if len(overrides) == 0 {
			overrides = []types.FleetLaunchTemplateOverridesRequest{{}}
		}
		for n := range overrides {
			p, err := s.pool(r, t, v, &overrides[n], tags)
			if err != nil {
				return nil, err
			}
			pools = append(pools, p)
		}
	}
	return pools, nil
}

// pool returns the pool of an override of a template's version.
func (s *Service) pool(
	r *region, t *launchTemplate, v *templateVersion, o *types.FleetLaunchTemplateOverridesRequest,
	tags map[types.ResourceType]map[string]string,
) (*fleetPool, error) {
	for _, p := range []struct {
		name string
		used bool
	}{
		{"AvailabilityZoneId", o.AvailabilityZoneId != nil},
		{"BlockDeviceMappings", len(o.BlockDeviceMappings) > 0},
		{"IamInstanceProfile", o.IamInstanceProfile != nil},
		{"InstanceRequirements", o.InstanceRequirements != nil},
		{"KeyName", o.KeyName != nil},
		{"MaxPrice", o.MaxPrice != nil},
		{"MetadataOptions", o.MetadataOptions != nil},
		{"Placement", o.Placement != nil},
		{"WeightedCapacity", o.WeightedCapacity != nil && *o.WeightedCapacity != 1},
	} {
		if p.used {
			return nil, unsupported("Overrides." + p.name)
		}
	}
	request := &launchData{InstanceType: o.InstanceType, ImageId: o.ImageId}
	for _, kind := range slices.Sorted(maps.Keys(tags)) {
		if kind == types.ResourceTypeFleet {
			continue
		}
		own := types.LaunchTemplateTagSpecification{ResourceType: kind}
		for key, value := range tags[kind] {
			own.Tags = append(own.Tags, types.Tag{Key: aws.String(key), Value: aws.String(value)})
		}
		request.TagSpecifications = append(request.TagSpecifications, own)
	}
	data, err := merged(v.data, request)
	if err != nil {
		return nil, err
	}
	p := &fleetPool{
		launch: &launch{data: data, template: t, version: strconv.FormatInt(v.number, 10), least: 1, most: 1, requester: fleetRequester},
		config: &types.FleetLaunchTemplateSpecification{LaunchTemplateId: &t.id, Version: aws.String(strconv.FormatInt(v.number, 10))},
		override: types.FleetLaunchTemplateOverrides{
			InstanceType: o.InstanceType, ImageId: o.ImageId, SubnetId: o.SubnetId, AvailabilityZone: o.AvailabilityZone,
			Priority: o.Priority, WeightedCapacity: o.WeightedCapacity,
		},
		zone: aws.ToString(o.AvailabilityZone), priority: math.MaxFloat64,
	}
	if o.Priority != nil {
		p.priority = *o.Priority
	}
	if data.InstanceMarketOptions != nil {
		return nil, unsupported("InstanceMarketOptions of the launch template of a fleet")
	}
	if o.SubnetId != nil {
		subnet, ok := s.network.Subnet(r.Account, r.Region, *o.SubnetId)
		if !ok {
			return nil, wire.Errorf("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", *o.SubnetId)
		}
		if p.zone != "" && p.zone != subnet.Zone {
			return nil, invalid("The subnet '%s' is in the availability zone '%s', not in '%s'.", *o.SubnetId, subnet.Zone, p.zone)
		}
		p.zone = subnet.Zone
	}
	p.inSubnet(aws.ToString(o.SubnetId))
	return p, nil
}

// inSubnet sets the subnet of a pool: a launch template leaves that of its interface to the fleet.
func (p *fleetPool) inSubnet(id string) {
	d := p.launch.data
	switch {
	case id == "" && p.zone != "":
		d.Placement = &types.LaunchTemplatePlacement{AvailabilityZone: aws.String(p.zone)}
	case id == "":
	case len(d.NetworkInterfaces) == 0:
		p.launch.subnet = id
	default:
		for i := range d.NetworkInterfaces {
			if d.NetworkInterfaces[i].SubnetId == nil {
				d.NetworkInterfaces[i].SubnetId = aws.String(id)
			}
		}
	}
}

// distinct returns an error if two overrides are the same pool: an instance type in a zone, whatever
// the subnet.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/create-ec2-fleet.html#EC2-fleet-limitations
// https://github.com/github-aws-runners/terraform-aws-github-runner/issues/5297
func distinct(pools []*fleetPool) error {
	seen := map[zoneKind]bool{}
	for _, p := range pools {
		key := zoneKind{p.zone, string(p.launch.data.InstanceType)}
		if seen[key] {
			return wire.Errorf("InvalidFleetConfig", "The fleet configuration contains duplicate instance pools.")
		}
		seen[key] = true
	}
	return nil
}

// fleet is a fleet whose instances are launched.
type fleet struct {
	*Service

	ctx       context.Context //nolint:containedctx // of the request
	region    *region
	id        string
	pools     []*fleetPool
	instances []types.CreateFleetInstance
	errors    []types.CreateFleetError
}

// launch launches a number of instances from the pools, in the order of a strategy. A pool without
// capacity, or one that the caller may not use, is an error of the response, and the next one is
// tried. Of the strategies by capacity, the simulator knows only which pools have none.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-fleet-allocation-strategy.html
func (f *fleet) launch(count int, spot bool, strategy string) {
	for _, p := range ordered(f.pools, strategy) {
		var ids []string
		for count > 0 {
			id, err := f.one(p, spot)
			if err != nil {
				f.fail(p, spot, err)
				break
			}
			ids = append(ids, id)
			count--
		}
		if len(ids) == 0 {
			continue
		}
		f.instances = append(f.instances, types.CreateFleetInstance{
			InstanceIds: ids, InstanceType: p.launch.data.InstanceType, Lifecycle: lifecycle(spot),
			AvailabilityZone: wire.Optional(p.zone), SubnetId: p.override.SubnetId, LaunchTemplateAndOverrides: p.describe(),
		})
	}
}

func lifecycle(spot bool) types.InstanceLifecycle {
	if spot {
		return types.InstanceLifecycleSpot
	}
	return types.InstanceLifecycleOnDemand
}

// ordered returns the pools in the order in which a strategy uses them.
func ordered(pools []*fleetPool, strategy string) []*fleetPool {
	list := slices.Clone(pools)
	byPriority := strategy == string(types.FleetOnDemandAllocationStrategyPrioritized) ||
		strategy == string(types.SpotAllocationStrategyCapacityOptimizedPrioritized)
	slices.SortStableFunc(list, func(a, b *fleetPool) int {
		if byPriority {
			return cmp.Compare(a.priority, b.priority)
		}
		return cmp.Compare(priceOf(string(a.launch.data.InstanceType)), priceOf(string(b.launch.data.InstanceType)))
	})
	return list
}

// one launches an instance from a pool.
func (f *fleet) one(p *fleetPool, spot bool) (string, error) {
	l := *p.launch
	data := *l.data
	l.data, l.tags = &data, map[string]string{fleetTag: f.id}
	if spot {
		data.InstanceMarketOptions = &types.LaunchTemplateInstanceMarketOptions{MarketType: types.MarketTypeSpot}
	}
	if err := f.decide(f.region, &l); err != nil {
		return "", err
	}
	if err := f.mayRun(f.ctx, &l, "CreateFleet"); err != nil {
		return "", err
	}
	made, err := f.run(f.region, &l)
	if err != nil {
		return "", err
	}
	return made.instances[0].ID, nil
}

func (f *fleet) fail(p *fleetPool, spot bool, err error) {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		e = wire.Errorf("InternalError", "%v", err).WithStatus(http.StatusInternalServerError)
	}
	f.errors = append(f.errors, types.CreateFleetError{
		ErrorCode: aws.String(e.Code), ErrorMessage: aws.String(e.Message), Lifecycle: lifecycle(spot),
		LaunchTemplateAndOverrides: p.describe(),
	})
}

func (p *fleetPool) describe() *types.LaunchTemplateAndOverridesResponse {
	override := p.override
	return &types.LaunchTemplateAndOverridesResponse{LaunchTemplateSpecification: p.config, Overrides: &override}
}
