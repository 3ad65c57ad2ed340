package drain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

const (
	// DrainingAnnotation is on a Node that is being drained. Its value is the start time, in RFC
	// 3339.
	DrainingAnnotation = "cluster-operator.aws/draining"
	// excludedByUs is the value with which the operator sets the label that excludes a node from
	// load balancers.
	excludedByUs = "draining"
	fieldOwner   = "aws-operator"
)

// readNode reads from the Node when the drain began. The annotation on a schedulable node is left
// from a drain that a user ended.
func (r *run) readNode(ctx context.Context, node *workload.Node) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := r.to.Core().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
	if err != nil {
		r.problem = fmt.Sprintf("Node %s cannot be read: %s.", node.Name, err)
		return
	}
	r.looked = true
	began, err := time.Parse(time.RFC3339, found.Annotations[DrainingAnnotation])
	if err != nil || !found.Spec.Unschedulable {
		return
	}
	r.view.began = began
	by, excluded := found.Labels[corev1.LabelNodeExcludeBalancers]
	r.view.prepared, r.excluded = excluded, by == excludedByUs
}

// prepare cordons the node and, if it is to be drained, excludes it from load balancers and records
// the start.
func (r *run) prepare(ctx context.Context, empty bool) {
	if empty && !r.looked {
		r.view.nodeAt = r.now().Add(firstFailure)
		return
	}
	metadata, excludes := map[string]any{}, false
	if empty {
		metadata["annotations"] = map[string]any{DrainingAnnotation: r.view.began.Format(time.RFC3339)}
		if node, ok := r.to.NodeOf(r.view.order.Instance); ok {
			if _, excluded := node.Labels[corev1.LabelNodeExcludeBalancers]; !excluded {
				metadata["labels"] = map[string]any{corev1.LabelNodeExcludeBalancers: excludedByUs}
				excludes = true
			}
		}
	}
	err := r.patchNode(ctx, r.view.node.name, map[string]any{"metadata": metadata, "spec": map[string]any{"unschedulable": true}})
	if err != nil {
		r.problem = fmt.Sprintf("Node %s cannot be cordoned: %s.", r.view.node.name, err)
		r.view.nodeAt = r.now().Add(firstFailure)
		return
	}
	r.problem, r.view.prepared, r.excluded = "", true, r.excluded || excludes
}

// reopened undoes prepare, since the instance stays. It tries until the context ends, and at least
// once, unless another drain of the instance begins.
func (r *run) reopened(ctx context.Context) {
	for r.drains.current(r) {
		err := r.reopen(context.WithoutCancel(ctx))
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			r.drains.options.Logger.Info("A node stays cordoned; uncordon it manually",
				"instance", r.view.order.Instance, "error", err.Error())
			return
		}
		r.wait(ctx, r.now().Add(firstFailure))
	}
}

var errNotIdentified = errors.New("its node is not identified yet")

func (r *run) reopen(ctx context.Context) error {
	to := r.drains.options.Workload.Get(r.view.order.Cluster)
	if to == nil { // It is closed when the program ends, but its client still works.
		to = r.to
	}
	if to == nil {
		return nil
	}
	node, ok := to.NodeOf(r.view.order.Instance)
	switch {
	case !ok && to.MayHaveNode(r.view.order.Instance):
		return errNotIdentified
	case !ok:
		return nil
	}
	r.to = to
	metadata := map[string]any{"annotations": map[string]any{DrainingAnnotation: nil}}
	if node.Labels[corev1.LabelNodeExcludeBalancers] == excludedByUs {
		metadata["labels"] = map[string]any{corev1.LabelNodeExcludeBalancers: nil}
	}
	return r.patchNode(ctx, node.Name, map[string]any{"metadata": metadata, "spec": map[string]any{"unschedulable": nil}})
}

func (r *run) patchNode(ctx context.Context, name string, change map[string]any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	patch, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("encode the patch of a node: %w", err)
	}
	_, err = r.to.Core().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: fieldOwner})
	if err != nil && !apierrors.IsNotFound(err) {
		return err //nolint:wrapcheck // the caller adds context
	}
	return nil
}
