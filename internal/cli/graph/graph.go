// Package graph implements the command graph, which draws clusters.
package graph

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/manifests"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/graph"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/plan"
)

// Formats of output.
const (
	formatMermaid = "mermaid"
	formatDOT     = "dot"
	formatSVG     = "svg"
	formatText    = "text"
)

type options struct {
	state     flags.State
	manifests manifests.Flags
	format    string
	events    bool
	plan      plan.Options
}

// Command returns the command.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Draw a cluster",
	}
	cmd.AddCommand(clusterCommand())
	return cmd
}

func clusterCommand() *cobra.Command {
	o := options{manifests: manifests.Flags{Optional: true}}
	cmd := &cobra.Command{
		Use:   "cluster NAME [-f FILE …]",
		Short: "Draw a cluster's stacks and their dependencies, or how long its last change took",
		Long: `Draw the stacks of a cluster, their resources and the dependencies between them, as text
for Mermaid or Graphviz, or as SVG. The drawing shows what the state or the files define.
The command calls AWS only to read an existing VPC.

--events instead draws how long each resource took in the last operation on the cluster's
stacks, from the events of CloudFormation: as bars of text, or as SVG.`,
		Example: `  aws-operator graph cluster demo -o svg > demo.svg
  aws-operator graph cluster demo -f demo.yaml -o dot | dot -Tpng > demo.png
  aws-operator graph cluster demo --events`,
		Args: usage.Name("cluster"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	cmd.ValidArgsFunction = o.state.CompleteCluster
	o.state.Add(cmd)
	o.manifests.Add(cmd)
	set := cmd.Flags()
	set.StringVarP(&o.format, "output", "o", "", "mermaid, dot or svg (default: mermaid); with --events text or svg (default: text)")
	_ = cmd.RegisterFlagCompletionFunc(
		"output", cobra.FixedCompletions([]string{formatMermaid, formatDOT, formatSVG, formatText}, cobra.ShellCompDirectiveNoFileComp),
	)
	set.BoolVar(&o.events, "events", false, "draw the duration of each resource in the last operation")
	set.StringVar(&o.plan.Operator, "cluster-name", operator.DefaultClusterName, "the operator's --cluster-name")
	set.StringVar(
		&o.plan.AccountID, "aws-account-id", "", "AWS account of a new cluster (default: the account of its role, or a placeholder)",
	)
	return cmd
}

// check returns an error for an unknown format.
func (o *options) check() error {
	known := []string{formatMermaid, formatDOT, formatSVG}
	if o.events {
		known = []string{formatText, formatSVG}
	}
	if o.format == "" {
		o.format = known[0]
	}
	if !slices.Contains(known, o.format) {
		return fmt.Errorf("--output %s is unknown here; use one of %v", o.format, known)
	}
	return nil
}

func (o *options) run(cmd *cobra.Command, name string) error {
	if err := o.check(); err != nil {
		return err
	}
	set := &manifest.Set{}
	if o.manifests.Given() {
		var err error
		if set, err = o.manifests.Read(cmd); err != nil {
			return err
		}
	}
	from, err := o.state.Open(cmd)
	if err != nil {
		return err
	}
	in, err := plan.Read(cmd.Context(), set, from, name)
	if err != nil {
		return err
	}
	var clients *awsapi.Clients
	if o.events || in.Cluster.Spec.Network.VPC != "" {
		if clients, err = awsapi.New(cmd.Context(), awsapi.Options{
			Region: in.Cluster.Spec.Region, UserAgent: "aws-operator/" + version.String(),
		}); err != nil {
			return err
		}
	}
	if o.events {
		line, err := timeline(cmd.Context(), clients, &in)
		if err != nil {
			return err
		}
		return write(cmd.OutOrStdout(), o.drawLine(cmd.OutOrStdout(), line))
	}
	o.plan.Clients = clients
	subjects, err := plan.Render(cmd.Context(), in, o.plan)
	if err != nil {
		return err
	}
	stacks := make([]*render.Stack, 0, len(subjects))
	for i := range subjects {
		if subjects[i].Wanted != nil {
			stacks = append(stacks, subjects[i].Wanted)
		}
	}
	if len(stacks) == 0 {
		return errors.New("the cluster is being deleted; it has nothing to draw")
	}
	return write(cmd.OutOrStdout(), o.draw(graph.Of(name, stacks)))
}

func (o *options) draw(g *graph.Graph) string {
	switch o.format {
	case formatDOT:
		return g.DOT()
	case formatSVG:
		return g.SVG()
	}
	return g.Mermaid()
}

func (o *options) drawLine(out io.Writer, line *graph.Timeline) string {
	if o.format == formatSVG {
		return line.SVG()
	}
	const usual = 120
	width := usual
	if file, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil {
			width = columns
		}
	}
	return line.Text(width)
}

func write(out io.Writer, text string) error {
	_, err := io.WriteString(out, text)
	return err
}
