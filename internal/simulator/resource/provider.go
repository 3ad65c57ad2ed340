package resource

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
)

// Env is what every simulated service is built from.
type Env struct {
	// Clock tells the time to everything in the simulator, so that tests can
	// step it.
	Clock clock.WithTickerAndDelayedExecution
	// Partition is the ARN partition, "aws" unless set otherwise.
	Partition string
}

// Request asks a provider to do something to one resource.
type Request struct {
	// Account and Region say where.
	Account, Region string
	// StackID, StackName and LogicalID say for which resource of which stack.
	StackID, StackName, LogicalID string
	// Token is unique for this operation on this resource.
	Token string
	// PhysicalID names the existing resource for update, delete and read.
	PhysicalID string
	// Properties are the resource's properties with all intrinsics resolved,
	// in the shape that encoding/json would give: map[string]any, []any,
	// string, bool, float64 or json.Number.
	Properties map[string]any
	// Previous are the properties of the last successful operation; for updates.
	Previous map[string]any
	// Tags are the stack's tags and aws:cloudformation:* tags, to be merged
	// under the resource's own.
	Tags map[string]string
}

// Result is what a provider made.
type Result struct {
	// PhysicalID is what Ref returns.
	PhysicalID string
	// Attributes are what GetAtt returns, by attribute name; nested ones by
	// their dotted name ("Endpoint.Address").
	Attributes map[string]any
}

// Provider makes, changes and removes the resources of one CloudFormation type.
// Errors are of type [*Error].
type Provider interface {
	// Create makes the resource. An existing one of the same name is an
	// AlreadyExists error.
	Create(ctx context.Context, r Request) (Result, error)
	// Update changes the resource in place. Create-only properties do not
	// reach it: the engine replaces the resource instead.
	Update(ctx context.Context, r Request) (Result, error)
	// Delete removes the resource; a resource that is gone is a NotFound
	// error, which the engine takes for success.
	Delete(ctx context.Context, r Request) error
	// Read returns the resource's live properties, for drift detection and
	// import; NotFound when it is gone.
	Read(ctx context.Context, r Request) (map[string]any, error)
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

// Error is why a provider refused.
type Error struct {
	// Code is one of the handler error codes.
	Code string
	// Message is the service's own sentence.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Errorf returns an [*Error] with a formatted message.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
