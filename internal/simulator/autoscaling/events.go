package autoscaling

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/uuid"
)

// The events have the bodies in
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-event-reference.html
const (
	originEC2   = "EC2"
	originGroup = "AutoScalingGroup"
)

// emit publishes an event about an instance of a group.
func (s *Service) emit(g *group, detailType, id string, detail map[string]any) {
	resources := []string{g.arn}
	if id != "" {
		resources = append(resources, "arn:"+s.partition()+":ec2:"+g.region.Region+":"+g.region.Account+":instance/"+id)
	}
	s.options.Publish(context.Background(), g.region.Account, g.region.Region, "aws.autoscaling", detailType, resources, detail)
}

// report returns an effect that publishes the result of an activity. The caller holds the lock. The
// status of a successful activity is InProgress, as in the examples of the reference.
func (s *Service) report(g *group, a *activity, id, detailType, origin, destination string) effect {
	code := a.code
	if code == types.ScalingActivityStatusCodeSuccessful {
		code = types.ScalingActivityStatusCodeInProgress
	}
	detail := map[string]any{
		"StatusCode": string(code), "Description": a.description, "AutoScalingGroupName": g.name, "ActivityId": a.id,
		"Details": a.details(), "RequestId": uuid.NewString(), "StatusMessage": a.message, "EC2InstanceId": id,
		"StartTime": a.start.UTC().Format(timeFormat), "Cause": a.cause, "Origin": origin, "Destination": destination,
	}
	if a.end != nil {
		detail["EndTime"] = a.end.UTC().Format(timeFormat)
	}
	return func() { s.emit(g, detailType, id, detail) }
}

func (s *Service) launched(g *group, m *member) effect {
	return s.report(g, m.activity, m.id, "EC2 Instance Launch Successful", originEC2, originGroup)
}

func (s *Service) notLaunched(g *group, a *activity, id string) effect {
	return s.report(g, a, id, "EC2 Instance Launch Unsuccessful", originEC2, originGroup)
}

func (s *Service) detached(g *group, m *member) effect {
	return s.report(g, m.activity, m.id, "EC2 Instance Detach Successful", originGroup, originEC2)
}

func (s *Service) terminated(g *group, m *member) effect {
	return s.report(g, m.activity, m.id, "EC2 Instance Terminate Successful", originGroup, originEC2)
}

// held returns an effect that publishes the hooks that hold an instance.
func (s *Service) held(g *group, m *member) effect {
	detailType, origin, destination := "EC2 Instance-terminate Lifecycle Action", originGroup, originEC2
	if m.state == types.LifecycleStatePendingWait {
		detailType, origin, destination = "EC2 Instance-launch Lifecycle Action", originEC2, originGroup
	}
	id := m.id
	details := make([]map[string]any, len(m.waits))
	for i, w := range m.waits {
		details[i] = map[string]any{
			"LifecycleActionToken": w.token, "AutoScalingGroupName": g.name, "LifecycleHookName": w.hook.name, "EC2InstanceId": id,
			"LifecycleTransition": w.hook.transition, "Origin": origin, "Destination": destination,
		}
		if w.hook.metadata != nil {
			details[i]["NotificationMetadata"] = *w.hook.metadata
		}
	}
	return func() {
		for _, detail := range details {
			s.emit(g, detailType, "", detail) // its resources contain only the group
		}
	}
}
