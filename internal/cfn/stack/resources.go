package stack

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// PhysicalIDs returns the physical IDs of the resources in a stack, none if no stack has that name.
// Only CloudFormation sets them: unlike an output, the template's author cannot choose them. The
// error is transient or names a missing permission.
func (e *Engine) PhysicalIDs(ctx context.Context, target awsapi.Target, name string) ([]string, error) {
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
			if id := aws.ToString(page.StackResourceSummaries[i].PhysicalResourceId); id != "" {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}
