package cloudformation

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func (e *Engine) getTemplate(ctx context.Context, in *awscfn.GetTemplateInput) (*awscfn.GetTemplateOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, noStackWithID)
	if err != nil {
		return nil, err
	}
	defer unlock()
	rev := s.revision
	if in.ChangeSetName != nil {
		cs := s.changeSet(*in.ChangeSetName)
		if cs == nil {
			return nil, noChangeSet(*in.ChangeSetName)
		}
		rev = cs.revision
	}
	if rev == nil {
		return nil, invalid("Stack %s has no template: it is in %s", s.name, s.status)
	}
	body := rev.body
	if in.TemplateStage == types.TemplateStageProcessed {
		body = rev.processed
	}
	return &awscfn.GetTemplateOutput{
		TemplateBody: aws.String(body), StagesAvailable: []types.TemplateStage{types.TemplateStageOriginal, types.TemplateStageProcessed},
	}, nil
}

// given template, or a stack's.
func (e *Engine) templateFor(ctx context.Context, body, address, stackName *string) (*template.Template, error) {
	if stackName != nil {
		s, unlock, err := e.theStack(ctx, stackName, noStackWithID)
		if err != nil {
			return nil, err
		}
		defer unlock()
		if s.revision == nil {
			return nil, invalid("Stack %s has no template: it is in %s", s.name, s.status)
		}
		return s.revision.template, nil
	}
	parsed, err := e.source(ctx, input{templateBody: aws.ToString(body), templateURL: aws.ToString(address)}, nil)
	if err != nil {
		return nil, err
	}
	return parsed.template, nil
}

func (e *Engine) validateTemplate(ctx context.Context, in *awscfn.ValidateTemplateInput) (*awscfn.ValidateTemplateOutput, error) {
	t, err := e.templateFor(ctx, in.TemplateBody, in.TemplateURL, nil)
	if err != nil {
		return nil, err
	}
	capabilities, reason := capabilitiesOf(t)
	out := &awscfn.ValidateTemplateOutput{
		Description: optional(t.Description), Capabilities: capabilities, CapabilitiesReason: optional(reason),
		DeclaredTransforms: t.Transforms,
		Parameters:         []types.TemplateParameter{},
	}
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		p := t.Parameters[name]
		out.Parameters = append(out.Parameters, types.TemplateParameter{
			ParameterKey: aws.String(name), NoEcho: aws.Bool(p.NoEcho), Description: optional(p.Description), DefaultValue: defaultOf(p),
		})
	}
	return out, nil
}

func defaultOf(p *template.Parameter) *string {
	text, ok := p.Default.Scalar()
	if !ok {
		return nil
	}
	return aws.String(text)
}

func (e *Engine) getTemplateSummary(ctx context.Context, in *awscfn.GetTemplateSummaryInput) (*awscfn.GetTemplateSummaryOutput, error) {
	if in.StackSetName != nil {
		return nil, invalid("StackSets are not supported")
	}
	t, err := e.templateFor(ctx, in.TemplateBody, in.TemplateURL, in.StackName)
	if err != nil {
		return nil, err
	}
	capabilities, reason := capabilitiesOf(t)
	out := &awscfn.GetTemplateSummaryOutput{
		Description: optional(t.Description), Capabilities: capabilities, CapabilitiesReason: optional(reason),
		DeclaredTransforms: t.Transforms, Version: optional(t.FormatVersion),
		Parameters: []types.ParameterDeclaration{}, // the AWS CLI requires it
	}
	if t.Metadata != nil {
		out.Metadata = aws.String(compact(t.Metadata.Interface()))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		p := t.Parameters[name]
		out.Parameters = append(out.Parameters, types.ParameterDeclaration{
			ParameterKey: aws.String(name), ParameterType: aws.String(p.Type), NoEcho: aws.Bool(p.NoEcho),
			Description:  optional(p.Description),
			DefaultValue: defaultOf(p), ParameterConstraints: &types.ParameterConstraints{AllowedValues: p.AllowedValues},
		})
	}
	ids := map[string][]string{}
	for id, r := range t.Resources {
		ids[r.Type] = append(ids[r.Type], id)
	}
	for _, kind := range slices.Sorted(maps.Keys(ids)) {
		out.ResourceTypes = append(out.ResourceTypes, kind)
		slices.Sort(ids[kind])
		if rt, ok := e.registry.Type(kind); ok {
			out.ResourceIdentifierSummaries = append(out.ResourceIdentifierSummaries, types.ResourceIdentifierSummary{
				ResourceType: aws.String(kind), LogicalResourceIds: ids[kind], ResourceIdentifiers: rt.PrimaryIdentifier,
			})
		}
	}
	return out, nil
}

func (e *Engine) describeType(_ context.Context, in *awscfn.DescribeTypeInput) (*awscfn.DescribeTypeOutput, error) {
	name := aws.ToString(in.TypeName)
	if in.Arn != nil {
		name = strings.ReplaceAll((*in.Arn)[strings.LastIndexByte(*in.Arn, '/')+1:], "-", "::")
	}
	t, ok := e.registry.Type(name)
	if !ok || in.Type != "" && in.Type != types.RegistryTypeResource {
		return nil, wire.Errorf("TypeNotFoundException", "The type '%s' cannot be found.", name).WithStatus(404)
	}
	return &awscfn.DescribeTypeOutput{
		Arn: aws.String(typeARN(name)), Type: types.RegistryTypeResource, TypeName: aws.String(name), Schema: aws.String(string(t.JSON())),
		Visibility: types.VisibilityPublic, DeprecatedStatus: types.DeprecatedStatusLive, ProvisioningType: e.provisioning(name),
		DefaultVersionId: aws.String("00000001"), IsDefaultVersion: aws.Bool(true), IsActivated: aws.Bool(true),
	}, nil
}

func typeARN(name string) string {
	return "arn:aws:cloudformation:us-east-1::type/resource/" + strings.ReplaceAll(name, "::", "-")
}

// provisioning returns which handlers a type has.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeType.html
func (e *Engine) provisioning(kind string) types.ProvisioningType {
	for _, handler := range []string{"create", "read", "delete"} {
		if !e.HasHandler(kind, handler) {
			return types.ProvisioningTypeNonProvisionable
		}
	}
	if !e.HasHandler(kind, "update") {
		return types.ProvisioningTypeImmutable
	}
	return types.ProvisioningTypeFullyMutable
}

func (e *Engine) listTypes(_ context.Context, in *awscfn.ListTypesInput) (*awscfn.ListTypesOutput, error) {
	out := &awscfn.ListTypesOutput{TypeSummaries: []types.TypeSummary{}}
	if in.Visibility != types.VisibilityPublic || in.Type != "" && in.Type != types.RegistryTypeResource {
		return out, nil // no private types and no hooks or modules are registered
	}
	prefix := ""
	if in.Filters != nil {
		prefix = aws.ToString(in.Filters.TypeNamePrefix)
	}
	names := slices.DeleteFunc(slices.Clone(e.registry.Names()), func(n string) bool { return !strings.HasPrefix(n, prefix) })
	size := pageSize
	if in.MaxResults != nil && *in.MaxResults > 0 {
		size = min(size, int(*in.MaxResults))
	}
	part, next, err := page(names, in.NextToken, size)
	if err != nil {
		return nil, err
	}
	out.NextToken = next
	for _, name := range part {
		out.TypeSummaries = append(out.TypeSummaries, types.TypeSummary{
			TypeName: aws.String(name), TypeArn: aws.String(typeARN(name)), Type: types.RegistryTypeResource,
			DefaultVersionId: aws.String("00000001"), IsActivated: aws.Bool(true),
		})
	}
	return out, nil
}
