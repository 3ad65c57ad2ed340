package resource

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Env is the shared environment of all simulated services.
type Env struct {
	// Clock is the only clock of the simulator, so that tests can step it.
	Clock clock.WithTickerAndDelayedExecution
	// Partition is the ARN partition. The default is "aws".
	Partition string
	// Lag decides how long others do not observe a change. Without it, they observe it at once.
	Lag *Lag
	// Control decides what callers may do; nil allows everything.
	Control *access.Control
	// NamesNew reports whether a resource-based policy names a role or user that other services do not
	// know yet; nil means that no policy does.
	NamesNew func(policy string) bool
}

// KnowsPrincipals reports whether services know all roles and users that a resource-based policy names.
func (e *Env) KnowsPrincipals(policy string) bool { return e.NamesNew == nil || !e.NamesNew(policy) }

// Request is a request to a provider about one resource.
type Request struct {
	// Account and Region locate the resource.
	Account, Region string
	// StackID, StackName and LogicalID identify the resource in its stack.
	StackID, StackName, LogicalID string
	// Principal is the ARN of who acts: the caller of the stack, or a session of its service role. It is
	// empty if the context of the call has a [wire.Call].
	Principal string
	// Token is unique for this operation on this resource.
	Token string
	// PhysicalID names the existing resource for update, delete and read.
	PhysicalID string
	// Properties are the resource's properties with all intrinsic functions resolved, in the types
	// that encoding/json decodes to: map[string]any, []any, string, bool, float64 or json.Number.
	Properties map[string]any
	// Previous are the properties of the last successful operation; set for updates.
	Previous map[string]any
	// Tags are the stack's tags and its aws:cloudformation:* tags. The resource's own tags take
	// precedence over them.
	Tags map[string]string
}

// Target returns the account and region of the resource.
func (r *Request) Target() wire.Target { return wire.Target{Account: r.Account, Region: r.Region} }

// Result is the result of a create or update.
type Result struct {
	// PhysicalID is the value that Ref returns.
	PhysicalID string
	// Attributes are the values that GetAtt returns, by attribute name; nested ones by dotted name
	// ("Endpoint.Address").
	Attributes map[string]any
}

// Provider creates, updates, deletes and reads the resources of one CloudFormation type. Errors are
// of type [*Error].
type Provider interface {
	// Create creates the resource. It returns an AlreadyExists error if one of the same name
	// exists.
	Create(ctx context.Context, r Request) (Result, error)
	// Update changes the resource in place. Changes of create-only properties never get here,
	// because the engine replaces the resource.
	Update(ctx context.Context, r Request) (Result, error)
	// Delete deletes the resource. It returns a NotFound error if the resource does not exist,
	// which the engine treats as success.
	Delete(ctx context.Context, r Request) error
	// Read returns the resource's live properties, for drift detection and import. It returns a
	// NotFound error if the resource does not exist.
	Read(ctx context.Context, r Request) (map[string]any, error)
}

// Lister is a [Provider] of a type whose resources Cloud Control API can list.
type Lister interface {
	// List returns the primary identifiers of the resources in an account and a region, in any order.
	List(ctx context.Context, at wire.Target) ([]string, error)
}

// Handler error codes, from
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract-errors.html
const (
	AlreadyExists      = "AlreadyExists"
	NotFound           = "NotFound"
	InvalidRequest     = "InvalidRequest"
	AccessDenied       = "AccessDenied"
	ResourceConflict   = "ResourceConflict"
	NotStabilized      = "NotStabilized"
	GeneralService     = "GeneralServiceException"
	ServiceLimit       = "ServiceLimitExceeded"
	NotUpdatable       = "NotUpdatable"
	ServiceInternal    = "ServiceInternalError"
	InternalFailure    = "InternalFailure"
	ThrottlingError    = "Throttling"
	UnauthorizedTagged = "UnauthorizedTaggingOperation"
)

// Error is a provider's error.
type Error struct {
	// Code is one of the handler error codes.
	Code string
	// Message is the service's own message.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Errorf returns an [*Error] with a formatted message.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
