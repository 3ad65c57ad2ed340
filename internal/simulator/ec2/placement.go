package ec2

import (
	"context"
	"net/http"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Limits of placement groups.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/limitations-placement-groups.html
const (
	maxPlacementGroups  = 500 // of an account in a region
	maxPartitions       = 7   // in a zone
	spreadPerZone       = 7   // running instances
	maxPlacementName    = 255
	placementPartitions = 2 // if a request does not say
)

// placementGroup is a placement group.
type placementGroup struct {
	id, name   string
	strategy   types.PlacementStrategy
	spread     types.SpreadLevel
	partitions int32
}

func (s *Service) placementOperations() map[string]wire.Operation {
	return map[string]wire.Operation{
		"CreatePlacementGroup":    wire.Op(s.createPlacementGroup),
		"DeletePlacementGroup":    wire.Op(s.deletePlacementGroup),
		"DescribePlacementGroups": wire.Op(s.describePlacementGroups),
	}
}

func noPlacementGroup(name string) *wire.Error {
	return wire.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", name)
}

// addPlacementGroup creates a placement group. The caller holds the lock.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreatePlacementGroup.html
func (s *Service) addPlacementGroup(r *region, g *placementGroup, tags map[string]string) error {
	_, exists := r.placement[g.name]
	switch {
	case g.name == "":
		return missing("GroupName")
	case len(g.name) > maxPlacementName || slices.ContainsFunc([]byte(g.name), func(c byte) bool { return c > 0x7e }):
		return invalid("Value (%s) for parameter groupName is invalid. It has at most 255 ASCII characters.", g.name)
	case exists:
		return wire.Errorf("InvalidPlacementGroup.Duplicate", "The Placement Group '%s' already exists.", g.name)
	case len(r.placement) >= maxPlacementGroups:
		return wire.Errorf("PlacementGroupLimitExceeded", "The limit of %d placement groups has been reached.", maxPlacementGroups)
	case !slices.Contains([]types.PlacementStrategy{
		types.PlacementStrategyCluster, types.PlacementStrategySpread, types.PlacementStrategyPartition,
	}, g.strategy):
		return invalid("Value (%s) for parameter strategy is invalid.", g.strategy)
	case g.partitions != 0 && g.strategy != types.PlacementStrategyPartition:
		return wire.Errorf("InvalidParameterCombination", "The parameter PartitionCount may only be used with the partition strategy.")
	case g.partitions < 0 || g.partitions > maxPartitions:
		return invalid("Value (%d) for parameter partitionCount is invalid. It must be between 1 and %d.", g.partitions, maxPartitions)
	case g.spread != "" && g.strategy != types.PlacementStrategySpread:
		return wire.Errorf("InvalidParameterCombination", "The parameter SpreadLevel may only be used with the spread strategy.")
	case g.spread == types.SpreadLevelHost:
		return unsupported("SpreadLevel host, which is for Outposts")
	}
	if g.strategy == types.PlacementStrategyPartition && g.partitions == 0 {
		g.partitions = placementPartitions
	}
	if g.strategy == types.PlacementStrategySpread {
		g.spread = types.SpreadLevelRack
	}
	g.id = newID("pg")
	r.placement[g.name] = g
	s.tags(r.Target).Register(g.id, types.ResourceTypePlacementGroup, tags)
	return nil
}

// removePlacementGroup deletes a placement group, unless instances are in it.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/delete-placement-group.html
func (s *Service) removePlacementGroup(r *region, g *placementGroup) error {
	for _, i := range r.instances {
		if i.placed == g && i.State != terminated {
			return wire.Errorf("InvalidPlacementGroup.InUse", "The placement group '%s' is in use and may not be deleted.", g.name)
		}
	}
	delete(r.placement, g.name)
	s.tags(r.Target).Forget(g.id)
	return nil
}

func (s *Service) createPlacementGroup(
	ctx context.Context, in *ec2.CreatePlacementGroupInput,
) (*ec2.CreatePlacementGroupOutput, error) {
	switch {
	case in.LinkedGroupId != nil:
		return nil, unsupported("LinkedGroupId")
	case in.ParentGroupId != nil:
		return nil, unsupported("ParentGroupId")
	case in.Operator != nil:
		return nil, unsupported("Operator")
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypePlacementGroup)
	if err != nil {
		return nil, err
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	g := &placementGroup{
		name: aws.ToString(in.GroupName), strategy: in.Strategy, spread: in.SpreadLevel, partitions: aws.ToInt32(in.PartitionCount),
	}
	if err := s.addPlacementGroup(r, g, tags); err != nil {
		return nil, err
	}
	return &ec2.CreatePlacementGroupOutput{PlacementGroup: new(s.describePlacementGroup(r, g))}, nil
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeletePlacementGroup.html
func (s *Service) deletePlacementGroup(
	ctx context.Context, in *ec2.DeletePlacementGroupInput,
) (*ec2.DeletePlacementGroupOutput, error) {
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	g, ok := r.placement[aws.ToString(in.GroupName)]
	if !ok {
		return nil, noPlacementGroup(aws.ToString(in.GroupName))
	}
	return nil, s.removePlacementGroup(r, g)
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribePlacementGroups.html
func (s *Service) describePlacementGroups(
	ctx context.Context, in *ec2.DescribePlacementGroupsInput,
) (*ec2.DescribePlacementGroupsOutput, error) {
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	byID := map[string]*placementGroup{}
	for _, g := range r.placement {
		byID[g.id] = g
	}
	ids := in.GroupIds
	for _, name := range in.GroupNames {
		g, ok := r.placement[name]
		if !ok {
			return nil, noPlacementGroup(name)
		}
		ids = append(ids, g.id)
	}
	found, _, err := choose(s, r, choice[*placementGroup]{
		items: byID, ids: ids, missing: noPlacementGroup, filters: in.Filters,
		fields: vpc.Fields[*placementGroup]{
			"group-name":   func(g *placementGroup) []string { return []string{g.name} },
			"group-arn":    func(g *placementGroup) []string { return []string{s.placementARN(r.Target, g.name)} },
			"spread-level": func(g *placementGroup) []string { return []string{string(g.spread)} },
			"state":        func(*placementGroup) []string { return []string{string(types.PlacementGroupStateAvailable)} },
			"strategy":     func(g *placementGroup) []string { return []string{string(g.strategy)} },
		},
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribePlacementGroupsOutput{PlacementGroups: []types.PlacementGroup{}}
	for _, g := range found {
		out.PlacementGroups = append(out.PlacementGroups, s.describePlacementGroup(r, g))
	}
	return out, nil
}

func (s *Service) describePlacementGroup(r *region, g *placementGroup) types.PlacementGroup {
	d := types.PlacementGroup{
		GroupArn: aws.String(s.placementARN(r.Target, g.name)), GroupId: &g.id, GroupName: &g.name,
		State: types.PlacementGroupStateAvailable, Strategy: g.strategy, SpreadLevel: g.spread, Tags: s.tags(r.Target).List(g.id),
	}
	if g.partitions > 0 {
		d.PartitionCount = &g.partitions
	}
	return d
}

// placementARN returns the ARN of a placement group, which has its name.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html#amazonec2-resources-for-iam-policies
func (s *Service) placementARN(at wire.Target, name string) string {
	return at.ARN(s.partition(), "ec2", "placement-group/"+name)
}

// placementOf returns the placement group of a launch, nil for none. The caller holds the lock.
func (r *region) placementOf(p *types.LaunchTemplatePlacement) (*placementGroup, error) {
	if p == nil {
		return nil, nil //nolint:nilnil // nil means that there is none
	}
	id, name := aws.ToString(p.GroupId), aws.ToString(p.GroupName)
	var found *placementGroup
	switch {
	case id != "" && name != "":
		return nil, wire.Errorf("InvalidParameterCombination", "The parameters GroupId and GroupName cannot be used together.")
	case id != "":
		for _, g := range r.placement {
			if g.id == id {
				found = g
			}
		}
	case name != "":
		found = r.placement[name]
	default:
		if p.PartitionNumber != nil {
			return nil, wire.Errorf("InvalidParameterCombination", "The parameter PartitionNumber requires a partition placement group.")
		}
		return nil, nil //nolint:nilnil // as above
	}
	if found == nil {
		return nil, noPlacementGroup(id + name)
	}
	if number := p.PartitionNumber; number != nil && (*number < 1 || *number > found.partitions) {
		return nil, invalid("Value (%d) for parameter partitionNumber is invalid.", *number)
	}
	return found, nil
}

// fits returns an error if a placement group has no room for a launch in a zone. How EC2 words that a
// spread placement group is full is not documented.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html
func (r *region) fits(g *placementGroup, k *kind, zone string, more int) error {
	if g == nil {
		return nil
	}
	if !slices.Contains(k.strategies(), types.PlacementGroupStrategy(g.strategy)) {
		return wire.Errorf(
			"InvalidParameterCombination", "The instance type '%s' is not supported in placement groups with the strategy '%s'.", k.name, g.strategy,
		)
	}
	here := 0
	for _, i := range r.instances {
		switch {
		case i.placed != g || i.State == terminated:
		case i.Zone == zone && i.State != stopped:
			here++
		case i.Zone != zone && g.strategy == types.PlacementStrategyCluster:
			return wire.Errorf(
				"InvalidPlacementGroup.InUse", "The placement group '%s' is in use in another availability zone: %s", g.name, i.Zone,
			)
		}
	}
	if g.strategy == types.PlacementStrategySpread && here+more > spreadPerZone {
		return wire.Errorf(
			"InsufficientInstanceCapacity",
			"We currently do not have sufficient capacity to launch all of the additional requested instances into Placement Group '%s'", g.name,
		).WithStatus(http.StatusInternalServerError)
	}
	return nil
}

// partitionOf returns the partition of a new instance: the requested one, or the one with the fewest
// instances. It is 0 without partitions.
func (r *region) partitionOf(g *placementGroup, p *types.LaunchTemplatePlacement, zone string) int32 {
	if g == nil || g.partitions == 0 {
		return 0
	}
	if p.PartitionNumber != nil {
		return *p.PartitionNumber
	}
	in := make([]int, g.partitions)
	for _, i := range r.instances {
		if i.placed == g && i.Zone == zone && i.State != terminated {
			in[i.partition-1]++
		}
	}
	return int32(slices.Index(in, slices.Min(in))) + 1 //nolint:gosec // at most maxPartitions
}

// placementView returns where an instance is.
func (i *instance) placementView() *types.Placement {
	p := &types.Placement{AvailabilityZone: &i.Zone, GroupName: aws.String(""), Tenancy: types.TenancyDefault}
	if i.placed != nil {
		p.GroupName, p.GroupId = &i.placed.name, &i.placed.id
	}
	if i.partition > 0 {
		p.PartitionNumber = &i.partition
	}
	return p
}
