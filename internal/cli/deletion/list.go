package deletion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cluster/cleanup"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/plural"
	"github.com/aws-operator/aws-operator/internal/state"
)

// resource is an AWS resource that a deletion affects.
type resource struct {
	// Stack is the stack that contains the resource. It is empty if the cluster's controllers
	// created it.
	Stack string `json:"stack,omitempty"`
	// Type is the CloudFormation type.
	Type string `json:"type"`
	// Name is the logical ID in the stack.
	Name string `json:"name,omitempty"`
	// ID is the ID in AWS.
	ID string `json:"id"`
	// Kept is the reason why the deletion keeps the resource. It is empty if it is removed.
	Kept string `json:"kept,omitempty"`
}

// list returns the resources that a deletion removes, followed by those that it keeps.
func list(ctx context.Context, clients *awsapi.Clients, objects *state.Objects) ([]resource, error) {
	cluster := objects.Cluster
	target := live.TargetOf(clients, cluster)
	all := []resource{}
	for _, status := range stacks(objects) {
		found, err := inStack(ctx, clients.CloudFormation(target), status)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	cleaner := cleanup.New(clients, operator.DefaultClusterName, clock.RealClock{}, logr.Discard())
	beside, err := cleaner.List(ctx, cluster, target)
	if err != nil {
		return nil, fmt.Errorf("list the AWS resources that the cluster's controllers created: %w", err)
	}
	for _, one := range beside {
		if !slices.ContainsFunc(all, func(r resource) bool { return r.ID == one.ID }) {
			all = append(all, resource{Type: one.Type, ID: one.ID, Kept: one.Kept})
		}
	}
	all = append(all, existing(cluster)...)
	slices.SortStableFunc(all, func(a, b resource) int { return cmp.Compare(min(len(a.Kept), 1), min(len(b.Kept), 1)) })
	return all, nil
}

// stacks returns the stacks in the status of the objects, in the order of their deletion.
func stacks(objects *state.Objects) []v1alpha1.StackStatus {
	var all []v1alpha1.StackStatus
	for _, group := range objects.Groups {
		if group.Status.Stack != nil {
			all = append(all, *group.Status.Stack)
		}
	}
	own := slices.Clone(objects.Cluster.Status.Stacks)
	slices.Reverse(own)
	return append(all, own...)
}

// inStack lists the resources of a stack, the stack itself last. It returns none if the stack does
// not exist.
func inStack(ctx context.Context, client awsapi.CloudFormation, status v1alpha1.StackStatus) ([]resource, error) {
	known, err := record.Decode(&status)
	if err != nil { // Its cause does not name the stack again.
		return nil, fmt.Errorf("read the status of stack %s: %w", status.Name, errors.Unwrap(err))
	}
	if known.StackID == "" {
		return nil, nil
	}
	if !stack.Names(known.StackID, status.Name) { // A status can name any stack; the operator touches none but its own, either.
		return nil, fmt.Errorf("the status names %s as the stack %s: remove its entry for that stack", known.StackID, status.Name)
	}
	var found []resource
	pages := cloudformation.NewListStackResourcesPaginator(client, &cloudformation.ListStackResourcesInput{StackName: &known.StackID})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil && awsapi.Code(err) == "ValidationError" && strings.Contains(awsapi.AWSMessage(err), "does not exist") {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list the resources of stack %s: %w", status.Name, awsapi.Explain(err))
		}
		for i := range page.StackResourceSummaries {
			one := &page.StackResourceSummaries[i]
			if one.ResourceStatus == types.ResourceStatusDeleteComplete {
				continue
			}
			found = append(found, resource{
				Stack: status.Name, Type: aws.ToString(one.ResourceType), Name: aws.ToString(one.LogicalResourceId),
				ID: aws.ToString(one.PhysicalResourceId),
			})
		}
	}
	slices.Reverse(found)
	return append(found, resource{Stack: status.Name, Type: "AWS::CloudFormation::Stack", Name: status.Name, ID: known.StackID}), nil
}

// existing returns the resources that the cluster uses but does not own.
func existing(cluster *v1alpha1.Cluster) []resource {
	const kept = "it existed before the cluster; only the cluster's tags are removed"
	var all []resource
	if id := cluster.Spec.Network.VPC; id != "" {
		all = append(all, resource{Type: "AWS::EC2::VPC", ID: id, Kept: kept})
	}
	for _, subnet := range cluster.Spec.Network.Subnets {
		all = append(all, resource{Type: "AWS::EC2::Subnet", ID: subnet.ID, Kept: kept})
	}
	return all
}

// tableOf formats resources as a table. It has a column for the reasons only if a resource is kept.
func tableOf(found []resource) flags.Table {
	table := flags.Table{Columns: []string{"ACTION", "TYPE", "NAME", "STACK", "ID", "WHY"}}
	if !slices.ContainsFunc(found, func(r resource) bool { return r.Kept != "" }) {
		table.Columns = slices.Delete(table.Columns, len(table.Columns)-1, len(table.Columns))
	}
	for _, one := range found {
		action := "remove"
		if one.Kept != "" {
			action = "keep"
		}
		table.Rows = append(
			table.Rows, []string{action, one.Type, cmp.Or(one.Name, "-"), cmp.Or(one.Stack, "-"), cmp.Or(short(one.ID), "-"), one.Kept},
		)
		if one.Kept == "" {
			table.Names = append(table.Names, one.Type+"/"+one.ID)
		}
	}
	return table
}

// total counts the resources of the table.
func total(found []resource) string {
	kept := 0
	for _, one := range found {
		kept += min(len(one.Kept), 1)
	}
	return fmt.Sprintf("%s to remove, %d to keep.", plural.Count(len(found)-kept, "resource"), kept)
}

// short returns an ID without the part that all ARNs of the cluster share, since lines would be too
// wide for a screen: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
func short(id string) string {
	const beforeResource = 5
	if parts := strings.SplitN(id, ":", beforeResource+1); parts[0] == "arn" && len(parts) > beforeResource {
		return parts[beforeResource]
	}
	return id
}
