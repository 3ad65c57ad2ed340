package iam

import (
	"context"
	"maps"
	"slices"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Create creates a role or user with its policies.
func (p entityProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	var props entityProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	name := props.RoleName
	if p.kind == "user" {
		name = props.UserName
	}
	if name == "" {
		name = property.Name(r, 64, "")
	}
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	if _, ok := a.entities(p.kind)[name]; ok {
		return resource.Result{}, property.Exists(p.typeNamed, name)
	}
	e, err := p.s.add(a, entity{kind: p.kind, name: name, path: props.Path, trust: string(props.AssumeRolePolicyDocument)})
	if err != nil {
		return resource.Result{}, handled(err)
	}
	r.Previous = nil
	if err := p.apply(a, e, r, &props); err != nil {
		delete(a.entities(p.kind), name)
		return resource.Result{}, handled(err)
	}
	return p.result(e), nil
}

// live runs fn on the role or user.
func (p entityProvider) live(r resource.Request, fn func(*account, *entity) error) error {
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	e, err := a.entity(p.kind, &r.PhysicalID)
	if err != nil {
		return property.Missing(p.typeNamed, r.PhysicalID)
	}
	return handled(fn(a, e))
}

// Update changes a role or user.
func (p entityProvider) Update(_ context.Context, r resource.Request) (result resource.Result, err error) {
	var props entityProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return result, err
	}
	err = p.live(r, func(a *account, e *entity) error {
		result = p.result(e)
		return p.apply(a, e, r, &props)
	})
	return result, err
}

// Delete deletes a role or user with the policies that CloudFormation attached. As in AWS, it fails
// if others are attached.
func (p entityProvider) Delete(_ context.Context, r resource.Request) error {
	var props entityProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return err
	}
	return p.live(r, func(a *account, e *entity) error {
		for _, arn := range props.ManagedPolicyArns {
			_ = a.detach(e, arn) // it may have been detached already
		}
		for _, inline := range props.Policies {
			delete(e.inline, inline.PolicyName)
		}
		return a.remove(e)
	})
}

// List returns the names of the roles or users.
func (p entityProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	a, unlock := p.s.lock(at.Account)
	defer unlock()
	all := a.roles
	if p.kind == "user" {
		all = a.users
	}
	return slices.Collect(maps.Keys(all)), nil
}

// Read returns a role's or user's properties.
func (p entityProvider) Read(_ context.Context, r resource.Request) (props map[string]any, err error) {
	err = p.live(r, func(_ *account, e *entity) error {
		props = map[string]any{"Arn": e.arn, "Path": e.path, "Tags": property.TagList(e.tags), "ManagedPolicyArns": texts(e.attached)}
		if e.boundary != "" {
			props["PermissionsBoundary"] = e.boundary
		}
		var inline []any
		for _, name := range slices.Sorted(maps.Keys(e.inline)) {
			inline = append(inline, map[string]any{"PolicyName": name, "PolicyDocument": decoded(e.inline[name])})
		}
		if len(inline) > 0 {
			props["Policies"] = inline
		}
		if p.kind == "user" {
			props["UserName"] = e.name
			return nil
		}
		props["RoleName"], props["RoleId"] = e.name, e.id
		props["AssumeRolePolicyDocument"], props["MaxSessionDuration"] = decoded(e.trust), float64(e.maxSession)
		if e.description != "" {
			props["Description"] = e.description
		}
		return nil
	})
	return props, err
}

// Create adds an inline policy to roles and users.
func (p policyProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	id := property.Name(r, 128, "")
	return resource.Result{PhysicalID: id, Attributes: map[string]any{"Id": id}}, p.put(a, r.Properties)
}

// Update changes an inline policy and its targets.
func (p policyProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	result := resource.Result{PhysicalID: r.PhysicalID, Attributes: map[string]any{"Id": r.PhysicalID}}
	if err := p.drop(a, r.Previous); err != nil {
		return result, err
	}
	return result, p.put(a, r.Properties)
}

// Delete removes an inline policy.
func (p policyProvider) Delete(_ context.Context, r resource.Request) error {
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	return p.drop(a, r.Properties)
}

// Read returns the policy and the targets that still have it.
func (p policyProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	props, err := p.decode(r.Properties)
	if err != nil {
		return nil, err
	}
	live := map[string]any{"Id": r.PhysicalID, "PolicyName": props.PolicyName}
	found := map[string][]any{}
	props.on().present(a, func(e *entity) {
		if document, ok := e.inline[props.PolicyName]; ok {
			live["PolicyDocument"] = decoded(document)
			found[e.kind] = append(found[e.kind], e.name)
		}
	})
	if len(found) == 0 {
		return nil, property.Missing(policyType, r.PhysicalID)
	}
	for kind, member := range map[string]string{"role": "Roles", "user": "Users"} {
		if len(found[kind]) > 0 {
			live[member] = found[kind]
		}
	}
	return live, nil
}

// managedProperties are the properties of AWS::IAM::ManagedPolicy.
type managedProperties struct {
	ManagedPolicyName, Path, Description string
	PolicyDocument                       property.Document
	Roles, Users, Groups                 []string
}

func (p *managedProperties) on() *applied { return &applied{p.Roles, p.Users, p.Groups} }

type managedPolicyProvider struct{ s *Service }

func (managedPolicyProvider) result(p *policy) resource.Result {
	return resource.Result{PhysicalID: p.arn, Attributes: map[string]any{
		"PolicyArn": p.arn, "PolicyId": p.id, "DefaultVersionId": *p.current().VersionId, "IsAttachable": true,
		"CreateDate": p.created.Format("2006-01-02T15:04:05Z"), "UpdateDate": p.updated.Format("2006-01-02T15:04:05Z"),
	}}
}

// Create creates a managed policy and attaches it.
func (p managedPolicyProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	var props managedProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	if props.ManagedPolicyName == "" {
		props.ManagedPolicyName = property.Name(r, 128, "")
	}
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	made, err := p.s.addPolicy(
		a, policy{name: props.ManagedPolicyName, path: props.Path, description: props.Description}, string(props.PolicyDocument),
	)
	if err != nil {
		return resource.Result{}, handled(err)
	}
	err = props.on().each(a, func(e *entity) error { return a.attach(e, made.arn) })
	return p.result(made), handled(err)
}

// Update creates a new version of the policy and updates its attachments.
func (p managedPolicyProvider) Update(_ context.Context, r resource.Request) (result resource.Result, err error) {
	var props, previous managedProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return result, err
	}
	if err := property.Decode(r.Previous, &previous); err != nil {
		return result, err
	}
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	found, ok := a.policies[r.PhysicalID]
	if !ok {
		return result, property.Missing(managedPolicyType, r.PhysicalID)
	}
	if *found.current().Document != string(props.PolicyDocument) {
		// CloudFormation deletes the oldest version to make room.
		if len(found.versions) >= 5 {
			found.versions = found.versions[1:]
		}
		if _, err := p.s.addVersion(found, string(props.PolicyDocument), true); err != nil {
			return result, handled(err)
		}
	}
	previous.on().present(a, func(e *entity) { _ = a.detach(e, found.arn) }) // it may have been detached already
	err = props.on().each(a, func(e *entity) error { return a.attach(e, found.arn) })
	return p.result(found), handled(err)
}

// Delete detaches and deletes the policy.
func (p managedPolicyProvider) Delete(_ context.Context, r resource.Request) error {
	var props managedProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return err
	}
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	if _, ok := a.policies[r.PhysicalID]; !ok {
		return property.Missing(managedPolicyType, r.PhysicalID)
	}
	props.on().present(a, func(e *entity) { _ = a.detach(e, r.PhysicalID) }) // it may have been detached already
	if a.attachments(r.PhysicalID) > 0 {
		return handled(conflict("Cannot delete a policy attached to entities."))
	}
	delete(a.policies, r.PhysicalID)
	return nil
}

// List returns the ARNs of the account's policies.
func (p managedPolicyProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	a, unlock := p.s.lock(at.Account)
	defer unlock()
	return slices.Collect(maps.Keys(a.policies)), nil
}

// Read returns a managed policy's properties.
func (p managedPolicyProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	found, ok := a.policies[r.PhysicalID]
	if !ok {
		return nil, property.Missing(managedPolicyType, r.PhysicalID)
	}
	live := map[string]any{
		"PolicyArn": found.arn, "ManagedPolicyName": found.name, "Path": found.path, "PolicyDocument": decoded(*found.current().Document),
	}
	if found.description != "" {
		live["Description"] = found.description
	}
	for member, all := range map[string]map[string]*entity{"Roles": a.roles, "Users": a.users} {
		var names []string
		for name, e := range all {
			if slices.Contains(e.attached, found.arn) {
				names = append(names, name)
			}
		}
		if slices.Sort(names); len(names) > 0 {
			live[member] = texts(names)
		}
	}
	return live, nil
}

// profileProperties are the properties of AWS::IAM::InstanceProfile.
type profileProperties struct {
	InstanceProfileName, Path string
	Roles                     []string
}

type profileProvider struct{ s *Service }

func (profileProvider) apply(a *account, made *profile, roles []string) error {
	if len(roles) != 1 {
		return resource.Errorf(resource.InvalidRequest, "An instance profile has exactly one role.")
	}
	before := made.role
	made.role = nil
	if err := a.setRole(made, &roles[0]); err != nil {
		made.role = before
		return handled(err)
	}
	return nil
}

// Create creates an instance profile with its role.
func (p profileProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	var props profileProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	if props.InstanceProfileName == "" {
		props.InstanceProfileName = property.Name(r, 128, "")
	}
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	made, err := p.s.addProfile(a, profile{name: props.InstanceProfileName, path: props.Path, tags: map[string]string{}})
	if err != nil {
		return resource.Result{}, handled(err)
	}
	if err := p.apply(a, made, props.Roles); err != nil {
		delete(a.profiles, made.name)
		return resource.Result{}, err
	}
	return resource.Result{PhysicalID: made.name, Attributes: map[string]any{"Arn": made.arn}}, nil
}

// live runs fn on the instance profile.
func (p profileProvider) live(r resource.Request, fn func(*account, *profile) error) error {
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	found, ok := a.profiles[r.PhysicalID]
	if !ok {
		return property.Missing(profileType, r.PhysicalID)
	}
	return fn(a, found)
}

// Update changes the profile's role.
func (p profileProvider) Update(_ context.Context, r resource.Request) (result resource.Result, err error) {
	var props profileProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return result, err
	}
	err = p.live(r, func(a *account, found *profile) error {
		result = resource.Result{PhysicalID: found.name, Attributes: map[string]any{"Arn": found.arn}}
		return p.apply(a, found, props.Roles)
	})
	return result, err
}

// Delete deletes an instance profile.
func (p profileProvider) Delete(_ context.Context, r resource.Request) error {
	return p.live(r, func(a *account, found *profile) error {
		delete(a.profiles, found.name)
		return nil
	})
}

// List returns the names of the instance profiles.
func (p profileProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	a, unlock := p.s.lock(at.Account)
	defer unlock()
	return slices.Collect(maps.Keys(a.profiles)), nil
}

// Read returns an instance profile's properties.
func (p profileProvider) Read(_ context.Context, r resource.Request) (props map[string]any, err error) {
	err = p.live(r, func(_ *account, found *profile) error {
		props = map[string]any{"InstanceProfileName": found.name, "Arn": found.arn, "Path": found.path}
		if found.role != nil {
			props["Roles"] = []any{found.role.name}
		}
		return nil
	})
	return props, err
}
