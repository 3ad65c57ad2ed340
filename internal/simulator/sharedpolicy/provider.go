package sharedpolicy

import (
	"context"
	"encoding/json"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// Provider backs one such type.
type Provider struct {
	// Type is the CloudFormation type; Member is its property that lists the targets.
	Type, Member string
	// Set sets a target's policy, or resets it to the default if the document is empty. It returns
	// a resource handler's error, also if the target does not exist.
	Set func(ctx context.Context, r resource.Request, target, document string) error
	// Get returns a target's policy.
	Get func(ctx context.Context, r resource.Request, target string) (document string, err error)
}

// decode returns the targets and the policy document.
func (p Provider) decode(properties map[string]any) (targets []string, document string, err error) {
	var props struct {
		Queues, Topics []string // a type has one of them
		PolicyDocument property.Document
	}
	err = property.Decode(properties, &props)
	return append(props.Queues, props.Topics...), string(props.PolicyDocument), err
}

func (p Provider) put(ctx context.Context, r resource.Request, id string) (resource.Result, error) {
	targets, document, err := p.decode(r.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	result := resource.Result{PhysicalID: id, Attributes: map[string]any{"Id": id}}
	for _, target := range targets {
		if err := p.Set(ctx, r, target, document); err != nil {
			return result, err
		}
	}
	return result, nil
}

// reset resets the policy of the targets that still exist to the default.
func (p Provider) reset(ctx context.Context, r resource.Request, properties map[string]any) error {
	targets, _, err := p.decode(properties)
	if err != nil {
		return err
	}
	for _, target := range targets {
		_ = p.Set(ctx, r, target, "") // A deleted target has no policy.
	}
	return nil
}

// Create sets the policy on its targets.
func (p Provider) Create(ctx context.Context, r resource.Request) (resource.Result, error) {
	return p.put(ctx, r, property.Name(r, 128, ""))
}

// Update sets the policy on its targets and resets those that are no longer listed.
func (p Provider) Update(ctx context.Context, r resource.Request) (resource.Result, error) {
	if _, _, err := p.decode(r.Properties); err != nil {
		return resource.Result{}, err
	}
	if err := p.reset(ctx, r, r.Previous); err != nil {
		return resource.Result{}, err
	}
	return p.put(ctx, r, r.PhysicalID)
}

// Delete resets the policy of its targets.
func (p Provider) Delete(ctx context.Context, r resource.Request) error {
	return p.reset(ctx, r, r.Properties)
}

// Read returns the targets that have a policy, with the policy of the last one.
func (p Provider) Read(ctx context.Context, r resource.Request) (map[string]any, error) {
	targets, _, err := p.decode(r.Properties)
	if err != nil {
		return nil, err
	}
	live := map[string]any{"Id": r.PhysicalID}
	var having []any
	for _, target := range targets {
		var document any
		if text, err := p.Get(ctx, r, target); err == nil && json.Unmarshal([]byte(text), &document) == nil {
			live["PolicyDocument"] = document
			having = append(having, target)
		}
	}
	if len(having) == 0 {
		return nil, property.Missing(p.Type, r.PhysicalID)
	}
	live[p.Member] = having
	return live, nil
}
