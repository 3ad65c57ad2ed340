package eks

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// change is one kind of update of a cluster, which a request asks for.
type change struct {
	kind   types.UpdateType
	params []types.UpdateParam
	apply  func()
}

// updateClusterConfig begins to change the configuration of a cluster.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateClusterConfig.html
func (s *Service) updateClusterConfig(ctx context.Context, in *eks.UpdateClusterConfigInput) (*eks.UpdateClusterConfigOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.active(in.Name)
	if err != nil {
		return nil, err
	}
	var changes []change
	for _, of := range []func(*cluster, *eks.UpdateClusterConfigInput) (*change, error){
		s.changeLogging, s.changeEndpoint, s.changeVPC, s.changeAccess, changeUpgradePolicy, changeProtection, changeZonalShift,
		changeUnsupported, s.changeAutoMode,
	} {
		found, err := of(c, in)
		if err != nil {
			return nil, err
		}
		if found != nil {
			changes = append(changes, *found)
		}
	}
	switch {
	case len(changes) == 0:
		return nil, invalidParameter(*c.Name, "No update specified: the request changes nothing that the simulator supports.")
	case len(changes) > 1:
		return nil, invalidParameter(*c.Name, "Only one type of update can be allowed.")
	}
	if err := c.idle(changes[0].kind); err != nil {
		return nil, err
	}
	c.Status = types.ClusterStatusUpdating
	shown := s.beginUpdate(c, &update{apply: changes[0].apply}, changes[0].kind, changes[0].params...)
	return &eks.UpdateClusterConfigOutput{Update: &shown}, nil
}

// idle returns an error if another update of a cluster is in progress.
func (c *cluster) idle(kind types.UpdateType) error {
	if u := c.running(); u != nil {
		return inUse(*c.Name, "Cannot %s because cluster %s currently has update %s in progress", kind, *c.Name, *u.Id)
	}
	return nil
}

func (s *Service) changeLogging(c *cluster, in *eks.UpdateClusterConfigInput) (*change, error) {
	if in.Logging == nil {
		return nil, nil
	}
	if err := logTypes(*c.Name, in.Logging); err != nil {
		return nil, err
	}
	after := logging(in.Logging, c.Logging)
	same := func(a, b types.LogSetup) bool { return *a.Enabled == *b.Enabled && slices.Equal(a.Types, b.Types) }
	if slices.EqualFunc(after.ClusterLogging, c.Logging.ClusterLogging, same) {
		return nil, invalidParameter(*c.Name, "No changes needed for the logging config provided")
	}
	shown := []map[string]any{}
	for _, setup := range in.Logging.ClusterLogging {
		shown = append(shown, map[string]any{"types": setup.Types, "enabled": setup.Enabled})
	}
	return &change{
		types.UpdateTypeLoggingUpdate,
		[]types.UpdateParam{param(types.UpdateParamTypeClusterLogging, map[string]any{"clusterLogging": shown})},
		func() { c.Logging = after },
	}, nil
}

func (s *Service) changeEndpoint(c *cluster, in *eks.UpdateClusterConfigInput) (*change, error) {
	given := in.ResourcesVpcConfig
	if given == nil || given.EndpointPublicAccess == nil && given.EndpointPrivateAccess == nil && given.PublicAccessCidrs == nil {
		return nil, nil
	}
	after := *c.ResourcesVpcConfig
	if err := setEndpoint(*c.Name, &after, given); err != nil {
		return nil, err
	}
	before := c.ResourcesVpcConfig
	if after.EndpointPublicAccess == before.EndpointPublicAccess && after.EndpointPrivateAccess == before.EndpointPrivateAccess &&
		slices.Equal(slices.Sorted(slices.Values(after.PublicAccessCidrs)), slices.Sorted(slices.Values(before.PublicAccessCidrs))) {
		return nil, invalidParameter(*c.Name, "Cluster is already at the desired configuration with endpointPrivateAccess: %t , "+
			"endpointPublicAccess: %t, and Public Endpoint Restrictions: %v",
			after.EndpointPrivateAccess, after.EndpointPublicAccess, after.PublicAccessCidrs)
	}
	return &change{
		types.UpdateTypeEndpointAccessUpdate, []types.UpdateParam{
			param(types.UpdateParamTypeEndpointPublicAccess, after.EndpointPublicAccess),
			param(types.UpdateParamTypeEndpointPrivateAccess, after.EndpointPrivateAccess),
			param(types.UpdateParamTypePublicAccessCidrs, after.PublicAccessCidrs),
		}, func() { c.ResourcesVpcConfig = &after },
	}, nil
}

// changeVPC changes the subnets and the security groups, within the VPC.
func (s *Service) changeVPC(c *cluster, in *eks.UpdateClusterConfigInput) (*change, error) {
	given := in.ResourcesVpcConfig
	if given == nil || given.SubnetIds == nil && given.SecurityGroupIds == nil {
		return nil, nil
	}
	after, vpcID := *c.ResourcesVpcConfig, *c.ResourcesVpcConfig.VpcId
	var params []types.UpdateParam
	if given.SubnetIds != nil {
		found, err := s.checkSubnets(c, given.SubnetIds, true)
		if err != nil {
			return nil, err
		}
		if found != vpcID {
			return nil, invalidParameter(*c.Name, "Provided subnets belong to the VPC Id: %s. Subnets should belong to the exact VPC Id: %s.",
				found, vpcID)
		}
		after.SubnetIds = given.SubnetIds
		params = append(params, param(types.UpdateParamTypeSubnets, given.SubnetIds))
	}
	if given.SecurityGroupIds != nil {
		if err := s.checkGroups(c, given.SecurityGroupIds, vpcID); err != nil {
			return nil, err
		}
		after.SecurityGroupIds = given.SecurityGroupIds
		params = append(params, param(types.UpdateParamTypeSecurityGroups, given.SecurityGroupIds))
	}
	return &change{types.UpdateTypeVpcConfigUpdate, params, func() { c.ResourcesVpcConfig = &after }}, nil
}

// changeAccess changes the authentication mode, which only has one way.
// https://docs.aws.amazon.com/eks/latest/userguide/setting-up-access-entries.html
func (s *Service) changeAccess(c *cluster, in *eks.UpdateClusterConfigInput) (*change, error) {
	if in.AccessConfig == nil || in.AccessConfig.AuthenticationMode == "" {
		return nil, nil
	}
	order := []types.AuthenticationMode{
		types.AuthenticationModeConfigMap, types.AuthenticationModeApiAndConfigMap, types.AuthenticationModeApi,
	}
	from, to := c.AccessConfig.AuthenticationMode, in.AccessConfig.AuthenticationMode
	if slices.Index(order, to) != slices.Index(order, from)+1 {
		return nil, invalidParameter(*c.Name, "Unsupported authentication mode update from %s to %s", from, to)
	}
	return &change{
		types.UpdateTypeAccessConfigUpdate,
		[]types.UpdateParam{param(types.UpdateParamTypeAuthenticationMode, fmt.Sprintf("%q", to))},
		func() {
			c.AccessConfig = &types.AccessConfigResponse{
				AuthenticationMode: to, BootstrapClusterCreatorAdminPermissions: c.AccessConfig.BootstrapClusterCreatorAdminPermissions,
			}
			c.bootstrapCreator(s.now())
			for _, n := range c.nodegroups {
				s.addNodeEntry(c, n)
			}
		},
	}, nil
}

// changeUpgradePolicy changes what happens at the end of standard support.
// https://docs.aws.amazon.com/eks/latest/userguide/disable-extended-support.html
func changeUpgradePolicy(c *cluster, in *eks.UpdateClusterConfigInput) (*change, error) {
	if in.UpgradePolicy == nil {
		return nil, nil
	}
	to := in.UpgradePolicy.SupportType
	version, _ := releaseOf(*c.Version)
	switch {
	case !slices.Contains(to.Values(), to):
		return nil, invalidParameter(*c.Name, "The supportType %s in upgradePolicy is not valid. Valid values are %v", to, to.Values())
	case to == c.UpgradePolicy.SupportType:
		return nil, invalidParameter(*c.Name, "Cluster is already at the desired upgrade policy: %s", to)
	case to == types.SupportTypeStandard && version.status != types.VersionStatusStandardSupport:
		return nil, invalidRequest(*c.Name, "Extended support cannot be disabled, because version %s is in extended support", *c.Version)
	}
	return &change{
		types.UpdateTypeUpgradePolicyUpdate,
		[]types.UpdateParam{param(types.UpdateParamTypeUpgradePolicy, map[string]any{"supportType": to})},
		func() { c.UpgradePolicy = &types.UpgradePolicyResponse{SupportType: to} },
	}, nil
}

func changeProtection(c *cluster, in *eks.UpdateClusterConfigInput) (*change, error) {
	if in.DeletionProtection == nil {
		return nil, nil
	}
	on := *in.DeletionProtection
	return &change{
		types.UpdateTypeDeletionProtectionUpdate,
		[]types.UpdateParam{param(types.UpdateParamTypeDeletionProtection, on)},
		func() { c.DeletionProtection = &on },
	}, nil
}

func changeZonalShift(c *cluster, in *eks.UpdateClusterConfigInput) (*change, error) {
	if in.ZonalShiftConfig == nil {
		return nil, nil
	}
	on := value(in.ZonalShiftConfig.Enabled)
	return &change{
		types.UpdateTypeZonalShiftConfigUpdate,
		[]types.UpdateParam{param(types.UpdateParamTypeZonalShiftConfig, map[string]any{"enabled": on})},
		func() { c.ZonalShiftConfig = &types.ZonalShiftConfigResponse{Enabled: &on} },
	}, nil
}

// changeUnsupported refuses what the simulator does not support.
func changeUnsupported(c *cluster, in *eks.UpdateClusterConfigInput) (*change, error) {
	member := unsupportedOf(&eks.CreateClusterInput{
		KubernetesNetworkConfig: in.KubernetesNetworkConfig,
		RemoteNetworkConfig:     in.RemoteNetworkConfig, ControlPlaneScalingConfig: in.ControlPlaneScalingConfig,
		KubeApiServerConfig: in.KubeApiServerConfig, KubeControllerManagerConfig: in.KubeControllerManagerConfig,
		KubeSchedulerConfig: in.KubeSchedulerConfig, ResourcesVpcConfig: in.ResourcesVpcConfig,
	})
	if member != "" {
		return nil, unsupported(*c.Name, member)
	}
	return nil, nil
}

// oldestNode is by how many minor versions a kubelet may be older than the API server.
// https://kubernetes.io/releases/version-skew-policy/#kubelet
const oldestNode = 3

// updateClusterVersion begins to update a cluster to the next minor version.
// https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html
func (s *Service) updateClusterVersion(ctx context.Context, in *eks.UpdateClusterVersionInput) (*eks.UpdateClusterVersionOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.active(in.Name)
	if err != nil {
		return nil, err
	}
	if in.RollbackConfig != nil {
		return nil, unsupported(*c.Name, "rollbackConfig")
	}
	if err := c.idle(types.UpdateTypeVersionUpdate); err != nil {
		return nil, err
	}
	from, to := *c.Version, value(in.Version)
	target, ok := releaseOf(to)
	switch {
	case !ok:
		return nil, invalidParameter(*c.Name, "unsupported Kubernetes version")
	case minor(to) != minor(from)+1:
		return nil, invalidParameter(*c.Name, "Unsupported Kubernetes minor version update from %s to %s", from, to)
	}
	for _, n := range c.nodegroups {
		if minor(to)-minor(*n.Version) > oldestNode {
			return nil, invalidRequest(*c.Name, "Nodegroup %s has Kubernetes version %s, and cannot be more than %d minor versions behind "+
				"version %s of the cluster. Update the nodegroup first.", *n.NodegroupName, *n.Version, oldestNode, to)
		}
	}
	u := &update{apply: func() { c.Version, c.PlatformVersion = &target.version, &target.platform }}
	if host, ok := s.planes(); ok {
		key := c.key()
		u.host = s.onHost(func(w *work) { w.err = host.UpgradeControlPlane(key, to) })
	}
	c.Status = types.ClusterStatusUpdating
	shown := s.beginUpdate(c, u, types.UpdateTypeVersionUpdate,
		param(types.UpdateParamTypeVersion, to), param(types.UpdateParamTypePlatformVersion, target.platform))
	return &eks.UpdateClusterVersionOutput{Update: &shown}, nil
}
