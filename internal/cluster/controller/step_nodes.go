package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8stypes "k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/repair"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// workloadTimeout is the timeout of a call to a workload cluster's API.
	workloadTimeout = 10 * time.Second
	// nodesAtOnce bounds the number of nodes that one reconcile changes.
	nodesAtOnce = 50
)

// nodesStep sets labels that kubelets must not set themselves, deletes Nodes of terminated
// instances, and counts nodes.
type nodesStep struct{ *operator }

// Name returns the step's name.
func (s nodesStep) Name() string { return "nodes" }

// EnsureCreated updates the nodes.
func (s nodesStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	connection := s.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return operatorkit.Wait(outcomes.EventPoll, "NotConnected", "The operator is not connected to the cluster's API yet.")
	}
	var problems []error
	changed, requeueAfter := 0, time.Duration(0)
	for _, node := range connection.Nodes() {
		if changed == nodesAtOnce {
			return operatorkit.Done().RequeueAfter(time.Second)
		}
		terminated, wait, err := s.instances.IsTerminated(ctx, cluster, &node)
		if wait > 0 && (requeueAfter == 0 || wait < requeueAfter) {
			requeueAfter = wait
		}
		label := roleLabel(&node)
		switch {
		case err != nil:
		case terminated:
			changed++
			err = removeNode(ctx, connection, &node)
		case label != "":
			changed++
			err = labelNode(ctx, connection, &node, label)
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return outcomes.Failed(err)
	}
	if err := s.tally(ctx, cluster, connection.Nodes()); err != nil {
		return operatorkit.Fail(err)
	}
	again, err := s.repairs.Slots(ctx, repair.Slots{
		Cluster: cluster, Target: s.targets.Of(cluster), Connection: connection,
		Problems:       func(ctx context.Context) map[int]string { return s.slotsHealth(ctx, cluster) },
		MissingVolumes: func(ctx context.Context) ([]int, error) { return s.volumes.Missing(ctx, cluster) },
		ReplaceVolume:  func(ctx context.Context, slot int) (string, error) { return s.replaceVolume(ctx, cluster, slot) },
	})
	if err != nil {
		return outcomes.Failed(err)
	}
	return outcomes.RequeueAfterMin(operatorkit.Done().RequeueAfter(requeueAfter), again)
}

// replaceVolume requests another etcd volume for a slot that lost its own.
func (s nodesStep) replaceVolume(ctx context.Context, cluster *v1alpha1.Cluster, slot int) (problem string, err error) {
	release, err := s.objects.Release(ctx, cluster)
	if err != nil {
		return "", err
	}
	resolved, err := s.models.Resolve(ctx, cluster, release)
	if err != nil {
		return "", err
	}
	return s.volumes.Replace(cluster, resolved, slot), nil
}

// EnsureDeleted releases draining instances at once: pods of a deleted cluster have nowhere to
// move. The Nodes are deleted with the cluster.
func (s nodesStep) EnsureDeleted(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	s.draining.Continue(keyOf(cluster), "", true)
	return operatorkit.Done()
}

// roleLabel returns the role label that a node lacks, "" if none. The node's role is that of its
// instance. Kubelets must not set this label:
// https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
func roleLabel(node *workload.Node) string {
	label := ""
	switch {
	case node.Slot != workload.NoSlot:
		label = model.LabelControlPlane
	case node.Group != "":
		label = model.LabelWorker
	}
	if _, ok := node.Labels[label]; ok {
		return ""
	}
	return label
}

func labelNode(ctx context.Context, to *workload.Cluster, node *workload.Node, label string) error {
	ctx, cancel := context.WithTimeout(ctx, workloadTimeout)
	defer cancel()
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"labels":{%q:""}}}`, node.UID, label)
	_, err := to.Core().
		Nodes().
		Patch(ctx, node.Name, k8stypes.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: fieldOwner})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("label node %s: %w", node.Name, err)
	}
	return nil
}

func removeNode(ctx context.Context, from *workload.Cluster, node *workload.Node) error {
	ctx, cancel := context.WithTimeout(ctx, workloadTimeout)
	defer cancel()
	uid := k8stypes.UID(node.UID)
	err := from.Core().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete node %s, whose instance is terminated: %w", node.Name, err)
	}
	return nil
}
