package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Limits of a template in a request and in S3:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
const (
	maxTemplateBody   = 51_200
	maxTemplateObject = 1_048_576
)

// create sends CreateStack.
func (v *visit) create(ctx context.Context) step {
	if v.record.FailedDigest != v.digest {
		v.record.Attempts = 0
	}
	t, s := v.creation(ctx)
	if s.done {
		return s
	}
	if s := v.prepare(ctx); s.done {
		return s
	}
	body, url, s := v.templateArgument(ctx, t)
	if s.done {
		return s
	}
	sent := token("create", v.desired.Name, v.digest, v.desired.Salt, v.record.StackID, strconv.Itoa(v.record.Attempts))
	given := v.desired.Parameters
	if t != v.desired.Template {
		given = nil // the template of the stack before the import has none
	}
	out, err := v.sendCreate(ctx, body, url, given, sent)
	if awsapi.Code(err) == "TokenAlreadyExistsException" {
		// The token was used for a stack that is deleted now; for an existing one the answer is
		// AlreadyExists.
		sent = token(sent, v.now().String())
		out, err = v.sendCreate(ctx, body, url, given, sent)
	}
	switch {
	case err == nil:
		v.record.StackID = aws.ToString(out.StackId)
		v.record.Digest, v.record.PendingDigest, v.record.Changed, v.record.OutputsDigest = "", v.desired.digestWith(t.Digest()), "", ""
		v.record.TerminationProtection = v.desired.TerminationProtection
		v.record.DeleteAttempts, v.record.RollbackAttempts, v.record.RollbackFor = 0, 0, ""
		again := v.engine.watchlist.has(v.record.StackID)
		v.began(types.StackStatusCreateInProgress, sent)
		v.engine.memory.put(
			memoryKey{stackID: v.record.StackID, pending: true}, v.record.PendingDigest,
			diff.Side{Template: t, Parameters: given, Tags: v.desired.Tags},
		)
		v.engine.watchlist.own(v.record.StackID, v.key.place, v.owner.digest())
		v.engine.journal.create(v.key, creation{id: v.record.StackID, owner: v.owner.digest(), at: v.now()})
		// An operator that died before it recorded the creation had sent it, so its end may have
		// been reported already.
		if again {
			return v.refresh(ctx)
		}
		return end(v.waitForCloudFormation())
	case awsapi.Code(err) == "AlreadyExistsException":
		return v.adopt(ctx)
	default:
		return v.refused(err)
	}
}

func (v *visit) sendCreate(
	ctx context.Context, body, url *string, given map[string]string, sent string,
) (*cloudformation.CreateStackOutput, error) {
	return v.cloudformation().CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: aws.String(v.desired.Name), TemplateBody: body, TemplateURL: url, ClientRequestToken: aws.String(sent),
		Parameters: parameters(given), Tags: v.tags(), Capabilities: v.capabilities(),
		EnableTerminationProtection: aws.Bool(v.desired.TerminationProtection), RoleARN: optional(v.desired.RoleARN),
		StackPolicyBody: optional(v.desired.Policy),
	})
}

// adopt takes over an existing stack that belongs to the object: the record of its creation was
// lost.
func (v *visit) adopt(ctx context.Context) step {
	v.record.StackID, v.record.Status = "", string(StatusNone)
	v.record.Digest, v.record.PendingDigest, v.record.Changed = "", "", ""
	if s := v.refresh(ctx); s.done {
		return s
	}
	if v.found == nil {
		return end(v.wait(reasonUnsettled, "CloudFormation is still releasing the stack's name; the operator retries shortly.", stalePoll))
	}
	return proceed()
}

// update compares the templates, checks the policy, and sends UpdateStack.
func (v *visit) update(ctx context.Context) step {
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
	body, url, s := v.templateArgument(ctx, v.desired.Template)
	if s.done {
		return s
	}
	sent := v.updateToken(v.record.Changed)
	_, err := v.cloudformation().UpdateStack(ctx, &cloudformation.UpdateStackInput{
		StackName: aws.String(v.record.StackID), TemplateBody: body, TemplateURL: url, ClientRequestToken: aws.String(sent),
		Parameters: parameters(v.desired.Parameters), Tags: v.tags(), Capabilities: v.capabilities(), RoleARN: optional(v.desired.RoleARN),
		StackPolicyBody: optional(v.desired.Policy), StackPolicyDuringUpdateBody: optional(v.desired.consent()),
	})
	switch {
	case err == nil, awsapi.Code(err) == "TokenAlreadyExistsException":
		return v.updating(sent)
	case nothingToUpdate(err):
		return v.inPlace()
	case busy(err), missing(err):
		return v.refreshOnce(ctx, err)
	default:
		return v.refused(err)
	}
}

// prepare lets the caller create what the stack needs.
func (v *visit) prepare(ctx context.Context) step {
	if v.desired.Prepare == nil {
		return proceed()
	}
	err := v.desired.Prepare(ctx)
	if foreign, ok := errors.AsType[*ForeignError](err); ok {
		return end(foreign.result(v.record))
	}
	if err != nil {
		return v.failed(err)
	}
	return proceed()
}

// allowAll is a stack policy that protects nothing.
const allowAll = `{"Statement":[{"Effect":"Allow","Principal":"*","Action":"Update:*","Resource":"*"}]}`

// consent returns the stack policy for one update to which the user consented, or "" for the usual
// one: otherwise the policy would refuse the change. What the consent covers has been checked
// before.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/protect-stack-resources.html#protect-stack-resources-updating
func (d *Desired) consent() string {
	if d.Policy == "" || !d.Allow.Replace && !d.Allow.Remove && len(d.Allow.Gone) == 0 {
		return ""
	}
	return allowAll
}

// updating records that an update was sent.
func (v *visit) updating(sent string) step {
	v.sent = true
	v.record.PendingDigest, v.record.StatusReason = v.digest, ""
	v.record.RollbackAttempts, v.record.RollbackFor = 0, ""
	v.began(types.StackStatusUpdateInProgress, sent)
	v.engine.memory.put(memoryKey{stackID: v.record.StackID, pending: true}, v.digest, v.desired.side())
	return end(v.waitForCloudFormation())
}

// inPlace records that an update would change nothing.
func (v *visit) inPlace() step {
	v.record.Digest, v.record.FailedDigest, v.record.StatusReason = v.digest, "", ""
	v.engine.memory.put(memoryKey{stackID: v.record.StackID}, v.digest, v.desired.side())
	return proceed()
}

// updateToken is the token of the update that applies the desired digest to the stack as of that
// change. After any other change the token differs, so that an edit that is undone and repeated is
// sent again.
func (v *visit) updateToken(changed string) string {
	return token("update", v.record.StackID, v.digest, changed)
}

// nothingToUpdate reports whether CloudFormation answered that an update changes nothing, which is
// a success.
func nothingToUpdate(err error) bool {
	return awsapi.Code(err) == "ValidationError" && strings.Contains(awsapi.AWSMessage(err), "No updates are to be performed")
}

// busyMarks are parts of CloudFormation's errors for calls that the stack's status does not allow:
// "Stack:arn:… is in UPDATE_IN_PROGRESS state and can not be updated.".
var busyMarks = []string{
	" state and can not be",
	" state and cannot be",
	"cannot be deleted while in status",
	"can not be deleted while in status",
}

func busy(err error) bool {
	if code := awsapi.Code(err); code != "ValidationError" && code != "OperationInProgressException" {
		return false
	}
	return awsapi.Code(err) == "OperationInProgressException" ||
		slices.ContainsFunc(busyMarks, func(mark string) bool { return strings.Contains(awsapi.AWSMessage(err), mark) })
}

// refreshOnce reads a stack whose state was unexpected, so that the next action is decided from its
// current state. A second unexpected answer in one visit ends the visit.
func (v *visit) refreshOnce(ctx context.Context, err error) step {
	if v.surprised {
		return v.failed(err)
	}
	v.surprised, v.deployed = true, nil // it may have changed since it was read
	return v.refresh(ctx)
}

// refused handles a call that CloudFormation rejected permanently: it is not sent again. Errors
// that can be fixed without changing the object (permissions, credentials, quotas) are retried.
func (v *visit) refused(err error) step {
	explained := awsapi.Explain(err)
	if explained.Kind != awsapi.Rejected {
		return v.failed(err)
	}
	v.record.FailedDigest, v.record.StatusReason = v.digest, awsapi.Sentence(awsapi.AWSMessage(err))
	if awsapi.Code(err) == "InsufficientCapabilitiesException" {
		v.record.StatusReason += " The operator acknowledges only the capabilities in spec.capabilities of the kind's ModelDefinition."
	}
	v.record.Attempts = v.desired.maxAttempts()
	return proceed()
}

// keep ensures what is not part of an update, and reads the outputs if they were never read.
func (v *visit) keep(ctx context.Context) step {
	if v.desired.TerminationProtection && !v.record.TerminationProtection {
		if !v.trusted() {
			return v.refresh(ctx)
		}
		if s := v.protect(ctx, true); s.done {
			return s
		}
	}
	if v.record.OutputsDigest == "" && !v.refreshed {
		return v.refresh(ctx)
	}
	if v.record.FailedDigest != "" || v.record.Retries > 0 {
		v.record.forgetFailure()
		v.record.StatusReason = ""
	}
	v.engine.denials.clear(v.key)
	result := Result{State: Ready, Reason: reasonReady, Message: readyMessage(&v.record)}
	if v.record.Reverted != v.desired.revertKey() { // the next revert is not due yet
		result.RequeueAfter = v.revertIn()
	}
	return end(result)
}

func (v *visit) protect(ctx context.Context, on bool) step {
	_, err := v.cloudformation().UpdateTerminationProtection(ctx, &cloudformation.UpdateTerminationProtectionInput{
		StackName: aws.String(v.record.StackID), EnableTerminationProtection: aws.Bool(on),
	})
	if err != nil {
		return v.failed(err)
	}
	v.record.TerminationProtection = on
	return proceed()
}

// rollback continues a failed rollback, or starts one for an update that failed without.
func (v *visit) rollback(ctx context.Context, action Action) step {
	if v.goal == Present && v.record.RollbackFor != v.digest {
		v.record.RollbackAttempts, v.record.RollbackFor = 0, v.digest
	}
	var skip []string
	if action == ActionSkip {
		failures, err := v.refusing(ctx, types.ResourceStatusUpdateFailed)
		if err != nil {
			return v.failed(err)
		}
		for _, one := range failures {
			skip = append(skip, one.LogicalID)
		}
	}
	sent := token(string(action), v.record.StackID, v.record.Token, strconv.Itoa(v.record.RollbackAttempts))
	err := v.sendRollback(ctx, action, skip, sent)
	switch {
	case err == nil:
		v.record.RollbackAttempts++
		v.began(types.StackStatusUpdateRollbackInProgress, sent)
		return end(v.waitForCloudFormation())
	case busy(err), missing(err):
		return v.refreshOnce(ctx, err)
	case awsapi.Explain(err).Kind == awsapi.Rejected:
		v.record.RollbackAttempts = maxRollbackAttempts
		v.record.StatusReason = strings.TrimSpace(v.record.StatusReason + " " + awsapi.Sentence(awsapi.AWSMessage(err)))
		return proceed()
	default:
		return v.failed(err)
	}
}

// askSkip names the resources that a rollback would have to skip, and asks for consent.
func (v *visit) askSkip(ctx context.Context) step {
	failures, err := v.refusing(ctx, types.ResourceStatusUpdateFailed)
	if err != nil {
		return v.failed(err)
	}
	names := make([]string, 0, len(failures))
	for _, one := range failures {
		names = append(names, one.LogicalID)
	}
	return end(
		v.stall(
			reasonSkip,
			fmt.Sprintf(
				"The update and its rollback failed in %s. %s Fix these resources and change the object, or annotate it with %s. "+
					"The rollback then skips these resources, which may differ from the template afterwards.",
				listed(names),
				refusals(failures, v.record.StatusReason),
				v.desired.Allow.Asks(policy.AllowSkip),
			),
		),
	)
}

func (v *visit) sendRollback(ctx context.Context, action Action, skip []string, sent string) error {
	if action == ActionRollback {
		_, err := v.cloudformation().RollbackStack(ctx, &cloudformation.RollbackStackInput{
			StackName: aws.String(v.record.StackID), ClientRequestToken: aws.String(sent), RoleARN: optional(v.roleARN()),
		})
		return err
	}
	_, err := v.cloudformation().ContinueUpdateRollback(ctx, &cloudformation.ContinueUpdateRollbackInput{
		StackName: aws.String(v.record.StackID), ClientRequestToken: aws.String(sent), RoleARN: optional(v.roleARN()),
		ResourcesToSkip: skip,
	})
	return err
}

func (v *visit) roleARN() string {
	if v.goal == Absent {
		return v.deletion.RoleARN
	}
	return v.desired.RoleARN
}

// templateArgument returns the template as the body of a request or, if it is too large, as the URL
// of an S3 object.
func (v *visit) templateArgument(ctx context.Context, t *template.Template) (body, url *string, s step) {
	data := t.JSON()
	if len(data) > maxTemplateBody { // indentation is for readers and half of the size
		data = t.CanonicalJSON()
	}
	if len(data) <= maxTemplateBody {
		return aws.String(string(data)), nil, proceed()
	}
	bucket := v.engine.options.TemplateBucket
	switch {
	case len(data) > maxTemplateObject:
		return nil, nil, end(
			v.stall(
				reasonTooBig,
				fmt.Sprintf(
					"The template has %d bytes; CloudFormation accepts at most %d. Split it into several templates.",
					len(data),
					maxTemplateObject,
				),
			),
		)
	case bucket == "":
		return nil, nil, end(v.stall(reasonTooBig, fmt.Sprintf(
			"The template has %d bytes, more than the %d that fit into a request. Set the operator's flag --template-bucket to a bucket for templates.",
			len(data),
			maxTemplateBody,
		)))
	}
	key := "aws-operator/templates/" + t.Digest() + ".json"
	_, err := v.engine.options.Clients.S3(v.target).PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String(bucket), Key: aws.String(key), Body: bytes.NewReader(data), ContentType: aws.String("application/json"),
	})
	if err != nil {
		return nil, nil, v.failed(err)
	}
	return nil, aws.String(v.engine.options.Clients.ObjectURL(v.target, bucket, key)), proceed()
}

// capabilities are exactly those that the caller acknowledges: the content of a template is no
// consent.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
func (v *visit) capabilities() []types.Capability {
	acknowledged := make([]types.Capability, 0, len(v.desired.Capabilities))
	for _, name := range slices.Sorted(slices.Values(v.desired.Capabilities)) {
		acknowledged = append(acknowledged, types.Capability(name))
	}
	return acknowledged
}

func parameters(values map[string]string) []types.Parameter {
	made := make([]types.Parameter, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		made = append(made, types.Parameter{ParameterKey: aws.String(key), ParameterValue: aws.String(values[key])})
	}
	return made
}

func tags(values map[string]string) []types.Tag {
	made := make([]types.Tag, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		made = append(made, types.Tag{Key: aws.String(key), Value: aws.String(values[key])})
	}
	return made
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
