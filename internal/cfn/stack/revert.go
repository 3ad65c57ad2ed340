package stack

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

// Revert sets a stack's resources back to its template, by a drift-aware change set. It waits until
// the stack has the desired template, and is held for approval as any other change is
// ([Desired.Review]). It is refused if it may lose data and [Desired.Allow] does not consent: also if it
// would re-create a stateful resource that was deleted outside of CloudFormation, because a new one is
// empty, and takes the name of the one that a user may want to restore.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/drift-aware-change-sets.html
type Revert struct {
	// Drift identifies the drift: [DriftRecord.Reported]. Each drift is reverted once.
	Drift string
	// Except are properties that must not be reverted. A change set reverts all drift of a stack, so that
	// the engine refuses one that contains them.
	Except []DriftException
}

// minRevertInterval is the time between two reverts of a stack. Without it, the operator and another
// client that sets the same property would update the stack without end.
const minRevertInterval = time.Hour

// revertKey identifies an attempt to revert: it is repeated only if the drift, the consent or the exceptions
// change.
func (d *Desired) revertKey() string {
	if d.Revert == nil || d.Revert.Drift == "" {
		return ""
	}
	parts := []string{"revert", d.Revert.Drift, strconv.FormatBool(d.Allow.Replace), strconv.FormatBool(d.Allow.Remove)}
	for _, e := range d.Revert.Except {
		parts = append(parts, e.String())
	}
	return token(parts...)
}

// reverting reports whether the next change of the stack reverts drift.
func (v *visit) reverting() bool {
	key := v.desired.revertKey()
	if v.goal != Present || key == "" || v.record.Reverted == key || v.record.Digest != v.digest || v.moved {
		return false
	}
	return v.revertIn() == 0
}

// revertIn is how long to wait for the next revert. A time in the future, which only a forged record
// has, does not count.
func (v *visit) revertIn() time.Duration {
	if v.record.RevertedAt == nil || v.record.RevertedAt.After(v.now()) {
		return 0
	}
	return max(0, v.record.RevertedAt.Add(minRevertInterval).Sub(v.now()))
}

// noRevert ends the attempt to revert: the reason is a sentence, empty if there is nothing to revert.
func (v *visit) noRevert(ctx context.Context, reason string) step {
	if s := v.withdraw(ctx); s.done {
		return s
	}
	v.record.Reverted, v.record.RevertFailure = v.desired.revertKey(), reason
	return proceed()
}

// proposeRevert sends CreateChangeSet for the revert.
func (v *visit) proposeRevert(ctx context.Context) step {
	body, url, s := v.templateArgument(ctx, v.desired.Template)
	if s.done {
		return s
	}
	s = v.proposed(ctx, &cloudformation.CreateChangeSetInput{
		StackName: aws.String(v.record.StackID), ChangeSetName: aws.String(changeSetName), ChangeSetType: types.ChangeSetTypeUpdate,
		DeploymentMode: types.DeploymentModeRevertDrift, Description: aws.String("The drift that the operator would revert."),
		TemplateBody: body, TemplateURL: url, Parameters: parameters(v.desired.Parameters), Tags: v.tags(),
		Capabilities: v.capabilities(), RoleARN: optional(v.desired.RoleARN),
	})
	if v.record.FailedDigest == v.digest { // CloudFormation refused the change set, not what is desired
		reason := v.record.StatusReason
		v.record.forgetFailure()
		v.record.StatusReason = ""
		return v.noRevert(ctx, reason)
	}
	if s.done {
		s.result.Reverting = true
	}
	return s
}

// readRevert checks that the change set changes nothing that is excepted and loses nothing without
// consent.
func (v *visit) readRevert(ctx context.Context, found *cloudformation.DescribeChangeSetOutput) step {
	if found.DeploymentMode != types.DeploymentModeRevertDrift {
		return v.outdate(ctx)
	}
	found.Changes = slices.DeleteFunc(found.Changes, func(c types.Change) bool {
		return c.ResourceChange != nil && c.ResourceChange.Action == types.ChangeActionSyncWithActual
	})
	v.proposal = v.engine.propose(found.Changes, &diff.Plan{})
	refused := v.excepted(found.Changes)
	if refused == "" {
		refused = v.losses(found.Changes)
	}
	if refused != "" {
		return v.noRevert(ctx, refused)
	}
	v.proposal.Digest = v.proposal.digest(v.record.ProposedFrom)
	v.record.Proposal = v.proposal.Digest
	return proceed()
}

// excepted returns the refusal of a change set that changes an excepted property, or a capacity that
// Application Auto Scaling sets, or "".
func (v *visit) excepted(changes []types.Change) string {
	capacities := scaledIn(v.desired.Template)
	for i := range changes {
		change := changes[i].ResourceChange
		if change == nil {
			continue
		}
		id := aws.ToString(change.LogicalResourceId)
		paths := []string{""}
		for j := range change.Details {
			if target := change.Details[j].Target; target != nil && target.AttributeChangeType != types.AttributeChangeTypeSyncWithActual {
				paths = append(paths, pathOf(target))
			}
		}
		if refusal := capacities.refusal(id, paths); refusal != "" {
			return refusal
		}
		for _, e := range v.desired.Revert.Except {
			for _, path := range paths {
				if e.touches(id, path) {
					return fmt.Sprintf("CloudFormation would also revert %s, which is excepted, and cannot leave it out of a change set. "+
						"The operator reverts nothing. Undo the other drift in AWS, or remove the exception.", e.String())
				}
			}
		}
	}
	return ""
}

// losses returns the refusals of the policy, as sentences, or "".
func (v *visit) losses(changes []types.Change) string {
	plan, sentences := &diff.Plan{}, []string(nil)
	for i := range changes {
		change := changes[i].ResourceChange
		if change == nil || !schema.IsStateful(aws.ToString(change.ResourceType)) {
			continue
		}
		one := diff.Change{
			LogicalID: aws.ToString(change.LogicalResourceId), Type: aws.ToString(change.ResourceType),
			Stateful: true, OldResource: "Delete",
		}
		shown := v.proposal.change(one.LogicalID)
		switch {
		case change.ResourceDriftStatus == types.StackResourceDriftStatusDeleted:
			if !v.desired.Allow.Replace {
				sentences = append(sentences, fmt.Sprintf("%s (%s) was deleted outside of CloudFormation, and a new one would be empty. "+
					"Restore it, or accept an empty one with the annotation %s.", one.LogicalID, one.Type, v.desired.Allow.Asks(policy.AllowReplace)))
			}
			continue
		case change.Action == types.ChangeActionRemove:
			one.Action = diff.Remove
		case replaces(change):
			one.Action = diff.Replace
		case change.Replacement == types.ReplacementConditional && (shown == nil || !shown.follows):
			one.Action = diff.MayReplace
		default:
			continue
		}
		plan.Changes = append(plan.Changes, one)
	}
	for _, refused := range policy.Check(plan, v.desired.Allow) {
		sentences = append(sentences, refused.Message)
	}
	return strings.Join(sentences, " ")
}

// executeRevert executes the change set that was read in this visit.
func (v *visit) executeRevert(ctx context.Context) step {
	if s := v.prepare(ctx); s.done {
		return s
	}
	key := v.desired.revertKey()
	sent := token("revert", v.record.StackID, key, v.record.Changed)
	err := v.sendExecute(ctx, sent)
	switch {
	case err == nil, awsapi.Code(err) == "TokenAlreadyExistsException":
		v.record.ChangeSet, v.record.ProposedFrom, v.record.Proposal, v.record.Superseded = "", "", "", ""
		v.record.Reverted, v.record.RevertedAt, v.record.RevertFailure, v.record.Reverting = key, new(v.now().UTC()), "", true
		return v.updating(sent)
	case noChangeSet(err), awsapi.Code(err) == "InvalidChangeSetStatus":
		return v.outdate(ctx)
	case busy(err), missing(err):
		return v.refreshOnce(ctx, err)
	case awsapi.Explain(err).Kind == awsapi.Rejected:
		return v.noRevert(ctx, awsapi.Sentence(awsapi.AWSMessage(err)))
	default:
		return v.failed(err)
	}
}

// change returns the change of a resource, nil if there is none.
func (p *Proposal) change(id string) *ResourceChange {
	for i := range p.Changes {
		if p.Changes[i].Resource == id {
			return &p.Changes[i]
		}
	}
	return nil
}

// DriftException is a property, or a whole resource, whose drift neither counts nor is reverted.
type DriftException struct {
	// Resource is the logical ID; Path the property as [DriftedProperty.Path] has it, or one above it. It
	// is empty for the whole resource.
	Resource, Path string
}

// String returns the exception as ParseDriftExceptions reads it.
func (e DriftException) String() string { return strings.TrimSuffix(e.Resource+"/"+e.Path, "/") }

// touches reports whether the exception is of a property, of one within it or of one that contains it.
// The empty path is the resource as a whole.
func (e DriftException) touches(resource, path string) bool {
	return e.Resource == resource && (e.Path == "" || path != "" && overlap(e.Path, path))
}

// ParseDriftExceptions parses a comma-separated list of logical IDs and paths, such as
// "Queue/VisibilityTimeout, Topic". The error is a sentence that names what cannot be parsed.
func ParseDriftExceptions(value string) ([]DriftException, error) {
	var exceptions []DriftException
	for word := range strings.SplitSeq(value, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		resource, path, _ := strings.Cut(strings.Trim(word, "/"), "/")
		if !isLogicalID(resource) || strings.ContainsAny(path, " \t\n") {
			return nil, fmt.Errorf("%q is no property of a resource; write the logical ID and the path as status.drift has them, such as Queue/VisibilityTimeout",
				clip(word, maxDriftText))
		}
		exceptions = append(exceptions, DriftException{Resource: resource, Path: path})
	}
	return exceptions, nil
}

// isLogicalID reports whether a text may be a logical ID: "The logical ID must be alphanumeric".
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/resources-section-structure.html
func isLogicalID(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// unexcepted returns what a detection found without the exceptions.
func unexcepted(found []types.StackResourceDrift, except []DriftException) []types.StackResourceDrift {
	var left []types.StackResourceDrift
	for i := range found {
		one := found[i]
		id := aws.ToString(one.LogicalResourceId)
		if slices.ContainsFunc(except, func(e DriftException) bool { return e.touches(id, "") }) {
			continue
		}
		all := len(one.PropertyDifferences)
		one.PropertyDifferences = slices.DeleteFunc(slices.Clone(one.PropertyDifferences), func(p types.PropertyDifference) bool {
			path := strings.TrimPrefix(aws.ToString(p.PropertyPath), "/")
			return slices.ContainsFunc(except, func(e DriftException) bool { return e.Resource == id && within(path, e.Path) })
		})
		if all > 0 && len(one.PropertyDifferences) == 0 {
			continue
		}
		left = append(left, one)
	}
	return left
}

// within reports whether a path is another one or below it.
func within(path, above string) bool { return path == above || strings.HasPrefix(path, above+"/") }
