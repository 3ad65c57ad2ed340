//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// adminKubeconfig exists only on control-plane nodes.
const adminKubeconfig = "/etc/kubernetes/admin.conf"

// cloudEvery is the interval at which nodes are compared with EC2.
const cloudEvery = 5 * time.Second

// cloud simulates the cloud controller manager's part for nodes. Every control-plane node does so
// without leader election: repeating the work does no harm, and the leader may just have been
// terminated.
type cloud struct {
	*kubelet
	admin     *api
	ec2       *ec2
	lastError string
}

func newCloud(k *kubelet) *cloud { return &cloud{kubelet: k, ec2: newEC2(k.clock)} }

func (c *cloud) run(ctx context.Context) {
	if c.cloudProvider != "external" {
		return
	}
	c.every(ctx, cloudEvery, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		err := c.reconcile(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		if said := err.Error(); said != c.lastError {
			c.lastError = said
			c.log.Info("nodes were not compared with EC2", "because", said)
		}
	})
}

// reconcile initializes new nodes and deletes those whose instance no longer exists. A cloud
// controller manager checks the latter only for nodes that are not Ready, up to a minute later;
// this one checks all nodes.
func (c *cloud) reconcile(ctx context.Context) error {
	if c.admin == nil {
		if !exists(adminKubeconfig) {
			return nil
		}
		admin, err := newAPI(adminKubeconfig)
		if err != nil {
			return err
		}
		c.admin = admin
	}
	var nodes corev1.NodeList
	if err := c.admin.core.Get().Resource("nodes").VersionedParams(&metav1.ListOptions{ResourceVersion: "0"}, parameters).Do(ctx).Into(&nodes); err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	var ids []string
	for i := range nodes.Items {
		if id := instanceOf(&nodes.Items[i]); id != "" {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	instances, err := c.ec2.describe(ctx, ids)
	if err != nil {
		return err
	}
	var errs []error
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if id := instanceOf(node); slices.Contains(ids, id) {
			errs = append(errs, c.reconcileNode(ctx, node, instances[id]))
		}
	}
	return errors.Join(errs...)
}

func isUninitialized(t corev1.Taint) bool { return t.Key == uninitialized }

// instanceOf returns the instance in a node's provider ID, aws:///ZONE/ID.
func instanceOf(node *corev1.Node) string {
	if !strings.HasPrefix(node.Spec.ProviderID, "aws:///") {
		return ""
	}
	return path.Base(node.Spec.ProviderID)
}

// reconcileNode reconciles a node as a cloud controller does.
func (c *cloud) reconcileNode(ctx context.Context, node *corev1.Node, found instance) error {
	if found.State == "" || found.State == "terminated" {
		c.log.Info("EC2 no longer has a node's instance: removing the Node", "node", node.Name)
		options := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &node.UID}}
		err := c.admin.core.Delete().Resource("nodes").Name(node.Name).Body(options).Do(ctx).Error()
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove the node %s: %w", node.Name, err)
		}
		return nil
	}
	if !slices.ContainsFunc(node.Spec.Taints, isUninitialized) {
		return nil
	}
	next := node.DeepCopy()
	next.Spec.Taints = slices.DeleteFunc(next.Spec.Taints, isUninitialized)
	if next.Labels == nil {
		next.Labels = map[string]string{}
	}
	for label, value := range map[string]string{
		corev1.LabelTopologyZone: found.Zone, corev1.LabelInstanceTypeStable: found.Type,
		corev1.LabelTopologyRegion: strings.TrimRight(found.Zone, "abcdefghijklmnopqrstuvwxyz"),
	} {
		if next.Labels[label] == "" && value != "" {
			next.Labels[label] = value
		}
	}
	err := c.admin.core.Put().Resource("nodes").Name(node.Name).Body(next).Do(ctx).Error()
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("initialize the node %s: %w", node.Name, err)
	}
	return nil
}
