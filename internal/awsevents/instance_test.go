package awsevents

import (
	"strings"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// The examples are from the pages in instance.go.
const (
	lifecycleEvent = `{"version":"0","id":"1","detail-type":"EC2 Instance-terminate Lifecycle Action","source":"aws.autoscaling","account":"123456789012",` +
		`"time":"2026-01-02T03:04:05Z","region":"us-west-2","resources":["auto-scaling-group-arn"],"detail":{"LifecycleActionToken":"87654321-4321-4321-4321-210987654321",` +
		`"AutoScalingGroupName":"my-asg","LifecycleHookName":"drain","EC2InstanceId":"i-1234567890abcdef0","LifecycleTransition":"autoscaling:EC2_INSTANCE_TERMINATING",` +
		`"NotificationMetadata":"additional-info","Origin":"AutoScalingGroup","Destination":"EC2"}}`
	spotEvent = `{"version":"0","id":"2","detail-type":"EC2 Spot Instance Interruption Warning","source":"aws.ec2","account":"123456789012","time":"2026-01-02T03:04:05Z",` +
		`"region":"us-east-2","resources":["arn:aws:ec2:us-east-2a:instance/i-1234567890abcdef0"],"detail":{"instance-id":"i-1234567890abcdef0","instance-action":"terminate"}}`
	rebalanceEvent = `{"version":"0","id":"3","detail-type":"EC2 Instance Rebalance Recommendation","source":"aws.ec2","account":"123456789012","time":"2026-01-02T03:04:05Z",` +
		`"region":"us-east-2","resources":["arn:aws:ec2:us-east-2:123456789012:instance/i-1234567890abcdef0"],"detail":{"instance-id":"i-1234567890abcdef0"}}`
	stateEvent = `{"id":"4","detail-type":"EC2 Instance State-change Notification","source":"aws.ec2","account":"111122223333","time":"2026-01-02T03:04:05Z",` +
		`"region":"us-east-1","resources":["arn:aws:ec2:us-east-1:111122223333:instance/i-1234567890abcdef0"],"detail":{"instance-id":"i-1234567890abcdef0","state":"terminated"}}`
)

func TestInstanceEvents(t *testing.T) {
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	bare := func(kind InstanceKind) *InstanceEvent {
		return &InstanceEvent{Kind: kind, ID: "i-1234567890abcdef0", Time: when}
	}
	cases := map[string]struct {
		body  string
		want  *InstanceEvent
		wrong string
	}{
		"an instance waits until it is drained": {body: lifecycleEvent, want: &InstanceEvent{
			Kind: InstanceTerminating, ID: "i-1234567890abcdef0", Group: "my-asg", Hook: "drain",
			Token:      "87654321-4321-4321-4321-210987654321",
			Transition: "autoscaling:EC2_INSTANCE_TERMINATING", Time: when,
		}},
		"a spot instance is interrupted":       {body: spotEvent, want: bare(InstanceInterrupted)},
		"a spot instance should be rebalanced": {body: rebalanceEvent, want: bare(InstanceRebalance)},
		"an instance is terminated":            {body: stateEvent, want: bare(InstanceTerminated)},
		"an instance is shutting down": {
			body: strings.Replace(stateEvent, "terminated", "shutting-down", 1),
			want: bare(InstanceShuttingDown),
		},
		"a booting instance is irrelevant":                 {body: strings.Replace(stateEvent, "terminated", "pending", 1)},
		"another source cannot send Auto Scaling's events": {body: strings.Replace(lifecycleEvent, "aws.autoscaling", "my.app", 1)},
		"another source cannot send EC2's events":          {body: strings.Replace(spotEvent, "aws.ec2", "my.app", 1)},
		"a lifecycle action without an instance": {
			body:  strings.Replace(lifecycleEvent, `"i-1234567890abcdef0"`, `""`, 1),
			wrong: "no instance, group or hook",
		},
		"a lifecycle action of another shape": {
			body:  strings.Replace(lifecycleEvent, `"my-asg"`, `7`, 1),
			wrong: "parse the detail",
		},
		"a warning without an instance": {
			body:  strings.Replace(spotEvent, `"instance-id":"i-1234567890abcdef0"`, `"instance-id":""`, 1),
			wrong: "no instance-id",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			event, err := parseEvent(awsapi.Target{Region: "us-west-2"}, c.body)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Fatalf("error %v, want %q", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := event.Instance; (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// Instances are polled every minute while some terminate, and otherwise every n minutes if the last
// poll took n calls.
func TestInstancePollInterval(t *testing.T) {
	cases := map[string]struct {
		expectation   Expectation
		passed, calls int
		want          bool
	}{
		"there are none":                  {NoInstances, 100, 1, false},
		"some go":                         {InstancesTerminating, 1, 160, true},
		"few stay":                        {InstancesStay, 1, 1, true},
		"many stay, and were just polled": {InstancesStay, 159, 160, false},
		"many stay":                       {InstancesStay, 160, 160, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := isSweepDue(c.expectation, c.passed, c.calls); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
