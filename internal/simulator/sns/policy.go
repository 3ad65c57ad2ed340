package sns

import (
	"maps"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// access returns the policy and the tags of a topic by its ARN.
func (s *Service) access(arn string) access.Resource {
	at, name := wire.TargetOf(arn)
	r := s.regions.At(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.topics[name]
	if !ok {
		return access.Resource{}
	}
	return access.Resource{
		ARN: t.arn, Account: at.Account, Policy: wire.ParsePolicy("TopicPolicy", t.attributes["Policy"]), Tags: maps.Clone(t.tags),
	}
}

// permits reports whether the topic's policy lets a service publish.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html#eb-sns-permissions
func (s *Service) permits(arn, service, source string) bool {
	if !s.env.Control.Checks() {
		return true
	}
	of := s.access(arn)
	at, _ := wire.TargetOf(source)
	return s.env.Control.Denial(&access.Request{
		Service: service, Action: "sns:Publish", Resource: arn, Of: &of, Context: map[string][]string{
			"aws:sourcearn": {source}, "aws:sourceaccount": {at.Account}, "aws:securetransport": {"true"},
		},
	}) == ""
}

// MayPublish returns an error if the topic's policy does not let a service publish. Source is the ARN
// of what the service acts for.
func (s *Service) MayPublish(service, source, topicARN string) error {
	if s.permits(topicARN, service, source) {
		return nil
	}
	return wire.Errorf("AuthorizationError", "%s is not authorized to perform: SNS:Publish on resource: %s", service, topicARN)
}
