package controller_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// victim creates a protected stack that no object owns, and returns its ARN.
func (w *suite) victim() string {
	w.t.Helper()
	out, err := w.cloudFormation().CreateStack(w.t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("victim"), EnableTerminationProtection: aws.Bool(true),
		TemplateBody: aws.String(`{"Resources":{"Queue":{"Type":"AWS::SQS::Queue"}}}`),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.eventually("the victim is created", func() error {
		if stacks := w.stacks(account, region); stacks["victim"] != "CREATE_COMPLETE" {
			return errStill
		}
		return nil
	})
	return aws.ToString(out.StackId)
}

// untouched checks that the victim is unchanged.
func (w *suite) untouched(id string) {
	w.t.Helper()
	out, err := w.cloudFormation().DescribeStacks(w.t.Context(), &cloudformation.DescribeStacksInput{StackName: &id})
	if err != nil {
		w.t.Fatal(err)
	}
	if s := out.Stacks[0]; s.StackStatus != types.StackStatusCreateComplete || !aws.ToBool(s.EnableTerminationProtection) ||
		s.LastUpdatedTime != nil {
		w.t.Errorf("the stack is %s, protected %t, updated %v", s.StackStatus, aws.ToBool(s.EnableTerminationProtection), s.LastUpdatedTime)
	}
}

// forge replaces a stack's record in a status.
func (w *suite) forge(obj conditioned, stacks func() *v1alpha1.StackStatus, record map[string]any) {
	w.t.Helper()
	w.eventually("the status is forged", func() error {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		raw, err := json.Marshal(record)
		if err != nil {
			return err
		}
		status := stacks()
		if status == nil {
			return errStill
		}
		status.Record.Raw = raw
		return w.client.Status().Update(w.t.Context(), obj)
	})
}

// notOwned waits until an object reports, in its conditions and an Event, that its record names a
// foreign stack.
func (w *suite) notOwned(obj conditioned) {
	w.t.Helper()
	stalled := w.condition(obj, "Stalled", metav1.ConditionTrue, "StackNotOwned")
	if !strings.Contains(stalled.Message, "victim") || !strings.Contains(stalled.Message, "kubectl edit --subresource=status") {
		w.t.Errorf("%s reports %q", obj.GetName(), stalled.Message)
	}
	w.eventually("an Event reports it", func() error {
		if len(w.events(obj, "StackNotOwned")) == 0 {
			return errStill
		}
		return nil
	})
}

// A foreign stack and a foreign bucket are written into the statuses of a Cluster and an
// InstanceGroup, which are then changed and deleted. The foreign resources stay unchanged, and the
// objects report why they stall.
func TestForgedStatusDoesNotAffectForeignResources(t *testing.T) {
	w := newSuite(t, nil, nil)
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("workers", "demo")
	cluster.Spec.ControlPlane.Replicas = 1
	w.create(cluster, group)
	w.complete(account, region, "demo", "demo-control-plane-0", "demo-workers")
	id := w.victim()
	bucket := aws.String("victims-bucket")
	_, err := w.s3(account, region).CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: bucket, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: region},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.s3(account, region).PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: bucket, Key: aws.String("k"), Body: strings.NewReader("v"),
	}); err != nil {
		t.Fatal(err)
	}
	forged := map[string]any{"stackID": id, "terminationProtection": true, "revision": 1 << 40}
	of := func(name string) func() *v1alpha1.StackStatus {
		return func() *v1alpha1.StackStatus {
			i := slices.IndexFunc(cluster.Status.Stacks, func(s v1alpha1.StackStatus) bool { return s.Name == name && s.Record != nil })
			if i < 0 {
				return nil
			}
			return &cluster.Status.Stacks[i]
		}
	}
	ofGroup := func() *v1alpha1.StackStatus {
		if group.Status.Stack == nil || group.Status.Stack.Record == nil {
			return nil
		}
		return group.Status.Stack
	}

	// Changes.
	w.forge(group, ofGroup, forged)
	w.patch(group, `{"spec":{"maxSize":7}}`)
	w.notOwned(group)
	w.forge(cluster, of("demo"), forged)
	w.patch(cluster, `{"spec":{"tags":{"team":"blue"}}}`)
	w.notOwned(cluster)
	w.untouched(id)

	// Deletions, one after the other. Removing the record deletes the object's own stack.
	if err := w.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.notOwned(group)
	w.untouched(id)
	w.forge(group, ofGroup, map[string]any{"revision": 1 << 41})
	w.touch(group)
	w.waitDeleted(group)
	w.forge(cluster, of("demo-control-plane-0"), forged)
	w.touch(cluster)
	w.notOwned(cluster)
	w.untouched(id)
	w.forge(cluster, of("demo-control-plane-0"), map[string]any{"revision": 1 << 41})
	cluster.Status.Outputs["Bucket"] = *bucket
	w.eventually("the outputs are forged", func() error {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		cluster.Status.Outputs["Bucket"] = *bucket
		return w.client.Status().Update(t.Context(), cluster)
	})
	w.touch(cluster)
	w.condition(cluster, "Stalled", metav1.ConditionTrue, "StackNotOwned") // the base stack's record still names the victim
	w.untouched(id)
	w.forge(cluster, of("demo"), map[string]any{"revision": 1 << 41})
	w.touch(cluster)
	w.waitDeleted(cluster)
	w.untouched(id)
	if keys := w.objects(account, region, *bucket); !slices.Equal(keys, []string{"k"}) {
		t.Errorf("the other bucket contains %q", keys)
	}
	if stacks := w.stacks(account, region); len(stacks) != 1 {
		t.Errorf("stacks %v, want only the foreign one", stacks)
	}
}

// touch makes the operator reconcile an object.
func (w *suite) touch(obj client.Object) {
	w.t.Helper()
	w.patch(obj, fmt.Sprintf(`{"metadata":{"annotations":{"touched":%q}}}`, obj.GetResourceVersion()))
}
