package controller_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// demoStacks are the stacks of a cluster demo of three slots and a group demo-workers.
var demoStacks = []string{"demo", "demo-control-plane-0", "demo-control-plane-1", "demo-control-plane-2", "demo-workers"}

// TestCluster follows a cluster and its instance group from their manifests to their end.
func TestCluster(t *testing.T) {
	w := newWorld(t, nil)
	w.played = true
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("demo-workers", "demo")
	w.create(group, cluster) // The group waits for its cluster.
	w.complete(account, region, demoStacks...)
	w.condition(cluster, "NetworkReady", metav1.ConditionTrue, "")
	w.condition(cluster, "ControlPlaneReady", metav1.ConditionTrue, "")
	w.condition(cluster, "APIReachable", metav1.ConditionTrue, "")
	w.condition(cluster, "Ready", metav1.ConditionFalse, "ControlPlaneNodesMissing")
	w.condition(group, "NodesReady", metav1.ConditionFalse, "NodesMissing")
	w.bucketHolds(cluster)

	w.nodes(cluster, group)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	w.condition(group, "Ready", metav1.ConditionTrue, "")
	w.condition(cluster, "NodesReady", metav1.ConditionTrue, "")
	if got := cluster.Status.Nodes.Summary; got != "5/5" {
		t.Errorf("the cluster has %s nodes", got)
	}
	if got := group.Status.Nodes; got.Summary != "2/2" || got.Updated != 2 {
		t.Errorf("the group has %+v nodes", got)
	}
	if cluster.Status.Version != "v1.36.3" || cluster.Status.ResourceSet != "1.1.0" || group.Status.Version != "v1.36.3" || group.Status.AutoScalingGroup == "" {
		t.Errorf("the cluster has status %+v, the group %+v", cluster.Status, group.Status)
	}
	w.labelled()
	w.tokenIsThere()
	if secret, err := w.secret("demo-kubeconfig"); err != nil || !strings.Contains(string(secret.Data["value"]), cluster.Status.Endpoint) {
		t.Errorf("the kubeconfig does not lead to %s: %v", cluster.Status.Endpoint, err)
	}

	w.nothingCosts(cluster)
	if err := w.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.gone(group)
	w.gone(cluster)
	w.nothingIsLeft(account, region)
}

// bucketHolds checks what is in the bucket.
func (w *world) bucketHolds(cluster *v1alpha1.Cluster) {
	w.t.Helper()
	want := []string{"bundles/", "bundles/", "bundles/", "bundles/", "nodeup/", "pki/ca.crt", "pki/ca.key", "pki/etcd/ca.crt", "pki/etcd/ca.key", "pki/front-proxy-ca.crt", "pki/front-proxy-ca.key", "pki/sa.key", "pki/sa.pub"}
	got := w.objects(account, region, cluster.Status.Outputs["Bucket"])
	if len(got) != len(want) {
		w.t.Fatalf("the bucket holds %v", got)
	}
	for i, key := range got {
		if !strings.HasPrefix(key, want[i]) {
			w.t.Errorf("the bucket holds %s in the place of %s", key, want[i])
		}
	}
}

// nodes plays the nodes that would join.
func (w *world) nodes(cluster *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) {
	w.t.Helper()
	var nodes []*corev1.Node
	for _, status := range cluster.Status.Stacks[1:] {
		slot := status.Name[len(status.Name)-1:]
		nodes = append(nodes, aNode("slot-"+slot, map[string]string{"cluster-operator.aws/slot": slot, "cluster-operator.aws/bundle": status.Bundle[:16]}))
	}
	for i := range 2 {
		nodes = append(nodes, aNode("worker-"+strconv.Itoa(i), map[string]string{
			"cluster-operator.aws/instance-group": group.Name, "cluster-operator.aws/bundle": group.Status.Stack.Bundle[:16],
		}))
	}
	for _, node := range nodes {
		ready := node.Status
		w.create(node)
		w.t.Cleanup(func() { _ = w.client.Delete(context.Background(), node) })
		node.Status = ready
		if err := w.client.Status().Update(w.t.Context(), node); err != nil {
			w.t.Fatal(err)
		}
	}
}

func aNode(name string, labels map[string]string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/i-" + name},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(), LastHeartbeatTime: metav1.Now(),
		}}},
	}
}

func (w *world) labelled() {
	w.t.Helper()
	w.eventually("nodes have the labels of their roles", func() error {
		list := &corev1.NodeList{}
		if err := w.client.List(w.t.Context(), list); err != nil {
			return err
		}
		for i := range list.Items {
			node := &list.Items[i]
			_, slot := node.Labels["node-role.kubernetes.io/control-plane"]
			_, worker := node.Labels["node-role.kubernetes.io/worker"]
			if slot == worker || slot != strings.HasPrefix(node.Name, "slot-") {
				return fmt.Errorf("node %s has %v", node.Name, node.Labels)
			}
		}
		return nil
	})
}

// tokenIsThere checks that the parameter and the Secret in the cluster hold the same token.
func (w *world) tokenIsThere() {
	w.t.Helper()
	out, err := ssm.NewFromConfig(w.awsConfig(account, region)).GetParameter(w.t.Context(), &ssm.GetParameterInput{
		Name: aws.String("/cluster-operator/demo/bootstrap-token"), WithDecryption: aws.Bool(true),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	id, secret, _ := strings.Cut(aws.ToString(out.Parameter.Value), ".")
	found := &corev1.Secret{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "kube-system", Name: "bootstrap-token-" + id}, found); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = w.client.Delete(context.Background(), found) })
	if string(found.Data["token-secret"]) != secret || out.Parameter.Type != "SecureString" {
		w.t.Errorf("the parameter is a %s and does not hold the cluster's token", out.Parameter.Type)
	}
}

// nothingCosts has the operator look at objects for which nothing changed, also after it was restarted.
func (w *world) nothingCosts(cluster *v1alpha1.Cluster) {
	w.t.Helper()
	look := func(mark string) {
		before := w.calls()
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"test/mark":"`+mark+`"}}}`))
		if err := w.client.Patch(w.t.Context(), cluster, patch); err != nil {
			w.t.Fatal(err)
		}
		w.condition(cluster, "Ready", metav1.ConditionTrue, "")
		if after := w.calls(); after != before {
			w.t.Errorf("%d calls of AWS although nothing changed (%s): %v", after-before, mark, w.sim.Calls())
		}
	}
	look("one")
	look("two")
}

// nothingIsLeft checks that AWS and the namespace are as before.
func (w *world) nothingIsLeft(account, region string) {
	w.t.Helper()
	if stacks := w.stacks(account, region); len(stacks) != 0 {
		w.t.Errorf("stacks are left: %v", stacks)
	}
	if buckets := w.buckets(account, region); len(buckets) != 0 {
		w.t.Errorf("buckets are left: %v", buckets)
	}
	out, err := ssm.NewFromConfig(w.awsConfig(account, region)).DescribeParameters(w.t.Context(), &ssm.DescribeParametersInput{})
	if err != nil || len(out.Parameters) != 0 {
		w.t.Errorf("%d parameters are left: %v", len(out.Parameters), err)
	}
	for _, suffix := range []string{"-ca", "-etcd-ca", "-front-proxy-ca", "-sa", "-kubeconfig"} {
		if _, err := w.secret("demo" + suffix); !apierrors.IsNotFound(err) {
			w.t.Errorf("the Secret demo%s is left: %v", suffix, err)
		}
	}
}
