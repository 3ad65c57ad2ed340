package sqs

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	maxMessageSize = 1 << 20
	fifoSuffix     = ".fifo"
)

// bounds are the bounds and the default of a numeric attribute.
type bounds struct{ least, most, standard int }

// numeric are the numeric attributes, with their limits.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
var numeric = map[string]bounds{
	"DelaySeconds":                  {0, 900, 0},
	"MaximumMessageSize":            {1024, maxMessageSize, maxMessageSize},
	"MessageRetentionPeriod":        {60, 1209600, 345600},
	"ReceiveMessageWaitTimeSeconds": {0, 20, 0},
	"VisibilityTimeout":             {0, 43200, 30},
	"KmsDataKeyReusePeriodSeconds":  {60, 86400, 300},
}

// enums are the attributes with a fixed set of values. Those of FIFO queues are unknown to standard
// queues.
var enums = map[string][]string{
	"SqsManagedSseEnabled":      {"true", "false"},
	"FifoQueue":                 {"true"},
	"ContentBasedDeduplication": {"true", "false"},
	"DeduplicationScope":        {"queue", "messageGroup"},
	"FifoThroughputLimit":       {"perQueue", "perMessageGroupId"},
}

var (
	fifoOnly = []string{"FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"}
	texts    = []string{"Policy", "RedrivePolicy", "RedriveAllowPolicy", "KmsMasterKeyId"}
	readOnly = []string{
		"QueueArn",
		"CreatedTimestamp",
		"LastModifiedTimestamp",
		"ApproximateNumberOfMessages",
		"ApproximateNumberOfMessagesNotVisible",
		"ApproximateNumberOfMessagesDelayed",
	}
	validName = lazyregexp.New(`^[A-Za-z0-9_-]{1,80}$`)
)

// redrive is a RedrivePolicy.
type redrive struct {
	Target string      `json:"deadLetterTargetArn"`
	Max    json.Number `json:"maxReceiveCount"`
}

// checkName validates a name by AWS's rules for the kind of queue.
func checkName(name string, fifo bool) error {
	if fifo {
		base, ok := strings.CutSuffix(name, fifoSuffix)
		if !ok || len(name) > 80 || !validName.MatchString(base) {
			return wire.Errorf(
				"InvalidParameterValue",
				"The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length.",
			)
		}
		return nil
	}
	if !validName.MatchString(name) {
		return wire.Errorf("InvalidParameterValue", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	return nil
}

// checkAttributes validates the attributes of a request by AWS's rules.
func (s *Service) checkAttributes(attributes map[string]string, fifo bool) error {
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		value := attributes[name]
		switch {
		case slices.Contains(readOnly, name), !fifo && slices.Contains(fifoOnly, name):
			return wire.Errorf("InvalidAttributeName", "Unknown Attribute %s.", name)
		case slices.Contains(texts, name):
			if err := s.checkText(name, value, fifo); err != nil {
				return err
			}
		case !validAttribute(name, value):
			return invalidAttribute(name)
		}
	}
	return nil
}

func invalidAttribute(name string) error {
	_, number := numeric[name]
	_, enum := enums[name]
	if !number && !enum {
		return wire.Errorf("InvalidAttributeName", "Unknown Attribute %s.", name)
	}
	return wire.Errorf("InvalidAttributeValue", "Invalid value for the parameter %s.", name)
}

func validAttribute(name, value string) bool {
	if b, ok := numeric[name]; ok {
		n, err := strconv.Atoi(value)
		return err == nil && n >= b.least && n <= b.most
	}
	allowed, ok := enums[name]
	return ok && slices.Contains(allowed, value)
}

func (s *Service) checkText(name, value string, fifo bool) error {
	if value == "" || name == "KmsMasterKeyId" {
		return nil
	}
	var document map[string]any
	if json.Unmarshal([]byte(value), &document) != nil {
		return wire.Errorf("InvalidAttributeValue", "Invalid value for the parameter %s.", name)
	}
	if name == "Policy" && !s.env.KnowsPrincipals(value) {
		return wire.Errorf("InvalidAttributeValue", "Invalid value for the parameter Policy.")
	}
	if name != "RedrivePolicy" {
		return nil
	}
	var policy redrive
	most := 0
	if err := json.Unmarshal([]byte(value), &policy); err == nil {
		most, _ = strconv.Atoi(policy.Max.String())
	}
	if policy.Target == "" {
		return invalidValue(value, name, "Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
	}
	if most < 1 || most > 1000 {
		return invalidValue(
			value, name, "Invalid value for maxReceiveCount: "+policy.Max.String()+", valid values are from 1 to 1000 both inclusive.",
		)
	}
	target := s.byARN(policy.Target)
	if target == nil {
		return invalidValue(value, name, "Dead letter target does not exist.")
	}
	if target.fifo != fifo {
		return invalidValue(value, name, "Dead-letter queue must be same type of queue as the source.")
	}
	return nil
}

// defaults returns the default attributes of a queue.
func defaults(fifo bool) map[string]string {
	attributes := map[string]string{"SqsManagedSseEnabled": "true"}
	for name, b := range numeric {
		if name != "KmsDataKeyReusePeriodSeconds" {
			attributes[name] = strconv.Itoa(b.standard)
		}
	}
	if fifo {
		attributes["FifoQueue"] = "true"
		attributes["ContentBasedDeduplication"] = "false"
		attributes["DeduplicationScope"] = "queue"
		attributes["FifoThroughputLimit"] = "perQueue"
	}
	return attributes
}

// set changes attributes; an empty value removes a document. The caller holds the lock.
func (q *queue) set(attributes map[string]string, now time.Time) {
	for name, value := range attributes {
		if value == "" {
			delete(q.attributes, name)
			continue
		}
		q.attributes[name] = value
	}
	if attributes["KmsMasterKeyId"] != "" {
		q.attributes["SqsManagedSseEnabled"] = "false"
		if q.attributes["KmsDataKeyReusePeriodSeconds"] == "" {
			q.attributes["KmsDataKeyReusePeriodSeconds"] = "300"
		}
	}
	q.modified = now
	q.visibility = q.seconds("VisibilityTimeout")
	q.delay = q.seconds("DelaySeconds")
	q.retention = q.seconds("MessageRetentionPeriod")
	q.wait = q.seconds("ReceiveMessageWaitTimeSeconds")
	q.maxSize, _ = strconv.Atoi(q.attributes["MaximumMessageSize"])
	q.contentDedup = q.attributes["ContentBasedDeduplication"] == "true"
	q.dedupByGroup = q.attributes["DeduplicationScope"] == "messageGroup"
	q.dlq, q.maxReceives = "", 0
	var policy redrive
	if json.Unmarshal([]byte(q.attributes["RedrivePolicy"]), &policy) == nil {
		q.dlq = policy.Target
		q.maxReceives, _ = strconv.Atoi(policy.Max.String())
	}
}

func (q *queue) seconds(name string) time.Duration {
	n, err := strconv.Atoi(q.attributes[name])
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

// describe returns the named attributes, or all for "All".
func (q *queue) describe(names []string, now time.Time) map[string]string {
	q.mu.Lock()
	defer q.mu.Unlock()
	ready, inFlight, delayed := q.count(now)
	all := maps.Clone(q.attributes)
	all["QueueArn"] = q.arn
	all["CreatedTimestamp"] = strconv.FormatInt(q.created.Unix(), 10)
	all["LastModifiedTimestamp"] = strconv.FormatInt(q.modified.Unix(), 10)
	all["ApproximateNumberOfMessages"] = strconv.Itoa(ready)
	all["ApproximateNumberOfMessagesNotVisible"] = strconv.Itoa(inFlight)
	all["ApproximateNumberOfMessagesDelayed"] = strconv.Itoa(delayed)
	if slices.Contains(names, "All") {
		return all
	}
	some := map[string]string{}
	for _, name := range names {
		if value, ok := all[name]; ok {
			some[name] = value
		}
	}
	return some
}
