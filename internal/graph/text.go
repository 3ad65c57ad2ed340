package graph

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
)

// short is a type without its vendor, as EC2::Subnet.
func short(resourceType string) string { return strings.TrimPrefix(resourceType, "AWS::") }

// look is how a kind of dependency is drawn.
type look struct {
	// color is the color of the line, arrow is its syntax in Mermaid, style its attributes in DOT.
	color, arrow, style string
	// name and meaning are for the legend.
	name, meaning string
}

var (
	used  = look{gray, "-->", "style=solid", "Gray", "uses its name or an attribute"}
	looks = map[Kind]look{
		Ref: used, GetAtt: used, Output: {blue, "==>", "penwidth=1.5", "Blue", "uses an output of another stack"},
		DependsOn: {vermilion, "-.->", "style=dashed", "Dashed", "only waits for it"},
	}
	legend = []Kind{Ref, Output, DependsOn}
)

const hint = "An arrow leads to what a resource needs. Lines that others imply are left out. " +
	"Resources whose dependencies are alike share a box."

// fills are the colors of boxes by AWS service.
var fills = map[string]string{
	"EC2": "#fdf0d5", "AutoScaling": "#fdf0d5", "IAM": "#f7e6ef", "KMS": "#f7e6ef", "ElasticLoadBalancingV2": "#e1f1fb",
	"Route53": "#e1f1fb", "S3": "#dcf3ea",
}

// fill returns the color of a bundle's box.
func (b *bundle) fill() string {
	service, _, _ := strings.Cut(b.typed, "::")
	return cmp.Or(fills[service], "#eeeeee")
}

// together returns the names of stacks that are alike, as demo-control-plane-0, -1, -2.
func together(stacks []string) string {
	names := slices.Clone(stacks)
	common := stacks[0][:strings.LastIndex(stacks[0], "-")+1]
	for i, name := range names {
		if rest, found := strings.CutPrefix(name, common); i > 0 && found && common != "" {
			names[i] = "-" + rest
		}
	}
	return strings.Join(names, ", ")
}

// Mermaid writes the graph for Mermaid (https://mermaid.js.org/syntax/flowchart.html). Boxes and
// stacks have their own background, so that they are legible in any theme.
func (g *Graph) Mermaid() string {
	var w strings.Builder
	d := g.bundled()
	w.WriteString(`%%{init: {"flowchart": {"nodeSpacing": 12, "rankSpacing": 28, "padding": 6}}}%%` + "\nflowchart RL\n  legend[\"")
	for _, kind := range legend {
		fmt.Fprintf(&w, "%s: %s<br/>", looks[kind].name, looks[kind].meaning)
	}
	fmt.Fprintf(&w, "\"]\n  style legend fill:%s,stroke:%s,color:%s,text-align:left\n", paper, outline, ink)
	for i, stacks := range d.frames {
		fmt.Fprintf(&w, "  subgraph s%d[\"%s\"]\n", i, inMermaid(together(stacks)))
		for j := range d.bundles {
			b := &d.bundles[j]
			if b.frame != i {
				continue
			}
			fmt.Fprintf(&w, "    n%d[\"", j)
			for _, name := range b.names {
				fmt.Fprintf(&w, "%s<br/>", inMermaid(name))
			}
			fmt.Fprintf(&w, "<small>%s</small>\"]\n", inMermaid(b.typed))
			fmt.Fprintf(&w, "    style n%d fill:%s,stroke:%s,color:%s,text-align:left\n", j, b.fill(), outline, ink)
		}
		fmt.Fprintf(&w, "  end\n  style s%d fill:%s,stroke:%s,color:%s\n", i, tint, outline, ink)
	}
	for i, l := range d.lines {
		how := looks[l.kind]
		fmt.Fprintf(&w, "  n%d %s n%d\n  linkStyle %d stroke:%s,stroke-width:1.5px\n", l.from, how.arrow, l.to, i, how.color)
	}
	return w.String()
}

// inMermaid escapes a text for a label of Mermaid, which has entities of its own.
func inMermaid(text string) string {
	return strings.NewReplacer("#", "#35;", "&", "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;").Replace(printable(text))
}

// DOT writes the graph for Graphviz (https://graphviz.org/doc/info/lang.html). It has its own
// background, so that it is legible on any page.
func (g *Graph) DOT() string {
	var w strings.Builder
	d := g.bundled()
	const fonts = "Helvetica,Arial,sans-serif"
	fmt.Fprintf(&w, "digraph {\n  rankdir=RL; nodesep=0.1; ranksep=0.25; bgcolor=%q;\n", paper)
	fmt.Fprintf(&w, "  node [shape=box, style=filled, margin=\"0.05,0.03\", height=0, color=%q, ", outline)
	fmt.Fprintf(&w, "fontname=%q, fontsize=11, fontcolor=%q];\n  edge [arrowsize=0.6];\n", fonts, ink)
	fmt.Fprintf(&w, "  fontname=%q; fontsize=12; fontcolor=%q; labelloc=t; labeljust=l;\n", fonts, ink)
	fmt.Fprintf(&w, "  label=<<b>Cluster %s: dependencies of its stacks' resources</b><br align=\"left\"/>", inHTML(g.Name))
	for _, kind := range legend {
		fmt.Fprintf(&w, "<font color=%q><b>%s</b></font>: %s. ", looks[kind].color, looks[kind].name, looks[kind].meaning)
	}
	fmt.Fprintf(&w, "<br align=\"left\"/>%s<br align=\"left\"/>>;\n", hint)
	for i := range d.frames {
		d.cluster(&w, i)
	}
	for _, l := range d.lines {
		fmt.Fprintf(&w, "  n%d -> n%d [%s, color=%q];\n", l.from, l.to, looks[l.kind].style, looks[l.kind].color)
	}
	w.WriteString("}\n")
	return w.String()
}

// cluster writes a frame and its bundles for Graphviz. The few resources of a stack other than the
// base stack are one below the other, which makes the picture narrower.
func (d *diagram) cluster(w *strings.Builder, frame int) {
	fmt.Fprintf(w, "  subgraph cluster_%d {\n    style=\"rounded,filled\"; fillcolor=%q; color=%q; ", frame, tint, outline)
	fmt.Fprintf(w, "labeljust=r; label=<<b>%s</b>>;\n", inHTML(together(d.frames[frame]))) // With rankdir=RL, r is left.
	var column []string
	for i := range d.bundles {
		b := &d.bundles[i]
		if b.frame != frame {
			continue
		}
		fmt.Fprintf(w, "    n%d [fillcolor=%q, label=<", i, b.fill())
		for _, name := range b.names {
			fmt.Fprintf(w, "%s<br align=\"left\"/>", inHTML(name))
		}
		fmt.Fprintf(w, "<font point-size=\"10\" color=%q>%s</font><br align=\"left\"/>>];\n", pale, inHTML(b.typed))
		column = append(column, fmt.Sprintf(" n%d;", i))
	}
	if frame > 0 {
		fmt.Fprintf(w, "    {rank=same;%s}\n", strings.Join(column, ""))
	}
	w.WriteString("  }\n")
}

// inHTML escapes a text for a label in Graphviz's HTML.
func inHTML(text string) string { return html.EscapeString(printable(text)) }
