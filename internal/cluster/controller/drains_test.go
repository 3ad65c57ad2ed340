package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// running is a cluster with a group of workers, and a client of it.
type running struct {
	*suite

	host    *fake.Host
	cluster *v1alpha1.Cluster
	group   *v1alpha1.InstanceGroup
	inside  client.Client
}

// runs creates a cluster with a number of slots and a group of workers, and waits until it is
// Ready.
func runs(t *testing.T, slots int32, change func(*v1alpha1.Cluster, *v1alpha1.InstanceGroup)) *running {
	t.Helper()
	host := fake.New(fake.Options{})
	w := newSuite(t, host, nil)
	r := &running{suite: w, host: host, cluster: w.aCluster("demo"), group: w.aGroup("demo-workers", "demo")}
	r.cluster.Spec.ControlPlane.Replicas = slots
	change(r.cluster, r.group)
	w.start()
	w.create(r.cluster, r.group)
	w.condition(r.group, "Ready", metav1.ConditionTrue, "")
	w.condition(r.cluster, "Ready", metav1.ConditionTrue, "")
	r.inside = w.inside("demo")
	return r
}

// instances returns the sorted instances of the nodes with a label.
func (r *running) instances(label string) []string {
	r.t.Helper()
	list := &corev1.NodeList{}
	if err := r.inside.List(r.t.Context(), list, client.HasLabels{label}); err != nil {
		r.t.Fatal(err)
	}
	var instances []string
	for i := range list.Items {
		id := list.Items[i].Spec.ProviderID
		instances = append(instances, id[strings.LastIndex(id, "/")+1:])
	}
	slices.Sort(instances)
	return instances
}

func (r *running) workers() []string {
	r.t.Helper()
	return r.instances("cluster-operator.aws/instance-group")
}

// nodeOf returns the node of an instance.
func (r *running) nodeOf(instance string) *corev1.Node {
	r.t.Helper()
	list := &corev1.NodeList{}
	if err := r.inside.List(r.t.Context(), list); err != nil {
		r.t.Fatal(err)
	}
	for i := range list.Items {
		if strings.HasSuffix(list.Items[i].Spec.ProviderID, "/"+instance) {
			return &list.Items[i]
		}
	}
	r.t.Fatalf("instance %s has no node", instance)
	return nil
}

// guarded runs a pod on an instance's node that a PodDisruptionBudget protects.
func (r *running) guarded(instance string) *policyv1.PodDisruptionBudget {
	r.t.Helper()
	labels := map[string]string{"app": "db"}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "db-0", Namespace: "default", Labels: labels},
		Spec:       corev1.PodSpec{NodeName: r.nodeOf(instance).Name, Containers: []corev1.Container{{Name: "db", Image: "db"}}},
	}
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "db-budget", Namespace: "default"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		},
	}
	for _, obj := range []client.Object{pod, budget} {
		if err := r.inside.Create(r.t.Context(), obj); err != nil {
			r.t.Fatal(err)
		}
	}
	return budget
}

// eventNotes returns the notes of an object's Events with a reason.
func (r *running) eventNotes(obj client.Object, reason string) []string {
	r.t.Helper()
	list := &corev1.EventList{}
	if err := r.client.List(r.t.Context(), list, client.InNamespace(r.namespace)); err != nil {
		r.t.Fatal(err)
	}
	var notes []string
	for i := range list.Items {
		if one := &list.Items[i]; one.InvolvedObject.UID == obj.GetUID() && one.Reason == reason {
			notes = append(notes, one.Message)
		}
	}
	return notes
}

func (r *running) scaling() *autoscaling.Client {
	return autoscaling.NewFromConfig(r.awsConfig(account, region))
}

// terminate makes Auto Scaling terminate a worker without a replacement.
func (r *running) terminate(instance string) {
	r.t.Helper()
	_, err := r.scaling().TerminateInstanceInAutoScalingGroup(r.t.Context(), &autoscaling.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: &instance, ShouldDecrementDesiredCapacity: aws.Bool(true),
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// waitNodeDeleted waits until an instance's node is deleted.
func (r *running) waitNodeDeleted(instance string) {
	r.t.Helper()
	r.eventually("the node of "+instance+" is deleted", func() error {
		if now := r.workers(); slices.Contains(now, instance) {
			return fmt.Errorf("the workers are %v", now)
		}
		return nil
	})
}

func TestTerminatingWorkerIsDrained(t *testing.T) {
	r := runs(t, 1, func(_ *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) { group.Spec.MinSize = 1 })
	r.drains(2)
}

// drains raises the size of the group, lets Auto Scaling terminate a worker, and tests that its pod is evicted before.
func (r *running) drains(size int32) {
	r.t.Helper()
	t := r.t
	instance := r.workers()[0]
	node := r.nodeOf(instance).Name
	budget := r.guarded(instance)
	r.raise(size)
	r.terminate(instance)
	r.eventually("an Event reports the budget", func() error {
		if notes := r.eventNotes(r.group, "Draining"); len(notes) == 0 || !strings.Contains(notes[0], node) {
			return fmt.Errorf("events %v", notes)
		}
		return nil
	})
	if now := r.nodeOf(instance); !now.Spec.Unschedulable {
		r.eventually("the node is cordoned", func() error {
			if !r.nodeOf(instance).Spec.Unschedulable {
				return errStill
			}
			return nil
		})
	}
	if err := r.inside.Delete(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	r.waitNodeDeleted(instance)
	pod := &corev1.Pod{}
	if err := r.inside.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "db-0"}, pod); client.IgnoreNotFound(err) != nil ||
		err == nil {
		t.Errorf("the pod is still there: %v", err)
	}
}

// raise sets the size of the group's Auto Scaling group, and waits for the nodes.
func (r *running) raise(size int32) {
	r.t.Helper()
	_, err := r.scaling().SetDesiredCapacity(r.t.Context(), &autoscaling.SetDesiredCapacityInput{
		AutoScalingGroupName: aws.String(r.group.Status.AutoScalingGroup), DesiredCapacity: &size,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.eventually("the group scales out", func() error {
		if now := r.workers(); len(now) != int(size) {
			return fmt.Errorf("the workers are %v", now)
		}
		return nil
	})
}

func TestInstanceWithALostEventIsFound(t *testing.T) {
	r := runs(t, 1, func(_ *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) { group.Spec.MinSize = 1 })
	r.raise(2)
	instance := r.workers()[0]
	r.stop()
	r.terminate(instance)
	r.eventually("the hook holds the instance", func() error {
		out, err := r.scaling().
			DescribeAutoScalingInstances(t.Context(), &autoscaling.DescribeAutoScalingInstancesInput{InstanceIds: []string{instance}})
		if err != nil || len(out.AutoScalingInstances) != 1 || *out.AutoScalingInstances[0].LifecycleState != "Terminating:Wait" {
			return fmt.Errorf("%+v: %w", out, errStill)
		}
		return nil
	})
	queues := sqs.NewFromConfig(r.awsConfig(account, region))
	url, err := queues.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("aws-operator-events-" + clusterName)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := queues.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: url.QueueUrl}); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.waitNodeDeleted(instance)
}

func TestDeletedClusterIsNotDrained(t *testing.T) {
	r := runs(t, 1, func(*v1alpha1.Cluster, *v1alpha1.InstanceGroup) {})
	r.guarded(r.workers()[0])
	if err := r.client.Delete(t.Context(), r.cluster); err != nil {
		t.Fatal(err)
	}
	r.waitDeleted(r.group)
	r.waitDeleted(r.cluster)
	r.nothingIsLeft(account, region)
}

func TestKeptInstanceIsTerminatedWithItsGroup(t *testing.T) {
	r := runs(t, 1, func(_ *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) {
		group.Spec.MinSize = 1
		group.Spec.RollingUpdate = v1alpha1.RollingUpdate{
			DrainTimeout:   &metav1.Duration{Duration: 10 * time.Second}, // The budget blocks an eviction before.
			OnDrainTimeout: v1alpha1.DrainAbandon,
		}
	})
	r.raise(2)
	instance := r.workers()[0]
	r.guarded(instance)
	r.terminate(instance)
	r.eventually("the instance is kept", func() error {
		if notes := r.eventNotes(r.group, "MachineKept"); len(notes) == 0 || !strings.Contains(notes[0], "default/db-budget") {
			return fmt.Errorf("events %v", notes)
		}
		return nil
	})
	if err := r.client.Delete(t.Context(), r.group); err != nil {
		t.Fatal(err)
	}
	r.waitDeleted(r.group)
	r.waitNodeDeleted(instance)
}

func TestInterruptedSpotInstanceIsDrained(t *testing.T) {
	r := runs(t, 1, func(_ *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) {
		group.Spec.InstanceTypes = []string{"m6i.large", "m5.large"}
		group.Spec.Spot = &v1alpha1.Spot{}
	})
	r.interrupted(r.workers()[0], func() {})
}

// A notice is valid for two minutes. An operator that starts may read it before it knows the node.
func TestSpotInstanceInterruptedDuringARestartIsDrained(t *testing.T) {
	r := runs(t, 1, func(_ *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) {
		group.Spec.InstanceTypes = []string{"m6i.large", "m5.large"}
		group.Spec.Spot = &v1alpha1.Spot{}
	})
	r.stop()
	// The first lookup of the node's instance fails, as when all controllers of an account restart.
	r.sim.Faults().Add(fault.Throttle("ec2", "DescribeInstances", 3))
	r.interrupted(r.workers()[0], r.start)
}

// interrupted announces the interruption of a spot instance, and waits until its node is drained.
func (r *running) interrupted(instance string, then func()) {
	r.t.Helper()
	if err := r.sim.Instances().InterruptSpot(account, region, instance, "terminate"); err != nil {
		r.t.Fatal(err)
	}
	then()
	r.eventually("the node is cordoned and excluded from load balancers", func() error {
		node := r.nodeOf(instance)
		if _, ok := node.Labels[corev1.LabelNodeExcludeBalancers]; !ok || !node.Spec.Unschedulable {
			return fmt.Errorf("cordoned %t, labels %v", node.Spec.Unschedulable, node.Labels)
		}
		return nil
	})
}

// dies stops the kubelets of instances.
func (r *running) dies(instances ...string) {
	r.t.Helper()
	for _, instance := range instances {
		if err := r.host.SetKubelet(instance, false); err != nil {
			r.t.Fatal(err)
		}
	}
}

func TestUnhealthyNodeIsReplaced(t *testing.T) {
	r := runs(t, 1, func(_ *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) {
		group.Spec.MinSize, group.Spec.MaxSize = 3, 3
		group.Spec.Repair = v1alpha1.Repair{After: &metav1.Duration{Duration: 10 * time.Second}}
	})
	before := r.workers()
	r.dies(before[0])
	r.waitNodeDeleted(before[0])
	r.condition(r.group, "NodesReady", metav1.ConditionTrue, "")
	if now := r.workers(); len(now) != 3 || !slices.Contains(now, before[1]) || !slices.Contains(now, before[2]) {
		t.Errorf("the workers were %v and are %v", before, now)
	}
	if notes := r.eventNotes(r.group, "ReplacingNodes"); len(notes) == 0 {
		t.Error("no Event was recorded")
	}
}

func TestNoNodeIsReplacedWhenTooManyAreUnhealthy(t *testing.T) {
	r := runs(t, 1, func(_ *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) {
		group.Spec.MinSize, group.Spec.MaxSize = 3, 3
		group.Spec.Repair = v1alpha1.Repair{After: &metav1.Duration{Duration: 10 * time.Second}}
	})
	before := r.workers()
	r.dies(before[0], before[1])
	condition := r.condition(r.group, "NodesReady", metav1.ConditionFalse, "TooManyUnhealthy")
	if !strings.Contains(condition.Message, "2 of 3 nodes are unhealthy") {
		t.Errorf("the condition's message is %q", condition.Message)
	}
	r.eventually("an Event is recorded", func() error {
		if notes := r.eventNotes(r.group, "TooManyUnhealthy"); len(notes) == 0 {
			return errStill
		}
		return nil
	})
	if now := r.workers(); !slices.Equal(now, before) {
		t.Errorf("the workers were %v and are %v", before, now)
	}
}

func TestUnhealthySlotIsReplacedWhileOthersAreHealthy(t *testing.T) {
	r := runs(t, 3, func(cluster *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		cluster.Spec.ControlPlane.Repair = v1alpha1.SlotRepair{After: &metav1.Duration{Duration: 10 * time.Second}}
	})
	const slots = "cluster-operator.aws/slot"
	before := r.instances(slots)
	r.dies(before[0])
	r.eventually("the slot is replaced", func() error {
		if now := r.instances(slots); len(now) != 3 || slices.Contains(now, before[0]) {
			return fmt.Errorf("the slots are %v", now)
		}
		return nil
	})
	if now := r.instances(slots); !slices.Contains(now, before[1]) || !slices.Contains(now, before[2]) {
		t.Errorf("the slots were %v and are %v", before, now)
	}
}
