package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Changes to a whole cluster wait for approval: the base stack's first, then those of all slots,
// and the group's, to which its Cluster's policy applies. Only approved changes are made, also by
// an operator that was killed in between.
func TestApproval(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("workers", "demo")
	cluster.Spec.UpdatePolicy = v1alpha1.UpdateManual
	w.create(cluster, group)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "") // Creation needs no approval.
	w.condition(group, "Ready", metav1.ConditionTrue, "")
	before := w.deployed()

	w.patch(cluster, `{"spec":{"tags":{"team":"blue"},"controlPlane":{"instanceType":"m6i.xlarge"}}}`) // Tags alone replace no instance.
	held := w.condition(cluster, "Synced", metav1.ConditionFalse, "ApprovalNeeded")
	w.pending(cluster, "demo")
	wanted := fmt.Sprintf(
		"kubectl annotate --overwrite -n %s cluster.cluster-operator.aws/demo aws-operator/approve=%s",
		w.namespace,
		cluster.Status.PendingChanges[0].Digest,
	)
	if !strings.HasSuffix(held.Message, wanted) || !strings.Contains(held.Message, "Stack demo: ") ||
		!strings.Contains(held.Message, "Changes the stack's tags.") {
		t.Errorf("message %q, want a description of the change and the command %q", held.Message, wanted)
	}
	w.condition(group, "Ready", metav1.ConditionFalse, "ApprovalNeeded")
	w.pending(group, "demo-workers")
	w.approve(cluster, "0123456789abcdef0123456789abcdef", group.Status.PendingChanges[0].Digest) // of another change
	w.condition(cluster, "Synced", metav1.ConditionFalse, "ApprovalNeeded")
	w.stop()
	if after := w.deployed(); after != before {
		t.Fatalf("AWS was changed before the approval:\n%s\nwas\n%s", after, before)
	}
	w.start()

	w.approve(cluster, cluster.Status.PendingChanges[0].Digest)
	w.pending(cluster, "demo-control-plane-0", "demo-control-plane-1", "demo-control-plane-2")
	if summary := cluster.Status.PendingChanges[0].Summary; !strings.HasPrefix(
		summary, "Replaces the instance of this control-plane slot after draining its node.",
	) {
		t.Errorf("summary %q, want that the instance is replaced", summary)
	}
	w.approve(cluster, cluster.Status.PendingChanges[0].Digest)
	w.eventually("the approved changes start", func() error {
		if first := w.all()["demo-control-plane-0"]; first.LastUpdatedTime == nil {
			return errStill
		}
		return nil
	})
	stacks := w.all()
	for name, isChanged := range map[string]bool{
		"demo": true, "demo-control-plane-0": true, "demo-control-plane-1": false, "demo-control-plane-2": false, "demo-workers": false,
	} {
		if changed := stacks[name].LastUpdatedTime != nil; changed != isChanged {
			t.Errorf("stack %s was changed: %t, was approved: %t", name, changed, isChanged)
		}
		if tagged := strings.Contains(fmt.Sprint(tagsOf(stacks[name])), "team:blue"); tagged != isChanged {
			t.Errorf("stack %s has the change: %t, was approved: %t", name, tagged, isChanged)
		}
	}
}

// A pending change reports how many instances it replaces, needs another approval after an edit,
// and disappears when the edit is undone or the group deleted.
func TestApprovalOfAGroup(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("workers", "demo")
	cluster.Spec.ControlPlane.Replicas, group.Spec.UpdatePolicy = 1, v1alpha1.UpdateManual
	w.create(cluster, group)
	w.condition(group, "Ready", metav1.ConditionTrue, "")
	bundle := group.Status.Stack.Bundle

	w.patch(group, `{"spec":{"labels":{"disk":"fast"}}}`)
	held := w.condition(group, "Synced", metav1.ConditionFalse, "ApprovalNeeded")
	if !strings.Contains(
		held.Message, "Replaces the group's 2 instances a few at a time, draining each node first. What changes on the nodes: labels.",
	) {
		t.Errorf("message %q, want the number of replaced instances, and why", held.Message)
	}
	former := group.Status.PendingChanges[0].Digest
	if group.Status.Stack.Bundle != bundle {
		t.Error("the status has another bundle although the change is pending")
	}

	w.patch(group, `{"spec":{"labels":{"disk":"faster"}}}`)
	w.eventually("the edit creates another proposal", func() error {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(group), group); err != nil {
			return err
		}
		if now := digests(group.Status.PendingChanges); len(now) != 1 || now[0] == former {
			return fmt.Errorf("%q is pending: %w", now, errStill)
		}
		return nil
	})
	w.approve(group, former)
	held = w.condition(group, "Synced", metav1.ConditionFalse, "ApprovalStale")
	if !strings.Contains(held.Message, "aws-operator/approve="+group.Status.PendingChanges[0].Digest) {
		t.Errorf("message %q, want the new digest", held.Message)
	}
	if sets := w.changeSets("demo-workers"); len(sets) != 1 {
		t.Errorf("change sets %q, want the new one only", sets)
	}

	w.patch(group, `{"spec":{"labels":null}}`)
	w.condition(group, "Ready", metav1.ConditionTrue, "")
	w.pending(group)
	if sets := w.changeSets("demo-workers"); len(sets) != 0 {
		t.Errorf("leftover change sets %q", sets)
	}
	w.patch(group, `{"spec":{"maxSize":7}}`)
	w.pending(group, "demo-workers")
	if pending := group.Status.PendingChanges[0]; pending.Summary != "Changes AutoScalingGroup in place." ||
		fmt.Sprint(pending.Changes[0].Properties) != "[MaxSize]" {
		t.Errorf("pending %+v, want the group's change by its property without a replacement", pending)
	}
	w.approve(group, former, digests(group.Status.PendingChanges)[0])
	w.pending(group)
	w.condition(group, "Ready", metav1.ConditionTrue, "")
	if status := w.all()["demo-workers"].StackStatus; status != types.StackStatusUpdateComplete {
		t.Errorf("the stack is %s, want the approved change", status)
	}
	w.eventually("each change without an earlier approval has one Event", func() error {
		if events := w.events(group, "ApprovalNeeded"); len(events) != 2 {
			return fmt.Errorf("events %q", events)
		}
		return nil
	})

	w.patch(group, `{"spec":{"labels":{"disk":"slow"}}}`)
	w.pending(group, "demo-workers")
	if err := w.client.Delete(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	w.eventually("the stack is deleted without an approval", func() error {
		if stack, ok := w.all()["demo-workers"]; ok && stack.StackStatus != types.StackStatusDeleteInProgress {
			return fmt.Errorf("it is %s", stack.StackStatus)
		}
		return nil
	})
}

func digests(pending []v1alpha1.PendingChange) []string {
	var found []string
	for _, one := range pending {
		found = append(found, one.Digest)
	}
	return found
}

// pending waits until exactly the changes of these stacks wait for approval.
func (w *suite) pending(obj conditioned, stacks ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("changes of %q wait", stacks), func() error {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		list := []v1alpha1.PendingChange{}
		switch obj := obj.(type) {
		case *v1alpha1.Cluster:
			list = obj.Status.PendingChanges
		case *v1alpha1.InstanceGroup:
			list = obj.Status.PendingChanges
		}
		var names []string
		for _, one := range list {
			names = append(names, one.Stack)
			if one.Digest == "" || one.Summary == "" || len(one.Changes) == 0 {
				return fmt.Errorf("%+v is incomplete", one)
			}
		}
		if fmt.Sprint(names) != fmt.Sprint(stacks) {
			return fmt.Errorf("%q wait; %s", names, describeConditions(obj.GetConditions()))
		}
		return nil
	})
}

func (w *suite) approve(obj client.Object, digests ...string) {
	w.t.Helper()
	w.patch(obj, fmt.Sprintf(`{"metadata":{"annotations":{"aws-operator/approve":%q}}}`, strings.Join(digests, ",")))
}

func (w *suite) patch(obj client.Object, patch string) {
	w.t.Helper()
	if err := w.client.Patch(w.t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
}

// all returns the cluster's stacks.
func (w *suite) all() map[string]types.Stack {
	w.t.Helper()
	out, err := w.cloudFormation().DescribeStacks(w.t.Context(), &cloudformation.DescribeStacksInput{})
	if err != nil {
		w.t.Fatal(err)
	}
	found := map[string]types.Stack{}
	for _, stack := range out.Stacks {
		if name := aws.ToString(stack.StackName); name == "demo" || strings.HasPrefix(name, "demo-") {
			found[name] = stack
		}
	}
	return found
}

// deployed returns everything that an update of the cluster's stacks would change.
func (w *suite) deployed() string {
	w.t.Helper()
	var lines []string
	for name, stack := range w.all() {
		template, err := w.cloudFormation().GetTemplate(w.t.Context(), &cloudformation.GetTemplateInput{StackName: aws.String(name)})
		if err != nil {
			w.t.Fatal(err)
		}
		resources, err := w.cloudFormation().
			DescribeStackResources(w.t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: aws.String(name)})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range resources.StackResources {
			lines = append(
				lines,
				fmt.Sprint(name, aws.ToString(r.LogicalResourceId), aws.ToString(r.PhysicalResourceId), r.ResourceStatus, r.Timestamp),
			)
		}
		lines = append(
			lines, fmt.Sprint(name, stack.StackStatus, stack.LastUpdatedTime, tagsOf(stack), aws.ToString(template.TemplateBody)),
		)
	}
	return strings.Join(sorted(lines), "\n")
}

func tagsOf(stack types.Stack) []string {
	var tags []string
	for _, tag := range stack.Tags {
		tags = append(tags, aws.ToString(tag.Key)+":"+aws.ToString(tag.Value))
	}
	return sorted(tags)
}

// changeSets returns the names of a stack's change sets.
func (w *suite) changeSets(stack string) []string {
	w.t.Helper()
	out, err := w.cloudFormation().ListChangeSets(w.t.Context(), &cloudformation.ListChangeSetsInput{StackName: aws.String(stack)})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, set := range out.Summaries {
		names = append(names, aws.ToString(set.ChangeSetName)+" "+string(set.ExecutionStatus))
	}
	return names
}

func (w *suite) cloudFormation() *cloudformation.Client {
	return cloudformation.NewFromConfig(w.awsConfig(account, region))
}

// events returns the notes of an object's Events with a reason.
func (w *suite) events(obj client.Object, reason string) []string {
	w.t.Helper()
	list := &corev1.EventList{}
	if err := w.client.List(w.t.Context(), list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	var notes []string
	for i := range list.Items {
		if event := &list.Items[i]; event.InvolvedObject.UID == obj.GetUID() && event.Reason == reason {
			notes = append(notes, event.Message)
		}
	}
	return notes
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}
