package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/stackcache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
)

// slotFacts is the state of a slot, from which the gate decides whether another may change.
type slotFacts struct {
	Index int
	// Moving reports that its stack is being created, updated or rolled back; Failed that its last
	// change failed.
	Moving, Failed bool
	// Problem describes why it is unhealthy, "" if it is healthy: its node is Ready and
	// schedulable, its API server responds, and its etcd member is part of the quorum.
	Problem string
}

// whyNotNow returns why an existing slot cannot change now, "" if it can. It can only while every
// other slot is up to date and healthy, so that etcd keeps its quorum without it. The slot's own
// health does not matter: the change may fix it. A failed change is retried in the slot where it
// failed, and not tried in others, where it would fail, too. If it failed in several, the first one
// goes first.
func whyNotNow(slots []slotFacts, slot int) string {
	failed := false
	for _, one := range slots {
		if one.Index == slot && one.Moving {
			return "" // Its change was sent; the record of that was lost.
		}
		failed = failed || one.Index == slot && one.Failed
	}
	for _, other := range slots {
		switch {
		case other.Index == slot:
		case other.Moving:
			return fmt.Sprintf("waiting for the change of slot %d to complete.", other.Index)
		case other.Failed && (!failed || other.Index < slot):
			return fmt.Sprintf("waiting for slot %d, whose change failed.", other.Index)
		case other.Problem != "":
			return fmt.Sprintf("waiting for slot %d to become healthy: %s.", other.Index, other.Problem)
		}
	}
	return ""
}

// slotsHealth returns the problems of unhealthy slots by slot. It queries every API server.
func (o *operator) slotsHealth(ctx context.Context, cluster *v1alpha1.Cluster) map[int]string {
	slots := model.SlotCount(cluster)
	// An operator that was killed before it recorded the slots' creation reconciles them before its
	// API step connects.
	connection, outcome := o.credentials.Connect(ctx, cluster)
	if connection != nil {
		return connection.SlotProblems(ctx, slots)
	}
	problems := map[int]string{}
	for slot := range slots {
		problems[slot] = "the operator cannot connect to the cluster's API: " + strings.TrimSuffix(outcome.Message(), ".")
	}
	return problems
}

// slotsGate decides during one reconcile of a cluster whether slots may change. It makes each
// expensive call at most once, and only if a slot is to change.
type slotsGate struct {
	*operator

	cluster  *v1alpha1.Cluster
	resolved *model.Cluster
	statuses map[int]string
	health   map[int]string
}

// isUnmade reports, once, whether a slot's stack cannot exist because this operator saw its base
// stack still being created.
func (g *slotsGate) isUnmade(slot int) bool {
	key := stackcache.Key{UID: g.cluster.UID, Stack: g.resolved.Slots[slot].StackName}
	return g.stacks.TakeAbsent(key)
}

// stands reports whether a slot's stack exists. It asks CloudFormation, since the status may be
// lost or old.
func (g *slotsGate) stands(ctx context.Context, slot int) (bool, error) {
	if err := g.ask(ctx); err != nil {
		return false, err
	}
	return stackStands(g.statuses[slot]), nil
}

// stackStands reports whether a stack with a status exists and is not the rest of a failed creation.
func stackStands(status string) bool {
	return status == record.StatusCreated || strings.HasPrefix(status, "UPDATE_") || strings.HasPrefix(status, "IMPORT_")
}

// closed returns why an existing slot cannot change now, "" if it can.
func (g *slotsGate) closed(ctx context.Context, slot int) (string, error) {
	if err := g.ask(ctx); err != nil {
		return "", err
	}
	if g.health == nil {
		g.health = map[int]string{}
		if len(g.resolved.AllSlots()) > 1 {
			g.health = g.slotsHealth(ctx, g.cluster)
		}
	}
	facts, err := g.facts()
	if err != nil {
		return "", err
	}
	if hold := whyNotNow(facts, slot); hold != "" || g.health[slot] == "" {
		return hold, nil
	}
	lost, err := g.volumes.Missing(ctx, g.cluster)
	if err != nil {
		return "", err
	}
	switch { // A new instance would wait for a lost volume until the change fails.
	case !slices.Contains(lost, slot), g.resolved.Slots[slot].UsesNext():
		return "", nil
	case g.cluster.Spec.ControlPlane.Repair.Disabled:
		return fmt.Sprintf("slot %d lost its etcd volume, which is not replaced while spec.controlPlane.repair.disabled is true.", slot), nil
	default:
		return fmt.Sprintf("waiting for the etcd volume of slot %d, which is lost, to be replaced.", slot), nil
	}
}

// keepsFromGrowing returns why a slot that does not exist cannot be created now, "" if it can. The slots of a
// new control plane, and of one that is restored, are created at once: none serves without the others. A
// control plane that serves grows while all slots that exist are healthy. Its new slots boot at the same
// time and join etcd one after another, since etcd takes one learner at a time.
func (g *slotsGate) keepsFromGrowing(ctx context.Context, slot int) (string, error) {
	if g.cluster.Status.Version == "" {
		return "", nil
	}
	if err := g.ask(ctx); err != nil {
		return "", err
	}
	if g.health == nil {
		g.health = g.slotsHealth(ctx, g.cluster)
	}
	facts, err := g.facts()
	if err != nil {
		return "", err
	}
	facts = slices.DeleteFunc(facts, func(one slotFacts) bool { return g.statuses[one.Index] == "" })
	if !slices.ContainsFunc(facts, func(one slotFacts) bool { return one.Problem == "" }) {
		return "", nil
	}
	return whyNotNow(facts, slot), nil
}

// facts returns what is known of the slots, with those that are leaving.
func (g *slotsGate) facts() ([]slotFacts, error) {
	var facts []slotFacts
	for _, one := range g.resolved.AllSlots() {
		known, err := record.Decode(record.Find(g.cluster, one.StackName))
		if err != nil {
			return nil, err
		}
		if g.statuses[one.Index] == "" && one.Index >= len(g.resolved.Slots) {
			continue // It has left.
		}
		facts = append(facts, slotFacts{
			Index: one.Index, Failed: known.FailedDigest != "", Problem: g.health[one.Index],
			Moving: known.PendingDigest != "" || strings.HasSuffix(g.statuses[one.Index], "_IN_PROGRESS"),
		})
	}
	return facts, nil
}

// ask reads the status of every slot's stack from CloudFormation.
func (g *slotsGate) ask(ctx context.Context) error {
	if g.statuses != nil {
		return nil
	}
	statuses := map[int]string{}
	for _, slot := range g.resolved.AllSlots() {
		status, err := g.stackStatus(ctx, g.cluster, slot.StackName)
		if err != nil {
			return err
		}
		statuses[slot.Index] = status
	}
	g.statuses = statuses
	return nil
}

// stackStatus reads the status of a stack of a Cluster or one of its groups from CloudFormation, "" if
// there is no such stack.
func (o *operator) stackStatus(ctx context.Context, cluster *v1alpha1.Cluster, name string) (string, error) {
	out, err := o.options.Clients.CloudFormation(o.targets.Of(cluster)).
		DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(name)})
	if awsapi.Code(err) == "ValidationError" && strings.Contains(awsapi.AWSMessage(err), "does not exist") {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("describe stack %s: %w", name, err)
	}
	for i := range out.Stacks {
		return string(out.Stacks[i].StackStatus), nil
	}
	return "", nil
}
