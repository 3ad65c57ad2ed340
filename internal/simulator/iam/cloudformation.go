package iam

import (
	"cmp"
	"encoding/json"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

const (
	roleType          = "AWS::IAM::Role"
	userType          = "AWS::IAM::User"
	policyType        = "AWS::IAM::Policy"
	rolePolicyType    = "AWS::IAM::RolePolicy"
	managedPolicyType = "AWS::IAM::ManagedPolicy"
	profileType       = "AWS::IAM::InstanceProfile"
	issuerType        = "AWS::IAM::OIDCProvider"
)

// Providers returns the providers of the CloudFormation types for IAM.
func (s *Service) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{
		roleType:          entityProvider{s, "role", roleType},
		userType:          entityProvider{s, "user", userType},
		policyType:        policyProvider{s},
		rolePolicyType:    rolePolicyProvider{s},
		managedPolicyType: managedPolicyProvider{s},
		profileType:       profileProvider{s},
		issuerType:        issuerProvider{s},
	}
}

func handled(err error) error { return property.HandlerError("Iam", err) }

// decoded returns a document in the form that CloudFormation reads.
func decoded(document string) any {
	var tree any
	if json.Unmarshal([]byte(document), &tree) != nil {
		return document
	}
	return tree
}

// texts returns a list in the form that CloudFormation reads.
func texts(list []string) []any {
	out := make([]any, len(list))
	for i, text := range list {
		out[i] = text
	}
	return out
}

// applied are the targets of an AWS::IAM::Policy or ManagedPolicy.
type applied struct{ Roles, Users, Groups []string }

// each runs fn on every role and user. The caller holds the lock.
func (p *applied) each(a *account, fn func(*entity) error) error {
	if len(p.Groups) > 0 {
		return resource.Errorf(resource.InvalidRequest, "The simulator has no IAM groups.")
	}
	for kind, names := range map[string][]string{"role": p.Roles, "user": p.Users} {
		for _, name := range names {
			e, err := a.entity(kind, &name)
			if err != nil {
				return err
			}
			if err := fn(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// present runs fn on the roles and users that still exist.
func (p *applied) present(a *account, fn func(*entity)) {
	for kind, names := range map[string][]string{"role": p.Roles, "user": p.Users} {
		for _, name := range names {
			if e, ok := a.entities(kind)[name]; ok {
				fn(e)
			}
		}
	}
}

// inlineProperties are the properties of AWS::IAM::Policy.
type inlineProperties struct {
	PolicyName     string
	PolicyDocument property.Document
	Roles, Users   []string
	Groups         []string
}

func (p *inlineProperties) on() *applied { return &applied{p.Roles, p.Users, p.Groups} }

type policyProvider struct{ s *Service }

func (p policyProvider) decode(properties map[string]any) (props inlineProperties, err error) {
	return props, property.Decode(properties, &props)
}

func (p policyProvider) put(a *account, properties map[string]any) error {
	props, err := p.decode(properties)
	if err != nil {
		return err
	}
	document := string(props.PolicyDocument)
	return handled(props.on().each(a, func(e *entity) error { return e.put(&props.PolicyName, &document) }))
}

func (p policyProvider) drop(a *account, properties map[string]any) error {
	props, err := p.decode(properties)
	if err != nil {
		return err
	}
	props.on().present(a, func(e *entity) { delete(e.inline, props.PolicyName) })
	return nil
}

// entityProperties are the properties of AWS::IAM::Role and AWS::IAM::User.
type entityProperties struct {
	RoleName, UserName, Path, Description, PermissionsBoundary string
	AssumeRolePolicyDocument                                   property.Document
	MaxSessionDuration                                         int32
	ManagedPolicyArns, Groups                                  []string
	Policies                                                   []struct {
		PolicyName     string
		PolicyDocument property.Document
	}
	LoginProfile map[string]any
	Tags         []property.Tag
}

// entityProvider implements roles and users.
type entityProvider struct {
	s               *Service
	kind, typeNamed string
}

func (p entityProvider) result(e *entity) resource.Result {
	attributes := map[string]any{"Arn": e.arn}
	if p.kind == "role" {
		attributes["RoleId"] = e.id
	}
	return resource.Result{PhysicalID: e.name, Attributes: attributes}
}

// apply applies the changeable properties to an entity.
func (p entityProvider) apply(a *account, e *entity, r resource.Request, props *entityProperties) error {
	if len(props.Groups) > 0 {
		return resource.Errorf(resource.InvalidRequest, "The simulator has no IAM groups.")
	}
	e.description, e.boundary = props.Description, props.PermissionsBoundary
	e.tags = property.Tags(r.Tags, props.Tags)
	if p.kind == "role" {
		if err := checkTrust(string(props.AssumeRolePolicyDocument)); err != nil {
			return handled(err)
		}
		e.trust, e.maxSession = string(props.AssumeRolePolicyDocument), cmp.Or(props.MaxSessionDuration, 3600)
	}
	var previous entityProperties
	if err := property.Decode(r.Previous, &previous); err != nil {
		return err
	}
	for _, arn := range previous.ManagedPolicyArns {
		_ = a.detach(e, arn) // it may have been detached already
	}
	for _, inline := range previous.Policies {
		delete(e.inline, inline.PolicyName)
	}
	for _, arn := range props.ManagedPolicyArns {
		if err := a.attach(e, arn); err != nil {
			return err
		}
	}
	for _, inline := range props.Policies {
		document := string(inline.PolicyDocument)
		if err := e.put(&inline.PolicyName, &document); err != nil {
			return err
		}
	}
	return nil
}
