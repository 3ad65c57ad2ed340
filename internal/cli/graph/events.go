package graph

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/internal/stackevents"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/graph"
	"github.com/aws-operator/aws-operator/internal/plan"
)

// timeline reads the events of the last operation on each of the cluster's stacks.
func timeline(ctx context.Context, clients *awsapi.Clients, in *plan.Input) (*graph.Timeline, error) {
	var ids []string
	all := in.Cluster.Status.Stacks
	for _, g := range in.Groups {
		if g.Status.Stack != nil {
			all = append(all, *g.Status.Stack)
		}
	}
	for i := range all {
		known, err := record.Decode(&all[i])
		if err != nil {
			return nil, err
		}
		if known.StackID != "" {
			ids = append(ids, known.StackID)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("cluster %s has no stacks yet", in.Cluster.Name)
	}
	client := clients.CloudFormation(live.TargetOf(clients, in.Cluster))
	var events []graph.Event
	for _, id := range ids {
		of, err := stackevents.Last(ctx, client, id)
		if err != nil {
			return nil, fmt.Errorf("read the events of stack %s: %w", nameOf(id), awsapi.Explain(err))
		}
		events = append(events, of...)
	}
	return graph.LastOperation(in.Cluster.Name, events), nil
}

// nameOf returns the name in a stack's ARN.
func nameOf(id string) string {
	const parts = 3 // arn:…:stack/NAME/ID
	if fields := strings.Split(id, "/"); len(fields) == parts {
		return fields[1]
	}
	return id
}
