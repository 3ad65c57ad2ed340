package cloudformation

import (
	"context"
	"sync"
	"time"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Operations on resources, as the latency function and fault rules name them.
const (
	OpCreate = "Create"
	OpUpdate = "Update"
	OpDelete = "Delete"
	OpRead   = "Read"
	// OpSnapshot takes a snapshot of a resource before it is deleted.
	OpSnapshot = "Snapshot"
)

// Options configure an [Engine].
type Options struct {
	// Env provides the clock and the partition.
	Env *resource.Env
	// Providers back CloudFormation types with a simulated service, by type. All other types are
	// simulated from their schema.
	Providers map[string]resource.Provider
	// Registry holds the resource schemas. The default is [schema.Default].
	Registry *schema.Registry
	// Faults are consulted before each operation on a resource: rules with Service
	// "cloudformation", Operation [OpCreate], [OpUpdate], [OpDelete], [OpRead] or [OpSnapshot], the
	// ResourceType and, as Name, the logical ID. The default is none.
	Faults *fault.Injector
	// Publish sends an event to EventBridge's default bus. The default drops events.
	Publish func(ctx context.Context, account, region, source, detailType string, resources []string, detail any)
	// Notify publishes to an SNS topic in a stack's NotificationARNs. The default drops
	// notifications.
	Notify func(ctx context.Context, account, region, topicARN, subject, message string) error
	// FetchS3 reads an object for TemplateURL, StackPolicyURL and AWS::Include. Without it, they
	// are refused.
	FetchS3 func(ctx context.Context, bucket, key string) ([]byte, error)
	// SSMParameter reads a parameter from Parameter Store, for parameters of type
	// AWS::SSM::Parameter::… and for {{resolve:ssm:…}}. The name may end in a colon and a version.
	// Without it, they are refused.
	SSMParameter func(ctx context.Context, account, region, name string) (value string, err error)
	// Latency returns how long an operation on a resource of a type takes. The default is no time.
	Latency func(resourceType, operation string) time.Duration
}

// Engine keeps the stacks of all accounts and regions and executes their operations.
type Engine struct {
	options  Options
	registry *schema.Registry
	queue    queue
	spaces   sync.Map // wire.Target → *space
	backing  *simulated.Store
	handles  sync.Map // wait condition handle path → *stack
	parsed   parsedCache
}

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

// space returns the stacks of an account in a region.
func (e *Engine) space(p wire.Target) *space {
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

// Type returns the schema of a type of AWS whose resources Cloud Control API manages, and nil for other types.
func (e *Engine) Type(name string) *schema.Type {
	if t, known := e.registry.Type(name); known {
		return t
	}
	return nil
}

// Provider returns the provider of a resource type.
func (e *Engine) Provider(resourceType string) resource.Provider {
	if p, ok := e.options.Providers[resourceType]; ok {
		return p
	}
	return e.backing.Provider(resourceType)
}

// latency returns how long an operation on a resource takes, without faults.
func (e *Engine) latency(resourceType, operation string) time.Duration {
	if e.options.Latency == nil {
		return 0
	}
	return e.options.Latency(resourceType, operation)
}

// Simulated returns the resources that are simulated from their schema, so that a test can read or
// change them without CloudFormation.
func (e *Engine) Simulated() *simulated.Store { return e.backing }
