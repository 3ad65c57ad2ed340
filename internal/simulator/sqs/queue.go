package sqs

import (
	"container/heap"
	"container/list"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// dedupWindow is how long a FIFO queue remembers a deduplication ID.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html
const dedupWindow = 5 * time.Minute

// firstSequence makes sequence numbers have twenty digits, as in AWS.
const firstSequence = 849496460467696128

// message is one message in a queue.
type message struct {
	id, body, md5 string
	attributes    map[string]types.MessageAttributeValue
	attributesMD5 string
	system        map[string]string
	sender        string
	group, dedup  string
	sequence      string
	source        string // the queue that moved it here as a dead letter
	sent, first   time.Time
	visible       time.Time // when it can be received
	receives      int
	receipt       string // of the last receive; empty when it is not in flight
	deleted       bool
	element       *list.Element // in ready (standard) or in order (FIFO)
	heapIndex     int
}

// queue is one queue with its messages. Standard queues keep receivable messages in a list and the
// others in a heap by the time when they become receivable; FIFO queues keep all in one ordered
// list.
type queue struct {
	name, arn string
	fifo      bool
	created   time.Time

	mu         sync.Mutex
	attributes map[string]string
	tags       map[string]string
	modified   time.Time
	purged     time.Time
	deleted    bool

	// Parsed from the attributes.
	visibility, delay, retention, wait time.Duration
	maxSize, maxReceives               int
	contentDedup, dedupByGroup         bool
	dlq                                string

	ready    *list.List
	waiting  waitingHeap
	receipts map[string]*message
	dedups   map[string]dedup
	order    []dedupExpiry
	sequence uint64
	changed  chan struct{} // closed when a message may be receivable
}

type dedup struct {
	message *message
	until   time.Time
}

type dedupExpiry struct {
	key   string
	until time.Time
}

func newQueue(name, arn string, fifo bool, now time.Time) *queue {
	return &queue{
		name: name, arn: arn, fifo: fifo, created: now, modified: now, tags: map[string]string{},
		ready: list.New(), receipts: map[string]*message{}, dedups: map[string]dedup{}, changed: make(chan struct{}),
	}
}

// notify makes all waiting receivers poll again. The caller holds the lock.
func (q *queue) notify() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// put adds a message and returns it, or the earlier one that it duplicates.
func (q *queue) put(m *message, delay time.Duration, now time.Time) *message {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fifo {
		if earlier := q.duplicate(m, now); earlier != nil {
			return earlier
		}
		q.sequence++
		m.sequence = fmt.Sprintf("18%018d", firstSequence+q.sequence)
	}
	m.visible = now.Add(delay)
	q.add(m, now)
	return m
}

// add adds a message as waiting or ready. The caller holds the lock.
func (q *queue) add(m *message, now time.Time) {
	switch {
	case q.fifo:
		m.element = q.ready.PushBack(m)
		q.notify()
	case m.visible.After(now):
		heap.Push(&q.waiting, m)
		q.notify() // a receiver may have to poll earlier now
	default:
		m.element = q.ready.PushBack(m)
		q.notify()
	}
}

// duplicate returns the message that was sent with the same deduplication ID in the last five
// minutes; if there is none, it records this message.
func (q *queue) duplicate(m *message, now time.Time) *message {
	for len(q.order) > 0 && !q.order[0].until.After(now) {
		if d, ok := q.dedups[q.order[0].key]; ok && !d.until.After(now) {
			delete(q.dedups, q.order[0].key)
		}
		q.order = q.order[1:]
	}
	key := m.dedup
	if q.dedupByGroup {
		key = m.group + "\x00" + m.dedup
	}
	if d, ok := q.dedups[key]; ok {
		return d.message
	}
	until := now.Add(dedupWindow)
	q.dedups[key] = dedup{m, until}
	q.order = append(q.order, dedupExpiry{key, until})
	return nil
}

// take receives up to n messages. It also returns the dead letters, which the caller must put into
// their queue without holding this queue's lock. If there are no messages, again is the time of the
// next poll.
func (q *queue) take(n int, visibility time.Duration, now time.Time) (got, dead []*message, again time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance(now)
	if q.fifo {
		got, dead, again = q.takeFIFO(n, now)
	} else {
		got, dead = q.takeStandard(n)
		if len(q.waiting) > 0 {
			again = q.waiting[0].visible
		}
	}
	for _, m := range got {
		m.receives++
		if m.first.IsZero() {
			m.first = now
		}
		delete(q.receipts, m.receipt)
		m.receipt = newReceipt()
		q.receipts[m.receipt] = m
		m.visible = now.Add(visibility)
		if !q.fifo {
			heap.Push(&q.waiting, m)
		}
	}
	return got, dead, again
}

// advance moves due messages to ready and drops expired ones.
func (q *queue) advance(now time.Time) {
	for len(q.waiting) > 0 && !q.waiting[0].visible.After(now) {
		m, ok := heap.Pop(&q.waiting).(*message)
		if ok {
			m.element = q.ready.PushBack(m)
		}
	}
	oldest := now.Add(-q.retention)
	for e := q.ready.Front(); e != nil; e = q.ready.Front() {
		m := of(e)
		if m.sent.After(oldest) {
			break
		}
		q.drop(m)
	}
}

func of(e *list.Element) *message {
	m, _ := e.Value.(*message)
	return m
}

func (q *queue) takeStandard(n int) (got, dead []*message) {
	for e := q.ready.Front(); e != nil && len(got) < n; e = q.ready.Front() {
		m := of(e)
		q.ready.Remove(e)
		m.element = nil
		if q.isDead(m) {
			dead = append(dead, m)
			delete(q.receipts, m.receipt)
			continue
		}
		got = append(got, m)
	}
	return got, dead
}

// takeFIFO receives messages in order. It skips groups with a message in flight or delayed.
func (q *queue) takeFIFO(n int, now time.Time) (got, dead []*message, again time.Time) {
	blocked := map[string]bool{}
	var next *list.Element
	for e := q.ready.Front(); e != nil && len(got) < n; e = next {
		next = e.Next()
		m := of(e)
		if blocked[m.group] {
			continue
		}
		if m.visible.After(now) {
			blocked[m.group] = true
			if again.IsZero() || m.visible.Before(again) {
				again = m.visible
			}
			continue
		}
		if q.isDead(m) {
			q.drop(m)
			dead = append(dead, m)
			continue
		}
		got = append(got, m)
	}
	return got, dead, again
}

func (q *queue) isDead(m *message) bool {
	return q.dlq != "" && q.maxReceives > 0 && m.receives >= q.maxReceives
}

// drop removes a message. The caller holds the lock.
func (q *queue) drop(m *message) {
	if m.element != nil {
		q.ready.Remove(m.element)
		m.element = nil
	} else if !q.fifo && !m.deleted {
		heap.Remove(&q.waiting, m.heapIndex)
	}
	m.deleted = true
	delete(q.receipts, m.receipt)
}

// count returns the number of messages that are receivable, in flight and delayed.
func (q *queue) count(now time.Time) (ready, inFlight, delayed int) {
	q.advance(now)
	tally := func(m *message) {
		switch {
		case !m.visible.After(now):
			ready++
		case m.receives > 0:
			inFlight++
		default:
			delayed++
		}
	}
	for e := q.ready.Front(); e != nil; e = e.Next() {
		tally(of(e))
	}
	for _, m := range q.waiting {
		tally(m)
	}
	return ready, inFlight, delayed
}

// release changes the time when a message in flight becomes receivable.
func (q *queue) release(m *message, visible, now time.Time) {
	m.visible = visible
	if q.fifo {
		q.notify()
		return
	}
	heap.Fix(&q.waiting, m.heapIndex)
	if !visible.After(now) {
		q.advance(now)
	}
	q.notify()
}

// purge removes all messages.
func (q *queue) purge(now time.Time) {
	q.purged = now
	q.ready.Init()
	q.waiting = nil
	q.receipts = map[string]*message{}
}

// waitingHeap orders messages by the time when they become receivable.
type waitingHeap []*message

func (h waitingHeap) Len() int           { return len(h) }
func (h waitingHeap) Less(i, j int) bool { return h[i].visible.Before(h[j].visible) }
func (h waitingHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapIndex, h[j].heapIndex = i, j
}

// Push adds a message at the end.
func (h *waitingHeap) Push(x any) {
	m, ok := x.(*message)
	if !ok {
		return
	}
	m.heapIndex = len(*h)
	*h = append(*h, m)
}

// Pop removes the last message.
func (h *waitingHeap) Pop() any {
	old := *h
	m := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return m
}
