package update

import (
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/price"
	"github.com/aws-operator/aws-operator/internal/terraform"
)

// priceOf returns what the resources of a configuration cost: those of the stacks that it is made of.
func priceOf(list *price.List, region string, of *terraform.Configuration) *price.Comparison {
	stacks := make([]price.Stack, len(of.Stacks))
	for i, s := range of.Stacks {
		stacks[i] = price.Stack{Name: s.Name, After: &diff.Side{Template: s.Template, Parameters: s.Parameters}}
	}
	return price.Of(list, region, stacks)
}
