package controller

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// slotFacts is what is known of one slot when it is decided whether another may be changed.
type slotFacts struct {
	Index int
	// Moving says that its stack is being made, changed or taken back; Failed that its last change failed.
	Moving, Failed bool
	// Problem says in a few words why it does not serve, "" if it does: its node is ready and open for pods, its API server answers, and
	// its etcd member is part of the quorum.
	Problem string
}

// notYourTurn returns why a slot that exists cannot be changed now, "" if it can: only while every other is in place and serves, so that
// etcd keeps its quorum without it. How the slot itself fares does not matter: a change may be what mends it. What failed in one slot
// is tried there first, and not in others, where it would fail, too; of several that failed the first goes first.
func notYourTurn(slots []slotFacts, slot int) string {
	failed := false
	for _, one := range slots {
		failed = failed || one.Index == slot && one.Failed
	}
	for _, other := range slots {
		switch {
		case other.Index == slot:
		case other.Moving:
			return fmt.Sprintf("it is changed when slot %d is in place.", other.Index)
		case other.Failed && (!failed || other.Index < slot):
			return fmt.Sprintf("it is changed when slot %d, whose change failed, is in place.", other.Index)
		case other.Problem != "":
			return fmt.Sprintf("it is changed when slot %d serves: %s.", other.Index, other.Problem)
		}
	}
	return ""
}

// slotsHealth returns why each slot does not serve, without those that do. It asks every API server.
func (o *operator) slotsHealth(ctx context.Context, cluster *v1alpha1.Cluster) map[int]string {
	slots := int(cluster.Spec.ControlPlane.Replicas)
	// An operator that was killed before it could note that the slots are made finds them before its step that connects is reached.
	connection, outcome := apiStep{o}.connect(ctx, cluster)
	if connection != nil {
		return connection.SlotProblems(ctx, slots)
	}
	problems := map[int]string{}
	for slot := range slots {
		problems[slot] = "the cluster's API cannot be connected to: " + strings.TrimSuffix(outcome.Message(), ".")
	}
	return problems
}

// slotsGate decides whether slots may be changed during one look at a cluster. What costs calls is asked once, and only when a slot is
// to be changed.
type slotsGate struct {
	*operator

	cluster  *v1alpha1.Cluster
	resolved *model.Cluster
	statuses map[int]string
	health   map[int]string
}

// isUnmade reports, once, whether a slot's stack cannot be there, because this operator saw that what it stands on was still being made.
func (g *slotsGate) isUnmade(slot int) bool {
	key := stackKey{g.cluster.UID, g.resolved.Slots[slot].StackName}
	_, ok := g.unmade.get(key)
	g.unmade.drop(key)
	return ok
}

// stands reports whether a slot's stack was made: it is asked of CloudFormation, since the status may be lost or old.
func (g *slotsGate) stands(ctx context.Context, slot int) (bool, error) {
	if err := g.ask(ctx); err != nil {
		return false, err
	}
	status := g.statuses[slot]
	return status == statusCreated || strings.HasPrefix(status, "UPDATE_") || strings.HasPrefix(status, "IMPORT_"), nil
}

// closed returns why a slot that exists cannot be changed now, "" if it can.
func (g *slotsGate) closed(ctx context.Context, slot int) (string, error) {
	if err := g.ask(ctx); err != nil {
		return "", err
	}
	if g.health == nil {
		g.health = map[int]string{}
		if len(g.resolved.Slots) > 1 {
			g.health = g.slotsHealth(ctx, g.cluster)
		}
	}
	facts := make([]slotFacts, 0, len(g.resolved.Slots))
	for _, one := range g.resolved.Slots {
		known, err := recall(knownStack(g.cluster, one.StackName))
		if err != nil {
			return "", err
		}
		facts = append(facts, slotFacts{
			Index: one.Index, Failed: known.FailedDigest != "", Problem: g.health[one.Index],
			Moving: known.PendingDigest != "" || strings.HasSuffix(g.statuses[one.Index], "_IN_PROGRESS"),
		})
	}
	return notYourTurn(facts, slot), nil
}

// ask asks CloudFormation for the status of every slot's stack.
func (g *slotsGate) ask(ctx context.Context) error {
	if g.statuses != nil {
		return nil
	}
	statuses := map[int]string{}
	for _, slot := range g.resolved.Slots {
		out, err := g.options.Clients.CloudFormation(g.target(g.cluster)).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(slot.StackName)})
		switch {
		case awsapi.Code(err) == "ValidationError" && strings.Contains(awsapi.AWSMessage(err), "does not exist"):
		case err != nil:
			return fmt.Errorf("look at stack %s: %w", slot.StackName, err)
		default:
			for i := range out.Stacks {
				statuses[slot.Index] = string(out.Stacks[i].StackStatus)
			}
		}
	}
	g.statuses = statuses
	return nil
}
