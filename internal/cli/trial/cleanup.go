package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// lingers is how long AWS may list what is deleted, because it is eventually consistent.
const lingers = 2 * time.Minute

// cleanUp deletes the cluster, the snapshots and the stack of a trial, and lists what is left with the
// trial's tag. It returns an error if the stack is not a trial's or AWS refuses to delete something;
// what else can be deleted is deleted, too.
func (r *runner) cleanUp(ctx context.Context) error {
	var failed []error
	for _, remove := range []func(context.Context) error{r.deleteCluster, r.deleteSnapshots, r.deleteStack} {
		if err := remove(ctx); err != nil {
			if ctx.Err() != nil {
				return err
			}
			failed = append(failed, err)
		}
	}
	deadline := r.clock.Now().Add(lingers)
	for {
		var err error
		r.left, err = r.listLeft(ctx)
		if err != nil || len(r.left) == 0 || len(failed) > 0 || r.clock.Now().After(deadline) {
			return errors.Join(append(failed, err)...)
		}
		if err := r.pause(ctx); err != nil {
			return err
		}
	}
}

// deleteStack deletes the stack of a trial, if there is one.
func (r *runner) deleteStack(ctx context.Context) error {
	stack, err := r.stack(ctx, stackName)
	if err != nil || stack == nil {
		return err
	}
	return r.delete(ctx, stack)
}

// delete deletes the stack of a trial.
func (r *runner) delete(ctx context.Context, stack *types.Stack) error {
	if own, err := r.created(ctx, stack); err != nil || !own {
		return cmp.Or(err, fmt.Errorf("stack %s has no tag %s, so no trial created it: delete it", stackName, tagName))
	}
	id := aws.ToString(stack.StackId)
	if !r.began {
		r.say("Deleting stack %s, which an earlier trial left …", stackName)
	}
	settled, err := r.settled(ctx, id)
	if err != nil {
		return err
	}
	if settled.StackStatus != types.StackStatusDeleteComplete {
		if settled, err = r.deleteSettled(ctx, settled); err != nil {
			return err
		}
	}
	if settled.StackStatus != types.StackStatusDeleteComplete {
		return fmt.Errorf("stack %s cannot be deleted: it is %s (%s)", stackName, settled.StackStatus, aws.ToString(settled.StackStatusReason))
	}
	r.deleted = append(r.deleted, id)
	return nil
}

// deleteSettled deletes a stack without an operation in progress, and returns it as it is afterwards.
func (r *runner) deleteSettled(ctx context.Context, stack *types.Stack) (*types.Stack, error) {
	id := aws.ToString(stack.StackId)
	if aws.ToBool(stack.EnableTerminationProtection) {
		if err := r.unprotect(ctx, id); err != nil {
			return nil, err
		}
	}
	if err := r.empty(ctx, id); err != nil {
		return nil, err
	}
	if _, err := r.cloudformation().DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &id}); err != nil {
		return nil, err
	}
	return r.ended(ctx, stack)
}

// created reports whether a trial created a stack. A stack whose first change set was not executed
// may lack the tags, which its change set then has.
func (r *runner) created(ctx context.Context, stack *types.Stack) (bool, error) {
	tags := stack.Tags
	if stack.StackStatus == types.StackStatusReviewInProgress {
		out, err := r.cloudformation().DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{
			StackName: stack.StackId, ChangeSetName: aws.String(stackName),
		})
		if awsapi.Code(err) == "ChangeSetNotFound" {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		tags = out.Tags
	}
	return isTagged(tags), nil
}

func isTagged(tags []types.Tag) bool {
	return slices.ContainsFunc(tags, func(tag types.Tag) bool { return aws.ToString(tag.Key) == tagName })
}

func (r *runner) unprotect(ctx context.Context, id string) error {
	_, err := r.cloudformation().UpdateTerminationProtection(ctx, &cloudformation.UpdateTerminationProtectionInput{
		StackName: &id, EnableTerminationProtection: aws.Bool(false),
	})
	return err
}

// resources returns the resources of a stack.
func (r *runner) resources(ctx context.Context, id string) (all []types.StackResourceSummary, err error) {
	pages := cloudformation.NewListStackResourcesPaginator(r.cloudformation(), &cloudformation.ListStackResourcesInput{StackName: &id})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, page.StackResourceSummaries...)
	}
	return all, nil
}

// empty deletes the objects in the bucket of a stack.
func (r *runner) empty(ctx context.Context, id string) error {
	resources, err := r.resources(ctx, id)
	if err != nil {
		return err
	}
	api := r.clients.S3(awsapi.Target{})
	for i := range resources {
		bucket := resources[i].PhysicalResourceId
		if aws.ToString(resources[i].ResourceType) != "AWS::S3::Bucket" || aws.ToString(bucket) == "" ||
			resources[i].ResourceStatus == types.ResourceStatusDeleteComplete {
			continue
		}
		found, err := api.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: bucket})
		if awsapi.Code(err) == "NoSuchBucket" {
			continue
		}
		if err != nil {
			return err
		}
		var objects []s3types.ObjectIdentifier
		for j := range found.Versions {
			objects = append(objects, s3types.ObjectIdentifier{Key: found.Versions[j].Key, VersionId: found.Versions[j].VersionId})
		}
		if len(objects) == 0 {
			continue
		}
		if _, err := api.DeleteObjects(ctx, &s3.DeleteObjectsInput{
			Bucket: bucket, Delete: &s3types.Delete{Objects: objects},
		}); err != nil {
			return err
		}
	}
	return nil
}

// listLeft lists what has the trial's tag: stacks, EC2's resources, Auto Scaling groups and load
// balancers; and the resources of deleted stacks that CloudFormation did not delete.
func (r *runner) listLeft(ctx context.Context) (left []string, err error) {
	for _, list := range []func(context.Context) ([]string, error){r.stacks, r.undeleted, r.tagged, r.groups, r.balancers} {
		some, err := list(ctx)
		if err != nil {
			return nil, err
		}
		left = append(left, some...)
	}
	return left, nil
}

// stacks lists the stacks of trials.
func (r *runner) stacks(ctx context.Context) (left []string, err error) {
	pages := cloudformation.NewDescribeStacksPaginator(r.cloudformation(), &cloudformation.DescribeStacksInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for i := range page.Stacks {
			if name := aws.ToString(page.Stacks[i].StackName); name == stackName || isTagged(page.Stacks[i].Tags) {
				left = append(left, "stack "+name)
			}
		}
	}
	return left, nil
}

// undeleted lists the resources of the deleted stacks that CloudFormation did not delete.
func (r *runner) undeleted(ctx context.Context) (left []string, err error) {
	for _, id := range r.deleted {
		resources, err := r.resources(ctx, id)
		if err != nil {
			return nil, err
		}
		for i := range resources {
			if resources[i].ResourceStatus != types.ResourceStatusDeleteComplete {
				left = append(left, aws.ToString(resources[i].ResourceType)+" "+aws.ToString(resources[i].PhysicalResourceId))
			}
		}
	}
	return left, nil
}

// tagged lists the resources of EC2 with the trial's tag.
func (r *runner) tagged(ctx context.Context) (left []string, err error) {
	out, err := r.clients.Leftovers(awsapi.Target{}).DescribeTags(ctx, &ec2.DescribeTagsInput{
		Filters: []ec2types.Filter{{Name: aws.String("key"), Values: []string{tagName}}},
	})
	if err != nil {
		return nil, err
	}
	terminated, err := r.terminatedInstances(ctx)
	if err != nil {
		return nil, err
	}
	for i := range out.Tags {
		if id := aws.ToString(out.Tags[i].ResourceId); !terminated[id] {
			left = append(left, string(out.Tags[i].ResourceType)+" "+id)
		}
	}
	return left, nil
}

// terminatedInstances returns the cluster's terminated instances, which EC2 lists with their tags for
// about an hour. They cost nothing and need not be deleted.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/terminating-instances.html
func (r *runner) terminatedInstances(ctx context.Context) (map[string]bool, error) {
	all, err := r.instances(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for i := range all {
		if all[i].State != nil && all[i].State.Name == ec2types.InstanceStateNameTerminated {
			found[aws.ToString(all[i].InstanceId)] = true
		}
	}
	return found, nil
}

// groups lists the Auto Scaling groups with the trial's tag.
func (r *runner) groups(ctx context.Context) (left []string, err error) {
	in := &autoscaling.DescribeAutoScalingGroupsInput{Filters: []astypes.Filter{{Name: aws.String("tag-key"), Values: []string{tagName}}}}
	for {
		out, err := r.clients.AutoScaling(awsapi.Target{}).DescribeAutoScalingGroups(ctx, in)
		if err != nil {
			return nil, err
		}
		for i := range out.AutoScalingGroups {
			left = append(left, "Auto Scaling group "+aws.ToString(out.AutoScalingGroups[i].AutoScalingGroupName))
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return left, nil
		}
	}
}

// balancers lists the load balancers with the trial's tag.
func (r *runner) balancers(ctx context.Context) (left []string, err error) {
	const most = 20 // https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_DescribeTags.html
	api := r.clients.LoadBalancers(awsapi.Target{})
	var all []string
	pages := elbv2.NewDescribeLoadBalancersPaginator(api, &elbv2.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for i := range page.LoadBalancers {
			all = append(all, aws.ToString(page.LoadBalancers[i].LoadBalancerArn))
		}
	}
	for some := range slices.Chunk(all, most) {
		out, err := api.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: some})
		if err != nil {
			return nil, err
		}
		for i := range out.TagDescriptions {
			for _, tag := range out.TagDescriptions[i].Tags {
				if aws.ToString(tag.Key) == tagName {
					arn := aws.ToString(out.TagDescriptions[i].ResourceArn)
					left = append(left, "load balancer "+arn[strings.LastIndexByte(arn, ':')+1:])
				}
			}
		}
	}
	return left, nil
}
