package awsevents

import (
	"context"
	_ "embed" // the template
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

const (
	// defaultClusterName is the operator's cluster name for which the stack's name has no suffix.
	defaultClusterName = "aws-operator"
	baseName           = "aws-operator-events"
	// maxQueueName is how long the name of the queue, the stack and the rule may be: SQS and EventBridge allow 64, of which the
	// second rule's name needs ten for its ending:
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html
	maxQueueName = 54
	queueOutput  = "QueueURL"
	clusterTag   = "aws-operator/cluster"
	// firstLook and lastLook bound the growing delay between looks at the operator's own stack while it is made; nobody reports its
	// events yet.
	firstLook = 100 * time.Millisecond
	lastLook  = 5 * time.Second
	// brokenLook is the delay while a person must act.
	brokenLook = time.Minute
)

//go:embed template.yaml
var templateYAML []byte

// StackName returns the name of the operator's own stack, and of its queue and rule, for the operator's cluster name: two operators
// in one account and region must not share a queue.
func StackName(clusterName string) string {
	if clusterName == "" || clusterName == defaultClusterName {
		return baseName
	}
	return shorten(baseName+"-"+clusterName, maxQueueName)
}

// Desired returns the operator's own stack.
func Desired(clusterName string) (stack.Desired, error) {
	parsed, err := template.Parse("internal/awsevents/template.yaml", templateYAML)
	if err != nil {
		return stack.Desired{}, fmt.Errorf("the template of the events' stack: %w", err)
	}
	name := StackName(clusterName)
	if clusterName == "" {
		clusterName = defaultClusterName
	}
	return stack.Desired{
		Name: name, Template: parsed,
		Parameters: map[string]string{"Name": name},
		Tags:       map[string]string{clusterTag: clusterName, "aws-operator/kind": "events"},
	}, nil
}

// ensureQueue makes the stack or brings it up to date and returns the queue's URL. It is not a reconcile: nobody reports the events
// of the stack that reports events, so it looks itself until the stack is there.
func (l *Listener) ensureQueue(ctx context.Context, target awsapi.Target) (string, error) {
	desired, err := Desired(l.options.ClusterName)
	if err != nil {
		return "", err
	}
	desired.Refresh = true                     // the record is not kept over restarts
	desired.AdoptFrom = []string{desired.Name} // for want of a record, one from before management clusters were noted is known by its name
	var record stack.Record
	told := ""
	ctx = logr.NewContext(ctx, l.log)
	for delay := firstLook; ; delay = min(2*delay, lastLook) {
		result, err := l.options.Engine.Ensure(ctx, target, desired, record)
		record = result.Record
		switch {
		case err != nil:
			l.log.Info("The events' stack could not be looked at; trying again", "target", target.String(), "stack", desired.Name, "reason", result.Reason, "message", result.Message)
		case result.State == stack.Ready:
			if result.Outputs[queueOutput] != "" {
				return result.Outputs[queueOutput], nil
			}
		case result.State == stack.Stalled:
			l.log.Error(errors.New(result.Reason), "The events' stack needs a person; until then stacks are only looked at now and then", "target", target.String(), "stack", desired.Name, "message", result.Message)
		case result.State == stack.Waiting: // AWS denies something: nothing to ask again every few seconds.
			if result.Message != told {
				l.log.Error(errors.New(result.Reason), "The events' stack cannot be made yet; until then stacks are only looked at now and then", "target", target.String(), "stack", desired.Name, "message", result.Message)
			}
			told = result.Message
			delay = max(delay, min(result.RequeueAfter, brokenLook))
		default:
			l.log.V(1).Info("Waiting for the events' stack", "target", target.String(), "stack", desired.Name, "state", result.State, "message", result.Message)
		}
		if result.State == stack.Stalled {
			delay = brokenLook
		}
		if err := l.pause(ctx, delay, nil); err != nil {
			return "", err
		}
	}
}
