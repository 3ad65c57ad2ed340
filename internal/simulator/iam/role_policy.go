package iam

import (
	"context"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// rolePolicyProperties are the properties of AWS::IAM::RolePolicy.
type rolePolicyProperties struct {
	PolicyName, RoleName string
	PolicyDocument       property.Document
}

// rolePolicyProvider implements AWS::IAM::RolePolicy, an inline policy of one role.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-iam-rolepolicy.html
type rolePolicyProvider struct{ s *Service }

// find returns the properties of a policy and the role that has it. The physical ID is the name of the policy, or
// its primary identifier.
func (p rolePolicyProvider) find(a *account, r resource.Request) (props rolePolicyProperties, role *entity, err error) {
	if err := property.Decode(r.Properties, &props); err != nil {
		return props, nil, err
	}
	name, roleName, identified := strings.Cut(r.PhysicalID, "|")
	if props.PolicyName = name; identified {
		props.RoleName = roleName
	}
	role = a.entities("role")[props.RoleName]
	if role == nil {
		return props, nil, property.Missing(rolePolicyType, r.PhysicalID)
	}
	if _, has := role.inline[props.PolicyName]; !has {
		return props, nil, property.Missing(rolePolicyType, r.PhysicalID)
	}
	return props, role, nil
}

func (p rolePolicyProvider) put(role *entity, props *rolePolicyProperties) (resource.Result, error) {
	document := string(props.PolicyDocument)
	return resource.Result{PhysicalID: props.PolicyName, Attributes: map[string]any{
		"PolicyName": props.PolicyName, "RoleName": props.RoleName,
	}}, handled(role.put(&props.PolicyName, &document))
}

// Create adds the policy to the role.
func (p rolePolicyProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	var props rolePolicyProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	role, err := a.entity("role", &props.RoleName)
	if err != nil {
		return resource.Result{}, handled(err)
	}
	if _, has := role.inline[props.PolicyName]; has {
		return resource.Result{}, property.Exists(rolePolicyType, props.PolicyName+"|"+props.RoleName)
	}
	return p.put(role, &props)
}

// Update changes the document of the policy.
func (p rolePolicyProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	props, role, err := p.find(a, r)
	if err != nil {
		return resource.Result{}, err
	}
	return p.put(role, &props)
}

// Delete removes the policy from the role.
func (p rolePolicyProvider) Delete(_ context.Context, r resource.Request) error {
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	props, role, err := p.find(a, r)
	if err == nil {
		delete(role.inline, props.PolicyName)
	}
	return err
}

// Read returns the policy.
func (p rolePolicyProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	props, role, err := p.find(a, r)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"PolicyName": props.PolicyName, "RoleName": props.RoleName, "PolicyDocument": decoded(role.inline[props.PolicyName]),
	}, nil
}
