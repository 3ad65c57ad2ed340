package controller

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// slotsStep keeps a bundle and a stack for each slot of the control plane. New slots are made all at
// once; a slot that exists is changed only while all others are in place and serve.
type slotsStep struct{ *operator }

// mostSlots is how many slots a control plane has at most.
const mostSlots = 3

// Name returns the step's name.
func (s slotsStep) Name() string { return "slots" }

// EnsureCreated brings every slot's stack one step nearer to what the spec says.
func (s slotsStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	outcome := s.ensure(ctx, cluster)
	s.tell(cluster, outcome)
	outcome = conclude(cluster, conditionControlPlane, "StacksReady", "The machines of all slots are in place.", asking(cluster, "cluster", outcome))
	return s.upkeep(ctx, cluster, outcome)
}

func (s slotsStep) ensure(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	release, err := s.release(ctx, cluster)
	if err != nil {
		return operatorkit.Fail(err)
	}
	open := s.open(cluster, s.inputs(cluster, release))
	if len(open) == 0 {
		return operatorkit.Done()
	}
	resolved, err := s.resolve(ctx, cluster, release)
	if err != nil {
		return unresolved(err)
	}
	gate := &slotsGate{operator: s.operator, cluster: cluster, resolved: resolved}
	var under, waiting []operatorkit.Outcome
	for _, slot := range open {
		outcome := s.ensureSlot(ctx, gate, slot)
		if outcome.IsDone() {
			s.settled.keep(stackKey{cluster.UID, model.SlotStackName(cluster.Name, slot)}, s.inputs(cluster, release))
		}
		if outcome.Kind() == operatorkit.KindWait && outcome.Reason() == reasonNotItsTurn {
			waiting = append(waiting, outcome)
			continue
		}
		under = append(under, outcome)
	}
	whole := together(under)
	if whole.IsDone() || whole.Kind() == operatorkit.KindWait { // A slot that waits for one that failed does not make that one's failure pass.
		whole = together(append(under, waiting...))
	}
	return whole
}

// open returns the slots that are not known to be in place, in the order in which they are changed: what failed before goes first.
func (s slotsStep) open(cluster *v1alpha1.Cluster, inputs uint64) []int {
	var failed, others []int
	for slot := range int(cluster.Spec.ControlPlane.Replicas) {
		name := model.SlotStackName(cluster.Name, slot)
		s.own(cluster, name)
		if last, ok := s.settled.get(stackKey{cluster.UID, name}); ok && last == inputs {
			continue
		}
		if known, err := recall(knownStack(cluster, name)); err == nil && known.FailedDigest != "" {
			failed = append(failed, slot)
			continue
		}
		others = append(others, slot)
	}
	return append(failed, others...)
}

// inputs hashes all that the slots' stacks are made from.
func (s slotsStep) inputs(cluster *v1alpha1.Cluster, release *v1alpha1.Release) uint64 {
	sum := fnv.New64a()
	_, _ = fmt.Fprintf(sum, "%x|", s.digestOf(cluster, release).Sum64()) // Writing to a hash never fails.
	addOutputs(sum, cluster.Status.Outputs)
	return sum.Sum64()
}

// ensureSlot brings a slot's stack one step nearer to what the spec says.
func (s slotsStep) ensureSlot(ctx context.Context, gate *slotsGate, slot int) operatorkit.Outcome {
	cluster, name := gate.cluster, gate.resolved.Slots[slot].StackName
	s.settled.drop(stackKey{cluster.UID, name})
	status := stackOf(cluster, name)
	known, err := recall(status)
	if err != nil {
		return operatorkit.Fail(err)
	}
	made, err := bootstrap.ControlPlane(gate.resolved, slot, cluster.Status.Outputs)
	if err != nil {
		return operatorkit.Stall("InvalidBundle", fmt.Sprintf("The bundle of slot %d cannot be made: %s.", slot, err))
	}
	release := gate.resolved.Release
	wanted := machines{Bundle: made.Hash(), Nodeup: known.historyOf().nodeup(made.Hash()), Release: release.Name, Version: release.Spec.Kubernetes}
	if wanted.Nodeup == "" {
		if wanted.Nodeup, err = s.nodeupFor(status, made.Hash(), gate.resolved.ControlPlaneArchitecture); err != nil {
			return lackingNodeup(err)
		}
	}
	rendered, err := s.render(gate.resolved, slot, cluster.Status.Outputs, &wanted, known.historyOf())
	if err != nil {
		return operatorkit.Stall("InvalidTemplate", fmt.Sprintf("The stack of slot %d cannot be rendered: %s.", slot, err))
	}
	stack := desired(cluster, rendered)
	wanted.Stack = stack.Digest()
	change := &slotChange{gate: gate, slot: slot, wanted: wanted}
	if changes(&known, cluster, rendered) {
		if change.hold, err = gate.closed(ctx, slot); err != nil {
			return failed(err)
		}
		change.judged = true
	}
	_, outcome := s.ensureStack(ctx, cluster, s.target(cluster), status, rendered, manner{
		hold: change.hold,
		prepare: func(ctx context.Context, known *remembered) error {
			if err := change.prepare(ctx, known); err != nil {
				return err
			}
			return s.storeBundle(ctx, cluster, status, known, made, wanted.Nodeup)
		},
	})
	return s.follow(cluster, change, status, outcome)
}

// render renders a slot's stack. Where only the tags of disks would change, they stay as they are: a change of them alone would
// replace the machine.
func (s slotsStep) render(resolved *model.Cluster, slot int, outputs map[string]string, wanted *machines, past *history) (*render.Stack, error) {
	userData, err := userDataFor(resolved, resolved.ControlPlaneArchitecture, wanted.Nodeup, wanted.Bundle)
	if err != nil {
		return nil, err
	}
	rendered, err := render.Slot(resolved, slot, outputs, userData)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says which stack cannot be rendered
	}
	wanted.Shape, wanted.DiskTags = rendered.Shape(), resolved.Slots[slot].DiskTags
	if tags := past.diskTags(wanted.Shape); tags != nil && !maps.Equal(tags, wanted.DiskTags) {
		wanted.DiskTags = tags
		as := *resolved // Others read it, too.
		as.Slots = slices.Clone(resolved.Slots)
		as.Slots[slot].DiskTags = tags
		return render.Slot(&as, slot, outputs, userData) //nolint:wrapcheck // as above
	}
	return rendered, nil
}

// storeBundle stores the bundle of a stack, unless it is known to be there, and notes the nodeup that
// goes with it.
func (o *operator) storeBundle(
	ctx context.Context, cluster *v1alpha1.Cluster, status *v1alpha1.StackStatus, known *remembered, made *bootstrap.Bundle, nodeup string,
) error {
	document := made.JSON()
	hash := bundle.HashOf(document)
	if status.Bundle == hash && known.Nodeup == nodeup {
		return nil
	}
	if err := o.bucketOf(cluster).put(ctx, model.BundleKey(hash), "application/json", bytes.NewReader(document)); err != nil {
		return err
	}
	status.Bundle, known.Nodeup = hash, nodeup
	return nil
}

// userDataFor returns what a machine boots with.
func userDataFor(resolved *model.Cluster, architecture v1alpha1.Architecture, nodeup, bundleHash string) (string, error) {
	userData, err := bootstrap.UserData(bootstrap.UserDataInput{
		Region: resolved.Region, DNSSuffix: resolved.DNSSuffix, Bucket: resolved.Bucket,
		Architecture: string(architecture), NodeupSHA256: nodeup, BundleSHA256: bundleHash,
	})
	if err != nil {
		return "", fmt.Errorf("make user data: %w", err)
	}
	return userData, nil
}

// EnsureDeleted deletes the stacks of all slots, also of those that the status does not know.
func (s slotsStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if cluster.Status.Account == "" {
		return operatorkit.Done()
	}
	var outcomes []operatorkit.Outcome
	for slot := range mostSlots {
		name := model.SlotStackName(cluster.Name, slot)
		s.own(cluster, name)
		s.settled.drop(stackKey{cluster.UID, name})
		status := knownStack(cluster, name)
		if isGone(status) || status == nil && slot >= int(cluster.Spec.ControlPlane.Replicas) {
			continue
		}
		if status == nil {
			status = stackOf(cluster, name)
		}
		outcomes = append(outcomes, s.deleteStack(ctx, cluster, s.target(cluster), name, status, stack.DeleteOptions{OwnerTags: s.ownerTags(cluster)}))
	}
	return together(outcomes)
}

// deleteComplete is CloudFormation's word for a stack that is gone.
const deleteComplete = "DELETE_COMPLETE"

// isGone reports whether a stack was deleted for good.
func isGone(status *v1alpha1.StackStatus) bool {
	known, err := recall(status)
	return err == nil && known.Deleting && known.Status == deleteComplete
}
