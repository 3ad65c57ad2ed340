package ecr

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/service/ecr"
)

// checkPolicy rejects text that is not a JSON object.
func checkPolicy(parameter, text string) error {
	var document map[string]any
	if json.Unmarshal([]byte(text), &document) != nil {
		return invalid(parameter, "Invalid repository policy provided")
	}
	return nil
}

// checkLifecycle rejects a lifecycle policy without rules:
// https://docs.aws.amazon.com/AmazonECR/latest/userguide/lifecycle_policy_parameters.html
func checkLifecycle(text string) error {
	var document struct {
		Rules []struct {
			RulePriority int
			Selection    map[string]any
			Action       map[string]any
		}
	}
	if json.Unmarshal([]byte(text), &document) != nil || len(document.Rules) == 0 {
		return invalid("LifecyclePolicyText", "Lifecycle policy validation failure: a policy must have rules")
	}
	for _, rule := range document.Rules {
		if rule.RulePriority < 1 || rule.Selection == nil || rule.Action == nil {
			return invalid(
				"LifecyclePolicyText", "Lifecycle policy validation failure: a rule must have rulePriority, selection and action",
			)
		}
	}
	return nil
}

func (p *repository) noPolicy() error {
	return refuse(
		"RepositoryPolicyNotFoundException",
		"Repository policy does not exist for the repository with name '%s' in the registry with id '%s'",
		p.id.name,
		p.id.account,
	)
}

func (p *repository) noLifecycle() error {
	return refuse(
		"LifecyclePolicyNotFoundException",
		"Lifecycle policy does not exist for the repository with name '%s' in the registry with id '%s'",
		p.id.name,
		p.id.account,
	)
}

func (r *Registry) setRepositoryPolicy(ctx context.Context, in *ecr.SetRepositoryPolicyInput) (*ecr.SetRepositoryPolicyOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	if err := checkPolicy("PolicyText", deref(in.PolicyText)); err != nil {
		return nil, err
	}
	found.policy = *in.PolicyText
	return &ecr.SetRepositoryPolicyOutput{PolicyText: in.PolicyText, RegistryId: &found.id.account, RepositoryName: &found.id.name}, nil
}

func (r *Registry) getRepositoryPolicy(ctx context.Context, in *ecr.GetRepositoryPolicyInput) (*ecr.GetRepositoryPolicyOutput, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	if found.policy == "" {
		return nil, found.noPolicy()
	}
	return &ecr.GetRepositoryPolicyOutput{PolicyText: new(found.policy), RegistryId: &found.id.account, RepositoryName: &found.id.name}, nil
}

func (r *Registry) deleteRepositoryPolicy(
	ctx context.Context, in *ecr.DeleteRepositoryPolicyInput,
) (*ecr.DeleteRepositoryPolicyOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	if found.policy == "" {
		return nil, found.noPolicy()
	}
	old := found.policy
	found.policy = ""
	return &ecr.DeleteRepositoryPolicyOutput{PolicyText: &old, RegistryId: &found.id.account, RepositoryName: &found.id.name}, nil
}

func (r *Registry) putLifecyclePolicy(ctx context.Context, in *ecr.PutLifecyclePolicyInput) (*ecr.PutLifecyclePolicyOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	if err := checkLifecycle(deref(in.LifecyclePolicyText)); err != nil {
		return nil, err
	}
	found.lifecycle = *in.LifecyclePolicyText
	return &ecr.PutLifecyclePolicyOutput{
		LifecyclePolicyText: in.LifecyclePolicyText,
		RegistryId:          &found.id.account,
		RepositoryName:      &found.id.name,
	}, nil
}

func (r *Registry) getLifecyclePolicy(ctx context.Context, in *ecr.GetLifecyclePolicyInput) (*ecr.GetLifecyclePolicyOutput, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	if found.lifecycle == "" {
		return nil, found.noLifecycle()
	}
	return &ecr.GetLifecyclePolicyOutput{
		LifecyclePolicyText: new(found.lifecycle),
		RegistryId:          &found.id.account,
		RepositoryName:      &found.id.name,
	}, nil
}

func (r *Registry) deleteLifecyclePolicy(
	ctx context.Context, in *ecr.DeleteLifecyclePolicyInput,
) (*ecr.DeleteLifecyclePolicyOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	if found.lifecycle == "" {
		return nil, found.noLifecycle()
	}
	old := found.lifecycle
	found.lifecycle = ""
	return &ecr.DeleteLifecyclePolicyOutput{LifecyclePolicyText: &old, RegistryId: &found.id.account, RepositoryName: &found.id.name}, nil
}
