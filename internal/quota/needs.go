package quota

import (
	"cmp"
	"math"
	"slices"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/launch"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Stack is a stack before and after a change; nil where it does not exist.
type Stack struct {
	Before, After *diff.Side
	// Replaced are the logical IDs of the resources that the change certainly replaces, MayBeReplaced those that it may.
	// The new one exists before the old one is deleted.
	Replaced, MayBeReplaced []string
}

// Need is how much more of a quota stacks use after a change than before.
type Need struct {
	Quota

	// Low is how much more they use at least, High at most. They differ if the number or the type of
	// instances is not fixed.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// needs collects needs.
type needs struct {
	of      map[Quota]*Need
	unknown []string
	vCPUs   map[string]int32
}

// Types returns the instance types of launches that a change adds or changes, in alphabetical order. [Needs] needs to know their vCPUs.
func Types(stacks []Stack) []string {
	var types []string
	for i := range stacks {
		for _, of := range stacks[i].launches(stacks[i].resolve()) {
			for _, l := range []*launch.Launch{of.before, of.after} {
				if l != nil {
					types = append(types, l.Types...)
				}
			}
		}
	}
	slices.Sort(types)
	return slices.DeleteFunc(slices.Compact(types), func(name string) bool { return name == "" })
}

// Needs returns what stacks need in addition, in the order of services and names, and what of it is
// not known. vCPUs are the numbers of the types' vCPUs.
func Needs(stacks []Stack, vCPUs map[string]int32) (all []Need, unknown []string) {
	n := &needs{of: map[Quota]*Need{}, vCPUs: vCPUs}
	for i := range stacks {
		n.stack(&stacks[i])
	}
	for _, need := range n.of {
		all = append(all, *need)
	}
	slices.SortFunc(all, func(a, b Need) int { return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Name, b.Name)) })
	slices.Sort(n.unknown)
	return all, slices.Compact(n.unknown)
}

func (n *needs) stack(s *Stack) {
	if s.After == nil {
		return
	}
	if s.Before == nil {
		n.add(counted[typeStack], 1, 1)
	}
	before, after := s.resolve()
	for id, r := range after {
		old := before[id]
		if q, ok := counted[kindOf(r)]; ok {
			switch {
			case old == nil, old.Type != r.Type, slices.Contains(s.Replaced, id):
				n.add(q, 1, 1)
			case slices.Contains(s.MayBeReplaced, id):
				n.add(q, 0, 1)
			}
		}
	}
	for _, of := range s.launches(before, after) {
		n.launch(of)
	}
}

// kindOf returns the key of the resource's quota in the table of quotas.
func kindOf(r *template.Resource) string {
	if r.Type != typeBalancer {
		return r.Type
	}
	kind := "application" // https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-elasticloadbalancingv2-loadbalancer.html
	if node := r.Properties.Get("Type"); node != nil {
		kind, _ = node.Scalar()
	}
	return r.Type + "/" + kind
}

// change is a launch before and after a change. Without one before, all instances are new.
type change struct{ before, after *launch.Launch }

// launches returns the launches that the change of a stack adds or changes, given its resources before and after.
func (s *Stack) launches(before, after map[string]*template.Resource) []change {
	var all []change
	for id, r := range after {
		of := change{after: launch.Of(r, after)}
		if of.after == nil {
			continue
		}
		if old := before[id]; old != nil && !slices.Contains(s.Replaced, id) {
			of.before = launch.Of(old, before)
		}
		if of.before == nil || !of.before.Equal(of.after) {
			all = append(all, of)
		}
	}
	return all
}

// resolve returns the resources of the stack before and after the change, by logical ID.
func (s *Stack) resolve() (before, after map[string]*template.Resource) {
	return resolved(s.Before), resolved(s.After)
}

func resolved(side *diff.Side) map[string]*template.Resource {
	if side == nil || side.Template == nil {
		return nil
	}
	return diff.Resolve(*side)
}

// launch adds the vCPUs that instances have afterwards, less those that they surely have before. If
// their types change, the new instances exist beside the old ones for a while, so none are deducted.
func (n *needs) launch(of change) {
	if of.after.Prepaid {
		return
	}
	after, ok := n.processors(of.after)
	if !ok {
		return
	}
	before := map[Quota]Need{}
	if of.before != nil && !of.before.Prepaid && slices.Equal(of.before.Types, of.after.Types) {
		if before, ok = n.processors(of.before); !ok {
			return
		}
	}
	for q, need := range after {
		n.add(q, max(0, need.Low-before[q].High), max(0, need.High-before[q].Low))
	}
}

// processors returns the vCPUs of a launch by quota; false if they are not known, which it records.
func (n *needs) processors(l *launch.Launch) (map[Quota]Need, bool) {
	const all = "vCPUs of instances: "
	if l.Unknown != "" {
		n.unknown = append(n.unknown, all+l.Unknown)
		return nil, false
	}
	made := map[Quota]Need{}
	mixed := isMixed(l.Types)
	for _, spot := range []bool{false, true} {
		low, high := l.Number(spot)
		if high == 0 {
			continue
		}
		for _, name := range l.Types {
			q, ok := processorsOf(name, spot)
			count, known := n.vCPUs[name]
			if !ok || !known {
				n.unknown = append(n.unknown, all+"the quota of "+cmp.Or(name, "a type that only AWS knows"))
				return nil, false
			}
			need, seen := made[q]
			least := low * float64(count)
			if seen {
				least = min(least, need.Low)
			}
			if mixed {
				least = 0
			}
			made[q] = Need{Low: least, High: max(need.High, high*float64(count))}
		}
	}
	return made, true
}

// isMixed reports whether types count for several quotas, so that instances may use any one of them.
func isMixed(types []string) bool {
	return slices.ContainsFunc(types, func(name string) bool {
		first, _ := processorsOf(types[0], false)
		q, _ := processorsOf(name, false)
		return q != first
	})
}

func (n *needs) add(q Quota, low, high float64) {
	if high == 0 {
		return
	}
	need := n.of[q]
	if need == nil {
		need = &Need{Quota: q}
		n.of[q] = need
	}
	need.Low += math.Ceil(low)
	need.High += math.Ceil(high)
}
