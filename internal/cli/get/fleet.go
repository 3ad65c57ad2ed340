package get

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cluster/fleet"
	"github.com/aws-operator/aws-operator/internal/state"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// fleetOptions are the options of get fleets.
type fleetOptions struct {
	state  flags.State
	output flags.Output
}

// fleetView is what get fleets prints of one fleet as JSON and YAML.
type fleetView struct {
	Namespace string             `json:"namespace"`
	Name      string             `json:"name"`
	Revision  string             `json:"revision"`
	Reason    fleet.Reason       `json:"reason"`
	Wave      string             `json:"wave,omitempty"`
	Message   string             `json:"message"`
	Clusters  []fleetClusterView `json:"clusters"`
}

// fleetClusterView is a Cluster of a Fleet.
type fleetClusterView struct {
	Name string `json:"name"`
	Wave string `json:"wave"`
	// Release is the one that the control plane runs.
	Release    string                     `json:"release,omitempty"`
	State      v1alpha1.FleetClusterState `json:"state"`
	Overridden []string                   `json:"overridden,omitempty"`
	Message    string                     `json:"message,omitempty"`
}

// fleetCommand returns the command get fleets.
func fleetCommand() *cobra.Command {
	o := fleetOptions{}
	cmd := &cobra.Command{
		Use:     "fleets [NAME]",
		Aliases: []string{"fleet"},
		Short:   "Show fleets, or the clusters of one",
		Long: `Show the Fleets of a management cluster, or every cluster of one Fleet with its wave, its release and its state in
the rollout. The states are those of the moment, computed as the operator does.`,
		Example: `  aws-operator get fleets --state k8s
  aws-operator get fleet production --state k8s -o json`,
		Args: usage.OptionalName,
		RunE: o.run,
	}
	o.state.Add(cmd)
	o.output.Add(cmd, flags.FormatTable, flags.FormatJSON, flags.FormatYAML)
	cmd.ValidArgsFunction = o.state.Complete(func(ctx context.Context, from *state.State) ([]string, error) {
		if from.Kubernetes() == nil {
			return nil, nil
		}
		var list v1alpha1.FleetList
		if err := from.Kubernetes().List(ctx, &list, client.InNamespace(from.Namespace())); err != nil {
			return nil, fmt.Errorf("list fleets: %w", err)
		}
		names := make([]string, len(list.Items))
		for i := range list.Items {
			names[i] = list.Items[i].Name
		}
		return names, nil
	})
	return cmd
}

func (o *fleetOptions) run(cmd *cobra.Command, args []string) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	from, err := o.state.Open(cmd)
	if err != nil {
		return err
	}
	if from.Kubernetes() == nil {
		return fmt.Errorf("the state %s has no fleets: only an operator rolls them out, so name a management cluster with --state k8s", from)
	}
	if len(args) == 0 {
		return o.list(cmd, from)
	}
	key := client.ObjectKey{Namespace: from.Namespace(), Name: args[0]}
	shown, err := viewFleet(cmd.Context(), from.Kubernetes(), key, clock.RealClock{}.Now())
	if err != nil {
		return err
	}
	table := flags.Table{Columns: []string{"CLUSTER", "WAVE", "RELEASE", "STATE", "MESSAGE"}}
	for _, one := range shown.Clusters {
		message := one.Message
		if len(one.Overridden) > 0 {
			message = strings.TrimSpace("Overridden: " + strings.Join(one.Overridden, ", ") + ". " + message)
		}
		message = strings.Join(strings.Fields(message), " ")
		table.Rows = append(table.Rows, []string{one.Name, one.Wave, dash(one.Release), string(one.State), message})
	}
	if err := o.output.Print(cmd.OutOrStdout(), shown, table); err != nil {
		return err
	}
	if o.output.Format == flags.FormatTable {
		cmd.PrintErrln(shown.Message)
	}
	return nil
}

// list shows all fleets of the namespace.
func (o *fleetOptions) list(cmd *cobra.Command, from *state.State) error {
	var list v1alpha1.FleetList
	if err := from.Kubernetes().List(cmd.Context(), &list, client.InNamespace(from.Namespace())); err != nil {
		return fmt.Errorf("list fleets: %w", err)
	}
	if len(list.Items) == 0 && o.output.Format == flags.FormatTable {
		cmd.PrintErrf("There are no fleets in namespace %s.\n", from.Namespace())
		return nil
	}
	contents := make([]map[string]any, len(list.Items))
	table := flags.Table{Columns: []string{"NAME", "RELEASE", "UPDATED", "FAILED", "WAVE", "READY", "REASON"}}
	for i := range list.Items {
		f := &list.Items[i]
		var err error
		if contents[i], err = runtime.DefaultUnstructuredConverter.ToUnstructured(f); err != nil {
			return fmt.Errorf("encode Fleet %s: %w", f.Name, err)
		}
		ready, reason := readiness(f.DeletionTimestamp, f.Status.Conditions)
		table.Rows = append(table.Rows, []string{
			f.Name, dash(f.Spec.Template.Release), dash(f.Status.Clusters.Summary), strconv.Itoa(int(f.Status.Clusters.Failed)),
			dash(f.Status.Wave), ready, reason,
		})
	}
	return o.output.Print(cmd.OutOrStdout(), map[string]any{"apiVersion": "v1", "kind": "List", "items": contents}, table)
}

// viewFleet reads a Fleet with its Clusters.
func viewFleet(ctx context.Context, reader client.Reader, key client.ObjectKey, now time.Time) (*fleetView, error) {
	f := &v1alpha1.Fleet{}
	if err := reader.Get(ctx, key, f); apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no Fleet %s in namespace %s: kubectl get fleets shows those that exist", key.Name, key.Namespace)
	} else if err != nil {
		return nil, fmt.Errorf("read Fleet %s: %w", key.Name, err)
	}
	selector, err := metav1.LabelSelectorAsSelector(&f.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("read spec.selector: %w", err)
	}
	var clusters v1alpha1.ClusterList
	var groups v1alpha1.InstanceGroupList
	if err := errors.Join(
		reader.List(ctx, &clusters, client.InNamespace(key.Namespace), client.MatchingLabelsSelector{Selector: selector}),
		reader.List(ctx, &groups, client.InNamespace(key.Namespace)),
	); err != nil {
		return nil, fmt.Errorf("read the Clusters of Fleet %s: %w", key.Name, err)
	}
	return view(f, clusters.Items, groups.Items, now)
}

// view decides about a Fleet as its controller does, and changes nothing.
func view(f *v1alpha1.Fleet, clusters []v1alpha1.Cluster, groups []v1alpha1.InstanceGroup, now time.Time) (*fleetView, error) {
	waves, err := fleet.Waves(&f.Spec.Rollout)
	if err != nil {
		return nil, fmt.Errorf("read spec.rollout.waves: %w", err)
	}
	template, err := fleet.NewTemplate(&f.Spec.Template)
	if err != nil {
		return nil, fmt.Errorf("read spec.template: %w", err)
	}
	of := map[string][]*v1alpha1.InstanceGroup{}
	for i := range groups {
		of[groups[i].Spec.Cluster] = append(of[groups[i].Spec.Cluster], &groups[i])
	}
	in := fleet.Input{Now: now, Revision: template.Revision, Rollout: &f.Spec.Rollout, Waves: waves, Last: &f.Status}
	labeled, releases := []fleet.Labeled{}, []string{}
	for i := range clusters {
		c := &clusters[i]
		if !c.DeletionTimestamp.IsZero() {
			continue
		}
		compared, err := template.CompareAll(c, of[c.Name], fleet.Manager(f.Name))
		if err != nil {
			return nil, fmt.Errorf("compare Cluster %s with the template: %w", c.Name, err)
		}
		paused := c.Spec.Paused || operatorkit.HasPausedAnnotation(c, v1alpha1.PausedAnnotation)
		in.Clusters = append(in.Clusters, fleet.NewCluster(c, of[c.Name], compared, paused))
		labeled, releases = append(labeled, fleet.Labeled{UID: c.UID, Labels: c.Labels}), append(releases, c.Status.Release)
	}
	for i, wave := range fleet.Assign(waves, labeled) {
		in.Clusters[i].Wave = wave
	}
	plan := fleet.Decide(in)
	shown := &fleetView{
		Namespace: f.Namespace, Name: f.Name, Revision: template.Revision,
		Reason: plan.Reason, Wave: plan.Status.Wave, Message: plan.Message,
	}
	for i := range plan.Members {
		m := &plan.Members[i]
		shown.Clusters = append(shown.Clusters, fleetClusterView{
			Name: m.Name, Wave: waves[m.Wave].Name, Release: releases[i], State: m.State, Overridden: m.Overridden, Message: m.Why,
		})
	}
	return shown, nil
}
