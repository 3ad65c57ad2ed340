package eks

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// addonProperties are the properties of AWS::EKS::Addon.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-eks-addon.html
type addonProperties struct {
	ClusterName, AddonName                                   string
	AddonVersion, ConfigurationValues, ServiceAccountRoleArn *string
	NamespaceConfig                                          *types.AddonNamespaceConfigRequest
	PodIdentityAssociations                                  []types.AddonPodIdentityAssociations
	PreserveOnDelete                                         bool
	ResolveConflicts                                         types.ResolveConflicts
	Tags                                                     []property.Tag
}

type addonProvider struct{ s *Service }

func addonResult(a *types.Addon) resource.Result {
	return resource.Result{PhysicalID: *a.ClusterName + "|" + *a.AddonName, Attributes: map[string]any{
		"Arn": *a.AddonArn, "ClusterName": *a.ClusterName, "AddonName": *a.AddonName,
	}}
}

// Create begins to create an add-on.
func (p addonProvider) Create(ctx context.Context, r resource.Request) (resource.Result, error) {
	props, err := decode[addonProperties](r.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	conflicts := props.ResolveConflicts
	if conflicts == types.ResolveConflictsPreserve {
		conflicts = types.ResolveConflictsNone // it is for updates
	}
	made, err := p.s.createAddon(calling(ctx, r), &eks.CreateAddonInput{
		ClusterName: &props.ClusterName, AddonName: &props.AddonName, AddonVersion: props.AddonVersion,
		NamespaceConfig:     props.NamespaceConfig,
		ConfigurationValues: props.ConfigurationValues, ServiceAccountRoleArn: props.ServiceAccountRoleArn, ResolveConflicts: conflicts,
		PodIdentityAssociations: props.PodIdentityAssociations, Tags: stackTags(r, props.Tags),
	})
	if err != nil {
		return resource.Result{}, exists(err, addonType, props.ClusterName+"|"+props.AddonName)
	}
	return addonResult(made.Addon), nil
}

func (p addonProvider) on(r resource.Request, fn func(*cluster, *addon) error) error {
	clusterName, name := split(r.PhysicalID, "|")
	return p.s.look(r, clusterName, func(c *cluster) error {
		a, err := c.addon(&name)
		if err != nil {
			return err
		}
		return fn(c, a)
	})
}

// Update begins to change an add-on.
func (p addonProvider) Update(ctx context.Context, r resource.Request) (result resource.Result, err error) {
	props, err := decode[addonProperties](r.Properties)
	if err != nil {
		return result, err
	}
	associations := props.PodIdentityAssociations
	if associations == nil {
		associations = []types.AddonPodIdentityAssociations{}
	}
	_, err = p.s.updateAddon(calling(ctx, r), &eks.UpdateAddonInput{
		ClusterName: &props.ClusterName, AddonName: &props.AddonName, AddonVersion: props.AddonVersion,
		ConfigurationValues: or(props.ConfigurationValues, ""), ServiceAccountRoleArn: props.ServiceAccountRoleArn,
		ResolveConflicts: props.ResolveConflicts, PodIdentityAssociations: associations,
	})
	if err != nil {
		return result, handled(err)
	}
	err = p.on(r, func(_ *cluster, a *addon) error {
		a.Tags = stackTags(r, props.Tags)
		result = addonResult(&a.Addon)
		return nil
	})
	return result, handled(err)
}

// Stable reports whether an add-on is active or, after a Delete, no longer exists.
func (p addonProvider) Stable(_ context.Context, r resource.Request) (done bool, err error) {
	err = p.on(r, func(c *cluster, a *addon) (err error) {
		if a.Status == types.AddonStatusCreateFailed {
			// https://github.com/zalando-incubator/kubernetes-on-aws/pull/10377
			issue := a.Health.Issues[0]
			return resource.Errorf(resource.NotStabilized, "Addon moved to failed status during Create operation. Code: %s, Message: %s",
				issue.Code, *issue.Message)
		}
		done, err = ended(c, "", *a.AddonName)
		done = done && a.Status == types.AddonStatusActive
		return err
	})
	if isMissing(err) {
		return true, nil
	}
	return done, err
}

// Delete begins to delete an add-on.
func (p addonProvider) Delete(ctx context.Context, r resource.Request) error {
	clusterName, name := split(r.PhysicalID, "|")
	_, err := p.s.deleteAddon(calling(ctx, r), &eks.DeleteAddonInput{ClusterName: &clusterName, AddonName: &name})
	return handled(err)
}

// List returns the identifiers of add-ons.
func (p addonProvider) List(_ context.Context, at wire.Target) (ids []string, err error) {
	reg := p.s.enter(at)
	defer p.s.leave(reg)
	for name, c := range reg.clusters {
		for a := range c.addons {
			ids = append(ids, name+"|"+a)
		}
	}
	return ids, nil
}

// Read returns the properties of an add-on.
func (p addonProvider) Read(_ context.Context, r resource.Request) (live map[string]any, err error) {
	err = p.on(r, func(_ *cluster, a *addon) error {
		live = addonResult(&a.Addon).Attributes
		live["AddonVersion"], live["Tags"] = *a.AddonVersion, ownTags(r, a.Tags)
		if a.ConfigurationValues != nil && *a.ConfigurationValues != "" {
			live["ConfigurationValues"] = *a.ConfigurationValues
		}
		if a.ServiceAccountRoleArn != nil {
			live["ServiceAccountRoleArn"] = *a.ServiceAccountRoleArn
		}
		return nil
	})
	return plain(live), handled(err)
}
