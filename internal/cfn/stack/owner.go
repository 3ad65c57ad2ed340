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

// ManagementTag is on every stack that an operator in a management cluster makes, with that cluster's identity.
const ManagementTag = "aws-operator/management-cluster"

// AdoptAnnotation on an object names what it may take over that its management cluster did not make: other management clusters, by the
// value of [ManagementTag], or stacks without that tag, by their names; between commas.
const AdoptAnnotation = "aws-operator/adopt-from"

// ParseAdoptFrom reads the value of AdoptAnnotation.
func ParseAdoptFrom(value string) []string { return ParseApproved(value) }

// Owner is the object that a stack must belong to before anything is done to it.
//
// An object's record is in its status, and a client that may write the status can name any stack there. So the record
// is only a hint: the live stack's name, account, region and tags decide which object owns it.
type Owner struct {
	// Name is the name that the stack must have.
	Name string
	// StackID is the ARN in the object's record, empty if it has none.
	StackID string
	// Tags are what the stack must carry.
	Tags map[string]string
	// AdoptFrom names management clusters and stacks that may be taken over, see [AdoptAnnotation].
	AdoptFrom []string
}

// digest identifies the owner by its tags.
func (o *Owner) digest() string { return digestMap(o.Tags) }

// reference is what calls name the stack by.
func (o *Owner) reference() string {
	if o.StackID != "" {
		return o.StackID
	}
	return o.Name
}

// ForeignError says that a stack is not the object's, and what to do. The operator only described the stack.
type ForeignError struct {
	// Reason is one CamelCase word for a condition, Message a sentence for a person.
	Reason, Message string
}

// Error is the message.
func (e *ForeignError) Error() string { return e.Message }

func (e *ForeignError) result(record Record) Result {
	return Result{State: Stalled, Reason: e.Reason, Message: e.Message, Foreign: true, Record: record}
}

// remedy ends messages about records.
const remedy = " Nothing is done to it. Remove what the object's status records of this stack (kubectl edit --subresource=status); " +
	"the operator then finds the object's own stack by its name and tags."

// misnamed compares what the record's ARN says with what the stack must be called and where it must be; it makes no call.
func (e *Engine) misnamed(target awsapi.Target, owner *Owner) *ForeignError {
	if owner.StackID == "" {
		return nil
	}
	const parts = 3 // stack/NAME/UUID
	id, err := arn.Parse(owner.StackID)
	resource := strings.Split(id.Resource, "/")
	account, region := e.accountOf(target), e.options.Clients.Region(target)
	var what string
	switch {
	case err != nil || id.Service != "cloudformation" || len(resource) != parts || resource[0] != "stack":
		what = "which is not the ARN of a stack"
	case resource[1] != owner.Name:
		what = fmt.Sprintf("but the object's stack is named %s", owner.Name)
	case account != "" && id.AccountID != account:
		what = fmt.Sprintf("but the object's stack is in account %s", account)
	case region != "" && id.Region != region:
		what = fmt.Sprintf("but the object's stack is in region %s", region)
	default:
		return nil
	}
	return &ForeignError{reasonNotOwned, fmt.Sprintf("The status names the stack %q, %s.%s", owner.StackID, what, remedy)}
}

// accountOf returns the account of a target, empty if that is not known.
func (e *Engine) accountOf(target awsapi.Target) string {
	if target.RoleARN == "" {
		return e.options.AccountID
	}
	role, err := arn.Parse(target.RoleARN)
	if err != nil {
		return ""
	}
	return role.AccountID
}

// judge says whether a stack that was found is the owner's. Moved is true when it comes from another management cluster, or from none,
// and the object says that it may.
func (e *Engine) judge(found *live, owner *Owner) (moved bool, foreign *ForeignError) {
	if found.name != owner.Name || len(owner.Tags) == 0 || !found.carries(owner.Tags) {
		return false, &ForeignError{reasonNotOwned, fmt.Sprintf(
			"The status names the stack %s, whose tags do not say that it is this object's.%s", found.id, remedy)}
	}
	of, ours := found.tags[ManagementTag], e.options.ManagementCluster
	switch {
	case of == ours:
		return false, nil
	case slices.Contains(owner.AdoptFrom, cmp.Or(of, found.name)):
		return true, nil
	case of != "":
		return false, &ForeignError{reasonManagedElsewhere, fmt.Sprintf(
			"Stack %s belongs to the same object in another management cluster, whose identity is %s; nothing is done to it. "+
				"To move it here, delete or pause the object there and annotate this one with %s=%s.", found.name, of, AdoptAnnotation, of)}
	case owner.StackID == found.id: // It was made before management clusters were noted, and is marked by its next update.
		return false, nil
	default:
		return false, &ForeignError{reasonUnmarked, fmt.Sprintf(
			"Stack %s carries this object's tags but not those of a management cluster, and the status does not name it; nothing is done to it. "+
				"If no other cluster has this object, annotate it with %s=%s.", found.name, AdoptAnnotation, found.name)}
	}
}

// nameTaken says that the name of a new stack is another's.
func nameTaken(found *live) *ForeignError {
	if found.status == types.StackStatusReviewInProgress {
		return &ForeignError{reasonNameTaken, "A stack named " + found.name +
			" waits for its first change set to be executed, and nothing says that it is this object's; delete that stack or rename the object."}
	}
	return &ForeignError{reasonNameTaken, "A stack named " + found.name +
		" exists and is not this object's, as its tags say; delete that stack or rename the object."}
}

// verify makes sure that a stack is its owner's. There is false when there is no such stack. It asks CloudFormation once for each
// stack, and not for those that this process made or has looked at.
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

// Outputs returns the outputs of a stack as CloudFormation says they are, nil if there is no such stack. Of a deleted stack they are what
// they were; CloudFormation tells of it for 90 days. It returns a [*ForeignError] if the stack is not the owner's; other errors are
// explained ([awsapi.Failure]).
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

// read returns a stack that is its owner's, deleted or not, nil if there is none.
func (e *Engine) read(ctx context.Context, target awsapi.Target, owner *Owner) (*live, error) {
	found, err := e.describer.describe(ctx, target, owner.reference(), false)
	if err != nil {
		return nil, awsapi.Explain(err)
	}
	if found == nil {
		return nil, nil //nolint:nilnil // that there is none is an answer
	}
	if _, foreign := e.judge(found, owner); foreign != nil {
		return nil, foreign
	}
	e.watchlist.own(found.id, target, owner.digest())
	return found, nil
}

// tags are those of the stack and the management cluster's. The latter is no part of what is compared: a stack that was made without it
// gets it with its next update, and is not updated for it, since CloudFormation puts a stack's tags on everything in it.
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
