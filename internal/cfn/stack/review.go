package stack

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// ApproveAnnotation is the annotation by which the user approves changes: a comma-separated list of
// the digests of proposals.
const ApproveAnnotation = "aws-operator/approve"

// ParseApproved parses the value of ApproveAnnotation.
func ParseApproved(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
}

// Review holds changes of an existing stack until they are approved. Ensure creates a change set,
// and executes exactly that change set once its digest is approved.
type Review struct {
	// Approved are the digests of the approved proposals.
	Approved []string
	// Shown is the digest of the proposal in the object's status. If the proposal has another
	// digest, the engine reads and returns it again.
	Shown string
	// Hold holds back an approved change, for example because another stack must be ready first.
	Hold bool
}

// ProposalState is the progress of a change towards its approval.
type ProposalState string

const (
	// ProposalNone means that there is no change set.
	ProposalNone ProposalState = ""
	// ProposalOutdated means that the change set does not match what is desired.
	ProposalOutdated ProposalState = "Outdated"
	// ProposalUnread means that the content of the change set is unknown, or not shown.
	ProposalUnread ProposalState = "Unread"
	// ProposalWaits means that the change waits for approval.
	ProposalWaits ProposalState = "Waits"
	// ProposalApproved means that the change may be executed.
	ProposalApproved ProposalState = "Approved"
)

const (
	// changeSetName names the only change set that a stack has at a time, so that the engine finds
	// one whose record was lost.
	changeSetName = "aws-operator-proposal"
	// soonReview is when to poll a change set that CloudFormation computes: no event reports its
	// completion.
	soonReview = time.Second
	// maxSuperseded limits how many superseded proposals a record keeps.
	maxSuperseded = 8
	// digestLength is the number of hexadecimal digits of a proposal's digest, which the user has
	// to repeat.
	digestLength = 32
)

// proposalState returns the progress of the change towards its approval.
func (v *visit) proposalState() ProposalState {
	review, importing, reverting := v.review(), v.importing(), v.reverting()
	switch {
	case v.record.ChangeSet == "":
		return ProposalNone
	case v.record.ProposedFrom != v.basis():
		return ProposalOutdated
	case reverting && review == nil && v.proposal != nil:
		return ProposalApproved
	case reverting && review == nil:
		return ProposalUnread
	case !reverting && (review == nil && !importing || v.record.Digest == v.digest || v.record.FailedDigest == v.digest):
		return ProposalOutdated
	case importing && v.proposal != nil, v.alike && v.proposal != nil:
		return ProposalApproved
	case importing, v.record.Proposal == "":
		return ProposalUnread
	case slices.Contains(review.Approved, v.record.Proposal) && !review.Hold:
		if v.proposal == nil { // the engine executes what CloudFormation reports now, not what the record says
			return ProposalUnread
		}
		return ProposalApproved
	case review.Shown != v.record.Proposal && v.proposal == nil:
		return ProposalUnread
	default:
		return ProposalWaits
	}
}

// basis identifies what is deployed and what is desired.
func (v *visit) basis() string {
	switch {
	case v.importing():
		return v.importBasis()
	case v.reverting():
		return token("propose", v.record.StackID, v.record.Changed, v.desired.revertKey())
	}
	return token("propose", v.record.StackID, v.record.Changed, v.digest, v.desired.Policy)
}

// propose compares the templates, checks the policy and sends CreateChangeSet.
func (v *visit) propose(ctx context.Context) step {
	switch {
	case v.importing():
		return v.proposeImport(ctx)
	case v.reverting():
		return v.proposeRevert(ctx)
	}
	if !v.makePlan() {
		return proceed()
	}
	if refused := v.refusal(); refused != "" {
		return end(v.stall(reasonRefused, refused))
	}
	if s := v.checkDrift(ctx); s.done {
		return s
	}
	body, url, s := v.templateArgument(ctx, v.desired.Template)
	if s.done {
		return s
	}
	return v.proposed(ctx, &cloudformation.CreateChangeSetInput{
		StackName: aws.String(v.record.StackID), ChangeSetName: aws.String(changeSetName), ChangeSetType: types.ChangeSetTypeUpdate,
		Description:  aws.String("What the operator would change, for approval."),
		TemplateBody: body, TemplateURL: url, Parameters: parameters(v.desired.Parameters), Tags: v.tags(),
		Capabilities: v.capabilities(), RoleARN: optional(v.desired.RoleARN),
	})
}

// proposed sends CreateChangeSet and records the change set.
func (v *visit) proposed(ctx context.Context, input *cloudformation.CreateChangeSetInput) step {
	id, err := v.sendPropose(ctx, input)
	switch {
	case err == nil:
		v.sent = true
		v.record.ChangeSet, v.record.ProposedFrom, v.record.Proposal = id, v.basis(), ""
		return end(v.workingOut())
	case awsapi.Code(err) == "AlreadyExistsException":
		return end(
			v.wait(reasonUnsettled, "CloudFormation is still deleting the previous change set; the operator retries shortly.", stalePoll),
		)
	case busy(err), missing(err):
		return v.refreshOnce(ctx, err)
	default:
		return v.refused(err)
	}
}

// sendPropose creates the change set. A change set with its name exists if it was executed, or if
// the operator died before it recorded it. It is deleted first, as in
// https://github.com/aws/aws-cdk, which also uses one name for its change sets.
func (v *visit) sendPropose(ctx context.Context, input *cloudformation.CreateChangeSetInput) (string, error) {
	out, err := v.cloudformation().CreateChangeSet(ctx, input)
	if awsapi.Code(err) == "AlreadyExistsException" {
		if err := v.deleteChangeSet(ctx); err != nil {
			return "", err
		}
		out, err = v.cloudformation().CreateChangeSet(ctx, input)
	}
	if err != nil {
		return "", err
	}
	return aws.ToString(out.Id), nil
}

// workingOut reports that CloudFormation is computing a change set.
func (v *visit) workingOut() Result {
	return Result{
		State:        InProgress,
		Reason:       reasonProposing,
		Message:      "CloudFormation is computing the change set.",
		RequeueAfter: soonReview,
	}
}

// read reads the change set.
func (v *visit) read(ctx context.Context) step {
	found, err := v.describeChangeSet(ctx)
	switch {
	case noChangeSet(err):
		return v.outdate(ctx)
	case missing(err):
		return v.refreshOnce(ctx, err)
	case err != nil:
		return v.failed(err)
	}
	// The record is no proof of ownership; this change set belongs to another stack and is kept.
	if aws.ToString(found.StackId) != v.record.StackID {
		v.record.ChangeSet, v.record.ProposedFrom, v.record.Proposal = "", "", ""
		return proceed()
	}
	switch found.Status {
	case types.ChangeSetStatusCreatePending, types.ChangeSetStatusCreateInProgress:
		result := v.workingOut()
		result.Reverting = v.reverting()
		return end(result)
	case types.ChangeSetStatusFailed:
		return v.readFailed(ctx, aws.ToString(found.StatusReason))
	case types.ChangeSetStatusCreateComplete:
	case types.ChangeSetStatusDeletePending,
		types.ChangeSetStatusDeleteInProgress,
		types.ChangeSetStatusDeleteComplete,
		types.ChangeSetStatusDeleteFailed:
		return v.outdate(ctx)
	default:
		return v.outdate(ctx)
	}
	if found.ExecutionStatus != types.ExecutionStatusAvailable { // another update happened, or another client executed the change set
		return v.outdate(ctx)
	}
	switch {
	case v.importing():
		return v.readImport(ctx, found)
	case v.reverting():
		return v.readRevert(ctx, found)
	}
	if !v.makePlan() {
		return proceed()
	}
	var live differences
	if v.stage() == stageImported {
		var s step
		if live, s = v.compareLive(ctx); s.done {
			return s
		}
		found.Changes = slices.DeleteFunc(found.Changes, func(c types.Change) bool {
			return c.ResourceChange != nil && aws.ToString(c.ResourceChange.LogicalResourceId) == shellID
		})
	}
	v.proposal = v.engine.propose(found.Changes, v.plan)
	v.alike = live != nil && live.keepDifferences(v.proposal)
	v.proposal.Digest = v.proposal.digest(v.record.ProposedFrom)
	v.record.Proposal = v.proposal.Digest
	return proceed()
}

// describeChangeSet reads all pages of the change set. IncludePropertyValues also returns the paths
// of the properties.
func (v *visit) describeChangeSet(ctx context.Context) (*cloudformation.DescribeChangeSetOutput, error) {
	var whole *cloudformation.DescribeChangeSetOutput
	input := &cloudformation.DescribeChangeSetInput{
		ChangeSetName: aws.String(v.record.ChangeSet), StackName: aws.String(v.record.StackID), IncludePropertyValues: aws.Bool(true),
	}
	for {
		page, err := v.cloudformation().DescribeChangeSet(ctx, input)
		if err != nil {
			return nil, err
		}
		if whole == nil {
			whole = page
		} else {
			whole.Changes = append(whole.Changes, page.Changes...)
		}
		if page.NextToken == nil {
			return whole, nil
		}
		input.NextToken = page.NextToken
	}
}

// readFailed ends the review of a change set that CloudFormation could not create: it contains no
// changes, or CloudFormation refuses it.
func (v *visit) readFailed(ctx context.Context, reason string) step {
	importing := v.importing()
	switch {
	case v.reverting() && changesNothing(reason):
		return v.noRevert(ctx, "")
	case v.reverting():
		return v.noRevert(ctx, CleanReason(reason))
	}
	if s := v.withdraw(ctx); s.done {
		return s
	}
	if importing {
		return v.importRefused(reason)
	}
	if changesNothing(reason) {
		return v.inPlace()
	}
	v.record.FailedDigest, v.record.StatusReason = v.digest, CleanReason(reason)
	return proceed()
}

// changesNothing reports whether a reason of CloudFormation says that a change set contains no
// changes. The AWS CLI knows both texts:
// https://github.com/aws/aws-cli/blob/develop/awscli/customizations/cloudformation/deployer.py
func changesNothing(reason string) bool {
	return strings.Contains(reason, "The submitted information didn't contain changes") ||
		strings.Contains(reason, "No updates are to be performed")
}

// outdate withdraws a change set that can no longer be executed, and reads the stack, which has
// changed.
func (v *visit) outdate(ctx context.Context) step {
	if s := v.withdraw(ctx); s.done {
		return s
	}
	v.deployed = nil
	return v.refresh(ctx)
}

// awaitApproval reports whether an approval is missing or is for a superseded change.
func (v *visit) awaitApproval() Result {
	result := Result{State: Proposed, Reason: ReasonApprovalNeeded, Message: "A change of the stack waits for approval.", Reverting: v.reverting()}
	if result.Reverting {
		result.Message = "The revert of drift waits for approval."
	}
	superseded := strings.Split(v.record.Superseded, ",")
	switch approved := v.review().Approved; {
	case slices.Contains(approved, v.record.Proposal):
		result.Reason, result.Message = ReasonApproved, "The change is approved and waits for its turn."
	case slices.ContainsFunc(approved, func(digest string) bool { return slices.Contains(superseded, digest) }):
		result.Reason = ReasonApprovalStale
		result.Message = "The approved change is outdated, because the object or the stack has changed since. The new change waits for approval."
	case len(approved) > 0:
		result.Message += " The annotation " + ApproveAnnotation + " does not have its digest."
	}
	return result
}

// execute executes the approved change set. It checks the policy again, because the user may have
// withdrawn the consent to a loss.
func (v *visit) execute(ctx context.Context) step {
	switch {
	case v.importing():
		return v.executeImport(ctx)
	case v.reverting():
		return v.executeRevert(ctx)
	}
	if !v.makePlan() {
		return proceed()
	}
	if refused := v.refusal(); refused != "" {
		return end(v.stall(reasonRefused, refused))
	}
	if s := v.checkDrift(ctx); s.done {
		return s
	}
	if s := v.prepare(ctx); s.done {
		return s
	}
	sent := v.updateToken(v.record.Changed)
	err := v.sendExecute(ctx, sent)
	switch {
	case err == nil, awsapi.Code(err) == "TokenAlreadyExistsException":
		v.record.ChangeSet, v.record.ProposedFrom, v.record.Proposal, v.record.Superseded = "", "", "", ""
		return v.updating(sent)
	case noChangeSet(err), awsapi.Code(err) == "InvalidChangeSetStatus":
		return v.outdate(ctx)
	case busy(err), missing(err):
		return v.refreshOnce(ctx, err)
	default:
		return v.refused(err)
	}
}

// sendExecute executes the change set. A change set cannot contain a stack policy, so the policy is
// set first:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ExecuteChangeSet.html
func (v *visit) sendExecute(ctx context.Context, sent string) error {
	if v.desired.Policy != "" {
		_, err := v.cloudformation().SetStackPolicy(ctx, &cloudformation.SetStackPolicyInput{
			StackName: aws.String(v.record.StackID), StackPolicyBody: aws.String(cmp.Or(v.desired.consent(), v.desired.Policy)),
		})
		if err != nil {
			return err
		}
	}
	_, err := v.cloudformation().ExecuteChangeSet(ctx, &cloudformation.ExecuteChangeSetInput{
		ChangeSetName: aws.String(v.record.ChangeSet), StackName: aws.String(v.record.StackID), ClientRequestToken: aws.String(sent),
	})
	return err
}

// withdraw deletes the change set, if there is one.
func (v *visit) withdraw(ctx context.Context) step {
	if v.record.ChangeSet == "" {
		return proceed()
	}
	if err := v.deleteChangeSet(ctx); err != nil {
		return v.failed(err)
	}
	if v.record.Proposal != "" {
		digests := append(ParseApproved(v.record.Superseded), v.record.Proposal)
		v.record.Superseded = strings.Join(digests[max(0, len(digests)-maxSuperseded):], ",")
	}
	v.record.ChangeSet, v.record.ProposedFrom, v.record.Proposal, v.proposal = "", "", "", nil
	return proceed()
}

// deleteChangeSet deletes the stack's change set by name: an ARN in the record could name the
// change set of any stack. A change set that is deleted or being executed needs no deletion.
func (v *visit) deleteChangeSet(ctx context.Context) error {
	_, err := v.cloudformation().DeleteChangeSet(ctx, &cloudformation.DeleteChangeSetInput{
		ChangeSetName: aws.String(changeSetName), StackName: aws.String(v.record.StackID),
	})
	if noChangeSet(err) || missing(err) || awsapi.Code(err) == "InvalidChangeSetStatus" {
		return nil
	}
	return err
}

// noChangeSet reports whether CloudFormation answered that a change set does not exist.
func noChangeSet(err error) bool { return awsapi.Code(err) == "ChangeSetNotFound" }

// Withdraw deletes the change set, if any, of a stack that the operator no longer reconciles. It
// returns a [*ForeignError] if the stack is not the owner's; other errors are explained
// ([awsapi.Failure]).
func (e *Engine) Withdraw(ctx context.Context, target awsapi.Target, owner Owner, record Record) error {
	key := stackKey{place: e.place(target), name: owner.Name}
	v := &visit{engine: e, target: target, key: key, goal: Absent, record: e.journal.newest(key, claimant{}, record)}
	owner.StackID = v.record.StackID
	if v.record.ChangeSet == "" || v.record.StackID == "" {
		return nil
	}
	if there, err := e.verify(ctx, target, &owner); err != nil || !there {
		return err
	}
	if err := v.deleteChangeSet(ctx); err != nil {
		return awsapi.Explain(err)
	}
	return nil
}
