package graph

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/aws-operator/aws-operator/internal/awsapi"
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
		of, err := eventsOf(ctx, client, id)
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

// eventsOf returns the events of a stack's last operation in their order. AWS lists the newest
// first, and some have the same time.
func eventsOf(ctx context.Context, client awsapi.StackReader, id string) ([]graph.Event, error) {
	var events []graph.Event
	pages := cloudformation.NewDescribeStackEventsPaginator(client, &cloudformation.DescribeStackEventsInput{StackName: &id})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for i := range page.StackEvents {
			e := &page.StackEvents[i]
			events = append(events, graph.Event{
				Stack: aws.ToString(e.StackName), LogicalID: aws.ToString(e.LogicalResourceId), Type: aws.ToString(e.ResourceType),
				Status: string(e.ResourceStatus), Reason: aws.ToString(e.ResourceStatusReason), At: aws.ToTime(e.Timestamp),
			})
			begins := aws.ToString(e.PhysicalResourceId) == id && strings.HasSuffix(string(e.ResourceStatus), "_IN_PROGRESS") &&
				!strings.Contains(string(e.ResourceStatus), "ROLLBACK") && !strings.Contains(string(e.ResourceStatus), "CLEANUP")
			if begins {
				slices.Reverse(events)
				return events, nil
			}
		}
	}
	slices.Reverse(events)
	return events, nil
}
