package graph

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/graph"
	"github.com/aws-operator/aws-operator/internal/plan"
	"github.com/aws-operator/aws-operator/internal/state"
)

// topology draws where the cluster runs: as AWS and its API report it, or, if they cannot be read,
// as planned.
func (o *options) topology(cmd *cobra.Command, from *state.State, in *plan.Input) (string, error) {
	klog.SetLogger(logr.Discard()) // client-go's log about closed connections is not for users.
	seen, unread := observe(cmd.Context(), from, in)
	if err := cmd.Context().Err(); err != nil {
		return "", err
	}
	cluster, groups, err := o.resolve(cmd.Context(), in)
	if err != nil {
		return "", err
	}
	drawn := graph.TopologyOf(cluster, groups, seen)
	if unread != "" {
		drawn.Notes = append(drawn.Notes, "This is what the definition plans. "+unread)
	}
	if o.format == formatSVG {
		return drawn.SVG(), nil
	}
	return drawn.Text(), nil
}

// observe reads the cluster from AWS and its API. If it cannot, it returns the reason as a
// sentence.
func observe(ctx context.Context, from *state.State, in *plan.Input) (*live.Observation, string) {
	objects, err := from.Load(ctx, in.Cluster.Name)
	if _, missing := errors.AsType[*state.NotFoundError](err); missing {
		return nil, "AWS was not read, since the state does not have the cluster."
	}
	notRead := func(err error) string {
		return fmt.Sprintf("AWS was not read: %s.", strings.TrimSuffix(err.Error(), "."))
	}
	if err != nil {
		return nil, notRead(err)
	}
	clients, err := connect(ctx, in)
	if err != nil {
		return nil, notRead(err)
	}
	options := live.Options{Clients: clients, Cluster: in.Cluster, Groups: in.Groups, Secrets: objects.Secrets}
	session := live.Open(options) //nolint:contextcheck // it ends with Close
	defer session.Close()
	seen, err := session.Observe(ctx)
	if err != nil {
		return nil, notRead(err)
	}
	return seen, ""
}

// resolve resolves the cluster. It reads an existing VPC from AWS if it can.
func (o *options) resolve(ctx context.Context, in *plan.Input) (*model.Cluster, []*model.Group, error) {
	options := o.plan
	if in.Cluster.Spec.Network.VPC != "" {
		if clients, err := connect(ctx, in); err == nil {
			options.Clients = clients
			if cluster, groups, err := plan.Resolve(ctx, *in, options); err == nil {
				return cluster, groups, nil
			}
		}
		options.Clients = nil
	}
	return plan.Resolve(ctx, *in, options)
}
