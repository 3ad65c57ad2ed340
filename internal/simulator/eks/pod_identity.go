package eks

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// association lets the pods of a service account have a role.
type association struct {
	types.PodIdentityAssociation

	token *string
}

// kubernetesName matches the names of namespaces and service accounts.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
var kubernetesName = lazyregexp.New(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// associationOf returns the association of a service account, nil if it has none.
func (c *cluster) associationOf(namespace, account string) *association {
	for _, a := range c.associations {
		if *a.Namespace == namespace && *a.ServiceAccount == account {
			return a
		}
	}
	return nil
}

func (c *cluster) association(id *string) (*association, error) {
	a, ok := c.associations[value(id)]
	if !ok {
		return nil, notFound(*c.Name, "No association found with associationId: %s in cluster: %s", value(id), *c.Name)
	}
	return a, nil
}

// createAssociation associates a role with a service account. A service account has at most one.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreatePodIdentityAssociation.html
func (s *Service) createAssociation(
	ctx context.Context, in *eks.CreatePodIdentityAssociationInput,
) (*eks.CreatePodIdentityAssociationOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.find(in.ClusterName)
	if err != nil {
		return nil, err
	}
	namespace, account := value(in.Namespace), value(in.ServiceAccount)
	if found := c.associationOf(namespace, account); found != nil {
		if in.ClientRequestToken != nil && value(found.token) == *in.ClientRequestToken {
			return &eks.CreatePodIdentityAssociationOutput{Association: new(found.PodIdentityAssociation)}, nil
		}
		return nil, inUse(*c.Name, "Association already exists: %s", *found.AssociationId) // https://github.com/eksctl-io/eksctl/issues/7753
	}
	switch {
	case !kubernetesName.MatchString(namespace):
		return nil, invalidParameter(*c.Name, "namespace %q is not a valid name", namespace)
	case !kubernetesName.MatchString(account):
		return nil, invalidParameter(*c.Name, "serviceAccount %q is not a valid name", account)
	case in.Policy != nil:
		return nil, unsupported(*c.Name, "policy")
	}
	if err := s.checkPodRole(*c.Name, value(in.RoleArn)); err != nil {
		return nil, err
	}
	if err := checkTags(*c.Name, nil, in.Tags); err != nil {
		return nil, err
	}
	return &eks.CreatePodIdentityAssociationOutput{Association: new(s.addAssociation(c, in).PodIdentityAssociation)}, nil
}

func (s *Service) addAssociation(c *cluster, in *eks.CreatePodIdentityAssociationInput) *association {
	id := "a-" + strings.ToLower(wire.RandomName(17)) //nolint:mnd // of IDs of AWS
	now := s.now()
	a := &association{token: in.ClientRequestToken, PodIdentityAssociation: types.PodIdentityAssociation{
		AssociationId: &id, AssociationArn: new(s.arnOf(c, "podidentityassociation", id)), ClusterName: c.Name, Namespace: in.Namespace,
		ServiceAccount: in.ServiceAccount, RoleArn: in.RoleArn, TargetRoleArn: in.TargetRoleArn, Tags: in.Tags,
		DisableSessionTags: or(in.DisableSessionTags, false), CreatedAt: &now, ModifiedAt: &now,
	}}
	if a.Tags == nil {
		a.Tags = map[string]string{}
	}
	a.setExternalID()
	c.associations[id] = a
	return a
}

// setExternalID sets the external ID that the trust policy of a target role can require.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_PodIdentityAssociation.html
func (a *association) setExternalID() {
	a.ExternalId = nil
	if a.TargetRoleArn != nil {
		at, _ := wire.TargetOf(*a.AssociationArn)
		a.ExternalId = new(at.Region + "/" + at.Account + "/" + *a.ClusterName + "/" + *a.Namespace + "/" + *a.ServiceAccount)
	}
}

// describeAssociation returns an association.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribePodIdentityAssociation.html
func (s *Service) describeAssociation(
	ctx context.Context, in *eks.DescribePodIdentityAssociationInput,
) (*eks.DescribePodIdentityAssociationOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.find(in.ClusterName)
	if err != nil {
		return nil, err
	}
	a, err := c.association(in.AssociationId)
	if err != nil {
		return nil, err
	}
	return &eks.DescribePodIdentityAssociationOutput{Association: new(a.PodIdentityAssociation)}, nil
}

// listAssociations lists associations, of a namespace or a service account if the request names one.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_ListPodIdentityAssociations.html
func (s *Service) listAssociations(
	ctx context.Context, in *eks.ListPodIdentityAssociationsInput,
) (*eks.ListPodIdentityAssociationsOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.find(in.ClusterName)
	if err != nil {
		return nil, err
	}
	var ids []string
	for id, a := range c.associations {
		if (in.Namespace == nil || *in.Namespace == *a.Namespace) && (in.ServiceAccount == nil || *in.ServiceAccount == *a.ServiceAccount) {
			ids = append(ids, id)
		}
	}
	out := &eks.ListPodIdentityAssociationsOutput{Associations: []types.PodIdentityAssociationSummary{}}
	ids, out.NextToken, err = page(ids, in.NextToken, in.MaxResults)
	for _, id := range ids {
		a := c.associations[id]
		out.Associations = append(out.Associations, types.PodIdentityAssociationSummary{
			AssociationArn: a.AssociationArn, AssociationId: a.AssociationId, ClusterName: a.ClusterName, Namespace: a.Namespace,
			OwnerArn: a.OwnerArn, ServiceAccount: a.ServiceAccount,
		})
	}
	return out, err
}

// owned returns an error for an association that an add-on owns.
func (a *association) owned() error {
	if a.OwnerArn == nil {
		return nil
	}
	return invalidRequest(*a.ClusterName, "Association %s is owned by %s, and can be changed only with it", *a.AssociationId, *a.OwnerArn)
}

// updateAssociation changes the role of an association.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdatePodIdentityAssociation.html
func (s *Service) updateAssociation(
	ctx context.Context, in *eks.UpdatePodIdentityAssociationInput,
) (*eks.UpdatePodIdentityAssociationOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.find(in.ClusterName)
	if err != nil {
		return nil, err
	}
	a, err := c.association(in.AssociationId)
	if err != nil {
		return nil, err
	}
	if err := a.owned(); err != nil {
		return nil, err
	}
	if in.Policy != nil {
		return nil, unsupported(*c.Name, "policy")
	}
	if in.RoleArn != nil {
		if err := s.checkPodRole(*c.Name, *in.RoleArn); err != nil {
			return nil, err
		}
		a.RoleArn = in.RoleArn
	}
	if in.TargetRoleArn != nil {
		a.TargetRoleArn = wire.Optional(*in.TargetRoleArn) // an empty one removes it
		a.setExternalID()
	}
	if in.DisableSessionTags != nil {
		a.DisableSessionTags = in.DisableSessionTags
	}
	a.ModifiedAt = new(s.now())
	return &eks.UpdatePodIdentityAssociationOutput{Association: new(a.PodIdentityAssociation)}, nil
}

// deleteAssociation deletes an association.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_DeletePodIdentityAssociation.html
func (s *Service) deleteAssociation(
	ctx context.Context, in *eks.DeletePodIdentityAssociationInput,
) (*eks.DeletePodIdentityAssociationOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.find(in.ClusterName)
	if err != nil {
		return nil, err
	}
	a, err := c.association(in.AssociationId)
	if err != nil {
		return nil, err
	}
	if err := a.owned(); err != nil {
		return nil, err
	}
	delete(c.associations, *a.AssociationId)
	return &eks.DeletePodIdentityAssociationOutput{Association: new(a.PodIdentityAssociation)}, nil
}

// ids returns the IDs of associations, sorted.
func (c *cluster) associationIDs() []string { return slices.Sorted(maps.Keys(c.associations)) }
