package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
)

// removedVolumes returns the logical IDs of the etcd volumes of slots by which the control plane shrinks.
func (d *draft) removedVolumes() []string {
	var removed []string
	snapshot := d.model.Spec.ControlPlane.RestoreSnapshot
	for _, slot := range d.model.Leaving {
		for i := range model.EtcdVolumes(d.in.Cluster.Status.Outputs, slot.Index) {
			removed = append(removed, model.EtcdVolumeID(slot.Index, snapshot, slot.EtcdVolumeGeneration+int32(i)))
		}
	}
	return removed
}

// leaving plans the deletion of the slots by which the control plane shrinks, in its order.
func (d *draft) leaving() {
	var numbers []string
	for _, slot := range slices.Backward(d.model.Leaving) {
		status := record.Find(d.in.Cluster, slot.StackName)
		if status == nil || status.Status == "" || status.Status == "DELETE_COMPLETE" || d.alone {
			continue
		}
		numbers = append(numbers, strconv.Itoa(slot.Index))
		d.pending = append(d.pending, pending{subject: len(d.subjects), id: slot.StackName})
		d.subjects = append(d.subjects, Subject{Name: slot.StackName, Part: Slot, Of: strconv.Itoa(slot.Index)})
	}
	if len(numbers) > 0 && d.in.Cluster.DeletionTimestamp.IsZero() {
		d.note("When the other slots are up to date, these leave etcd and are deleted, one at a time, in this order: %s. Their etcd volumes "+
			"are deleted last; CloudFormation takes a snapshot of each.", strings.Join(numbers, ", "))
	}
}
