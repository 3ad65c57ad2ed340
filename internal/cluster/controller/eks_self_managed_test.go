package controller_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// selfManaged makes the suite's group self-managed.
func selfManaged(w *eksSuite) {
	w.group.Spec.EKS = &v1alpha1.EKSNodes{Management: v1alpha1.EKSSelfManaged}
}

// nodeEntries returns the principals of access entries of the type EC2_LINUX.
func (w *eksSuite) nodeEntries() []string {
	w.t.Helper()
	out, err := w.eks().ListAccessEntries(w.t.Context(), &eks.ListAccessEntriesInput{ClusterName: aws.String("managed")})
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(out.AccessEntries, func(principal string) bool { return !strings.Contains(principal, ":role/managed-workers-NodeRole") })
}

// A self-managed group has an Auto Scaling group and an access entry of its own. Its nodes are replaced by a rolling
// update, and drained before; nothing of it is left at the end.
func TestSelfManagedGroupOfEKS(t *testing.T) {
	w := newEKSSuite(t, nil, selfManaged, func(w *eksSuite) {
		w.group.Spec.Labels = map[string]string{"tier": "web"}
	})
	w.condition(w.managed, "Ready", metav1.ConditionTrue, "")
	w.condition(w.group, "Ready", metav1.ConditionTrue, "")
	w.complete(account, region, "managed", "managed-workers")
	w.condition(w.group, "NodesUpdated", metav1.ConditionTrue, "AllUpdated")
	if w.group.Status.AutoScalingGroup == "" || len(w.group.Status.Stack.Bundle) != 64 {
		t.Errorf("the group's status is %+v", w.group.Status)
	}
	out, err := w.eks().ListNodegroups(t.Context(), &eks.ListNodegroupsInput{ClusterName: aws.String("managed")})
	if err != nil || len(out.Nodegroups) != 0 {
		t.Errorf("EKS has the node groups %v: %v", out, err)
	}
	if entries := w.nodeEntries(); len(entries) != 1 {
		t.Errorf("access entries of nodes: %v", entries)
	}
	w.nodesAreUpdated()
	w.hasNoCredentials()
	before, err := w.nodes()
	if err != nil || len(before) != 2 {
		t.Fatalf("instances %v: %v", before, err)
	}

	w.patch(w.managed, `{"spec":{"release":"v1.36.3"}}`)
	w.eventually("the group runs the new release", func() error {
		err := w.client.Get(t.Context(), client.ObjectKeyFromObject(w.group), w.group)
		if err == nil && w.group.Status.Release != "v1.36.3" {
			return errors.Join(
				w.client.Get(t.Context(), client.ObjectKeyFromObject(w.managed), w.managed),
				fmt.Errorf("it runs %s: %s, %s", w.group.Status.Release, describeConditions(w.group.Status.Conditions),
					describeConditions(w.managed.Status.Conditions)),
			)
		}
		return err
	})
	w.condition(w.group, "Ready", metav1.ConditionTrue, "")
	upgraded := w.replaced(before)
	if r := w.group.Status.Rollout; r == nil || r.State != v1alpha1.RolloutDone {
		t.Errorf("the rollout is %+v", r)
	}

	w.patch(w.group, `{"spec":{"labels":{"tier":"api"}}}`)
	w.replaced(upgraded)
	w.condition(w.group, "Ready", metav1.ConditionTrue, "")

	if err := w.client.Delete(t.Context(), w.managed); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(w.group)
	w.waitDeleted(w.managed)
	w.nothingIsLeft()
}

// Nodes with Bottlerocket join a cluster of EKS, in a managed node group and in a self-managed one.
func TestBottlerocketNodesOfEKS(t *testing.T) {
	other := &v1alpha1.InstanceGroup{}
	w := newEKSSuite(t, nil, func(w *eksSuite) {
		w.group.Spec.EKS = &v1alpha1.EKSNodes{ImageFamily: v1alpha1.EKSBottlerocket}
		w.group.Spec.Roll = "now"
		other = w.aGroup("managed-own", "managed")
		other.Spec.EKS = &v1alpha1.EKSNodes{Management: v1alpha1.EKSSelfManaged, ImageFamily: v1alpha1.EKSBottlerocket}
	})
	w.create(other)
	w.condition(w.managed, "Ready", metav1.ConditionTrue, "")
	w.condition(w.group, "Ready", metav1.ConditionTrue, "")
	w.condition(other, "Ready", metav1.ConditionTrue, "")
	out, err := ec2.NewFromConfig(w.awsConfig(account, region)).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range out.Reservations {
		for _, one := range out.Reservations[i].Instances {
			var devices []string
			for _, mapping := range one.BlockDeviceMappings {
				devices = append(devices, aws.ToString(mapping.DeviceName))
			}
			slices.Sort(devices)
			if !slices.Equal(devices, []string{"/dev/xvda", "/dev/xvdb"}) {
				t.Errorf("instance %s has the volumes %v", aws.ToString(one.InstanceId), devices)
			}
		}
	}
}

// A self-managed node is drained before Auto Scaling terminates its instance, as those of other clusters are.
func TestSelfManagedNodeOfEKSIsDrained(t *testing.T) {
	w := newEKSSuite(t, nil, selfManaged)
	w.condition(w.managed, "Ready", metav1.ConditionTrue, "")
	w.condition(w.group, "Ready", metav1.ConditionTrue, "")
	api, ok := w.host.ControlPlane(machine.ControlPlaneKey{Account: account, Region: region, Cluster: "managed"})
	if !ok {
		t.Fatal("the control plane does not run")
	}
	server := httptest.NewServer(api.Trusted())
	defer server.Close()
	inside, err := client.New(&rest.Config{Host: server.URL}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{suite: w.suite, host: w.host, cluster: w.managed, group: w.group, inside: inside}
	r.drains(w.group.Spec.MinSize + 1)
}
