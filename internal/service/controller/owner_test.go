package controller_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestForgedStatusReachesNoOtherStack writes another stack into an object's status, and changes and
// deletes the object: the other stack stays unchanged, and the condition says why the object
// stalls.
func TestForgedStatusReachesNoOtherStack(t *testing.T) {
	w := newSuite(t, nil)
	console := cloudformation.NewFromConfig(w.awsConfig())
	out, err := console.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("victim"), EnableTerminationProtection: aws.Bool(true),
		TemplateBody: aws.String(`{"Resources":{"Queue":{"Type":"AWS::SQS::Queue"}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	id := aws.ToString(out.StackId)
	const manifest = "{kind: SQSQueue, metadata: {name: mine}, spec: {delaySeconds: %d}}"
	w.apply(fmt.Sprintf(manifest, 1))
	w.ready("SQSQueue", "mine")
	refused := func(goal string) {
		t.Helper()
		found := w.condition("SQSQueue", "mine", "Stalled", "True", "StackNotOwned")
		if !strings.Contains(found.Message, id) {
			t.Errorf("%s: the condition says %q", goal, found.Message)
		}
		shown, err := console.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &id})
		if err != nil {
			t.Fatal(err)
		}
		if s := shown.Stacks[0]; s.StackStatus != types.StackStatusCreateComplete || !aws.ToBool(s.EnableTerminationProtection) ||
			s.LastUpdatedTime != nil {
			t.Errorf(
				"%s: the stack is %s, protected %t, updated %v",
				goal,
				s.StackStatus,
				aws.ToBool(s.EnableTerminationProtection),
				s.LastUpdatedTime,
			)
		}
	}
	status := func(patch string) {
		t.Helper()
		obj, err := w.get("SQSQueue", "mine")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.client.Status().Patch(t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	status(
		fmt.Sprintf(
			`{"status":{"stackID":%q,"resourceStatus":"UPDATE_COMPLETE","stack":{"terminationProtection":true,"revision":99999999}}}`,
			id,
		),
	)
	w.apply(fmt.Sprintf(manifest, 2))
	refused("change")
	w.eventually("an Event reports it", func() error {
		events := &corev1.EventList{}
		if err := w.client.List(t.Context(), events, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for i := range events.Items {
			if events.Items[i].Reason == "StackNotOwned" {
				return nil
			}
		}
		return errors.New("there is none")
	})
	obj, err := w.get("SQSQueue", "mine")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	refused("deletion")
	status(`{"status":{"stackID":null,"resourceStatus":null,"stack":null}}`)
	w.change("SQSQueue", "mine", `{"metadata":{"annotations":{"touched":"yes"}}}`)
	w.gone("SQSQueue", "mine")
	if stacks := w.stacks(); len(stacks) != 1 || stacks["victim"] == "" {
		t.Errorf("stacks %v, want the other's only", stacks)
	}
}
