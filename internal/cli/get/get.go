// Package get implements the command get, which shows what the state holds.
package get

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/state"
)

// kind is a kind of objects that the command can show.
type kind struct {
	plural, singular string
	aliases          []string
	short            string
	// find returns the objects, or only those of one cluster if it is named.
	find func(ctx context.Context, from *state.State, cluster string) ([]client.Object, error)
	// columns are the headers of the table. wide is how many of the last are shown only on request.
	columns []string
	wide    int
	row     func(client.Object) []string
	// ofCluster adds the flag --cluster.
	ofCluster bool
}

// kindCluster is the kind of clusters, which users may also call by their names in kops.
const kindCluster = "cluster"

type options struct {
	kind    kind
	cluster string
	state   flags.State
	output  flags.Output
}

// Command returns the command.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get clusters|instancegroups|releases|fleets [NAME]",
		Short: "Show what the state holds",
		Long: `Show the clusters, instance groups, releases or fleets of the state, with the status of the last
operation. Only a management cluster has fleets. The command does not call AWS and changes nothing.`,
		Example: `  aws-operator get clusters --state ./state
  aws-operator get instancegroups --cluster demo -o wide

  # Write a definition to a file, to edit it and pass it to replace:
  aws-operator get cluster demo -o yaml > demo.yml`,
	}
	for _, k := range kinds() {
		cmd.AddCommand(command(k))
	}
	cmd.AddCommand(fleetCommand())
	return cmd
}

func command(k kind) *cobra.Command {
	o := options{kind: k}
	cmd := &cobra.Command{
		Use:     k.plural + " [NAME]",
		Aliases: append([]string{k.singular}, k.aliases...),
		Short:   k.short,
		Args:    usage.OptionalName,
		RunE:    o.run,
	}
	o.state.Add(cmd)
	o.output.Add(cmd)
	if k.ofCluster {
		cmd.Flags().StringVar(&o.cluster, "cluster", "", "show only those of this cluster")
		_ = cmd.RegisterFlagCompletionFunc("cluster", o.state.CompleteCluster)
	}
	cmd.ValidArgsFunction = o.state.Complete(func(ctx context.Context, from *state.State) ([]string, error) {
		if k.singular == kindCluster { // without reading them
			return from.Clusters(ctx)
		}
		objects, err := k.find(ctx, from, o.cluster)
		return namesOf(objects), err
	})
	return cmd
}

func namesOf(objects []client.Object) []string {
	names := make([]string, len(objects))
	for i, object := range objects {
		names[i] = object.GetName()
	}
	return names
}

func (o *options) run(cmd *cobra.Command, args []string) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	from, err := o.state.Open(cmd)
	if err != nil {
		return err
	}
	cluster, err := from.NameOf(cmd.Context(), o.cluster)
	if err != nil {
		return err
	}
	objects, err := o.kind.find(cmd.Context(), from, cluster)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if objects, err = o.named(cmd.Context(), from, args[0], objects); err != nil {
			return err
		}
	}
	if len(objects) == 0 && (o.output.Format == flags.FormatTable || o.output.Format == flags.FormatWide) {
		cmd.PrintErrf("There are no %s in the state %s.\n", o.kind.plural, from)
		return nil
	}
	if err := o.print(cmd.OutOrStdout(), objects, len(args) == 1); err != nil {
		return err
	}
	if unknown := withoutStatus(objects); len(unknown) > 0 && from.Kubernetes() == nil &&
		(o.output.Format == flags.FormatTable || o.output.Format == flags.FormatWide) {
		cmd.PrintErrf("Not applied from this state yet, or made by Terraform: %s. To read the state in AWS: aws-operator validate cluster %s\n",
			strings.Join(unknown, ", "), unknown[0])
	}
	return nil
}

// named returns the objects with a name; two clusters may have groups of one name.
func (o *options) named(ctx context.Context, from *state.State, name string, all []client.Object) ([]client.Object, error) {
	if o.kind.singular == kindCluster {
		var err error
		if name, err = from.NameOf(ctx, name); err != nil {
			return nil, err
		}
	}
	var found []client.Object
	for _, object := range all {
		if object.GetName() == name {
			found = append(found, object)
		}
	}
	if len(found) == 0 {
		return nil, &state.NotFoundError{Kind: o.kind.singular, Name: name, State: from.String(), Others: namesOf(all)}
	}
	return found, nil
}

// withoutStatus returns the names of the clusters that have no status.
func withoutStatus(objects []client.Object) []string {
	var names []string
	for _, object := range objects {
		if c, ok := object.(*v1alpha1.Cluster); ok && len(c.Status.Conditions)+len(c.Status.Stacks) == 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

func (o *options) print(out io.Writer, objects []client.Object, one bool) error {
	contents := make([]map[string]any, len(objects))
	table := flags.Table{Columns: o.kind.columns, Wide: o.kind.wide}
	for i, object := range objects {
		var err error
		if contents[i], err = manifest.Content(object); err != nil {
			return err
		}
		table.Rows = append(table.Rows, o.kind.row(object))
		table.Names = append(table.Names, fmt.Sprintf("%s/%s", o.kind.singular, object.GetName()))
	}
	if o.output.Format == flags.FormatYAML {
		text, err := manifest.Write(contents...)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	}
	var data any = map[string]any{"apiVersion": "v1", "kind": "List", "items": contents}
	if one && len(contents) == 1 {
		data = contents[0]
	}
	return o.output.Print(out, data, table)
}
