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
	"github.com/aws-operator/aws-operator/internal/simulator/machine/fake"
)

// byOperator has the operator replace a group's machines, with a surge of one. They are in one zone: when a roll is over Auto Scaling may
// balance zones, and takes a machine out as soon as another runs, before that is a node.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-benefits.html
func byOperator(group *v1alpha1.InstanceGroup) {
	group.Spec.Zones = []string{"eu-central-1a"}
	group.Spec.MinSize, group.Spec.MaxSize = 3, 4
	group.Spec.RollingUpdate.Engine = v1alpha1.RollOperator
	group.Spec.RollingUpdate.Surge = new(intstr.FromInt32(1))
}

// renewed checks that all nodes came after some others, as many as before, and that the roll left nothing on the group.
func (r *rolling) renewed(before int) {
	r.t.Helper()
	r.eventually("the former machines are gone", func() error {
		if nodes := r.mustNodes(); len(nodes) != before {
			return fmt.Errorf("%d nodes", len(nodes))
		}
		return nil
	})
	if _, left := r.tags()[rollout.TagMemory]; left {
		r.t.Error("the roll is still noted on the group")
	}
}

// TestTheOperatorReplacesMachinesWithASurge changes a label of a group whose machines CloudFormation does not replace: all nodes that
// there were serve until others do.
func TestTheOperatorReplacesMachinesWithASurge(t *testing.T) {
	r := newRolling(t, byOperator)
	before := r.mustNodes()
	r.patch(r.group, `{"spec":{"labels":{"team":"new"}}}`)
	r.ended(v1alpha1.RolloutDone)
	r.condition(r.group, "Ready", metav1.ConditionTrue, "")
	r.condition(r.group, "NodesUpdated", metav1.ConditionTrue, "AllUpdated")
	if told := r.group.Status.Rollout; told.Updated != 3 || told.Total != 3 || told.Started == nil || told.Finished == nil {
		t.Errorf("%+v", told)
	}
	r.renewed(3)
	r.kept(3)
	for id, node := range r.mustNodes() {
		if _, old := before[id]; old || node.Labels["team"] != "new" {
			t.Errorf("node %s is not new: %v", node.Name, node.Labels)
		}
	}
	if calls := r.sim.Calls(); calls["cloudformation/SignalResource"] != 0 {
		t.Error("signals were sent that nobody waits for")
	}
}

// TestSettingsOfARollHoldWhileItGoesOn has a canary pause for long; then a person does not want to wait.
func TestSettingsOfARollHoldWhileItGoesOn(t *testing.T) {
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
		if told := r.group.Status.Rollout; told == nil || told.State != v1alpha1.RolloutRolling || told.Updated != 1 {
			return fmt.Errorf("%+v", told)
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

// TestARollOfTheOperatorThatStopsIsTriedAgainByTheNextEdit has new machines that are never Ready: all that served still does, and the
// next edit goes through.
func TestARollOfTheOperatorThatStopsIsTriedAgainByTheNextEdit(t *testing.T) {
	r := runs(t, 1, func(_ *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) {
		byOperator(group)
		group.Spec.RollingUpdate.Canary = 1
		group.Spec.RollingUpdate.ReadyTimeout = &metav1.Duration{Duration: 10 * time.Second}
	})
	before := r.instances("cluster-operator.aws/instance-group")
	out, err := ec2.NewFromConfig(r.awsConfig(account, region)).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: before[:1]})
	if err != nil {
		t.Fatal(err)
	}
	image := aws.ToString(out.Reservations[0].Instances[0].ImageId)
	r.host.SetImage(image, fake.Behaviour{NotReady: true})
	r.patch(r.group, `{"spec":{"labels":{"team":"bad"}}}`)
	r.condition(r.group, "Stalled", metav1.ConditionTrue, "RollStopped")
	r.condition(r.group, "NodesUpdated", metav1.ConditionFalse, "RollStopped")
	if told := r.group.Status.Rollout; told.State != v1alpha1.RolloutStopped || !strings.Contains(told.Message, "was not Ready within 10s") || told.Finished == nil {
		t.Errorf("%+v", told)
	}
	r.eventually("all is as it was", func() error {
		if after := r.instances("cluster-operator.aws/instance-group"); !slices.Equal(before, after) {
			return fmt.Errorf("before %v, after %v", before, after)
		}
		return nil
	})
	r.host.SetImage(image, fake.Behaviour{})
	r.patch(r.group, `{"spec":{"labels":{"team":"good"},"rollingUpdate":{"readyTimeout":null}}}`)
	r.condition(r.group, "Ready", metav1.ConditionTrue, "")
	if told := r.group.Status.Rollout; told.State != v1alpha1.RolloutDone || told.Updated != 3 {
		t.Errorf("%+v", told)
	}
}
