package trial

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// instanceEvent is an event of EventBridge about an instance.
type instanceEvent struct {
	Source     string `json:"source"`
	DetailType string `json:"detail-type"` //nolint:tagliatelle // EventBridge's name
	Detail     struct {
		ID    string `json:"instance-id"` //nolint:tagliatelle // EC2's name
		State string `json:"state"`

		Token      string `json:"LifecycleActionToken"` //nolint:tagliatelle // Auto Scaling's names
		Group      string `json:"AutoScalingGroupName"` //nolint:tagliatelle // as above
		Hook       string `json:"LifecycleHookName"`    //nolint:tagliatelle // as above
		Instance   string `json:"EC2InstanceId"`        //nolint:tagliatelle // as above
		Transition string `json:"LifecycleTransition"`  //nolint:tagliatelle // as above
	} `json:"detail"`
}

// recorded are the events of the cluster's instances.
type recorded struct {
	// states are the states of EC2's events, by instance, and actions the instances of complete
	// lifecycle actions.
	states  map[string][]string
	actions []string
	// incomplete are lifecycle actions that lack a field.
	incomplete []string
}

// instanceEvents checks the events of the instances that were replaced. Those of a deletion could not
// be read, because the queue is deleted soon after it.
func (c *hourChecks) instanceEvents(ctx context.Context) error {
	c.say("Reading the events of instances …")
	deadline := c.clock.Now().Add(eventLimit)
	found := recorded{states: map[string][]string{}}
	for !c.complete(&found) && !c.clock.Now().After(deadline) {
		out, err := c.clients.SQS(awsapi.Target{}).ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &c.queueURL, MaxNumberOfMessages: 10, WaitTimeSeconds: longPoll, //nolint:mnd // the maximum
		})
		if err != nil {
			for _, id := range []string{"ev-instance-terminate", "asg-terminating-hook", "ev-instance-state"} {
				c.failed(id, err)
			}
			return ctx.Err()
		}
		for i := range out.Messages {
			c.add(&found, aws.ToString(out.Messages[i].Body))
		}
	}
	all := c.complete(&found)
	c.expect("ev-instance-terminate", len(found.actions) > 0 && len(found.incomplete) == 0,
		"Lifecycle actions with all fields arrived of %s; without all of them of %s.", names(found.actions), names(found.incomplete))
	c.expect("ev-instance-state", len(found.states) > 0 && all, "Events: %s.", statesOf(found.states))
	waited := 0
	for id := range c.first {
		if slices.Contains(found.actions, id) || slices.Contains(c.seen.lifecycle[id], "Terminating:Wait") {
			waited++
		}
	}
	c.expect("asg-terminating-hook", waited == len(c.first),
		"Of %d replaced instances, %d waited in Terminating:Wait until the operator had drained their nodes.", len(c.first), waited)
	return nil
}

// complete reports whether the events of all replaced instances arrived.
func (c *hourChecks) complete(found *recorded) bool {
	for id := range c.first {
		states := found.states[id]
		if !slices.Contains(found.actions, id) || !slices.Contains(states, "shutting-down") || !slices.Contains(states, "terminated") {
			return false
		}
	}
	return true
}

// add adds an event if it is about an instance of the cluster.
func (c *hourChecks) add(found *recorded, body string) {
	var event instanceEvent
	if err := json.Unmarshal([]byte(body), &event); err != nil {
		return
	}
	detail := &event.Detail
	switch {
	case event.Source == "aws.ec2" && c.seen.group[detail.ID] != "":
		if !slices.Contains(found.states[detail.ID], detail.State) { // It may arrive twice.
			found.states[detail.ID] = append(found.states[detail.ID], detail.State)
		}
	case event.Source == "aws.autoscaling" && c.seen.group[detail.Instance] != "":
		complete := detail.Token != "" && detail.Group == c.seen.group[detail.Instance] && detail.Hook != "" &&
			strings.HasSuffix(detail.Transition, ":EC2_INSTANCE_TERMINATING")
		into := &found.incomplete
		if complete {
			into = &found.actions
		}
		if !slices.Contains(*into, detail.Instance) {
			*into = append(*into, detail.Instance)
		}
	}
}
