// Package upgrade implements the command upgrade, which moves clusters to another Release.
package upgrade

import (
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/internal/converge"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	planverb "github.com/aws-operator/aws-operator/internal/cli/plan"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/inprocess"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/plan"
	"github.com/aws-operator/aws-operator/internal/state"
)

// Command returns the command.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Move clusters to another release",
	}
	cmd.AddCommand(clusterCommand())
	return cmd
}

type options struct {
	state   flags.State
	confirm flags.Confirm
	bring   converge.Flags
	prices  flags.Prices

	release string
}

func clusterCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "cluster NAME [--release RELEASE]",
		Short: "Show the releases that a cluster can move to, and with --yes move it",
		Long: `Show the releases that a cluster can move to next, and what would happen if it moved to
--release, or to the newest of them. With --yes, set spec.release, apply the change and wait
until the cluster is ready: first the control plane, one node at a time, then the workers.

Kubernetes allows upgrades by one minor version at a time, and no downgrades to an earlier
one. After an interruption, the same command, or apply, continues.`,
		Example: `  aws-operator upgrade cluster demo
  aws-operator upgrade cluster demo --release v1.36.3 --yes`,
		Args:              usage.Name("cluster"),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
		ValidArgsFunction: o.state.CompleteCluster,
	}
	o.state.Add(cmd)
	o.confirm.Add(cmd)
	o.bring.Add(cmd)
	o.prices.Add(cmd)
	cmd.Flags().StringVar(&o.release, "release", "", "the Release to move to (default: the newest that the cluster can move to)")
	_ = cmd.RegisterFlagCompletionFunc("release", o.state.CompleteRelease)
	return cmd
}

func (o *options) run(cmd *cobra.Command, name string) error {
	ctx := cmd.Context()
	in, name, err := o.state.OpenCluster(cmd, name)
	if err != nil {
		return err
	}
	objects, err := in.Load(ctx, name)
	if err != nil {
		return err
	}
	all, err := release.All(objects.Releases...)
	if err != nil {
		return err
	}
	next, err := nextOf(objects, all)
	if err != nil {
		return err
	}
	to, err := choose(objects, next, all, o.release)
	if err != nil {
		return err
	}
	if err := show(cmd.OutOrStdout(), objects.Cluster, next, to); err != nil {
		return err
	}
	if to == nil { // The cluster runs the newest release.
		return nil
	}
	moved := definition(objects.Cluster)
	moved.Spec.Release = to.Name
	set := &manifest.Set{Manifests: []manifest.Manifest{{Object: moved}}}
	prices, err := o.prices.List()
	if err != nil {
		return err
	}
	p, err := planverb.One(ctx, set, in, name, plan.Options{
		NodeupDir: o.bring.NodeupDir, Operator: operator.DefaultClusterName, Prices: prices,
	})
	if err != nil {
		return err
	}
	if err := planverb.Show(cmd.OutOrStdout(), p); err != nil {
		return err
	}
	if !o.confirm.Yes {
		cmd.PrintErrf("Nothing has been changed. To move cluster %s to %s, add --release %s --yes.\n", name, to.Name, to.Name)
		return nil
	}
	return o.move(cmd, in, moved)
}

// definition returns a Cluster without its status, as in a manifest.
func definition(of *v1alpha1.Cluster) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Name: of.Name, Namespace: of.Namespace, Labels: of.Labels, Annotations: of.Annotations},
		Spec:       *of.Spec.DeepCopy(),
	}
}

// move writes the new release and waits until the cluster runs it.
func (o *options) move(cmd *cobra.Command, in *state.State, moved *v1alpha1.Cluster) error {
	if _, err := in.Replace(cmd.Context(), []client.Object{moved}); err != nil {
		return err
	}
	key := types.NamespacedName{Namespace: moved.Namespace, Name: moved.Name}
	if err := o.bring.To(cmd, in, key, inprocess.Ready); err != nil {
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "Cluster %s runs release %s.\n", moved.Name, moved.Spec.Release)
	return err
}
