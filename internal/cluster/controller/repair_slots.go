package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// stackNameTag is on all that CloudFormation makes:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-resource-tags.html
const stackNameTag = "aws:cloudformation:stack-name"

// slotPlan says which slot is to be replaced. It is one, and only while all others serve, as far as their nodes tell.
//
// Slots are by index; where several nodes say that they are of one slot, the one that is well counts. Slot is none if nothing is to be
// done; again is then after what time one may be due.
func slotPlan(slots []health, after time.Duration, now time.Time) (slot int, again time.Duration) {
	slot = workload.NoSlot
	for i := range slots {
		switch {
		case slots[i].well:
		case slot != workload.NoSlot || slots[i].replacing: // Another would cost the quorum.
			return workload.NoSlot, 0
		default:
			slot = i
		}
	}
	if slot == workload.NoSlot {
		return slot, 0
	}
	if wait := slots[slot].since.Add(after).Sub(now); wait > 0 {
		return workload.NoSlot, wait
	}
	return slot, 0
}

// repairSlots replaces the machine of a slot that is not well, if there is one and the others serve. It returns when to look again, zero
// for not by the clock.
func (o *operator) repairSlots(ctx context.Context, cluster *v1alpha1.Cluster, connection *workload.Cluster) (time.Duration, error) {
	reachable, _ := connection.Reachable()
	repair := &cluster.Spec.ControlPlane.Repair
	if repair.Disabled || !reachable || isRolling(cluster.Status.Rollout) || !o.slotsSettled(cluster) {
		return 0, nil
	}
	after := repairAfter
	if repair.After != nil {
		after = repair.After.Duration
	}
	now, slots := o.options.Clock.Now(), o.slotsOf(cluster, connection.Nodes())
	forgetRepairs(cluster, slots, now)
	slot, again := slotPlan(slots, after, now)
	if slot == workload.NoSlot {
		return again, nil
	}
	for other, problem := range o.slotsHealth(ctx, cluster) {
		if other != slot && problem != "" {
			return askAgain, nil // It is told by the control plane's own conditions.
		}
	}
	missing, err := o.missingVolumes(ctx, cluster)
	if err != nil {
		return 0, err
	}
	if slices.Contains(missing, slot) { // Another instance would wait for the volume as this one does.
		problem, err := o.replaceVolume(ctx, cluster, slot)
		if problem == "" {
			return time.Second, err
		}
		slotTrouble(cluster, reasonVolumeLost, problem)
		return askAgain, err
	}
	if wait := repairDelay(repairOf(cluster, slot), now); wait > 0 {
		slotTrouble(cluster, reasonRepairDelayed, repairSentence(fmt.Sprintf("The instance of slot %d", slot), repairOf(cluster, slot)))
		return wait, nil
	}
	machine, err := o.slotMachine(ctx, cluster, slot, &slots[slot], after)
	if err != nil || machine == nil {
		return askAgain, err
	}
	if err := o.replace(ctx, o.target(cluster), machine); err != nil {
		return 0, err
	}
	keepRepair(cluster, slot, after, now)
	o.recorder.Eventf(cluster, nil, corev1.EventTypeWarning, reasonReplacingNodes, "Repair", "%s",
		fmt.Sprintf("Replacing the machine %s of slot %d, which has not been well for %s; the other slots serve.", machine.instance, slot, after))
	return 0, nil
}

// slotTrouble says why a slot that is not well stays so.
func slotTrouble(cluster *v1alpha1.Cluster, reason, message string) {
	operatorkit.SetCondition(cluster, metav1.Condition{Type: conditionNodes, Status: metav1.ConditionFalse, Reason: reason, Message: message})
}

// slotsSettled reports whether nothing is being done to the slots' stacks.
func (o *operator) slotsSettled(cluster *v1alpha1.Cluster) bool {
	for slot := range int(cluster.Spec.ControlPlane.Replicas) {
		if !isSettled(knownStack(cluster, model.SlotStackName(cluster.Name, slot))) {
			return false
		}
	}
	return true
}

// slotsOf says how the slots are by their nodes. One without a node is unwell since that was seen first.
func (o *operator) slotsOf(cluster *v1alpha1.Cluster, nodes []workload.Node) []health {
	slots := make([]health, cluster.Spec.ControlPlane.Replicas)
	for i, one := range o.repairs.healthOf(nodes) {
		slot := nodes[i].Slot
		if slot < 0 || slot >= len(slots) || slots[slot].well {
			continue
		}
		if one.well || one.since.After(slots[slot].since) {
			slots[slot] = one
		}
	}
	for slot := range slots {
		stack := model.SlotStackName(cluster.Name, slot)
		if slots[slot].node != "" {
			o.repairs.present(cluster.UID, stack)
			continue
		}
		slots[slot].since = o.repairs.absent(cluster.UID, stack, o.options.Clock.Now())
	}
	return slots
}

// slotMachine returns the machine of a slot that is to be replaced; nil if there is none, or none for long enough.
func (o *operator) slotMachine(ctx context.Context, cluster *v1alpha1.Cluster, slot int, known *health, after time.Duration) (*health, error) {
	if known.instance != "" {
		return known, nil
	}
	target := o.target(cluster)
	ids, err := o.inService(ctx, target, &autoscaling.DescribeAutoScalingGroupsInput{Filters: []astypes.Filter{
		{Name: aws.String("tag:" + stackNameTag), Values: []string{model.SlotStackName(cluster.Name, slot)}},
	}})
	if err != nil {
		return nil, err
	}
	machines, err := o.launched(ctx, target, ids)
	if err != nil || len(machines) != 1 || machines[0].replacing || o.options.Clock.Now().Before(machines[0].since.Add(after)) {
		return nil, err
	}
	return &machines[0], nil
}
