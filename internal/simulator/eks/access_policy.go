package eks

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// The access policies that the simulator evaluates.
// https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
const (
	clusterAdminPolicy = "AmazonEKSClusterAdminPolicy"
	adminPolicy        = "AmazonEKSAdminPolicy"
	adminViewPolicy    = "AmazonEKSAdminViewPolicy"
	editPolicy         = "AmazonEKSEditPolicy"
	viewPolicy         = "AmazonEKSViewPolicy"
	autoNodePolicy     = "AmazonEKSAutoNodePolicy"
)

// accessPolicies are all of them, sorted.
var accessPolicies = []string{adminPolicy, adminViewPolicy, autoNodePolicy, clusterAdminPolicy, editPolicy, viewPolicy}

// policyARN returns the ARN of an access policy, which has neither a region nor an account.
func policyARN(c *cluster, name string) string {
	partition := strings.SplitN(*c.Arn, ":", 3)[1] //nolint:mnd // the parts of an ARN
	return "arn:" + partition + ":eks::aws:cluster-access-policy/" + name
}

func (e *accessEntry) policy(arn string) int {
	return slices.IndexFunc(e.policies, func(p types.AssociatedAccessPolicy) bool { return *p.PolicyArn == arn })
}

// listAccessPolicies lists the policies that the simulator evaluates.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_ListAccessPolicies.html
func (s *Service) listAccessPolicies(_ context.Context, in *eks.ListAccessPoliciesInput) (*eks.ListAccessPoliciesOutput, error) {
	names, next, err := page(slices.Clone(accessPolicies), in.NextToken, in.MaxResults)
	out := &eks.ListAccessPoliciesOutput{AccessPolicies: []types.AccessPolicy{}, NextToken: next}
	for _, name := range names {
		out.AccessPolicies = append(out.AccessPolicies, types.AccessPolicy{
			Name: &name, Arn: new("arn:" + s.partition() + ":eks::aws:cluster-access-policy/" + name),
		})
	}
	return out, err
}

// associateAccessPolicy associates an access policy with an entry, or changes its scope.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_AssociateAccessPolicy.html
func (s *Service) associateAccessPolicy(ctx context.Context, in *eks.AssociateAccessPolicyInput) (*eks.AssociateAccessPolicyOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.withEntries(in.ClusterName)
	if err != nil {
		return nil, err
	}
	e, err := c.entry(in.PrincipalArn)
	if err != nil {
		return nil, err
	}
	if err := checkAssociation(c, e, in); err != nil {
		return nil, err
	}
	scope := *in.AccessScope
	if scope.Namespaces == nil {
		scope.Namespaces = []string{}
	}
	now := s.now()
	made := types.AssociatedAccessPolicy{PolicyArn: in.PolicyArn, AccessScope: &scope, AssociatedAt: &now, ModifiedAt: &now}
	policies := slices.Clone(e.policies)
	if i := e.policy(*in.PolicyArn); i >= 0 {
		made.AssociatedAt = policies[i].AssociatedAt
		policies[i] = made
	} else {
		policies = append(policies, made)
	}
	e.policies = policies
	return &eks.AssociateAccessPolicyOutput{AssociatedAccessPolicy: &made, ClusterName: c.Name, PrincipalArn: in.PrincipalArn}, nil
}

func checkAssociation(c *cluster, e *accessEntry, in *eks.AssociateAccessPolicyInput) error {
	scope := in.AccessScope
	switch {
	case *e.Type == typeLinux:
		return invalidParameter(*c.Name, "Access policies can't be associated with an access entry of type %s.", *e.Type)
	case !slices.ContainsFunc(accessPolicies, func(name string) bool { return policyARN(c, name) == value(in.PolicyArn) }):
		return invalidParameter(*c.Name, "The policyArn parameter %s is not valid. You can view the available policies with 'list-access-policies'.",
			value(in.PolicyArn))
	case scope == nil:
		return invalidParameter(*c.Name, "The accessScope parameter is required")
	case scope.Type == types.AccessScopeTypeCluster && len(scope.Namespaces) > 0:
		return invalidParameter(*c.Name, "The accessScope parameter cannot have namespaces with the type cluster")
	case scope.Type == types.AccessScopeTypeNamespace && len(scope.Namespaces) == 0:
		return invalidParameter(*c.Name, "The accessScope parameter needs namespaces with the type namespace")
	case !slices.Contains(scope.Type.Values(), scope.Type):
		return invalidParameter(*c.Name, "The type %q of the accessScope parameter is not valid. Valid values are %v", scope.Type, scope.Type.Values())
	}
	return nil
}

// disassociateAccessPolicy removes an access policy from an entry.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_DisassociateAccessPolicy.html
func (s *Service) disassociateAccessPolicy(
	ctx context.Context, in *eks.DisassociateAccessPolicyInput,
) (*eks.DisassociateAccessPolicyOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.withEntries(in.ClusterName)
	if err != nil {
		return nil, err
	}
	e, err := c.entry(in.PrincipalArn)
	if err != nil {
		return nil, err
	}
	i := e.policy(value(in.PolicyArn))
	if i < 0 {
		return nil, notFound(*c.Name, "The specified policyArn is not associated with the access entry.")
	}
	e.policies = slices.Delete(slices.Clone(e.policies), i, i+1)
	return nil, nil
}

// listAssociatedPolicies lists the access policies of an entry.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_ListAssociatedAccessPolicies.html
func (s *Service) listAssociatedPolicies(
	ctx context.Context, in *eks.ListAssociatedAccessPoliciesInput,
) (*eks.ListAssociatedAccessPoliciesOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.withEntries(in.ClusterName)
	if err != nil {
		return nil, err
	}
	e, err := c.entry(in.PrincipalArn)
	if err != nil {
		return nil, err
	}
	out := &eks.ListAssociatedAccessPoliciesOutput{
		ClusterName: c.Name, PrincipalArn: e.PrincipalArn, AssociatedAccessPolicies: []types.AssociatedAccessPolicy{},
	}
	var arns []string
	for _, p := range e.policies {
		arns = append(arns, *p.PolicyArn)
	}
	arns, out.NextToken, err = page(arns, in.NextToken, in.MaxResults)
	for _, arn := range arns {
		out.AssociatedAccessPolicies = append(out.AssociatedAccessPolicies, e.policies[e.policy(arn)])
	}
	return out, err
}
