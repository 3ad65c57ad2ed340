// Package replace implements the command replace, which writes manifests to the state.
package replace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/admit"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/manifests"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/state"
)

type options struct {
	manifests manifests.Flags
	state     flags.State
}

// Command returns the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "replace -f FILE [-f FILE …]",
		Short: "Write clusters, instance groups and releases to the state",
		Long: `Write Clusters, InstanceGroups and Releases to the state: new objects are created, existing
ones are replaced as a whole. Manifests of kops are translated.

The command validates all objects first; if one is invalid, it changes none. It generates
the keys of a new cluster, unless the state is a management cluster, where the operator
does. It creates nothing in AWS and changes no status: plan shows the changes, update and
apply make them. In a management cluster, the operator starts at once.`,
		Example: `  aws-operator replace -f cluster.yml --state ./state

  # A cluster of kops:
  aws-operator replace -f kops.yml --state s3://acme-clusters/production`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.manifests.Add(cmd)
	o.state.Add(cmd)
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	set, err := o.manifests.Read(cmd)
	if err != nil {
		return err
	}
	if len(set.Manifests) == 0 {
		return errors.New("the files have no manifests: pass those of a Cluster and its InstanceGroups")
	}
	into, err := o.state.Open(cmd)
	if err != nil {
		return err
	}
	changes, err := Into(cmd.Context(), into, set)
	if err != nil {
		return err
	}
	return Report(cmd, into, changes)
}

// Into writes manifests to a state. Errors about an object name the file and line that define it.
func Into(ctx context.Context, into *state.State, set *manifest.Set) ([]state.Change, error) {
	objects := make([]client.Object, len(set.Manifests))
	for i, m := range set.Manifests {
		objects[i] = m.Object
	}
	changes, err := into.Replace(ctx, objects)
	if invalid, ok := errors.AsType[*state.InvalidError](err); ok {
		return nil, placed(invalid, set)
	}
	return changes, err
}

// placed adds the file and line to each problem of an object.
func placed(invalid *state.InvalidError, set *manifest.Set) error {
	var lines []string
	for _, problem := range invalid.Problems {
		i := slices.IndexFunc(set.Manifests, func(m manifest.Manifest) bool {
			return m.Object.GetName() == problem.Object.GetName() && manifest.Kind(m.Object) == manifest.Kind(problem.Object)
		})
		refused := admit.IsRefused(problem.Err)
		switch {
		case i < 0:
			lines = append(lines, problem.Err.Error())
		case refused == nil:
			m := set.Manifests[i]
			lines = append(lines, fmt.Sprintf("%s, document %d, line %d: %v", m.File, m.Document, m.Line, problem.Err))
		default:
			for _, one := range refused.Problems {
				lines = append(lines, set.Manifests[i].Locate(one).Error())
			}
		}
	}
	return fmt.Errorf("%s\nNothing has been changed", strings.Join(lines, "\n"))
}

// Report prints what was done with each object, with notes and warnings.
func Report(cmd *cobra.Command, into *state.State, changes []state.Change) error {
	for _, change := range changes {
		kind, name := manifest.Kind(change.Object), change.Object.GetName()
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s: %s\n", kind, name, change.Action); err != nil {
			return err
		}
		if r, ok := change.Object.(*v1alpha1.Release); ok {
			warnUnbootable(cmd, r)
		}
		c, ok := change.Object.(*v1alpha1.Cluster)
		if ok && !model.UsesEKS(c) && change.Action == state.Created && into.Kubernetes() == nil {
			cmd.PrintErrf(
				"The keys of cluster %s are in %s/%s/secrets. Keep them safe and out of Git: without them, the cluster is unreachable.\n",
				name,
				into,
				name,
			)
		}
	}
	return nil
}

// warnUnbootable reports for which architectures instances cannot boot with a Release.
func warnUnbootable(cmd *cobra.Command, r *v1alpha1.Release) {
	for _, architecture := range slices.Sorted(maps.Keys(r.Spec.Images)) {
		if reasons := release.Unbootable(r, architecture); len(reasons) > 0 {
			cmd.PrintErrf(
				"warning: no %[2]s instance can boot with Release %[1]s: %[3]s; set sha256 in a new Release, since a Release cannot change\n",
				r.Name,
				architecture,
				strings.Join(reasons, ", "),
			)
		}
	}
}
