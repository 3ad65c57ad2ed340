package graph

import (
	"math"
	"slices"
	"strings"
)

const (
	drawingWidth  = 1200.0
	minMachine    = 200.0 // Its width; machines fill their column.
	machineHeight = 52.0
	gap           = 8.0
	minColumn     = minMachine + 6*gap
	legendHeight  = 44.0
	// frameTop is where the VPC begins, zoneTop where a zone does, subnetTop where its subnets do.
	frameTop, zoneTop, subnetTop = 44.0, 70.0, 100.0
)

// stateColors are the colors of states, which also differ in their signs.
var stateColors = map[State]string{
	Ready: green, InService: blue, Outdated: orange, Starting: sky,
	NotReady: vermilion, Terminating: gray, Missing: vermilion, Planned: gray,
}

// plot draws a topology.
type plot struct {
	*Topology
	canvas *canvas
	// column is the width of a zone's column, machine that of one of the machines in a row of it.
	column, machine float64
	row             int
	// bottoms are, for each zone, where what is drawn ends.
	bottoms []float64
}

// SVG draws the topology: a column for each zone, with its subnets, and the groups across the
// zones.
func (t *Topology) SVG() string {
	zones := float64(max(len(t.Zones), 1))
	inner := max(drawingWidth-4*padding, zones*(minColumn+gap)-gap)
	p := &plot{Topology: t, column: (inner+gap)/zones - gap, bottoms: make([]float64, len(t.Zones))}
	p.row = max(1, int((p.column-5*gap)/(minMachine+gap)))
	p.machine = (p.column-5*gap)/float64(p.row) - gap
	p.canvas = &canvas{}
	p.balancer()
	for i := range t.Layers {
		p.layer(&t.Layers[i])
	}
	bottom := slices.Max(append(p.bottoms, subnetTop))
	body := p.canvas
	all := inner + 4*padding
	notes := t.notes(all - 2*padding)
	c := newCanvas(all, bottom+2*padding+legendHeight+rowHeight*float64(len(notes)), "Cluster "+t.Name)
	p.canvas = c
	c.text(label{X: padding, Y: 28, Text: "Cluster " + t.Name + ", " + t.Release, Size: titleSize, Bold: true, Room: all - 2*padding})
	c.rect(box{padding, frameTop, all - 2*padding, bottom - frameTop + padding}, 8, `fill="none" stroke="`+gray+`"`)
	c.text(label{X: 2 * padding, Y: frameTop + 18, Text: "VPC " + t.VPC + " in " + t.Region, Color: pale, Room: inner})
	for i, zone := range t.Zones {
		x := p.left(i)
		c.rect(box{x, zoneTop, p.column, bottom - zoneTop}, 6, `fill="`+tint+`" stroke="`+outline+`" stroke-dasharray="6 4"`)
		c.text(label{X: x + gap, Y: zoneTop + 19, Text: zone, Bold: true, Room: p.column - 2*gap})
	}
	c.add(body.out.String())
	p.legend(bottom + 2*padding + 10)
	for i, note := range notes {
		c.text(label{X: padding, Y: bottom + 2*padding + legendHeight + rowHeight*(float64(i)-0.5), Text: note, Room: all - 2*padding})
	}
	return c.end()
}

// notes returns the notes in lines of a width.
func (t *Topology) notes(room float64) []string {
	var lines []string
	for _, note := range t.Notes {
		lines = append(lines, wrap(note, room)...)
	}
	return lines
}

// left returns where the column of a zone begins.
func (p *plot) left(zone int) float64 { return 2*padding + float64(zone)*(p.column+gap) }

// span returns the first and the last of some zones.
func (p *plot) span(zones []string) (first, last int) {
	first, last = len(p.Zones)-1, 0
	for _, zone := range zones {
		i := slices.Index(p.Zones, zone)
		first, last = min(first, i), max(last, i)
	}
	return first, max(first, last)
}

// band returns the box of a height across zones, below what is drawn there.
func (p *plot) band(zones []string, indent, height float64) box {
	first, last := p.span(zones)
	b := box{X: p.left(first) + indent, Y: slices.Max(p.bottoms[first : last+1]), Height: height}
	b.Width = p.left(last) + p.column - indent - b.X
	for i := first; i <= last; i++ {
		p.bottoms[i] = b.Y + height + gap
	}
	return b
}

// balancer draws the API's load balancer.
func (p *plot) balancer() {
	for i := range p.bottoms {
		p.bottoms[i] = subnetTop
	}
	first, last := p.span(p.APIZones)
	room := p.left(last) + p.column - p.left(first) - 4*gap
	lines := wrap(p.API, room)
	b := p.band(p.APIZones, gap, rowHeight*float64(len(lines))+gap)
	p.canvas.rect(b, 4, `fill="#e9def5" stroke="#6f42a8"`)
	for i, text := range lines {
		p.canvas.text(label{X: b.X + gap, Y: b.Y + rowHeight*float64(i+1), Text: text, Room: room})
	}
}

// layer draws subnets and the groups in them.
func (p *plot) layer(l *Layer) {
	top := slices.Max(p.bottoms)
	header := 0
	for i := range l.Subnets {
		header = max(header, len(p.facts(&l.Subnets[i])))
	}
	for i := range p.bottoms {
		p.bottoms[i] = top + rowHeight*float64(header) + gap
	}
	below, groups := p.canvas, &canvas{}
	p.canvas = groups
	for i := range l.Groups {
		p.group(&l.Groups[i])
	}
	bottom := slices.Max(p.bottoms)
	p.canvas = below
	for i := range l.Subnets {
		s := &l.Subnets[i]
		x := p.left(slices.Index(p.Zones, s.Zone)) + gap
		fill := "#e3f2ec" // public
		if !strings.HasPrefix(s.Facts[0], "public") {
			fill = "#e4eef8"
		}
		below.rect(box{x, top, p.column - 2*gap, bottom - top}, 4, `fill="`+fill+`" stroke="`+outline+`"`)
		for j, text := range p.facts(s) {
			below.text(label{X: x + gap, Y: top + rowHeight*float64(j+1), Text: text, Color: pale, Room: p.column - 4*gap})
		}
	}
	below.add(groups.out.String())
	for i := range p.bottoms {
		p.bottoms[i] = bottom + gap
	}
}

// facts returns the lines about a subnet.
func (p *plot) facts(s *Subnet) []string {
	return wrap(strings.Join(s.Facts, ", "), p.column-4*gap)
}

// group draws a group across its zones.
func (p *plot) group(g *Group) {
	first, last := p.span(g.Zones)
	rows := 0
	for i := first; i <= last; i++ {
		rows = max(rows, int(math.Ceil(float64(len(g.of(p.Zones[i])))/float64(p.row))))
	}
	room := p.left(last) + p.column - p.left(first) - 6*gap
	lines := wrap(g.Text, room)
	top := rowHeight*float64(len(lines)+1) + gap
	b := p.band(g.Zones, 2*gap, top+float64(rows)*(machineHeight+gap))
	p.canvas.rect(b, 4, `fill="`+paper+`" fill-opacity="0.85" stroke="#b45309" stroke-dasharray="3 2"`)
	p.canvas.text(label{X: b.X + gap, Y: b.Y + rowHeight, Text: g.Name, Bold: true, Room: room})
	for i, text := range lines {
		p.canvas.text(label{X: b.X + gap, Y: b.Y + rowHeight*float64(i+2), Text: text, Color: pale, Room: room})
	}
	for i := first; i <= last; i++ {
		for j, one := range g.of(p.Zones[i]) {
			p.instance(&one, p.left(i)+3*gap+float64(j%p.row)*(p.machine+gap), b.Y+top+float64(j/p.row)*(machineHeight+gap))
		}
	}
}

// instance draws an instance, or the place of one.
func (p *plot) instance(one *Machine, x, y float64) {
	style := `fill="` + paper + `" stroke="` + stateColors[one.State] + `"`
	room := p.machine - 2*gap
	if one.ID == "" {
		p.canvas.rect(box{x, y, p.machine, machineHeight}, 4, style+` stroke-dasharray="4 3"`)
		p.canvas.sign(one.State, x+gap+6, y+machineHeight/2)
		p.canvas.text(label{X: x + gap + 18, Y: y + machineHeight/2 + 4, Text: one.Text, Room: room - 18})
		return
	}
	p.canvas.rect(box{x, y, p.machine, machineHeight}, 4, style)
	p.canvas.sign(one.State, x+gap+6, y+14)
	lines := []label{{Text: one.Node, Bold: true}, {Text: one.ID, Size: typeSize, Color: pale}, {Text: one.Text, Size: 10}}
	if one.Node == "" {
		lines = []label{{Text: one.ID, Bold: true}, lines[2]}
	}
	for i, l := range lines {
		l.X, l.Y, l.Room = x+gap, y+18+float64(i)*14, room
		if i == 0 {
			l.X, l.Room = l.X+18, room-18
		}
		p.canvas.text(l)
	}
}

// sign draws the sign of a state around a point: states differ in shape and color.
func (c *canvas) sign(s State, x, y float64) {
	color := stateColors[s]
	switch s {
	case Ready:
		c.printf(`<circle cx="%.1f" cy="%.1f" r="6" fill="%s"/>`, x, y, color)
		c.printf(`<path d="M%.1f %.1fl2.2 2.4l4-4.6" fill="none" stroke="%s" stroke-width="1.6"/>`, x-3, y, paper)
	case InService:
		c.printf(`<circle cx="%.1f" cy="%.1f" r="5" fill="none" stroke="%s" stroke-width="2"/>`, x, y, color)
	case Outdated:
		c.printf(`<path d="M%.1f %.1fl6 11h-12z" fill="%s"/>`, x, y-6, color)
	case Starting:
		c.printf(`<circle cx="%.1f" cy="%.1f" r="5" fill="none" stroke="%s" `, x, y, color)
		c.add(`stroke-width="2.5" stroke-dasharray="2.6 2.6"/>`)
	case NotReady:
		c.printf(`<path d="M%.1f %.1fl10 10m0 -10l-10 10" stroke="%s" stroke-width="3"/>`, x-5, y-5, color)
	case Terminating:
		c.printf(`<rect x="%.1f" y="%.1f" width="12" height="4" fill="%s"/>`, x-6, y-2, color)
	case Missing, Planned:
		c.rect(box{x - 5.5, y - 5.5, 11, 11}, 0, `fill="none" stroke="`+color+`" stroke-dasharray="3 2"`)
		if s == Missing {
			c.printf(`<path d="M%.1f %.1fv5m0 2v1.6" stroke="%s" stroke-width="2"/>`, x, y-4, color)
		}
	}
	c.add("\n")
}

// legend draws the signs of the states that occur.
func (p *plot) legend(y float64) {
	occurs := map[State]bool{}
	for _, l := range p.Layers {
		for _, g := range l.Groups {
			for i := range g.Machines {
				occurs[g.Machines[i].State] = true
			}
		}
	}
	x := padding
	for _, s := range states {
		if !occurs[s] {
			continue
		}
		p.canvas.sign(s, x+6, y-4)
		p.canvas.text(label{X: x + 18, Y: y, Text: string(s)})
		x += 18 + width(string(s), textSize, false) + padding
	}
}
