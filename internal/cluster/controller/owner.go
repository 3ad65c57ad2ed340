package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// An object's status caches facts about AWS: records, outputs, an Auto Scaling group's name. Any
// client with permission to write the status can change them. Before acting on them, the operator
// compares them with what CloudFormation or Auto Scaling reports, in calls that it makes anyway or
// in an extra one.

// adoptFrom returns what an object may adopt.
func adoptFrom(obj client.Object) []string {
	return stack.ParseAdoptFrom(obj.GetAnnotations()[stack.AdoptAnnotation])
}

// baseOwner returns the required owner of the base stack.
func (o *operator) baseOwner(cluster *v1alpha1.Cluster) (stack.Owner, error) {
	name := model.BaseStackName(cluster.Name)
	known, err := record.Decode(knownStack(cluster, name))
	return stack.Owner{Name: name, StackID: known.StackID, Tags: o.ownerTags(cluster), AdoptFrom: adoptFrom(cluster)}, err
}

// slotTags returns the tags that prove that a stack is a slot's.
func (o *operator) slotTags(cluster *v1alpha1.Cluster, slot int) map[string]string {
	tags := o.ownerTags(cluster)
	tags[model.TagSlot] = strconv.Itoa(slot)
	return tags
}

// slotOwner returns the required owner of a slot's stack.
func (o *operator) slotOwner(cluster *v1alpha1.Cluster, slot int, known *record.Stack) stack.Owner {
	return stack.Owner{
		Name: model.SlotStackName(
			cluster.Name,
			slot,
		), StackID: known.StackID, Tags: o.slotTags(cluster, slot), AdoptFrom: adoptFrom(cluster),
	}
}

// groupTags returns the tags that prove that a stack is the group's.
func (o *operator) groupTags(group *v1alpha1.InstanceGroup) map[string]string {
	return map[string]string{
		model.TagCluster: group.Spec.Cluster, model.TagNamespace: group.Namespace, model.TagOperator: o.options.ClusterName,
		model.TagInstanceGroup: group.Name,
	}
}

// groupOwner returns the required owner of the group's stack.
func (o *operator) groupOwner(group *v1alpha1.InstanceGroup, known *record.Stack) stack.Owner {
	return stack.Owner{
		Name: model.GroupStackName(
			group.Spec.Cluster,
			group.Name,
		), StackID: known.StackID, Tags: o.groupTags(group), AdoptFrom: adoptFrom(group),
	}
}

// scalingGroupTags returns the tags of the group's Auto Scaling group: those of its stack, and one
// that only CloudFormation can set.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-resource-tags.html
func (o *operator) scalingGroupTags(group *v1alpha1.InstanceGroup) map[string]string {
	tags := o.groupTags(group)
	tags[stackNameTag] = model.GroupStackName(group.Spec.Cluster, group.Name)
	return tags
}

// scalingGroupFilters returns filters that find the group's Auto Scaling group by its tags.
func (o *operator) scalingGroupFilters(group *v1alpha1.InstanceGroup) []types.Filter {
	tags := o.scalingGroupTags(group)
	filters := make([]types.Filter, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		filters = append(filters, types.Filter{Name: aws.String("tag:" + key), Values: []string{tags[key]}})
	}
	return filters
}

// notItsGroup returns an error if the Auto Scaling group that the group's status names belongs to
// another owner.
func (o *operator) notItsGroup(group *v1alpha1.InstanceGroup, found *types.AutoScalingGroup) error {
	carried := map[string]string{}
	for _, tag := range found.Tags {
		carried[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	for key, value := range o.scalingGroupTags(group) {
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

// sawOutputs caches the base stack's outputs as CloudFormation reported them.
func (o *operator) sawOutputs(cluster *v1alpha1.Cluster, outputs map[string]string) {
	o.outputs.Keep(cluster.UID, maps.Clone(outputs))
}

// outputsHold reports whether the outputs in the Cluster's status match those that CloudFormation
// reported, as far as this process knows.
func (o *operator) outputsHold(cluster *v1alpha1.Cluster) bool {
	seen, ok := o.outputs.Get(cluster.UID)
	return !ok || maps.Equal(seen, cluster.Status.Outputs)
}

// confirmOutputs ensures that the outputs in the Cluster's status, which name buckets, keys,
// volumes, zones and roles, are those of the Cluster's own base stack. It asks CloudFormation once
// per process, unless this process already read them. If they differ, it corrects them and returns
// [outcomes.ErrOutputsCorrected].
func (o *operator) confirmOutputs(ctx context.Context, cluster *v1alpha1.Cluster) error {
	if len(cluster.Status.Outputs) == 0 {
		return nil
	}
	if seen, ok := o.outputs.Get(cluster.UID); ok && maps.Equal(seen, cluster.Status.Outputs) {
		return nil
	}
	owner, err := o.baseOwner(cluster)
	if err != nil {
		return err
	}
	found, err := o.options.Engine.Outputs(ctx, o.target(cluster), owner)
	if err != nil {
		return err //nolint:wrapcheck // the engine explained it
	}
	o.sawOutputs(cluster, found)
	if maps.Equal(found, cluster.Status.Outputs) {
		return nil
	}
	cluster.Status.Outputs = found
	o.clusters.Enqueue(keyOf(cluster)) // An InstanceGroup cannot correct its Cluster's status.
	return outcomes.ErrOutputsCorrected
}

// confirmed returns the result of confirmOutputs as an outcome.
func (o *operator) confirmed(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if err := o.confirmOutputs(ctx, cluster); err != nil {
		return outcomes.Failed(err)
	}
	return operatorkit.Done()
}
