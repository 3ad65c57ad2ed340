package sqs

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Service is the simulated SQS of all accounts and regions.
type Service struct {
	env      *resource.Env
	endpoint func() string
	release  time.Duration
	regions  wire.Store[region]
}

// Option configures the service.
type Option func(*Service)

// WithEndpoint sets the address of queues that CloudFormation creates. The default is AWS's
// address. Queues that an API call creates have the address that its caller used.
func WithEndpoint(endpoint func() string) Option {
	return func(s *Service) { s.endpoint = endpoint }
}

// WithNameRelease sets for how long after its deletion the name of a queue cannot be used again.
// AWS takes 60 seconds; the default is no time, so that tests do not wait.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteQueue.html
func WithNameRelease(after time.Duration) Option {
	return func(s *Service) { s.release = after }
}

// region holds the queues of one account and region.
type region struct {
	wire.Target

	mu     sync.RWMutex
	queues map[string]*queue
	// deleted holds when queues were deleted, by name.
	deleted map[string]time.Time
}

// New returns a service without queues.
func New(env *resource.Env, options ...Option) *Service {
	s := &Service{env: env, endpoint: func() string { return "" }}
	s.regions.New = func(p wire.Target) *region {
		return &region{Target: p, queues: map[string]*queue{}, deleted: map[string]time.Time{}}
	}
	for _, option := range options {
		option(s)
	}
	return s
}

func (s *Service) partition() string {
	if s.env.Partition == "" {
		return "aws"
	}
	return s.env.Partition
}

// Service returns the operations for the wire layer.
func (s *Service) Service() *wire.Service {
	flat := func(name string) wire.Name { return wire.Name{Wire: name, Flattened: true} }
	attributes := wire.Name{Wire: "Attribute", Flattened: true, Key: "Name", Value: "Value"}
	return &wire.Service{
		Name: "sqs", Describe: s.access, Protocols: []wire.Protocol{wire.JSON10, wire.Query}, TargetPrefix: "AmazonSQS",
		APIVersion: "2012-11-05", XMLNamespace: "http://queue.amazonaws.com/doc/2012-11-05/",
		ErrorNamespace: "com.amazonaws.sqs", QueryCodes: queryCodes,
		QueryNames: map[string]wire.Name{
			"Attributes":                  attributes,
			"AttributeNames":              flat("AttributeName"),
			"MessageAttributeNames":       flat("MessageAttributeName"),
			"MessageSystemAttributeNames": flat("MessageSystemAttributeName"),
			"MessageAttributes":           {Wire: "MessageAttribute", Flattened: true, Key: "Name", Value: "Value"},
			"MessageSystemAttributes":     {Wire: "MessageSystemAttribute", Flattened: true, Key: "Name", Value: "Value"},
			"Messages":                    flat("Message"),
			"QueueUrls":                   flat("QueueUrl"),
			"ListDeadLetterSourceQueuesOutput.QueueUrls": flat("QueueUrl"),
			"Tags":                            {Wire: "Tag", Flattened: true, Key: "Key", Value: "Value"},
			"CreateQueueInput.Tags":           {Wire: "Tag", Flattened: true, Key: "Key", Value: "Value"},
			"TagKeys":                         flat("TagKey"),
			"SendMessageBatchInput.Entries":   flat("SendMessageBatchRequestEntry"),
			"DeleteMessageBatchInput.Entries": flat("DeleteMessageBatchRequestEntry"),
			"ChangeMessageVisibilityBatchInput.Entries":     flat("ChangeMessageVisibilityBatchRequestEntry"),
			"SendMessageBatchOutput.Successful":             flat("SendMessageBatchResultEntry"),
			"DeleteMessageBatchOutput.Successful":           flat("DeleteMessageBatchResultEntry"),
			"ChangeMessageVisibilityBatchOutput.Successful": flat("ChangeMessageVisibilityBatchResultEntry"),
			"Failed":        flat("BatchResultErrorEntry"),
			"AWSAccountIds": flat("AWSAccountId"),
			"Actions":       flat("ActionName"),
		},
		// Only in this response, the member for queue URLs is in lower case.
		Names: map[string]wire.Name{"ListDeadLetterSourceQueuesOutput.QueueUrls": {Wire: "queueUrls"}},
		Operations: map[string]wire.Operation{
			"AddPermission":                wire.Op(s.addPermission),
			"ChangeMessageVisibility":      wire.Op(s.changeMessageVisibility),
			"ChangeMessageVisibilityBatch": wire.Op(s.changeMessageVisibilityBatch),
			"CreateQueue":                  wire.Op(s.createQueue),
			"DeleteMessage":                wire.Op(s.deleteMessage),
			"DeleteMessageBatch":           wire.Op(s.deleteMessageBatch),
			"DeleteQueue":                  wire.Op(s.deleteQueue),
			"GetQueueAttributes":           wire.Op(s.getQueueAttributes),
			"GetQueueUrl":                  wire.Op(s.getQueueURL),
			"ListDeadLetterSourceQueues":   wire.Op(s.listDeadLetterSourceQueues),
			"ListQueueTags":                wire.Op(s.listQueueTags),
			"ListQueues":                   wire.Op(s.listQueues),
			"PurgeQueue":                   wire.Op(s.purgeQueue),
			"ReceiveMessage":               wire.Op(s.receiveMessage),
			"RemovePermission":             wire.Op(s.removePermission),
			"SendMessage":                  wire.Op(s.sendMessage),
			"SendMessageBatch":             wire.Op(s.sendMessageBatch),
			"SetQueueAttributes":           wire.Op(s.setQueueAttributes),
			"TagQueue":                     wire.Op(s.tagQueue),
			"UntagQueue":                   wire.Op(s.untagQueue),
		},
	}
}

// url returns the URL of a queue for a caller.
func (s *Service) url(ctx context.Context, r *region, name string) string {
	base := ""
	if c := wire.CallFrom(ctx); c.Host != "" && c.Scheme != "" {
		base = c.Endpoint()
	} else if base = s.endpoint(); base == "" {
		base = "https://sqs." + r.Region + ".amazonaws.com"
	}
	return base + "/" + r.Account + "/" + name
}

// find returns the queue with a URL, by account and name; the host does not matter. A Query client
// may omit the parameter and post to the queue's path.
func (s *Service) find(ctx context.Context, address *string) (*region, *queue, error) {
	path := wire.CallFrom(ctx).Path
	if address != nil && *address != "" {
		u, err := url.Parse(*address)
		if err != nil {
			return nil, nil, wire.Errorf("InvalidAddress", "The address %s is not valid for this endpoint.", *address)
		}
		path = u.Path
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	name := parts[len(parts)-1]
	if name == "" {
		return nil, nil, missing("QueueUrl")
	}
	where := wire.TargetFrom(ctx)
	if len(parts) >= 2 {
		where.Account = parts[len(parts)-2]
	}
	r := s.regions.At(where)
	q := r.queue(name)
	if q == nil {
		return nil, nil, nonExistent()
	}
	return r, q, nil
}

// byARN returns the queue with an ARN, or nil.
func (s *Service) byARN(arn string) *queue {
	parts := strings.Split(arn, ":")
	if len(parts) != 6 || parts[2] != "sqs" {
		return nil
	}
	return s.regions.At(wire.Target{Account: parts[4], Region: parts[3]}).queue(parts[5])
}

func (r *region) queue(name string) *queue {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.queues[name]
}

// names returns the sorted names of the queues.
func (r *region) names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.queues))
}
