package ec2

import (
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const eventSource = "aws.ec2"

func (s *Service) arn(p wire.Target, resource string) string {
	return p.ARN(s.partition(), "ec2", resource)
}

func (s *Service) publish(p wire.Target, detailType, arn string, detail any) {
	if s.options.Publish == nil {
		return
	}
	s.options.Publish(s.ctx, p.Account, p.Region, eventSource, detailType, []string{arn}, detail)
}

// publishState emits the event of a state change.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instance-state-changes.html
func (s *Service) publishState(i Instance) {
	p := wire.Target{Account: i.Account, Region: i.Region}
	s.publish(p, "EC2 Instance State-change Notification", s.arn(p, "instance/"+i.ID), struct {
		InstanceID string                  `json:"instance-id"`
		State      types.InstanceStateName `json:"state"`
	}{i.ID, i.State})
}

// publishInterruption emits the interruption notice of a spot instance, two minutes ahead. The ARN
// in it differs from the instance's ARN.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
func (s *Service) publishInterruption(p wire.Target, zone, id, action string) {
	s.publish(p, "EC2 Spot Instance Interruption Warning", "arn:"+s.partition()+":ec2:"+zone+":instance/"+id, struct {
		InstanceID string `json:"instance-id"`
		Action     string `json:"instance-action"`
	}{id, action})
}

// publishRebalance emits the rebalance recommendation of a spot instance.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html
func (s *Service) publishRebalance(p wire.Target, id string) {
	s.publish(p, "EC2 Instance Rebalance Recommendation", s.arn(p, "instance/"+id), struct {
		InstanceID string `json:"instance-id"`
	}{id})
}
