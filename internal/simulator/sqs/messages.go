package sqs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

var validDedup = lazyregexp.New("^[A-Za-z0-9!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]{1,128}$")

// draft is a message from its sender.
type draft struct {
	body         *string
	attributes   map[string]types.MessageAttributeValue
	system       map[string]types.MessageSystemAttributeValue
	delay        int32
	group, dedup *string
}

// send validates a draft and puts it into the queue.
func (s *Service) send(sender string, q *queue, d draft) (*message, error) {
	now := s.env.Clock.Now()
	if err := q.check(&d); err != nil {
		return nil, err
	}
	m := &message{
		id: uuid.NewString(), body: *d.body, md5: md5Hex(*d.body), sender: sender, sent: now,
		attributes: d.attributes, attributesMD5: attributesMD5(d.attributes),
		group: aws.ToString(d.group), dedup: aws.ToString(d.dedup),
	}
	if trace, ok := d.system["AWSTraceHeader"]; ok {
		m.system = map[string]string{"AWSTraceHeader": aws.ToString(trace.StringValue)}
	}
	q.mu.Lock()
	delay := q.delay
	q.mu.Unlock()
	if d.delay > 0 {
		delay = time.Duration(d.delay) * time.Second
	}
	return q.put(m, delay, now), nil
}

// check validates a draft by AWS's rules, and sets its deduplication ID if the queue derives it
// from the content.
func (q *queue) check(d *draft) error {
	if aws.ToString(d.body) == "" {
		return missing("MessageBody")
	}
	q.mu.Lock()
	maxSize, content := q.maxSize, q.contentDedup
	q.mu.Unlock()
	if d.size() > maxSize {
		return wire.Errorf(
			"InvalidParameterValue", "One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", maxSize,
		)
	}
	if !utf8.ValidString(*d.body) || strings.ContainsFunc(*d.body, forbidden) {
		return wire.Errorf(
			"InvalidMessageContents",
			"Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF",
		)
	}
	if d.delay < 0 || d.delay > 900 {
		return invalidValue(d.delay, "DelaySeconds", "DelaySeconds must be >= 0 and <= 900.")
	}
	if err := checkMessageAttributes(d.attributes); err != nil {
		return err
	}
	if !q.fifo {
		return nil
	}
	return d.checkFIFO(content)
}

func (d *draft) checkFIFO(contentBased bool) error {
	if aws.ToString(d.group) == "" {
		return missing("MessageGroupId")
	}
	if d.delay > 0 {
		return invalidValue(d.delay, "DelaySeconds", "The request include parameter that is not valid for this queue type.")
	}
	if !validDedup.MatchString(*d.group) {
		return invalidValue(
			*d.group, "MessageGroupId", "MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length.",
		)
	}
	if aws.ToString(d.dedup) == "" {
		if !contentBased {
			return wire.Errorf(
				"InvalidParameterValue",
				"The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly",
			)
		}
		sum := sha256.Sum256([]byte(*d.body))
		d.dedup = aws.String(hex.EncodeToString(sum[:]))
	}
	if !validDedup.MatchString(*d.dedup) {
		return invalidValue(
			*d.dedup,
			"MessageDeduplicationId",
			"MessageDeduplicationId can only include alphanumeric and punctuation characters. 1 to 128 in length.",
		)
	}
	return nil
}

// forbidden reports whether XML 1.0 forbids a character.
func forbidden(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
}

func (d *draft) size() int {
	size := len(aws.ToString(d.body))
	for name, v := range d.attributes {
		size += len(name) + len(aws.ToString(v.DataType)) + len(aws.ToString(v.StringValue)) + len(v.BinaryValue)
	}
	return size
}

func (s *Service) sendMessage(ctx context.Context, in *sqs.SendMessageInput) (*sqs.SendMessageOutput, error) {
	_, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	m, err := s.send(wire.CallFrom(ctx).UserID, q, draft{
		in.MessageBody, in.MessageAttributes, in.MessageSystemAttributes, in.DelaySeconds, in.MessageGroupId, in.MessageDeduplicationId,
	})
	if err != nil {
		return nil, err
	}
	return &sqs.SendMessageOutput{
		MessageId: &m.id, MD5OfMessageBody: aws.String(md5Hex(*in.MessageBody)),
		MD5OfMessageAttributes: wire.Optional(attributesMD5(in.MessageAttributes)), SequenceNumber: wire.Optional(m.sequence),
	}, nil
}

func (s *Service) receiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput) (*sqs.ReceiveMessageOutput, error) {
	_, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	n := int(in.MaxNumberOfMessages)
	if n == 0 {
		n = 1
	}
	if n < 1 || n > 10 {
		return nil, invalidValue(n, "MaxNumberOfMessages", "Must be between 1 and 10, if provided.")
	}
	q.mu.Lock()
	wait, visibility := q.wait, q.visibility
	q.mu.Unlock()
	if in.WaitTimeSeconds != 0 {
		wait = time.Duration(in.WaitTimeSeconds) * time.Second
	}
	if wait < 0 || wait > 20*time.Second {
		return nil, invalidValue(in.WaitTimeSeconds, "WaitTimeSeconds", "Must be >= 0 and <= 20, if provided.")
	}
	if in.VisibilityTimeout != 0 {
		visibility = time.Duration(in.VisibilityTimeout) * time.Second
	}
	if err := checkVisibility(in.VisibilityTimeout); err != nil {
		return nil, err
	}
	messages, err := s.poll(ctx, q, n, visibility, wait)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	out := &sqs.ReceiveMessageOutput{Messages: make([]types.Message, len(messages))}
	for i, m := range messages {
		out.Messages[i] = q.render(m, in)
	}
	return out, nil
}

// poll receives messages, and waits if there are none.
func (s *Service) poll(ctx context.Context, q *queue, n int, visibility, wait time.Duration) ([]*message, error) {
	deadline := s.env.Clock.Now().Add(wait)
	for {
		q.mu.Lock()
		changed, deleted := q.changed, q.deleted
		q.mu.Unlock()
		if deleted {
			return nil, nonExistent()
		}
		now := s.env.Clock.Now()
		got, dead, again := q.take(n, visibility, now)
		s.bury(q, dead)
		if len(got) > 0 || !now.Before(deadline) {
			return got, nil
		}
		until := deadline
		if !again.IsZero() && again.Before(until) {
			until = again
		}
		timer := s.env.Clock.NewTimer(until.Sub(now))
		select {
		case <-changed:
		case <-timer.C():
		case <-ctx.Done():
		}
		timer.Stop()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// bury moves dead letters into their queue. If that queue does not exist, they return to this one.
func (s *Service) bury(q *queue, dead []*message) {
	now := s.env.Clock.Now()
	for _, m := range dead {
		target := s.byARN(q.deadLetters())
		if target == nil {
			target = q
		}
		c := &message{
			id: m.id, body: m.body, md5: m.md5, attributes: m.attributes, attributesMD5: m.attributesMD5, system: m.system,
			sender: m.sender, group: m.group, dedup: m.id, sent: m.sent, source: q.arn,
		}
		target.put(c, 0, now)
	}
}

func checkVisibility(seconds int32) error {
	if seconds < 0 || seconds > 43200 {
		return invalidValue(seconds, "VisibilityTimeout", "VisibilityTimeout must be an integer between 0 and 43200.")
	}
	return nil
}

// render returns a message with the attributes that the receiver requests.
func (q *queue) render(m *message, in *sqs.ReceiveMessageInput) types.Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := types.Message{MessageId: &m.id, Body: &m.body, MD5OfBody: &m.md5, ReceiptHandle: aws.String(m.receipt)}
	system := map[string]string{
		"SenderId":                         m.sender,
		"SentTimestamp":                    strconv.FormatInt(m.sent.UnixMilli(), 10),
		"ApproximateReceiveCount":          strconv.Itoa(m.receives),
		"ApproximateFirstReceiveTimestamp": strconv.FormatInt(m.first.UnixMilli(), 10),
	}
	maps.Copy(system, m.system)
	for name, value := range map[string]string{
		"MessageGroupId": m.group, "MessageDeduplicationId": m.dedup,
		"SequenceNumber": m.sequence, "DeadLetterQueueSourceArn": m.source,
	} {
		if value != "" && (q.fifo || !strings.HasPrefix(name, "MessageD")) {
			system[name] = value
		}
	}
	asked := make([]string, 0, len(in.AttributeNames)+len(in.MessageSystemAttributeNames))
	for _, name := range in.AttributeNames {
		asked = append(asked, string(name))
	}
	for _, name := range in.MessageSystemAttributeNames {
		asked = append(asked, string(name))
	}
	if !slices.Contains(asked, "All") {
		maps.DeleteFunc(system, func(name, _ string) bool { return !slices.Contains(asked, name) })
	}
	if len(system) > 0 {
		out.Attributes = system
	}
	out.MessageAttributes = selectAttributes(m.attributes, in.MessageAttributeNames)
	out.MD5OfMessageAttributes = wire.Optional(attributesMD5(out.MessageAttributes))
	return out
}

// selectAttributes returns the attributes that names select: by name, by "prefix.*", or all.
func selectAttributes(all map[string]types.MessageAttributeValue, names []string) map[string]types.MessageAttributeValue {
	some := map[string]types.MessageAttributeValue{}
	for name, value := range all {
		for _, asked := range names {
			prefix, wild := strings.CutSuffix(asked, ".*")
			if asked == "All" || asked == name || wild && strings.HasPrefix(name, prefix) {
				some[name] = value
			}
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some
}

func (s *Service) deleteMessage(ctx context.Context, in *sqs.DeleteMessageInput) (*sqs.DeleteMessageOutput, error) {
	_, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return nil, s.remove(q, aws.ToString(in.ReceiptHandle))
}

// remove deletes a message by its last receipt. As in AWS, deleting a deleted message succeeds.
func (s *Service) remove(q *queue, receipt string) error {
	if receipt == "" {
		return missing("ReceiptHandle")
	}
	if !isReceipt(receipt) {
		return badHandle(receipt)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	m, ok := q.receipts[receipt]
	if !ok {
		return nil
	}
	if q.fifo && !m.visible.After(s.env.Clock.Now()) {
		return invalidValue(receipt, "ReceiptHandle", "The receipt handle has expired.")
	}
	q.drop(m)
	if q.fifo { // the group's next message can be received now
		q.notify()
	}
	return nil
}

// receiptHead are the first bytes of every receipt handle; in base64, it begins with AQEB.
const receiptHead = "\x01\x01\x01"

// newReceipt generates a receipt handle of AWS's form: base64, so with characters that URLs escape.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-queue-message-identifiers.html
func newReceipt() string {
	const size = 270
	handle := append(make([]byte, 0, size), receiptHead...)
	handle = handle[:size]
	_, _ = rand.Read(handle[len(receiptHead):]) // never fails, see crypto/rand
	return base64.StdEncoding.EncodeToString(handle)
}

// isReceipt reports whether a handle has the form of a queue's receipts.
func isReceipt(handle string) bool {
	decoded, err := base64.StdEncoding.DecodeString(handle)
	return err == nil && strings.HasPrefix(string(decoded), receiptHead)
}

func (s *Service) changeMessageVisibility(
	ctx context.Context, in *sqs.ChangeMessageVisibilityInput,
) (*sqs.ChangeMessageVisibilityOutput, error) {
	_, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return nil, s.extend(q, aws.ToString(in.ReceiptHandle), in.VisibilityTimeout)
}

func (s *Service) extend(q *queue, receipt string, seconds int32) error {
	if receipt == "" {
		return missing("ReceiptHandle")
	}
	if err := checkVisibility(seconds); err != nil {
		return err
	}
	if !isReceipt(receipt) {
		return badHandle(receipt)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := s.env.Clock.Now()
	m, ok := q.receipts[receipt]
	if !ok {
		return invalidValue(receipt, "ReceiptHandle", "Reason: Message does not exist or is not available for visibility timeout change.")
	}
	if !m.visible.After(now) {
		return wire.Errorf("MessageNotInflight", "The specified message isn't in flight.")
	}
	q.release(m, now.Add(time.Duration(seconds)*time.Second), now)
	return nil
}
