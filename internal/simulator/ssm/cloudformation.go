package ssm

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const parameterType = "AWS::SSM::Parameter"

// Providers returns the providers of the CloudFormation types for Parameter Store.
func (s *Service) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{parameterType: provider{s}}
}

type provider struct{ s *Service }

type properties struct {
	Name, Type, Value, Description, AllowedPattern, DataType, Tier string
	Tags                                                           map[string]string
}

func (p provider) put(r resource.Request, overwrite bool) (resource.Result, error) {
	var props properties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	if props.Type == string(types.ParameterTypeSecureString) {
		return resource.Result{}, resource.Errorf(
			resource.InvalidRequest, "CloudFormation doesn't support creating a SecureString parameter type.",
		)
	}
	switch {
	case overwrite:
		props.Name = r.PhysicalID
	case props.Name == "":
		props.Name = generatedName(r)
	}
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	if _, ok := reg.parameters[props.Name]; ok != overwrite {
		if ok {
			return resource.Result{}, property.Exists(parameterType, props.Name)
		}
		return resource.Result{}, property.Missing(parameterType, props.Name)
	}
	made, err := p.s.put(reg, props.Name, version{
		value: props.Value, description: props.Description, pattern: props.AllowedPattern, dataType: props.DataType,
		kind: types.ParameterType(props.Type), tier: types.ParameterTier(props.Tier), user: "cloudformation.amazonaws.com",
	}, overwrite)
	if err != nil {
		return resource.Result{}, property.HandlerError("Ssm", err)
	}
	made.tags = property.Tags(r.Tags, nil)
	maps.Copy(made.tags, props.Tags)
	return resource.Result{PhysicalID: made.name, Attributes: map[string]any{"Type": props.Type, "Value": props.Value}}, nil
}

// Create creates a parameter.
func (p provider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	return p.put(r, false)
}

// Update creates a new version of the parameter.
func (p provider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	return p.put(r, true)
}

// Delete deletes a parameter.
func (p provider) Delete(_ context.Context, r resource.Request) error {
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	if _, ok := reg.parameters[r.PhysicalID]; !ok {
		return property.Missing(parameterType, r.PhysicalID)
	}
	delete(reg.parameters, r.PhysicalID)
	return nil
}

// List returns the names of the parameters.
func (p provider) List(_ context.Context, at wire.Target) ([]string, error) {
	reg := p.s.regions.At(at)
	reg.mu.Lock()
	defer reg.mu.Unlock()
	return slices.Collect(maps.Keys(reg.parameters)), nil
}

// Read returns a parameter's properties.
func (p provider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	found, ok := reg.parameters[r.PhysicalID]
	if !ok {
		return nil, property.Missing(parameterType, r.PhysicalID)
	}
	v := found.current()
	props := map[string]any{"Name": found.name, "Type": string(v.kind), "Value": v.value, "DataType": v.dataType, "Tier": string(v.tier)}
	for name, value := range map[string]string{"Description": v.description, "AllowedPattern": v.pattern} {
		if value != "" {
			props[name] = value
		}
	}
	tags := map[string]any{}
	for _, item := range property.TagList(found.tags) {
		if tag, ok := item.(map[string]any); ok {
			if key, ok := tag["Key"].(string); ok {
				tags[key] = tag["Value"]
			}
		}
	}
	if len(tags) > 0 {
		props["Tags"] = tags
	}
	return props, nil
}

// generatedName returns the name that CloudFormation generates for a parameter, which does not have
// the name of the stack: CFN-LogicalID-random.
// https://github.com/aws-cloudformation/aws-cloudformation-resource-providers-ssm/pull/159
func generatedName(r resource.Request) string {
	const most = len("CFN-") + 500 + len("-") + 12
	r.StackName = "CFN"
	return property.Name(r, most, "")
}
