package progress

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
			items = append(items, stack(&c.Status.Stacks[i]))
		}
	}
	for i := range p.Groups {
		g := &p.Groups[i]
		items = append(items, whole("InstanceGroup "+g.Name, g, g.Status.Nodes))
		if g.Status.Stack != nil {
			items = append(items, stack(g.Status.Stack))
		}
	}
	return items
}

// whole returns an object with the status that its conditions report.
func whole(name string, object client.Object, nodes v1alpha1.NodeCount) Item {
	item := Item{Name: name, Mark: Waiting, Text: "is about to be reconciled"}
	ready := operatorkit.FindCondition(object, operatorkit.ConditionReady)
	synced := operatorkit.FindCondition(object, operatorkit.ConditionSynced)
	if ready == nil || ready.Status == metav1.ConditionUnknown || ready.ObservedGeneration != object.GetGeneration() {
		return item
	}
	item.Mark, item.Text = Working, ready.Message
	switch {
	case synced != nil && synced.Status == metav1.ConditionFalse:
		item.Mark, item.Text = Troubled, synced.Message
	case ready.Status == metav1.ConditionTrue && object.GetDeletionTimestamp() == nil:
		item.Mark = Done
	}
	if nodes.Desired > 0 && object.GetDeletionTimestamp() == nil {
		item.Text = fmt.Sprintf("(%s nodes) %s", nodes.Summary, item.Text)
	}
	return item
}

// stack returns the item of a stack, with CloudFormation's status.
func stack(s *v1alpha1.StackStatus) Item {
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
