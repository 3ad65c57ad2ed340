package plan

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/cluster/programs"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/plan"
	"github.com/aws-operator/aws-operator/internal/state"
)

// plans returns the plan of the named cluster, of all clusters of the files if there are any, or
// else of all of the state.
func (o *options) plans(cmd *cobra.Command, args []string) ([]*plan.Plan, error) {
	set := &manifest.Set{}
	var err error
	if o.plan.Prices, err = o.prices.List(); err != nil {
		return nil, err
	}
	if o.manifests.Given() {
		if set, err = o.manifests.Read(cmd); err != nil {
			return nil, err
		}
		leaveOut(cmd, set)
	}
	from, err := o.state.Open(cmd)
	if err != nil {
		return nil, err
	}
	names, err := namesOf(cmd.Context(), set, from, args)
	if err != nil {
		return nil, err
	}
	services := plan.Services{}
	if len(args) == 0 {
		if services, err = plan.ReadServices(cmd.Context(), set, from); err != nil {
			return nil, err
		}
	}
	if len(names)+len(services.Objects) == 0 {
		return nil, nothing(from)
	}
	o.plan.NodeupDir = programs.Beside(o.plan.NodeupDir)
	plans, err := o.clusters(cmd.Context(), set, from, names)
	if err != nil {
		return nil, err
	}
	if len(services.Objects) == 0 {
		return plans, nil
	}
	p, err := o.services(cmd.Context(), services)
	return append(plans, p), err
}

// leaveOut reports the objects that are not planned because the operator does not manage their
// kind, such as a Deployment next to its queue.
func leaveOut(cmd *cobra.Command, set *manifest.Set) {
	for _, other := range manifest.Objects[*unstructured.Unstructured](set) {
		cmd.PrintErrf(
			"Not planned, since the operator does not manage this kind: %s %s (%s).\n",
			other.GetKind(),
			other.GetName(),
			other.GetAPIVersion(),
		)
	}
}

// atOnce is how many clusters are planned in parallel: rendering needs the CPU, and AWS calls wait.
const atOnce = 8

// clusters plans clusters, in the order of their names. It returns the error of the first that
// cannot be planned.
func (o *options) clusters(ctx context.Context, set *manifest.Set, from *state.State, names []string) ([]*plan.Plan, error) {
	regions := &regions{of: map[string]*awsapi.Clients{}}
	plans, errs := make([]*plan.Plan, len(names)), make([]error, len(names))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			plans[i], errs[i] = o.one(ctx, set, from, name, regions)
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return plans, nil
}

// regions caches the AWS clients of each region.
type regions struct {
	mu sync.Mutex
	of map[string]*awsapi.Clients
}

func (r *regions) clients(ctx context.Context, region string) (*awsapi.Clients, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[region] == nil {
		made, err := clientsOf(ctx, region)
		if err != nil {
			return nil, err
		}
		r.of[region] = made
	}
	return r.of[region], nil
}

// nothing returns the error for input without clusters.
func nothing(from *state.State) error {
	return fmt.Errorf("no cluster to plan in the files or in the state %s; name a file with -f, or another state with --state", from)
}

// namesOf returns the names of the clusters to plan, possibly none.
func namesOf(ctx context.Context, set *manifest.Set, from *state.State, args []string) ([]string, error) {
	clusters := manifest.Objects[*v1alpha1.Cluster](set)
	if len(args) > 0 {
		name, err := from.NameOf(ctx, args[1], clusters...)
		if err != nil {
			return nil, err
		}
		return []string{name}, nil
	}
	var names []string
	for _, c := range clusters {
		names = append(names, c.Name)
	}
	for _, g := range manifest.Objects[*v1alpha1.InstanceGroup](set) {
		names = append(names, g.Spec.Cluster)
	}
	if len(set.Manifests) == 0 {
		var err error
		if names, err = from.Clusters(ctx); err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// one plans one cluster.
func (o *options) one(ctx context.Context, set *manifest.Set, from *state.State, name string, regions *regions) (*plan.Plan, error) {
	in, err := plan.Read(ctx, set, from, name)
	if err != nil {
		return nil, err
	}
	made := o.plan
	made.NoOperator = from.Kubernetes() == nil
	if made.Clients, err = regions.clients(ctx, in.Cluster.Spec.Region); err != nil {
		return nil, err
	}
	return plan.Of(ctx, in, made)
}

// services plans services, in the region of the flags or that of the configuration.
func (o *options) services(ctx context.Context, of plan.Services) (*plan.Plan, error) {
	clients, err := clientsOf(ctx, o.region)
	if err != nil {
		return nil, err
	}
	made := o.plan
	made.Clients = clients
	return plan.OfServices(ctx, of, made)
}

func clientsOf(ctx context.Context, region string) (*awsapi.Clients, error) {
	return awsapi.New(ctx, awsapi.Options{Region: region, UserAgent: "aws-operator/" + version.String()})
}
