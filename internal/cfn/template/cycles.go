package template

import (
	"maps"
	"slices"
	"strings"
)

// cycles reports circular dependencies of resources and of conditions.
func (c *checker) cycles() {
	for _, cycle := range findCycles(c.t.Dependencies()) {
		c.problem(c.t.Resources[cycle[0]].Pos, "Resources/"+cycle[0],
			"circular dependency between resources: "+circle(cycle), "")
	}
	for _, cycle := range findCycles(c.t.conditionDependencies()) {
		c.problem(c.t.Conditions[cycle[0]].Pos, "Conditions/"+cycle[0],
			"circular dependency between conditions: "+circle(cycle), "")
	}
}

// circle formats a cycle: "A needs B, B needs C, C needs A".
func circle(cycle []string) string {
	steps := make([]string, len(cycle))
	for i, name := range cycle {
		steps[i] = name + " needs " + cycle[(i+1)%len(cycle)]
	}
	return strings.Join(steps, ", ")
}

func (t *Template) conditionDependencies() map[string][]string {
	needs := make(map[string][]string, len(t.Conditions))
	for name, condition := range t.Conditions {
		var names []string
		condition.Walk(func(n *Node) bool {
			if n.Kind == Intrinsic && n.Func == "Condition" && n.Arg != nil && t.Conditions[n.Arg.Text] != nil {
				names = append(names, n.Arg.Text)
			}
			return true
		})
		slices.Sort(names)
		needs[name] = slices.Compact(names)
	}
	return needs
}

// findCycles returns cycles of a graph, each starting with its first name and each name in at most
// one cycle; after one is fixed, check again.
func findCycles(needs map[string][]string) [][]string {
	s := &cycleSearch{needs: needs, done: map[string]bool{}, onPath: map[string]int{}}
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		s.visit(name)
	}
	return s.cycles
}

type cycleSearch struct {
	needs  map[string][]string
	done   map[string]bool
	path   []string
	onPath map[string]int
	cycles [][]string
}

func (s *cycleSearch) visit(name string) {
	if s.done[name] {
		return
	}
	s.onPath[name] = len(s.path)
	s.path = append(s.path, name)
	for _, next := range s.needs[name] {
		if start, circular := s.onPath[next]; circular {
			s.cycle(slices.Clone(s.path[start:]))
			continue
		}
		s.visit(next)
	}
	s.path = s.path[:len(s.path)-1]
	delete(s.onPath, name)
	s.done[name] = true
}

// cycle records a cycle unless one of its names is in a cycle already.
func (s *cycleSearch) cycle(names []string) {
	for _, known := range s.cycles {
		for _, name := range names {
			if slices.Contains(known, name) {
				return
			}
		}
	}
	first := slices.Index(names, slices.Min(names))
	s.cycles = append(s.cycles, slices.Concat(names[first:], names[:first]))
}
