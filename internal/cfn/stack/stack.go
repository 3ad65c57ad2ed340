package stack

import (
	"context"
	"time"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Desired is the desired state of a stack.
type Desired struct {
	// Name is the stack's name, unique in its account and region.
	Name string
	// Template is the stack's template. The engine does not modify it.
	Template *template.Template
	// Parameters are the values of the template's parameters.
	Parameters map[string]string
	// Hidden replaces, in every digest, the values of parameters that are secrets: records are no secrets,
	// and a digest of a short secret reveals it. Each text must change with its value.
	Hidden map[string]string
	// Tags are set on the stack; CloudFormation propagates them to its resources. Avoid tags that
	// change often.
	Tags map[string]string
	// OwnerTags names the Tags that prove that a stack belongs to this object. Empty means all of
	// Tags.
	OwnerTags []string
	// Salt, for example the object's UID, makes the request tokens of successive objects with the
	// same name differ.
	Salt string
	// Capabilities are the IAM capabilities to acknowledge. The engine adds none, whatever the
	// template contains.
	Capabilities []string
	// TerminationProtection protects the stack against deletion by other clients.
	TerminationProtection bool
	// Policy is the stack policy as JSON, which protects resources against updates by other
	// clients. Empty sets none and keeps the one that is set.
	Policy string
	// RoleARN is the service role that CloudFormation assumes for the stack.
	RoleARN string
	// MaxAttempts limits the attempts to create a stack; 0 means 3.
	MaxAttempts int
	// Allow lists the dangerous changes that the object's owner allows.
	Allow policy.Allow
	// AdoptFrom is [Owner.AdoptFrom].
	AdoptFrom []string
	// Retry is a text that a user changes to retry what failed, such as a time.
	Retry string
	// Refresh requests one DescribeStacks even if no change was observed, for example because
	// outputs were lost.
	Refresh bool
	// Review, unless nil, holds changes of an existing stack until they are approved.
	Review *Review
	// Import, unless nil, takes existing resources into the stack if the stack does not exist.
	Import *Import
	// Revert, unless nil, reverts drift of the stack once it has the desired template.
	Revert *Revert
	// DriftCheck, unless nil, checks the stack for drift before an update is sent or proposed.
	DriftCheck *DriftCheck
	// Prepare, unless nil, is called just before a creation or a change is sent, but not while a
	// change waits for approval. It creates what the stack needs, such as objects in a bucket. If
	// it returns an error, nothing is sent.
	Prepare func(context.Context) error
}

// Record is the engine's state of a stack. The caller persists it with the object and passes it to
// the next call: the engine needs nothing else to survive a restart.
type Record struct {
	// StackID is the ARN of the stack.
	StackID string `json:"stackID,omitempty"`
	// Status is the stack's status in CloudFormation when it was last read.
	Status string `json:"status,omitempty"`
	// StatusReason says why an operation failed: the reason of the first resource that failed.
	StatusReason string `json:"statusReason,omitempty"`
	// Digest is the digest of the template, parameters and tags that are applied; empty while
	// unknown.
	Digest string `json:"digest,omitempty"`
	// PendingDigest is the digest that the running operation applies.
	PendingDigest string `json:"pendingDigest,omitempty"`
	// FailedDigest is the digest that failed last and is not sent again.
	FailedDigest string `json:"failedDigest,omitempty"`
	// OutputsDigest is the digest of the outputs when they were last read; empty if they never
	// were.
	OutputsDigest string `json:"outputsDigest,omitempty"`
	// Changed identifies the last change of the stack that the engine knows of, to detect changes
	// by other clients.
	Changed string `json:"changed,omitempty"`
	// Token is the client request token of the last operation that the engine sent.
	Token string `json:"token,omitempty"`
	// PreviousStatus is the status from which the last operation was sent.
	PreviousStatus string `json:"previousStatus,omitempty"`
	// StartedAt is the time at which the engine sent the last operation.
	StartedAt *time.Time `json:"startedAt,omitempty"`
	// LookedAt is the time at which a running operation was last polled.
	LookedAt *time.Time `json:"lookedAt,omitempty"`
	// Attempts counts failed creations.
	Attempts int `json:"attempts,omitempty"`
	// DeleteAttempts counts failed deletions.
	DeleteAttempts int `json:"deleteAttempts,omitempty"`
	// RollbackAttempts counts the attempts to finish a failed rollback. RollbackFor is the digest
	// that was desired then.
	RollbackAttempts int    `json:"rollbackAttempts,omitempty"`
	RollbackFor      string `json:"rollbackFor,omitempty"`
	// NextAttempt is the time of the next attempt; nothing is sent before.
	NextAttempt *time.Time `json:"nextAttempt,omitempty"`
	// TerminationProtection is true if the stack was read with it or the engine enabled it. It is
	// no permission to disable it.
	TerminationProtection bool `json:"terminationProtection,omitempty"`
	// Deleting is true once the deletion of the stack, and not its re-creation, was requested.
	Deleting bool `json:"deleting,omitempty"`
	// ChangeSet is the ARN of the change set that waits for approval.
	ChangeSet string `json:"changeSet,omitempty"`
	// ProposedFrom identifies the inputs of the change set: what is deployed and what was desired.
	ProposedFrom string `json:"proposedFrom,omitempty"`
	// Proposal is the digest to approve; empty while CloudFormation computes the change set.
	Proposal string `json:"proposal,omitempty"`
	// Superseded is a comma-separated list of the digests of the last superseded proposals.
	Superseded string `json:"superseded,omitempty"`
	// Reverted identifies the last attempt to revert drift, and RevertFailure is a sentence that says why
	// it did not. RevertedAt is the time of the last revert; Reverting is true while it runs.
	Reverted      string     `json:"reverted,omitempty"`
	RevertFailure string     `json:"revertFailure,omitempty"`
	RevertedAt    *time.Time `json:"revertedAt,omitempty"`
	Reverting     bool       `json:"reverting,omitempty"`
	// Retries counts the retries after the engine gave up; RetryAt is the time of the next one.
	Retries int        `json:"retries,omitempty"`
	RetryAt *time.Time `json:"retryAt,omitempty"`
	// Away reports that the engine did not exist during part of the change that failed.
	Away bool `json:"away,omitempty"`
	// Retried is the Desired.Retry that was last followed.
	Retried string `json:"retried,omitempty"`
	// Revision counts changes of the record. By it the engine detects an outdated one.
	Revision int64 `json:"revision,omitempty"`
}

// State is the state of a stack for the caller.
type State string

const (
	// Ready means that the stack matches what is desired.
	Ready State = "Ready"
	// InProgress means that CloudFormation is working. Requeue after an event or RequeueAfter.
	InProgress State = "InProgress"
	// Waiting means that the engine retries after RequeueAfter, without a user's action.
	Waiting State = "Waiting"
	// Proposed means that a change waits for approval; nothing changes before.
	Proposed State = "Proposed"
	// Stalled means that a user must act; Message says how.
	Stalled State = "Stalled"
	// Gone means that the stack is deleted or never existed.
	Gone State = "Gone"
)

// Result is the outcome of one Ensure or Delete.
type Result struct {
	// State is the state of the stack.
	State State
	// Reason is a CamelCase word for a condition.
	Reason string
	// Message is a sentence for the user.
	Message string
	// Record must be persisted in every state, and also if an error is returned.
	Record Record
	// Outputs are the stack's outputs if they were read in this call; nil means that they are
	// unchanged.
	Outputs map[string]string
	// RequeueAfter is when to requeue if no event arrives first; 0 means only on an event.
	RequeueAfter time.Duration
	// Plan is what an update changes, or would change if the policy refused it.
	Plan *diff.Plan
	// Foreign is true if the stack does not belong to the object, which stalls it.
	Foreign bool
	// Reverting is true while a revert of drift is prepared or waits for approval: the stack has the
	// desired template.
	Reverting bool
	// Drift is the state of Desired.DriftCheck, if the stack was checked, or considered, in this call. Its
	// record must be persisted.
	Drift *DriftResult
	// Sent is true if an update was sent or proposed in this call. Unchecked is then a sentence that says why
	// the stack was not checked for drift before, although that was due.
	Sent      bool
	Unchecked string
	// Proposal is the change that waits for approval, if it was read in this call. Nil means that
	// it is still the one of Record.Proposal, or that none waits.
	Proposal *Proposal
}

// DeleteOptions configure the deletion of a stack.
type DeleteOptions struct {
	// OwnerTags are the tags that a stack must carry to be deleted.
	OwnerTags map[string]string
	// AdoptFrom is [Owner.AdoptFrom].
	AdoptFrom []string
	// Salt is Desired.Salt. It keeps an object from deleting the stack of another object that took
	// over its name.
	Salt string
	// RoleARN is the service role that CloudFormation assumes.
	RoleARN string
	// Retain lists the logical IDs of resources that may be retained if CloudFormation cannot
	// delete them.
	Retain []string
	// DisableTerminationProtection allows the engine to disable termination protection in order to
	// delete the stack.
	DisableTerminationProtection bool
	// Snapshot does not delete the stack if CloudFormation would delete a resource without a snapshot
	// although it can take one of it.
	Snapshot bool
	// Clean is called for each resource that could not be deleted, before the next attempt. It may
	// empty a bucket that belongs to the caller.
	Clean func(context.Context, ResourceFailure) error
}

// ResourceFailure is a resource that failed, with its reason.
type ResourceFailure struct {
	LogicalID, PhysicalID, Type, Status, Reason string
}

// Event is a status change of a stack, from EventBridge or a sweep.
type Event struct {
	// Target is the account and region of the stack.
	Target awsapi.Target
	// StackID is the ARN of the stack, StackName its name.
	StackID, StackName string
	// Status is the stack's status in CloudFormation, Reason its explanation.
	Status, Reason string
	// Token is the client request token of the operation that caused the event.
	Token string
	// Changed identifies the stack's last change if the event comes from a sweep.
	Changed string
	// Time is when AWS reported the status; zero if the event comes from a sweep.
	Time time.Time
}
