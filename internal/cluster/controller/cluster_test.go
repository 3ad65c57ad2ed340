package controller_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// demoStacks are the stacks of a cluster demo with three slots and a group demo-workers.
var demoStacks = []string{"demo", "demo-control-plane-0", "demo-control-plane-1", "demo-control-plane-2", "demo-workers"}

// TestCluster follows a cluster and its instance group from creation to deletion.
func TestCluster(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("demo-workers", "demo")
	w.create(group, cluster) // The group waits for its cluster.
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	w.condition(group, "Ready", metav1.ConditionTrue, "")
	for _, condition := range []string{"NetworkReady", "ControlPlaneReady", "APIReachable", "NodesReady"} {
		w.condition(cluster, condition, metav1.ConditionTrue, "")
	}
	w.complete(account, region, demoStacks...)
	w.bucketHolds(cluster)
	// A Cluster is Ready with its first worker; the other nodes are counted as they join.
	w.eventually("all nodes are counted", func() error {
		if err := errors.Join(
			w.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster),
			w.client.Get(t.Context(), client.ObjectKeyFromObject(group), group),
		); err != nil {
			return err
		}
		if all, some := cluster.Status.Nodes, group.Status.Nodes; all.Summary != "5/5" || all.Updated != 5 || some.Summary != "2/2" ||
			some.Updated != 2 {
			return fmt.Errorf("the cluster has %+v nodes, the group %+v", all, some)
		}
		return nil
	})
	if cluster.Status.Version != "v1.36.3" || cluster.Status.ResourceSet != "1.1.0" || group.Status.Version != "v1.36.3" ||
		group.Status.AutoScalingGroup == "" {
		t.Errorf("the cluster has status %+v, the group %+v", cluster.Status, group.Status)
	}
	inside := w.inside("demo")
	w.labelled(inside)
	w.tokenIsThere(inside)

	w.nothingCosts(cluster)
	w.replaced(cluster, inside)
	if err := w.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(group)
	w.waitDeleted(cluster)
	w.nothingIsLeft(account, region)
}

// inside returns a client of a workload cluster that uses the users' kubeconfig.
func (w *suite) inside(cluster string) client.Client {
	w.t.Helper()
	secret, err := w.secret(cluster + "-kubeconfig")
	if err != nil {
		w.t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// replaced terminates a worker and waits until a replacement has joined.
func (w *suite) replaced(cluster *v1alpha1.Cluster, inside client.Client) {
	w.t.Helper()
	workers := func() []string {
		list := &corev1.NodeList{}
		if err := inside.List(w.t.Context(), list, client.HasLabels{"node-role.kubernetes.io/worker"}); err != nil {
			w.t.Fatal(err)
		}
		var instances []string
		for i := range list.Items {
			instances = append(instances, list.Items[i].Spec.ProviderID[strings.LastIndex(list.Items[i].Spec.ProviderID, "/")+1:])
		}
		return instances
	}
	victim := workers()[0]
	if err := w.sim.Instances().Fail(account, region, victim); err != nil {
		w.t.Fatal(err)
	}
	w.eventually("the worker is replaced", func() error {
		if now := workers(); len(now) != 2 || slices.Contains(now, victim) {
			return fmt.Errorf("the workers are %v, without %s", now, victim)
		}
		return nil
	})
	w.condition(cluster, "NodesReady", metav1.ConditionTrue, "")
}

// bucketHolds checks the objects in the bucket.
func (w *suite) bucketHolds(cluster *v1alpha1.Cluster) {
	w.t.Helper()
	want := []string{
		"bundles/",
		"bundles/",
		"bundles/",
		"bundles/",
		"nodeup/",
		"pki/ca.crt",
		"pki/ca.key",
		"pki/etcd/ca.crt",
		"pki/etcd/ca.key",
		"pki/front-proxy-ca.crt",
		"pki/front-proxy-ca.key",
		"pki/sa.key",
		"pki/sa.pub",
	}
	got := w.objects(account, region, cluster.Status.Outputs["Bucket"])
	if len(got) != len(want) {
		w.t.Fatalf("the bucket holds %v", got)
	}
	for i, key := range got {
		if !strings.HasPrefix(key, want[i]) {
			w.t.Errorf("the bucket holds %s instead of %s", key, want[i])
		}
	}
}

func (w *suite) labelled(inside client.Client) {
	w.t.Helper()
	w.eventually("nodes have the labels of their roles", func() error {
		list := &corev1.NodeList{}
		if err := inside.List(w.t.Context(), list); err != nil {
			return err
		}
		for i := range list.Items {
			node := &list.Items[i]
			_, slot := node.Labels["node-role.kubernetes.io/control-plane"]
			_, worker := node.Labels["node-role.kubernetes.io/worker"]
			if _, isSlot := node.Labels["cluster-operator.aws/slot"]; slot == worker || slot != isSlot {
				return fmt.Errorf("node %s has %v", node.Name, node.Labels)
			}
		}
		return nil
	})
}

// tokenIsThere checks that the parameter and the Secret in the cluster contain the same token.
func (w *suite) tokenIsThere(inside client.Client) {
	w.t.Helper()
	out, err := ssm.NewFromConfig(w.awsConfig(account, region)).GetParameter(w.t.Context(), &ssm.GetParameterInput{
		Name: aws.String("/cluster-operator/demo/bootstrap-token"), WithDecryption: aws.Bool(true),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	id, secret, _ := strings.Cut(aws.ToString(out.Parameter.Value), ".")
	found := &corev1.Secret{}
	if err := inside.Get(w.t.Context(), client.ObjectKey{Namespace: "kube-system", Name: "bootstrap-token-" + id}, found); err != nil {
		w.t.Fatal(err)
	}
	if string(found.Data["token-secret"]) != secret || out.Parameter.Type != "SecureString" {
		w.t.Errorf("the parameter is a %s and does not hold the cluster's token", out.Parameter.Type)
	}
}

// nothingCosts checks that reconciling an unchanged cluster makes no calls to AWS, even after a
// restart, and is fast.
func (w *suite) nothingCosts(cluster *v1alpha1.Cluster) {
	w.t.Helper()
	count, took := w.reconciles()
	w.eventually("reconciles of an object without changes call nothing", func() error { // an event may come late
		calls := w.calls()
		w.mark(cluster, 20)
		if after := w.calls(); after != calls {
			return fmt.Errorf("%d calls to AWS although nothing changed: %v", after-calls, w.sim.Calls())
		}
		return nil
	})
	countNow, tookNow := w.reconciles()
	mean := (tookNow - took) / time.Duration(countNow-count)
	w.t.Logf("a reconcile without changes takes %s", mean) // The benchmark measures it on an idle computer.

	changing := func() (sum int) {
		for name, count := range w.sim.Calls() {
			if strings.Contains(name, "/Put") || strings.Contains(name, "/Update") ||
				strings.Contains(name, "/Delete") && !strings.HasPrefix(name, "sqs/") {
				sum += count
			}
		}
		return sum
	}
	before := changing()
	w.stop()
	w.start()
	w.eventually("the new operator reconciles", func() error {
		if now, _ := w.reconciles(); now == 0 {
			return errStill
		}
		return nil
	})
	if after := changing(); after != before {
		w.t.Errorf("%d calls changed AWS after a restart: %v", after-before, w.sim.Calls())
	}
}

// mark annotates a Cluster a number of times, and waits for a reconcile each time.
func (w *suite) mark(cluster *v1alpha1.Cluster, times int) {
	w.t.Helper()
	for mark := range times {
		before, _ := w.reconciles()
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{"test/mark":"%d"}}}`, mark))
		if err := w.client.Patch(w.t.Context(), cluster, patch); err != nil {
			w.t.Fatal(err)
		}
		w.eventually("the operator reconciles", func() error {
			if now, _ := w.reconciles(); now == before {
				return errStill
			}
			return nil
		})
	}
}

// nothingIsLeft checks that nothing remains in AWS and in the namespace.
func (w *suite) nothingIsLeft(account, region string) {
	w.t.Helper()
	if err := w.isLeft(account, region); err != nil {
		w.t.Error(err)
	}
}

// isLeft returns an error that lists what remains in AWS and in the namespace, or nil.
func (w *suite) isLeft(account, region string) error {
	w.t.Helper()
	var left []error
	if stacks := w.stacks(account, region); len(stacks) != 0 {
		left = append(left, fmt.Errorf("remaining stacks: %v", stacks))
	}
	if buckets := w.buckets(account, region); len(buckets) != 0 {
		left = append(left, fmt.Errorf("remaining buckets: %v", buckets))
	}
	out, err := ssm.NewFromConfig(w.awsConfig(account, region)).DescribeParameters(w.t.Context(), &ssm.DescribeParametersInput{})
	if err != nil || len(out.Parameters) != 0 {
		left = append(left, fmt.Errorf("%d remaining parameters: %w", len(out.Parameters), err))
	}
	if kept := w.sim.Instances().Kept(account, region); len(kept) > 0 {
		left = append(left, fmt.Errorf("remaining in EC2: %v", kept))
	}
	for _, suffix := range []string{"-ca", "-etcd-ca", "-front-proxy-ca", "-sa", "-kubeconfig"} {
		if _, err := w.secret("demo" + suffix); !apierrors.IsNotFound(err) {
			left = append(left, fmt.Errorf("the Secret demo%s remains: %w", suffix, err))
		}
	}
	return errors.Join(left...)
}
