package sqs

import (
	"maps"
	"net/http"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// access returns the policy and the tags of a queue by its ARN.
func (s *Service) access(arn string) access.Resource {
	q := s.byARN(arn)
	if q == nil {
		return access.Resource{}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return access.Resource{
		ARN: q.arn, Account: accountOf(q.arn), Policy: wire.ParsePolicy("QueuePolicy", q.attributes["Policy"]), Tags: maps.Clone(q.tags),
	}
}

// accountOf returns the account in an ARN.
func accountOf(arn string) string {
	at, _ := wire.TargetOf(arn)
	return at.Account
}

// permit returns an error if the queue's policy does not let a service send the message.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-least-privilege-policy.html
func (s *Service) permit(arn string, d Delivery) error {
	if d.Service == "" || !s.env.Control.Checks() {
		return nil
	}
	of := s.access(arn)
	reason := s.env.Control.Denial(&access.Request{
		Service: d.Service, Action: "sqs:SendMessage", Resource: arn, Of: &of, Context: map[string][]string{
			"aws:sourcearn": {d.Source}, "aws:sourceaccount": {accountOf(d.Source)}, "aws:securetransport": {"true"},
		},
	})
	if reason == "" {
		return nil
	}
	return &wire.Error{Code: "AccessDenied", Message: d.Service + " is not authorized to perform: sqs:SendMessage on resource: " + arn +
		" " + reason, Status: http.StatusForbidden}
}
