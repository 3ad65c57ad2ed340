package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Reasons of a control plane whose machines are replaced.
const (
	reasonNotItsTurn    = "OneSlotAtATime"
	reasonReplacingSlot = "ReplacingSlot"
	reasonSlotGoesBack  = "SlotGoesBack"
	// reasonReplacing is why the API of a cluster with one slot does not answer.
	reasonReplacing = "Replacing"
)

// lookForTurn is when to look again whether a slot may be changed, and whether one serves that is to be signalled.
const lookForTurn = 3 * time.Second

// errNotNow keeps a change of a slot from being sent. Why is told by the change's outcome.
var errNotNow = errors.New("the slot is not to be changed now")

// slotChange is one look at a slot that may have to be changed.
type slotChange struct {
	gate   *slotsGate
	slot   int
	wanted machines
	// Hold is why it cannot be changed now, as far as Judged says that this was looked at.
	hold   string
	judged bool
	// held is the outcome that takes the place of the engine's when the change is not to be sent now.
	held *operatorkit.Outcome
}

// prepare is called just before the slot's stack is made or changed. It errs with [errNotNow] if that must wait. What the engine does
// that the record did not foretell, such as the next change right after one that ended, is looked at here.
func (c *slotChange) prepare(ctx context.Context, known *remembered) error {
	stands := known.Digest != ""
	if !stands && !c.gate.isUnmade(c.slot) {
		var err error
		if stands, err = c.gate.stands(ctx, c.slot); err != nil {
			return err
		}
	}
	if stands && !c.judged {
		hold, err := c.gate.closed(ctx, c.slot)
		if err != nil {
			return err
		}
		if hold != "" {
			return c.wait(notItsTurn(c.gate.resolved.Slots[c.slot].StackName, hold))
		}
	}
	past := known.historyOf()
	replaces := past.Now == nil || past.Now.Differs(&c.wanted)
	if stands && replaces && len(c.gate.resolved.Slots) == 1 {
		if outcome := c.gate.readyAlone(ctx, c.gate.cluster, c.slot, c.wanted.Stack); !outcome.IsDone() {
			return c.wait(outcome)
		}
	}
	past.begin(c.wanted, c.gate.nodesOfSlot(c.gate.cluster, c.slot))
	return nil
}

func (c *slotChange) wait(outcome operatorkit.Outcome) error {
	c.held = &outcome
	return errNotNow
}

func notItsTurn(stack, why string) operatorkit.Outcome {
	return operatorkit.Wait(lookForTurn, reasonNotItsTurn, why).About(stackSubject(stack))
}

// readyAlone is done when the only machine of a control plane may go: no instance group is being changed, whose new nodes would need
// the API, and what etcd holds is in a snapshot.
func (o *operator) readyAlone(ctx context.Context, cluster *v1alpha1.Cluster, slot int, change string) operatorkit.Outcome {
	groups, err := o.groupsOf(ctx, keyOf(cluster))
	if err != nil {
		return operatorkit.Fail(err)
	}
	for i := range groups {
		if known, err := recall(groups[i].Status.Stack); err == nil && isChanging(known.Status) {
			return operatorkit.Wait(lookForTurn, "GroupsFirst", fmt.Sprintf(
				"The only machine of the control plane is replaced when instance group %s is in place, whose new nodes need the API.", groups[i].Name))
		}
	}
	return o.snapshotSlot(ctx, cluster, slot, change)
}

// nodesOfSlot returns a slot's nodes, none while the cluster is not connected to.
func (o *operator) nodesOfSlot(cluster *v1alpha1.Cluster, slot int) []workload.Node {
	connection := o.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return nil
	}
	var of []workload.Node
	for _, node := range connection.Nodes() {
		if node.Slot == slot {
			of = append(of, node)
		}
	}
	return of
}

// follow remembers what the slot's machine is made from, and puts the outcome in the words of somebody who looks at slots.
func (s slotsStep) follow(cluster *v1alpha1.Cluster, change *slotChange, status *v1alpha1.StackStatus, outcome operatorkit.Outcome) operatorkit.Outcome {
	known, err := recall(status)
	if err != nil {
		return operatorkit.Fail(err)
	}
	past := known.historyOf()
	past.settle(&known, change.wanted)
	if made := past.made(known.Status); made != nil {
		status.Bundle = made.Bundle
	}
	if err := keep(status, known); err != nil {
		return operatorkit.Fail(err)
	}
	if change.held != nil {
		return *change.held
	}
	if outcome.Reason() == reasonNotItsTurn {
		return sooner(outcome, lookForTurn)
	}
	return slotInWords(cluster, change.slot, &known, outcome)
}

// slotInWords says what happens to a slot.
func slotInWords(cluster *v1alpha1.Cluster, slot int, known *remembered, outcome operatorkit.Outcome) operatorkit.Outcome {
	switch past := known.historyOf(); {
	case outcome.Kind() == operatorkit.KindWait && isChanging(known.Status) && past.rolls():
		since := ""
		if known.StartedAt != nil {
			since = " since " + known.StartedAt.Format("15:04:05 MST")
		}
		if known.Status == statusGoingBack {
			return outcome.Explain(reasonSlotGoesBack, fmt.Sprintf("Slot %d of the control plane goes back to what it was: its new machine did not serve in time.", slot))
		}
		return sooner(outcome, lookForTurn).Explain(reasonReplacingSlot, fmt.Sprintf("The machine of slot %d of the control plane is being replaced%s.", slot, since))
	case outcome.Kind() == operatorkit.KindStall && known.FailedDigest != "":
		others := ""
		if cluster.Spec.ControlPlane.Replicas > 1 {
			others = " The other slots were not touched."
		}
		return outcome.Explain(outcome.Reason(), fmt.Sprintf(
			"Slot %d of the control plane could not be changed.%s The next edit tries this slot again, before any other. %s", slot, others, outcome.Message()))
	default:
		return outcome
	}
}

// signalSlots tells CloudFormation of a slot's new machine that serves: its node is ready with what it is expected to boot from, and
// its API server reads from etcd with quorum. That others serve as well is asked before the next slot, not here: to let a machine
// that serves go back for want of a signal, while another does not, would be what costs the quorum. It returns when to look again, 0
// if only when a node changes.
func (o *operator) signalSlots(ctx context.Context, cluster *v1alpha1.Cluster) (time.Duration, error) {
	var health map[int]string
	var look time.Duration
	for slot := range int(cluster.Spec.ControlPlane.Replicas) {
		known, err := recall(knownStack(cluster, model.SlotStackName(cluster.Name, slot)))
		if err != nil || !isChanging(known.Status) {
			continue
		}
		past := known.historyOf()
		for _, node := range o.nodesOfSlot(cluster, slot) {
			// How the stack fares may not have been looked at, so a machine of either shape is signalled.
			if _, due := past.signalIn(&node, []*machines{past.Next, past.Now}, o.options.Clock.Now()); !due {
				continue
			}
			if health == nil {
				health = o.slotsHealth(ctx, cluster)
			}
			sent, err := o.signalSlot(ctx, cluster, &known, &node, health[slot])
			if err != nil {
				return signalAgain, err
			}
			if !sent {
				look = signalAgain
			}
		}
	}
	return look, nil
}

// signalSlot signals one machine that serves, unless it was signalled before.
func (o *operator) signalSlot(ctx context.Context, cluster *v1alpha1.Cluster, known *remembered, node *workload.Node, problem string) (sent bool, err error) {
	key := signalled{cluster.UID, known.Token, node.InstanceID, isGoingBack(known.Status)}
	if _, ok := o.signals.get(key); ok {
		return true, nil
	}
	if problem != "" {
		return false, nil
	}
	waiting, err := o.options.Engine.Signal(ctx, o.target(cluster), o.slotOwner(cluster, node.Slot, known), resourceGroup, node.InstanceID)
	if waiting {
		o.signals.keep(key, struct{}{})
	}
	return waiting, err //nolint:wrapcheck // it is explained already
}

// signalSlotsPaused goes on with the signals of a Cluster that was paused while a slot is replaced: a pause must not make that fail.
func (o *operator) signalSlotsPaused(ctx context.Context, cluster *v1alpha1.Cluster) time.Duration {
	look, err := o.signalSlots(ctx, cluster)
	if err != nil {
		return signalAgain
	}
	return look
}

// tell brings the Cluster's status.rollout in line with how its slots are.
func (s slotsStep) tell(cluster *v1alpha1.Cluster, outcome operatorkit.Outcome) {
	total := cluster.Spec.ControlPlane.Replicas
	updated, rolling, back := int32(0), false, false
	for slot := range int(total) {
		known, err := recall(knownStack(cluster, model.SlotStackName(cluster.Name, slot)))
		if err != nil {
			return
		}
		past := known.historyOf()
		if _, ok := s.settled.get(stackKey{cluster.UID, model.SlotStackName(cluster.Name, slot)}); ok {
			updated++
		}
		rolling = rolling || isChanging(known.Status) && past.rolls()
		back = back || known.Status == statusGoingBack
	}
	now, told := metav1.NewTime(s.options.Clock.Now()), cluster.Status.Rollout
	if rolling && (told == nil || told.Finished != nil) {
		told = &v1alpha1.RolloutStatus{State: v1alpha1.RolloutRolling, Started: &now}
		cluster.Status.Rollout = told
	}
	if told == nil || told.Finished != nil {
		return
	}
	told.Updated, told.Total, told.Message, told.Draining = updated, total, outcome.Message(), s.drainingSlots(cluster)
	switch {
	case outcome.IsDone():
		told.State, told.Message = v1alpha1.RolloutDone, fmt.Sprintf("All %d machines of the control plane were replaced.", total)
		if total == 1 {
			told.Message = "The machine of the control plane was replaced."
		}
	case outcome.Kind() == operatorkit.KindStall && updated == 0:
		told.State = v1alpha1.RolloutRolledBack
	case outcome.Kind() == operatorkit.KindStall:
		told.State = v1alpha1.RolloutStopped
	case back:
		told.State = v1alpha1.RolloutRollingBack
	default:
		told.State = v1alpha1.RolloutRolling
	}
	if told.State != v1alpha1.RolloutRolling && told.State != v1alpha1.RolloutRollingBack {
		told.Finished = &now
	}
}

// drainingSlots returns the nodes of slots that are being emptied.
func (o *operator) drainingSlots(cluster *v1alpha1.Cluster) []v1alpha1.DrainStatus {
	var draining []v1alpha1.DrainStatus
	for _, one := range o.drains.Of(keyOf(cluster), "") {
		if one.Node == "" || one.State != drain.Draining {
			continue
		}
		began, deadline := metav1.NewTime(one.Began), metav1.NewTime(one.Deadline)
		draining = append(draining, v1alpha1.DrainStatus{
			Node: one.Node, Instance: one.Instance, Since: &began, Deadline: &deadline, Pods: int32(one.Pods), BlockedBy: one.BlockedBy, //nolint:gosec // a node has some hundred
		})
	}
	return draining
}

// aloneSince returns since when the only machine of a cluster's control plane is being replaced, "" if it is not.
func aloneSince(cluster *v1alpha1.Cluster) string {
	if cluster.Spec.ControlPlane.Replicas != 1 {
		return ""
	}
	known, err := recall(knownStack(cluster, model.SlotStackName(cluster.Name, 0)))
	if err != nil || !isChanging(known.Status) || !known.historyOf().rolls() || known.StartedAt == nil {
		return ""
	}
	return known.StartedAt.Format("15:04:05 MST")
}
