package repair

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
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/owner"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// slotPlan decides which slot's instance to replace: at most one, and only while the nodes of all
// other slots are Ready.
//
// Slots are ordered by index. Where several nodes claim a slot, a healthy one counts. Slot is
// NoSlot if none is due; again is then the delay until one may be.
func slotPlan(slots []health, after time.Duration, now time.Time) (slot int, again time.Duration) {
	slot = workload.NoSlot
	for i := range slots {
		switch {
		case slots[i].well:
		case slot != workload.NoSlot || slots[i].replacing: // Replacing another would lose the quorum.
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

// Slots are the slots of a Cluster to repair.
type Slots struct {
	Cluster    *v1alpha1.Cluster
	Target     awsapi.Target
	Connection *workload.Cluster
	// Problems returns the problems of unhealthy slots, by slot.
	Problems func(ctx context.Context) map[int]string
	// MissingVolumes returns the slots whose etcd volumes no longer exist.
	MissingVolumes func(ctx context.Context) ([]int, error)
	// ReplaceVolume requests another volume for a slot that lost its own. It returns why that is
	// not possible, "" if it is.
	ReplaceVolume func(ctx context.Context, slot int) (problem string, err error)
}

// Slots replaces the instance of an unhealthy slot if the other slots are healthy. It returns
// the delay until the next check, zero for none.
func (r *Repairs) Slots(ctx context.Context, of Slots) (time.Duration, error) {
	cluster := of.Cluster
	reachable, _ := of.Connection.Reachable()
	repair := &cluster.Spec.ControlPlane.Repair
	if repair.Disabled || !reachable || !slotsSettled(cluster) {
		return 0, nil
	}
	after := repairAfter
	if repair.After != nil {
		after = repair.After.Duration
	}
	now, slots := r.options.Clock.Now(), r.slotsOf(cluster, of.Connection.Nodes())
	forgetRepairs(cluster, slots, now)
	slot, again := slotPlan(slots, after, now)
	if slot == workload.NoSlot {
		return again, nil
	}
	for other, problem := range of.Problems(ctx) {
		if other != slot && problem != "" {
			return missingPoll, nil // The control plane's own conditions report it.
		}
	}
	missing, err := of.MissingVolumes(ctx)
	if err != nil {
		return 0, err
	}
	if slices.Contains(missing, slot) { // A new instance would wait for the volume like this one.
		problem, err := of.ReplaceVolume(ctx, slot)
		if problem == "" {
			return time.Second, err
		}
		slotTrouble(cluster, ReasonVolumeLost, problem)
		return missingPoll, err
	}
	if record.IsRolling(cluster.Status.Rollout) { // The change of the slot replaces the instance.
		return missingPoll, nil
	}
	if wait := repairDelay(repairOf(cluster, slot), now); wait > 0 {
		slotTrouble(cluster, reasonRepairDelayed, repairSentence(fmt.Sprintf("The instance of slot %d", slot), repairOf(cluster, slot)))
		return wait, nil
	}
	machine, err := r.slotMachine(ctx, of, slot, &slots[slot], after)
	if err != nil || machine == nil {
		return missingPoll, err
	}
	if err := r.replace(ctx, of.Target, machine); err != nil {
		return 0, err
	}
	CountSlot(cluster, slot, after, now)
	r.options.Recorder.Eventf(
		cluster,
		nil,
		corev1.EventTypeWarning,
		reasonReplacingNodes,
		"Repair",
		"%s",
		fmt.Sprintf(
			"Replacing instance %s of slot %d, which has been unhealthy for %s. The other slots are healthy.",
			machine.instance,
			slot,
			after,
		),
	)
	return 0, nil
}

// slotTrouble reports why a slot stays unhealthy.
func slotTrouble(cluster *v1alpha1.Cluster, reason, message string) {
	operatorkit.SetCondition(
		cluster,
		metav1.Condition{Type: conditions.Nodes, Status: metav1.ConditionFalse, Reason: reason, Message: message},
	)
}

// slotsSettled reports whether no change of the slots' stacks is in progress.
func slotsSettled(cluster *v1alpha1.Cluster) bool {
	for slot := range model.SlotCount(cluster) {
		if !record.IsSettled(record.Find(cluster, model.SlotStackName(cluster.Name, slot))) {
			return false
		}
	}
	return true
}

// slotsOf returns the slots' health by their nodes. A slot without a node is unhealthy since that
// was first observed.
func (r *Repairs) slotsOf(cluster *v1alpha1.Cluster, nodes []workload.Node) []health {
	slots := make([]health, model.SlotCount(cluster))
	for i, one := range r.tracker.healthOf(nodes) {
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
			r.tracker.present(cluster.UID, stack)
			continue
		}
		slots[slot].since = r.tracker.absent(cluster.UID, stack, r.options.Clock.Now())
	}
	return slots
}

// slotMachine returns the slot's instance to replace, nil if there is none or it is too new.
func (r *Repairs) slotMachine(
	ctx context.Context,
	of Slots,
	slot int,
	known *health,
	after time.Duration,
) (*health, error) {
	if known.instance != "" {
		return known, nil
	}
	cluster, target := of.Cluster, of.Target
	ids, err := r.inService(ctx, target, &autoscaling.DescribeAutoScalingGroupsInput{Filters: []astypes.Filter{
		{Name: aws.String("tag:" + owner.StackNameTag), Values: []string{model.SlotStackName(cluster.Name, slot)}},
	}})
	if err != nil {
		return nil, err
	}
	machines, err := r.launched(ctx, target, ids)
	if err != nil || len(machines) != 1 || machines[0].replacing || r.options.Clock.Now().Before(machines[0].since.Add(after)) {
		return nil, err
	}
	if of.Connection.MayHaveNode(machines[0].instance) { // It is healthy as far as is known.
		return nil, nil
	}
	return &machines[0], nil
}
