package plan

import (
	"context"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/quota"
)

// addQuotas adds whether the quotas of the account suffice, if the options ask for it and something changes.
func (p *Plan) addQuotas(ctx context.Context, o Options, target awsapi.Target, subjects []Subject) error {
	if !o.Quotas || p.Empty() {
		return nil
	}
	stacks := countedStacks(subjects)
	for i := range stacks {
		made := p.Stack(subjects[i].Name)
		if made == nil {
			continue
		}
		for _, r := range made.Resources {
			if r.Action == Replace {
				stacks[i].Replaced = append(stacks[i].Replaced, r.LogicalID)
			}
			if r.Action == MayReplace {
				stacks[i].MayBeReplaced = append(stacks[i].MayBeReplaced, r.LogicalID)
			}
		}
	}
	var err error
	p.Quotas, err = quota.Check(ctx, o.Clients, target, stacks)
	return err
}

// QuotasOf returns whether the quotas of an account suffice for rendered stacks ([Render]), none of which exists.
func QuotasOf(ctx context.Context, clients *awsapi.Clients, target awsapi.Target, subjects []Subject) (*quota.Report, error) {
	return quota.Check(ctx, clients, target, countedStacks(subjects))
}

func countedStacks(subjects []Subject) []quota.Stack {
	stacks := make([]quota.Stack, len(subjects))
	for i, s := range pricedStacks(subjects) {
		stacks[i] = quota.Stack{Before: s.Before, After: s.After}
	}
	return stacks
}
