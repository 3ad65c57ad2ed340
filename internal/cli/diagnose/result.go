package diagnose

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cluster/consoles"
	"github.com/aws-operator/aws-operator/internal/cluster/diagnosis"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
)

// result is the JSON and YAML output.
type result struct {
	Cluster  string `json:"cluster"`
	Healthy  bool   `json:"healthy"`
	Endpoint string `json:"endpoint,omitempty"`
	// Cause is the most likely cause, absent if the cluster is healthy.
	Cause     *cause         `json:"cause,omitempty"`
	Stacks    []failedStack  `json:"stacks"`
	Instances []instance     `json:"instances"`
	Problems  []live.Problem `json:"problems"`
}

// instance is an instance that is not a node.
type instance struct {
	ID       string           `json:"id"`
	Group    string           `json:"group"`
	Zone     string           `json:"zone"`
	Launched time.Time        `json:"launched"`
	Joined   bool             `json:"joined"`
	Stalled  bool             `json:"stalled"`
	Stage    string           `json:"stage,omitempty"`
	Since    *time.Time       `json:"since,omitempty"`
	Error    string           `json:"error,omitempty"`
	Cause    *diagnosis.Cause `json:"cause,omitempty"`
	// Target is the health of the instance as the load balancer reports it.
	Target string `json:"target,omitempty"`
	// Unreadable is why the console could not be read.
	Unreadable string `json:"unreadable,omitempty"`
}

// resultOf returns the result for the facts.
func resultOf(f *findings) result {
	r := result{
		Cluster: f.observed.Cluster.Name, Endpoint: f.observed.AWS.Server(), Healthy: len(f.problems) == 0 && len(f.stacks) == 0,
		Cause: f.causeOf(), Stacks: f.stacks, Instances: []instance{}, Problems: f.problems,
	}
	if r.Stacks == nil {
		r.Stacks = []failedStack{}
	}
	if r.Problems == nil {
		r.Problems = []live.Problem{}
	}
	for i := range f.reports {
		r.Instances = append(r.Instances, f.instanceOf(&f.reports[i]))
	}
	return r
}

func (f *findings) instanceOf(r *consoles.Report) instance {
	in, ever := r.DueIn(f.now)
	i := instance{
		ID: r.ID, Group: r.Group, Zone: r.Zone, Launched: r.Launched.UTC(), Joined: r.Boot.Joined, Stage: r.Boot.Stage,
		Error: r.Boot.Error, Unreadable: r.Unreadable, Stalled: ever && in <= 0,
	}
	if r.Slot != "" {
		i.Group = "control-plane-" + r.Slot
	}
	if target, ok := f.targets[r.ID]; ok {
		i.Target = string(target.State)
	}
	if i.Stage != "" {
		since := r.Boot.Began(r.Launched, f.now).UTC()
		i.Since = &since
	}
	if i.Stalled && r.Unreadable == "" {
		i.Cause = &r.Boot.Cause
	}
	return i
}

// tableOf lists the instances that are not nodes.
func tableOf(r *result) flags.Table {
	table := flags.Table{Columns: []string{"INSTANCE", "GROUP", "ZONE", "LAUNCHED", "STAGE", "SINCE", "TARGET"}}
	for i := range r.Instances {
		one := &r.Instances[i]
		stage, since := one.Stage, "-"
		switch {
		case one.Joined:
			stage = "joined"
		case one.Unreadable != "":
			stage = "unknown"
		}
		if one.Since != nil {
			since = one.Since.Format(time.RFC3339)
		}
		table.Rows = append(
			table.Rows, []string{one.ID, one.Group, one.Zone, one.Launched.Format(time.RFC3339), stage, since, cmp.Or(one.Target, "-")},
		)
	}
	return table
}

// report prints the result as sentences, after the table.
func report(out io.Writer, r *result) error {
	if r.Healthy {
		_, err := fmt.Fprintf(out, "Nothing is wrong: cluster %s is healthy. Its API serves at %s.\n", r.Cluster, r.Endpoint)
		return err
	}
	var b strings.Builder
	section(&b, "Last errors", len(r.Instances), func(i int) string {
		one := &r.Instances[i]
		if problem := cmp.Or(one.Error, one.Unreadable); problem != "" {
			return one.ID + ": " + problem
		}
		return ""
	})
	section(&b, "Stacks", len(r.Stacks), func(i int) string {
		return fmt.Sprintf("%s (%s): %s", r.Stacks[i].Name, r.Stacks[i].Status, r.Stacks[i].Reason)
	})
	section(&b, "Problems", len(r.Problems), func(i int) string {
		p := &r.Problems[i]
		return fmt.Sprintf("%s %s (%s): %s", p.Kind, p.Name, p.Reason, p.Message)
	})
	if r.Cause != nil {
		fmt.Fprintf(&b, "\nMost likely cause (%s): %s\n%s\nRemedy: %s\n", r.Cause.Reason, r.Cause.Text, r.Cause.Evidence, r.Cause.Remedy)
	}
	text := b.String()
	if len(r.Instances) == 0 {
		text = strings.TrimPrefix(text, "\n")
	}
	_, err := io.WriteString(out, text)
	return err
}

// section writes a heading and the lines that are not empty; nothing if all are.
func section(b *strings.Builder, heading string, count int, line func(int) string) {
	headed := false
	for i := range count {
		text := line(i)
		if text == "" {
			continue
		}
		if !headed {
			headed = true
			fmt.Fprintf(b, "\n%s:\n", heading)
		}
		fmt.Fprintf(b, "- %s\n", text)
	}
}
