package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/apply"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/approval"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/credentials"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/models"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/stackcache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// slotsStep manages a bundle and a stack for each control-plane slot. New slots are created
// concurrently. An existing slot is changed only while all others are up to date and healthy.
type slotsStep struct{ *operator }

// Name returns the step's name.
func (s slotsStep) Name() string { return "slots" }

// EnsureCreated moves every slot's stack toward the spec.
func (s slotsStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	outcome := s.ensure(ctx, cluster)
	s.reportRollout(cluster, outcome)
	outcome = conditions.Conclude(
		cluster,
		conditions.ControlPlane,
		"StacksReady",
		"The instances of all slots are running.",
		approval.WithCommand(cluster, "cluster", outcome),
	)
	return s.upkeep(ctx, cluster, outcome)
}

func (s slotsStep) ensure(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	release, err := s.objects.Release(ctx, cluster)
	if err != nil {
		return operatorkit.Fail(err)
	}
	cas, err := s.credentials.EnsureCAs(ctx, cluster)
	if err != nil {
		return credentials.Failed(err)
	}
	open := s.open(cluster, s.inputs(cluster, release, cas.Keys))
	if len(open) == 0 && len(model.LeavingSlots(cluster)) == 0 && !model.SlotsMove(cluster) {
		return operatorkit.Done()
	}
	resolved, err := s.resolve(ctx, cluster, release, cas.Keys)
	if err != nil {
		return outcomes.Unresolved(err)
	}
	gate := &slotsGate{operator: s.operator, cluster: cluster, resolved: resolved}
	var under, waiting []operatorkit.Outcome
	for _, slot := range open {
		outcome := s.ensureSlot(ctx, gate, slot)
		if outcome.IsDone() {
			key := stackcache.Key{UID: cluster.UID, Stack: model.SlotStackName(cluster.Name, slot)}
			s.stacks.Settle(key, s.inputs(cluster, release, cas.Keys), record.Find(cluster, key.Stack))
		}
		if outcome.Kind() == operatorkit.KindWait && outcome.Reason() == reasonNotItsTurn {
			waiting = append(waiting, outcome)
			continue
		}
		under = append(under, outcome)
	}
	whole := outcomes.Aggregate(under)
	if whole.IsDone() || whole.Kind() == operatorkit.KindWait { // A slot that waits for a failed one must not hide the failure.
		whole = outcomes.Aggregate(append(under, waiting...))
	}
	if whole.IsDone() {
		whole = s.endMoves(ctx, gate)
	}
	if whole.IsDone() {
		return s.shrink(ctx, gate)
	}
	return whole
}

// open returns the slots not known to be up to date, in the order of their changes: failed slots
// first.
func (s slotsStep) open(cluster *v1alpha1.Cluster, inputs uint64) []int {
	var failed, others []int
	for slot := range int(cluster.Spec.ControlPlane.Slots()) {
		name := model.SlotStackName(cluster.Name, slot)
		s.own(cluster, name)
		if s.stacks.IsSettled(stackcache.Key{UID: cluster.UID, Stack: name}, inputs, record.Find(cluster, name)) {
			continue
		}
		if known, err := record.Decode(record.Find(cluster, name)); err == nil && known.FailedDigest != "" {
			failed = append(failed, slot)
			continue
		}
		others = append(others, slot)
	}
	return append(failed, others...)
}

// inputs hashes everything that the slots' stacks depend on.
func (s slotsStep) inputs(cluster *v1alpha1.Cluster, release *v1alpha1.Release, keys model.Keys) uint64 {
	sum := fnv.New64a()
	_, _ = fmt.Fprintf(sum, "%x|%s|", s.models.Digest(cluster, release).Sum64(), keys) // Writes to a hash never fail.
	models.AddOutputs(sum, cluster.Status.Outputs)
	return sum.Sum64()
}

// ensureSlot moves a slot's stack toward the spec.
func (s slotsStep) ensureSlot(ctx context.Context, gate *slotsGate, slot int) operatorkit.Outcome {
	cluster, name := gate.cluster, gate.resolved.Slots[slot].StackName
	s.stacks.Unsettle(stackcache.Key{UID: cluster.UID, Stack: name})
	status := record.FindOrAdd(cluster, name)
	known, err := record.Decode(status)
	if err != nil {
		return operatorkit.Fail(err)
	}
	key := stackcache.Key{UID: cluster.UID, Stack: name}
	inputs := s.inputs(cluster, gate.resolved.Release, gate.resolved.Keys)
	made, err := s.stacks.Render(key, inputs, known.Machines, func() (*stacks.Made, error) {
		return stacks.Slot(gate.resolved, slot, cluster.Status.Outputs, &known, s.bucket.NodeupHash)
	})
	if err != nil {
		return notMade(fmt.Sprintf("slot %d", slot), err)
	}
	wanted := made.Machines
	change := &slotChange{gate: gate, slot: slot, wanted: wanted}
	stands, hold, err := change.find(ctx, &known)
	if err != nil {
		return outcomes.Failed(err)
	}
	if hold != "" {
		return waitForTurn(name, hold)
	}
	if apply.Changes(&known, cluster, made.Stack) {
		if change.hold, err = gate.closed(ctx, slot); err != nil {
			return outcomes.Failed(err)
		}
		change.judged = true
	}
	_, outcome := s.apply.Ensure(ctx, cluster, s.targets.Of(cluster), status, made.Stack, apply.Options{
		Manual:  approval.IsManual(cluster.Spec.UpdatePolicy),
		Refresh: stands, // The record was lost; what exists needs no turn to be found again.
		Hold:    change.hold,
		Limit:   s.targets.Limit(cluster),
		Parts:   known.History().Now.Changed(&wanted),
		Prepare: func(ctx context.Context, known *record.Stack) error {
			if err := s.outputs.Confirm(ctx, cluster); err != nil {
				return err
			}
			if err := change.prepare(ctx, known); err != nil {
				return err
			}
			return s.storeBundle(ctx, cluster, status, known, made.Bundle, wanted.Nodeup)
		},
		Resume: func(known *record.Stack, sent time.Time) {
			known.History().Resume(wanted, s.nodesOfSlot(cluster, slot), sent)
		},
	})
	return s.follow(cluster, change, status, outcome)
}

// notMade returns the outcome for a stack of instances that cannot be rendered.
func notMade(what string, err error) operatorkit.Outcome {
	if wrong, ok := errors.AsType[*stacks.BundleError](err); ok {
		return operatorkit.Stall("InvalidBundle", fmt.Sprintf("The bundle of %s cannot be created: %s.", what, wrong.Err))
	}
	if missing, ok := errors.AsType[*render.MissingOutputError](err); ok { // For example, when a zone was just added.
		return operatorkit.Wait(
			outcomes.EventPoll,
			"ClusterNotReady",
			fmt.Sprintf("The network is being changed; %s waits for its %s.", what, strings.Join(missing.Outputs, ", ")),
		)
	}
	if wrong, ok := errors.AsType[*stacks.TemplateError](err); ok {
		return operatorkit.Stall("InvalidTemplate", fmt.Sprintf("The stack of %s cannot be rendered: %s.", what, wrong.Err))
	}
	return lackingNodeup(err)
}

// storeBundle stores the bundle of a stack unless it is known to exist, and records the matching
// nodeup.
func (o *operator) storeBundle(
	ctx context.Context, cluster *v1alpha1.Cluster, status *v1alpha1.StackStatus, known *record.Stack,
	made *bootstrap.Bundle, nodeup string,
) error {
	document := made.JSON()
	hash := bundle.HashOf(document)
	if status.Bundle == hash && known.Nodeup == nodeup {
		return nil
	}
	if err := o.bucket.Of(cluster).Put(ctx, model.BundleKey(hash), "application/json", bytes.NewReader(document)); err != nil {
		return err
	}
	status.Bundle, known.Nodeup = hash, nodeup
	return nil
}

// EnsureDeleted deletes the stacks of all slots, including those missing from the status.
func (s slotsStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if cluster.Status.Account == "" {
		return operatorkit.Done()
	}
	var all []operatorkit.Outcome
	for slot := range model.MostSlots {
		name := model.SlotStackName(cluster.Name, slot)
		s.own(cluster, name)
		s.stacks.Unsettle(stackcache.Key{UID: cluster.UID, Stack: name})
		status := record.Find(cluster, name)
		unknown := status == nil && slot >= int(cluster.Spec.ControlPlane.Slots())
		if isDeleted(status) || unknown && cluster.Status.Outputs[model.OutputEtcdVolume(slot)] == "" {
			continue
		}
		if status == nil {
			status = record.FindOrAdd(cluster, name)
		}
		all = append(
			all,
			s.apply.Delete(
				ctx, cluster, s.targets.Of(cluster), name, status, stack.DeleteOptions{
					RoleARN: s.targets.ServiceRole(cluster), OwnerTags: s.owner.SlotTags(cluster, slot),
				},
			),
		)
	}
	return outcomes.Aggregate(all)
}

// deleteComplete is CloudFormation's status of a deleted stack.
const deleteComplete = "DELETE_COMPLETE"

// isDeleted reports whether a stack is deleted.
func isDeleted(status *v1alpha1.StackStatus) bool {
	known, err := record.Decode(status)
	return err == nil && known.Deleting && known.Status == deleteComplete
}
