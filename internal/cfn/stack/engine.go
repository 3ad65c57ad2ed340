package stack

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

// Clients provides the engine's AWS clients; *awsapi.Clients implements it.
type Clients interface {
	serviceClients
	ObjectURL(t awsapi.Target, bucket, key string) string
	Waiting(t awsapi.Target, service string) int
	Region(t awsapi.Target) string
}

// serviceClients provides a client of each service.
type serviceClients interface {
	CloudFormation(t awsapi.Target) awsapi.CloudFormation
	CloudControl(t awsapi.Target) awsapi.CloudControl
	S3(t awsapi.Target) awsapi.S3
}

// Options configure an Engine; only Clients is required.
type Options struct {
	Clients Clients
	// Clock defaults to the real one.
	Clock clock.PassiveClock
	// Metrics, if not nil, times the operations of stacks.
	Metrics *Metrics
	// Registry holds the resource schemas; it defaults to all of AWS's.
	Registry *schema.Registry
	// AccountID is the account of targets without a role; empty if unknown.
	AccountID string
	// ManagementCluster identifies the management cluster by the UID of its namespace kube-system.
	// The engine tags every stack with it and does not touch a stack of another management cluster.
	// Empty, as for a local state without a cluster, sets no tag.
	ManagementCluster string
	// TemplateBucket stores templates that are too large for a request; without a bucket such
	// templates stall.
	TemplateBucket string
	// PollInterval is the interval at which a running operation is polled without an event; default
	// 2 minutes.
	PollInterval time.Duration
	// RetryDelay is the delay after the first failed attempt, doubled after each further one;
	// default 15 seconds.
	RetryDelay time.Duration
	// MaxRetryDelay limits the growing delay; default 10 minutes.
	MaxRetryDelay time.Duration
	// SlowRetry is the delay after which the engine retries what it gave up, if the cause of the
	// failure may pass; it doubles after each retry, up to 15 minutes. The default is 1 minute.
	SlowRetry time.Duration
	// DriftPoll is the delay after which a drift detection is polled; it doubles up to three times. The
	// default is 15 seconds.
	DriftPoll time.Duration
	// TemplateMemory limits the bytes of cached templates; default 6 MiB, enough for about 6,000
	// queues.
	TemplateMemory int
}

const (
	defaultPollInterval   = 2 * time.Minute
	defaultRetryDelay     = 15 * time.Second
	defaultMaxRetryDelay  = 10 * time.Minute
	defaultSlowRetry      = time.Minute
	defaultTemplateMemory = 6 << 20
	defaultMaxAttempts    = 3
	// consistency is for how long after an operation DescribeStacks may still return the previous
	// status.
	consistency = 10 * time.Second
	// stalePoll is when to poll again after an answer with the previous status.
	stalePoll = 2 * time.Second
	// minPoll is the minimum delay before a running operation is polled again.
	minPoll = 50 * time.Millisecond
	// maxSteps limits the actions of one visit; most need one or two.
	maxSteps = 8
)

// RetryAnnotation is the annotation whose change retries what failed: any new value, such as a time.
const RetryAnnotation = "aws-operator/retry"

// Engine executes what Decide returns. It is safe for concurrent use, by one goroutine at a time
// for each stack.
type Engine struct {
	options   Options
	journal   journal
	watchlist watchlist
	memory    *memory
	describer describer
	checked   checkedTemplates
	denials   denials
	// inCharge returns the time of the first visit: earlier operations may have progressed without
	// an operator.
	inCharge func() time.Time
}

// New returns an engine.
func New(options Options) *Engine {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Registry == nil {
		options.Registry = schema.Default()
	}
	options.PollInterval = orDefault(options.PollInterval, defaultPollInterval)
	options.RetryDelay = orDefault(options.RetryDelay, defaultRetryDelay)
	options.MaxRetryDelay = orDefault(options.MaxRetryDelay, defaultMaxRetryDelay)
	options.SlowRetry = orDefault(options.SlowRetry, defaultSlowRetry)
	options.DriftPoll = orDefault(options.DriftPoll, defaultDriftPoll)
	options.TemplateMemory = orDefault(options.TemplateMemory, defaultTemplateMemory)
	return &Engine{
		options:   options,
		journal:   journal{entries: map[stackKey]entry{}},
		watchlist: watchlist{stacks: map[string]*watched{}},
		memory:    newMemory(options.TemplateMemory),
		describer: describer{targets: map[awsapi.Target]*batches{}, clients: options.Clients},
		checked:   checkedTemplates{verdicts: map[string]*list.Element{}, order: list.New()},
		denials:   denials{counts: map[stackKey]int{}},
		inCharge:  sync.OnceValue(options.Clock.Now),
	}
}

func orDefault[N int | time.Duration](value, standard N) N {
	if value == 0 {
		return standard
	}
	return value
}

// Ensure converges the stack towards desired by at most one operation and returns its state. It
// never waits for CloudFormation. An error is transient (throttling, network): the Result is valid
// too, and the caller retries with backoff.
func (e *Engine) Ensure(ctx context.Context, target awsapi.Target, desired Desired, record Record) (Result, error) {
	key := stackKey{place: e.place(target), name: desired.Name}
	caller := claimant{tags: digestMap(desired.owner()), salt: desired.Salt}
	record = e.journal.newest(key, caller, record)
	owner := &Owner{Name: desired.Name, StackID: record.StackID, Tags: desired.owner(), AdoptFrom: desired.AdoptFrom}
	if foreign := e.misnamed(target, owner); foreign != nil {
		return foreign.result(record), nil
	}
	printed := desired.Template.Digest() // printing a template costs more than everything else here
	digest := desired.digestWith(printed)
	if e.untouched(&desired, digest, &record) {
		return e.unchanged(target, &desired, digest, record), nil
	}
	v := &visit{
		engine: e, target: target, key: key, caller: caller, owner: owner, goal: Present,
		desired: desired, digest: digest, before: record, record: record,
	}
	v.record.Deleting = false
	if desired.Revert == nil { // the same drift may occur again
		v.record.Reverted, v.record.RevertFailure = "", ""
	}
	e.inCharge()
	v.record.retry(desired.Retry)
	v.record.retryIfDue(v.now())
	if problems := e.check(desired.Template, printed); problems != nil {
		return v.finish(v.stall(reasonInvalid, "The template is invalid: "+problems.Sentence())), nil
	}
	result, err := v.run(ctx)
	return v.finish(result), err
}

// Delete advances the deletion of the stack by at most one operation and returns its state. It
// retries without limit and reports what refuses.
func (e *Engine) Delete(ctx context.Context, target awsapi.Target, name string, record Record, options DeleteOptions) (Result, error) {
	key := stackKey{place: e.place(target), name: name}
	caller := claimant{salt: options.Salt}
	record = e.journal.newest(key, caller, record)
	owner := &Owner{Name: name, StackID: record.StackID, Tags: options.OwnerTags, AdoptFrom: options.AdoptFrom}
	if foreign := e.misnamed(target, owner); foreign != nil {
		return foreign.result(record), nil
	}
	v := &visit{
		engine: e, target: target, key: key, caller: caller, owner: owner, goal: Absent,
		desired: Desired{Name: name}, deletion: options, before: record, record: record,
	}
	if !v.record.Deleting {
		v.record.Deleting = true
		v.record.DeleteAttempts, v.record.RollbackAttempts, v.record.NextAttempt = 0, 0, nil
	}
	if made, ok := e.journal.recent(key, owner.digest(), v.now()); ok && v.record.StackID == "" { // The record was lost.
		v.record.StackID, v.record.Status, v.record.StartedAt = made.id, string(types.StackStatusCreateInProgress), &made.at
	}
	result, err := v.run(ctx)
	return v.finish(result), err
}

// Observe reports to the engine that a stack changed; the next Ensure or Delete reads it.
func (e *Engine) Observe(event Event) {
	e.watchlist.event(event, e.place(event.Target))
}

// retry makes the engine send again what failed, if a user asks for it.
func (r *Record) retry(asked string) {
	if asked == r.Retried {
		return
	}
	r.Retried = asked
	if asked != "" {
		r.forgetFailure()
	}
}

// untouched reports whether there is nothing to do: the record says that the desired digest is
// applied, and no change was observed.
func (e *Engine) untouched(desired *Desired, digest string, record *Record) bool {
	if record.Digest != digest || record.PendingDigest != "" || record.FailedDigest != "" || record.Retried != desired.Retry ||
		record.ChangeSet != "" || record.OutputsDigest == "" || desired.Refresh || record.Deleting ||
		record.Reverted != desired.revertKey() || desired.TerminationProtection && !record.TerminationProtection ||
		!stable(types.StackStatus(record.Status)) {
		return false
	}
	_, changed := e.watchlist.changed(record)
	return !changed
}

// unchanged is the result of a visit with nothing to do. It caches the template, so that the next
// edit needs no GetTemplate, if a read since the start has confirmed the record.
func (e *Engine) unchanged(target awsapi.Target, desired *Desired, digest string, record Record) Result {
	e.watchlist.recorded(e.place(target), &record)
	key := memoryKey{stackID: record.StackID}
	if e.watchlist.confirmed(&record) && !e.memory.has(key, digest) {
		e.memory.put(key, digest, desired.side())
	}
	return Result{State: Ready, Reason: reasonReady, Message: readyMessage(&record), Record: record}
}

func (d *Desired) side() diff.Side {
	return diff.Side{Template: d.Template, Parameters: d.Parameters, Tags: d.Tags}
}

func (d *Desired) maxAttempts() int {
	if d.MaxAttempts > 0 {
		return d.MaxAttempts
	}
	return defaultMaxAttempts
}

// denials counts consecutive denials by AWS for a stack, for the growing delay.
type denials struct {
	mu     sync.Mutex
	counts map[stackKey]int
}

func (d *denials) add(key stackKey) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts[key]++
	return d.counts[key]
}

func (d *denials) clear(key stackKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.counts, key)
}
