package graph

import (
	"fmt"
	"strings"
)

// marks are the signs of states on a terminal.
var marks = map[State]string{
	Ready: "●", InService: "○", Outdated: "▲", Starting: "◌", NotReady: "✗", Terminating: "–", Missing: "?", Planned: "·",
}

// Text draws the topology for a terminal: the zones with their subnets, and in those the groups and
// instances.
func (t *Topology) Text() string {
	var w strings.Builder
	fmt.Fprintf(&w, "Cluster %s, %s, %s, VPC %s\n%s\n\n", t.Name, t.Release, t.Region, t.VPC, t.API)
	group, node := 0, 0 // the lengths of names
	for _, l := range t.Layers {
		for _, g := range l.Groups {
			group = max(group, len(g.Name))
			for i := range g.Machines {
				node = max(node, len([]rune(g.Machines[i].Node)))
			}
		}
	}
	for _, l := range t.Layers {
		for _, g := range l.Groups {
			fmt.Fprintf(&w, "%-*s  %s\n", group, printable(g.Name), printable(g.Text))
		}
	}
	for _, zone := range t.Zones {
		fmt.Fprintf(&w, "\n%s\n", zone)
		for i := range t.Layers {
			t.Layers[i].text(&w, zone, group, node)
		}
	}
	for i, note := range t.Notes {
		if i == 0 {
			w.WriteString("\n")
		}
		w.WriteString(printable(note) + "\n")
	}
	return w.String()
}

// text writes what is in a zone. Names of groups and nodes have the given lengths.
func (l *Layer) text(w *strings.Builder, zone string, group, node int) {
	for _, s := range l.Subnets {
		if s.Zone == zone {
			fmt.Fprintf(w, "  %s\n", strings.Join(s.Facts, ", "))
		}
	}
	for _, g := range l.Groups {
		for _, one := range g.of(zone) {
			fmt.Fprintf(w, "    %-*s  %s ", group, printable(g.Name), marks[one.State])
			if one.ID != "" {
				fmt.Fprintf(w, "%-*s  %-19s  ", node, printable(one.Node), one.ID)
			}
			fmt.Fprintln(w, one.Text)
		}
	}
}
