package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/signals"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/stackcache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Reasons of a control plane whose instances are being replaced.
const (
	reasonNotItsTurn    = "OneSlotAtATime"
	reasonReplacingSlot = "ReplacingSlot"
	reasonSlotGoesBack  = "SlotGoesBack"
	// reasonReplacing is the reason that the API of a cluster with one slot does not respond.
	reasonReplacing = "Replacing"
)

// turnPoll is the interval at which a slot checks whether it may change and whether its new
// instance is to be signaled.
const turnPoll = 3 * time.Second

// givenUpAfter is how long the API of a control plane must not respond until it changes although the
// versions that it runs are not known. An API server that restarts responds sooner.
const givenUpAfter = 10 * time.Minute

// errNotNow prevents a change of a slot from being sent. The change's outcome contains the reason.
var errNotNow = errors.New("the slot is not to be changed now")

// slotChange is a potential change of a slot during one reconcile.
type slotChange struct {
	gate   *slotsGate
	slot   int
	wanted record.Machines
	// hold is why the slot cannot change now; judged reports that this was checked.
	hold   string
	judged bool
	// unmade reports that the slot's stack cannot exist.
	unmade bool
	// held, if not nil, replaces the engine's outcome of a change that must wait.
	held *operatorkit.Outcome
}

// find reports whether the slot's stack exists although its record was lost. If it does not exist, find returns why it
// cannot be created now, "" if it can.
func (c *slotChange) find(ctx context.Context, known *record.Stack) (stands bool, hold string, err error) {
	if known.StackID != "" {
		return false, "", nil
	}
	if c.unmade = c.gate.isUnmade(c.slot); c.unmade {
		return false, "", nil
	}
	if stands, err = c.gate.stands(ctx, c.slot); err != nil || stands {
		return stands, "", err
	}
	hold, err = c.gate.keepsFromGrowing(ctx, c.slot)
	return false, hold, err
}

// prepare is called just before the slot's stack is created or updated. It returns [errNotNow] if
// that must wait. It also checks changes that the record did not predict, such as one right after
// another.
func (c *slotChange) prepare(ctx context.Context, known *record.Stack) error {
	stands := known.Digest != ""
	if !stands && !c.unmade {
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
			return c.wait(waitForTurn(c.gate.resolved.Slots[c.slot].StackName, hold))
		}
	}
	if stands && c.gate.cluster.Status.Version == "" { // The upgrade step could not judge the change.
		if outcome := c.mayMove(ctx); !outcome.IsDone() {
			return c.wait(outcome)
		}
	}
	if outcome := plan(known, &c.wanted); !outcome.IsDone() {
		return c.wait(outcome)
	}
	past := known.History()
	replaces := past.Now == nil || past.Now.Differs(&c.wanted)
	if stands && replaces && len(c.gate.resolved.AllSlots()) == 1 {
		if outcome := c.gate.readyAlone(ctx, c.gate.cluster, c.slot, c.wanted.Stack); !outcome.IsDone() {
			return c.wait(outcome)
		}
	}
	past.Begin(c.wanted, c.gate.nodesOfSlot(c.gate.cluster, c.slot))
	known.Planned = nil
	return nil
}

// mayMove is done when the version skew policy allows the change of a control plane whose version is in no
// status. It waits until the nodes of the control plane are known, or its API has not responded for so long
// that the change may be what repairs it.
func (c *slotChange) mayMove(ctx context.Context) operatorkit.Outcome {
	cluster := c.gate.cluster
	if connection := c.gate.options.Workload.Get(keyOf(cluster)); connection != nil {
		silent := connection.SilentFor()
		known := slices.ContainsFunc(connection.Nodes(), func(node workload.Node) bool { return node.Slot != workload.NoSlot })
		if !known && silent < givenUpAfter {
			return operatorkit.Wait(turnPoll, "NotConnected", fmt.Sprintf(
				"Reading the versions of the control plane's nodes before changing them: the Cluster's status does not contain them. "+
					"If its API does not respond for %d minutes, they change without.", int(givenUpAfter.Minutes()),
			))
		}
	}
	return upgradeStep{c.gate.operator}.mayMove(ctx, cluster, c.gate.resolved.Release)
}

// plannedPoll is when a change continues after the status was written.
const plannedPoll = 10 * time.Millisecond

// plan is done when the status contains what the instances of a change boot with. Otherwise, the change is sent by
// the next reconcile: if this process ended between the change and its record, an operator with another nodeup
// would change the stack again, and replace the instances.
func plan(known *record.Stack, wanted *record.Machines) operatorkit.Outcome {
	if known.Plan(wanted) {
		return operatorkit.Done()
	}
	return operatorkit.Wait(plannedPoll, "Planned", "The change is recorded before it is sent.").WithoutEvent()
}

func (c *slotChange) wait(outcome operatorkit.Outcome) error {
	c.held = &outcome
	return errNotNow
}

func waitForTurn(stack, why string) operatorkit.Outcome {
	return operatorkit.Wait(turnPoll, reasonNotItsTurn, why).About(outcomes.StackSubject(stack))
}

// readyAlone is done when the only instance of a control plane may be replaced: no instance group
// is changing, whose new nodes would need the API, and etcd's data is in a snapshot, unless the Cluster
// disables backups.
func (o *operator) readyAlone(ctx context.Context, cluster *v1alpha1.Cluster, slot int, change string) operatorkit.Outcome {
	groups, err := o.objects.GroupsOf(ctx, keyOf(cluster))
	if err != nil {
		return operatorkit.Fail(err)
	}
	for i := range groups {
		if known, err := record.Decode(groups[i].Status.Stack); err == nil && record.IsChanging(known.Status) {
			return operatorkit.Wait(turnPoll, "GroupsFirst", fmt.Sprintf(
				"The only control-plane instance is replaced after the change of instance group %s, whose new nodes need the API.",
				groups[i].Name,
			))
		}
	}
	return o.backups.BeforeChange(ctx, cluster, slot, change)
}

// nodesOfSlot returns a slot's nodes, none while the cluster is not connected.
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

// follow records what the slot's instance is made from, and returns the outcome in terms of slots.
func (s slotsStep) follow(
	cluster *v1alpha1.Cluster, change *slotChange, status *v1alpha1.StackStatus, outcome operatorkit.Outcome,
) operatorkit.Outcome {
	known, err := record.Decode(status)
	if err != nil {
		return operatorkit.Fail(err)
	}
	past := known.History()
	past.Settle(&known, change.wanted)
	if made := past.Made(known.Status); made != nil {
		status.Bundle = made.Bundle
	}
	if err := record.Encode(status, known); err != nil {
		return operatorkit.Fail(err)
	}
	if change.held != nil {
		return *change.held
	}
	if outcome.Reason() == reasonNotItsTurn {
		return outcomes.RequeueAfterMin(outcome, turnPoll)
	}
	return describeMove(&change.gate.resolved.Slots[change.slot], &known, describeSlotOutcome(cluster, change.slot, &known, outcome))
}

// describeSlotOutcome describes the change of a slot.
func describeSlotOutcome(cluster *v1alpha1.Cluster, slot int, known *record.Stack, outcome operatorkit.Outcome) operatorkit.Outcome {
	switch past := known.History(); {
	case outcome.Kind() == operatorkit.KindWait && record.IsChanging(known.Status) && past.Rolls():
		since := ""
		if known.StartedAt != nil {
			since = " since " + known.StartedAt.Format("15:04:05 MST")
		}
		if known.Status == record.StatusRollingBack {
			return outcome.Explain(
				reasonSlotGoesBack,
				fmt.Sprintf("Slot %d of the control plane is rolling back: its new instance did not become healthy in time.", slot),
			)
		}
		return outcomes.RequeueAfterMin(
			outcome,
			turnPoll,
		).Explain(reasonReplacingSlot, fmt.Sprintf("The instance of slot %d of the control plane is being replaced%s.", slot, since))
	case outcome.Kind() == operatorkit.KindStall && known.FailedDigest != "":
		others := ""
		if cluster.Spec.ControlPlane.Slots() > 1 {
			others = " The other slots are unchanged."
		}
		return outcome.Explain(outcome.Reason(), fmt.Sprintf(
			"The change of slot %d of the control plane failed.%s The next edit retries this slot before any other. %s",
			slot,
			others,
			outcome.Message(),
		))
	default:
		return outcome
	}
}

// signalSlots signals CloudFormation for a slot's new instance that is healthy: its node is Ready
// and booted with an expected bundle, and its API server reads from etcd with quorum. The health of
// the other slots is checked before the next slot changes, not here: rolling back a healthy
// instance for lack of a signal while another slot is unhealthy is what would cost the quorum. It
// returns the delay until the next check, 0 if only a node's change requires one.
func (o *operator) signalSlots(ctx context.Context, cluster *v1alpha1.Cluster) (time.Duration, error) {
	var health map[int]string
	var requeueAfter time.Duration
	for slot := range int(cluster.Spec.ControlPlane.Slots()) {
		known, err := record.Decode(record.Find(cluster, model.SlotStackName(cluster.Name, slot)))
		if err != nil || !record.IsChanging(known.Status) {
			continue
		}
		past := known.History()
		for _, node := range o.nodesOfSlot(cluster, slot) {
			// The stack's status may be outdated, so instances of either configuration are
			// signaled.
			now := o.options.Clock.Now()
			_, due := past.SignalIn(&node, []*record.Machines{past.Next, past.Now}, now)
			if _, lost := past.SignalLostIn(&node, &known, nil, now); !due && !lost {
				continue
			}
			if health == nil {
				health = o.slotsHealth(ctx, cluster)
			}
			to := signals.Stack{UID: cluster.UID, Target: o.targets.Of(cluster), Owner: o.owner.Slot(cluster, slot, &known)}
			sent, err := o.signals.SendSlot(ctx, to, &node, &known, health[slot])
			if err != nil {
				return signals.Retry, err
			}
			if !sent {
				requeueAfter = signals.Retry
			}
		}
	}
	return requeueAfter, nil
}

// signalSlotsPaused continues to signal for a Cluster that was paused while a slot is being
// replaced, so that the pause does not make the change fail.
func (o *operator) signalSlotsPaused(ctx context.Context, cluster *v1alpha1.Cluster) time.Duration {
	requeueAfter, err := o.signalSlots(ctx, cluster)
	if err != nil {
		return signals.Retry
	}
	return requeueAfter
}

// reportRollout updates the Cluster's status.rollout.
func (s slotsStep) reportRollout(cluster *v1alpha1.Cluster, outcome operatorkit.Outcome) {
	total := cluster.Spec.ControlPlane.Slots()
	updated, rolling, back := int32(0), false, false
	for slot := range int(total) {
		known, err := record.Decode(record.Find(cluster, model.SlotStackName(cluster.Name, slot)))
		if err != nil {
			return
		}
		past := known.History()
		if s.stacks.WasSettled(stackcache.Key{UID: cluster.UID, Stack: model.SlotStackName(cluster.Name, slot)}) {
			updated++
		}
		rolling = rolling || record.IsChanging(known.Status) && past.Rolls()
		back = back || known.Status == record.StatusRollingBack
	}
	now, rolloutStatus := metav1.NewTime(s.options.Clock.Now()), cluster.Status.Rollout
	if rolling && (rolloutStatus == nil || rolloutStatus.Finished != nil) {
		rolloutStatus = &v1alpha1.RolloutStatus{State: v1alpha1.RolloutRolling, Started: &now}
		cluster.Status.Rollout = rolloutStatus
	}
	if rolloutStatus == nil || rolloutStatus.Finished != nil {
		return
	}
	rolloutStatus.Updated, rolloutStatus.Total, rolloutStatus.Message = updated, total, outcome.Message()
	rolloutStatus.Draining = s.draining.SlotStatus(cluster)
	switch {
	case outcome.IsDone():
		rolloutStatus.State, rolloutStatus.Message = v1alpha1.RolloutDone, fmt.Sprintf(
			"All %d instances of the control plane were replaced.", total,
		)
		if total == 1 {
			rolloutStatus.Message = "The instance of the control plane was replaced."
		}
	case outcome.Kind() == operatorkit.KindStall && updated == 0:
		rolloutStatus.State = v1alpha1.RolloutRolledBack
	case outcome.Kind() == operatorkit.KindStall:
		rolloutStatus.State = v1alpha1.RolloutStopped
	case back:
		rolloutStatus.State = v1alpha1.RolloutRollingBack
	default:
		rolloutStatus.State = v1alpha1.RolloutRolling
	}
	if rolloutStatus.State != v1alpha1.RolloutRolling && rolloutStatus.State != v1alpha1.RolloutRollingBack {
		rolloutStatus.Finished = &now
	}
}

// aloneSince returns since when the only instance of a control plane is being replaced, "" if it is
// not.
func aloneSince(cluster *v1alpha1.Cluster) string {
	if cluster.Spec.ControlPlane.Slots() != 1 {
		return ""
	}
	known, err := record.Decode(record.Find(cluster, model.SlotStackName(cluster.Name, 0)))
	if err != nil || !record.IsChanging(known.Status) || !known.History().Rolls() || known.StartedAt == nil {
		return ""
	}
	return known.StartedAt.Format("15:04:05 MST")
}
