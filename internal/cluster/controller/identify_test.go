package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// A workload cluster makes false claims about its nodes in every possible way. EC2's data counts.
func TestNodeIdentityComesFromEC2(t *testing.T) {
	r := runs(t, 1, func(_ *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) {
		group.Spec.MinSize, group.Spec.MaxSize = 2, 4
		group.Spec.Repair.After = &metav1.Duration{Duration: 10 * time.Second}
	})
	compute := ec2.NewFromConfig(r.awsConfig(account, region))
	subnets, err := compute.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	worker := r.nodeOf(r.workers()[0])
	own, err := compute.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: r.workers()[:1]})
	if err != nil {
		t.Fatal(err)
	}
	made, err := compute.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: own.Reservations[0].Instances[0].ImageId, InstanceType: ec2types.InstanceTypeM6iLarge, MinCount: aws.Int32(1),
		MaxCount: aws.Int32(1),
		SubnetId: subnets.Subnets[0].SubnetId,
	})
	if err != nil {
		t.Fatal(err)
	}
	foreign := aws.ToString(made.Instances[0].InstanceId)

	// One Node claims a foreign instance and has long been unhealthy, one claims a worker's
	// instance under another name, and a worker claims to be a slot.
	const group, slot = "cluster-operator.aws/instance-group", "cluster-operator.aws/slot"
	unwell := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "thief", Labels: map[string]string{group: r.group.Name}},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/" + foreign},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour)),
		}}},
	}
	double := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "double", Labels: map[string]string{slot: "0"}},
		Spec:       corev1.NodeSpec{ProviderID: worker.Spec.ProviderID},
	}
	for _, node := range []*corev1.Node{unwell, double} {
		status := node.Status
		if err := r.inside.Create(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		node.Status = status
		if err := r.inside.Status().Update(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	lying := worker.DeepCopy()
	lying.Labels[slot] = "0"
	if err := r.inside.Patch(t.Context(), lying, client.MergeFrom(worker)); err != nil {
		t.Fatal(err)
	}

	r.eventually("Events report the Nodes", func() error {
		all := strings.Join(r.eventNotes(r.cluster, "NodeNotConfirmed"), "\n")
		for _, want := range []string{"identity of Node thief: it claims instance " + foreign, "identity of Node double: it claims instance ", "identity of Node " + worker.Name + ": it is labelled as of control-plane slot 0"} {
			if !strings.Contains(all, want) {
				return fmt.Errorf("want %q among %q", want, all)
			}
		}
		return nil
	})
	const role = "node-role.kubernetes.io/worker"
	for _, name := range []string{"thief", "double", worker.Name} {
		node := &corev1.Node{}
		if err := r.inside.Get(t.Context(), client.ObjectKey{Name: name}, node); err != nil {
			t.Fatal(err)
		}
		if _, ok := node.Labels["node-role.kubernetes.io/control-plane"]; ok {
			t.Errorf("%s has the control-plane label", name)
		}
		if _, ok := node.Labels[role]; ok != (name == worker.Name) {
			t.Errorf("%s has the labels %v", name, node.Labels)
		}
	}
	found, err := compute.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{foreign}})
	if err != nil {
		t.Fatal(err)
	}
	if state := found.Reservations[0].Instances[0].State.Name; state != ec2types.InstanceStateNameRunning &&
		state != ec2types.InstanceStateNamePending {
		t.Errorf("the foreign instance is %s", state)
	}
	for key, count := range r.sim.Calls() {
		if strings.Contains(key, "TerminateInstance") && count > 0 {
			t.Errorf("%s was called", key)
		}
	}
}
