// Package stackevents reads the events of CloudFormation stacks.
package stackevents

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/graph"
)

// Last returns the events of the last operation on a stack, by its ARN, in their order. AWS lists the
// newest first, and some have the same time. It returns the errors of AWS.
func Last(ctx context.Context, client awsapi.StackReader, id string) ([]graph.Event, error) {
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
