package eks

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
)

// nodegroup is a managed node group: an Auto Scaling group with a launch template and an instance
// profile of EKS's own. What describe returns is never changed, only replaced.
type nodegroup struct {
	types.Nodegroup

	token *string
	due   time.Time
	// unit is the name of the launch template and of the instance profile.
	unit string
	// template is the launch template and version its current version.
	template, version string
	// launch creates the Auto Scaling group. It is nil if the group was created.
	launch func() error
	// attempts counts the calls of launch that failed.
	attempts int
}

func (c *cluster) nodegroup(name *string) (*nodegroup, error) {
	n, ok := c.nodegroups[value(name)]
	if !ok {
		e := notFound(*c.Name, "No node group found for name: %s.", value(name))
		e.Detail[memberNodegroup] = value(name)
		return nil, e
	}
	return n, nil
}

// changing reports whether a node group changes without a call.
func (n *nodegroup) changing() bool {
	return slices.Contains([]types.NodegroupStatus{
		types.NodegroupStatusCreating, types.NodegroupStatusUpdating, types.NodegroupStatusDeleting,
	}, n.Status)
}

// nodegroupName matches the names of node groups.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html#AmazonEKS-CreateNodegroup-request-nodegroupName
var nodegroupName = lazyregexp.New(`^[0-9A-Za-z][A-Za-z0-9\-_]{0,62}$`)

// createNodegroup begins to create a managed node group.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html
func (s *Service) createNodegroup(ctx context.Context, in *eks.CreateNodegroupInput) (*eks.CreateNodegroupOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.active(in.ClusterName)
	if err != nil {
		return nil, err
	}
	name := value(in.NodegroupName)
	if found, ok := c.nodegroups[name]; ok {
		if in.ClientRequestToken != nil && value(found.token) == *in.ClientRequestToken {
			return &eks.CreateNodegroupOutput{Nodegroup: new(found.Nodegroup)}, nil
		}
		e := inUse(*c.Name, "NodeGroup already exists with name %s and cluster name %s", name, *c.Name)
		e.Detail[memberNodegroup] = name
		return nil, e
	}
	n, err := s.newNodegroup(c, in)
	if err != nil {
		return nil, err
	}
	if err := s.addTemplate(c, n); err != nil {
		return nil, err
	}
	c.nodegroups[name] = n
	s.addNodeEntry(c, n)
	out := &eks.CreateNodegroupOutput{Nodegroup: new(n.Nodegroup)}
	s.settleCreation(c, n)
	return out, nil
}

// newNodegroup returns the node group of a request after it has checked the request.
func (s *Service) newNodegroup(c *cluster, in *eks.CreateNodegroupInput) (*nodegroup, error) {
	name := value(in.NodegroupName)
	if !nodegroupName.MatchString(name) {
		return nil, invalidParameter(*c.Name, "The nodegroup name %q is not valid: nodegroupName has 1 to 63 letters, digits, hyphens and "+
			"underscores, and begins with a letter or a digit.", name)
	}
	if member := unsupportedOfNodegroup(in); member != "" {
		return nil, unsupported(*c.Name, member)
	}
	id := uuid.NewString()
	n := &nodegroup{token: in.ClientRequestToken, due: s.due(), unit: "eks-" + id}
	n.Nodegroup = types.Nodegroup{
		NodegroupName: &name, NodegroupArn: new(s.arnOf(c, "nodegroup", name, id)), ClusterName: c.Name, Status: types.NodegroupStatusCreating,
		CreatedAt: new(s.now()), ModifiedAt: new(s.now()), Subnets: in.Subnets, NodeRole: in.NodeRole, AmiType: in.AmiType,
		CapacityType: in.CapacityType, InstanceTypes: in.InstanceTypes, DiskSize: in.DiskSize, Labels: in.Labels, Taints: in.Taints,
		LaunchTemplate: in.LaunchTemplate, ScalingConfig: in.ScalingConfig, UpdateConfig: in.UpdateConfig, Version: in.Version,
		NodeRepairConfig: in.NodeRepairConfig,
		ReleaseVersion:   in.ReleaseVersion, Tags: in.Tags, Health: &types.NodegroupHealth{Issues: []types.Issue{}},
		Resources: &types.NodegroupResources{AutoScalingGroups: []types.AutoScalingGroup{{Name: new("eks-" + name + "-" + id)}}},
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	if n.Tags == nil {
		n.Tags = map[string]string{}
	}
	if n.CapacityType == "" {
		n.CapacityType = types.CapacityTypesOnDemand
	}
	for _, check := range []func(*cluster, *nodegroup) error{
		s.checkNodegroupNetwork, checkScaling, checkUpdateConfig, checkLabels, checkTaints, checkNodegroupTags, s.checkTemplate,
		s.checkHardware,
		s.checkNodegroupVersion,
	} {
		if err := check(c, n); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func checkNodegroupTags(c *cluster, n *nodegroup) error { return checkTags(*c.Name, n.Tags) }

func unsupportedOfNodegroup(in *eks.CreateNodegroupInput) string {
	switch {
	case in.RemoteAccess != nil && in.LaunchTemplate == nil:
		return "remoteAccess: use a launch template with a key"
	case repairsWithLimits(in.NodeRepairConfig):
		return "nodeRepairConfig with limits or overrides"
	case in.WarmPoolConfig != nil && value(in.WarmPoolConfig.Enabled):
		return "warmPoolConfig"
	case in.CapacityType == types.CapacityTypesCapacityBlock:
		return "capacityType CAPACITY_BLOCK"
	default:
		return ""
	}
}

// repairsWithLimits reports whether a node group wants more of node repair than its default.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_NodeRepairConfig.html
func repairsWithLimits(of *types.NodeRepairConfig) bool {
	return of != nil && (of.MaxParallelNodesRepairedCount != nil || of.MaxParallelNodesRepairedPercentage != nil ||
		of.MaxUnhealthyNodeThresholdCount != nil || of.MaxUnhealthyNodeThresholdPercentage != nil || len(of.NodeRepairConfigOverrides) > 0)
}

func (s *Service) checkNodegroupNetwork(c *cluster, n *nodegroup) error {
	vpcID, err := s.checkSubnets(c, n.Subnets, false)
	if err != nil {
		return err
	}
	if vpcID != *c.ResourcesVpcConfig.VpcId {
		return invalidParameter(*c.Name, "Subnets are not in the VPC of the cluster: they are in %s, not in %s", vpcID,
			*c.ResourcesVpcConfig.VpcId)
	}
	return s.checkNodeRole(*c.Name, value(n.NodeRole))
}

// checkScaling sets the default sizes and checks them.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupScalingConfig.html
func checkScaling(c *cluster, n *nodegroup) error {
	if n.ScalingConfig == nil {
		n.ScalingConfig = &types.NodegroupScalingConfig{}
	}
	given := n.ScalingConfig
	scaling := types.NodegroupScalingConfig{
		MinSize: or(given.MinSize, 1), MaxSize: or(given.MaxSize, max(2, value(given.DesiredSize))),
		DesiredSize: or(given.DesiredSize, 2), //nolint:mnd // AWS's default
	}
	if given.DesiredSize == nil {
		scaling.DesiredSize = new(min(max(2, *scaling.MinSize), *scaling.MaxSize)) //nolint:mnd // AWS's default
	}
	least, most, desired := *scaling.MinSize, *scaling.MaxSize, *scaling.DesiredSize
	switch {
	case least < 0 || desired < 0:
		return invalidParameter(*c.Name, "minSize and desiredSize in scalingConfig cannot be negative")
	case most < 1:
		return invalidParameter(*c.Name, "maxSize in scalingConfig must be at least 1")
	case least > desired:
		return invalidParameter(*c.Name, "Minimum capacity %d can't be greater than desired size %d", least, desired)
	case desired > most:
		return invalidParameter(*c.Name, "desired capacity %d can't be greater than max size %d", desired, most)
	}
	n.ScalingConfig = &scaling
	return nil
}

// checkUpdateConfig sets the default and checks how many nodes an update may take at a time.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupUpdateConfig.html
func checkUpdateConfig(c *cluster, n *nodegroup) error {
	u := n.UpdateConfig
	if u == nil || u.MaxUnavailable == nil && u.MaxUnavailablePercentage == nil {
		n.UpdateConfig = &types.NodegroupUpdateConfig{MaxUnavailable: new(int32(1))}
		if u != nil {
			n.UpdateConfig.UpdateStrategy = u.UpdateStrategy
		}
		u = n.UpdateConfig
	}
	within := func(p *int32) bool { return p == nil || *p >= 1 && *p <= 100 }
	switch {
	case u.MaxUnavailable != nil && u.MaxUnavailablePercentage != nil:
		return invalidParameter(*c.Name, "maxUnavailable and maxUnavailablePercentage in updateConfig cannot be set together")
	case !within(u.MaxUnavailable) || !within(u.MaxUnavailablePercentage):
		return invalidParameter(*c.Name, "maxUnavailable and maxUnavailablePercentage in updateConfig must be between 1 and 100")
	case u.UpdateStrategy == types.NodegroupUpdateStrategiesMinimal:
		return unsupported(*c.Name, "updateConfig.updateStrategy MINIMAL")
	}
	return nil
}

// The forms of labels and taints.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
var (
	labelKey   = lazyregexp.New(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelValue = lazyregexp.New(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
)

// mostOf is the most labels and the most taints of a node group.
const mostOf = 50

// checkLabels checks the labels.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html#AmazonEKS-CreateNodegroup-request-labels
func checkLabels(c *cluster, n *nodegroup) error {
	if len(n.Labels) > mostOf {
		return invalidParameter(*c.Name, "labels has %d labels, but a node group can have at most %d", len(n.Labels), mostOf)
	}
	for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
		prefix, _, _ := strings.Cut(key, "/")
		switch {
		case !labelKey.MatchString(key) || !labelValue.MatchString(n.Labels[key]):
			return invalidParameter(*c.Name, "The label %q with the value %q in labels is not valid", key, n.Labels[key])
		case slices.Contains([]string{"kubernetes.io", "k8s.io", "eks.amazonaws.com"}, prefix):
			return invalidParameter(*c.Name, "Label cannot contain reserved prefixes [kubernetes.io/, k8s.io/, eks.amazonaws.com/]")
		}
	}
	return nil
}

// checkTaints checks the taints.
// https://docs.aws.amazon.com/eks/latest/userguide/node-taints-managed-node-groups.html
func checkTaints(c *cluster, n *nodegroup) error {
	if len(n.Taints) > mostOf {
		return invalidParameter(*c.Name, "taints has %d taints, but a node group can have at most %d", len(n.Taints), mostOf)
	}
	var seen []string
	for _, t := range n.Taints {
		id := value(t.Key) + ":" + string(t.Effect)
		switch {
		case !labelKey.MatchString(value(t.Key)) || !labelValue.MatchString(value(t.Value)):
			return invalidParameter(*c.Name, "The taint %q with the value %q in taints is not valid", value(t.Key), value(t.Value))
		case !slices.Contains(t.Effect.Values(), t.Effect):
			return invalidParameter(*c.Name, "The effect %q of taint %s in taints is not valid. Valid values are %v", t.Effect, value(t.Key),
				t.Effect.Values())
		case slices.Contains(seen, id):
			return invalidParameter(*c.Name, "The taint %s with the effect %s is in taints twice", value(t.Key), t.Effect)
		}
		seen = append(seen, id)
	}
	return nil
}

// describeNodegroup returns a node group.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeNodegroup.html
func (s *Service) describeNodegroup(ctx context.Context, in *eks.DescribeNodegroupInput) (*eks.DescribeNodegroupOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.find(in.ClusterName)
	if err != nil {
		return nil, err
	}
	n, err := c.nodegroup(in.NodegroupName)
	if err != nil {
		return nil, err
	}
	return &eks.DescribeNodegroupOutput{Nodegroup: new(n.Nodegroup)}, nil
}

// listNodegroups lists the names of node groups.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_ListNodegroups.html
func (s *Service) listNodegroups(ctx context.Context, in *eks.ListNodegroupsInput) (*eks.ListNodegroupsOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.find(in.ClusterName)
	if err != nil {
		return nil, err
	}
	names, next, err := page(slices.Collect(maps.Keys(c.nodegroups)), in.NextToken, in.MaxResults)
	return &eks.ListNodegroupsOutput{Nodegroups: names, NextToken: next}, err
}

// deleteNodegroup begins to delete a node group.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_DeleteNodegroup.html
func (s *Service) deleteNodegroup(ctx context.Context, in *eks.DeleteNodegroupInput) (*eks.DeleteNodegroupOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.find(in.ClusterName)
	if err != nil {
		return nil, err
	}
	n, err := c.nodegroup(in.NodegroupName)
	if err != nil {
		return nil, err
	}
	if u := c.runningOf(*n.NodegroupName, ""); u != nil {
		return nil, inUse(*c.Name, "Nodegroup cannot be deleted as it is currently not in Active State")
	}
	if n.Status != types.NodegroupStatusDeleting {
		n.Status, n.due, n.launch = types.NodegroupStatusDeleting, s.due(), nil
		s.deleteGroup(c, n)
	}
	return &eks.DeleteNodegroupOutput{Nodegroup: new(n.Nodegroup)}, nil
}

// settleNodegroup lets a node group take the next state if its time has come.
func (s *Service) settleNodegroup(c *cluster, n *nodegroup) {
	switch n.Status { //nolint:exhaustive // the others change only by calls
	case types.NodegroupStatusCreating:
		s.settleCreation(c, n)
	case types.NodegroupStatusActive, types.NodegroupStatusDegraded:
		issues := []types.Issue{}
		n.Status = types.NodegroupStatusActive
		if _, exists := s.group(c, n); !exists {
			name := groupName(n)
			n.Status = types.NodegroupStatusDegraded
			issues = append(issues, types.Issue{
				Code: types.NodegroupIssueCodeAutoScalingGroupNotFound, ResourceIds: []string{name},
				Message: new("We couldn't find the Auto Scaling group " + name + " associated with the managed node group."),
			})
		}
		n.Health = &types.NodegroupHealth{Issues: issues}
	case types.NodegroupStatusDeleting:
		if _, exists := s.group(c, n); exists || s.now().Before(n.due) {
			return
		}
		s.deleteTemplate(c, n)
		delete(c.nodegroups, *n.NodegroupName)
		c.forgetNodeRole(*n.NodeRole)
	}
}

// mostAttempts is how often EKS tries to create a group whose instance profile IAM does not know yet.
const mostAttempts = 50

// mostFailures is the number of failed launches after which EKS gives up.
const mostFailures = 3

func (s *Service) settleCreation(c *cluster, n *nodegroup) {
	if n.launch != nil {
		err := n.launch()
		if err != nil {
			if n.attempts++; n.attempts < mostAttempts && strings.Contains(strings.ToLower(err.Error()), "profile") {
				return
			}
			n.fail(types.NodegroupIssueCodeAsgInstanceLaunchFailures, messageOf(err), groupName(n))
			return
		}
		n.launch = nil
	}
	ready, total, desired := s.ready(c, n)
	switch {
	case s.now().Before(n.due):
	case ready >= desired && total == desired:
		n.Status = types.NodegroupStatusActive
	default:
		if message, failures := s.launchFailures(c, n); ready == 0 && failures >= mostFailures {
			n.fail(types.NodegroupIssueCodeAsgInstanceLaunchFailures, message, groupName(n))
		}
	}
}

// fail ends the creation of a node group.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html
func (n *nodegroup) fail(code types.NodegroupIssueCode, message, about string) {
	n.Status, n.launch = types.NodegroupStatusCreateFailed, nil
	n.Health = &types.NodegroupHealth{Issues: []types.Issue{{Code: code, Message: &message, ResourceIds: []string{about}}}}
}

// forgetNodeRole deletes the access entry of a role that EKS created for node groups, if none has the
// role any more.
func (c *cluster) forgetNodeRole(role string) {
	for _, n := range c.nodegroups {
		if *n.NodeRole == role {
			return
		}
	}
	if e := c.entries[role]; e != nil && e.managed {
		delete(c.entries, role)
	}
}
