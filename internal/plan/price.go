package plan

import (
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/price"
)

// addPrice adds what the stacks cost before and after, unless nothing changes.
func (p *Plan) addPrice(list *price.List, region string, subjects []Subject) {
	if list == nil || p.Empty() {
		return
	}
	p.Price = price.Compare(list, region, pricedStacks(subjects))
}

// PriceOf returns what rendered stacks cost ([Render]).
func PriceOf(list *price.List, region string, subjects []Subject) *price.Comparison {
	return price.Of(list, region, pricedStacks(subjects))
}

func pricedStacks(subjects []Subject) []price.Stack {
	stacks := make([]price.Stack, len(subjects))
	for i := range subjects {
		s := &subjects[i]
		var wanted *diff.Side
		if s.Wanted != nil {
			wanted = sideOf(s.Wanted)
		}
		stacks[i] = price.Stack{Name: s.Name, Before: s.Deployed, After: wanted}
		if s.Same || s.Adopted != nil && s.Deployed == nil { // It is as desired, or costs the same in a stack as outside of one.
			stacks[i].Before = wanted
		}
	}
	return stacks
}
