package console_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	identityv1alpha1 "github.com/aws-operator/aws-operator/api/identity/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// service returns an object of a built-in kind.
func service(kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "service-operator.aws/v1alpha1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

func TestReferencesOfAnObject(t *testing.T) {
	w := newSuite(t)
	topic := service("SNSTopic", "orders", map[string]any{})
	topic.SetAnnotations(map[string]string{identityv1alpha1.IdentityAnnotation: "team"})
	w.create(
		topic, service("SQSQueue", "billing", map[string]any{}), service("SQSQueue", "other", map[string]any{}),
		service("SNSSubscription", "orders-to-billing", map[string]any{"topicName": "orders", "protocol": "sqs", "endpoint": "billing"}),
		service("SNSSubscription", "orders-to-missing", map[string]any{"topicName": "orders", "protocol": "sqs", "endpoint": "missing"}),
	)
	b := w.open(w.config)
	overview := b.watch()
	id := func(name string) string { return overview.row(name, "waiting").ID }

	page := b.page(id("SNSSubscription orders-to-billing"))
	references := page.section("References")
	for _, want := range []string{"needs | SNSTopic orders | reference topic |", "needs | SQSQueue billing | reference queue |"} {
		if !strings.Contains(references, want) {
			t.Errorf("no %q: %s", want, references)
		}
	}
	page = b.page(id("SNSTopic orders"))
	references = page.section("References")
	for _, want := range []string{
		"needs | AWSIdentity team | aws-operator/identity | not shown here |",
		"is needed by | SNSSubscription orders-to-billing | reference topic |",
		"is needed by | SNSSubscription orders-to-missing | reference topic |",
	} {
		if !strings.Contains(references, want) {
			t.Errorf("no %q: %s", want, references)
		}
	}
	page = b.page(id("SQSQueue other"))
	if got := page.section("References"); got != "" {
		t.Errorf("a queue without references has %s", got)
	}

	// From the queue, the topic and its identity are two and three steps away, in the same direction as a
	// subscription; what the subscription needs is not needed by the queue.
	page = b.page(id("SQSQueue billing"))
	var drawn []string
	for _, s := range page.Sections {
		if s.Graph == nil {
			continue
		}
		for _, node := range s.Graph.Nodes {
			drawn = append(drawn, fmt.Sprintf("%d %s %s", node.Column, node.Kind, node.Name))
		}
		if len(s.Graph.Edges) != 1 || !strings.Contains(s.Graph.Label, "SQSQueue billing needs 0 objects, and 1 need it") {
			t.Errorf("the drawing %q has the edges %v", s.Graph.Label, s.Graph.Edges)
		}
	}
	if got := strings.Join(drawn, ", "); got != "0 SQSQueue billing, -1 SNSSubscription orders-to-billing" {
		t.Errorf("the drawing has %s", got)
	}
}

// A subscription waits for a topic, which waits for its identity; and for a queue that is Ready.
func TestPageNamesWhatAnObjectWaitsForInTheEnd(t *testing.T) {
	w := newSuite(t)
	identity := w.identity(identityv1alpha1.AWSIdentitySpec{
		RoleARN: "arn:aws:iam::123456789012:role/team", AllowedNamespaces: identityv1alpha1.AllowedNamespaces{Names: []string{w.namespace}},
	})
	topic, queue := service("SNSTopic", "orders", map[string]any{}), service("SQSQueue", "billing", map[string]any{})
	topic.SetAnnotations(map[string]string{identityv1alpha1.IdentityAnnotation: identity.Name})
	w.create(topic, queue, service(
		"SNSSubscription", "orders-to-billing", map[string]any{"topicName": "orders", "protocol": "sqs", "endpoint": "billing"},
	))
	w.set(identity, operatorkit.ConditionReady, metav1.ConditionFalse, "AccessDenied", "The role does not trust the operator.")
	w.set(queue, operatorkit.ConditionReady, metav1.ConditionTrue, "Ready", "It is ready.")
	b := w.open(w.config)
	overview := b.watch()
	overview.row("AWSIdentity "+identity.Name, "working")
	overview.row("SQSQueue billing", "done")
	p := b.page(overview.row("SNSSubscription orders-to-billing", "waiting").ID)
	if len(p.Causes) != 1 || p.Causes[0].Name != "AWSIdentity "+identity.Name || p.Causes[0].Text != "The role does not trust the operator." {
		t.Errorf("it waits for %+v", p.Causes)
	}
	if p = b.page(overview.row("SQSQueue billing", "done").ID); len(p.Causes) != 0 {
		t.Errorf("a queue that is Ready waits for %+v", p.Causes)
	}
}

// identity creates an identity, and deletes it when the test ends.
func (w *suite) identity(spec identityv1alpha1.AWSIdentitySpec) *identityv1alpha1.AWSIdentity {
	w.t.Helper()
	made := &identityv1alpha1.AWSIdentity{ObjectMeta: metav1.ObjectMeta{Name: "team-" + w.namespace}, Spec: spec}
	if err := w.client.Create(w.t.Context(), made); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = w.client.Delete(context.Background(), made) })
	return made
}

func TestPageOfAnIdentity(t *testing.T) {
	w := newSuite(t)
	identity := w.identity(identityv1alpha1.AWSIdentitySpec{
		RoleARN: "arn:aws:iam::123456789012:role/team", Regions: []string{"eu-central-1", "eu-west-1"},
		AllowedNamespaces: identityv1alpha1.AllowedNamespaces{Names: []string{"a", "b"}, Selector: &metav1.LabelSelector{}},
	})
	name := identity.Name
	queue := service("SQSQueue", "billing", map[string]any{})
	queue.SetAnnotations(map[string]string{identityv1alpha1.IdentityAnnotation: name})
	w.create(queue)
	w.set(identity, operatorkit.ConditionReady, metav1.ConditionFalse, "AccessDenied", "The role does not trust the operator.")
	b := w.open(w.config)
	overview := b.watch()
	page := b.page(overview.row("AWSIdentity "+name, "working").ID)
	for fact, want := range map[string]string{
		"Role": "arn:aws:iam::123456789012:role/team", "Regions": "eu-central-1, eu-west-1", "Allowed namespaces": "a, b, all namespaces",
	} {
		if got := page.fact(fact); got != want {
			t.Errorf("%s is %q, want %q", fact, got, want)
		}
	}
	if got := page.section("References"); !strings.Contains(got, "is needed by | SQSQueue billing |") {
		t.Errorf("references: %s", got)
	}
	if page.Text != "The role does not trust the operator." {
		t.Errorf("the page says %q", page.Text)
	}
}
