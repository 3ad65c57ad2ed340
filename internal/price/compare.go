package price

import (
	"cmp"
	"maps"
	"slices"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Stack is a stack before and after a change; nil where it does not exist.
type Stack struct {
	Name          string
	Before, After *diff.Side
}

// Comparison is what stacks cost in a month before and after a change.
type Comparison struct {
	// Region is the region of the stacks.
	Region string `json:"region"`
	// Missing is true if the list has no prices of the region. The rest is then empty.
	Missing bool `json:"missing,omitempty"`
	// OldestPrice and NewestPrice are the dates of the prices that were used.
	OldestPrice string `json:"oldestPrice,omitempty"`
	NewestPrice string `json:"newestPrice,omitempty"`
	// Before and After are the totals of all stacks.
	Before Total `json:"before"`
	After  Total `json:"after"`
	// Lines are the parts of resources that cost something else afterwards, in the order of the
	// stacks.
	Lines []Line `json:"lines,omitempty"`

	// whole means that it is not known what was there before.
	whole bool
}

// Total is a sum of prices in USD.
type Total struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Spot is true if it includes spot instances, which cost at most High.
	Spot bool `json:"spot,omitempty"`
	// Unknown is the number of parts that are not included because their price is not known.
	Unknown int `json:"unknown,omitempty"`
}

// Line is one part of a resource that costs something else after a change.
type Line struct {
	// Stack and Resource are the names of the stack and of the resource in it.
	Stack    string `json:"stack"`
	Resource string `json:"resource"`
	// Type is the CloudFormation type of the resource, Part the part of it, such as disks.
	Type string `json:"type"`
	Part string `json:"part,omitempty"`
	// Before and After are the costs, nil if there are none.
	Before *Cost `json:"before,omitempty"`
	After  *Cost `json:"after,omitempty"`
}

// Compare returns what stacks in a region cost before and after a change, by the prices of a list.
func Compare(list *List, region string, stacks []Stack) *Comparison {
	c := &Comparison{Region: region}
	if !list.Has(region) {
		c.Missing = true
		return c
	}
	prices := &regional{list: list, region: region, used: map[*Section]bool{}}
	for _, s := range stacks {
		before, after := prices.stack(s.Before), prices.stack(s.After)
		keepRetained(s, before, after)
		for _, k := range keys(before, after) {
			c.line(s.Name, k, before[k], after[k])
		}
	}
	c.OldestPrice, c.NewestPrice = prices.dates()
	return c
}

// Of returns what stacks cost, whatever there was before.
func Of(list *List, region string, stacks []Stack) *Comparison {
	all := make([]Stack, len(stacks))
	for i, s := range stacks {
		all[i] = Stack{Name: s.Name, After: s.After}
	}
	c := Compare(list, region, all)
	c.whole = true
	return c
}

// key identifies a part of a resource of a stack.
type key struct{ resource, kind, part string }

// stack returns what a stack costs.
func (r *regional) stack(side *diff.Side) map[key]*Cost {
	costs := map[key]*Cost{}
	if side == nil {
		return costs
	}
	all := diff.Resolve(*side)
	for id, one := range all {
		of := &resource{Resource: one, all: all, prices: r}
		for _, p := range of.parts() {
			costs[key{id, one.Type, p.name}] = &p.cost
		}
	}
	return costs
}

// keepRetained adds what is left in AWS of resources that are removed from a stack, which is
// charged: the resource itself, or a snapshot of it.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html
func keepRetained(s Stack, before, after map[key]*Cost) {
	if s.Before == nil || s.Before.Template == nil {
		return
	}
	left := map[string]*template.Resource{}
	if s.After != nil && s.After.Template != nil {
		left = s.After.Template.Resources
	}
	for k, cost := range before {
		r := s.Before.Template.Resources[k.resource]
		if r == nil || left[k.resource] != nil {
			continue
		}
		switch r.DeletionPolicy {
		case "Retain", "RetainExceptOnCreate":
			after[k] = cost
		case "Snapshot":
			after[key{k.resource, k.kind, "snapshot"}] = &Cost{Usage: "snapshots of deleted resources"}
		}
	}
}

func keys(before, after map[key]*Cost) []key {
	all := slices.Collect(maps.Keys(before))
	for k := range after {
		if before[k] == nil {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(a.kind, b.kind), cmp.Compare(a.part, b.part))
	})
	return all
}

// line adds a part to the totals, and as a line if it changes.
func (c *Comparison) line(stack string, k key, before, after *Cost) {
	c.Before.add(before)
	c.After.add(after)
	if before != nil && after != nil && *before == *after {
		return
	}
	c.Lines = append(c.Lines, Line{Stack: stack, Resource: k.resource, Type: k.kind, Part: k.part, Before: before, After: after})
}

func (t *Total) add(cost *Cost) {
	switch {
	case cost == nil:
	case cost.Unknown != "":
		t.Unknown++
	default:
		t.Low, t.High = cents(t.Low+cost.Low), cents(t.High+cost.High)
		t.Spot = t.Spot || cost.Spot
	}
}
