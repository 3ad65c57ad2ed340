package eks

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// nodegroupProperties are the properties of AWS::EKS::Nodegroup.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-eks-nodegroup.html
type nodegroupProperties struct {
	ClusterName, NodegroupName, NodeRole string
	AmiType                              types.AMITypes
	CapacityType                         types.CapacityTypes
	DiskSize                             *int32
	ForceUpdateEnabled                   bool
	InstanceTypes                        []string
	Labels                               map[string]string
	LaunchTemplate                       *types.LaunchTemplateSpecification
	NodeRepairConfig                     *types.NodeRepairConfig
	ReleaseVersion, Version              *string
	RemoteAccess                         *types.RemoteAccessConfig
	ScalingConfig                        *types.NodegroupScalingConfig
	Subnets                              []string
	Tags                                 map[string]string
	Taints                               []types.Taint
	UpdateConfig                         *types.NodegroupUpdateConfig
	WarmPoolConfig                       *types.WarmPoolConfig
}

type nodegroupProvider struct{ s *Service }

func nodegroupResult(n *types.Nodegroup) resource.Result {
	id := *n.ClusterName + "/" + *n.NodegroupName
	return resource.Result{PhysicalID: id, Attributes: map[string]any{
		"Id": id, "Arn": *n.NodegroupArn, "ClusterName": *n.ClusterName, "NodegroupName": *n.NodegroupName,
	}}
}

func (p *nodegroupProperties) tags(r resource.Request) map[string]string {
	tags := stackTags(r, nil)
	maps.Copy(tags, p.Tags)
	return tags
}

// Create begins to create a node group.
func (p nodegroupProvider) Create(ctx context.Context, r resource.Request) (resource.Result, error) {
	props, err := decode[nodegroupProperties](r.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	if props.NodegroupName == "" {
		props.NodegroupName = property.Name(r, 63, "") //nolint:mnd // of names of node groups
	}
	made, err := p.s.createNodegroup(calling(ctx, r), &eks.CreateNodegroupInput{
		ClusterName: &props.ClusterName, NodegroupName: &props.NodegroupName, NodeRole: &props.NodeRole, AmiType: props.AmiType,
		CapacityType: props.CapacityType, DiskSize: props.DiskSize, InstanceTypes: props.InstanceTypes, Labels: props.Labels,
		LaunchTemplate: props.LaunchTemplate, NodeRepairConfig: props.NodeRepairConfig, ReleaseVersion: props.ReleaseVersion,
		Version: props.Version, RemoteAccess: props.RemoteAccess, ScalingConfig: props.ScalingConfig, Subnets: props.Subnets,
		Tags: props.tags(r), Taints: props.Taints, UpdateConfig: props.UpdateConfig, WarmPoolConfig: props.WarmPoolConfig,
	})
	if err != nil {
		return resource.Result{}, exists(err, nodegroupType, props.ClusterName+"/"+props.NodegroupName)
	}
	return nodegroupResult(made.Nodegroup), nil
}

// on runs fn with the node group of a request under the lock of its region.
func (p nodegroupProvider) on(r resource.Request, fn func(*cluster, *nodegroup) error) error {
	clusterName, name := split(r.PhysicalID, "/")
	return p.s.look(r, clusterName, func(c *cluster) error {
		n, err := c.nodegroup(&name)
		if err != nil {
			return err
		}
		return fn(c, n)
	})
}

// Update begins the first of the changes. Stable begins the next one.
func (p nodegroupProvider) Update(ctx context.Context, r resource.Request) (result resource.Result, err error) {
	if _, err := p.next(ctx, r); err != nil {
		return result, handled(err)
	}
	err = p.on(r, func(_ *cluster, n *nodegroup) error {
		result = nodegroupResult(&n.Nodegroup)
		return nil
	})
	return result, handled(err)
}

// next begins the next change that a node group needs, and reports whether there is one.
func (p nodegroupProvider) next(ctx context.Context, r resource.Request) (begun bool, err error) {
	props, err := decode[nodegroupProperties](r.Properties)
	if err != nil {
		return false, err
	}
	var config *eks.UpdateNodegroupConfigInput
	var version *eks.UpdateNodegroupVersionInput
	err = p.on(r, func(c *cluster, n *nodegroup) error {
		n.Tags = props.tags(r)
		config, version = props.config(&n.Nodegroup), p.version(c, n, props)
		return nil
	})
	switch {
	case err != nil:
		return false, err
	case config != nil:
		_, err = p.s.updateNodegroupConfig(calling(ctx, r), config)
		return true, err
	case version != nil:
		_, err = p.s.updateNodegroupVersion(calling(ctx, r), version)
		return true, err
	}
	return false, nil
}

// config returns the change of the configuration that a node group needs, or nil.
func (p *nodegroupProperties) config(live *types.Nodegroup) *eks.UpdateNodegroupConfigInput {
	in := &eks.UpdateNodegroupConfigInput{ClusterName: live.ClusterName, NodegroupName: live.NodegroupName}
	changed := false
	if w, has := p.ScalingConfig, live.ScalingConfig; w != nil {
		if *or(w.MinSize, *has.MinSize) != *has.MinSize || *or(w.MaxSize, *has.MaxSize) != *has.MaxSize ||
			*or(w.DesiredSize, *has.DesiredSize) != *has.DesiredSize {
			in.ScalingConfig, changed = w, true
		}
	}
	if !maps.Equal(p.Labels, live.Labels) {
		labels := &types.UpdateLabelsPayload{AddOrUpdateLabels: p.Labels}
		for key := range live.Labels {
			if _, stays := p.Labels[key]; !stays {
				labels.RemoveLabels = append(labels.RemoveLabels, key)
			}
		}
		in.Labels, changed = labels, true
	}
	same := func(a, b types.Taint) bool {
		return value(a.Key) == value(b.Key) && value(a.Value) == value(b.Value) && a.Effect == b.Effect
	}
	if !slices.EqualFunc(p.Taints, live.Taints, same) {
		in.Taints, changed = &types.UpdateTaintsPayload{AddOrUpdateTaints: p.Taints, RemoveTaints: live.Taints}, true
	}
	if w, has := p.UpdateConfig, live.UpdateConfig; w != nil &&
		(value(w.MaxUnavailable) != value(has.MaxUnavailable) || value(w.MaxUnavailablePercentage) != value(has.MaxUnavailablePercentage)) {
		in.UpdateConfig, changed = w, true
	}
	if w := p.NodeRepairConfig; w != nil && (live.NodeRepairConfig == nil || value(w.Enabled) != value(live.NodeRepairConfig.Enabled)) {
		in.NodeRepairConfig, changed = w, true
	}
	if !changed {
		return nil
	}
	return in
}

// version returns the change of the version that a node group needs, or nil.
func (p nodegroupProvider) version(c *cluster, n *nodegroup, props *nodegroupProperties) *eks.UpdateNodegroupVersionInput {
	in := &eks.UpdateNodegroupVersionInput{ClusterName: c.Name, NodegroupName: n.NodegroupName, Force: props.ForceUpdateEnabled}
	changed := false
	if props.Version != nil && *props.Version != *n.Version {
		in.Version, changed = props.Version, true
	}
	if props.ReleaseVersion != nil && *props.ReleaseVersion != *n.ReleaseVersion {
		in.ReleaseVersion, changed = props.ReleaseVersion, true
	}
	if w := props.LaunchTemplate; w != nil && n.LaunchTemplate != nil {
		found, err := p.s.options.Instances.LaunchTemplate(c.at.Account, c.at.Region, *or(w.Id, value(w.Name)), value(w.Version))
		if err == nil && found.Version != *n.LaunchTemplate.Version {
			in.LaunchTemplate, changed = w, true
		}
	}
	if !changed {
		return nil
	}
	return in
}

// Stable reports whether a node group is active and as its properties or, after a Delete, no longer
// exists.
func (p nodegroupProvider) Stable(ctx context.Context, r resource.Request) (bool, error) {
	var shown types.Nodegroup
	done := true
	err := p.on(r, func(c *cluster, n *nodegroup) (err error) {
		shown = n.Nodegroup
		done, err = ended(c, *n.NodegroupName, "")
		return err
	})
	if isMissing(err) {
		return true, nil
	}
	switch {
	case err != nil:
		return false, err
	case shown.Status == types.NodegroupStatusCreateFailed:
		issue := shown.Health.Issues[0]
		return false, resource.Errorf(resource.NotStabilized, "[Issue(Code=%s, Message=%s, ResourceIds=%v)]", issue.Code, *issue.Message,
			issue.ResourceIds)
	case shown.Status != types.NodegroupStatusActive && shown.Status != types.NodegroupStatusDegraded || !done:
		return false, nil
	}
	begun, err := p.next(ctx, r)
	return !begun && err == nil, handled(err)
}

// Delete begins to delete a node group.
func (p nodegroupProvider) Delete(ctx context.Context, r resource.Request) error {
	clusterName, name := split(r.PhysicalID, "/")
	_, err := p.s.deleteNodegroup(calling(ctx, r), &eks.DeleteNodegroupInput{ClusterName: &clusterName, NodegroupName: &name})
	return handled(err)
}

// List returns the identifiers of node groups.
func (p nodegroupProvider) List(_ context.Context, at wire.Target) (ids []string, err error) {
	reg := p.s.enter(at)
	defer p.s.leave(reg)
	for name, c := range reg.clusters {
		for n := range c.nodegroups {
			ids = append(ids, name+"/"+n)
		}
	}
	return ids, nil
}

// Read returns the properties of a node group.
func (p nodegroupProvider) Read(_ context.Context, r resource.Request) (live map[string]any, err error) {
	err = p.on(r, func(_ *cluster, n *nodegroup) error {
		live = nodegroupResult(&n.Nodegroup).Attributes
		maps.Copy(live, map[string]any{
			"NodeRole": *n.NodeRole, "AmiType": string(n.AmiType), "CapacityType": string(n.CapacityType), "Version": *n.Version,
			"ReleaseVersion": *n.ReleaseVersion, "Subnets": texts(n.Subnets), "ScalingConfig": property.Plain(n.ScalingConfig),
			"UpdateConfig": property.Plain(n.UpdateConfig),
		})
		if n.NodeRepairConfig != nil {
			live["NodeRepairConfig"] = property.Plain(n.NodeRepairConfig)
		}
		if n.InstanceTypes != nil {
			live["InstanceTypes"] = texts(n.InstanceTypes)
		}
		if n.DiskSize != nil {
			live["DiskSize"] = float64(*n.DiskSize)
		}
		if len(n.Labels) > 0 {
			live["Labels"] = property.Plain(n.Labels)
		}
		if len(n.Taints) > 0 {
			live["Taints"] = property.Plain(n.Taints)
		}
		if n.LaunchTemplate != nil {
			live["LaunchTemplate"] = property.Plain(n.LaunchTemplate)
		}
		own := map[string]any{}
		for key, v := range n.Tags {
			if inherited, ok := r.Tags[key]; !ok || inherited != v {
				own[key] = v
			}
		}
		if len(own) > 0 {
			live["Tags"] = own
		}
		return nil
	})
	return live, handled(err)
}
