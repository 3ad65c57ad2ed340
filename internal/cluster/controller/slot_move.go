package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/apply"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Reasons of a control plane whose slots move to other zones.
const (
	reasonMovingSlot = "MovingSlot"
	reasonCannotMove = "CannotMove"
)

// placeVolumes is done when the base stack is rendered with every etcd volume in the zone that EC2 reports
// for it. Otherwise, it records the zones, and the next reconcile renders the stack with them. It asks EC2
// only if the stack would change.
func (s baseStep) placeVolumes(
	ctx context.Context, cluster *v1alpha1.Cluster, resolved *model.Cluster, wanted *render.Stack,
) operatorkit.Outcome {
	known, err := record.Decode(record.Find(cluster, wanted.Name))
	if err != nil {
		return operatorkit.Fail(err)
	}
	same := known.Digest != "" && !apply.Changes(&known, cluster, wanted) && !isSettling(cluster)
	if known.PendingDigest != "" || same {
		return operatorkit.Done()
	}
	changed, err := s.volumes.Place(ctx, cluster, resolved)
	if err != nil {
		return outcomes.Failed(err)
	}
	for _, volume := range changed {
		if outcome := s.movable(cluster, resolved, volume); !outcome.IsDone() {
			return outcome
		}
	}
	for _, volume := range changed {
		model.SetEtcdVolume(cluster, volume)
	}
	if len(changed) > 0 {
		return settling()
	}
	return operatorkit.Done()
}

// movable stalls a move that the slots cannot carry out. Nothing has changed then.
func (s baseStep) movable(cluster *v1alpha1.Cluster, resolved *model.Cluster, volume v1alpha1.EtcdVolumeStatus) operatorkit.Outcome {
	if volume.MovesTo == "" || cluster.Status.Outputs[model.OutputNextEtcdVolume(int(volume.Slot))] != "" {
		return operatorkit.Done()
	}
	why := resolved.CannotMove(s.options.Brief)
	if why == "" {
		return operatorkit.Done()
	}
	return operatorkit.Stall(reasonCannotMove, fmt.Sprintf(
		"Slot %d cannot move from %s to %s: %s.", volume.Slot, volume.Zone, volume.MovesTo, why,
	))
}

// isSettling reports whether a slot has moved, and its volumes are yet to be compared with the spec.
func isSettling(cluster *v1alpha1.Cluster) bool {
	of := &cluster.Spec.ControlPlane
	return cluster.Status.Etcd != nil && slices.ContainsFunc(cluster.Status.Etcd.Volumes, func(v v1alpha1.EtcdVolumeStatus) bool {
		return v.Zone != "" && v.MovesTo == "" && v.Slot < of.Slots() && v.Snapshot == of.RestoreSnapshot
	})
}

func settling() operatorkit.Outcome {
	const message = "The zones of etcd's volumes are recorded before the volumes change."
	return operatorkit.Wait(plannedPoll, reasonMovingSlot, message).WithoutEvent()
}

// endMoves is done when no slot has an etcd volume in a zone that it left. All slots are up to date. The
// base stack drops such a volume when the slot is healthy.
func (s slotsStep) endMoves(ctx context.Context, gate *slotsGate) operatorkit.Outcome {
	cluster := gate.cluster
	if !model.SlotsMove(cluster) {
		return operatorkit.Done()
	}
	problems := s.slotsHealth(ctx, cluster)
	for i := range gate.resolved.Slots {
		slot := &gate.resolved.Slots[i]
		if slot.Leaves() == "" {
			continue
		}
		problem := strings.TrimSuffix(problems[slot.Index], ".")
		if problem == "" {
			var err error
			if problem, err = s.volumes.Keep(ctx, cluster, gate.resolved.Spec.ControlPlane.RestoreSnapshot, slot); err != nil {
				return outcomes.Failed(err)
			}
		}
		if problem != "" {
			return operatorkit.Wait(turnPoll, reasonMovingSlot, fmt.Sprintf(
				"Slot %d of the control plane is in %s. Its etcd volume in %s is deleted when the slot is healthy: %s.",
				slot.Index, slot.Zone, slot.Leaves(), problem,
			))
		}
	}
	if model.SlotsMove(cluster) { // Of slots that leave, which keep both volumes.
		return operatorkit.Done()
	}
	return operatorkit.Wait(plannedPoll, reasonMovingSlot, "The etcd volumes that slots no longer use are deleted.").WithoutEvent()
}

// describeMove describes the change of a slot that moves to another zone.
func describeMove(slot *model.Slot, known *record.Stack, outcome operatorkit.Outcome) operatorkit.Outcome {
	from := slot.Leaves()
	switch {
	case from == "":
		return outcome
	case outcome.Reason() == reasonReplacingSlot:
		return outcome.Explain(reasonMovingSlot, fmt.Sprintf(
			"Slot %d of the control plane moves from %s to %s. Its etcd member is rebuilt from the others. %s",
			slot.Index, from, slot.Zone, outcome.Message(),
		))
	case outcome.Kind() == operatorkit.KindStall && known.FailedDigest != "":
		return outcome.Explain(outcome.Reason(), fmt.Sprintf(
			"Slot %d of the control plane did not move from %s to %s, and keeps its etcd volume in %s. To end the attempt, set "+
				"spec.controlPlane.zones back. %s", slot.Index, from, slot.Zone, from, outcome.Message(),
		))
	default:
		return outcome
	}
}
