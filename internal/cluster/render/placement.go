package render

import (
	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// placementGroup is the templates' data of a placement group.
type placementGroup struct {
	Strategy v1alpha1.PlacementStrategy
	// Partitions is the number of partitions, 0 without.
	Partitions int32
	// Tags are its tags. They never change, because CloudFormation would replace the placement group,
	// which cannot be deleted while instances are in it. CloudFormation does not add those of the stack.
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-placementgroup.html
	Tags []tag
}

// place sets the placement of a group's instances.
func (m *machine) place(c *model.Cluster, g *model.Group) error {
	p := g.Spec.Placement
	if p == nil {
		return nil
	}
	if p.Strategy == "" {
		name, err := quote(p.Group)
		m.Placement = name
		return err
	}
	m.Placement = "!Ref PlacementGroup"
	m.PlacementGroup = &placementGroup{
		Strategy: p.Strategy, Partitions: p.Partitions,
		Tags: tags(map[string]string{"Name": g.StackName, model.TagCluster: c.Name, model.TagInstanceGroup: g.Name}),
	}
	return nil
}
