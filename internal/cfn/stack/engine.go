package stack

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

// Clients gives the engine its AWS clients; *awsapi.Clients does.
type Clients interface {
	CloudFormation(awsapi.Target) awsapi.CloudFormation
	S3(awsapi.Target) awsapi.S3
	ObjectURL(t awsapi.Target, bucket, key string) string
	Waiting(t awsapi.Target, service string) int
}

// Options configure an Engine; only Clients is required.
type Options struct {
	Clients Clients
	// Clock defaults to the real one.
	Clock clock.PassiveClock
	// Registry holds the resource schemas; it defaults to all of AWS's.
	Registry *schema.Registry
	// Logger defaults to silence.
	Logger logr.Logger
	// TemplateBucket holds templates that are too big for a request; without it such templates stall.
	TemplateBucket string
	// PollInterval is after how long a running operation is looked at without an event; default 2 minutes.
	PollInterval time.Duration
	// RetryDelay is the wait after the first failed attempt, doubled after each further one; default 15 seconds.
	RetryDelay time.Duration
	// MaxRetryDelay bounds the growing delay; default 10 minutes.
	MaxRetryDelay time.Duration
	// TemplateMemory bounds the bytes of remembered templates; default 16 MiB.
	TemplateMemory int
}

// Engine carries out what Decide says. It is safe for use by many goroutines, one at a time for each stack.
type Engine struct {
	options Options
}

// New returns an engine.
func New(options Options) *Engine {
	return &Engine{options: options}
}

// Ensure brings the stack one step nearer to desired and says where it stands. It never waits for CloudFormation. The error is
// transient (throttling, network): Result is filled in beside it, and the caller tries again with backoff.
func (e *Engine) Ensure(ctx context.Context, target awsapi.Target, desired Desired, record Record) (Result, error) {
	return Result{Record: record}, errors.ErrUnsupported
}

// Delete brings the stack one step nearer to being gone and says where it stands. It never gives up silently.
func (e *Engine) Delete(ctx context.Context, target awsapi.Target, name string, record Record, options DeleteOptions) (Result, error) {
	return Result{Record: record}, errors.ErrUnsupported
}

// Observe tells the engine that a stack changed; the next Ensure or Delete looks at it.
func (e *Engine) Observe(event Event) {
}
