package controller

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"

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
	return s.upkeep(ctx, cluster, conclude(cluster, conditionControlPlane, "StacksReady", "The machines of all slots are in place.", asking(cluster, "cluster", s.ensure(ctx, cluster))))
}

func (s slotsStep) ensure(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	release, err := s.release(ctx, cluster)
	if err != nil {
		return operatorkit.Fail(err)
	}
	digest := s.inputs(cluster, release)
	var open []int
	for slot := range int(cluster.Spec.ControlPlane.Replicas) {
		name := model.SlotStackName(cluster.Name, slot)
		s.own(cluster, name)
		if last, ok := s.settled.get(stackKey{cluster.UID, name}); !ok || last != digest {
			open = append(open, slot)
		}
	}
	if len(open) == 0 {
		return operatorkit.Done()
	}
	resolved, err := s.resolve(ctx, cluster, release)
	if err != nil {
		return unresolved(err)
	}
	outcomes := make([]operatorkit.Outcome, 0, len(open))
	for _, slot := range open {
		outcome := s.ensureSlot(ctx, cluster, resolved, slot)
		if outcome.IsDone() {
			s.settled.keep(stackKey{cluster.UID, model.SlotStackName(cluster.Name, slot)}, s.inputs(cluster, release))
		}
		outcomes = append(outcomes, outcome)
	}
	return together(outcomes)
}

// inputs hashes all that the slots' stacks are made from.
func (s slotsStep) inputs(cluster *v1alpha1.Cluster, release *v1alpha1.Release) uint64 {
	sum := fnv.New64a()
	_, _ = fmt.Fprintf(sum, "%x|", s.digestOf(cluster, release).Sum64()) // Writing to a hash never fails.
	addOutputs(sum, cluster.Status.Outputs)
	return sum.Sum64()
}

// ensureSlot stores the slot's bundle and brings its stack one step nearer to what the spec says.
func (s slotsStep) ensureSlot(ctx context.Context, cluster *v1alpha1.Cluster, resolved *model.Cluster, slot int) operatorkit.Outcome {
	name := resolved.Slots[slot].StackName
	s.settled.drop(stackKey{cluster.UID, name})
	made, err := bootstrap.ControlPlane(resolved, slot, cluster.Status.Outputs)
	if err != nil {
		return operatorkit.Stall("InvalidBundle", fmt.Sprintf("The bundle of slot %d cannot be made: %s.", slot, err))
	}
	nodeup, err := s.nodeupFor(stackOf(cluster, name), made.Hash(), resolved.ControlPlaneArchitecture)
	if err != nil {
		return lackingNodeup(err)
	}
	userData, err := userDataFor(resolved, resolved.ControlPlaneArchitecture, nodeup, made.Hash())
	if err != nil {
		return operatorkit.Fail(err)
	}
	wanted, err := render.Slot(resolved, slot, cluster.Status.Outputs, userData)
	if err != nil {
		return operatorkit.Stall("InvalidTemplate", fmt.Sprintf("The stack of slot %d cannot be rendered: %s.", slot, err))
	}
	status := stackOf(cluster, name)
	_, outcome := s.ensureStack(ctx, cluster, s.target(cluster), status, wanted, manner{
		hold: s.mustYield(cluster, resolved, slot, wanted),
		prepare: func(ctx context.Context, known *remembered) error {
			return s.storeBundle(ctx, cluster, status, known, made, nodeup)
		},
	})
	return outcome
}

// mustYield returns why a slot that exists cannot be changed now, "" if it can.
func (s slotsStep) mustYield(cluster *v1alpha1.Cluster, resolved *model.Cluster, slot int, wanted *render.Stack) string {
	known, err := recall(knownStack(cluster, wanted.Name))
	if err != nil || !changes(&known, cluster, wanted) {
		return ""
	}
	for _, other := range resolved.Slots {
		if other.Index == slot {
			continue
		}
		record, err := recall(knownStack(cluster, other.StackName))
		if err != nil || record.Digest == "" || record.PendingDigest != "" {
			return fmt.Sprintf("it is changed when slot %d is in place.", other.Index)
		}
		if record.FailedDigest != "" && other.Index < slot { // What failed there would fail here. Of several that failed, the first goes first.
			return fmt.Sprintf("it is changed when slot %d, whose change failed, is in place.", other.Index)
		}
		if !s.serves(cluster, other.Index) {
			return fmt.Sprintf("it is changed when the node of slot %d is ready.", other.Index)
		}
	}
	return ""
}

// serves reports whether a slot has a node that is ready.
func (s slotsStep) serves(cluster *v1alpha1.Cluster, slot int) bool {
	connection := s.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return false
	}
	if reachable, _ := connection.Reachable(); !reachable {
		return false
	}
	for _, node := range connection.Nodes() {
		if node.Slot == slot && node.Ready {
			return true
		}
	}
	return false
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
