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

// Names returns which clusters a command is about: the one that args name (cluster NAME), else
// those of the manifests, else all of the state. It returns an error when there is none.
func Names(ctx context.Context, set *manifest.Set, from *state.State, args []string) ([]string, error) {
	names, err := namesOf(ctx, set, from, args)
	if err == nil && len(names) == 0 {
		err = nothing(from)
	}
	return names, err
}

// One plans one cluster: as the state has it, with what the manifests say in its place. Other
// commands show it before they do it. It errs as [plan.Of] does.
func One(ctx context.Context, set *manifest.Set, from *state.State, name string, how plan.Options) (*plan.Plan, error) {
	o := options{plan: how}
	o.plan.NodeupDir = programs.Beside(o.plan.NodeupDir)
	return o.one(ctx, set, from, name, &regions{of: map[string]*awsapi.Clients{}})
}

// Show prints a plan, in color on a terminal.
func Show(out io.Writer, p *plan.Plan) error { return plan.Print(out, p, colours(out)) }
