package eks

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// entryProperties are the properties of AWS::EKS::AccessEntry.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-eks-accessentry.html
type entryProperties struct {
	ClusterName, PrincipalArn string
	Type, Username            *string
	KubernetesGroups          []string
	AccessPolicies            []struct {
		PolicyArn   string
		AccessScope *types.AccessScope
	}
	Tags []property.Tag
}

type entryProvider struct{ s *Service }

func entryResult(e *types.AccessEntry) resource.Result {
	return resource.Result{PhysicalID: *e.PrincipalArn + "|" + *e.ClusterName, Attributes: map[string]any{
		"AccessEntryArn": *e.AccessEntryArn, "PrincipalArn": *e.PrincipalArn, "ClusterName": *e.ClusterName,
	}}
}

// Create creates an access entry with its policies.
func (p entryProvider) Create(ctx context.Context, r resource.Request) (resource.Result, error) {
	props, err := decode[entryProperties](r.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	ctx = calling(ctx, r)
	made, err := p.s.createAccessEntry(ctx, &eks.CreateAccessEntryInput{
		ClusterName: &props.ClusterName, PrincipalArn: &props.PrincipalArn, Type: props.Type, Username: props.Username,
		KubernetesGroups: props.KubernetesGroups, Tags: stackTags(r, props.Tags),
	})
	if err != nil {
		return resource.Result{}, exists(err, entryType, props.PrincipalArn+"|"+props.ClusterName)
	}
	if err := p.associate(ctx, props); err != nil {
		_, _ = p.s.deleteAccessEntry(ctx, &eks.DeleteAccessEntryInput{ClusterName: &props.ClusterName, PrincipalArn: &props.PrincipalArn})
		return resource.Result{}, handled(err)
	}
	return entryResult(made.AccessEntry), nil
}

func (p entryProvider) associate(ctx context.Context, props *entryProperties) error {
	for _, policy := range props.AccessPolicies {
		_, err := p.s.associateAccessPolicy(ctx, &eks.AssociateAccessPolicyInput{
			ClusterName: &props.ClusterName, PrincipalArn: &props.PrincipalArn, PolicyArn: &policy.PolicyArn,
			AccessScope: policy.AccessScope,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p entryProvider) on(r resource.Request, fn func(*accessEntry) error) error {
	principal, clusterName := split(r.PhysicalID, "|")
	return p.s.look(r, clusterName, func(c *cluster) error {
		e, err := c.entry(&principal)
		if err != nil {
			return err
		}
		return fn(e)
	})
}

// Update changes the user name, the groups, the policies and the tags.
func (p entryProvider) Update(ctx context.Context, r resource.Request) (result resource.Result, err error) {
	props, err := decode[entryProperties](r.Properties)
	if err != nil {
		return result, err
	}
	ctx = calling(ctx, r)
	groups := props.KubernetesGroups
	if groups == nil {
		groups = []string{}
	}
	made, err := p.s.updateAccessEntry(ctx, &eks.UpdateAccessEntryInput{
		ClusterName: &props.ClusterName, PrincipalArn: &props.PrincipalArn, Username: props.Username, KubernetesGroups: groups,
	})
	if err != nil {
		return result, handled(err)
	}
	if err := p.associate(ctx, props); err != nil {
		return result, handled(err)
	}
	err = p.on(r, func(e *accessEntry) error {
		e.Tags = stackTags(r, props.Tags)
		e.policies = slices.DeleteFunc(slices.Clone(e.policies), func(a types.AssociatedAccessPolicy) bool {
			for _, wanted := range props.AccessPolicies {
				if wanted.PolicyArn == *a.PolicyArn {
					return false
				}
			}
			return true
		})
		return nil
	})
	return entryResult(made.AccessEntry), handled(err)
}

// Delete deletes an access entry.
func (p entryProvider) Delete(ctx context.Context, r resource.Request) error {
	principal, clusterName := split(r.PhysicalID, "|")
	_, err := p.s.deleteAccessEntry(calling(ctx, r), &eks.DeleteAccessEntryInput{ClusterName: &clusterName, PrincipalArn: &principal})
	return handled(err)
}

// List returns the identifiers of access entries.
func (p entryProvider) List(_ context.Context, at wire.Target) (ids []string, err error) {
	reg := p.s.enter(at)
	defer p.s.leave(reg)
	for name, c := range reg.clusters {
		for _, principal := range c.principals() {
			ids = append(ids, principal+"|"+name)
		}
	}
	return ids, nil
}

// Read returns the properties of an access entry.
func (p entryProvider) Read(_ context.Context, r resource.Request) (live map[string]any, err error) {
	err = p.on(r, func(e *accessEntry) error {
		live = entryResult(&e.AccessEntry).Attributes
		live["Type"], live["Username"] = *e.Type, *e.Username
		if len(e.KubernetesGroups) > 0 {
			live["KubernetesGroups"] = texts(e.KubernetesGroups)
		}
		policies := []any{}
		for _, a := range e.policies {
			scope := map[string]any{"Type": string(a.AccessScope.Type)}
			if len(a.AccessScope.Namespaces) > 0 {
				scope["Namespaces"] = texts(a.AccessScope.Namespaces)
			}
			policies = append(policies, map[string]any{"PolicyArn": *a.PolicyArn, "AccessScope": scope})
		}
		if len(policies) > 0 {
			live["AccessPolicies"] = policies
		}
		live["Tags"] = ownTags(r, e.Tags)
		return nil
	})
	return plain(live), handled(err)
}

// associationProperties are the properties of AWS::EKS::PodIdentityAssociation.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-eks-podidentityassociation.html
type associationProperties struct {
	ClusterName, Namespace, ServiceAccount, RoleArn string
	DisableSessionTags                              *bool
	TargetRoleArn, Policy                           *string
	Tags                                            []property.Tag
}

type associationProvider struct{ s *Service }

func associationResult(a *types.PodIdentityAssociation) resource.Result {
	attributes := map[string]any{"AssociationArn": *a.AssociationArn, "AssociationId": *a.AssociationId}
	if a.ExternalId != nil {
		attributes["ExternalId"] = *a.ExternalId
	}
	return resource.Result{PhysicalID: *a.AssociationArn, Attributes: attributes}
}

// Create associates a role with a service account.
func (p associationProvider) Create(ctx context.Context, r resource.Request) (resource.Result, error) {
	props, err := decode[associationProperties](r.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	made, err := p.s.createAssociation(calling(ctx, r), &eks.CreatePodIdentityAssociationInput{
		ClusterName: &props.ClusterName, Namespace: &props.Namespace, ServiceAccount: &props.ServiceAccount, RoleArn: &props.RoleArn,
		DisableSessionTags: props.DisableSessionTags, TargetRoleArn: props.TargetRoleArn, Policy: props.Policy,
		Tags: stackTags(r, props.Tags),
	})
	if err != nil {
		err = handled(err)
		if e, ok := errors.AsType[*resource.Error](err); ok && e.Code == resource.ResourceConflict {
			err = &resource.Error{Code: resource.AlreadyExists, Message: e.Message}
		}
		return resource.Result{}, err
	}
	return associationResult(made.Association), nil
}

func (p associationProvider) on(r resource.Request, fn func(*cluster, *association) error) error {
	_, rest := wire.TargetOf(r.PhysicalID) // podidentityassociation/cluster/a-id
	_, rest = split(rest, "/")
	clusterName, id := split(rest, "/")
	return p.s.look(r, clusterName, func(c *cluster) error {
		a, err := c.association(&id)
		if err != nil {
			return err
		}
		return fn(c, a)
	})
}

// Update changes the role and the tags.
func (p associationProvider) Update(ctx context.Context, r resource.Request) (result resource.Result, err error) {
	props, err := decode[associationProperties](r.Properties)
	if err != nil {
		return result, err
	}
	var id string
	err = p.on(r, func(_ *cluster, a *association) error {
		id, a.Tags = *a.AssociationId, stackTags(r, props.Tags)
		return nil
	})
	if err != nil {
		return result, handled(err)
	}
	changed, err := p.s.updateAssociation(calling(ctx, r), &eks.UpdatePodIdentityAssociationInput{
		ClusterName: &props.ClusterName, AssociationId: &id, RoleArn: &props.RoleArn, TargetRoleArn: or(props.TargetRoleArn, ""),
		DisableSessionTags: or(props.DisableSessionTags, false), Policy: props.Policy,
	})
	if err != nil {
		return result, handled(err)
	}
	return associationResult(changed.Association), nil
}

// Delete deletes an association.
func (p associationProvider) Delete(ctx context.Context, r resource.Request) error {
	var name, id string
	err := p.on(r, func(c *cluster, a *association) error {
		name, id = *c.Name, *a.AssociationId
		return nil
	})
	if err == nil {
		_, err = p.s.deleteAssociation(calling(ctx, r), &eks.DeletePodIdentityAssociationInput{ClusterName: &name, AssociationId: &id})
	}
	return handled(err)
}

// List returns the ARNs of associations.
func (p associationProvider) List(_ context.Context, at wire.Target) (arns []string, err error) {
	reg := p.s.enter(at)
	defer p.s.leave(reg)
	for _, c := range reg.clusters {
		for _, a := range c.associations {
			arns = append(arns, *a.AssociationArn)
		}
	}
	return arns, nil
}

// Read returns the properties of an association.
func (p associationProvider) Read(_ context.Context, r resource.Request) (live map[string]any, err error) {
	err = p.on(r, func(c *cluster, a *association) error {
		live = associationResult(&a.PodIdentityAssociation).Attributes
		live["ClusterName"], live["Namespace"], live["ServiceAccount"], live["RoleArn"] = *c.Name, *a.Namespace, *a.ServiceAccount, *a.RoleArn
		live["DisableSessionTags"], live["Tags"] = *a.DisableSessionTags, ownTags(r, a.Tags)
		if a.TargetRoleArn != nil {
			live["TargetRoleArn"] = *a.TargetRoleArn
		}
		return nil
	})
	return plain(live), handled(err)
}
