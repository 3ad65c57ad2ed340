package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
)

// byOperator configures the operator to replace a group's instances, with a surge of one. They are
// in one zone: after a rollout, Auto Scaling may rebalance zones and terminate an instance as soon
// as another runs, before that is a node.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-benefits.html
func byOperator(group *v1alpha1.InstanceGroup) {
	group.Spec.Zones = []string{"eu-central-1a"}
	group.Spec.MinSize, group.Spec.MaxSize = 3, 4
	group.Spec.RollingUpdate.Engine = v1alpha1.RollOperator
	group.Spec.RollingUpdate.Surge = new(intstr.FromInt32(1))
}

// renewed checks that all nodes were replaced, that their number is the same, and that the rollout
// left no trace on the group.
func (r *rolling) renewed(before int) {
	r.t.Helper()
	r.eventually("the previous instances are terminated", func() error {
		if nodes := r.mustNodes(); len(nodes) != before {
			return fmt.Errorf("%d nodes", len(nodes))
		}
		return nil
	})
	if _, left := r.tags()[rollout.TagMemory]; left {
		r.t.Error("the rollout is still recorded on the group")
	}
}

// A changed label replaces the nodes of a group whose instances CloudFormation does not replace.
// All old nodes stay in service until new ones are Ready.
func TestOperatorReplacesInstancesWithASurge(t *testing.T) {
	r := newRolling(t, byOperator)
	before := r.mustNodes()
	r.patch(r.group, `{"spec":{"labels":{"team":"new"}}}`)
	r.ended(v1alpha1.RolloutDone)
	r.condition(r.group, "Ready", metav1.ConditionTrue, "")
	r.condition(r.group, "NodesUpdated", metav1.ConditionTrue, "AllUpdated")
	if rolloutStatus := r.group.Status.Rollout; rolloutStatus.Updated != 3 || rolloutStatus.Total != 3 || rolloutStatus.Started == nil ||
		rolloutStatus.Finished == nil {
		t.Errorf("%+v", rolloutStatus)
	}
	r.renewed(3)
	r.kept(3)
	for id, node := range r.mustNodes() {
		if _, old := before[id]; old || node.Labels["team"] != "new" {
			t.Errorf("node %s is not new: %v", node.Name, node.Labels)
		}
	}
	if calls := r.sim.Calls(); calls["cloudformation/SignalResource"] != 0 {
		t.Error("signals were sent although CloudFormation does not wait for any")
	}
}

// A canary pauses for long until the user shortens the pause.
func TestSettingsApplyDuringARollout(t *testing.T) {
	r := newRolling(t, func(group *v1alpha1.InstanceGroup) {
		byOperator(group)
		group.Spec.RollingUpdate.Canary = 1
		group.Spec.RollingUpdate.Pause = &metav1.Duration{Duration: 40 * time.Minute}
	})
	r.patch(r.group, `{"spec":{"labels":{"team":"new"}}}`)
	r.eventually("the canary pauses", func() error {
		if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(r.group), r.group); err != nil {
			return err
		}
		if rolloutStatus := r.group.Status.Rollout; rolloutStatus == nil || rolloutStatus.State != v1alpha1.RolloutRolling ||
			rolloutStatus.Updated != 1 {
			return fmt.Errorf("%+v", rolloutStatus)
		}
		return nil
	})
	r.condition(r.group, "Ready", metav1.ConditionFalse, "Rolling")
	r.condition(r.group, "NodesUpdated", metav1.ConditionFalse, "Rolling")
	r.patch(r.group, `{"spec":{"rollingUpdate":{"pause":null}}}`)
	r.ended(v1alpha1.RolloutDone)
	r.renewed(3)
	r.kept(3)
}

// New instances never become Ready: all old ones stay in service, and the next edit succeeds.
func TestStoppedRolloutIsRetriedAfterAnEdit(t *testing.T) {
	r := runs(t, 1, func(_ *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) {
		byOperator(group)
		group.Spec.RollingUpdate.Canary = 1
		group.Spec.RollingUpdate.ReadyTimeout = &metav1.Duration{Duration: 10 * time.Second}
	})
	before := r.instances("cluster-operator.aws/instance-group")
	out, err := ec2.NewFromConfig(r.awsConfig(account, region)).
		DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: before[:1]})
	if err != nil {
		t.Fatal(err)
	}
	image := aws.ToString(out.Reservations[0].Instances[0].ImageId)
	r.host.SetImage(image, fake.Behaviour{NotReady: true})
	r.patch(r.group, `{"spec":{"labels":{"team":"bad"}}}`)
	r.condition(r.group, "Stalled", metav1.ConditionTrue, "RollStopped")
	r.condition(r.group, "NodesUpdated", metav1.ConditionFalse, "RollStopped")
	if rolloutStatus := r.group.Status.Rollout; rolloutStatus.State != v1alpha1.RolloutStopped ||
		!strings.Contains(rolloutStatus.Message, "was not Ready within 10s") ||
		rolloutStatus.Finished == nil {
		t.Errorf("%+v", rolloutStatus)
	}
	r.eventually("the group is unchanged", func() error {
		if after := r.instances("cluster-operator.aws/instance-group"); !slices.Equal(before, after) {
			return fmt.Errorf("before %v, after %v", before, after)
		}
		return nil
	})
	r.host.SetImage(image, fake.Behaviour{})
	r.patch(r.group, `{"spec":{"labels":{"team":"good"},"rollingUpdate":{"readyTimeout":null}}}`)
	r.condition(r.group, "Ready", metav1.ConditionTrue, "")
	if rolloutStatus := r.group.Status.Rollout; rolloutStatus.State != v1alpha1.RolloutDone || rolloutStatus.Updated != 3 {
		t.Errorf("%+v", rolloutStatus)
	}
}
