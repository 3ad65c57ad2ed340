package cloudformation

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// maxChangeSets is the number of change sets of a stack. AWS documents the error, but
// not the number: this one is a guess.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateChangeSet.html
const maxChangeSets = 1000

func noChangeSet(name string) error {
	return wire.Errorf("ChangeSetNotFound", "ChangeSet [%s] does not exist", name).WithStatus(404)
}

func isNoChangeSet(err error) bool {
	var wireErr *wire.Error
	return errors.As(err, &wireErr) && wireErr.Code == "ChangeSetNotFound"
}

func (e *Engine) createChangeSet(ctx context.Context, in *awscfn.CreateChangeSetInput) (*awscfn.CreateChangeSetOutput, error) {
	name := aws.ToString(in.ChangeSetName)
	if !stackNamePattern.MatchString(name) || len(name) > 128 {
		return nil, invalid(
			"1 validation error detected: Value '%s' at 'changeSetName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*",
			name,
		)
	}
	kind := in.ChangeSetType
	if kind == "" {
		kind = types.ChangeSetTypeUpdate
	}
	if err := checkDriftAware(in, kind); err != nil {
		return nil, err
	}
	s, unlock, err := e.changeSetStack(ctx, in, kind)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if cs := s.changeSet(name); cs != nil {
		return nil, wire.Errorf("AlreadyExistsException", "ChangeSet %s already exists", name)
	}
	if len(s.changeSets) >= maxChangeSets {
		return nil, wire.Errorf("LimitExceededException", "ChangeSet limit exceeded for stack %s", s.id)
	}
	cs := &changeSet{
		id:   "arn:" + e.partition() + ":cloudformation:" + s.space.Region + ":" + s.space.Account + ":changeSet/" + name + "/" + newUUID(),
		name: name, description: aws.ToString(in.Description), kind: kind, created: e.now(), status: types.ChangeSetStatusCreatePending,
		execution: types.ExecutionStatusUnavailable, imports: in.ResourcesToImport, onFailure: in.OnStackFailure,
		roleARN: aws.ToString(in.RoleARN), rollback: in.RollbackConfiguration,
	}
	cs.revision, err = e.revise(ctx, s, input{
		templateBody: aws.ToString(in.TemplateBody), templateURL: aws.ToString(in.TemplateURL),
		usePrevious: aws.ToBool(in.UsePreviousTemplate),
		parameters:  given(in.Parameters), tags: in.Tags, keepTags: in.Tags == nil, capabilities: in.Capabilities,
		notificationARNs: in.NotificationARNs, keepTopics: in.NotificationARNs == nil, resourceTypes: in.ResourceTypes,
	}, s.revision)
	if err != nil {
		return nil, err
	}
	if err := s.checkImportRequest(cs, in); err != nil {
		return nil, err
	}
	if in.DeploymentMode != "" {
		call := wire.CallFrom(ctx)
		cs.reversal = &reversal{
			reader:  driftDetection{caller: call.Caller, accessKey: call.AccessKeyID},
			updated: s.updated, members: map[string]*actual{},
		}
	}
	if s.status == "" {
		if existing := s.space.add(s); existing != nil {
			return nil, wire.Errorf("AlreadyExistsException", "Stack [%s] already exists", s.name)
		}
		s.setStatus(types.StackStatusReviewInProgress, "User Initiated")
	}
	s.changeSets = append(s.changeSets, cs)
	s.post(func() { s.compute(cs) })
	return &awscfn.CreateChangeSetOutput{Id: aws.String(cs.id), StackId: aws.String(s.id)}, nil
}

// changeSetStack returns the locked stack of a new change set. It creates the stack if the type of
// the change set requires that.
func (e *Engine) changeSetStack(ctx context.Context, in *awscfn.CreateChangeSetInput, kind types.ChangeSetType) (*stack, func(), error) {
	sp := e.here(ctx)
	s := (*stack)(nil)
	if in.StackName != nil {
		s = sp.find(*in.StackName)
	}
	if s == nil {
		if kind == types.ChangeSetTypeUpdate {
			return nil, nil, invalid(noStack, aws.ToString(in.StackName))
		}
		if err := checkStackName(in.StackName); err != nil {
			return nil, nil, err
		}
		s = e.newStack(sp, *in.StackName)
		s.endpoint = wire.CallFrom(ctx).Endpoint()
		s.mu.Lock()
		return s, s.mu.Unlock, nil
	}
	s.mu.Lock()
	switch {
	case kind == types.ChangeSetTypeCreate && s.status != types.StackStatusReviewInProgress:
		defer s.mu.Unlock()
		return nil, nil, wire.Errorf(
			"AlreadyExistsException",
			"Stack [%s] already exists and cannot be created again with the changeSet [%s].",
			s.name,
			aws.ToString(in.ChangeSetName),
		)
	case kind == types.ChangeSetTypeImport && s.status == types.StackStatusReviewInProgress:
	case kind != types.ChangeSetTypeCreate && !updatable(s.status):
		defer s.mu.Unlock()
		return nil, nil, invalid("Stack:%s is in %s state and can not be updated.", s.id, s.status)
	}
	return s, s.mu.Unlock, nil
}

// findChangeSet returns a change set by its ID, or by name and stack.
func (e *Engine) findChangeSet(ctx context.Context, name, stackName *string) (*stack, *changeSet, func(), error) {
	wanted := aws.ToString(name)
	candidates := []*stack{}
	if stackName != nil {
		s := e.here(ctx).find(*stackName)
		if s == nil {
			return nil, nil, nil, invalid(noStack, *stackName)
		}
		candidates = append(candidates, s)
	} else {
		candidates = e.here(ctx).live()
	}
	for _, s := range candidates {
		s.mu.Lock()
		if cs := s.changeSet(wanted); cs != nil && (stackName != nil || cs.id == wanted) {
			return s, cs, s.mu.Unlock, nil
		}
		s.mu.Unlock()
	}
	return nil, nil, nil, noChangeSet(wanted)
}

func (e *Engine) describeChangeSet(ctx context.Context, in *awscfn.DescribeChangeSetInput) (*awscfn.DescribeChangeSetOutput, error) {
	s, cs, unlock, err := e.findChangeSet(ctx, in.ChangeSetName, in.StackName)
	if err != nil {
		return nil, err
	}
	defer unlock()
	part, next, err := page(cs.changes, in.NextToken, pageSize)
	if err != nil {
		return nil, err
	}
	out := &awscfn.DescribeChangeSetOutput{
		ChangeSetId: aws.String(cs.id), ChangeSetName: aws.String(cs.name), Description: optional(cs.description),
		StackId: aws.String(s.id), StackName: aws.String(s.name), CreationTime: aws.Time(cs.created),
		Status: cs.status, StatusReason: optional(cs.reason), ExecutionStatus: cs.execution, NextToken: next,
		Parameters: cs.revision.shownParameters(), Tags: cs.revision.tags, Capabilities: cs.revision.capabilities,
		NotificationARNs: cs.revision.notificationARNs, OnStackFailure: cs.onFailure, RollbackConfiguration: cs.rollback,
		IncludeNestedStacks: aws.Bool(false), Changes: []types.Change{},
	}
	if cs.reversal != nil {
		out.DeploymentMode = types.DeploymentModeRevertDrift
		if cs.status == types.ChangeSetStatusCreateComplete {
			out.StackDriftStatus = cs.reversal.stackStatus()
		}
	}
	for _, change := range part {
		out.Changes = append(out.Changes, types.Change{
			Type: types.ChangeTypeResource, ResourceChange: shownChange(change, aws.ToBool(in.IncludePropertyValues)),
		})
	}
	return out, nil
}

// shownChange omits values unless the request asks for them.
func shownChange(change types.ResourceChange, values bool) *types.ResourceChange {
	if values {
		return &change
	}
	change.BeforeContext, change.AfterContext, change.PreviousDeploymentContext = nil, nil, nil
	change.Details = slices.Clone(change.Details)
	for i := range change.Details {
		target := *change.Details[i].Target
		target.BeforeValue, target.AfterValue, target.Path, target.AttributeChangeType = nil, nil, nil, ""
		change.Details[i].Target = &target
	}
	return &change
}

func (e *Engine) executeChangeSet(ctx context.Context, in *awscfn.ExecuteChangeSetInput) (*awscfn.ExecuteChangeSetOutput, error) {
	s, cs, unlock, err := e.findChangeSet(ctx, in.ChangeSetName, in.StackName)
	if err != nil {
		return nil, err
	}
	defer unlock()
	again, err := s.claim(in.ClientRequestToken, "ExecuteChangeSet")
	if err != nil || again {
		return &awscfn.ExecuteChangeSetOutput{}, err
	}
	if in.DisableRollback != nil && cs.onFailure != "" {
		return nil, invalid("DisableRollback cannot be specified for a change set with OnStackFailure")
	}
	s.enter(ctx, in.ClientRequestToken, "ExecuteChangeSet")
	return &awscfn.ExecuteChangeSetOutput{}, s.execute(cs, in.DisableRollback, aws.ToBool(in.RetainExceptOnCreate))
}

func (e *Engine) deleteChangeSet(ctx context.Context, in *awscfn.DeleteChangeSetInput) (*awscfn.DeleteChangeSetOutput, error) {
	s, cs, unlock, err := e.findChangeSet(ctx, in.ChangeSetName, in.StackName)
	if isNoChangeSet(err) {
		return &awscfn.DeleteChangeSetOutput{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	// An executed change set can be deleted: the CDK deletes the one of the last deployment,
	// because all have the same name.
	// https://github.com/aws/aws-cdk-cli/blob/main/packages/%40aws-cdk/toolkit-lib/lib/api/deployments/deploy-stack.ts
	if cs.execution == types.ExecutionStatusExecuteInProgress {
		return nil, wire.Errorf(
			"InvalidChangeSetStatus", "ChangeSet [%s] cannot be deleted in its current status of [%s]", cs.id, cs.status,
		)
	}
	s.changeSets = slices.DeleteFunc(s.changeSets, func(c *changeSet) bool { return c == cs })
	return &awscfn.DeleteChangeSetOutput{}, nil
}

func (e *Engine) listChangeSets(ctx context.Context, in *awscfn.ListChangeSetsInput) (*awscfn.ListChangeSetsOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, noStack)
	if err != nil {
		return nil, err
	}
	defer unlock()
	part, next, err := page(s.changeSets, in.NextToken, pageSize)
	if err != nil {
		return nil, err
	}
	out := &awscfn.ListChangeSetsOutput{NextToken: next, Summaries: []types.ChangeSetSummary{}}
	for _, cs := range part {
		out.Summaries = append(out.Summaries, types.ChangeSetSummary{
			ChangeSetId: aws.String(cs.id), ChangeSetName: aws.String(cs.name), Description: optional(cs.description),
			StackId: aws.String(s.id), StackName: aws.String(s.name), CreationTime: aws.Time(cs.created),
			Status: cs.status, StatusReason: optional(cs.reason), ExecutionStatus: cs.execution, IncludeNestedStacks: aws.Bool(false),
		})
	}
	return out, nil
}
