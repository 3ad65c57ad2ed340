package graph

import (
	"fmt"
	"strings"
)

// short is a type without its vendor, as EC2::Subnet.
func short(resourceType string) string { return strings.TrimPrefix(resourceType, "AWS::") }

// Mermaid writes the graph for Mermaid (https://mermaid.js.org/syntax/flowchart.html): an arrow
// goes from what needs to what is needed.
func (g *Graph) Mermaid() string {
	var w strings.Builder
	w.WriteString("flowchart LR\n")
	ids := map[string]string{}
	for i, s := range g.Stacks {
		fmt.Fprintf(&w, "  subgraph s%d[%q]\n", i, s.Name)
		for j, n := range s.Nodes {
			ids[n.key()] = fmt.Sprintf("s%dn%d", i, j)
			fmt.Fprintf(&w, "    %s[\"%s<br/><small>%s</small>\"]\n", ids[n.key()], n.LogicalID, short(n.Type))
		}
		w.WriteString("  end\n")
	}
	arrows := map[Kind]string{Ref: "-->", GetAtt: "-->", DependsOn: "-.->", Output: "==>"}
	for _, e := range g.Edges {
		fmt.Fprintf(&w, "  %s %s %s\n", ids[e.From.key()], arrows[e.Kind], ids[e.To.key()])
	}
	return w.String()
}

// DOT writes the graph for Graphviz (https://graphviz.org/doc/info/lang.html): an arrow goes from
// what needs to what is needed.
func (g *Graph) DOT() string {
	var w strings.Builder
	fmt.Fprintf(&w, "digraph %q {\n  rankdir=RL;\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n", g.Name)
	for i, s := range g.Stacks {
		fmt.Fprintf(&w, "  subgraph cluster_%d {\n    label=%q;\n", i, s.Name)
		for _, n := range s.Nodes {
			fmt.Fprintf(&w, "    %q [label=\"%s\\n%s\"];\n", n.key(), n.LogicalID, short(n.Type))
		}
		w.WriteString("  }\n")
	}
	styles := map[Kind]string{DependsOn: " [style=dashed]", Output: " [style=bold]"}
	for _, e := range g.Edges {
		fmt.Fprintf(&w, "  %q -> %q%s;\n", e.From.key(), e.To.key(), styles[e.Kind])
	}
	w.WriteString("}\n")
	return w.String()
}
