package stack

import (
	"context"
	"time"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Desired is a stack as it should be.
type Desired struct {
	// Name is the stack's name, unique in its account and region.
	Name string
	// Template is what the stack is made from. The engine does not change it.
	Template *template.Template
	// Parameters are the values of the template's parameters.
	Parameters map[string]string
	// Tags are put on the stack, and by CloudFormation on each of its resources. Keep what changes often out of them.
	Tags map[string]string
	// OwnerTags names those of Tags that prove a stack to be this object's. Empty means all of Tags.
	OwnerTags []string
	// Salt, for example the object's UID, keeps the request tokens of two objects apart that follow each other under one name.
	Salt string
	// Capabilities are the capabilities to acknowledge. The engine adds none, whatever the template contains.
	Capabilities []string
	// TerminationProtection guards the stack against being deleted by others.
	TerminationProtection bool
	// Policy is the stack policy, JSON, that guards resources against updates by others; empty leaves the stack without, or as it is.
	Policy string
	// RoleARN is the service role that CloudFormation assumes for the stack.
	RoleARN string
	// MaxAttempts bounds how often a stack that fails to be created is tried; 0 means 3.
	MaxAttempts int
	// Allow says which dangerous changes the object's owner has allowed.
	Allow policy.Allow
	// AdoptFrom is [Owner.AdoptFrom].
	AdoptFrom []string
	// Refresh asks for one look at the stack even if nothing is known to have changed, for example because outputs were lost.
	Refresh bool
	// Review, unless it is nil, has changes of a stack that is in place wait for a person's approval.
	Review *Review
	// Prepare, unless it is nil, is called just before a creation or a change is sent, and not for one that only waits for approval.
	// What the stack needs, such as objects in a bucket, is to be made there. If it errs, nothing is sent.
	Prepare func(context.Context) error
}

// Record is what the engine knows of a stack. The caller persists it with the object and hands it back: it is all that the engine
// needs to survive a restart.
type Record struct {
	// StackID is the ARN of the stack.
	StackID string `json:"stackID,omitempty"`
	// Status is CloudFormation's word for the stack's status when it was last seen.
	Status string `json:"status,omitempty"`
	// StatusReason says why a stack failed: the first failed resource's own reason.
	StatusReason string `json:"statusReason,omitempty"`
	// Digest is of the template, parameters and tags that are applied; empty while that is unknown.
	Digest string `json:"digest,omitempty"`
	// PendingDigest is of what the running operation applies.
	PendingDigest string `json:"pendingDigest,omitempty"`
	// FailedDigest is of what failed last and is not to be sent again.
	FailedDigest string `json:"failedDigest,omitempty"`
	// OutputsDigest is of the outputs when they were last read; empty when they never were.
	OutputsDigest string `json:"outputsDigest,omitempty"`
	// Changed marks the last change of the stack that the engine knows of, to notice changes by others.
	Changed string `json:"changed,omitempty"`
	// Token is the client request token of the last operation that the engine sent.
	Token string `json:"token,omitempty"`
	// PreviousStatus is the status from which the last operation was sent.
	PreviousStatus string `json:"previousStatus,omitempty"`
	// StartedAt is when the engine sent the last operation.
	StartedAt *time.Time `json:"startedAt,omitempty"`
	// LookedAt is when a running operation was last looked at.
	LookedAt *time.Time `json:"lookedAt,omitempty"`
	// Attempts counts the creations that failed.
	Attempts int `json:"attempts,omitempty"`
	// DeleteAttempts counts the deletions that failed.
	DeleteAttempts int `json:"deleteAttempts,omitempty"`
	// RollbackAttempts counts what was tried to finish a failed rollback, RollbackFor is the digest desired at that time.
	RollbackAttempts int    `json:"rollbackAttempts,omitempty"`
	RollbackFor      string `json:"rollbackFor,omitempty"`
	// NextAttempt is when to try again; nothing is sent before.
	NextAttempt *time.Time `json:"nextAttempt,omitempty"`
	// TerminationProtection is true when the stack was seen with it, or the engine has switched it on. It is no leave to switch it off.
	TerminationProtection bool `json:"terminationProtection,omitempty"`
	// Deleting is true once the stack's deletion, not its re-creation, was asked for.
	Deleting bool `json:"deleting,omitempty"`
	// ChangeSet is the ARN of the change set that waits for approval.
	ChangeSet string `json:"changeSet,omitempty"`
	// ProposedFrom identifies what the change set was made from: what is deployed and what was desired.
	ProposedFrom string `json:"proposedFrom,omitempty"`
	// Proposal is the digest to be approved; empty while CloudFormation works out what would change.
	Proposal string `json:"proposal,omitempty"`
	// Superseded are the digests, between commas, of the last proposals that others took the place of.
	Superseded string `json:"superseded,omitempty"`
	// Revision counts changes of the record, so that the engine notices when it is handed an old one.
	Revision int64 `json:"revision,omitempty"`
}

// State is where a stack stands, as far as the caller is concerned.
type State string

const (
	// Ready means that the stack is as desired.
	Ready State = "Ready"
	// InProgress means that CloudFormation is at work; an event, or RequeueAfter, brings the next look.
	InProgress State = "InProgress"
	// Waiting means that the engine tries again by itself after RequeueAfter.
	Waiting State = "Waiting"
	// Proposed means that a change waits for a person's approval; nothing is changed before.
	Proposed State = "Proposed"
	// Stalled means that a person must act; Message says how.
	Stalled State = "Stalled"
	// Gone means that the stack is deleted or never was.
	Gone State = "Gone"
)

// Result says where a stack stands after one Ensure or Delete.
type Result struct {
	// State is where the stack stands.
	State State
	// Reason is one CamelCase word for a condition.
	Reason string
	// Message is a sentence for a person.
	Message string
	// Record is to be persisted, whatever the state and also beside an error.
	Record Record
	// Outputs are the stack's outputs if they were read this time; nil means that they are as they were.
	Outputs map[string]string
	// RequeueAfter is when to look again if no event comes first; 0 means not by itself.
	RequeueAfter time.Duration
	// Plan is what an update changes or, refused by the policy, would change.
	Plan *diff.Plan
	// Foreign is true when it stalls because the stack is not the object's.
	Foreign bool
	// Proposal is what waits for approval if it was read this time; nil means that it is as Record.Proposal names it, or that
	// nothing waits.
	Proposal *Proposal
}

// DeleteOptions say how a stack is deleted.
type DeleteOptions struct {
	// OwnerTags are the tags that a stack must carry to be deleted.
	OwnerTags map[string]string
	// AdoptFrom is [Owner.AdoptFrom].
	AdoptFrom []string
	// Salt is Desired.Salt: by it an object whose name another has taken is kept from deleting that other's stack.
	Salt string
	// RoleARN is the service role that CloudFormation assumes.
	RoleARN string
	// Retain names the resources (logical IDs) that may stay behind if they refuse to be deleted.
	Retain []string
	// DisableTerminationProtection allows to delete a stack that is protected.
	DisableTerminationProtection bool
	// Clean is called for each resource that refused, before the next try; it may empty a bucket that is the caller's to empty.
	Clean func(context.Context, ResourceFailure) error
}

// ResourceFailure is a resource that failed, with its own reason.
type ResourceFailure struct {
	LogicalID, PhysicalID, Type, Status, Reason string
}

// Event is a status change of a stack, as EventBridge or a sweep tells it.
type Event struct {
	// Target is where the stack is.
	Target awsapi.Target
	// StackID is the ARN of the stack, StackName its name.
	StackID, StackName string
	// Status is CloudFormation's word, Reason its explanation.
	Status, Reason string
	// Token is the client request token of the operation that the event belongs to.
	Token string
	// Changed is the stack's last change if the event comes from a sweep.
	Changed string
}
