// Package graph implements the command graph, which draws clusters.
package graph

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
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
	"github.com/aws-operator/aws-operator/internal/state"
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
	plan      plan.Options

	dependencies, events bool
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
		Short: "Draw a cluster: its zones, groups and nodes, its stacks, or its last change",
		Long: `Draw where a cluster runs: its zones, subnets, load balancer, slots, instance groups and
nodes with their state, as text or as SVG. The command reads AWS and the cluster's API as
validate does, and changes nothing. Without access to AWS, and for a cluster that is only in
files, it draws what is planned.

--dependencies instead draws the stacks, their resources and the dependencies between them:
as text for Mermaid or for Graphviz, which makes a picture of it.

--events instead draws how long each resource took in the last operation on the cluster's
stacks, from the events of CloudFormation: as bars of text, or as SVG.`,
		Example: `  aws-operator graph cluster demo
  aws-operator graph cluster demo -o svg > demo.svg
  aws-operator graph cluster demo -f demo.yaml --dependencies -o dot | dot -Tsvg > dependencies.svg
  aws-operator graph cluster demo --events`,
		Args: usage.Name("cluster"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	cmd.ValidArgsFunction = o.state.CompleteCluster
	o.state.Add(cmd)
	o.manifests.Add(cmd)
	set := cmd.Flags()
	set.StringVarP(&o.format, "output", "o", "", "text or svg (default: text); with --dependencies mermaid or dot (default: mermaid)")
	_ = cmd.RegisterFlagCompletionFunc(
		"output", cobra.FixedCompletions([]string{formatMermaid, formatDOT, formatSVG, formatText}, cobra.ShellCompDirectiveNoFileComp),
	)
	set.BoolVar(&o.dependencies, "dependencies", false, "draw the stacks, their resources and the dependencies between them")
	set.BoolVar(&o.events, "events", false, "draw the duration of each resource in the last operation")
	set.StringVar(&o.plan.Operator, "cluster-name", operator.DefaultClusterName, "the operator's --cluster-name")
	set.StringVar(
		&o.plan.AccountID, "aws-account-id", "", "AWS account of a new cluster (default: the account of its role, or a placeholder)",
	)
	cmd.MarkFlagsMutuallyExclusive("dependencies", "events")
	return cmd
}

// check returns an error for an unknown format of a cluster's drawing.
func (o *options) check(name string) error {
	known := []string{formatText, formatSVG}
	if o.dependencies {
		known = []string{formatMermaid, formatDOT}
	}
	if o.format == "" {
		o.format = known[0]
	}
	if !o.dependencies && (o.format == formatMermaid || o.format == formatDOT) {
		return fmt.Errorf("--output %s is for --dependencies; use one of %v, or add that flag", o.format, known)
	}
	if o.dependencies && o.format == formatSVG {
		return fmt.Errorf(
			"--output svg is not for --dependencies: use Graphviz, as in aws-operator graph cluster %[1]s --dependencies -o dot | "+
				"dot -Tsvg > %[1]s.svg", name,
		)
	}
	if !slices.Contains(known, o.format) {
		return fmt.Errorf("--output %s is unknown here; use one of %v", o.format, known)
	}
	return nil
}

func (o *options) run(cmd *cobra.Command, name string) error {
	if err := o.check(name); err != nil {
		return err
	}
	set := &manifest.Set{}
	if o.manifests.Given() {
		var err error
		if set, err = o.manifests.Read(cmd); err != nil {
			return err
		}
	}
	from, name, err := o.state.OpenCluster(cmd, name, manifest.Objects[*v1alpha1.Cluster](set)...)
	if err != nil {
		return err
	}
	in, err := plan.Read(cmd.Context(), set, from, name)
	if err != nil {
		return err
	}
	draw := o.topology
	switch {
	case o.events:
		draw = o.timeline
	case o.dependencies:
		draw = o.resources
	}
	text, err := draw(cmd, from, &in)
	if err != nil {
		return err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), text)
	return err
}

// connect returns clients of AWS for a cluster.
func connect(ctx context.Context, in *plan.Input) (*awsapi.Clients, error) {
	return awsapi.New(ctx, awsapi.Options{Region: in.Cluster.Spec.Region, UserAgent: "aws-operator/" + version.String()})
}

// resources draws the dependencies of the cluster's resources.
func (o *options) resources(cmd *cobra.Command, _ *state.State, in *plan.Input) (string, error) {
	options := o.plan
	if in.Cluster.Spec.Network.VPC != "" {
		var err error
		if options.Clients, err = connect(cmd.Context(), in); err != nil {
			return "", err
		}
	}
	subjects, err := plan.Render(cmd.Context(), *in, options)
	if err != nil {
		return "", err
	}
	stacks := make([]*render.Stack, 0, len(subjects))
	for i := range subjects {
		if subjects[i].Wanted != nil {
			stacks = append(stacks, subjects[i].Wanted)
		}
	}
	if len(stacks) == 0 {
		return "", errors.New("the cluster is being deleted; it has nothing to draw")
	}
	g := graph.Of(in.Cluster.Name, stacks)
	if o.format == formatDOT {
		return g.DOT(), nil
	}
	return g.Mermaid(), nil
}

// timeline draws the last operation on the cluster's stacks.
func (o *options) timeline(cmd *cobra.Command, _ *state.State, in *plan.Input) (string, error) {
	clients, err := connect(cmd.Context(), in)
	if err != nil {
		return "", err
	}
	line, err := timeline(cmd.Context(), clients, in)
	if err != nil {
		return "", err
	}
	return o.drawLine(cmd.OutOrStdout(), line), nil
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
