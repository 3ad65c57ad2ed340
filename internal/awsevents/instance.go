package awsevents

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Sources and detail types of events of instances.
const (
	autoScalingSource = "aws.autoscaling"
	ec2Source         = "aws.ec2"
	// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-event-reference.html
	terminateLifecycleAction = "EC2 Instance-terminate Lifecycle Action"
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instance-state-changes.html
	instanceStateChange = "EC2 Instance State-change Notification"
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
	spotInterruption = "EC2 Spot Instance Interruption Warning"
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html
	rebalanceRecommendation = "EC2 Instance Rebalance Recommendation"

	terminatingTransition = "autoscaling:EC2_INSTANCE_TERMINATING"
)

// DrainHook is the name of the lifecycle hook that delays the termination of the groups' instances.
// The event rule matches only actions of hooks with this name, so that those of foreign groups stay
// out of the queue.
const DrainHook = "drain"

// InstanceKind says what happens to an instance.
type InstanceKind string

// Kinds of events of instances.
const (
	// InstanceTerminating is held by a lifecycle hook before its termination.
	InstanceTerminating InstanceKind = "Terminating"
	// InstanceRetained has left its group and is retained, because its lifecycle action was
	// abandoned; only sweeps report it.
	InstanceRetained InstanceKind = "Retained"
	// InstanceInService is in its group; only sweeps report it.
	InstanceInService InstanceKind = "InService"
	// InstanceInterrupted is a spot instance that is terminated two minutes after Time.
	InstanceInterrupted InstanceKind = "Interrupted"
	// InstanceRebalance is a spot instance with an elevated risk of interruption.
	InstanceRebalance InstanceKind = "Rebalance"
	// InstanceShuttingDown and InstanceTerminated are EC2's last states.
	InstanceShuttingDown InstanceKind = "ShuttingDown"
	InstanceTerminated   InstanceKind = "Terminated"
)

// InstanceEvent is an event of an instance. The instance may belong to another owner: EventBridge
// cannot filter by owner.
type InstanceEvent struct {
	// Kind is what happens to the instance.
	Kind InstanceKind
	// ID is the instance's ID.
	ID string
	// Group is the instance's Auto Scaling group; Hook, Token and Transition describe the lifecycle
	// action. They are set for lifecycle actions only. A sweep knows neither Hook nor Token.
	Group, Hook, Token, Transition string
	// Time is the time of the event; zero for a sweep.
	Time time.Time
}

// actionDetail is the detail of a lifecycle action.
type actionDetail struct {
	Token      string `json:"LifecycleActionToken"` //nolint:tagliatelle // Auto Scaling's names
	Group      string `json:"AutoScalingGroupName"` //nolint:tagliatelle // as above
	Hook       string `json:"LifecycleHookName"`    //nolint:tagliatelle // as above
	Instance   string `json:"EC2InstanceId"`        //nolint:tagliatelle // as above
	Transition string `json:"LifecycleTransition"`  //nolint:tagliatelle // as above
}

// instanceDetail is the detail of EC2's events.
type instanceDetail struct {
	Instance string `json:"instance-id"` //nolint:tagliatelle // EC2's name
	State    string `json:"state"`
}

// instanceEvent parses an event of an instance; nil if the event is irrelevant here.
func instanceEvent(outer *envelope) (*InstanceEvent, error) {
	switch {
	case outer.Source == autoScalingSource && outer.DetailType == terminateLifecycleAction:
		return lifecycleAction(outer)
	case outer.Source != ec2Source:
		return nil, nil //nolint:nilnil // nil means that the event is irrelevant
	}
	kind := InstanceKind("")
	var detail instanceDetail
	switch outer.DetailType {
	case spotInterruption:
		kind = InstanceInterrupted
	case rebalanceRecommendation:
		kind = InstanceRebalance
	case instanceStateChange:
	default:
		return nil, nil //nolint:nilnil // as above
	}
	if err := json.Unmarshal(outer.Detail, &detail); err != nil {
		return nil, fmt.Errorf("parse the detail of an instance's event: %w", err)
	}
	if detail.Instance == "" {
		return nil, errors.New("parse the detail of an instance's event: it has no instance-id")
	}
	switch {
	case kind != "":
	case detail.State == "terminated":
		kind = InstanceTerminated
	case detail.State == "shutting-down":
		kind = InstanceShuttingDown
	default:
		return nil, nil //nolint:nilnil // as above
	}
	return &InstanceEvent{Kind: kind, ID: detail.Instance, Time: outer.Time}, nil
}

func lifecycleAction(outer *envelope) (*InstanceEvent, error) {
	var detail actionDetail
	if err := json.Unmarshal(outer.Detail, &detail); err != nil {
		return nil, fmt.Errorf("parse the detail of a lifecycle action: %w", err)
	}
	if detail.Instance == "" || detail.Group == "" || detail.Hook == "" {
		return nil, errors.New("parse the detail of a lifecycle action: it has no instance, group or hook")
	}
	return &InstanceEvent{
		Kind: InstanceTerminating, ID: detail.Instance, Group: detail.Group, Hook: detail.Hook, Token: detail.Token,
		Transition: detail.Transition, Time: outer.Time,
	}, nil
}
