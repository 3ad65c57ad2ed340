package sqs

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Delivery is a message from another simulated service.
type Delivery struct {
	// Body is the message's body.
	Body string
	// Attributes are its message attributes.
	Attributes map[string]types.MessageAttributeValue
	// Group and Dedup are the group and deduplication IDs, for FIFO queues.
	Group, Dedup string
	// Sender is the service's principal, shown as SenderId.
	Sender string
	// Service is the service's name, as "sns.amazonaws.com", and Source the ARN of what it acts for;
	// the queue's policy decides about them. Session is that of a role in which the service sends,
	// whose policies decide then, too; nil for none.
	Service, Source string
	Session         *access.Principal
}

// Deliver puts a message into the queue with the given ARN. It returns an error if the queue does
// not exist or rejects the message.
func (s *Service) Deliver(arn string, d Delivery) error {
	q := s.byARN(arn)
	if q == nil {
		return nonExistent()
	}
	if err := s.permit(arn, d); err != nil {
		return err
	}
	_, err := s.send(d.Sender, q, draft{
		body: aws.String(d.Body), attributes: d.Attributes, group: wire.Optional(d.Group), dedup: wire.Optional(d.Dedup),
	})
	return err
}
