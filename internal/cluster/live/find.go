package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
)

// tagStack is the tag that CloudFormation sets on its resources:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-resource-tags.html
const tagStack = "aws:cloudformation:stack-name"

// Find finds a cluster in AWS by its tags. It omits what does not exist: a cluster without
// resources has no groups and no load balancer. It returns the errors of AWS.
func Find(ctx context.Context, clients Clients, of *v1alpha1.Cluster) (*Cluster, error) {
	f := finder{clients: clients, of: of, found: &Cluster{Name: of.Name, Target: TargetOf(clients, of)}}
	steps := []func(context.Context) error{f.groups, f.loadBalancer, f.targets, f.record}
	if model.UsesEKS(of) {
		steps = []func(context.Context) error{f.eksCluster, f.nodeGroups, f.eksInstances, f.groups}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("find cluster %s in AWS: %w", of.Name, awsapi.Known(err))
		}
	}
	return f.found, nil
}

// finder performs one search for a cluster.
type finder struct {
	clients Clients
	of      *v1alpha1.Cluster
	found   *Cluster
	// target is the ARN of the API's target group, empty if there is none.
	target string
}

// namespace is the namespace in the cluster's tags.
func (f *finder) namespace() string { return cmp.Or(f.of.Namespace, "default") }

// groups finds the Auto Scaling groups.
func (f *finder) groups(ctx context.Context) error {
	in := &autoscaling.DescribeAutoScalingGroupsInput{Filters: []astypes.Filter{
		{Name: aws.String("tag:" + model.TagCluster), Values: []string{f.of.Name}},
		{Name: aws.String("tag:" + model.TagNamespace), Values: []string{f.namespace()}},
	}}
	for {
		out, err := f.clients.AutoScaling(f.found.Target).DescribeAutoScalingGroups(ctx, in)
		if err != nil {
			return fmt.Errorf("list its Auto Scaling groups: %w", err)
		}
		for i := range out.AutoScalingGroups {
			if err := f.group(ctx, &out.AutoScalingGroups[i]); err != nil {
				return err
			}
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	rank := map[rollout.Role]int{rollout.RoleControlPlane: 0, rollout.RoleWorker: 1, rollout.RoleBastion: 2}
	slices.SortFunc(f.found.Groups, func(a, b Group) int {
		return cmp.Or(
			rank[a.Role]-rank[b.Role],
			a.Slot-b.Slot,
			strings.Compare(a.Name, b.Name),
			strings.Compare(a.AutoScalingGroup, b.AutoScalingGroup),
		)
	})
	return nil
}

// group adds one group, unless it is being deleted.
func (f *finder) group(ctx context.Context, from *astypes.AutoScalingGroup) error {
	if aws.ToString(from.Status) != "" {
		return nil // Only a group that is being deleted has a status.
	}
	tags := rollout.TagsOf(from)
	value := func(key string) string { return aws.ToString(tags[key].Value) }
	g := Group{
		Role: rollout.Role(value(model.TagRole)), Slot: rollout.NoSlot, AutoScalingGroup: aws.ToString(from.AutoScalingGroupName),
		Stack: value(tagStack),
		Min:   int(aws.ToInt32(from.MinSize)), Max: int(aws.ToInt32(from.MaxSize)), Desired: int(aws.ToInt32(from.DesiredCapacity)),
		TargetGroups: from.TargetGroupARNs,
	}
	_, g.Rolling = tags[rollout.TagMemory]
	switch g.Role {
	case rollout.RoleControlPlane:
		slot, err := strconv.Atoi(value(model.TagSlot))
		if err != nil {
			return fmt.Errorf("the tag %s of Auto Scaling group %s is not a number", model.TagSlot, g.AutoScalingGroup)
		}
		g.Slot, g.Name = slot, SlotName(slot)
		if len(g.TargetGroups) > 0 {
			f.target = g.TargetGroups[0]
		}
	case rollout.RoleWorker:
		g.Name = value(model.TagInstanceGroup)
	case rollout.RoleBastion:
		g.Name = model.RoleBastion
	default:
		return nil // It belongs to a user of the cluster.
	}
	if err := f.instances(ctx, &g, from); err != nil {
		return err
	}
	f.found.Groups = append(f.found.Groups, g)
	return nil
}

// instances adds the instances of an Auto Scaling group to a group.
func (f *finder) instances(ctx context.Context, g *Group, from *astypes.AutoScalingGroup) error {
	outdated, err := rollout.Outdated(ctx, f.clients.EC2(f.found.Target), from)
	if err != nil {
		return err //nolint:wrapcheck // it names the call
	}
	for i := range from.Instances {
		one := &from.Instances[i]
		instance := Instance{
			ID: aws.ToString(one.InstanceId), Zone: aws.ToString(one.AvailabilityZone), State: string(one.LifecycleState),
			Healthy: aws.ToString(one.HealthStatus) == "Healthy", Outdated: slices.Contains(outdated, aws.ToString(one.InstanceId)),
		}
		if one.LaunchTemplate != nil {
			instance.Template = aws.ToString(one.LaunchTemplate.Version)
		}
		g.Instances = append(g.Instances, instance)
	}
	return nil
}

// SlotName returns the name of a slot's group for messages.
func SlotName(slot int) string { return model.RoleControlPlane + "-" + strconv.Itoa(slot) }
