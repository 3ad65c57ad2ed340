package validate

import (
	"strconv"

	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
)

// result is what machines read.
type result struct {
	Cluster  string         `json:"cluster"`
	Valid    bool           `json:"valid"`
	Endpoint string         `json:"endpoint,omitempty"`
	Problems []live.Problem `json:"problems"`
	Groups   []group        `json:"groups"`
	Nodes    []node         `json:"nodes"`
}

type group struct {
	Name             string `json:"name"`
	Role             string `json:"role"`
	AutoScalingGroup string `json:"autoScalingGroup"`
	Machines         int    `json:"machines"`
	Ready            int    `json:"ready"`
	NeedUpdate       int    `json:"needUpdate"`
	Min              int    `json:"min"`
	Target           int    `json:"target"`
	Max              int    `json:"max"`
}

type node struct {
	Name    string `json:"name"`
	Group   string `json:"group"`
	Machine string `json:"machine"`
	Version string `json:"version"`
	Ready   bool   `json:"ready"`
}

// resultOf puts what was seen into what machines read.
func resultOf(name string, look *live.Look, problems []live.Problem) result {
	r := result{
		Cluster:  name,
		Valid:    len(problems) == 0,
		Endpoint: look.AWS.Server(),
		Problems: problems,
		Groups:   groupsOf(look),
		Nodes:    []node{},
	}
	if problems == nil {
		r.Problems = []live.Problem{}
	}
	if look.API == nil {
		return r
	}
	for i := range look.API.Nodes {
		n := &look.API.Nodes[i]
		of := n.Group
		if of == "" && n.Slot >= 0 {
			of = live.SlotName(n.Slot)
		}
		r.Nodes = append(r.Nodes, node{Name: n.Name, Group: of, Machine: n.InstanceID, Version: n.Version, Ready: n.Ready})
	}
	return r
}

// groupsOf counts the machines of each group, and those whose nodes are Ready: of machines that are
// no nodes, those in service.
func groupsOf(look *live.Look) []group {
	ready := map[string]bool{}
	if look.API != nil {
		for i := range look.API.Nodes {
			ready[look.API.Nodes[i].InstanceID] = look.API.Nodes[i].Ready
		}
	}
	groups := []group{}
	for i := range look.AWS.Groups {
		from := &look.AWS.Groups[i]
		g := group{
			Name: from.Name, Role: string(from.Role), AutoScalingGroup: from.AutoScalingGroup, Machines: len(from.Instances),
			Min: from.Min, Target: from.Desired, Max: from.Max,
		}
		for _, one := range from.Instances {
			if ready[one.ID] || from.Bastion() && one.State == "InService" {
				g.Ready++
			}
			if one.Outdated {
				g.NeedUpdate++
			}
		}
		groups = append(groups, g)
	}
	return groups
}

func tableOf(look *live.Look) flags.Table {
	table := flags.Table{Columns: []string{"NAME", "ROLE", "MACHINES", "READY", "NEEDUPDATE", "MIN", "TARGET", "MAX"}}
	for _, g := range groupsOf(look) {
		cells := []string{g.Name, g.Role}
		for _, n := range []int{g.Machines, g.Ready, g.NeedUpdate, g.Min, g.Target, g.Max} {
			cells = append(cells, strconv.Itoa(n))
		}
		table.Rows = append(table.Rows, cells)
	}
	return table
}
