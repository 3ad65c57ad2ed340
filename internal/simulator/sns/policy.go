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

// MayNotify returns an error if the topic does not exist, or its policy does not let S3 publish for a
// bucket of an account.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/grant-destinations-permissions-to-s3.html
func (s *Service) MayNotify(account, bucketARN, topicARN string) error {
	of := s.access(topicARN)
	if of.ARN == "" {
		return wire.Errorf("NotFound", "Topic does not exist")
	}
	return s.env.Control.MayNotify(account, bucketARN, "sns:Publish", &of)
}

// MayPublish returns an error if the topic's policy does not let a service publish. Source is the ARN
// of what the service acts for; session is that of a role in which it does, whose policies decide
// then, too, and nil for none.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html#eb-sns-permissions
func (s *Service) MayPublish(service, source, topicARN string, session *access.Principal) error {
	if !s.env.Control.Checks() {
		return nil
	}
	of := s.access(topicARN)
	request, who := access.ByService(service, source, session)
	request.Action, request.Resource, request.Of = "sns:Publish", topicARN, &of
	if s.env.Control.Denial(request) == "" {
		return nil
	}
	return wire.Errorf("AuthorizationError", "%s is not authorized to perform: SNS:Publish on resource: %s", who, topicARN)
}
