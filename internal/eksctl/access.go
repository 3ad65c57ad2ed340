package eksctl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/translation"
)

// policies are the access policies, by the last part of their ARNs.
// https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
var policies = map[string]v1alpha1.EKSAccessPolicy{
	"AmazonEKSViewPolicy": v1alpha1.EKSView, "AmazonEKSEditPolicy": v1alpha1.EKSEdit, "AmazonEKSAdminPolicy": v1alpha1.EKSAdmin,
	"AmazonEKSClusterAdminPolicy": v1alpha1.EKSClusterAdmin,
}

// access translates who may use the Kubernetes API.
func (c *cluster) access() {
	if p := c.spec.Section("accessConfig", accessFields); p != nil {
		if mode := p.Text("authenticationMode"); mode != "" && mode != "API" {
			p.Note("authenticationMode", translation.Warning, "the mode is API: entries of the ConfigMap aws-auth have no effect")
		}
		for _, entry := range p.Sections("accessEntries", entryFields) {
			c.entry(entry)
		}
		p.Finish()
	}
	for _, mapping := range c.spec.Sections("iamIdentityMappings", mappingFields) {
		c.mapping(mapping)
	}
}

// add adds the access of a principal, which has one entry.
func (c *cluster) add(p *translation.Part, field string, access v1alpha1.EKSAccess) {
	all := &c.result.Spec.ControlPlane.EKS.Access
	switch {
	case access.Principal == "":
		p.Refuse(field, "an entry needs a principal: set the ARN of a role or a user")
	case slices.ContainsFunc(*all, func(other v1alpha1.EKSAccess) bool { return other.Principal == access.Principal }):
		p.Refuse(field, "the principal has another entry: merge the two")
	default:
		*all = append(*all, access)
	}
}

// entry translates an access entry.
func (c *cluster) entry(p *translation.Part) {
	access := v1alpha1.EKSAccess{Principal: p.Text("principalARN"), Groups: p.Texts("kubernetesGroups")}
	if kind := p.Text("type"); kind != "" && !strings.EqualFold(kind, "STANDARD") {
		p.Note("type", translation.Info, "EKS makes the entries of its node groups itself")
		p.Use("accessPolicies", "kubernetesUsername")
		p.Finish()
		return
	}
	granted := p.Sections("accessPolicies", policyFields)
	if len(granted) > 1 {
		p.Refuse("accessPolicies", "a principal has one policy: keep the one that permits most, and bind groups to roles for the rest")
	}
	for _, one := range granted {
		c.policy(one, &access)
	}
	c.add(p, "principalARN", access)
	p.Finish()
}

// policy translates an access policy and its scope.
func (c *cluster) policy(p *translation.Part, access *v1alpha1.EKSAccess) {
	arn := p.Text("policyARN")
	policy, known := policies[arn[strings.LastIndexByte(arn, '/')+1:]]
	if !known {
		p.Refuse("policyARN", "the policies are AmazonEKSViewPolicy, AmazonEKSEditPolicy, AmazonEKSAdminPolicy and AmazonEKSClusterAdminPolicy: use one of them, or bind groups to roles")
	}
	access.Policy = policy
	if scope := p.Section("accessScope", scopeFields); scope != nil {
		access.Namespaces = scope.Texts("namespaces")
		switch kind := scope.Text("type"); {
		case kind == "namespace" && len(access.Namespaces) == 0:
			scope.Refuse("namespaces", "the policy would apply to the whole cluster: name at least one namespace")
		case kind == "cluster" && len(access.Namespaces) > 0:
			scope.Refuse("namespaces", "the scope is the whole cluster: leave them out, or set type to namespace")
		case kind != "cluster" && kind != "namespace":
			scope.Refuse("type", "write cluster or namespace")
		case policy == v1alpha1.EKSClusterAdmin && kind == "namespace":
			scope.Refuse("type", "AmazonEKSClusterAdminPolicy is for the whole cluster: use AmazonEKSAdminPolicy for namespaces")
		}
		scope.Finish()
	}
	p.Finish()
}

// mapping translates an entry of the ConfigMap aws-auth to an access entry.
// https://docs.aws.amazon.com/eks/latest/userguide/migrating-access-entries.html
func (c *cluster) mapping(p *translation.Part) {
	defer p.Finish()
	access := v1alpha1.EKSAccess{Principal: p.Text("arn")}
	if access.Principal == "" {
		p.Note("", translation.Warning, "only roles and users can be mapped: add access entries for the principals of the account or service")
		return
	}
	for _, group := range p.Texts("groups") {
		switch {
		case group == "system:masters":
			access.Policy = v1alpha1.EKSClusterAdmin
		case strings.HasPrefix(group, "system:"):
			p.Note("groups", translation.Warning, fmt.Sprintf("EKS reserves the group %s, so it is dropped: bind another group to the same roles", group))
		default:
			access.Groups = append(access.Groups, group)
		}
	}
	c.add(p, "arn", access)
}
