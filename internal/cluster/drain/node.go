package drain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

const (
	// DrainingAnnotation is on a Node that is being emptied: when that began, as RFC 3339.
	DrainingAnnotation = "cluster-operator.aws/draining"
	// excludedByUs is the value of the label that keeps load balancers off a node, where we put it there.
	excludedByUs = "draining"
	fieldOwner   = "aws-operator"
)

// readNode learns from the Node when draining began. A mark on a node that takes pods is left from a drain that a person ended.
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
	_, excluded := found.Labels[corev1.LabelNodeExcludeBalancers]
	r.view.prepared = excluded
}

// prepare cordons the node and, if it is to be emptied, takes it from load balancers and writes down when that began.
func (r *run) prepare(ctx context.Context, empty bool) {
	if empty && !r.looked {
		r.view.nodeAt = r.now().Add(firstFailure)
		return
	}
	metadata := map[string]any{}
	if empty {
		metadata["annotations"] = map[string]any{DrainingAnnotation: r.view.began.Format(time.RFC3339)}
		if node, ok := r.to.NodeOf(r.view.order.Instance); ok {
			if _, excluded := node.Labels[corev1.LabelNodeExcludeBalancers]; !excluded {
				metadata["labels"] = map[string]any{corev1.LabelNodeExcludeBalancers: excludedByUs}
			}
		}
	}
	err := r.patchNode(ctx, r.view.node.name, map[string]any{"metadata": metadata, "spec": map[string]any{"unschedulable": true}})
	if err != nil {
		r.problem = fmt.Sprintf("Node %s cannot be cordoned: %s.", r.view.node.name, err)
		r.view.nodeAt = r.now().Add(firstFailure)
		return
	}
	r.problem, r.view.prepared = "", true
}

// reopen takes back what prepare did: the machine stays.
func (r *run) reopen(ctx context.Context) {
	to := r.drains.options.Workload.Get(r.view.order.Cluster)
	if to == nil {
		return
	}
	node, ok := to.NodeOf(r.view.order.Instance)
	if !ok {
		return
	}
	r.to = to
	metadata := map[string]any{"annotations": map[string]any{DrainingAnnotation: nil}}
	if node.Labels[corev1.LabelNodeExcludeBalancers] == excludedByUs {
		metadata["labels"] = map[string]any{corev1.LabelNodeExcludeBalancers: nil}
	}
	if err := r.patchNode(ctx, node.Name, map[string]any{"metadata": metadata, "spec": map[string]any{"unschedulable": nil}}); err != nil {
		r.drains.options.Logger.Info("A node stays cordoned; uncordon it by hand", "node", node.Name, "error", err.Error())
	}
}

func (r *run) patchNode(ctx context.Context, name string, change map[string]any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	patch, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("write the change of a node: %w", err)
	}
	_, err = r.to.Core().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: fieldOwner})
	if err != nil && !apierrors.IsNotFound(err) {
		return err //nolint:wrapcheck // who asks says what failed
	}
	return nil
}
