package ec2

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
)

type placementProperties struct {
	Strategy, SpreadLevel string
	PartitionCount        int32
	Tags                  []property.Tag
}

// placementProvider provides placement groups. They have no tags of their stack, not even
// CloudFormation's own: in the type's schema, tagUpdatable and cloudFormationSystemTags are false.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-placementgroup.html
type placementProvider struct{ s *Service }

func placementResult(g *placementGroup) resource.Result {
	return resource.Result{PhysicalID: g.name, Attributes: map[string]any{"GroupName": g.name}}
}

// Create creates a placement group.
func (p placementProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	var props placementProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	tags := property.Tags(nil, props.Tags)
	if err := vpc.CheckTags(tags, false); err != nil {
		return resource.Result{}, handled(err)
	}
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	g := &placementGroup{
		name: property.Name(r, maxPlacementName, ""), strategy: types.PlacementStrategy(props.Strategy),
		spread: types.SpreadLevel(props.SpreadLevel), partitions: props.PartitionCount,
	}
	if g.strategy == "" {
		g.strategy = types.PlacementStrategyCluster
	}
	if err := p.s.addPlacementGroup(reg, g, tags); err != nil {
		return resource.Result{}, handled(err)
	}
	return placementResult(g), nil
}

func (p placementProvider) find(reg *region, r resource.Request) (*placementGroup, error) {
	g, ok := reg.placement[r.PhysicalID]
	if !ok {
		return nil, property.Missing(placedType, r.PhysicalID)
	}
	return g, nil
}

// Update does nothing, because every change of a property replaces the placement group.
func (p placementProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	g, err := p.find(reg, r)
	if err != nil {
		return resource.Result{}, err
	}
	return placementResult(g), nil
}

// Delete deletes a placement group.
func (p placementProvider) Delete(_ context.Context, r resource.Request) error {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	g, err := p.find(reg, r)
	if err != nil {
		return err
	}
	return handled(p.s.removePlacementGroup(reg, g))
}

// Read returns a placement group's properties.
func (p placementProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	g, err := p.find(reg, r)
	if err != nil {
		return nil, err
	}
	live := map[string]any{"GroupName": g.name, "Strategy": string(g.strategy)}
	if g.spread != "" {
		live["SpreadLevel"] = string(g.spread)
	}
	if g.partitions > 0 {
		live["PartitionCount"] = float64(g.partitions)
	}
	if tags := property.OwnTags(p.s.tags(reg.Target).Get(g.id), nil); len(tags) > 0 {
		live["Tags"] = tags
	}
	return live, nil
}
