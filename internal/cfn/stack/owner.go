package stack

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// ManagementTag is the tag with the identity of the management cluster, on every stack that its
// operator creates.
const ManagementTag = "aws-operator/management-cluster"

// AdoptAnnotation lists, separated by commas, what an object may take over from outside its
// management cluster: other management clusters by the value of [ManagementTag], or stacks without
// that tag by name.
const AdoptAnnotation = "aws-operator/adopt-from"

// ParseAdoptFrom parses the value of AdoptAnnotation.
func ParseAdoptFrom(value string) []string { return ParseApproved(value) }

// Owner is the object that a stack must belong to before the engine changes it.
//
// An object's record is in its status, and a client that may write the status can name any stack
// there. So the record is only a hint: the live stack's name, account, region and tags decide which
// object owns it.
type Owner struct {
	// Name is the name that the stack must have.
	Name string
	// StackID is the ARN in the object's record, empty if it has none.
	StackID string
	// Tags are the tags that the stack must carry.
	Tags map[string]string
	// AdoptFrom names management clusters and stacks that may be taken over, see [AdoptAnnotation].
	AdoptFrom []string
}

// digest identifies the owner by its tags.
func (o *Owner) digest() string { return digestMap(o.Tags) }

// reference is the name or ID of the stack for calls.
func (o *Owner) reference() string {
	if o.StackID != "" {
		return o.StackID
	}
	return o.Name
}

// ForeignError says that a stack does not belong to the object, and what to do. The operator only
// described the stack.
type ForeignError struct {
	// Reason is a CamelCase word for a condition, Message a sentence for the user.
	Reason, Message string
}

// Error is the message.
func (e *ForeignError) Error() string { return e.Message }

func (e *ForeignError) result(record Record) Result {
	return Result{State: Stalled, Reason: e.Reason, Message: e.Message, Foreign: true, Record: record}
}

// remedy ends messages about records.
const remedy = " The operator does not touch it. Remove this stack from the object's status (kubectl edit --subresource=status); " +
	"the operator then finds the object's own stack by its name and tags."

// misnamed compares the ARN in the record with the name, account and region that the stack must
// have. It makes no call.
func (e *Engine) misnamed(target awsapi.Target, owner *Owner) *ForeignError {
	if owner.StackID == "" {
		return nil
	}
	const parts = 3 // stack/NAME/UUID
	id, err := arn.Parse(owner.StackID)
	resource := strings.Split(id.Resource, "/")
	at := e.place(target)
	var what string
	switch {
	case err != nil || id.Service != "cloudformation" || len(resource) != parts || resource[0] != "stack":
		what = "which is not the ARN of a stack"
	case resource[1] != owner.Name:
		what = fmt.Sprintf("but the object's stack is named %s", owner.Name)
	case at.Account != "" && id.AccountID != at.Account:
		what = fmt.Sprintf("but the object's stack is in account %s", at.Account)
	case at.Region != "" && id.Region != at.Region:
		what = fmt.Sprintf("but the object's stack is in region %s", at.Region)
	default:
		return nil
	}
	return &ForeignError{reasonNotOwned, fmt.Sprintf("The status names the stack %q, %s.%s", owner.StackID, what, remedy)}
}

// place returns the account and region of a target, each empty if unknown.
func (e *Engine) place(target awsapi.Target) awsapi.Place {
	return target.Place(awsapi.Place{Account: e.options.AccountID, Region: e.options.Clients.Region(target)})
}

// judge checks whether a stack is the owner's. Moved is true if it comes from another management
// cluster, or from none, and the object allows to adopt it.
func (e *Engine) judge(found *live, owner *Owner) (moved bool, foreign *ForeignError) {
	if found.name != owner.Name || len(owner.Tags) == 0 || !found.carries(owner.Tags) {
		return false, &ForeignError{reasonNotOwned, fmt.Sprintf(
			"The status names the stack %s, whose tags do not name this object as its owner.%s", found.id, remedy)}
	}
	of, ours := found.tags[ManagementTag], e.options.ManagementCluster
	switch {
	case of == ours:
		return false, nil
	case slices.Contains(owner.AdoptFrom, cmp.Or(of, found.name)):
		return true, nil
	case of != "":
		return false, &ForeignError{reasonManagedElsewhere, fmt.Sprintf(
			"Stack %s belongs to the same object in another management cluster, whose identity is %s. The operator does not touch it. "+
				"To move it here, delete or pause the object there and annotate this one with %s=%s.", found.name, of, AdoptAnnotation, of)}
	case owner.StackID == found.id: // the stack predates the tag; its next update sets it
		return false, nil
	default:
		return false, &ForeignError{reasonUnmarked, fmt.Sprintf(
			"Stack %s carries this object's tags but not those of a management cluster, and the status does not name it. The operator does not touch it. "+
				"If no other management cluster has this object, annotate it with %s=%s.",
			found.name,
			AdoptAnnotation,
			found.name,
		)}
	}
}

// nameTaken reports that the name of a new stack is in use.
func nameTaken(found *live) *ForeignError {
	if found.status == types.StackStatusReviewInProgress {
		return &ForeignError{reasonNameTaken, "A stack named " + found.name +
			" waits for its first change set to be executed, and does not belong to this object. Delete that stack or rename the object."}
	}
	return &ForeignError{reasonNameTaken, "A stack named " + found.name +
		" exists, and its tags show that it does not belong to this object. Delete that stack or rename the object."}
}

// verify checks that a stack is its owner's. There is false if no such stack exists. It calls
// CloudFormation once for each stack, and not for those that this process created or has read.
func (e *Engine) verify(ctx context.Context, target awsapi.Target, owner *Owner) (there bool, err error) {
	if foreign := e.misnamed(target, owner); foreign != nil {
		return false, foreign
	}
	if owner.StackID != "" && e.watchlist.ownedBy(owner.StackID, owner.digest()) {
		return true, nil
	}
	found, err := e.read(ctx, target, owner)
	return found != nil && !deleted(found.status), err
}

// Outputs returns the outputs of a stack as CloudFormation reports them, or nil if no such stack
// exists. For a deleted stack they are the last ones; CloudFormation keeps it for 90 days. It
// returns a [*ForeignError] if the stack is not the owner's; other errors are explained
// ([awsapi.Failure]).
func (e *Engine) Outputs(ctx context.Context, target awsapi.Target, owner Owner) (map[string]string, error) {
	if foreign := e.misnamed(target, &owner); foreign != nil {
		return nil, foreign
	}
	found, err := e.read(ctx, target, &owner)
	if err != nil || found == nil {
		return nil, err
	}
	return found.outputs, nil
}

// read returns a stack that is its owner's, deleted or not, or nil if none exists.
func (e *Engine) read(ctx context.Context, target awsapi.Target, owner *Owner) (*live, error) {
	found, err := e.describer.describe(ctx, target, owner.reference(), false)
	if err != nil {
		return nil, awsapi.Explain(err)
	}
	if found == nil {
		return nil, nil //nolint:nilnil // nil means that no stack exists
	}
	if _, foreign := e.judge(found, owner); foreign != nil {
		return nil, foreign
	}
	e.watchlist.own(found.id, e.place(target), owner.digest())
	return found, nil
}

// tags are the stack's tags and the management cluster's. The latter is not compared: a stack
// without it gets it with its next update, and is not updated only for that, since CloudFormation
// propagates a stack's tags to all its resources.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-resource-tags.html
func (v *visit) tags() []types.Tag {
	if v.engine.options.ManagementCluster == "" {
		return tags(v.desired.Tags)
	}
	all := maps.Clone(v.desired.Tags)
	if all == nil {
		all = map[string]string{}
	}
	all[ManagementTag] = v.engine.options.ManagementCluster
	return tags(all)
}

// unmarked returns a stack's tags without the management cluster's.
func unmarked(of map[string]string) map[string]string {
	all := maps.Clone(of)
	delete(all, ManagementTag)
	return all
}
