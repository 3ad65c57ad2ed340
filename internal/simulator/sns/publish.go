package sns

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/simulator/sqs"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	maxMessage  = 256 << 10
	dedupWindow = 5 * time.Minute
)

// draft is a message to publish.
type draft struct {
	message, subject, structure, group, dedup *string
	attributes                                map[string]types.MessageAttributeValue
}

// size returns the size of a draft with its attributes.
func (d *draft) size() int {
	size := len(aws.ToString(d.message))
	for name, v := range d.attributes {
		size += len(name) + len(aws.ToString(v.DataType)) + len(aws.ToString(v.StringValue)) + len(v.BinaryValue)
	}
	return size
}

// check validates a draft by AWS's rules.
// https://docs.aws.amazon.com/sns/latest/api/API_Publish.html
func (d *draft) check(t *topic) error {
	switch {
	case aws.ToString(d.message) == "":
		return invalid("Empty message")
	case d.size() > maxMessage:
		return invalid("Message too long")
	case d.subject != nil && (len(*d.subject) == 0 || len(*d.subject) > 100):
		return invalid("Subject")
	case t.fifo && aws.ToString(d.group) == "":
		return invalid("The MessageGroupId parameter is required for FIFO topics")
	case t.fifo && aws.ToString(d.dedup) == "" && t.attributes["ContentBasedDeduplication"] != "true":
		return invalid("The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly")
	case !t.fifo && d.dedup != nil:
		return invalid(
			"MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is not valid for this topic type",
		)
	}
	if t.fifo && aws.ToString(d.dedup) == "" {
		sum := sha256.Sum256([]byte(*d.message))
		d.dedup = aws.String(hex.EncodeToString(sum[:]))
	}
	if structure := aws.ToString(d.structure); structure != "" && structure != "json" {
		return invalid("MessageStructure")
	}
	if aws.ToString(d.structure) == "json" {
		var byProtocol map[string]any
		if json.Unmarshal([]byte(*d.message), &byProtocol) != nil {
			return invalid("Message Structure - JSON message body failed to parse")
		}
		if _, ok := byProtocol["default"].(string); !ok {
			return invalid("Message Structure - No default entry in JSON message body")
		}
	}
	return nil
}

// text returns the message for a protocol.
func (d *draft) text(protocol string) string {
	if aws.ToString(d.structure) != "json" {
		return aws.ToString(d.message)
	}
	var byProtocol map[string]any
	if json.Unmarshal([]byte(*d.message), &byProtocol) != nil {
		return *d.message
	}
	if text, ok := byProtocol[protocol].(string); ok {
		return text
	}
	text, _ := byProtocol["default"].(string)
	return text
}

// send publishes a draft and returns its ID and, for FIFO topics, its sequence number. The returned
// function delivers it. The caller holds the lock.
func (s *Service) send(t *topic, d draft) (id, sequence string, deliver func(context.Context), err error) {
	if err := d.check(t); err != nil {
		return "", "", nil, err
	}
	now := s.env.Clock.Now()
	id = uuid.NewString()
	if t.fifo {
		maps.DeleteFunc(t.dedups, func(_ string, p published) bool { return !p.until.After(now) })
		if earlier, ok := t.dedups[*d.dedup]; ok {
			return earlier.id, earlier.sequence, func(context.Context) {}, nil
		}
		t.sequence++
		sequence = fmt.Sprintf("1%019d", t.sequence)
		t.dedups[*d.dedup] = published{id, sequence, now.Add(dedupWindow)}
	}
	var to []subscription
	for _, sub := range t.subscriptions {
		if !sub.pending && sub.wants(&d) {
			to = append(to, subscription{
				arn: sub.arn, protocol: sub.protocol, endpoint: sub.endpoint, topic: t, attributes: maps.Clone(sub.attributes),
			})
		}
	}
	return id, sequence, func(ctx context.Context) {
		for i := range to {
			s.deliver(ctx, &to[i], id, sequence, &d, now)
		}
	}, nil
}

// wants reports whether the subscription's filter policy accepts the message.
// https://docs.aws.amazon.com/sns/latest/dg/sns-message-filtering.html
func (sub *subscription) wants(d *draft) bool {
	if sub.filter == nil {
		return true
	}
	if sub.attributes["FilterPolicyScope"] == "MessageBody" {
		return sub.filter.MatchJSON([]byte(aws.ToString(d.message)))
	}
	document := map[string]any{}
	for name, v := range d.attributes {
		text := aws.ToString(v.StringValue)
		switch aws.ToString(v.DataType) {
		case "Number":
			document[name] = json.Number(text)
		case "String.Array":
			decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
			decoder.UseNumber()
			var list []any
			if decoder.Decode(&list) == nil {
				document[name] = list
			}
		case "Binary":
		default:
			document[name] = text
		}
	}
	return sub.filter.Match(document)
}

func (s *Service) publish(ctx context.Context, in *sns.PublishInput) (*sns.PublishOutput, error) {
	arn := in.TopicArn
	if arn == nil {
		arn = in.TargetArn
	}
	if arn == nil {
		return nil, invalid("TopicArn or TargetArn Reason: no value for required parameter")
	}
	d := draft{in.Message, in.Subject, in.MessageStructure, in.MessageGroupId, in.MessageDeduplicationId, in.MessageAttributes}
	var id, sequence string
	var deliver func(context.Context)
	err := s.withTopic(ctx, arn, func(_ *region, t *topic) (err error) {
		id, sequence, deliver, err = s.send(t, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	deliver(ctx)
	return &sns.PublishOutput{MessageId: &id, SequenceNumber: wire.Optional(sequence)}, nil
}

// Publish sends a message to a topic, for other simulated services. It returns an error if the
// topic does not exist.
func (s *Service) Publish(ctx context.Context, topicARN, subject, message string) error {
	_, err := s.publish(
		wire.WithCall(ctx, &wire.Call{}), &sns.PublishInput{TopicArn: &topicARN, Subject: wire.Optional(subject), Message: &message},
	)
	return err
}

func (s *Service) publishBatch(ctx context.Context, in *sns.PublishBatchInput) (*sns.PublishBatchOutput, error) {
	entries := in.PublishBatchRequestEntries
	if len(entries) == 0 {
		return nil, wire.Errorf("EmptyBatchRequest", "The batch request doesn't contain any entries.")
	}
	if len(entries) > 10 {
		return nil, wire.Errorf("TooManyEntriesInBatchRequest", "The batch request contains more entries than permissible.")
	}
	ids, size := map[string]bool{}, 0
	for _, e := range entries {
		d := draft{message: e.Message, attributes: e.MessageAttributes}
		size += d.size()
		if ids[aws.ToString(e.Id)] {
			return nil, wire.Errorf("BatchEntryIdsNotDistinct", "Two or more batch entries in the request have the same Id.")
		}
		ids[aws.ToString(e.Id)] = true
	}
	if size > maxMessage {
		return nil, wire.Errorf("BatchRequestTooLong", "The length of all the batch messages put together is more than the limit.")
	}
	out := &sns.PublishBatchOutput{Successful: []types.PublishBatchResultEntry{}, Failed: []types.BatchResultErrorEntry{}}
	var deliveries []func(context.Context)
	err := s.withTopic(ctx, in.TopicArn, func(_ *region, t *topic) error {
		for _, e := range entries {
			id, sequence, deliver, err := s.send(
				t, draft{e.Message, e.Subject, e.MessageStructure, e.MessageGroupId, e.MessageDeduplicationId, e.MessageAttributes},
			)
			if err != nil {
				failed := &wire.Error{Code: "InternalError", Message: err.Error(), Status: http.StatusInternalServerError}
				errors.As(err, &failed)
				out.Failed = append(
					out.Failed,
					types.BatchResultErrorEntry{Id: e.Id, Code: &failed.Code, Message: &failed.Message, SenderFault: failed.Status < 500},
				)
				continue
			}
			deliveries = append(deliveries, deliver)
			out.Successful = append(
				out.Successful, types.PublishBatchResultEntry{Id: e.Id, MessageId: &id, SequenceNumber: wire.Optional(sequence)},
			)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, deliver := range deliveries {
		deliver(ctx)
	}
	return out, nil
}

// envelope is the form of a message for subscribers without raw delivery.
// https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html
type envelope struct {
	Type              string                       `json:"Type"`
	MessageID         string                       `json:"MessageId"`
	SequenceNumber    string                       `json:"SequenceNumber,omitempty"`
	Token             string                       `json:"Token,omitempty"`
	TopicArn          string                       `json:"TopicArn"`
	Subject           string                       `json:"Subject,omitempty"`
	Message           string                       `json:"Message"`
	SubscribeURL      string                       `json:"SubscribeURL,omitempty"`
	Timestamp         string                       `json:"Timestamp"`
	SignatureVersion  string                       `json:"SignatureVersion,omitempty"`
	Signature         string                       `json:"Signature,omitempty"`
	SigningCertURL    string                       `json:"SigningCertURL,omitempty"`
	UnsubscribeURL    string                       `json:"UnsubscribeURL,omitempty"`
	MessageAttributes map[string]envelopeAttribute `json:"MessageAttributes,omitempty"`
}

type envelopeAttribute struct {
	Type  string `json:"Type"`
	Value string `json:"Value"`
}

func (s *Service) address() string {
	if e := s.endpoint(); e != "" {
		return e
	}
	return "https://sns.us-east-1.amazonaws.com"
}

func (s *Service) envelope(sub *subscription, id, sequence string, d *draft, now time.Time) envelope {
	e := envelope{
		Type: "Notification", MessageID: id, SequenceNumber: sequence, TopicArn: sub.topic.arn,
		Subject: aws.ToString(d.subject), Message: d.text(sub.protocol),
		Timestamp:        now.UTC().Format("2006-01-02T15:04:05.000Z"),
		SignatureVersion: "1", Signature: base64.StdEncoding.EncodeToString([]byte("simulated, not signed")),
		SigningCertURL: s.address() + "/SimpleNotificationService-simulated.pem",
		UnsubscribeURL: s.address() + "/?" + url.Values{"Action": {"Unsubscribe"}, "SubscriptionArn": {sub.arn}}.Encode(),
	}
	for name, v := range d.attributes {
		if e.MessageAttributes == nil {
			e.MessageAttributes = map[string]envelopeAttribute{}
		}
		value := aws.ToString(v.StringValue)
		if v.BinaryValue != nil {
			value = base64.StdEncoding.EncodeToString(v.BinaryValue)
		}
		e.MessageAttributes[name] = envelopeAttribute{aws.ToString(v.DataType), value}
	}
	return e
}

// deliver delivers a message to one subscriber. If a queue rejects it, it goes to the
// subscription's dead-letter queue.
func (s *Service) deliver(ctx context.Context, sub *subscription, id, sequence string, d *draft, now time.Time) {
	raw := sub.attributes["RawMessageDelivery"] == "true"
	body := d.text(sub.protocol)
	if !raw {
		body = encode(s.envelope(sub, id, sequence, d, now))
	}
	switch sub.protocol {
	case "sqs":
		message := sqs.Delivery{Body: body, Group: aws.ToString(d.group), Dedup: aws.ToString(d.dedup), Sender: "AIDAISMY36OHPHB4FY5FQ"}
		message.Service, message.Source = "sns.amazonaws.com", sub.topic.arn
		if raw {
			message.Attributes = queueAttributes(d.attributes)
		}
		if s.queues.Deliver(sub.endpoint, message) != nil {
			s.bury(sub, message)
		}
	case "http", "https":
		go s.post(context.WithoutCancel(ctx), sub, "Notification", id, body, raw)
	}
}

// bury puts an undeliverable message into the subscription's dead-letter queue. Without one it is
// lost, as in AWS.
func (s *Service) bury(sub *subscription, message sqs.Delivery) {
	var policy struct {
		Target string `json:"deadLetterTargetArn"`
	}
	if json.Unmarshal([]byte(sub.attributes["RedrivePolicy"]), &policy) == nil && policy.Target != "" {
		_ = s.queues.Deliver(policy.Target, message) // if that queue does not exist, the message is lost
	}
}

func queueAttributes(attributes map[string]types.MessageAttributeValue) map[string]sqstypes.MessageAttributeValue {
	converted := map[string]sqstypes.MessageAttributeValue{}
	for name, v := range attributes {
		converted[name] = sqstypes.MessageAttributeValue{DataType: v.DataType, StringValue: v.StringValue, BinaryValue: v.BinaryValue}
	}
	return converted
}

func encode(v any) string {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(v) != nil {
		return "{}" // strings and maps of strings always encode
	}
	return string(bytes.TrimSpace(buf.Bytes()))
}

// askToConfirm posts the token to an endpoint on loopback.
func (s *Service) askToConfirm(ctx context.Context, sub *subscription) {
	if sub.protocol != "http" && sub.protocol != "https" {
		return
	}
	id := uuid.NewString()
	body := encode(envelope{
		Type: "SubscriptionConfirmation", MessageID: id, Token: sub.token, TopicArn: sub.topic.arn,
		Message: "You have chosen to subscribe to the topic " + sub.topic.arn + ".\nTo confirm the subscription, visit the SubscribeURL included in this message.",
		SubscribeURL: s.address() + "/?" + url.Values{
			"Action": {"ConfirmSubscription"}, "TopicArn": {sub.topic.arn}, "Token": {sub.token},
		}.Encode(),
		Timestamp: s.env.Clock.Now().UTC().Format("2006-01-02T15:04:05.000Z"), SignatureVersion: "1",
	})
	go s.post(context.WithoutCancel(ctx), sub, "SubscriptionConfirmation", id, body, false)
}

// post calls an endpoint on this host. The context must outlive the call that triggers the post.
func (s *Service) post(ctx context.Context, sub *subscription, kind, id, body string, raw bool) {
	u, err := url.Parse(sub.endpoint)
	if err != nil || !loopback(u.Hostname()) {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, sub.endpoint, bytes.NewReader([]byte(body)))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "text/plain; charset=UTF-8")
	req.Header.Set("X-Amz-Sns-Message-Type", kind)
	req.Header.Set("X-Amz-Sns-Message-Id", id)
	req.Header.Set("X-Amz-Sns-Topic-Arn", sub.topic.arn)
	if kind == "Notification" {
		req.Header.Set("X-Amz-Sns-Subscription-Arn", sub.arn)
	}
	if raw {
		req.Header.Set("X-Amz-Sns-Rawdelivery", "true")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return // delivery is at most once here; AWS would retry
	}
	_ = resp.Body.Close() // the response is ignored
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || slices.Contains([]string{"127.0.0.1", "::1"}, host) || ip != nil && ip.IsLoopback()
}
