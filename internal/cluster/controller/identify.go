package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

const (
	// reasonNotConfirmed is the reason of Events about Nodes that are not what they claim to be.
	reasonNotConfirmed = "NodeNotConfirmed"
	// groupNameTag is the tag by which an instance's Auto Scaling group is known. Only Auto Scaling can set it.
	// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html
	groupNameTag = "aws:autoscaling:groupName"
	// mostFilterValues is how many values a filter may have:
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html
	mostFilterValues = 200
	// mostTold bounds the Nodes that one message names.
	mostTold = 3
)

// identify asks EC2 for instances of a Cluster, and decides by their Auto Scaling groups which instance groups and slots they are of.
func (o *operator) identify(ctx context.Context, key types.NamespacedName, ids []string) (map[string]workload.Identity, error) {
	cluster := &v1alpha1.Cluster{}
	if err := o.client.Get(ctx, key, cluster); err != nil {
		return nil, fmt.Errorf("read Cluster %s: %w", key, err)
	}
	groups, err := o.groupsOf(ctx, key)
	if err != nil {
		return nil, err
	}
	found := map[string]workload.Identity{}
	for some := range slices.Chunk(ids, mostFilterValues) {
		instances, err := o.describe(ctx, o.target(cluster), some)
		if err != nil {
			return nil, err
		}
		for i := range instances {
			found[aws.ToString(instances[i].InstanceId)] = identityOf(cluster, groups, &instances[i])
		}
	}
	return found, nil
}

// describe returns those of the instances that EC2 has. A filter, unlike a list of IDs, passes over those that it does not have and
// over what is no ID: both may come from a Node.
func (o *operator) describe(ctx context.Context, target awsapi.Target, ids []string) ([]ec2types.Instance, error) {
	in := &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{{Name: aws.String("instance-id"), Values: ids}}}
	var instances []ec2types.Instance
	for {
		page, err := o.options.Clients.EC2(target).DescribeInstances(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("describe instances of nodes: %w", err)
		}
		for i := range page.Reservations {
			instances = append(instances, page.Reservations[i].Instances...)
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			return instances, nil
		}
	}
}

// identityOf says which of a Cluster's instances one is.
func identityOf(cluster *v1alpha1.Cluster, groups []v1alpha1.InstanceGroup, instance *ec2types.Instance) workload.Identity {
	identity := workload.Identity{
		PrivateDNSName: aws.ToString(instance.PrivateDnsName), Address: aws.ToString(instance.PrivateIpAddress), Slot: workload.NoSlot,
	}
	scaling := ""
	for _, tag := range instance.Tags {
		if aws.ToString(tag.Key) == groupNameTag {
			scaling = aws.ToString(tag.Value)
		}
	}
	stack := stackOfGroup(scaling)
	identity.Slot = slotOf(cluster, stack)
	at := slices.IndexFunc(groups, func(group v1alpha1.InstanceGroup) bool {
		return model.GroupStackName(cluster.Name, group.Name) == stack
	})
	switch {
	case identity.PrivateDNSName == "": // https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/terminating-instances.html
		identity.Problem = "is terminated"
	case identity.Slot != workload.NoSlot:
	case at >= 0:
		identity.Group = groups[at].Name
	case scaling == "":
		identity.Problem = "is in no Auto Scaling group"
	default:
		identity.Problem = "is in Auto Scaling group " + scaling + ", which is not one of the cluster's"
	}
	return identity
}

// reportUnconfirmed records an Event about each Node that is not what it claims to be, once, and returns a sentence about them; empty if
// there are none.
func (o *operator) reportUnconfirmed(cluster *v1alpha1.Cluster, nodes []workload.Node) string {
	before, _ := o.unconfirmed.get(cluster.UID)
	now := map[string]string{}
	var told []string
	for i := range nodes {
		node := &nodes[i]
		if node.Problem == "" {
			continue
		}
		told, now[node.UID] = append(told, node.Name), node.Problem
		if before[node.UID] == node.Problem {
			continue
		}
		// The Node is the related object, since Events of one reason about the same objects are counted as one.
		related := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: types.UID(node.UID)}}
		o.recorder.Eventf(cluster, related, corev1.EventTypeWarning, reasonNotConfirmed, "Identify",
			"EC2 does not confirm what Node %s says of itself: %s. Find out who made it, and delete it.", node.Name, node.Problem)
	}
	o.unconfirmed.keep(cluster.UID, now)
	if len(told) == 0 {
		return ""
	}
	if more := len(told) - mostTold; more > 0 {
		told = append(told[:mostTold], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("EC2 does not confirm what these Nodes say of themselves: %s; the Events say what.", strings.Join(told, ", "))
}
