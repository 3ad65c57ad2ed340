package eks

import (
	"context"
	"maps"
	"slices"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/google/uuid"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
)

// addon is an add-on of a cluster. Nothing runs it. What describe returns is never changed, only
// replaced.
type addon struct {
	types.Addon

	kind  addonKind
	token *string
	due   time.Time
	// conflicts says that it would change what EKS has installed itself, which it may not.
	conflicts bool
}

func (c *cluster) addon(name *string) (*addon, error) {
	a, ok := c.addons[value(name)]
	if !ok {
		e := notFound(*c.Name, "No addon: %s found in cluster: %s", value(name), *c.Name)
		e.Detail[memberAddon] = value(name)
		return nil, e
	}
	return a, nil
}

func (a *addon) changing() bool {
	return slices.Contains([]types.AddonStatus{types.AddonStatusCreating, types.AddonStatusUpdating, types.AddonStatusDeleting}, a.Status)
}

// createAddon begins to create an add-on.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAddon.html
func (s *Service) createAddon(ctx context.Context, in *eks.CreateAddonInput) (*eks.CreateAddonOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.active(in.ClusterName)
	if err != nil {
		return nil, err
	}
	name := value(in.AddonName)
	if found, ok := c.addons[name]; ok {
		if in.ClientRequestToken != nil && value(found.token) == *in.ClientRequestToken {
			return &eks.CreateAddonOutput{Addon: new(found.Addon)}, nil
		}
		e := inUse(*c.Name, "Addon already exists.")
		e.Detail[memberAddon] = name
		return nil, e
	}
	kind, known := addonKindOf(name)
	version, fits := kind.choose(*c.Version, value(in.AddonVersion))
	switch {
	case !known:
		return nil, invalidParameter(*c.Name, "Addon %s specified is not supported in %s kubernetes version", name, *c.Version)
	case !fits:
		return nil, invalidParameter(*c.Name, "Addon version specified is not supported")
	case in.ResolveConflicts == types.ResolveConflictsPreserve:
		return nil, invalidParameter(*c.Name, "resolveConflicts cannot be PRESERVE when an add-on is created")
	case in.NamespaceConfig != nil && *or(in.NamespaceConfig.Namespace, kubeSystem) != kubeSystem:
		return nil, invalidParameter(*c.Name, "Addon %s does not support the namespace %s in namespaceConfig", name,
			*in.NamespaceConfig.Namespace)
	}
	if err := s.checkAddon(c, in.ConfigurationValues, in.ServiceAccountRoleArn, in.ResolveConflicts); err != nil {
		return nil, err
	}
	if err := checkTags(*c.Name, in.Tags); err != nil {
		return nil, err
	}
	a := &addon{kind: kind, token: in.ClientRequestToken, due: s.due()}
	a.Addon = types.Addon{
		AddonName: &name, AddonArn: new(s.arnOf(c, "addon", name, uuid.NewString())), AddonVersion: &version, ClusterName: c.Name,
		Status: types.AddonStatusCreating, CreatedAt: new(s.now()), ModifiedAt: new(s.now()), Tags: in.Tags,
		Health: &types.AddonHealth{Issues: []types.AddonIssue{}}, ConfigurationValues: in.ConfigurationValues,
		ServiceAccountRoleArn: in.ServiceAccountRoleArn, NamespaceConfig: &types.AddonNamespaceConfigResponse{Namespace: new(kubeSystem)},
	}
	if a.Tags == nil {
		a.Tags = map[string]string{}
	}
	standard, _ := kind.choose(*c.Version, "")
	a.conflicts = c.selfManaged && slices.Contains(selfManaged, name) && in.ResolveConflicts != types.ResolveConflictsOverwrite &&
		(version != standard || value(in.ConfigurationValues) != "")
	if err := s.setAddonRoles(c, a, in.PodIdentityAssociations); err != nil {
		return nil, err
	}
	c.addons[name] = a
	return &eks.CreateAddonOutput{Addon: new(a.Addon)}, nil
}

// selfManaged are the add-ons that EKS installs in new clusters itself, without managing them.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html#AmazonEKS-CreateCluster-request-bootstrapSelfManagedAddons
var selfManaged = []string{"coredns", "kube-proxy", "vpc-cni"}

// checkAddon checks the settings of an add-on.
func (s *Service) checkAddon(c *cluster, configuration, role *string, conflicts types.ResolveConflicts) error {
	if conflicts != "" && !slices.Contains(conflicts.Values(), conflicts) {
		return invalidParameter(*c.Name, "resolveConflicts %s is not valid. Valid values are %v", conflicts, conflicts.Values())
	}
	if text := value(configuration); text != "" {
		// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAddon.html#AmazonEKS-CreateAddon-request-configurationValues
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil { // JSON is YAML
			return invalidParameter(*c.Name, "ConfigurationValue provided in request is not supported: it is neither a JSON nor a YAML object")
		}
	}
	if arn := value(role); arn != "" {
		if _, exists, _ := s.role(arn); !roleARN.MatchString(arn) || !exists {
			return invalidParameter(*c.Name, "The serviceAccountRoleArn %s is not the ARN of a role that exists", arn)
		}
	}
	return nil
}

// setAddonRoles replaces the associations that an add-on owns.
// https://docs.aws.amazon.com/eks/latest/userguide/add-ons-iam.html
func (s *Service) setAddonRoles(c *cluster, a *addon, wanted []types.AddonPodIdentityAssociations) error {
	for _, w := range wanted {
		if err := s.checkPodRole(*c.Name, value(w.RoleArn)); err != nil {
			return err
		}
		if found := c.associationOf(kubeSystem, value(w.ServiceAccount)); found != nil && value(found.OwnerArn) != *a.AddonArn {
			return inUse(*c.Name, "Association already exists: %s", *found.AssociationId)
		}
	}
	c.deleteAssociationsOf(a)
	a.PodIdentityAssociations = nil
	for _, w := range wanted {
		made := s.addAssociation(c, &eks.CreatePodIdentityAssociationInput{
			Namespace: new(kubeSystem), ServiceAccount: w.ServiceAccount, RoleArn: w.RoleArn,
		})
		made.OwnerArn = a.AddonArn
		a.PodIdentityAssociations = append(a.PodIdentityAssociations, *made.AssociationArn)
	}
	return nil
}

func (c *cluster) deleteAssociationsOf(a *addon) {
	maps.DeleteFunc(c.associations, func(_ string, found *association) bool { return value(found.OwnerArn) == *a.AddonArn })
}

// settleAddon lets an add-on take the next state if its time has come. One with a Deployment is degraded
// while the cluster has no nodes. EKS Auto Mode launches nodes for its pods; the simulator launches none, but does not
// call the add-on degraded.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_AddonIssue.html
func (s *Service) settleAddon(c *cluster, a *addon) {
	if s.now().Before(a.due) || a.Status == types.AddonStatusUpdating {
		return
	}
	if a.Status == types.AddonStatusDeleting {
		c.deleteAssociationsOf(a)
		delete(c.addons, *a.AddonName)
		return
	}
	if a.conflicts {
		// https://github.com/eksctl-io/eksctl/pull/5880 and https://github.com/aws/amazon-network-policy-controller-k8s/issues/200
		a.Status = types.AddonStatusCreateFailed
		a.Health = &types.AddonHealth{Issues: []types.AddonIssue{{
			Code: types.AddonIssueCodeConfigurationConflict,
			Message: new("Conflicts found when trying to apply. Will not continue due to resolve conflicts mode. Conflicts:\n" +
				*a.AddonName + " - .spec.template.spec.containers[name=\"" + *a.AddonName + "\"].image"),
			ResourceIds: []string{},
		}}}
		return
	}
	a.Status, a.Health = types.AddonStatusActive, &types.AddonHealth{Issues: []types.AddonIssue{}}
	if a.kind.replicas && !s.hasNodes(c) && !c.launchesNodes() {
		a.Status = types.AddonStatusDegraded
		a.Health = &types.AddonHealth{Issues: []types.AddonIssue{{
			Code:        types.AddonIssueCodeInsufficientNumberOfReplicas,
			Message:     new("The add-on is unhealthy because it doesn't have the desired number of replicas."),
			ResourceIds: []string{},
		}}}
	}
}

// hasNodes reports whether an instance of a cluster runs, of a node group or another.
func (s *Service) hasNodes(c *cluster) bool {
	host, knows := s.options.Host.(Nodes)
	return slices.ContainsFunc(s.options.Instances.Instances(c.at.Account, c.at.Region), func(i ec2.Instance) bool {
		return i.Tags["kubernetes.io/cluster/"+*c.Name] == "owned" && i.State == ec2types.InstanceStateNameRunning &&
			(!knows || host.NodeReady(c.key(), i.ID))
	})
}

// describeAddon returns an add-on.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeAddon.html
func (s *Service) describeAddon(ctx context.Context, in *eks.DescribeAddonInput) (*eks.DescribeAddonOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.find(in.ClusterName)
	if err != nil {
		return nil, err
	}
	a, err := c.addon(in.AddonName)
	if err != nil {
		return nil, err
	}
	return &eks.DescribeAddonOutput{Addon: new(a.Addon)}, nil
}

// listAddons lists the names of add-ons.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_ListAddons.html
func (s *Service) listAddons(ctx context.Context, in *eks.ListAddonsInput) (*eks.ListAddonsOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.find(in.ClusterName)
	if err != nil {
		return nil, err
	}
	names, next, err := page(slices.Collect(maps.Keys(c.addons)), in.NextToken, in.MaxResults)
	return &eks.ListAddonsOutput{Addons: names, NextToken: next}, err
}

// updateAddon begins to change an add-on.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateAddon.html
func (s *Service) updateAddon(ctx context.Context, in *eks.UpdateAddonInput) (*eks.UpdateAddonOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.active(in.ClusterName)
	if err != nil {
		return nil, err
	}
	a, err := c.addon(in.AddonName)
	if err != nil {
		return nil, err
	}
	version, fits := a.kind.choose(*c.Version, *or(in.AddonVersion, *a.AddonVersion))
	if in.AddonVersion == nil {
		version, fits = *a.AddonVersion, true
	}
	switch {
	case a.changing():
		return nil, inUse(*c.Name, "Addon %s cannot be updated as it is currently in %s state", *a.AddonName, a.Status)
	case !fits:
		return nil, invalidParameter(*c.Name, "Addon version specified is not supported")
	}
	if err := s.checkAddon(c, in.ConfigurationValues, in.ServiceAccountRoleArn, in.ResolveConflicts); err != nil {
		return nil, err
	}
	if in.PodIdentityAssociations != nil {
		if err := s.setAddonRoles(c, a, in.PodIdentityAssociations); err != nil {
			return nil, err
		}
	}
	var params []types.UpdateParam
	for _, p := range []struct {
		kind  types.UpdateParamType
		given *string
	}{
		{types.UpdateParamTypeAddonVersion, in.AddonVersion},
		{types.UpdateParamTypeServiceAccountRoleArn, in.ServiceAccountRoleArn},
		{types.UpdateParamTypeConfigurationValues, in.ConfigurationValues},
	} {
		if p.given != nil {
			params = append(params, param(p.kind, *p.given))
		}
	}
	if in.ResolveConflicts != "" {
		params = append(params, param(types.UpdateParamTypeResolveConflicts, string(in.ResolveConflicts)))
	}
	a.Status = types.AddonStatusUpdating
	shown := s.beginUpdate(c, &update{addon: *a.AddonName, apply: func() {
		a.Status, a.AddonVersion, a.ModifiedAt = types.AddonStatusActive, &version, new(s.now())
		if in.ConfigurationValues != nil {
			a.ConfigurationValues = in.ConfigurationValues
		}
		if in.ServiceAccountRoleArn != nil {
			a.ServiceAccountRoleArn = in.ServiceAccountRoleArn
		}
	}}, types.UpdateTypeAddonUpdate, params...)
	return &eks.UpdateAddonOutput{Update: &shown}, nil
}

// deleteAddon begins to delete an add-on. There is nothing in the cluster that it could preserve.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_DeleteAddon.html
func (s *Service) deleteAddon(ctx context.Context, in *eks.DeleteAddonInput) (*eks.DeleteAddonOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.find(in.ClusterName)
	if err != nil {
		return nil, err
	}
	a, err := c.addon(in.AddonName)
	if err != nil {
		return nil, err
	}
	if a.Status == types.AddonStatusUpdating {
		return nil, inUse(*c.Name, "Addon %s cannot be deleted as it is currently in %s state", *a.AddonName, a.Status)
	}
	a.Status, a.due = types.AddonStatusDeleting, s.due()
	return &eks.DeleteAddonOutput{Addon: new(a.Addon)}, nil
}
