package graph

import (
	"cmp"
	"slices"
)

// Sizes of a drawing, in pixels.
const (
	boxWidth, boxHeight = 250, 34
	gapX, gapY          = 70, 10
	padding, titleSpace = 16, 26
)

// box is where something is drawn.
type box struct{ x, y, w, h int }

// layout is where the graph's nodes and stacks are drawn.
type layout struct {
	nodes  map[string]box
	stacks []box
	w, h   int
}

// layoutOf places the base stack left and the others right of it, one below the other; within a
// stack what is needed stands left of what needs it.
func layoutOf(g *Graph) *layout {
	l := &layout{nodes: map[string]box{}}
	x, y := padding, padding
	for i, s := range g.Stacks {
		frame := l.place(g, s, x, y)
		l.stacks = append(l.stacks, frame)
		l.w, l.h = max(l.w, frame.x+frame.w+padding), max(l.h, frame.y+frame.h+padding)
		if i == 0 {
			x = frame.x + frame.w + gapX
			continue
		}
		y = frame.y + frame.h + 2*gapY
	}
	return l
}

// place places a stack's nodes in columns, and returns its frame.
func (l *layout) place(g *Graph, s Stack, x, y int) box {
	columns := columnsOf(g, s)
	frame := box{x: x, y: y}
	tallest := 0
	for _, column := range columns {
		tallest = max(tallest, len(column))
	}
	for i, column := range columns {
		top := y + titleSpace + padding + (tallest-len(column))*(boxHeight+gapY)/2 // in the middle
		for j, n := range column {
			at := box{x + padding + i*(boxWidth+gapX), top + j*(boxHeight+gapY), boxWidth, boxHeight}
			l.nodes[n.key()] = at
			frame.w, frame.h = max(frame.w, at.x+at.w+padding-x), max(frame.h, at.y+at.h+padding-y)
		}
	}
	return frame
}

// columnsOf puts each node one column right of the rightmost that it needs, and then orders each
// column so that lines cross little: each node is drawn to the middle of its neighbours.
func columnsOf(g *Graph, s Stack) [][]Node {
	needs, neighbours := map[string][]string{}, map[string][]string{}
	for _, e := range g.Edges {
		if e.From.Stack == s.Name && e.To.Stack == s.Name {
			from, to := e.From.key(), e.To.key()
			needs[from] = append(needs[from], to)
			neighbours[from], neighbours[to] = append(neighbours[from], to), append(neighbours[to], from)
		}
	}
	depth := map[string]int{}
	var deep func(key string) int
	deep = func(key string) int {
		if d, ok := depth[key]; ok {
			return d
		}
		depth[key] = 0 // A template has no cycles; if it had, this ends them.
		d := 0
		for _, to := range needs[key] {
			d = max(d, deep(to)+1)
		}
		depth[key] = d
		return d
	}
	var columns [][]Node
	for _, n := range s.Nodes {
		d := deep(n.key())
		for len(columns) <= d {
			columns = append(columns, nil)
		}
		columns[d] = append(columns[d], n)
	}
	const sweeps = 6
	for range sweeps {
		straighten(columns, neighbours)
	}
	return columns
}

// straighten sorts each column by the mean place of the neighbours.
func straighten(columns [][]Node, neighbours map[string][]string) {
	place := map[string]float64{}
	for _, column := range columns {
		for i, n := range column {
			place[n.key()] = (float64(i) + 0.5) / float64(len(column))
		}
	}
	mean := func(n Node) float64 {
		of := neighbours[n.key()]
		if len(of) == 0 {
			return 1 // What stands alone goes to the bottom.
		}
		sum := 0.0
		for _, key := range of {
			sum += place[key]
		}
		return sum / float64(len(of))
	}
	for _, column := range columns {
		slices.SortStableFunc(column, func(a, b Node) int { return cmp.Compare(mean(a), mean(b)) })
		for i, n := range column {
			place[n.key()] = (float64(i) + 0.5) / float64(len(column))
		}
	}
}
