package graph

import (
	"fmt"
	"html"
	"strings"
)

// head begins a drawing of a size.
func head(w *strings.Builder, width, height int, title string) {
	fmt.Fprintf(
		w,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n",
		width,
		height,
		width,
		height,
	)
	fmt.Fprintf(w, "<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(w, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
}

// colours of boxes by AWS service.
var colours = map[string]string{
	"EC2": "#fde8d7", "AutoScaling": "#fde8d7", "IAM": "#fbdfe3", "ElasticLoadBalancingV2": "#e7e1fb",
	"Route53": "#e7e1fb", "S3": "#dff3e0", "KMS": "#fbdfe3",
}

func colourOf(resourceType string) string {
	service, _, _ := strings.Cut(short(resourceType), "::")
	if colour, ok := colours[service]; ok {
		return colour
	}
	return "#eeeeee"
}

// lines by why one needs the other.
var lines = map[Kind]string{
	Ref: `stroke="#888888"`, GetAtt: `stroke="#888888"`, DependsOn: `stroke="#888888" stroke-dasharray="4 3"`,
	Output: `stroke="#4a7bd0" stroke-opacity="0.6"`,
}

// SVG draws the graph: what is needed stands left of what needs it, dashed lines only wait, blue
// ones go to another stack's output.
func (g *Graph) SVG() string {
	l := layoutOf(g)
	var w strings.Builder
	head(&w, l.w, l.h, "Cluster "+g.Name)
	for i, s := range g.Stacks {
		f := l.stacks[i]
		fmt.Fprintf(&w, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="#f7f8fa" stroke="#b8bec8"/>`+"\n", f.x, f.y, f.w, f.h)
		fmt.Fprintf(
			&w,
			`<text x="%d" y="%d" font-size="14" font-weight="bold" fill="#333333">%s</text>`+"\n",
			f.x+padding,
			f.y+titleSpace,
			html.EscapeString(s.Name),
		)
	}
	for _, e := range g.Edges {
		from, to := l.nodes[e.From.key()], l.nodes[e.To.key()]
		x1, y1, x2, y2 := from.x, from.y+from.h/2, to.x+to.w, to.y+to.h/2
		bend := max(gapX/2, (x1-x2)/2) //nolint:mnd // half of the way
		fmt.Fprintf(
			&w,
			`<path d="M%d %d C%d %d %d %d %d %d" fill="none" %s/>`+"\n",
			x1,
			y1,
			x1-bend,
			y1,
			x2+bend,
			y2,
			x2,
			y2,
			lines[e.Kind],
		)
	}
	for _, s := range g.Stacks {
		for _, n := range s.Nodes {
			b := l.nodes[n.key()]
			fmt.Fprintf(
				&w,
				`<rect x="%d" y="%d" width="%d" height="%d" rx="3" fill="%s" stroke="#999999"/>`+"\n",
				b.x,
				b.y,
				b.w,
				b.h,
				colourOf(n.Type),
			)
			fmt.Fprintf(&w, `<text x="%d" y="%d" fill="#222222">%s</text>`+"\n", b.x+6, b.y+14, html.EscapeString(clip(n.LogicalID)))
			fmt.Fprintf(
				&w,
				`<text x="%d" y="%d" font-size="9" fill="#666666">%s</text>`+"\n",
				b.x+6,
				b.y+27,
				html.EscapeString(short(n.Type)),
			)
		}
	}
	w.WriteString("</svg>\n")
	return w.String()
}

// clip shortens a name so that it fits into its box.
func clip(name string) string {
	const most = 38
	if len(name) > most {
		return name[:most-1] + "…"
	}
	return name
}
