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

// Clients gives the engine its AWS clients; *awsapi.Clients does.
type Clients interface {
	CloudFormation(t awsapi.Target) awsapi.CloudFormation
	S3(t awsapi.Target) awsapi.S3
	ObjectURL(t awsapi.Target, bucket, key string) string
	Waiting(t awsapi.Target, service string) int
	Region(t awsapi.Target) string
}

// Options configure an Engine; only Clients is required.
type Options struct {
	Clients Clients
	// Clock defaults to the real one.
	Clock clock.PassiveClock
	// Registry holds the resource schemas; it defaults to all of AWS's.
	Registry *schema.Registry
	// AccountID is the account of targets without a role; empty is not known.
	AccountID string
	// ManagementCluster identifies the management cluster, by the UID of its namespace kube-system. It is noted on every stack, and a
	// stack of another one is not touched. Empty, as with a state that is no cluster's, notes nothing.
	ManagementCluster string
	// TemplateBucket holds templates that are too big for a request; without it such templates stall.
	TemplateBucket string
	// PollInterval is after how long a running operation is looked at without an event; default 2 minutes.
	PollInterval time.Duration
	// RetryDelay is the wait after the first failed attempt, doubled after each further one; default 15 seconds.
	RetryDelay time.Duration
	// MaxRetryDelay bounds the growing delay; default 10 minutes.
	MaxRetryDelay time.Duration
	// TemplateMemory bounds the bytes of remembered templates; default 6 MiB, those of some 6,000 queues.
	TemplateMemory int
}

const (
	defaultPollInterval   = 2 * time.Minute
	defaultRetryDelay     = 15 * time.Second
	defaultMaxRetryDelay  = 10 * time.Minute
	defaultTemplateMemory = 6 << 20
	defaultMaxAttempts    = 3
	// consistency is for how long after an operation was sent a look may still show the status from before.
	consistency = 10 * time.Second
	// staleLook is when to look again after a look that showed the status from before.
	staleLook = 2 * time.Second
	// soonestLook bounds from below when to look at a running operation again.
	soonestLook = 50 * time.Millisecond
	// maxSteps bounds the actions of one visit; most need one or two.
	maxSteps = 8
)

// Engine carries out what Decide says. It is safe for use by many goroutines, one at a time for each stack.
type Engine struct {
	options   Options
	journal   journal
	watchlist watchlist
	memory    *memory
	describer describer
	checked   checkedTemplates
	denials   denials
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
	options.TemplateMemory = orDefault(options.TemplateMemory, defaultTemplateMemory)
	return &Engine{
		options:   options,
		journal:   journal{entries: map[stackKey]entry{}},
		watchlist: watchlist{stacks: map[string]*watched{}},
		memory:    newMemory(options.TemplateMemory),
		describer: describer{targets: map[awsapi.Target]*batches{}, clients: options.Clients},
		checked:   checkedTemplates{verdicts: map[string]*list.Element{}, order: list.New()},
		denials:   denials{counts: map[stackKey]int{}},
	}
}

func orDefault[N int | time.Duration](value, standard N) N {
	if value == 0 {
		return standard
	}
	return value
}

// Ensure brings the stack one step nearer to desired and says where it stands. It never waits for CloudFormation. The error is
// transient (throttling, network): Result is filled in beside it, and the caller tries again with backoff.
func (e *Engine) Ensure(ctx context.Context, target awsapi.Target, desired Desired, record Record) (Result, error) {
	key := stackKey{target: target, name: desired.Name}
	caller := claimant{tags: digestMap(desired.owner()), salt: desired.Salt}
	record = e.journal.newest(key, caller, record)
	owner := &Owner{Name: desired.Name, StackID: record.StackID, Tags: desired.owner(), AdoptFrom: desired.AdoptFrom}
	if foreign := e.misnamed(target, owner); foreign != nil {
		return foreign.result(record), nil
	}
	printed := desired.Template.Digest() // Printing a template costs more than all else here.
	digest := desired.digestWith(printed)
	if e.untouched(&desired, digest, &record) {
		return e.unchanged(target, &desired, digest, record), nil
	}
	v := &visit{
		engine: e, target: target, key: key, caller: caller, owner: owner, goal: Present,
		desired: desired, digest: digest, before: record, record: record,
	}
	v.record.Deleting = false
	if problems := e.check(desired.Template, printed); problems != nil {
		return v.finish(v.stall(reasonInvalid, "The template must be corrected: "+problems.Sentence())), nil
	}
	result, err := v.run(ctx)
	return v.finish(result), err
}

// Delete brings the stack one step nearer to being gone and says where it stands. It never gives up silently.
func (e *Engine) Delete(ctx context.Context, target awsapi.Target, name string, record Record, options DeleteOptions) (Result, error) {
	key := stackKey{target: target, name: name}
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
	result, err := v.run(ctx)
	return v.finish(result), err
}

// Observe tells the engine that a stack changed; the next Ensure or Delete looks at it.
func (e *Engine) Observe(event Event) {
	e.watchlist.event(event)
}

// untouched is true when nothing needs to be done: the record says that what is desired is applied, and nobody saw a change.
func (e *Engine) untouched(desired *Desired, digest string, record *Record) bool {
	if record.Digest != digest || record.PendingDigest != "" || record.ChangeSet != "" || record.OutputsDigest == "" || desired.Refresh ||
		record.Deleting || desired.TerminationProtection && !record.TerminationProtection ||
		!stable(types.StackStatus(record.Status)) {
		return false
	}
	_, changed := e.watchlist.changed(record)
	return !changed
}

// unchanged is the result of a visit that found nothing to do. It remembers the template so that the next edit needs no GetTemplate,
// if somebody has seen since the start that the record is true.
func (e *Engine) unchanged(target awsapi.Target, desired *Desired, digest string, record Record) Result {
	e.watchlist.recorded(target, &record)
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

// denials counts, for the growing delay, how often in a row AWS denied something for a stack.
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
