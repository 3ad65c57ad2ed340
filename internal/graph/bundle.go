package graph

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// bundle is resources of one type, whose dependencies are alike: they lead to and come from
// bundles of the same kind. It is drawn as one box.
type bundle struct {
	// frame is the number of the frame that it is in.
	frame int
	// typed is the resources' type, names are their logical IDs.
	typed string
	names []string
}

// line is a dependency between bundles, by number.
type line struct {
	from, to int
	kind     Kind
}

// diagram is what is drawn of a graph: subnets of several zones, or stacks of several slots, are
// alike.
type diagram struct {
	// frames are the names of stacks that are alike.
	frames  [][]string
	bundles []bundle
	// lines are the dependencies without those that others imply.
	lines []line
}

// bundled returns the diagram of a graph.
func (g *Graph) bundled() *diagram {
	d := &diagram{}
	classes := g.classes()
	frames, bundles, of := map[string]int{}, map[string]int{}, map[string]int{}
	for _, s := range g.Stacks {
		all := stackClass(s, classes)
		frame, known := frames[all]
		if !known {
			frame = len(d.frames)
			frames[all], d.frames = frame, append(d.frames, nil)
		}
		d.frames[frame] = append(d.frames[frame], s.Name)
		for _, n := range s.Nodes {
			at, known := bundles[classes[n.key()]]
			if !known {
				at = len(d.bundles)
				bundles[classes[n.key()]], d.bundles = at, append(d.bundles, bundle{frame: frame, typed: short(n.Type)})
			}
			if b := &d.bundles[at]; !slices.Contains(b.names, n.LogicalID) {
				b.names = append(b.names, n.LogicalID)
			}
			of[n.key()] = at
		}
	}
	kinds := map[[2]int]Kind{}
	for _, e := range g.Edges {
		if from, to := of[e.From.key()], of[e.To.key()]; from != to {
			kinds[[2]int{from, to}] = e.Kind
		}
	}
	ends := slices.SortedFunc(maps.Keys(kinds), func(a, b [2]int) int { return cmp.Or(a[0]-b[0], a[1]-b[1]) })
	for _, e := range ends {
		if !implied(ends, e) {
			d.lines = append(d.lines, line{e[0], e[1], kinds[e]})
		}
	}
	return d
}

// classes returns the class of each node: first its type, which is refined by the classes of what
// it needs, of what needs it, and of its stack, until there are no more classes.
func (g *Graph) classes() map[string]string {
	classes := map[string]string{}
	for _, s := range g.Stacks {
		for _, n := range s.Nodes {
			classes[n.key()] = n.Type
		}
	}
	for known := 0; ; {
		near := map[string]map[string]bool{}
		for key := range classes {
			near[key] = map[string]bool{}
		}
		for _, e := range g.Edges {
			near[e.From.key()]["> "+string(e.Kind)+classes[e.To.key()]] = true
			near[e.To.key()]["< "+string(e.Kind)+classes[e.From.key()]] = true
		}
		numbers, next := map[string]string{}, map[string]string{}
		for _, s := range g.Stacks {
			stack := stackClass(s, classes)
			for _, n := range s.Nodes {
				signature := fmt.Sprintf("%q", append(slices.Sorted(maps.Keys(near[n.key()])), classes[n.key()], stack))
				if numbers[signature] == "" {
					numbers[signature] = fmt.Sprint(len(numbers) + 1)
				}
				next[n.key()] = numbers[signature]
			}
		}
		if classes = next; len(numbers) == known {
			return classes
		}
		known = len(numbers)
	}
}

// stackClass returns the classes of a stack's nodes.
func stackClass(s Stack, classes map[string]string) string {
	var all []string
	for _, n := range s.Nodes {
		all = append(all, classes[n.key()])
	}
	slices.Sort(all)
	return fmt.Sprintf("%q", all)
}

// implied reports whether other dependencies lead from the one end of a dependency to its other.
func implied(ends [][2]int, of [2]int) bool {
	seen := map[int]bool{}
	next := []int{of[0]}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for _, e := range ends {
			if e[0] != at || e == of || seen[e[1]] {
				continue
			}
			if e[1] == of[1] {
				return true
			}
			seen[e[1]] = true
			next = append(next, e[1])
		}
	}
	return false
}
