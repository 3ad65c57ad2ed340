package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/stackcache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Reasons of a control plane whose number of slots changes.
const (
	reasonShrinking     = "Shrinking"
	reasonCannotResize  = "CannotResize"
	leavePoll           = 3 * time.Second
	leaveCallTimeout    = 10 * time.Second
	requestFieldManager = "aws-operator"
)

// shrink removes the slots beyond spec.controlPlane.replicas, the highest first. Each first removes its own
// member from etcd, which needs a quorum of the others, and then its stack is deleted. It begins when the
// slots that stay are up to date, so that each of them changes while the others still serve.
func (s slotsStep) shrink(ctx context.Context, gate *slotsGate) operatorkit.Outcome {
	for _, leaving := range slices.Backward(gate.resolved.Leaving) {
		if outcome := s.remove(ctx, gate, leaving); !outcome.IsDone() {
			return outcome
		}
	}
	return operatorkit.Done()
}

// remove removes a slot that is leaving. It is done when its stack does not exist.
func (s slotsStep) remove(ctx context.Context, gate *slotsGate, leaving model.Slot) operatorkit.Outcome {
	cluster, name := gate.cluster, leaving.StackName
	s.own(cluster, name)
	status := record.FindOrAdd(cluster, name)
	known, err := record.Decode(status)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if isDeleted(status) {
		return operatorkit.Done()
	}
	stands, err := gate.stands(ctx, leaving.Index)
	if err != nil {
		return outcomes.Failed(err)
	}
	if stands && !known.Deleting {
		if outcome := s.leave(ctx, gate, leaving.Index); !outcome.IsDone() {
			return outcome
		}
	}
	s.stacks.Unsettle(stackcache.Key{UID: cluster.UID, Stack: name})
	outcome := s.apply.Delete(ctx, cluster, s.targets.Of(cluster), name, status, stack.DeleteOptions{
		RoleARN: s.targets.ServiceRole(cluster), OwnerTags: s.owner.SlotTags(cluster, leaving.Index),
	})
	if outcome.IsDone() {
		// The next reconcile removes the next slot, or the volumes.
		return operatorkit.Wait(plannedPoll, reasonShrinking, fmt.Sprintf("Slot %d of the control plane is deleted.", leaving.Index)).WithoutEvent()
	}
	return outcome
}

// leave is done when the slot's instance has left etcd. It asks the slot for that only while all slots are
// healthy.
func (s slotsStep) leave(ctx context.Context, gate *slotsGate, slot int) operatorkit.Outcome {
	wait := func(format string, args ...any) operatorkit.Outcome {
		return operatorkit.Wait(leavePoll, reasonShrinking, fmt.Sprintf(format, args...))
	}
	connection, outcome := s.credentials.Connect(ctx, gate.cluster)
	if connection == nil {
		return outcome
	}
	ctx, cancel := context.WithTimeout(ctx, leaveCallTimeout)
	defer cancel()
	maps := connection.Core().ConfigMaps(metav1.NamespaceSystem)
	asked, err := maps.Get(ctx, bundle.LeaveConfigMap, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return operatorkit.Fail(fmt.Errorf("read which slot leaves etcd: %w", err))
	}
	problems := connection.SlotProblems(ctx, model.SlotCount(gate.cluster))
	own, nodes := problems[slot], s.nodesOfSlot(gate.cluster, slot)
	delete(problems, slot)
	for _, one := range gate.resolved.Leaving {
		if isDeleted(record.Find(gate.cluster, one.StackName)) {
			delete(problems, one.Index)
		}
	}
	if problem := firstProblem(problems); problem != "" {
		return wait("Slot %d leaves etcd when all other slots are healthy: %s.", slot, problem)
	}
	of := func(node workload.Node) bool {
		return err == nil && node.InstanceID == asked.Data[bundle.LeaveInstance]
	}
	if !slices.ContainsFunc(nodes, of) {
		if own != "" || len(nodes) != 1 {
			return wait("Slot %d leaves etcd when it is healthy: %s.", slot, cmp.Or(own, "it has nodes of former instances"))
		}
		if err := ask(ctx, maps, nodes[0].InstanceID); err != nil {
			return operatorkit.Fail(err)
		}
		return wait("Slot %d is leaving etcd.", slot)
	}
	// Without its member, a slot's API server is not ready. A note that says otherwise is wrong.
	if asked.Data[bundle.LeftInstance] != asked.Data[bundle.LeaveInstance] || own == "" {
		return wait("Slot %d is leaving etcd. Its nodeup-token.service does that. If it does not, the slot was made by an operator "+
			"that cannot shrink control planes: set spec.controlPlane.replicas back, change spec.controlPlane.roll, and then shrink it.", slot)
	}
	return operatorkit.Done()
}

// ask asks a slot's instance to leave etcd, in the workload cluster.
func ask(ctx context.Context, maps corev1client.ConfigMapInterface, instance string) error {
	text, err := json.Marshal(&corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: bundle.LeaveConfigMap, Namespace: metav1.NamespaceSystem},
		Data:       map[string]string{bundle.LeaveInstance: instance, bundle.LeftInstance: ""},
	})
	if err != nil {
		return fmt.Errorf("write which slot leaves etcd: %w", err)
	}
	force := true
	if _, err := maps.Patch(ctx, bundle.LeaveConfigMap, types.ApplyPatchType, text, metav1.PatchOptions{
		FieldManager: requestFieldManager, Force: &force,
	}); err != nil {
		return fmt.Errorf("ask instance %s to leave etcd: %w", instance, err)
	}
	return nil
}

// firstProblem returns the problem of the lowest slot that has one.
func firstProblem(problems map[int]string) string {
	for slot := range model.MostSlots {
		if problem := strings.TrimSuffix(problems[slot], "."); problem != "" {
			return fmt.Sprintf("slot %d is not, %s", slot, problem)
		}
	}
	return ""
}

// removedVolumes returns the logical IDs of the volumes of slots that have left, which the base stack may
// remove: the other members have their data. CloudFormation takes a last snapshot of each. If CloudFormation
// knows a stack of such a slot, whatever the status says, the slot is recorded and has to leave first.
func (o *operator) removedVolumes(ctx context.Context, cluster *v1alpha1.Cluster, resolved *model.Cluster) ([]string, error) {
	if len(resolved.Leaving) > 0 {
		return nil, nil
	}
	var removed []string
	snapshot := resolved.Spec.ControlPlane.RestoreSnapshot
	for slot := len(resolved.Slots); slot < model.MostSlots; slot++ {
		if cluster.Status.Outputs[model.OutputEtcdVolume(slot)] == "" {
			continue
		}
		name := model.SlotStackName(cluster.Name, slot)
		status, err := o.stackStatus(ctx, cluster, name)
		if err != nil {
			return nil, err
		}
		if status != "" {
			record.FindOrAdd(cluster, name).Status = status
			return nil, fmt.Errorf("the stack %s of a slot that is to leave exists, though the status did not say so", name)
		}
		generation := model.EtcdVolumeGeneration(cluster.Status.Etcd, snapshot, slot)
		for i := range model.EtcdVolumes(cluster.Status.Outputs, slot) { // There are two if it left while it moved.
			removed = append(removed, model.EtcdVolumeID(slot, snapshot, generation+int32(i)))
		}
	}
	return removed, nil
}

// forgetLeft drops the records of slots that have left.
func forgetLeft(cluster *v1alpha1.Cluster, resolved *model.Cluster) {
	if len(resolved.Leaving) > 0 {
		return
	}
	for slot := len(resolved.Slots); slot < model.MostSlots; slot++ {
		record.Forget(cluster, model.SlotStackName(cluster.Name, slot))
		model.ForgetEtcdVolume(cluster, slot)
	}
}

// resizable stalls a change of the number of slots that the Release's slots cannot carry out. Nothing has
// changed then.
func resizable(cluster *v1alpha1.Cluster, resolved *model.Cluster) operatorkit.Outcome {
	if resolved.Features.RejoinEtcd || cluster.Status.Outputs[model.OutputEtcdVolume(0)] == "" {
		return operatorkit.Done()
	}
	grows := slices.ContainsFunc(resolved.Slots, func(slot model.Slot) bool {
		return cluster.Status.Outputs[model.OutputEtcdVolume(slot.Index)] == ""
	})
	if !grows && len(resolved.Leaving) == 0 {
		return operatorkit.Done()
	}
	return operatorkit.Stall(reasonCannotResize, fmt.Sprintf(
		"The number of slots cannot change with Release %s: its resource set is %s, and slots join and leave etcd from %s on. "+
			"Set spec.controlPlane.replicas back, change spec.release first, and then the number of slots.",
		resolved.Release.Name, resolved.ResourceSet, release.Set120,
	))
}
