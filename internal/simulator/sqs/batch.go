package sqs

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

var validBatchID = lazyregexp.New(`^[A-Za-z0-9_-]{1,80}$`)

// checkBatch validates the IDs of a batch by AWS's rules.
func checkBatch(entry string, ids []*string) error {
	if len(ids) == 0 {
		return wire.Errorf("EmptyBatchRequest", "There should be at least one %s in the request.", entry)
	}
	if len(ids) > 10 {
		return wire.Errorf("TooManyEntriesInBatchRequest", "Maximum number of entries per request are 10. You have sent %d.", len(ids))
	}
	seen := map[string]bool{}
	for _, id := range ids {
		switch id := aws.ToString(id); {
		case !validBatchID.MatchString(id):
			return wire.Errorf(
				"InvalidBatchEntryId",
				"A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.",
			)
		case seen[id]:
			return wire.Errorf("BatchEntryIdsNotDistinct", "Id %s repeated.", id)
		default:
			seen[id] = true
		}
	}
	return nil
}

func failure(id *string, err error) types.BatchResultErrorEntry {
	e := &wire.Error{Code: "InternalError", Message: err.Error(), Status: 500}
	errors.As(err, &e)
	return types.BatchResultErrorEntry{Id: id, Code: aws.String(e.Code), Message: aws.String(e.Message), SenderFault: e.Status < 500}
}

func ids[T any](entries []T, id func(*T) *string) []*string {
	list := make([]*string, len(entries))
	for i := range entries {
		list[i] = id(&entries[i])
	}
	return list
}

func (s *Service) sendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput) (*sqs.SendMessageBatchOutput, error) {
	_, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	err = checkBatch("SendMessageBatchRequestEntry", ids(in.Entries, func(e *types.SendMessageBatchRequestEntry) *string { return e.Id }))
	if err != nil {
		return nil, err
	}
	drafts := make([]draft, len(in.Entries))
	total := 0
	for i, e := range in.Entries {
		drafts[i] = draft{
			e.MessageBody,
			e.MessageAttributes,
			e.MessageSystemAttributes,
			e.DelaySeconds,
			e.MessageGroupId,
			e.MessageDeduplicationId,
		}
		total += drafts[i].size()
	}
	if total > maxMessageSize {
		return nil, wire.Errorf(
			"BatchRequestTooLong", "Batch requests cannot be longer than %d bytes. You have sent %d bytes.", maxMessageSize, total,
		)
	}
	out := &sqs.SendMessageBatchOutput{Successful: []types.SendMessageBatchResultEntry{}}
	sender := wire.CallFrom(ctx).UserID
	for i, e := range in.Entries {
		m, err := s.send(sender, q, drafts[i])
		if err != nil {
			out.Failed = append(out.Failed, failure(e.Id, err))
			continue
		}
		out.Successful = append(out.Successful, types.SendMessageBatchResultEntry{
			Id: e.Id, MessageId: &m.id, MD5OfMessageBody: aws.String(md5Hex(*e.MessageBody)),
			MD5OfMessageAttributes: wire.Optional(attributesMD5(e.MessageAttributes)), SequenceNumber: wire.Optional(m.sequence),
		})
	}
	return out, nil
}

func (s *Service) deleteMessageBatch(ctx context.Context, in *sqs.DeleteMessageBatchInput) (*sqs.DeleteMessageBatchOutput, error) {
	_, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	err = checkBatch(
		"DeleteMessageBatchRequestEntry", ids(in.Entries, func(e *types.DeleteMessageBatchRequestEntry) *string { return e.Id }),
	)
	if err != nil {
		return nil, err
	}
	out := &sqs.DeleteMessageBatchOutput{Successful: []types.DeleteMessageBatchResultEntry{}}
	for _, e := range in.Entries {
		if err := s.remove(q, aws.ToString(e.ReceiptHandle)); err != nil {
			out.Failed = append(out.Failed, failure(e.Id, err))
			continue
		}
		out.Successful = append(out.Successful, types.DeleteMessageBatchResultEntry{Id: e.Id})
	}
	return out, nil
}

func (s *Service) changeMessageVisibilityBatch(
	ctx context.Context, in *sqs.ChangeMessageVisibilityBatchInput,
) (*sqs.ChangeMessageVisibilityBatchOutput, error) {
	_, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	err = checkBatch(
		"ChangeMessageVisibilityBatchRequestEntry",
		ids(in.Entries, func(e *types.ChangeMessageVisibilityBatchRequestEntry) *string { return e.Id }),
	)
	if err != nil {
		return nil, err
	}
	out := &sqs.ChangeMessageVisibilityBatchOutput{Successful: []types.ChangeMessageVisibilityBatchResultEntry{}}
	for _, e := range in.Entries {
		if err := s.extend(q, aws.ToString(e.ReceiptHandle), e.VisibilityTimeout); err != nil {
			out.Failed = append(out.Failed, failure(e.Id, err))
			continue
		}
		out.Successful = append(out.Successful, types.ChangeMessageVisibilityBatchResultEntry{Id: e.Id})
	}
	return out, nil
}
