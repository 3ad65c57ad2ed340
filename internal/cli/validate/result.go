package validate

import (
	"strconv"

	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
)

// result is the JSON and YAML output.
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

// resultOf returns the result for an observation.
func resultOf(name string, observed *live.Observation, problems []live.Problem) result {
	r := result{
		Cluster:  name,
		Valid:    len(problems) == 0,
		Endpoint: observed.AWS.Server(),
		Problems: problems,
		Groups:   groupsOf(observed),
		Nodes:    []node{},
	}
	if problems == nil {
		r.Problems = []live.Problem{}
	}
	if observed.API == nil {
		return r
	}
	for i := range observed.API.Nodes {
		n := &observed.API.Nodes[i]
		of := n.Group
		if of == "" && n.Slot >= 0 {
			of = live.SlotName(n.Slot)
		}
		r.Nodes = append(r.Nodes, node{Name: n.Name, Group: of, Machine: n.InstanceID, Version: n.Version, Ready: n.Ready})
	}
	return r
}

// groupsOf counts the instances of each group, and those whose nodes are Ready; for instances that
// are not nodes, those in service.
func groupsOf(observed *live.Observation) []group {
	ready := map[string]bool{}
	if observed.API != nil {
		for i := range observed.API.Nodes {
			ready[observed.API.Nodes[i].InstanceID] = observed.API.Nodes[i].Ready
		}
	}
	groups := []group{}
	for i := range observed.AWS.Groups {
		from := &observed.AWS.Groups[i]
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

func tableOf(observed *live.Observation) flags.Table {
	table := flags.Table{Columns: []string{"NAME", "ROLE", "MACHINES", "READY", "NEEDUPDATE", "MIN", "TARGET", "MAX"}}
	for _, g := range groupsOf(observed) {
		cells := []string{g.Name, g.Role}
		for _, n := range []int{g.Machines, g.Ready, g.NeedUpdate, g.Min, g.Target, g.Max} {
			cells = append(cells, strconv.Itoa(n))
		}
		table.Rows = append(table.Rows, cells)
	}
	return table
}
