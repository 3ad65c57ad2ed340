package ecr

import (
	"context"
	"encoding/json"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecr/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// repositoryProvider implements AWS::ECR::Repository.
type repositoryProvider struct{ registry *Registry }

// repositoryProperties are the properties of AWS::ECR::Repository:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecr-repository.html
type repositoryProperties struct {
	RepositoryName             string
	EmptyOnDelete              flexibleBool
	EncryptionConfiguration    *types.EncryptionConfiguration
	ImageScanningConfiguration *struct{ ScanOnPush flexibleBool }
	ImageTagMutability         types.ImageTagMutability

	ImageTagMutabilityExclusionFilters []struct {
		ImageTagMutabilityExclusionFilterType  types.ImageTagMutabilityExclusionFilterType
		ImageTagMutabilityExclusionFilterValue string
	}
	LifecyclePolicy      *struct{ LifecyclePolicyText string }
	RepositoryPolicyText json.RawMessage
	Tags                 []types.Tag
}

// flexibleBool also accepts a string, which CloudFormation accepts as a boolean.
type flexibleBool bool

// UnmarshalJSON accepts true and "true".
func (b *flexibleBool) UnmarshalJSON(data []byte) error {
	*b = flexibleBool(strings.EqualFold(strings.Trim(string(data), `"`), "true"))
	return nil
}

func readProperties(in map[string]any) (*repositoryProperties, error) {
	out := &repositoryProperties{}
	data, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		return nil, resource.Errorf(resource.InvalidRequest, "Properties validation failed: %v", err)
	}
	return out, nil
}

func (p *repositoryProperties) exclusions() []types.ImageTagMutabilityExclusionFilter {
	var out []types.ImageTagMutabilityExclusionFilter
	for _, f := range p.ImageTagMutabilityExclusionFilters {
		out = append(out, types.ImageTagMutabilityExclusionFilter{
			Filter: &f.ImageTagMutabilityExclusionFilterValue, FilterType: f.ImageTagMutabilityExclusionFilterType,
		})
	}
	return out
}

// policy returns the repository policy as JSON text, from text or an object.
func (p *repositoryProperties) policy() string {
	var text string
	if json.Unmarshal(p.RepositoryPolicyText, &text) == nil {
		return text
	}
	return string(p.RepositoryPolicyText)
}

// Create creates a repository.
func (p *repositoryProvider) Create(_ context.Context, req resource.Request) (resource.Result, error) {
	want, err := readProperties(req.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	if want.RepositoryName == "" {
		want.RepositoryName = generatedName(req)
	}
	r := p.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	made, err := r.create(repositoryID{req.Account, req.Region, want.RepositoryName}, &ecr.CreateRepositoryInput{
		EncryptionConfiguration: want.EncryptionConfiguration, ImageTagMutability: want.ImageTagMutability,
		ImageTagMutabilityExclusionFilters: want.exclusions(),
	})
	if err != nil {
		return resource.Result{}, refused(err)
	}
	if err := made.apply(want, req.Tags); err != nil {
		delete(r.repositories, made.id)
		return resource.Result{}, refused(err)
	}
	return r.result(made), nil
}

// generatedName returns the stack's name and the logical ID in lower case with a random suffix:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecr-repository.html#cfn-ecr-repository-repositoryname
func generatedName(req resource.Request) string {
	stem := req.StackName + "-" + req.LogicalID
	return strings.ToLower(stem[:min(len(stem), 256-13)] + "-" + wire.RandomName(12))
}

func (r *Registry) result(p *repository) resource.Result {
	return resource.Result{PhysicalID: p.id.name, Attributes: map[string]any{"Arn": r.arn(p.id), "RepositoryUri": p.id.uri()}}
}

// apply applies all properties that can change.
func (p *repository) apply(want *repositoryProperties, stackTags map[string]string) error {
	mutability := want.ImageTagMutability
	if mutability == "" {
		mutability = types.ImageTagMutabilityMutable
	}
	if err := checkMutability(mutability, want.exclusions()); err != nil {
		return err
	}
	lifecycle, policy := "", ""
	if want.LifecyclePolicy != nil {
		if lifecycle = want.LifecyclePolicy.LifecyclePolicyText; checkLifecycle(lifecycle) != nil {
			return checkLifecycle(lifecycle)
		}
	}
	if len(want.RepositoryPolicyText) > 0 {
		if policy = want.policy(); checkPolicy("PolicyText", policy) != nil {
			return checkPolicy("PolicyText", policy)
		}
	}
	p.mutability, p.exclusions, p.lifecycle, p.policy = mutability, want.exclusions(), lifecycle, policy
	p.scanOnPush = want.ImageScanningConfiguration != nil && bool(want.ImageScanningConfiguration.ScanOnPush)
	p.tags = maps.Clone(stackTags)
	if p.tags == nil {
		p.tags = map[string]string{}
	}
	for _, tag := range want.Tags {
		p.tags[deref(tag.Key)] = deref(tag.Value)
	}
	return nil
}

func (p *repositoryProvider) find(req resource.Request) (*repository, error) {
	if found := p.registry.repositories[repositoryID{req.Account, req.Region, req.PhysicalID}]; found != nil {
		return found, nil
	}
	return nil, resource.Errorf(
		resource.NotFound, "The repository with name '%s' does not exist in the registry with id '%s'", req.PhysicalID, req.Account,
	)
}

// Update changes a repository in place.
func (p *repositoryProvider) Update(_ context.Context, req resource.Request) (resource.Result, error) {
	want, err := readProperties(req.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	r := p.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := p.find(req)
	if err != nil {
		return resource.Result{}, err
	}
	if err := found.apply(want, req.Tags); err != nil {
		return resource.Result{}, refused(err)
	}
	return r.result(found), nil
}

// Delete deletes a repository. It deletes one with images only if EmptyOnDelete is set.
func (p *repositoryProvider) Delete(_ context.Context, req resource.Request) error {
	want, err := readProperties(req.Properties)
	if err != nil {
		return err
	}
	p.registry.mu.Lock()
	defer p.registry.mu.Unlock()
	found, err := p.find(req)
	if err != nil {
		return err
	}
	if err := p.registry.delete(found, bool(want.EmptyOnDelete)); err != nil {
		return refused(err)
	}
	return nil
}

// List returns the names of the repositories.
func (p *repositoryProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	p.registry.mu.RLock()
	defer p.registry.mu.RUnlock()
	var names []string
	for id := range p.registry.repositories {
		if id.account == at.Account && id.region == at.Region {
			names = append(names, id.name)
		}
	}
	return names, nil
}

// Read returns a repository's live properties.
func (p *repositoryProvider) Read(_ context.Context, req resource.Request) (map[string]any, error) {
	p.registry.mu.RLock()
	defer p.registry.mu.RUnlock()
	found, err := p.find(req)
	if err != nil {
		return nil, err
	}
	encryption := map[string]any{"EncryptionType": string(found.encryption.EncryptionType)}
	if found.encryption.KmsKey != nil {
		encryption["KmsKey"] = *found.encryption.KmsKey
	}
	out := map[string]any{
		"RepositoryName": found.id.name, "Arn": p.registry.arn(found.id), "RepositoryUri": found.id.uri(),
		"ImageTagMutability": string(found.mutability), "EncryptionConfiguration": encryption,
		"ImageScanningConfiguration": map[string]any{"ScanOnPush": found.scanOnPush},
	}
	if found.lifecycle != "" {
		out["LifecyclePolicy"] = map[string]any{"LifecyclePolicyText": found.lifecycle}
	}
	var policy any
	if found.policy != "" && json.Unmarshal([]byte(found.policy), &policy) == nil {
		out["RepositoryPolicyText"] = policy
	}
	var exclusions []any
	for _, f := range found.exclusions {
		exclusions = append(exclusions, map[string]any{
			"ImageTagMutabilityExclusionFilterType": string(f.FilterType), "ImageTagMutabilityExclusionFilterValue": deref(f.Filter),
		})
	}
	if exclusions != nil {
		out["ImageTagMutabilityExclusionFilters"] = exclusions
	}
	if tags := property.OwnTags(found.tags, req.Tags); tags != nil {
		out["Tags"] = tags
	}
	return out, nil
}

// refused converts ECR's error to a resource handler's.
func refused(err error) error {
	return property.Refusal(err, map[string]string{
		"RepositoryAlreadyExistsException": resource.AlreadyExists,
		"RepositoryNotFoundException":      resource.NotFound,
		"RepositoryNotEmptyException":      resource.GeneralService,
	})
}
