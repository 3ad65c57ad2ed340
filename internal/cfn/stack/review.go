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

// ApproveAnnotation is the annotation by which a person approves changes: the digests of proposals, between commas.
const ApproveAnnotation = "aws-operator/approve"

// ParseApproved reads the value of ApproveAnnotation.
func ParseApproved(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
}

// Review has changes of a stack that is in place wait for a person. What Ensure would do is a change set; it is executed, just as it
// was shown, once its digest is approved.
type Review struct {
	// Approved are the digests of the proposals that a person approved.
	Approved []string
	// Shown is the digest of the proposal that the object's status shows; another one is read and handed out again.
	Shown string
	// Hold has a change wait also when it is approved, for example because another stack must be in place first.
	Hold bool
}

// ProposalState is how far the approval of a change is.
type ProposalState string

const (
	// ProposalNone means that there is no change set.
	ProposalNone ProposalState = ""
	// ProposalOutdated means that the change set is not, or no longer, what is to be done.
	ProposalOutdated ProposalState = "Outdated"
	// ProposalUnread means that it is not known, or not shown, what CloudFormation would do.
	ProposalUnread ProposalState = "Unread"
	// ProposalWaits means that the change waits.
	ProposalWaits ProposalState = "Waits"
	// ProposalApproved means that the change may be carried out.
	ProposalApproved ProposalState = "Approved"
)

const (
	// changeSetName names the one change set that a stack of ours has at a time, so that one whose record was lost is found.
	changeSetName = "aws-operator-proposal"
	// soonReview is when to look again at a change set that CloudFormation works out: no event tells its end.
	soonReview = time.Second
	// maxSuperseded bounds how many superseded proposals a record remembers.
	maxSuperseded = 8
	// digestLength is how many hexadecimal digits of a proposal's digest a person has to repeat.
	digestLength = 32
)

// proposalState says how far the approval of a change is.
func (v *visit) proposalState() ProposalState {
	review := v.desired.Review
	switch {
	case v.record.ChangeSet == "":
		return ProposalNone
	case review == nil, v.record.Digest == v.digest, v.record.FailedDigest == v.digest, v.record.ProposedFrom != v.basis():
		return ProposalOutdated
	case v.record.Proposal == "":
		return ProposalUnread
	case slices.Contains(review.Approved, v.record.Proposal) && !review.Hold:
		if v.proposal == nil { // What is executed is what CloudFormation says now that it does, whatever the record says.
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
	return token("propose", v.record.StackID, v.record.Changed, v.digest, v.desired.Policy)
}

// propose compares, asks the policy and sends CreateChangeSet.
func (v *visit) propose(ctx context.Context) step {
	if !v.makePlan() {
		return goOn()
	}
	if refused := v.refusal(); refused != "" {
		return end(v.stall(reasonRefused, refused))
	}
	body, url, s := v.templateArgument(ctx)
	if s.done {
		return s
	}
	id, err := v.sendPropose(ctx, body, url)
	switch {
	case err == nil:
		v.record.ChangeSet, v.record.ProposedFrom, v.record.Proposal = id, v.basis(), ""
		return end(v.workingOut())
	case awsapi.Code(err) == "AlreadyExistsException":
		return end(v.wait(reasonUnsettled, "The change set from before is just being deleted; the operator tries again shortly.", staleLook))
	case busy(err), missing(err):
		return v.lookOnce(ctx, err)
	default:
		return v.refused(err)
	}
}

// sendPropose makes the change set. One of its name is there if it was executed, or if the operator died before it wrote it down;
// it goes first, as with https://github.com/aws/aws-cdk, which gives its change sets one name as well.
func (v *visit) sendPropose(ctx context.Context, body, url *string) (string, error) {
	input := &cloudformation.CreateChangeSetInput{
		StackName: aws.String(v.record.StackID), ChangeSetName: aws.String(changeSetName), ChangeSetType: types.ChangeSetTypeUpdate,
		Description:  aws.String("What the operator would change, for approval."),
		TemplateBody: body, TemplateURL: url, Parameters: parameters(v.desired.Parameters), Tags: v.tags(),
		Capabilities: v.capabilities(), RoleARN: optional(v.desired.RoleARN),
	}
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

// workingOut says that CloudFormation is computing a change set.
func (v *visit) workingOut() Result {
	return Result{State: InProgress, Reason: reasonProposing, Message: "CloudFormation works out what the change would do.", RequeueAfter: soonReview}
}

// read finds out what CloudFormation would do.
func (v *visit) read(ctx context.Context) step {
	found, err := v.describeChangeSet(ctx)
	switch {
	case noChangeSet(err):
		return v.outdate(ctx)
	case missing(err):
		return v.lookOnce(ctx, err)
	case err != nil:
		return v.failed(err)
	}
	if aws.ToString(found.StackId) != v.record.StackID { // A record can name any change set; this one is another stack's, and stays.
		v.record.ChangeSet, v.record.ProposedFrom, v.record.Proposal = "", "", ""
		return goOn()
	}
	switch found.Status {
	case types.ChangeSetStatusCreatePending, types.ChangeSetStatusCreateInProgress:
		return end(v.workingOut())
	case types.ChangeSetStatusFailed:
		return v.readFailed(ctx, aws.ToString(found.StatusReason))
	case types.ChangeSetStatusCreateComplete:
	case types.ChangeSetStatusDeletePending, types.ChangeSetStatusDeleteInProgress, types.ChangeSetStatusDeleteComplete, types.ChangeSetStatusDeleteFailed:
		return v.outdate(ctx)
	default:
		return v.outdate(ctx)
	}
	if found.ExecutionStatus != types.ExecutionStatusAvailable { // Another update went through, or somebody executed it.
		return v.outdate(ctx)
	}
	if !v.makePlan() {
		return goOn()
	}
	v.proposal = v.engine.propose(found.Changes, v.plan)
	v.proposal.Digest = v.proposal.digest(v.record.ProposedFrom)
	v.record.Proposal = v.proposal.Digest
	return goOn()
}

// describeChangeSet reads the change set with all its changes. With their values come the paths of the properties:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ResourceTargetDefinition.html
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

// readFailed ends the review of a change set that CloudFormation could not make: there is nothing to do, or it refuses.
func (v *visit) readFailed(ctx context.Context, reason string) step {
	if s := v.withdraw(ctx); s.done {
		return s
	}
	if changesNothing(reason) {
		return v.inPlace()
	}
	v.record.FailedDigest, v.record.StatusReason = v.digest, CleanReason(reason)
	return goOn()
}

// changesNothing is true for the reasons that CloudFormation gives for a change set without changes. Its own command line knows both:
// https://github.com/aws/aws-cli/blob/develop/awscli/customizations/cloudformation/deployer.py
func changesNothing(reason string) bool {
	return strings.Contains(reason, "The submitted information didn't contain changes") || strings.Contains(reason, "No updates are to be performed")
}

// outdate withdraws a change set that cannot be executed any more, and looks at the stack: something has happened to it.
func (v *visit) outdate(ctx context.Context) step {
	if s := v.withdraw(ctx); s.done {
		return s
	}
	v.deployed = nil
	return v.look(ctx)
}

// awaitApproval says whether an approval is lacking or is of something else.
func (v *visit) awaitApproval() Result {
	result := Result{State: Proposed, Reason: ReasonApprovalNeeded, Message: "A change of the stack waits for approval."}
	superseded := strings.Split(v.record.Superseded, ",")
	switch approved := v.desired.Review.Approved; {
	case slices.Contains(approved, v.record.Proposal):
		result.Reason, result.Message = ReasonApproved, "The change is approved and carried out in its turn."
	case slices.ContainsFunc(approved, func(digest string) bool { return slices.Contains(superseded, digest) }):
		result.Reason = ReasonApprovalStale
		result.Message = "What was approved is no longer what would be done: the object or the stack changed since. The change waits for approval."
	}
	return result
}

// execute carries out what was approved. Meanwhile the consent to a loss may have been withdrawn.
func (v *visit) execute(ctx context.Context) step {
	if !v.makePlan() {
		return goOn()
	}
	if refused := v.refusal(); refused != "" {
		return end(v.stall(reasonRefused, refused))
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
		return v.lookOnce(ctx, err)
	default:
		return v.refused(err)
	}
}

// sendExecute executes the change set. A change set brings no stack policy with it, so that goes before:
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
		return goOn()
	}
	if err := v.deleteChangeSet(ctx); err != nil {
		return v.failed(err)
	}
	if v.record.Proposal != "" {
		digests := append(ParseApproved(v.record.Superseded), v.record.Proposal)
		v.record.Superseded = strings.Join(digests[max(0, len(digests)-maxSuperseded):], ",")
	}
	v.record.ChangeSet, v.record.ProposedFrom, v.record.Proposal, v.proposal = "", "", "", nil
	return goOn()
}

// deleteChangeSet deletes the stack's change set of our name: by an ARN, any stack's could be meant. One that is gone, or is being
// executed, is none that waits.
func (v *visit) deleteChangeSet(ctx context.Context) error {
	_, err := v.cloudformation().DeleteChangeSet(ctx, &cloudformation.DeleteChangeSetInput{
		ChangeSetName: aws.String(changeSetName), StackName: aws.String(v.record.StackID),
	})
	if noChangeSet(err) || missing(err) || awsapi.Code(err) == "InvalidChangeSetStatus" {
		return nil
	}
	return err
}

// noChangeSet is true for CloudFormation's answer that a change set does not exist.
func noChangeSet(err error) bool { return awsapi.Code(err) == "ChangeSetNotFound" }

// Withdraw deletes the change set, if there is one, of a stack that is left to itself. It returns a [*ForeignError] if the stack is
// not the owner's; other errors are explained ([awsapi.Failure]).
func (e *Engine) Withdraw(ctx context.Context, target awsapi.Target, owner Owner, record Record) error {
	key := stackKey{target: target, name: owner.Name}
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
