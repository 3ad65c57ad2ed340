package owner

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
)

// Operator is the name that distinguishes the operators of one account. It is part of the tags.
type Operator string

// AdoptFrom returns what an object may adopt.
func AdoptFrom(obj client.Object) []string {
	return stack.ParseAdoptFrom(obj.GetAnnotations()[stack.AdoptAnnotation])
}

// Base returns the required owner of the base stack.
func (o Operator) Base(cluster *v1alpha1.Cluster) (stack.Owner, error) {
	name := model.BaseStackName(cluster.Name)
	known, err := record.Decode(record.Find(cluster, name))
	return stack.Owner{Name: name, StackID: known.StackID, Tags: o.ClusterTags(cluster), AdoptFrom: AdoptFrom(cluster)}, err
}

// SlotTags returns the tags that prove that a stack is a slot's.
func (o Operator) SlotTags(cluster *v1alpha1.Cluster, slot int) map[string]string {
	tags := o.ClusterTags(cluster)
	tags[model.TagSlot] = strconv.Itoa(slot)
	return tags
}

// Slot returns the required owner of a slot's stack.
func (o Operator) Slot(cluster *v1alpha1.Cluster, slot int, known *record.Stack) stack.Owner {
	return stack.Owner{
		Name: model.SlotStackName(
			cluster.Name,
			slot,
		), StackID: known.StackID, Tags: o.SlotTags(cluster, slot), AdoptFrom: AdoptFrom(cluster),
	}
}

// EKSAddonsTags returns the tags that prove that a stack is that of the Cluster's EKS add-ons.
func (o Operator) EKSAddonsTags(cluster *v1alpha1.Cluster) map[string]string {
	tags := o.ClusterTags(cluster)
	tags[model.TagRole] = model.RoleEKSAddons
	return tags
}

// EKSAddons returns the required owner of the stack of EKS's add-ons.
func (o Operator) EKSAddons(cluster *v1alpha1.Cluster, known *record.Stack) stack.Owner {
	return stack.Owner{
		Name: model.EKSAddonsStackName(cluster.Name), StackID: known.StackID, Tags: o.EKSAddonsTags(cluster), AdoptFrom: AdoptFrom(cluster),
	}
}

// GroupTags returns the tags that prove that a stack is the group's.
func (o Operator) GroupTags(group *v1alpha1.InstanceGroup) map[string]string {
	return map[string]string{
		model.TagCluster: group.Spec.Cluster, model.TagNamespace: group.Namespace, model.TagOperator: string(o),
		model.TagInstanceGroup: group.Name,
	}
}

// Group returns the required owner of the group's stack.
func (o Operator) Group(group *v1alpha1.InstanceGroup, known *record.Stack) stack.Owner {
	return stack.Owner{
		Name: model.GroupStackName(
			group.Spec.Cluster,
			group.Name,
		), StackID: known.StackID, Tags: o.GroupTags(group), AdoptFrom: AdoptFrom(group),
	}
}

// ScalingGroupTags returns the tags of the group's Auto Scaling group: those of its stack, and one
// that only CloudFormation can set.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-resource-tags.html
func (o Operator) ScalingGroupTags(group *v1alpha1.InstanceGroup) map[string]string {
	tags := o.GroupTags(group)
	tags[StackNameTag] = model.GroupStackName(group.Spec.Cluster, group.Name)
	return tags
}

// ScalingGroupFilters returns filters that find the group's Auto Scaling group by its tags.
func (o Operator) ScalingGroupFilters(group *v1alpha1.InstanceGroup) []types.Filter {
	tags := o.ScalingGroupTags(group)
	filters := make([]types.Filter, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		filters = append(filters, types.Filter{Name: aws.String("tag:" + key), Values: []string{tags[key]}})
	}
	return filters
}

// CheckScalingGroup returns an error if the Auto Scaling group that the group's status names
// belongs to another owner.
func (o Operator) CheckScalingGroup(group *v1alpha1.InstanceGroup, found *types.AutoScalingGroup) error {
	carried := map[string]string{}
	for _, tag := range found.Tags {
		carried[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	for key, value := range o.ScalingGroupTags(group) {
		if carried[key] != value {
			return &stack.ForeignError{Reason: "AutoScalingGroupNotOwned", Message: fmt.Sprintf(
				"The status names the Auto Scaling group %s, whose tag %s does not identify it as this group's. The operator does not touch it. "+
					"Remove status.autoScalingGroup and status.stack (kubectl edit --subresource=status).",
				aws.ToString(found.AutoScalingGroupName),
				key,
			)}
		}
	}
	return nil
}

// ClusterTags returns the tags that prove that a stack is the Cluster's.
func (o Operator) ClusterTags(cluster *v1alpha1.Cluster) map[string]string {
	return map[string]string{
		model.TagCluster: cluster.Name, model.TagNamespace: cluster.Namespace, model.TagOperator: string(o),
	}
}

// StackNameTag is on all resources that CloudFormation creates:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-resource-tags.html
const StackNameTag = "aws:cloudformation:stack-name"
