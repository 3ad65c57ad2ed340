package controller

import (
	"context"
	"errors"
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
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// What a status says of AWS (records, outputs, the name of an Auto Scaling group) is a cache that whoever may write the status can
// write. Before anything is done by it, CloudFormation's or Auto Scaling's own word is compared with it: by the calls that are made
// anyway, and by one more where there are none.

// adoptFrom reads what an object may take over.
func adoptFrom(obj client.Object) []string {
	return stack.ParseAdoptFrom(obj.GetAnnotations()[stack.AdoptAnnotation])
}

// baseOwner is whose the base stack must be.
func (o *operator) baseOwner(cluster *v1alpha1.Cluster) (stack.Owner, error) {
	name := model.BaseStackName(cluster.Name)
	known, err := recall(knownStack(cluster, name))
	return stack.Owner{Name: name, StackID: known.StackID, Tags: o.ownerTags(cluster), AdoptFrom: adoptFrom(cluster)}, err
}

// slotTags prove a stack to be that of a slot.
func (o *operator) slotTags(cluster *v1alpha1.Cluster, slot int) map[string]string {
	tags := o.ownerTags(cluster)
	tags[model.TagSlot] = strconv.Itoa(slot)
	return tags
}

// slotOwner is whose the stack of a slot must be.
func (o *operator) slotOwner(cluster *v1alpha1.Cluster, slot int, known *remembered) stack.Owner {
	return stack.Owner{
		Name: model.SlotStackName(cluster.Name, slot), StackID: known.StackID, Tags: o.slotTags(cluster, slot), AdoptFrom: adoptFrom(cluster),
	}
}

// groupTags prove a stack to be the group's.
func (o *operator) groupTags(group *v1alpha1.InstanceGroup) map[string]string {
	return map[string]string{
		model.TagCluster: group.Spec.Cluster, model.TagNamespace: group.Namespace, model.TagOperator: o.options.ClusterName,
		model.TagInstanceGroup: group.Name,
	}
}

// groupOwner is whose the group's stack must be.
func (o *operator) groupOwner(group *v1alpha1.InstanceGroup, known *remembered) stack.Owner {
	return stack.Owner{
		Name: model.GroupStackName(group.Spec.Cluster, group.Name), StackID: known.StackID, Tags: o.groupTags(group), AdoptFrom: adoptFrom(group),
	}
}

// scalingGroupTags are on the group's Auto Scaling group: those of its stack, and one that only CloudFormation can set.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-resource-tags.html
func (o *operator) scalingGroupTags(group *v1alpha1.InstanceGroup) map[string]string {
	tags := o.groupTags(group)
	tags[stackNameTag] = model.GroupStackName(group.Spec.Cluster, group.Name)
	return tags
}

// scalingGroupFilters find the group's Auto Scaling group by its tags.
func (o *operator) scalingGroupFilters(group *v1alpha1.InstanceGroup) []types.Filter {
	tags := o.scalingGroupTags(group)
	filters := make([]types.Filter, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		filters = append(filters, types.Filter{Name: aws.String("tag:" + key), Values: []string{tags[key]}})
	}
	return filters
}

// notItsGroup returns an error if an Auto Scaling group, which the group's status names, is not the group's.
func (o *operator) notItsGroup(group *v1alpha1.InstanceGroup, found *types.AutoScalingGroup) error {
	carried := map[string]string{}
	for _, tag := range found.Tags {
		carried[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	for key, value := range o.scalingGroupTags(group) {
		if carried[key] != value {
			return &stack.ForeignError{Reason: "AutoScalingGroupNotOwned", Message: fmt.Sprintf(
				"The status names the Auto Scaling group %s, whose tag %s does not say that it is this group's. Nothing is done to it. "+
					"Remove status.autoScalingGroup and status.stack (kubectl edit --subresource=status).", aws.ToString(found.AutoScalingGroupName), key)}
		}
	}
	return nil
}

// errOutputsCorrected says that the status had other outputs than the base stack.
var errOutputsCorrected = errors.New("the outputs in the Cluster's status were not the base stack's and are read again")

// sawOutputs notes what CloudFormation said that the base stack's outputs are.
func (o *operator) sawOutputs(cluster *v1alpha1.Cluster, outputs map[string]string) {
	o.outputs.keep(cluster.UID, maps.Clone(outputs))
}

// outputsHold reports whether the outputs in the Cluster's status are those that CloudFormation gave, as far as this process knows.
func (o *operator) outputsHold(cluster *v1alpha1.Cluster) bool {
	seen, ok := o.outputs.get(cluster.UID)
	return !ok || maps.Equal(seen, cluster.Status.Outputs)
}

// confirmOutputs makes sure that the outputs in the Cluster's status, which name buckets, keys, volumes, zones and roles, are those of
// the Cluster's own base stack. It asks CloudFormation once in a process, and not if this one has read them. If they differ, it corrects
// them and returns errOutputsCorrected.
func (o *operator) confirmOutputs(ctx context.Context, cluster *v1alpha1.Cluster) error {
	if len(cluster.Status.Outputs) == 0 {
		return nil
	}
	if seen, ok := o.outputs.get(cluster.UID); ok && maps.Equal(seen, cluster.Status.Outputs) {
		return nil
	}
	owner, err := o.baseOwner(cluster)
	if err != nil {
		return err
	}
	found, err := o.options.Engine.Outputs(ctx, o.target(cluster), owner)
	if err != nil {
		return err //nolint:wrapcheck // it is explained already
	}
	o.sawOutputs(cluster, found)
	if maps.Equal(found, cluster.Status.Outputs) {
		return nil
	}
	cluster.Status.Outputs = found
	o.clusters.Enqueue(keyOf(cluster)) // An InstanceGroup cannot correct its Cluster's status.
	return errOutputsCorrected
}

// confirmed is confirmOutputs as an outcome.
func (o *operator) confirmed(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if err := o.confirmOutputs(ctx, cluster); err != nil {
		return failed(err)
	}
	return operatorkit.Done()
}
