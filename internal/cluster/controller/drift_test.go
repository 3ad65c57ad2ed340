package controller_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
)

// checkDrift asks for checks until the result is the expected one: an answer may be of a check that began
// before a change by hand.
func (w *suite) checkDrift(obj conditioned, status metav1.ConditionStatus, reason string) *metav1.Condition {
	w.t.Helper()
	var found *metav1.Condition
	asked, last := 0, time.Time{}
	w.eventually(fmt.Sprintf("%T %s is checked: %s %s", obj, obj.GetName(), status, reason), func() error {
		if time.Since(last) > time.Second {
			asked, last = asked+1, time.Now()
			w.patch(obj, fmt.Sprintf(`{"metadata":{"annotations":{%q:"%s %d"}}}`, v1alpha1.CheckDriftAnnotation, status, asked))
		}
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		for _, c := range obj.GetConditions() {
			if c.Type == servicev1alpha1.ConditionDrifted {
				found = &c
			}
		}
		if found == nil || found.Status != status || found.Reason != reason {
			return fmt.Errorf("conditions %v", describeConditions(obj.GetConditions()))
		}
		return nil
	})
	return found
}

// driftEvents returns the Events about an object's drift.
func (w *suite) driftEvents(name, reason string) (notes []string) {
	w.t.Helper()
	events := &corev1.EventList{}
	if err := w.client.List(w.t.Context(), events, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	for i := range events.Items {
		if e := &events.Items[i]; e.InvolvedObject.Name == name && e.Reason == reason {
			notes = append(notes, e.Type+" "+e.Message)
		}
	}
	return notes
}

// TestDriftOfAClustersStacks changes a VPC and an Auto Scaling group by their own APIs: the Cluster and the
// group say both values, stay ready, and say so when the changes are undone.
func TestDriftOfAClustersStacks(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("demo-workers", "demo")
	w.create(cluster, group)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	w.condition(group, "Ready", metav1.ConditionTrue, "")
	w.checkDrift(cluster, metav1.ConditionFalse, "InSync") // after its creation
	w.checkDrift(group, metav1.ConditionFalse, "InSync")
	for i := range cluster.Status.Stacks {
		if s := &cluster.Status.Stacks[i]; s.Drift == nil || s.Drift.Status != "InSync" || s.Drift.CheckedAt == nil {
			t.Errorf("stack %s has drift %+v", s.Name, s.Drift)
		}
	}

	setNames := w.namesOf(cluster)
	setNames(false)
	found := w.checkDrift(cluster, metav1.ConditionTrue, "Drifted")
	if want := "EnableDnsHostnames is false and should be true"; !strings.Contains(found.Message, want) || !strings.HasPrefix(found.Message, "demo: ") {
		t.Errorf("the condition says %q, want %q of the stack demo", found.Message, want)
	}
	base := record.Find(cluster, model.BaseStackName("demo")).Drift
	want := servicev1alpha1.DriftedProperty{Path: "EnableDnsHostnames", Difference: "NOT_EQUAL", Expected: "true", Actual: "false"}
	if len(base.Resources) != 1 || len(base.Resources[0].Properties) != 1 || base.Resources[0].Properties[0] != want {
		t.Errorf("status.stacks has the drift %+v, want %+v", base.Resources, want)
	}
	w.condition(cluster, "Ready", metav1.ConditionTrue, "") // drift does not make a cluster unready

	w.patch(cluster, fmt.Sprintf(`{"metadata":{"annotations":{%q:"VPC/EnableDnsHostnames"}}}`, v1alpha1.IgnoreDriftAnnotation))
	w.checkDrift(cluster, metav1.ConditionFalse, "InSync")
	w.patch(cluster, fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, v1alpha1.IgnoreDriftAnnotation))
	w.checkDrift(cluster, metav1.ConditionTrue, "Drifted")
	setNames(true)
	w.checkDrift(cluster, metav1.ConditionFalse, "InSync")
	w.eventually("Events report the drift and its end", func() error {
		if drifted, ended := w.driftEvents("demo", "Drifted"), w.driftEvents("demo", "InSync"); len(drifted) == 0 || len(ended) == 0 ||
			!strings.HasPrefix(drifted[0], "Warning Stack demo: ") {
			return fmt.Errorf("Events %q and %q", drifted, ended)
		}
		return nil
	})

	scaling := autoscaling.NewFromConfig(w.awsConfig(account, region))
	if _, err := scaling.UpdateAutoScalingGroup(t.Context(), &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String(group.Status.AutoScalingGroup), MaxSize: aws.Int32(7), DesiredCapacity: aws.Int32(3),
	}); err != nil {
		t.Fatal(err)
	}
	found = w.checkDrift(group, metav1.ConditionTrue, "Drifted")
	if want := "MaxSize is 7 and should be 4"; !strings.Contains(found.Message, want) || strings.Contains(found.Message, "DesiredCapacity") {
		t.Errorf("the condition says %q, want %q only", found.Message, want)
	}
	w.refusedDriftPolicies(group)

	w.stop()
	setNames(false)
	w.drift = time.Second
	w.start()
	w.condition(cluster, "Drifted", metav1.ConditionTrue, "Drifted") // on schedule
}

// namesOf returns a function that lets instances in the VPC of a cluster have public DNS names, or not.
func (w *suite) namesOf(cluster *v1alpha1.Cluster) func(enabled bool) {
	w.t.Helper()
	networks, vpc := ec2.NewFromConfig(w.awsConfig(account, region)), cluster.Status.Outputs[model.OutputVPC]
	return func(enabled bool) {
		w.t.Helper()
		if _, err := networks.ModifyVpcAttribute(w.t.Context(), &ec2.ModifyVpcAttributeInput{
			VpcId: &vpc, EnableDnsHostnames: &ec2types.AttributeBooleanValue{Value: &enabled},
		}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// refusedDriftPolicies gives a group that has drifted policies and exceptions that the operator refuses, and turns
// its checks off.
func (w *suite) refusedDriftPolicies(group *v1alpha1.InstanceGroup) {
	w.t.Helper()
	for _, c := range []struct{ annotation, value, reason, message string }{
		{v1alpha1.DriftPolicyAnnotation, "Revert", "UnknownDriftPolicy", `is "Revert"; set it to Report or Ignore`},
		{v1alpha1.IgnoreDriftAnnotation, "not a path", "InvalidIgnoreDrift", `"not a path" is no property`},
	} {
		w.patch(group, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, c.annotation, c.value))
		if found := w.condition(group, "Drifted", metav1.ConditionUnknown, c.reason); !strings.Contains(found.Message, c.message) {
			w.t.Errorf("the condition says %q, want %q", found.Message, c.message)
		}
		w.patch(group, fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, c.annotation))
		w.condition(group, "Drifted", metav1.ConditionTrue, "Drifted")
	}
	w.patch(group, fmt.Sprintf(`{"metadata":{"annotations":{%q:"ignore"}}}`, v1alpha1.DriftPolicyAnnotation))
	w.eventually("the group's checks are turned off", func() error {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(group), group); err != nil {
			return err
		}
		for _, c := range group.Status.Conditions {
			if c.Type == servicev1alpha1.ConditionDrifted || group.Status.Stack.Drift != nil {
				return errors.New("the group still has the result of a check")
			}
		}
		return nil
	})
}
