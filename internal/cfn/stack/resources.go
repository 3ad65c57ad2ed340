package stack

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// PhysicalIDs returns the physical IDs of the resources of a type in a stack, or of all types if it is
// empty; none if no stack has that name.
// Only CloudFormation sets them: unlike an output, the template's author cannot choose them. The
// error is transient or names a missing permission.
func (e *Engine) PhysicalIDs(ctx context.Context, target awsapi.Target, name, of string) ([]string, error) {
	var ids []string
	client := e.options.Clients.CloudFormation(target)
	paginator := cloudformation.NewListStackResourcesPaginator(client, &cloudformation.ListStackResourcesInput{StackName: aws.String(name)})
	for paginator.HasMorePages() {
		page, err := paginator.NextPage(ctx)
		if missing(err) {
			return nil, nil
		}
		if err != nil {
			return nil, awsapi.Explain(err)
		}
		for i := range page.StackResourceSummaries {
			summary := &page.StackResourceSummaries[i]
			if id := aws.ToString(summary.PhysicalResourceId); id != "" && (of == "" || of == aws.ToString(summary.ResourceType)) {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}
