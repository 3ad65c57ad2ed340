package awsevents

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

const (
	// batchSize and longPoll are the maximums of SQS:
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html
	batchSize = 10
	longPoll  = 20
	// afterFailure is the delay after a failed poll.
	afterFailure = 5 * time.Second
	// gather is the delay between a poll that returned less than a full batch and the next one. It
	// does not delay a single event; in a burst, it halves the number of calls several times.
	gather = 50 * time.Millisecond
	// removeAfter is how long a handled message may wait to be deleted in a batch with others. It
	// is far below the queue's visibility timeout.
	removeAfter = time.Second
)

// receiveForever ensures and polls the queue until the context ends. If the queue does not exist,
// it re-creates the queue. If the queue is missing again immediately although its stack exists,
// another client deleted the queue outside CloudFormation, and the attempts become rare.
func (l *Listener) receiveForever(ctx context.Context, target awsapi.Target, receiving chan<- struct{}) {
	var wait time.Duration // before the next attempt
	tries := 0             // consecutive attempts that found the queue missing immediately
	for l.pause(ctx, wait, nil) == nil {
		url, err := l.ensureQueue(ctx, target)
		if err != nil {
			if ctx.Err() == nil {
				l.log.Error(err, "Receiving no events", "target", target.String())
			}
			return
		}
		l.log.Info("Receiving events", "target", target.String(), "queue", url)
		select {
		case receiving <- struct{}{}:
		default: // a sweep is due already
		}
		began := l.options.Clock.Now()
		l.receive(ctx, target, url)
		if l.options.Clock.Since(began) >= brokenPoll || ctx.Err() != nil {
			wait, tries = 0, 0
			continue
		}
		if tries++; tries == 1 {
			continue
		}
		if tries > 2 { // a new queue may not be visible everywhere yet
			l.log.Error(
				errQueueGone,
				"Delete the stack of the events, so that the operator re-creates it; until then stacks are only polled",
				"target",
				target.String(),
				"stack",
				ShardStackName(l.options.ClusterName, l.options.Shard),
				"queue",
				url,
			)
		}
		wait = min(max(lastPoll, 2*wait), brokenPoll)
	}
}

// errQueueGone is the reason if the stack exists but SQS reports that its queue does not.
var errQueueGone = errors.New("the queue of the events does not exist although its stack does")

// receive runs the workers until the context ends or the queue is deleted.
func (l *Listener) receive(ctx context.Context, target awsapi.Target, url string) {
	polling, stop := context.WithCancel(ctx)
	dealtWith := make(chan string, l.options.Workers*batchSize)
	var workers, remover sync.WaitGroup
	remover.Go(func() { l.remove(ctx, target, url, dealtWith) })
	for range l.options.Workers {
		workers.Go(func() {
			defer stop() // one worker that finds the queue deleted stops them all
			l.poll(polling, target, url, dealtWith)
		})
	}
	workers.Wait()
	stop()
	close(dealtWith)
	remover.Wait()
}

// poll receives until the context ends or the queue is deleted.
func (l *Listener) poll(ctx context.Context, target awsapi.Target, url string, dealtWith chan<- string) {
	client := l.options.Clients.SQS(target)
	for ctx.Err() == nil {
		out, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: aws.String(url), MaxNumberOfMessages: batchSize, WaitTimeSeconds: longPoll,
		})
		if err == nil {
			l.handle(target, out.Messages, dealtWith)
			if n := len(out.Messages); n > 0 && n < batchSize {
				_ = l.pause(ctx, gather, nil) // the loop checks the context
			}
			continue
		}
		if ctx.Err() != nil {
			return
		}
		failure := awsapi.Explain(err)
		l.log.Info("Receiving events failed; retrying", "target", target.String(), "reason", failure.Reason, "message", failure.Message)
		if queueGone(failure.Code) || l.pause(ctx, afterFailure, nil) != nil {
			return
		}
	}
}

// queueGone reports whether an error code of SQS, in either protocol, means that the queue does not
// exist.
func queueGone(code string) bool {
	return code == "AWS.SimpleQueueService.NonExistentQueue" || code == "QueueDoesNotExist"
}

// handle publishes the events of one batch, and only then lets the messages be deleted. If the
// operator dies in between they are delivered again, which is harmless.
func (l *Listener) handle(target awsapi.Target, messages []types.Message, dealtWith chan<- string) {
	for i := range messages {
		l.dispatch(target, aws.ToString(messages[i].Body), aws.ToString(messages[i].MessageId))
		dealtWith <- aws.ToString(messages[i].ReceiptHandle)
	}
}

// remove deletes messages from the queue in batches until the channel is closed.
func (l *Listener) remove(ctx context.Context, target awsapi.Target, url string, dealtWith <-chan string) {
	var batch []string
	due := l.options.Clock.NewTimer(removeAfter)
	defer due.Stop()
	for {
		select {
		case handle, more := <-dealtWith:
			if !more {
				l.removeBatch(ctx, target, url, batch)
				return
			}
			if batch = append(batch, handle); len(batch) == 1 {
				due.Reset(removeAfter)
			}
			if len(batch) < batchSize {
				continue
			}
		case <-due.C():
		}
		l.removeBatch(ctx, target, url, batch)
		batch = nil
	}
}

// removeBatch deletes a batch; messages that remain are delivered again and then ignored as
// duplicates.
func (l *Listener) removeBatch(ctx context.Context, target awsapi.Target, url string, handles []string) {
	if len(handles) == 0 || ctx.Err() != nil {
		return
	}
	entries := make([]types.DeleteMessageBatchRequestEntry, len(handles))
	for i, handle := range handles {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(handle)}
	}
	if _, err := l.options.Clients.SQS(target).DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{
		QueueUrl: aws.String(url), Entries: entries,
	}); err != nil &&
		ctx.Err() == nil {
		l.log.Info(
			"Events remain in the queue and will be delivered again", "target", target.String(), "message", awsapi.Explain(err).Message,
		)
	}
}

// dispatch passes on one message: to the engine if a stack changed, and to the subscribers.
func (l *Listener) dispatch(target awsapi.Target, body, messageID string) {
	event, err := parseEvent(target, body)
	if err != nil {
		l.metrics.events.WithLabelValues("malformed").Inc()
		l.log.Info("Dropped a message that is not an event", "target", target.String(), "message", messageID, "error", err.Error())
		return
	}
	if !l.isFrom(target, &event) {
		l.metrics.events.WithLabelValues("foreign").Inc()
		l.log.Info("Dropped an event about another account or region than that of the queue", "target", target.String(), "message", messageID,
			"account", event.Account, "region", event.Region)
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

// isFrom reports whether an event is about the account and region of the queue. The owner of an
// account can write anything into its queue, but must not reach what is in other accounts.
func (l *Listener) isFrom(target awsapi.Target, event *Event) bool {
	at := l.Place(target)
	if at.Account == "" {
		return true // the operator does not know its own account, and has no other
	}
	if event.Stack != nil && placeOfStack(event.Stack.StackID) != at {
		return false
	}
	return awsapi.Place{Account: event.Account, Region: event.Region} == at
}

// recentIDs caches the identifiers of recent events: EventBridge and SQS deliver at least once.
type recentIDs struct {
	mu    sync.Mutex
	known map[string]bool
	ring  []string
	next  int
}

// rememberedIDs is the number of cached identifiers.
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
