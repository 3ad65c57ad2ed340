// Package status implements the command status, which shows all objects of the operator in a
// management cluster, whatever their kinds, with what each of them waits for.
package status

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/objects"
	"github.com/aws-operator/aws-operator/internal/cli/internal/progress"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
)

type options struct {
	namespace  string
	everywhere bool
	watch      bool
	output     flags.Output
}

// Command returns the command.
func Command() *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the status of all objects in a management cluster",
		Long: `Show the clusters, instance groups, services and AWSIdentities of the management cluster of the
current kubeconfig in one table, with what each of them waits for.

With --watch, the table is updated in place until Ctrl-C, and objects that are not ready come
first. If the output is not a terminal, --watch prints one line for each change.`,
		Example: `  aws-operator status
  aws-operator status --watch

  # All namespaces, for a program:
  aws-operator status -A -o json`,
		Args: usage.None,
		RunE: o.run,
	}
	set := cmd.Flags()
	set.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the objects (default: the namespace of the kubeconfig's context)")
	set.BoolVarP(&o.everywhere, "all-namespaces", "A", false, "show the objects of all namespaces")
	set.BoolVarP(&o.watch, "watch", "w", false, "update the table until Ctrl-C")
	o.output.Add(cmd, flags.FormatTable, flags.FormatJSON, flags.FormatYAML)
	cmd.MarkFlagsMutuallyExclusive("namespace", "all-namespaces")
	cmd.MarkFlagsMutuallyExclusive("watch", "output")
	return cmd
}

func (o *options) run(cmd *cobra.Command, _ []string) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	from, err := objects.Connect(o.namespace, o.everywhere)
	if err != nil {
		return err
	}
	if o.watch {
		return follow(cmd.Context(), from, cmd.OutOrStdout(), clock.RealClock{})
	}
	found, hidden, err := from.List(cmd.Context())
	if err != nil {
		return err
	}
	if len(hidden) > 0 {
		cmd.PrintErrf("Not shown, because you lack the permission to list them: %s.\n", strings.Join(hidden, ", "))
	}
	if len(found) == 0 && o.output.Format == flags.FormatTable {
		cmd.PrintErrf("There are no objects of the operator in %s.\n", from)
		return nil
	}
	return o.print(cmd.OutOrStdout(), found, clock.RealClock{}.Now())
}

// print prints the objects as a table, or as a Kubernetes list.
func (o *options) print(out io.Writer, found []unstructured.Unstructured, now time.Time) error {
	table := flags.Table{Columns: []string{"OBJECT", "READY", "REASON", "AGE", "MESSAGE"}}
	if o.everywhere {
		table.Columns = append([]string{"NAMESPACE"}, table.Columns...)
	}
	list := make([]any, len(found))
	for i := range found {
		list[i] = found[i].Object
		row := rowOf(&found[i], now)
		if o.everywhere {
			row = append([]string{found[i].GetNamespace()}, row...)
		}
		table.Rows = append(table.Rows, row)
	}
	return o.output.Print(out, map[string]any{"apiVersion": "v1", "kind": "List", "items": list}, table)
}

func rowOf(object *unstructured.Unstructured, now time.Time) []string {
	ready, reason := "Unknown", "-"
	if condition := progress.Condition(object); condition != nil {
		reason = condition.Reason
	}
	item := progress.Object(nameOf(object), object)
	switch item.Mark {
	case progress.Done:
		ready = "True"
	case progress.Working, progress.Troubled:
		ready = "False"
	case progress.Waiting:
	}
	age := duration.HumanDuration(now.Sub(object.GetCreationTimestamp().Time))
	return []string{item.Name, ready, reason, age, strings.Join(strings.Fields(item.Text), " ")}
}

// nameOf returns the kind and name of an object.
func nameOf(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}

// itemName returns the kind and name of an object, with its namespace if there are several.
func itemName(object *unstructured.Unstructured, everywhere bool) string {
	if everywhere && object.GetNamespace() != "" {
		return fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
	}
	return nameOf(object)
}

// follow shows the objects until the context ends.
func follow(ctx context.Context, from *objects.Source, out io.Writer, clk clock.WithTicker) error {
	printer := progress.New(out, clk)
	defer printer.Close()
	var before []progress.Item
	err := from.Watch(ctx, func(found []unstructured.Unstructured, _ []string) {
		items := make([]progress.Item, len(found))
		for i := range found {
			items[i] = progress.Object(itemName(&found[i], from.Everywhere()), &found[i])
		}
		slices.SortStableFunc(items, func(a, b progress.Item) int { return urgency(a.Mark) - urgency(b.Mark) })
		var above []string
		if before == nil && len(items) == 0 {
			above = append(above, fmt.Sprintf("There are no objects of the operator in %s yet.\n", from))
		}
		for _, item := range before {
			if !slices.ContainsFunc(items, func(i progress.Item) bool { return i.Name == item.Name }) {
				above = append(above, progress.Line(clk.Now(), item.Name, "was deleted"))
			}
		}
		printer.Show(clk.Now(), items, above...)
		before = items
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// urgency orders marks: what needs attention comes first.
func urgency(mark progress.Mark) int {
	return slices.Index([]progress.Mark{progress.Troubled, progress.Working, progress.Waiting, progress.Done}, mark)
}
