package rollingupdate

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
)

// shown is the JSON and YAML output.
type shown struct {
	Cluster string       `json:"cluster"`
	Groups  []shownGroup `json:"groups"`
	// Order is the order of the groups; those of a stage are replaced together.
	Order [][]string `json:"order"`
	Notes []string   `json:"notes"`
}

type shownGroup struct {
	Name             string `json:"name"`
	Role             string `json:"role"`
	Status           string `json:"status"`
	NeedUpdate       int    `json:"needUpdate"`
	Ready            int    `json:"ready"`
	Min              int    `json:"min"`
	Target           int    `json:"target"`
	Max              int    `json:"max"`
	Nodes            int    `json:"nodes"`
	Owner            string `json:"owner"`
	AutoScalingGroup string `json:"autoScalingGroup"`
	Why              string `json:"why,omitempty"`
}

// show prints what would be done.
func (u *update) show(ctx context.Context) error {
	s, err := u.observe(ctx, nil)
	if err != nil {
		return err
	}
	groups, asked, others := u.selectGroups(s)
	data := shown{Cluster: u.cluster.Name, Groups: u.shownGroups(s), Order: orderOf(groups), Notes: u.notes(s, groups, asked, others)}
	if err := u.output.Print(u.out, data, tableOf(data.Groups)); err != nil {
		return err
	}
	if u.output.Format != flags.FormatTable && u.output.Format != flags.FormatWide {
		return nil
	}
	_, err = io.WriteString(u.out, "\n"+strings.Join(data.Notes, "\n")+"\n")
	return err
}

// notes describe what the command would do, and what others have to do.
func (u *update) notes(s *observation, groups, asked []*target, others map[owner][]string) []string {
	var notes []string
	if s.apiProblem != "" {
		notes = append(
			notes,
			fmt.Sprintf(
				"The cluster's API does not answer: %s. Nodes are unknown; --cloudonly uses only AWS.",
				strings.TrimSuffix(s.apiProblem, "."),
			),
		)
	}
	for i := range s.rows {
		if why := s.rows[i].Why; why != "" {
			notes = append(notes, fmt.Sprintf("The last roll of %s stopped: %s", s.rows[i].Name, why))
		}
	}
	if s.begun {
		notes = append(notes, s.forceNote(u.force))
	}
	notes = append(notes, u.othersNotes(others)...)
	if err := u.checkRequest(asked); err != nil {
		return append(notes, "Cannot be done: "+strings.ReplaceAll(err.Error(), "\n", "; ")+".")
	}
	if len(groups) == 0 && len(asked) == 0 {
		if len(others) == 0 {
			notes = append(notes, "No instance needs to be replaced.")
		}
		return notes
	}
	if len(groups) > 0 {
		notes = append(notes, fmt.Sprintf("Would replace instances, in this order: %s.", inWords(groups)))
	}
	if len(asked) > 0 {
		notes = append(
			notes, fmt.Sprintf("Would ask the operator to replace all instances of %s, as it does for any change.", namesOf(asked)),
		)
	}
	return append(notes, "Nothing was changed. To replace them, add --yes.")
}

// inWords describes the order in which groups are replaced.
func inWords(groups []*target) string {
	var order []string
	for _, stage := range orderOf(groups) {
		how := ""
		if len(stage) > 1 {
			how = " (one after another)"
		}
		order = append(order, strings.Join(stage, ", ")+how)
	}
	return strings.Join(order, "; then ")
}

// forceNote describes an earlier run with --force that is not complete.
func (s *observation) forceNote(force bool) string {
	text := fmt.Sprintf(
		"A run with --force that began after %s is not complete: instances that were launched since are up to date",
		s.before.Format(time.RFC3339),
	)
	if force {
		return text + ", and the others are replaced."
	}
	return text + "; with --force, the others are replaced."
}

func orderOf(groups []*target) [][]string {
	order := [][]string{}
	for _, stage := range rollout.Order(plainOf(groups), 1, false) {
		var names []string
		for _, n := range stage {
			names = append(names, groups[n].Name)
		}
		order = append(order, names)
	}
	return order
}

func plainOf(groups []*target) []rollout.Group {
	plain := make([]rollout.Group, len(groups))
	for i, t := range groups {
		plain[i] = t.Group
	}
	return plain
}

func (u *update) shownGroups(s *observation) []shownGroup {
	groups := []shownGroup{}
	for i := range s.rows {
		row := &s.rows[i]
		groups = append(groups, shownGroup{
			Name: row.Name, Role: string(row.Role), Status: row.Status, NeedUpdate: row.NeedUpdate, Ready: row.Ready, Min: row.Min,
			Target: row.Target, Max: row.Max,
			Nodes: row.Nodes, Owner: string(s.targets[i].owner), AutoScalingGroup: s.targets[i].AutoScalingGroup, Why: row.Why,
		})
	}
	return groups
}

func tableOf(groups []shownGroup) flags.Table {
	table := flags.Table{
		Columns: []string{
			"NAME",
			"STATUS",
			"NEEDUPDATE",
			"READY",
			"MIN",
			"TARGET",
			"MAX",
			"NODES",
			"ROLE",
			"REPLACED BY",
			"AUTO SCALING GROUP",
		}, Wide: 3,
	}
	for i := range groups {
		g := &groups[i]
		cells := []string{g.Name, g.Status}
		for _, n := range []int{g.NeedUpdate, g.Ready, g.Min, g.Target, g.Max, g.Nodes} {
			cells = append(cells, strconv.Itoa(n))
		}
		table.Rows = append(table.Rows, append(cells, g.Role, g.Owner, g.AutoScalingGroup))
	}
	return table
}
