package plan

import (
	"context"
	"io"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/programs"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/plan"
	"github.com/aws-operator/aws-operator/internal/state"
)

// Names returns the clusters for a command: the one that args name (cluster NAME), else those of
// the manifests, else all of the state. It returns an error if there are none.
func Names(ctx context.Context, set *manifest.Set, from *state.State, args []string) ([]string, error) {
	names, err := namesOf(ctx, set, from, args)
	if err == nil && len(names) == 0 {
		err = nothing(from)
	}
	return names, err
}

// One plans one cluster of the state, with the objects in the manifests in place of its own. Other
// commands show this plan before they apply it. It returns the errors of [plan.Of].
func One(ctx context.Context, set *manifest.Set, from *state.State, name string, how plan.Options) (*plan.Plan, error) {
	o := options{plan: how}
	o.plan.NodeupDir = programs.Beside(o.plan.NodeupDir)
	return o.one(ctx, set, from, name, &regions{of: map[string]*awsapi.Clients{}})
}

// Show prints a plan, in color on a terminal.
func Show(out io.Writer, p *plan.Plan) error { return plan.Print(out, p, colours(out)) }
