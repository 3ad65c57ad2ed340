package cloudformation

import (
	"context"
	"sync"
	"time"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// Operations on resources, as the latency function and fault rules name them.
const (
	OpCreate = "Create"
	OpUpdate = "Update"
	OpDelete = "Delete"
	OpRead   = "Read"
	// OpSnapshot keeps a resource before it is deleted.
	OpSnapshot = "Snapshot"
)

// Options say what an [Engine] works with.
type Options struct {
	// Env gives the clock and the partition.
	Env *resource.Env
	// Providers make the resources of the types that have a service behind
	// them, by CloudFormation type. Every other type is simulated from its
	// schema.
	Providers map[string]resource.Provider
	// Registry holds the resource schemas; [schema.Default] when nil.
	Registry *schema.Registry
	// Faults are consulted before each operation on a resource: rules with
	// Service "cloudformation", Operation [OpCreate], [OpUpdate], [OpDelete],
	// [OpRead] or [OpSnapshot], the ResourceType and, as Name, the logical ID. Nil
	// means none.
	Faults *fault.Injector
	// Policies limit what CloudFormation may do in the name of whoever began an
	// operation: one action for each operation on a resource. Nil means anything.
	Policies *access.Policies
	// Publish sends an event to EventBridge's default bus. Nil means nowhere.
	Publish func(ctx context.Context, account, region, source, detailType string, resources []string, detail any)
	// Notify publishes to an SNS topic that a stack names in NotificationARNs.
	// Nil means nowhere.
	Notify func(ctx context.Context, account, region, topicARN, subject, message string) error
	// FetchS3 reads an object for TemplateURL, StackPolicyURL and
	// AWS::Include. Nil refuses them.
	FetchS3 func(ctx context.Context, bucket, key string) ([]byte, error)
	// SSMParameter reads a parameter of the Parameter Store, for parameters of
	// type AWS::SSM::Parameter::… and for {{resolve:ssm:…}}; a version follows the
	// name after a colon. Nil refuses them.
	SSMParameter func(ctx context.Context, account, region, name string) (value string, err error)
	// Latency says how long an operation on a resource of a type takes. Nil
	// means no time at all.
	Latency func(resourceType, operation string) time.Duration
}

// Engine holds the stacks of all accounts and regions and moves them.
type Engine struct {
	options  Options
	registry *schema.Registry
	queue    queue
	spaces   sync.Map // place → *space
	backing  *simulated.Store
	handles  sync.Map // wait condition handle path → *stack
	parsed   parsedCache
}

// place is an account and a region.
type place struct{ account, region string }

// New returns an engine without stacks.
func New(options Options) *Engine {
	registry := options.Registry
	if registry == nil {
		registry = schema.Default()
	}
	return &Engine{
		options:  options,
		registry: registry,
		backing:  simulated.NewStore(registry),
	}
}

// space returns what an account has in a region.
func (e *Engine) space(p place) *space {
	if s, ok := e.spaces.Load(p); ok {
		return s.(*space)
	}
	s, _ := e.spaces.LoadOrStore(p, newSpace(p))
	return s.(*space)
}

func (e *Engine) now() time.Time { return e.options.Env.Clock.Now() }

func (e *Engine) partition() string {
	if e.options.Env.Partition == "" {
		return "aws"
	}
	return e.options.Env.Partition
}

// provider returns who makes resources of a type.
func (e *Engine) provider(resourceType string) resource.Provider {
	if p, ok := e.options.Providers[resourceType]; ok {
		return p
	}
	return e.backing.Provider(resourceType)
}

// latency is how long an operation on a resource takes, without faults.
func (e *Engine) latency(resourceType, operation string) time.Duration {
	if e.options.Latency == nil {
		return 0
	}
	return e.options.Latency(resourceType, operation)
}

// Simulated returns the resources that are simulated from their schema, so that
// a test can look at them or change them behind CloudFormation's back.
func (e *Engine) Simulated() *simulated.Store { return e.backing }
