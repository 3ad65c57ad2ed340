package sns

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/sqs"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Service is the simulated SNS of all accounts and regions.
type Service struct {
	env      *resource.Env
	queues   *sqs.Service
	endpoint func() string
	client   *http.Client
	regions  wire.Store[region]
}

// region holds the topics and subscriptions of one account and region.
type region struct {
	wire.Target

	mu            sync.Mutex
	topics        map[string]*topic        // by name
	subscriptions map[string]*subscription // by ARN
}

// topic is one topic.
type topic struct {
	arn, name     string
	fifo          bool
	attributes    map[string]string
	tags          map[string]string
	subscriptions []*subscription
	deleted       int
	dedups        map[string]published
	sequence      uint64
}

// published is a FIFO topic's record of a deduplication ID.
type published struct {
	id, sequence string
	until        time.Time
}

// New returns a service without topics, which delivers to queues. endpoint returns the simulator's
// address, for the links in messages.
func New(env *resource.Env, queues *sqs.Service, endpoint func() string) *Service {
	s := &Service{env: env, queues: queues, endpoint: endpoint, client: &http.Client{Timeout: 15 * time.Second}}
	s.regions.New = func(p wire.Target) *region {
		return &region{Target: p, topics: map[string]*topic{}, subscriptions: map[string]*subscription{}}
	}
	return s
}

// Service returns the operations for the wire layer.
func (s *Service) Service() *wire.Service {
	return &wire.Service{
		Name: "sns", Describe: s.access, Protocols: []wire.Protocol{wire.Query}, APIVersion: "2010-03-31",
		XMLNamespace: "http://sns.amazonaws.com/doc/2010-03-31/",
		Unsigned:     []string{"ConfirmSubscription", "Unsubscribe"},
		Names: map[string]wire.Name{
			"PublishInput.MessageAttributes":             {Wire: "MessageAttributes", Key: "Name", Value: "Value"},
			"PublishBatchRequestEntry.MessageAttributes": {Wire: "MessageAttributes", Key: "Name", Value: "Value"},
		},
		Operations: map[string]wire.Operation{
			"ConfirmSubscription":       wire.Op(s.confirmSubscription),
			"CreateTopic":               wire.Op(s.createTopic),
			"DeleteTopic":               wire.Op(s.deleteTopic),
			"GetSubscriptionAttributes": wire.Op(s.getSubscriptionAttributes),
			"GetTopicAttributes":        wire.Op(s.getTopicAttributes),
			"ListSubscriptions":         wire.Op(s.listSubscriptions),
			"ListSubscriptionsByTopic":  wire.Op(s.listSubscriptionsByTopic),
			"ListTagsForResource":       wire.Op(s.listTagsForResource),
			"ListTopics":                wire.Op(s.listTopics),
			"Publish":                   wire.Op(s.publish),
			"PublishBatch":              wire.Op(s.publishBatch),
			"SetSubscriptionAttributes": wire.Op(s.setSubscriptionAttributes),
			"SetTopicAttributes":        wire.Op(s.setTopicAttributes),
			"Subscribe":                 wire.Op(s.subscribe),
			"TagResource":               wire.Op(s.tagResource).WithEmptyResult(),
			"Unsubscribe":               wire.Op(s.unsubscribe),
			"UntagResource":             wire.Op(s.untagResource).WithEmptyResult(),
		},
	}
}

func (s *Service) partition() string {
	if s.env.Partition == "" {
		return "aws"
	}
	return s.env.Partition
}

func invalid(format string, args ...any) *wire.Error {
	return wire.Errorf("InvalidParameter", "Invalid parameter: "+format, args...)
}

func notFound(what string) *wire.Error {
	return wire.Errorf("NotFound", "%s does not exist", what).WithStatus(http.StatusNotFound)
}

// split splits a topic's or subscription's ARN.
func split(arn string) (where wire.Target, name, id string, ok bool) {
	parts := strings.Split(arn, ":")
	if len(parts) < 6 || len(parts) > 7 || parts[0] != "arn" || parts[2] != "sns" || parts[5] == "" {
		return wire.Target{}, "", "", false
	}
	if len(parts) == 7 {
		id = parts[6]
	}
	return wire.Target{Account: parts[4], Region: parts[3]}, parts[5], id, true
}

// withTopic runs fn on the topic with the ARN, under its region's lock.
func (s *Service) withTopic(ctx context.Context, arn *string, fn func(*region, *topic) error) error {
	where, name, id, ok := split(aws.ToString(arn))
	if !ok || id != "" {
		return invalid("TopicArn")
	}
	if c := wire.CallFrom(ctx); c.AccessKeyID != "" && c.Region != where.Region {
		return invalid("TopicArn")
	}
	r := s.regions.At(where)
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.topics[name]
	if !ok {
		return notFound("Topic")
	}
	return fn(r, t)
}

// withSubscription runs fn on the subscription with the ARN, under its region's
// lock.
func (s *Service) withSubscription(arn *string, fn func(*region, *subscription) error) error {
	where, _, id, ok := split(aws.ToString(arn))
	if !ok || id == "" {
		return invalid("SubscriptionArn Reason: An ARN must have at least 6 elements, not %d", strings.Count(aws.ToString(arn), ":")+1)
	}
	r := s.regions.At(where)
	r.mu.Lock()
	defer r.mu.Unlock()
	sub, ok := r.subscriptions[*arn]
	if !ok {
		return notFound("Subscription")
	}
	return fn(r, sub)
}

// pageSize is the size of a page of topics or subscriptions.
var pageSize = wire.PageSize{Standard: 100, Most: 100}

func keysOf[V any](m map[string]V) []string { return slices.Collect(maps.Keys(m)) }
