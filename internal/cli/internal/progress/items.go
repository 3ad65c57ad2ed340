package progress

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/inprocess"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Mark is the state of an item.
type Mark string

// Marks.
const (
	// Waiting means that nothing has happened yet.
	Waiting Mark = "waiting"
	// Working means that it is being created, changed or deleted.
	Working Mark = "working"
	// Done means that it is as desired.
	Done Mark = "done"
	// Troubled means that there is a problem.
	Troubled Mark = "troubled"
)

// Item is one object of the progress: a cluster, an instance group, or a stack of one of them.
type Item struct {
	// Name is the name of the item, with its kind.
	Name string
	// Mark is the state of the item.
	Mark Mark
	// Text describes the current operation, or what the item waits for.
	Text string
	// Part reports that it belongs to the item above.
	Part bool
}

// Items lists the Cluster and its stacks, then each InstanceGroup with its stack.
func Items(p *inprocess.Progress) []Item {
	var items []Item
	if c := p.Cluster; c != nil {
		items = append(items, whole("Cluster "+c.Name, c, c.Status.Nodes))
		for i := range c.Status.Stacks {
			items = append(items, Stack(&c.Status.Stacks[i]))
		}
	}
	for i := range p.Groups {
		g := &p.Groups[i]
		items = append(items, whole("InstanceGroup "+g.Name, g, g.Status.Nodes))
		if g.Status.Stack != nil {
			items = append(items, Stack(g.Status.Stack))
		}
	}
	return items
}

// Condition returns the condition that describes the status of an object best: Synced if the last
// reconcile failed or must be retried by a user, else Ready. It returns nil if the object has not
// been reconciled since its last change.
func Condition(object client.Object) *metav1.Condition {
	ready := operatorkit.FindCondition(object, operatorkit.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionUnknown || ready.ObservedGeneration != object.GetGeneration() {
		return nil
	}
	if synced := operatorkit.FindCondition(object, operatorkit.ConditionSynced); synced != nil && synced.Status == metav1.ConditionFalse {
		return synced
	}
	return ready
}

// Object returns the item of any object of the operator, with its nodes if it has any.
func Object(name string, object client.Object) Item {
	item := described(name, object)
	if u, ok := object.(*unstructured.Unstructured); ok {
		nodes, _, _ := unstructured.NestedString(u.Object, "status", "nodes", "summary")
		if desired, _, _ := unstructured.NestedInt64(u.Object, "status", "nodes", "desired"); desired > 0 && u.GetDeletionTimestamp() == nil {
			item.count(nodes)
		}
		item.Text = strings.TrimSpace(strings.Join(append([]string{item.Text}, upkeep(u)...), " "))
	}
	return item
}

// upkeep returns what someone on call has to know about a Cluster and its condition Ready does not say:
// the stage of a rotation of CAs, and conditions about its upkeep that are not True.
func upkeep(cluster *unstructured.Unstructured) []string {
	if cluster.GetKind() != "Cluster" || cluster.GetDeletionTimestamp() != nil {
		return nil
	}
	var found []string
	stage, _, _ := unstructured.NestedString(cluster.Object, "status", "certificates", "rotation", "stage")
	if stage != "" && stage != string(v1alpha1.RotationDone) {
		message, _, _ := unstructured.NestedString(cluster.Object, "status", "certificates", "rotation", "message")
		found = append(found, strings.TrimSpace("The rotation of the CAs is in stage "+stage+". "+message))
	}
	for _, name := range v1alpha1.UpkeepConditions() {
		if one := operatorkit.FindCondition(cluster, name); one != nil && one.Status == metav1.ConditionFalse && one.Reason != "Disabled" {
			found = append(found, name+" is False: "+one.Message)
		}
	}
	return found
}

// described returns the item of an object, with the message of the condition that describes it.
func described(name string, object client.Object) Item {
	condition := Condition(object)
	switch {
	case condition == nil:
		return Item{Name: name, Mark: Waiting, Text: "pending"}
	case condition.Type == operatorkit.ConditionSynced:
		return Item{Name: name, Mark: Troubled, Text: condition.Message}
	case condition.Status == metav1.ConditionTrue && object.GetDeletionTimestamp() == nil:
		return Item{Name: name, Mark: Done, Text: condition.Message}
	default:
		return Item{Name: name, Mark: Working, Text: condition.Message}
	}
}

// whole returns an object with the status that its conditions report, and its nodes.
func whole(name string, object client.Object, nodes v1alpha1.NodeCount) Item {
	item := described(name, object)
	if nodes.Desired > 0 && object.GetDeletionTimestamp() == nil {
		item.count(nodes.Summary)
	}
	return item
}

// count adds how many of an item's nodes are ready, for example "2/3".
func (i *Item) count(nodes string) {
	if i.Mark != Waiting {
		i.Text = fmt.Sprintf("(%s nodes) %s", nodes, i.Text)
	}
}

// Stack returns the item of a stack, with CloudFormation's status.
func Stack(s *v1alpha1.StackStatus) Item {
	item := Item{Name: "stack " + s.Name, Mark: Working, Text: strings.TrimSpace(s.Status + " " + s.Reason), Part: true}
	switch {
	case s.Status == "":
		item.Mark, item.Text = Waiting, "does not exist yet"
	case strings.HasSuffix(s.Status, "_FAILED") || strings.Contains(s.Status, "ROLLBACK"):
		item.Mark = Troubled
	case strings.HasSuffix(s.Status, "_COMPLETE"):
		item.Mark = Done
	}
	return item
}
