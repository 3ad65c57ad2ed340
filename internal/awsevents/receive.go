package awsevents

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

const (
	// batchSize and longPoll are the most that SQS allows:
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html
	batchSize = 10
	longPoll  = 20
	// afterFailure is the wait after a failed poll.
	afterFailure = 5 * time.Second
)

// receiveForever makes sure of the queue and polls it until the context ends. When the queue is gone, it makes it anew.
func (l *Listener) receiveForever(ctx context.Context, target awsapi.Target, listening chan<- struct{}) {
	for ctx.Err() == nil {
		url, err := l.ensureQueue(ctx, target)
		if err != nil {
			if ctx.Err() == nil {
				l.log.Error(err, "No events are received", "target", target.String())
			}
			return
		}
		l.log.Info("Receiving events", "target", target.String(), "queue", url)
		select {
		case listening <- struct{}{}:
		default: // a sweep is due already
		}
		polling, stop := context.WithCancel(ctx)
		var workers sync.WaitGroup
		for range l.options.Workers {
			workers.Go(func() {
				defer stop() // one worker that finds the queue gone ends them all
				l.poll(polling, target, url)
			})
		}
		workers.Wait()
		stop()
	}
}

// poll receives until the context ends or the queue is gone.
func (l *Listener) poll(ctx context.Context, target awsapi.Target, url string) {
	client := l.options.Clients.SQS(target)
	for ctx.Err() == nil {
		out, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: aws.String(url), MaxNumberOfMessages: batchSize, WaitTimeSeconds: longPoll,
		})
		if err == nil {
			l.handle(ctx, target, url, out.Messages)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		failure := awsapi.Explain(err)
		l.log.Info("Receiving events failed; trying again", "target", target.String(), "reason", failure.Reason, "message", failure.Message)
		if queueGone(failure.Code) || l.pause(ctx, afterFailure, nil) != nil {
			return
		}
	}
}

// queueGone is true for SQS's answers, of both its protocols, that there is no such queue.
func queueGone(code string) bool {
	return code == "AWS.SimpleQueueService.NonExistentQueue" || code == "QueueDoesNotExist"
}

// handle passes on the events of one batch and then takes the messages off the queue: if the operator dies in between they come
// again, which is harmless.
func (l *Listener) handle(ctx context.Context, target awsapi.Target, url string, messages []types.Message) {
	if len(messages) == 0 {
		return
	}
	entries := make([]types.DeleteMessageBatchRequestEntry, 0, len(messages))
	for i := range messages {
		l.dispatch(target, aws.ToString(messages[i].Body), aws.ToString(messages[i].MessageId))
		entries = append(entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: messages[i].ReceiptHandle})
	}
	if _, err := l.options.Clients.SQS(target).DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: aws.String(url), Entries: entries}); err != nil && ctx.Err() == nil {
		l.log.Info("Events stay on the queue and will come again", "target", target.String(), "message", awsapi.Explain(err).Message)
	}
}

// dispatch passes on one message: to the engine if a stack changed, and to the subscribers.
func (l *Listener) dispatch(target awsapi.Target, body, messageID string) {
	event, err := parseEvent(target, body)
	if err != nil {
		l.metrics.events.WithLabelValues("malformed").Inc()
		l.log.Info("Dropped a message that is no event", "target", target.String(), "message", messageID, "error", err.Error())
		return
	}
	if event.ID != "" && !l.seen.add(event.ID) {
		l.metrics.events.WithLabelValues("duplicate").Inc()
		return
	}
	l.metrics.events.WithLabelValues("received").Inc()
	if !event.Time.IsZero() {
		l.metrics.lag.Observe(max(0, l.options.Clock.Since(event.Time).Seconds()))
	}
	if event.Stack != nil {
		l.options.Engine.Observe(*event.Stack)
	}
	l.publish(event)
}

// recentIDs remembers the identifiers of recent events: EventBridge and SQS deliver at least once.
type recentIDs struct {
	mu    sync.Mutex
	known map[string]bool
	ring  []string
	next  int
}

// rememberedIDs is how many identifiers are remembered.
const rememberedIDs = 4096

func newRecentIDs() *recentIDs {
	return &recentIDs{known: map[string]bool{}, ring: make([]string, rememberedIDs)}
}

// add returns false if the identifier is known.
func (r *recentIDs) add(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[id] {
		return false
	}
	delete(r.known, r.ring[r.next])
	r.ring[r.next] = id
	r.known[id] = true
	r.next = (r.next + 1) % len(r.ring)
	return true
}
