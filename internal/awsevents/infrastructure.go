package awsevents

import (
	"context"
	_ "embed" // the template
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-logr/logr"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// defaultClusterName is the operator's cluster name for which the stack's name has no suffix.
	defaultClusterName = "aws-operator"
	baseName           = "aws-operator-events"
	// maxQueueName is the maximum length of the name of the queue, the stack and the rule: SQS and
	// EventBridge allow 64, of which the suffix of another rule's name needs ten:
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html
	maxQueueName = 54
	queueOutput  = "QueueURL"
	clusterTag   = "aws-operator/cluster"
	// firstPoll and lastPoll are the bounds of the growing delay between polls of the operator's
	// own stack while it is created; no events are received yet.
	firstPoll = 100 * time.Millisecond
	lastPoll  = 5 * time.Second
	// brokenPoll is the delay while a user must act.
	brokenPoll = time.Minute
)

//go:embed template.yaml
var templateYAML []byte

// StackName returns the name of the operator's own stack, and of its queue and rule, for the
// operator's cluster name: two operators in one account and region must not share a queue.
func StackName(clusterName string) string {
	if clusterName == "" || clusterName == defaultClusterName {
		return baseName
	}
	return shorten(baseName+"-"+clusterName, maxQueueName)
}

// ShardStackName is StackName for one of the shards into which an operator's objects are divided: an SQS queue
// delivers each message to one receiver only, so each shard has its own.
func ShardStackName(clusterName string, shard operatorkit.Shard) string {
	if shard.Count <= 1 {
		return StackName(clusterName)
	}
	return shardsOf(clusterName) + strconv.Itoa(shard.Index)
}

// ShardStackNames is a pattern for the names of the stacks of an operator's shards in policies.
func ShardStackNames(clusterName string) string { return shardsOf(clusterName) + "*" }

func shardsOf(clusterName string) string {
	const shard, digits = "-shard-", 3
	return shorten(StackName(clusterName), maxQueueName-len(shard)-digits) + shard
}

// Desired returns the operator's own stack, or that of a shard.
func Desired(clusterName string, shard operatorkit.Shard) (stack.Desired, error) {
	parsed, err := template.Parse("internal/awsevents/template.yaml", templateYAML)
	if err != nil {
		return stack.Desired{}, fmt.Errorf("the template of the events' stack: %w", err)
	}
	name := ShardStackName(clusterName, shard)
	if clusterName == "" {
		clusterName = defaultClusterName
	}
	return stack.Desired{
		Name: name, Template: parsed,
		Parameters: map[string]string{"Name": name},
		Tags:       map[string]string{clusterTag: clusterName, "aws-operator/kind": "events"},
	}, nil
}

// ensureQueue creates or updates the stack and returns the queue's URL. It blocks and polls,
// because the stack's own events cannot be received before it is complete.
func (l *Listener) ensureQueue(ctx context.Context, target awsapi.Target) (string, error) {
	desired, err := Desired(l.options.ClusterName, l.options.Shard)
	if err != nil {
		return "", err
	}
	desired.Refresh = true // the record is not persisted across restarts
	// Without a record, a stack from before the tag of the management cluster is identified by its
	// name.
	desired.AdoptFrom = []string{desired.Name}
	var record stack.Record
	reported := ""
	ctx = logr.NewContext(ctx, l.log)
	for delay := firstPoll; ; delay = min(2*delay, lastPoll) {
		result, err := l.options.Engine.Ensure(ctx, target, desired, record)
		record = result.Record
		switch {
		case err != nil:
			l.log.Info(
				"Reading the stack of the events failed; retrying",
				"target",
				target.String(),
				"stack",
				desired.Name,
				"reason",
				result.Reason,
				"message",
				result.Message,
			)
		case result.State == stack.Ready:
			if result.Outputs[queueOutput] != "" {
				return result.Outputs[queueOutput], nil
			}
		case result.State == stack.Stalled:
			l.log.Error(
				errors.New(result.Reason),
				"The stack of the events needs a user's action; until then stacks are only polled",
				"target",
				target.String(),
				"stack",
				desired.Name,
				"message",
				result.Message,
			)
		case result.State == stack.Waiting: // AWS denies something: retrying every few seconds is pointless
			if result.Message != reported {
				l.log.Error(
					errors.New(result.Reason),
					"The stack of the events cannot be created yet; until then stacks are only polled",
					"target",
					target.String(),
					"stack",
					desired.Name,
					"message",
					result.Message,
				)
			}
			reported = result.Message
			delay = max(delay, min(result.RequeueAfter, brokenPoll))
		default:
			l.log.V(1).Info(
				"Waiting for the stack of the events", "target", target.String(), "stack", desired.Name,
				"state", result.State, "message", result.Message,
			)
		}
		if result.State == stack.Stalled {
			delay = brokenPoll
		}
		if err := l.pause(ctx, delay, nil); err != nil {
			return "", err
		}
	}
}
