package eks

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// idleNodegroup returns a node group that can change.
func (r *region) idleNodegroup(clusterName, name *string) (*cluster, *nodegroup, error) {
	c, err := r.active(clusterName)
	if err != nil {
		return nil, nil, err
	}
	n, err := c.nodegroup(name)
	if err != nil {
		return nil, nil, err
	}
	if n.Status != types.NodegroupStatusActive && n.Status != types.NodegroupStatusDegraded {
		e := inUse(*c.Name, "Nodegroup cannot be updated as it is currently not in Active State")
		e.Detail[memberNodegroup] = *n.NodegroupName
		return nil, nil, e
	}
	return c, n, nil
}

// updateNodegroupConfig begins to change the sizes, the labels, the taints or the update settings of a
// node group.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateNodegroupConfig.html
func (s *Service) updateNodegroupConfig(
	ctx context.Context, in *eks.UpdateNodegroupConfigInput,
) (*eks.UpdateNodegroupConfigOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, n, err := r.idleNodegroup(in.ClusterName, in.NodegroupName)
	if err != nil {
		return nil, err
	}
	switch {
	case repairsWithLimits(in.NodeRepairConfig):
		return nil, unsupported(*c.Name, "nodeRepairConfig with limits or overrides")
	case in.WarmPoolConfig != nil && value(in.WarmPoolConfig.Enabled):
		return nil, unsupported(*c.Name, "warmPoolConfig")
	}
	after := *n
	params := changeNodegroup(&after, in)
	for _, check := range []func(*cluster, *nodegroup) error{checkScaling, checkUpdateConfig, checkLabels, checkTaints} {
		if err := check(c, &after); err != nil {
			return nil, err
		}
	}
	if in.Labels != nil || in.Taints != nil {
		data, err := s.templateData(c, &after)
		if err != nil {
			return nil, err
		}
		if err := s.changeTemplate(c, n, data); err != nil {
			return nil, err
		}
	}
	if in.ScalingConfig != nil {
		_, err := wire.Do[autoscaling.UpdateAutoScalingGroupOutput](s.acting(c.at), s.options.Groups, "UpdateAutoScalingGroup",
			&autoscaling.UpdateAutoScalingGroupInput{
				AutoScalingGroupName: new(groupName(n)), MinSize: after.ScalingConfig.MinSize, MaxSize: after.ScalingConfig.MaxSize,
				DesiredCapacity: after.ScalingConfig.DesiredSize,
			})
		if err != nil {
			return nil, invalidRequest(*c.Name, "%s", messageOf(err))
		}
	}
	n.Status = types.NodegroupStatusUpdating
	u := &update{nodegroup: *n.NodegroupName, apply: func() {
		n.ScalingConfig, n.UpdateConfig, n.Labels, n.Taints = after.ScalingConfig, after.UpdateConfig, after.Labels, after.Taints
		n.NodeRepairConfig, n.ModifiedAt = after.NodeRepairConfig, new(s.now())
	}}
	u.done = s.ending(n, func() (bool, *types.ErrorDetail) {
		ready, total, desired := s.ready(c, n)
		return ready >= desired && total == desired, nil
	})
	shown := s.beginUpdate(c, u, types.UpdateTypeConfigUpdate, params...)
	return &eks.UpdateNodegroupConfigOutput{Update: &shown}, nil
}

// ending returns a function for the end of an update, after which a node group is active again.
func (s *Service) ending(n *nodegroup, done func() (bool, *types.ErrorDetail)) func() (bool, *types.ErrorDetail) {
	return func() (bool, *types.ErrorDetail) {
		ended, failure := done()
		if ended {
			n.Status = types.NodegroupStatusActive
		}
		return ended, failure
	}
}

// changeNodegroup applies a request to a copy of a node group, and returns the parameters of the update.
func changeNodegroup(n *nodegroup, in *eks.UpdateNodegroupConfigInput) (params []types.UpdateParam) {
	add := func(kind types.UpdateParamType, v any) { params = append(params, param(kind, v)) }
	if g := in.ScalingConfig; g != nil {
		before := n.ScalingConfig
		n.ScalingConfig = &types.NodegroupScalingConfig{
			MinSize: or(g.MinSize, *before.MinSize), MaxSize: or(g.MaxSize, *before.MaxSize),
			DesiredSize: or(g.DesiredSize, *before.DesiredSize),
		}
		add(types.UpdateParamTypeMinSize, *n.ScalingConfig.MinSize)
		add(types.UpdateParamTypeMaxSize, *n.ScalingConfig.MaxSize)
		add(types.UpdateParamTypeDesiredSize, *n.ScalingConfig.DesiredSize)
	}
	if in.Labels != nil {
		params = append(params, n.changeLabels(in.Labels)...)
	}
	if in.Taints != nil {
		params = append(params, n.changeTaints(in.Taints)...)
	}
	if u := in.UpdateConfig; u != nil {
		n.UpdateConfig = u
		if u.MaxUnavailable != nil {
			add(types.UpdateParamTypeMaxUnavailable, *u.MaxUnavailable)
		}
		if u.MaxUnavailablePercentage != nil {
			add(types.UpdateParamTypeMaxUnavailablePercentage, *u.MaxUnavailablePercentage)
		}
	}
	if r := in.NodeRepairConfig; r != nil {
		n.NodeRepairConfig = r
		add(types.UpdateParamTypeNodeRepairEnabled, value(r.Enabled))
	}
	return params
}

func (n *nodegroup) changeLabels(l *types.UpdateLabelsPayload) (params []types.UpdateParam) {
	n.Labels = maps.Clone(n.Labels)
	maps.Copy(n.Labels, l.AddOrUpdateLabels)
	for _, key := range l.RemoveLabels {
		delete(n.Labels, key)
	}
	if len(l.AddOrUpdateLabels) > 0 {
		params = append(params, param(types.UpdateParamTypeLabelsToAdd, l.AddOrUpdateLabels))
	}
	if len(l.RemoveLabels) > 0 {
		params = append(params, param(types.UpdateParamTypeLabelsToRemove, l.RemoveLabels))
	}
	return params
}

func (n *nodegroup) changeTaints(t *types.UpdateTaintsPayload) (params []types.UpdateParam) {
	n.Taints = slices.DeleteFunc(slices.Clone(n.Taints), func(has types.Taint) bool {
		return slices.ContainsFunc(slices.Concat(t.RemoveTaints, t.AddOrUpdateTaints), func(other types.Taint) bool {
			return value(has.Key) == value(other.Key) && has.Effect == other.Effect
		})
	})
	n.Taints = append(n.Taints, t.AddOrUpdateTaints...)
	if len(t.AddOrUpdateTaints) > 0 {
		params = append(params, param(types.UpdateParamTypeTaintsToAdd, taintMaps(t.AddOrUpdateTaints)))
	}
	if len(t.RemoveTaints) > 0 {
		params = append(params, param(types.UpdateParamTypeTaintsToRemove, taintMaps(t.RemoveTaints)))
	}
	return params
}

func taintMaps(taints []types.Taint) []map[string]any {
	var list []map[string]any
	for _, t := range taints {
		list = append(list, map[string]any{"key": t.Key, "value": t.Value, "effect": t.Effect})
	}
	return list
}

// updateNodegroupVersion begins to replace the nodes of a node group by nodes of another version, image
// or launch template.
// https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
func (s *Service) updateNodegroupVersion(
	ctx context.Context, in *eks.UpdateNodegroupVersionInput,
) (*eks.UpdateNodegroupVersionOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, n, err := r.idleNodegroup(in.ClusterName, in.NodegroupName)
	if err != nil {
		return nil, err
	}
	after, err := s.nextVersion(c, n, in)
	if err != nil {
		return nil, err
	}
	data, err := s.templateData(c, after)
	if err != nil {
		return nil, err
	}
	if err := s.changeTemplate(c, n, data); err != nil {
		return nil, err
	}
	// It launches a node for each that it takes, at most as many at a time as the settings allow.
	desired := max(*n.ScalingConfig.DesiredSize, 1)
	started, err := wire.Do[autoscaling.StartInstanceRefreshOutput](s.acting(c.at), s.options.Groups, "StartInstanceRefresh",
		&autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: new(groupName(n)), Preferences: &astypes.RefreshPreferences{
			MinHealthyPercentage: new(int32(100)), MaxHealthyPercentage: new(100 + min(100, (100*atOnce(n, desired)+desired-1)/desired)),
			InstanceWarmup: new(int32(0)), SkipMatching: new(false),
		}})
	if err != nil {
		return nil, invalidRequest(*c.Name, "%s", messageOf(err))
	}
	n.Status = types.NodegroupStatusUpdating
	u := &update{nodegroup: *n.NodegroupName, apply: func() {
		n.Version, n.ReleaseVersion, n.LaunchTemplate = after.Version, after.ReleaseVersion, after.LaunchTemplate
		n.ModifiedAt = new(s.now())
	}}
	u.done = s.ending(n, func() (bool, *types.ErrorDetail) { return s.refreshed(c, n, *started.InstanceRefreshId) })
	shown := s.beginUpdate(c, u, types.UpdateTypeVersionUpdate, versionParams(after, in)...)
	return &eks.UpdateNodegroupVersionOutput{Update: &shown}, nil
}

func versionParams(after *nodegroup, in *eks.UpdateNodegroupVersionInput) []types.UpdateParam {
	params := []types.UpdateParam{
		param(types.UpdateParamTypeVersion, *after.Version), param(types.UpdateParamTypeReleaseVersion, *after.ReleaseVersion),
	}
	if in.LaunchTemplate != nil {
		params = append(params, param(types.UpdateParamTypeLaunchTemplateName, *after.LaunchTemplate.Name),
			param(types.UpdateParamTypeLaunchTemplateVersion, *after.LaunchTemplate.Version))
	}
	return params
}

// atOnce returns how many nodes an update takes at a time.
func atOnce(n *nodegroup, desired int32) int32 {
	if p := n.UpdateConfig.MaxUnavailablePercentage; p != nil {
		return max(1, desired**p/100) //nolint:mnd // a percentage
	}
	return *n.UpdateConfig.MaxUnavailable
}

// nextVersion returns a copy of a node group with what a request changes.
func (s *Service) nextVersion(c *cluster, n *nodegroup, in *eks.UpdateNodegroupVersionInput) (*nodegroup, error) {
	after := *n
	after.Version, after.ReleaseVersion = in.Version, in.ReleaseVersion
	if err := s.nextTemplate(c, n, &after, in.LaunchTemplate); err != nil {
		return nil, err
	}
	if after.AmiType != types.AMITypesCustom {
		version := *n.Version
		switch {
		case in.Version != nil:
			version = *in.Version
		case in.ReleaseVersion != nil: // It begins with the version: 1.36.0-20260915.
			for _, r := range releases {
				if strings.HasPrefix(*in.ReleaseVersion, r.version+".") {
					version = r.version
				}
			}
		}
		after.Version = &version
		if minor(version) < minor(*n.Version) {
			return nil, invalidParameter(*c.Name, "Nodegroup version %s cannot be less than its present version %s", version, *n.Version)
		}
	}
	if err := s.checkNodegroupVersion(c, &after); err != nil {
		return nil, err
	}
	return &after, s.checkHardware(c, &after)
}

// nextTemplate sets the launch template of a copy of a node group, if a request has one.
// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#launch-template-basics
func (s *Service) nextTemplate(c *cluster, n, after *nodegroup, given *types.LaunchTemplateSpecification) error {
	switch {
	case given == nil:
		return nil
	case n.LaunchTemplate == nil:
		return invalidRequest(*c.Name, "Node group was not created with a launch template: launchTemplate cannot be set.")
	}
	after.LaunchTemplate, after.DiskSize = given, nil
	if err := s.checkTemplate(c, after); err != nil {
		return err
	}
	source := s.source(c, after)
	switch hasImage := source != nil && source.ImageId != nil; {
	case *after.LaunchTemplate.Id != *n.LaunchTemplate.Id:
		return invalidRequest(*c.Name, "Launch template cannot be changed: the node group has %s.", *n.LaunchTemplate.Id)
	case hasImage != (n.AmiType == types.AMITypesCustom):
		return invalidRequest(*c.Name, "The image id cannot be added to or removed from the launch template of a node group.")
	}
	return nil
}

// refreshed reports whether the replacement of all nodes has ended.
func (s *Service) refreshed(c *cluster, n *nodegroup, id string) (ended bool, failure *types.ErrorDetail) {
	out, err := wire.Do[autoscaling.DescribeInstanceRefreshesOutput](s.acting(c.at), s.options.Groups, "DescribeInstanceRefreshes",
		&autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: new(groupName(n)), InstanceRefreshIds: []string{id}})
	failed := func(code types.ErrorCode, message string) *types.ErrorDetail {
		return &types.ErrorDetail{ErrorCode: code, ErrorMessage: &message, ResourceIds: []string{groupName(n)}}
	}
	if err != nil || len(out.InstanceRefreshes) == 0 {
		return true, failed(types.ErrorCodeUnknown, "The Auto Scaling group no longer exists")
	}
	refresh := out.InstanceRefreshes[0]
	switch refresh.Status {
	case astypes.InstanceRefreshStatusSuccessful:
		ready, _, desired := s.ready(c, n)
		return ready >= desired, nil
	case astypes.InstanceRefreshStatusFailed, astypes.InstanceRefreshStatusCancelled:
		return true, failed(types.ErrorCodeNodeCreationFailure, value(refresh.StatusReason))
	default:
		return false, nil
	}
}
