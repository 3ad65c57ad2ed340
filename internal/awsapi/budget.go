package awsapi

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Budget is a token bucket: it limits the calls that this operator makes to one account, region and
// service.
type Budget struct {
	// PerSecond is the sustained rate; 0 or less means unlimited.
	PerSecond float64
	// Burst is how many calls may be made at once after an idle time; less than 1 means 1.
	Burst int
}

// Unlimited is the budget without a limit.
var Unlimited = Budget{}

// AnyService is the key of the budget for all services that have no entry.
const AnyService = "*"

// DefaultBudgets returns the budgets that apply unless Options set others.
//
// AWS does not publish CloudFormation's request rates, only that calls beyond them fail with "Rate
// exceeded" (https://repost.aws/knowledge-center/cloudformation-rate-exceeded-error). In practice
// DescribeStacks is throttled from about ten calls a second, and other tools share the account, so
// the operator uses half of that and a burst. STS allows 600 calls a second
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html), standard queues a
// nearly unlimited number
// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/standard-queues.html),
// and S3 3,500 writes a second and prefix
// (https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html). Route 53
// allows 10 calls a second and 50 at once to all clients of an account, of which the operator uses
// half (https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/throttling-api-requests.html).
// Services without an entry get the limits that EC2 documents for reads: 20 a second, 100 at once
// (https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html).
func DefaultBudgets() map[string]Budget {
	return map[string]Budget{
		"cloudformation": {PerSecond: 5, Burst: 20},
		"sts":            {PerSecond: 100, Burst: 100},
		"sqs":            Unlimited,
		"s3":             Unlimited,
		"route53":        {PerSecond: 5, Burst: 25},
		AnyService:       {PerSecond: 20, Burst: 100},
	}
}

// ParseBudgets parses the value of a flag: "unlimited", or a list such as
// "cloudformation=5/20,sqs=unlimited,*=50/100", with a rate per second and a burst for each
// service. It returns an error for any other value.
func ParseBudgets(text string) (map[string]Budget, error) {
	budgets := map[string]Budget{}
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		service, value, found := strings.Cut(item, "=")
		if !found {
			service, value = AnyService, item
		}
		budget, err := parseBudget(value)
		if err == nil && service == "" {
			err = errors.New("it names no service")
		}
		if err != nil {
			return nil, fmt.Errorf("budget %q: %w", item, err)
		}
		budgets[service] = budget
	}
	return budgets, nil
}

// maxPerSecond bounds a rate, in calls a second: a budget of more limits nothing.
const maxPerSecond = 1e6

func parseBudget(text string) (Budget, error) {
	if text == "unlimited" {
		return Unlimited, nil
	}
	perSecond, burst, hasBurst := strings.Cut(text, "/")
	budget := Budget{}
	var err error
	budget.PerSecond, err = strconv.ParseFloat(perSecond, 64)
	if err != nil || math.IsNaN(budget.PerSecond) || budget.PerSecond <= 0 || budget.PerSecond > maxPerSecond {
		return Budget{}, fmt.Errorf("want RATE/BURST or unlimited, have %q", text)
	}
	budget.Burst = max(1, int(budget.PerSecond))
	if hasBurst {
		if budget.Burst, err = strconv.Atoi(burst); err != nil || budget.Burst < 1 {
			return Budget{}, fmt.Errorf("the burst must be a whole number of at least 1, have %q", burst)
		}
	}
	return budget, nil
}

// budgetFor returns the budget of a service: the user's for the service, then the user's for all,
// then the default.
func budgetFor(overrides map[string]Budget, service string) Budget {
	for _, budgets := range []map[string]Budget{overrides, DefaultBudgets()} {
		for _, key := range []string{service, AnyService} {
			if budget, ok := budgets[key]; ok {
				return budget
			}
		}
	}
	return Unlimited
}

// bucket hands out the tokens of one account, region and service. Calls that change existing
// resources go before calls that create or read: an edit must not queue behind a thousand
// creations.
type bucket struct {
	budget  Budget
	limiter *rate.Limiter // nil means unlimited

	mu      sync.Mutex
	queue   waiters
	next    uint64
	pumping bool
	waiting atomic.Int64
}

func newBucket(budget Budget) *bucket {
	if budget.PerSecond <= 0 {
		return &bucket{}
	}
	return &bucket{budget: budget, limiter: rate.NewLimiter(rate.Limit(budget.PerSecond), max(1, budget.Burst))}
}

// share leaves the bucket one of several equal shares of its budget.
func (b *bucket) share(shares int) {
	if b.limiter == nil {
		return
	}
	b.limiter.SetLimit(rate.Limit(b.budget.PerSecond / float64(shares)))
	b.limiter.SetBurst(max(1, b.budget.Burst/shares))
}

// take returns when the call may be made, or the context's error.
func (b *bucket) take(ctx context.Context, urgent bool) error {
	if b.limiter == nil {
		return nil
	}
	w := b.enqueue(urgent)
	if w == nil {
		return nil
	}
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		b.mu.Lock()
		defer b.mu.Unlock()
		w.abandoned = true
		return context.Cause(ctx)
	}
}

// enqueue returns nil if a token was free, or the place in the queue.
func (b *bucket) enqueue(urgent bool) *waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queue.Len() == 0 && b.limiter.Allow() {
		return nil
	}
	b.next++
	w := &waiter{urgent: urgent, order: b.next, ready: make(chan struct{})}
	heap.Push(&b.queue, w)
	if !b.pumping {
		b.pumping = true
		go b.pump()
	}
	return w
}

// pump gives each token, as it becomes free, to the first waiter. It ends when the queue is empty.
func (b *bucket) pump() {
	for {
		b.mu.Lock()
		for b.queue.Len() > 0 && b.queue[0].abandoned {
			heap.Pop(&b.queue)
		}
		if b.queue.Len() == 0 {
			b.pumping = false
			b.mu.Unlock()
			return
		}
		if b.limiter.Allow() {
			if w, ok := heap.Pop(&b.queue).(*waiter); ok {
				close(w.ready)
			}
			b.mu.Unlock()
			continue
		}
		b.mu.Unlock()
		reservation := b.limiter.Reserve()
		delay := reservation.Delay()
		reservation.Cancel()
		<-time.After(delay)
	}
}

// waiter is one call in a bucket's queue.
type waiter struct {
	urgent    bool
	order     uint64
	ready     chan struct{}
	abandoned bool
}

// waiters is a heap: urgent ones first, then first in, first out.
type waiters []*waiter

func (w waiters) Len() int      { return len(w) }
func (w waiters) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w waiters) Less(i, j int) bool {
	if w[i].urgent != w[j].urgent {
		return w[i].urgent
	}
	return w[i].order < w[j].order
}

// Push implements heap.Interface.
func (w *waiters) Push(x any) {
	if one, ok := x.(*waiter); ok {
		*w = append(*w, one)
	}
}

// Pop implements heap.Interface.
func (w *waiters) Pop() any {
	last := len(*w) - 1
	one := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	return one
}

// isUrgent reports whether an operation changes existing resources.
func isUrgent(operation string) bool {
	for _, prefix := range []string{"Update", "Delete", "Continue", "Rollback", "Complete", "Record", "Signal", "AssumeRole"} {
		if strings.HasPrefix(operation, prefix) {
			return true
		}
	}
	return false
}
