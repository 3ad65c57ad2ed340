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

// MayNotify returns an error if the queue does not exist, or its policy does not let S3 send for a bucket
// of an account.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/grant-destinations-permissions-to-s3.html
func (s *Service) MayNotify(account, bucketARN, queueARN string) error {
	of := s.access(queueARN)
	if of.ARN == "" {
		return nonExistent()
	}
	return s.env.Control.MayNotify(account, bucketARN, "sqs:SendMessage", &of)
}

// accountOf returns the account in an ARN.
func accountOf(arn string) string {
	at, _ := wire.TargetOf(arn)
	return at.Account
}

// permit returns an error if the queue's policy, or that of the role in which it acts, does not let a
// service send the message.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-least-privilege-policy.html
func (s *Service) permit(arn string, d Delivery) error {
	if d.Service == "" || !s.env.Control.Checks() {
		return nil
	}
	of := s.access(arn)
	request, who := access.ByService(d.Service, d.Source, d.Session)
	request.Action, request.Resource, request.Of = "sqs:SendMessage", arn, &of
	reason := s.env.Control.Denial(request)
	if reason == "" {
		return nil
	}
	return &wire.Error{Code: "AccessDenied", Message: who + " is not authorized to perform: sqs:SendMessage on resource: " + arn +
		" " + reason, Status: http.StatusForbidden}
}
