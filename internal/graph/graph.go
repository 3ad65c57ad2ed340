package graph

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/plan"
)

// Kind is why one resource depends on another.
type Kind string

// The kinds.
const (
	// Ref and GetAtt use the other's name or an attribute, also within Fn::Sub.
	Ref    Kind = "Ref"
	GetAtt Kind = "GetAtt"
	// DependsOn only waits for the other.
	DependsOn Kind = "DependsOn"
	// Output uses what another stack gives.
	Output Kind = "Output"
)

// Graph is what a cluster consists of.
type Graph struct {
	// Name is the cluster's.
	Name string
	// Stacks are its stacks.
	Stacks []Stack
	// Edges are the dependencies, sorted.
	Edges []Edge
}

// Stack is a stack with its resources by logical ID.
type Stack struct {
	// Name is the stack's.
	Name string
	// Nodes are its resources, by logical ID.
	Nodes []Node
}

// Node is a resource.
type Node struct {
	// Stack and LogicalID name it, Type is its CloudFormation type.
	Stack, LogicalID, Type string
}

// Edge says that one resource needs another.
type Edge struct {
	// From needs To.
	From, To Node
	// Kind says why: the strongest reason if there are several.
	Kind Kind
}

// key tells nodes apart.
func (n Node) key() string { return n.Stack + "/" + n.LogicalID }

// Of returns the graph of rendered stacks, the base stack first, whose parameters say which output
// of the base stack they are by [plan.OutputMark].
func Of(name string, stacks []*render.Stack) *Graph {
	g := &Graph{Name: name}
	edges := map[[2]string]Edge{}
	var base *render.Stack
	for _, s := range stacks {
		if base == nil {
			base = s
		}
		g.stack(s, base, edges)
	}
	g.Edges = slices.SortedFunc(maps.Values(edges), func(a, b Edge) int {
		return cmp.Or(strings.Compare(a.From.key(), b.From.key()), strings.Compare(a.To.key(), b.To.key()))
	})
	return g
}

func (g *Graph) stack(s, base *render.Stack, edges map[[2]string]Edge) {
	made := Stack{Name: s.Name}
	for _, id := range slices.Sorted(maps.Keys(s.Template.Resources)) {
		from := nodeOf(s, id)
		made.Nodes = append(made.Nodes, from)
		for _, e := range needs(s, base, from) {
			key := [2]string{e.From.key(), e.To.key()}
			if known, ok := edges[key]; e.From != e.To && (!ok || known.Kind == DependsOn) {
				edges[key] = e
			}
		}
	}
	g.Stacks = append(g.Stacks, made)
}

func nodeOf(s *render.Stack, id string) Node {
	return Node{Stack: s.Name, LogicalID: id, Type: s.Template.Resources[id].Type}
}

// needs returns all that a resource of a stack needs.
func needs(s, base *render.Stack, from Node) []Edge {
	var found []Edge
	r := s.Template.Resources[from.LogicalID]
	for _, use := range plan.Uses(r.Properties) {
		switch {
		case s.Template.Resources[use.Target] != nil && use.Attribute != "":
			found = append(found, Edge{from, nodeOf(s, use.Target), GetAtt})
		case s.Template.Resources[use.Target] != nil:
			found = append(found, Edge{from, nodeOf(s, use.Target), Ref})
		case s != base:
			for _, to := range behind(base.Template, strings.TrimPrefix(s.Parameters[use.Target], plan.OutputMark)) {
				found = append(found, Edge{from, nodeOf(base, to), Output})
			}
		}
	}
	for _, to := range r.DependsOn {
		if s.Template.Resources[to] != nil {
			found = append(found, Edge{from, nodeOf(s, to), DependsOn})
		}
	}
	return found
}

// behind returns the resources that an output is of; none if there is no such output.
func behind(t *template.Template, output string) []string {
	found := t.Outputs[output]
	if found == nil {
		return nil
	}
	var ids []string
	for _, use := range plan.Uses(found.Value) {
		if t.Resources[use.Target] != nil {
			ids = append(ids, use.Target)
		}
	}
	return ids
}
