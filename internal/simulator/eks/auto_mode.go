package eks

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// nodePools are those that EKS Auto Mode has itself.
// https://docs.aws.amazon.com/eks/latest/userguide/set-builtin-node-pools.html
var nodePools = []string{"general-purpose", "system"}

// autoMode is what a request says about the three parts of EKS Auto Mode: nil for nothing.
type autoMode struct {
	compute, storage, balancing *bool
	pools                       []string
	role                        string
}

func autoModeOf(c *types.ComputeConfigRequest, s *types.StorageConfigRequest, n *types.KubernetesNetworkConfigRequest) *autoMode {
	m := &autoMode{}
	if c != nil {
		m.compute, m.pools, m.role = c.Enabled, c.NodePools, value(c.NodeRoleArn)
	}
	if s != nil && s.BlockStorage != nil {
		m.storage = s.BlockStorage.Enabled
	}
	if n != nil && n.ElasticLoadBalancing != nil {
		m.balancing = n.ElasticLoadBalancing.Enabled
	}
	return m
}

// enabled reports whether a request enables Auto Mode. It returns an error if it enables some parts, or has
// node pools without the role of their nodes, or the other way around. The messages are AWS's:
// https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/5278
// https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3366
// https://github.com/pulumi/pulumi-eks/issues/1585
func (m *autoMode) enabled(cluster string) (bool, error) {
	on := value(m.compute)
	switch {
	case on != value(m.storage), on != value(m.balancing):
		return false, invalidParameter(cluster, "For EKS Auto Mode, please ensure that all required configs, including computeConfig, "+
			"kubernetesNetworkConfig, and blockStorage are all either fully enabled or fully disabled.")
	case m.role == "" && len(m.pools) > 0:
		return false, invalidParameter(cluster, "When Compute Config nodeRoleArn is null or empty, nodePool list cannot be populated.")
	case m.role != "" && len(m.pools) == 0:
		return false, invalidParameter(cluster, "When Compute Config nodeRoleArn is not null or empty, nodePool value(s) must be provided.")
	case !on && len(m.pools) > 0:
		// https://github.com/terraform-aws-modules/terraform-aws-eks/pull/3513
		return false, invalidParameter(cluster, "nodePools must be empty when EKS Auto Mode is disabled")
	}
	for i, pool := range m.pools {
		if !slices.Contains(nodePools, pool) || slices.Contains(m.pools[:i], pool) {
			return false, invalidParameter(cluster, "The nodePools %v in computeConfig are not valid. Valid values are %v, each once", m.pools, nodePools)
		}
	}
	return on, nil
}

// setAutoMode sets the Auto Mode of a new cluster.
// https://docs.aws.amazon.com/eks/latest/userguide/automode-get-started-cli.html
func (s *Service) setAutoMode(c *cluster, in *eks.CreateClusterInput) error {
	m := autoModeOf(in.ComputeConfig, in.StorageConfig, in.KubernetesNetworkConfig)
	on, err := m.enabled(*c.Name)
	switch {
	case err != nil:
		return err
	case on && c.selfManaged:
		// https://github.com/hashicorp/terraform-provider-aws/pull/40483
		return invalidParameter(*c.Name, "When EKS Auto Mode is enabled, bootstrapSelfManagedAddons must be set to false.")
	case on:
		if err := s.checkAutoMode(c, m); err != nil {
			return err
		}
	}
	if on {
		c.applyAutoMode(m)
		s.addAutoNodeEntry(c)
		return nil
	}
	// AWS shows what was set, even if it is off.
	if in.ComputeConfig != nil {
		c.ComputeConfig = &types.ComputeConfigResponse{Enabled: new(false), NodePools: []string{}}
	}
	if in.StorageConfig != nil {
		c.StorageConfig = &types.StorageConfigResponse{BlockStorage: in.StorageConfig.BlockStorage}
	}
	return nil
}

// checkAutoMode returns an error if a cluster cannot enable Auto Mode: it needs access entries for nodes,
// and roles with policies. AWS documents these needs, but its messages about them are not recorded.
// https://docs.aws.amazon.com/eks/latest/userguide/auto-learn-iam.html
func (s *Service) checkAutoMode(c *cluster, m *autoMode) error {
	if !c.hasEntries() {
		return invalidParameter(*c.Name, "EKS Auto Mode needs the authentication mode API or API_AND_CONFIG_MAP")
	}
	if err := s.checkAutoModeRole(*c.Name, c.at, *c.RoleArn); err != nil {
		return err
	}
	if m.role == "" {
		return nil
	}
	// https://docs.aws.amazon.com/eks/latest/userguide/auto-create-node-role.html
	if m.role == *c.RoleArn {
		return invalidParameter(*c.Name, "The nodeRoleArn in computeConfig cannot be the role of a cluster")
	}
	return s.checkNodeRole(*c.Name, m.role)
}

// autoModePolicies are the managed policies that the role of a cluster has for Auto Mode.
// https://docs.aws.amazon.com/eks/latest/userguide/auto-cluster-iam-role.html
var autoModePolicies = []string{
	"AmazonEKSBlockStoragePolicy", "AmazonEKSClusterPolicy", "AmazonEKSComputePolicy", "AmazonEKSLoadBalancingPolicy",
	"AmazonEKSNetworkingPolicy",
}

// checkAutoModeRole returns an error if the role of a cluster lacks what Auto Mode needs. The user may write
// policies with the same permissions, so any policy of the account stands for all of AWS's.
func (s *Service) checkAutoModeRole(cluster string, at wire.Target, arn string) error {
	role, _, known := s.role(arn)
	if !known {
		return nil
	}
	if !s.trusts(&role, accountOf(arn), "eks.amazonaws.com", "sts:TagSession") {
		return invalidParameter(cluster, "The trust policy of role %s does not allow eks.amazonaws.com sts:TagSession, which EKS Auto Mode needs", arn)
	}
	name := arn[strings.LastIndexByte(arn, '/')+1:]
	out, err := wire.Do[iam.ListAttachedRolePoliciesOutput](s.acting(at), s.options.IAM, "ListAttachedRolePolicies",
		&iam.ListAttachedRolePoliciesInput{RoleName: &name})
	if err != nil {
		return err
	}
	missing := slices.Clone(autoModePolicies)
	for _, policy := range out.AttachedPolicies {
		if !strings.Contains(*policy.PolicyArn, ":iam::aws:policy/") {
			return nil
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == *policy.PolicyName })
	}
	if len(missing) > 0 {
		return invalidParameter(cluster, "Role %s lacks policies that EKS Auto Mode needs: %v", arn, missing)
	}
	return nil
}

// hasAutoMode reports whether Auto Mode is enabled.
func (c *cluster) hasAutoMode() bool { return c.ComputeConfig != nil && value(c.ComputeConfig.Enabled) }

// launchesNodes reports whether AWS would launch nodes for pods.
func (c *cluster) launchesNodes() bool { return c.hasAutoMode() && len(c.ComputeConfig.NodePools) > 0 }

// applyAutoMode makes a request visible.
func (c *cluster) applyAutoMode(m *autoMode) {
	on := value(m.compute)
	c.ComputeConfig = &types.ComputeConfigResponse{
		Enabled: &on, NodePools: append([]string{}, m.pools...), NodeRoleArn: wire.Optional(m.role),
	}
	c.StorageConfig = &types.StorageConfigResponse{BlockStorage: &types.BlockStorage{Enabled: &on}}
	network := *c.KubernetesNetworkConfig
	network.ElasticLoadBalancing = &types.ElasticLoadBalancing{Enabled: &on}
	c.KubernetesNetworkConfig = &network
}

// addAutoNodeEntry lets the nodes of the built-in node pools join.
// https://docs.aws.amazon.com/eks/latest/userguide/auto-learn-iam.html
func (s *Service) addAutoNodeEntry(c *cluster) {
	if !c.hasAutoMode() || c.ComputeConfig.NodeRoleArn == nil || c.entries[*c.ComputeConfig.NodeRoleArn] != nil {
		return
	}
	now := s.now()
	e := c.addEntry(now, *c.ComputeConfig.NodeRoleArn, typeEC2)
	e.managed = true
	e.policies = []types.AssociatedAccessPolicy{{
		PolicyArn: new(policyARN(c, autoNodePolicy)), AssociatedAt: &now, ModifiedAt: &now,
		AccessScope: &types.AccessScope{Type: types.AccessScopeTypeCluster, Namespaces: []string{}},
	}}
}

// changeAutoMode enables or disables Auto Mode, or changes its node pools. A request must say all three parts.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_ComputeConfigRequest.html
func (s *Service) changeAutoMode(c *cluster, in *eks.UpdateClusterConfigInput) (*change, error) {
	if in.ComputeConfig == nil && in.StorageConfig == nil && in.KubernetesNetworkConfig == nil {
		return nil, nil
	}
	m := autoModeOf(in.ComputeConfig, in.StorageConfig, in.KubernetesNetworkConfig)
	if m.compute == nil || m.storage == nil && m.balancing == nil {
		// https://github.com/awsdocs/amazon-eks-user-guide/issues/819
		return nil, invalidParameter(*c.Name, "The type for cluster update was not provided.")
	}
	on, err := m.enabled(*c.Name)
	if err != nil {
		return nil, err
	}
	if on {
		if err := s.checkAutoMode(c, m); err != nil {
			return nil, err
		}
	}
	before := value(c.ComputeConfig)
	switch was := value(before.NodeRoleArn); {
	case on && c.hasAutoMode() && was != "" && m.role != "" && was != m.role:
		return nil, invalidParameter(*c.Name, "The nodeRoleArn in computeConfig cannot change from %s to %s while EKS Auto Mode is enabled", was, m.role)
	case on == c.hasAutoMode() && was == m.role && samePools(before.NodePools, m.pools):
		return nil, invalidParameter(*c.Name, "No changes needed for the EKS Auto Mode config provided")
	}
	return &change{
		types.UpdateTypeAutoModeUpdate, []types.UpdateParam{
			param(types.UpdateParamTypeComputeConfig, map[string]any{"enabled": on, "nodePools": append([]string{}, m.pools...), "nodeRoleArn": m.role}),
			param(types.UpdateParamTypeStorageConfig, map[string]any{"blockStorage": map[string]any{"enabled": on}}),
			param(types.UpdateParamTypeKubernetesNetworkConfig, map[string]any{"elasticLoadBalancing": map[string]any{"enabled": on}}),
		}, func() {
			c.applyAutoMode(m)
			s.addAutoNodeEntry(c)
		},
	}, nil
}

// sameAutoMode reports whether a cluster has the Auto Mode of a template. A template that says nothing about it
// changes nothing.
func (p *clusterProperties) sameAutoMode(live *types.Cluster) bool {
	m := autoModeOf(p.ComputeConfig, p.StorageConfig, p.KubernetesNetworkConfig)
	if m.compute == nil {
		return m.storage == nil && m.balancing == nil
	}
	has := value(live.ComputeConfig)
	return *m.compute == value(has.Enabled) && samePools(m.pools, has.NodePools) && (m.role == value(has.NodeRoleArn) || !*m.compute)
}

func samePools(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
