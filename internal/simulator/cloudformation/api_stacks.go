package cloudformation

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/eval"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

var stackNamePattern = regexp.MustCompile(`^[a-zA-Z][-a-zA-Z0-9]*$`)

func checkStackName(name *string) error {
	switch {
	case name == nil || *name == "":
		return invalid("1 validation error detected: Value null at 'stackName' failed to satisfy constraint: Member must not be null")
	case !stackNamePattern.MatchString(*name):
		return invalid(
			"1 validation error detected: Value '%s' at 'stackName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*",
			*name,
		)
	case len(*name) > 128:
		return invalid(
			"1 validation error detected: Value '%s' at 'stackName' failed to satisfy constraint: Member must have length less than or equal to 128",
			*name,
		)
	}
	return nil
}

func given(parameters []types.Parameter) map[string]eval.Given {
	out := make(map[string]eval.Given, len(parameters))
	for _, p := range parameters {
		out[aws.ToString(p.ParameterKey)] = eval.Given{Value: aws.ToString(p.ParameterValue), UsePrevious: aws.ToBool(p.UsePreviousValue)}
	}
	return out
}

// claim records a request token. A repeated token of the same operation is a retry and gets the
// same response; for another operation it is an error.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
func (s *stack) claim(token *string, operation string) (again bool, err error) {
	if token == nil {
		s.token = ""
		return false, nil
	}
	before, seen := s.tokens[*token]
	switch {
	case seen && before == operation:
		return true, nil
	case seen:
		return false, wire.Errorf("TokenAlreadyExistsException", "Token already exists: %s", *token)
	}
	return false, nil
}

func (s *stack) enter(ctx context.Context, token *string, operation string) {
	call := wire.CallFrom(ctx)
	s.principal, s.accessKey = call.Caller, call.AccessKeyID
	s.token = aws.ToString(token)
	if token != nil {
		s.tokens[*token] = operation
	}
}

func (e *Engine) createStack(ctx context.Context, in *awscfn.CreateStackInput) (*awscfn.CreateStackOutput, error) {
	if err := checkStackName(in.StackName); err != nil {
		return nil, err
	}
	if in.DisableRollback != nil && in.OnFailure != "" {
		return nil, invalid("Only one of DisableRollback and OnFailure can be specified, not both")
	}
	sp := e.here(ctx)
	if existing := sp.find(*in.StackName); existing != nil {
		return existing.createdBefore(in.ClientRequestToken)
	}
	s := e.newStack(sp, *in.StackName)
	s.endpoint = wire.CallFrom(ctx).Endpoint()
	rev, err := e.revise(ctx, s, input{
		templateBody: aws.ToString(in.TemplateBody), templateURL: aws.ToString(in.TemplateURL), parameters: given(in.Parameters),
		tags: in.Tags, capabilities: in.Capabilities, notificationARNs: in.NotificationARNs, resourceTypes: in.ResourceTypes,
	}, nil)
	if err != nil {
		return nil, err
	}
	policy, err := e.policyText(ctx, in.StackPolicyBody, in.StackPolicyURL)
	if err != nil {
		return nil, err
	}
	s.settings = settings{
		disableRollback: aws.ToBool(in.DisableRollback) || in.OnFailure == types.OnFailureDoNothing, onFailure: in.OnFailure,
		timeoutMinutes: aws.ToInt32(in.TimeoutInMinutes), policy: policy, roleARN: aws.ToString(in.RoleARN),
		rollbackConfiguration: in.RollbackConfiguration,
		retainExceptOnCreate:  aws.ToBool(in.RetainExceptOnCreate),
	}
	s.protected.Store(aws.ToBool(in.EnableTerminationProtection))
	s.revision = rev
	s.enter(ctx, in.ClientRequestToken, "CreateStack")
	s.mu.Lock()
	defer s.mu.Unlock()
	if existing := sp.add(s); existing != nil {
		return existing.createdBefore(in.ClientRequestToken)
	}
	s.beginCreate()
	return &awscfn.CreateStackOutput{StackId: aws.String(s.id)}, nil
}

// createdBefore responds to the creation of a stack whose name exists.
func (s *stack) createdBefore(token *string) (*awscfn.CreateStackOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token != nil && s.tokens[*token] == "CreateStack" {
		return &awscfn.CreateStackOutput{StackId: aws.String(s.id)}, nil
	}
	return nil, wire.Errorf("AlreadyExistsException", "Stack [%s] already exists", s.name)
}

// policyText returns a stack policy from its text or URL.
func (e *Engine) policyText(ctx context.Context, body, address *string) (string, error) {
	text := aws.ToString(body)
	if address != nil {
		if body != nil {
			return "", invalid("You cannot specify both StackPolicyURL and StackPolicyBody")
		}
		fetched, err := e.fetch(ctx, *address)
		if err != nil {
			return "", err
		}
		text = fetched
	}
	if text == "" {
		return "", nil
	}
	_, err := parsePolicy(text)
	return text, err
}

// updatable reports whether a stack in the status can be updated.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html
func updatable(status types.StackStatus) bool {
	return slices.Contains([]types.StackStatus{
		types.StackStatusCreateComplete, types.StackStatusUpdateComplete, types.StackStatusUpdateRollbackComplete,
		types.StackStatusImportComplete, types.StackStatusImportRollbackComplete, types.StackStatusUpdateFailed,
		types.StackStatusCreateFailed,
	}, status)
}

func (e *Engine) updateStack(ctx context.Context, in *awscfn.UpdateStackInput) (*awscfn.UpdateStackOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, noStack)
	if err != nil {
		return nil, err
	}
	defer unlock()
	again, err := s.claim(in.ClientRequestToken, "UpdateStack")
	if err != nil || again {
		return &awscfn.UpdateStackOutput{StackId: aws.String(s.id)}, err
	}
	if !s.live() {
		return nil, invalid(noStack, *in.StackName)
	}
	if !updatable(s.status) {
		return nil, invalid("Stack:%s is in %s state and can not be updated.", s.id, s.status)
	}
	rev, err := e.revise(ctx, s, input{
		templateBody: aws.ToString(in.TemplateBody), templateURL: aws.ToString(in.TemplateURL),
		usePrevious: aws.ToBool(in.UsePreviousTemplate),
		parameters:  given(in.Parameters), tags: in.Tags, keepTags: in.Tags == nil, capabilities: in.Capabilities,
		notificationARNs: in.NotificationARNs, keepTopics: in.NotificationARNs == nil, resourceTypes: in.ResourceTypes,
	}, s.revision)
	if err != nil {
		return nil, err
	}
	policy, err := e.policyText(ctx, in.StackPolicyBody, in.StackPolicyURL)
	if err != nil {
		return nil, err
	}
	temporary, err := e.policyText(ctx, in.StackPolicyDuringUpdateBody, in.StackPolicyDuringUpdateURL)
	if err != nil {
		return nil, err
	}
	if err := s.sameTypes(rev); err != nil {
		return nil, err
	}
	if s.noChange(rev) {
		return nil, invalid("No updates are to be performed.")
	}
	if policy != "" {
		s.settings.policy = policy
	}
	if in.RoleARN != nil {
		s.settings.roleARN = *in.RoleARN
	}
	if in.RollbackConfiguration != nil {
		s.settings.rollbackConfiguration = in.RollbackConfiguration
	}
	s.settings.policyDuringUpdate = temporary
	s.settings.disableRollback = aws.ToBool(in.DisableRollback)
	s.settings.retainExceptOnCreate = aws.ToBool(in.RetainExceptOnCreate)
	s.enter(ctx, in.ClientRequestToken, "UpdateStack")
	s.beginUpdate(rev)
	return &awscfn.UpdateStackOutput{StackId: aws.String(s.id)}, nil
}

// sameTypes rejects an update that changes the type of a resource.
func (s *stack) sameTypes(rev *revision) error {
	var changed []string
	for id, r := range rev.template.Resources {
		if m := s.members[id]; m != nil && m.physicalID != "" && m.kind != r.Type && m.status != types.ResourceStatusDeleteComplete {
			changed = append(changed, id)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	slices.Sort(changed)
	return invalid(
		"Update of resource type is not permitted. The new template modifies resource type of the following resources: [%s]",
		strings.Join(changed, ", "),
	)
}

func (e *Engine) deleteStack(ctx context.Context, in *awscfn.DeleteStackInput) (*awscfn.DeleteStackOutput, error) {
	if name := aws.ToString(in.StackName); name != "" && e.here(ctx).find(name) == nil {
		return &awscfn.DeleteStackOutput{}, nil // deleting a deleted stack succeeds
	}
	s, unlock, err := e.theStack(ctx, in.StackName, noStackWithID)
	if err != nil {
		return nil, err
	}
	defer unlock()
	again, err := s.claim(in.ClientRequestToken, "DeleteStack")
	if err != nil || again && s.status != types.StackStatusDeleteFailed {
		return &awscfn.DeleteStackOutput{}, err
	}
	if !s.live() || s.status == types.StackStatusDeleteInProgress {
		return &awscfn.DeleteStackOutput{}, nil
	}
	if err := s.checkDeletable(in); err != nil {
		return nil, err
	}
	if in.RoleARN != nil {
		s.settings.roleARN = *in.RoleARN
	}
	d := &deletion{retain: map[string]bool{}, force: in.DeletionMode == types.DeletionModeForceDeleteStack}
	for _, id := range in.RetainResources {
		d.retain[id] = true
	}
	s.settings.deletionMode = in.DeletionMode
	s.enter(ctx, in.ClientRequestToken, "DeleteStack")
	s.beginDelete(d)
	return &awscfn.DeleteStackOutput{}, nil
}

func (s *stack) checkDeletable(in *awscfn.DeleteStackInput) error {
	if s.root().protected.Load() {
		return invalid("Stack [%s] cannot be deleted while TerminationProtection is enabled", s.name)
	}
	busy := strings.HasSuffix(string(s.status), "_IN_PROGRESS") &&
		s.status != types.StackStatusCreateInProgress && s.status != types.StackStatusReviewInProgress &&
		s.status != types.StackStatusRollbackInProgress
	if busy {
		return invalid("Stack [%s] cannot be deleted while in status %s", s.id, s.status)
	}
	if s.status != types.StackStatusDeleteFailed && (len(in.RetainResources) > 0 || in.DeletionMode == types.DeletionModeForceDeleteStack) {
		return invalid("Invalid operation on stack [%s]. Resources can be retained only for a stack in the DELETE_FAILED state.", s.id)
	}
	for _, id := range in.RetainResources {
		if s.members[id] == nil {
			return invalid("The specified resources to retain [%s] do not belong to stack %s", id, s.name)
		}
	}
	if name, users := s.space.inUse(s); name != "" {
		return invalid("Export %s cannot be deleted as it is in use by %s", name, users)
	}
	return nil
}

func (e *Engine) cancelUpdateStack(ctx context.Context, in *awscfn.CancelUpdateStackInput) (*awscfn.CancelUpdateStackOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, noStack)
	if err != nil {
		return nil, err
	}
	defer unlock()
	again, err := s.claim(in.ClientRequestToken, "CancelUpdateStack")
	if err != nil || again {
		return &awscfn.CancelUpdateStackOutput{}, err
	}
	if s.status != types.StackStatusUpdateInProgress {
		return nil, invalid("CancelUpdateStack cannot be called from current stack status")
	}
	s.enter(ctx, in.ClientRequestToken, "CancelUpdateStack")
	s.cancelUpdate()
	return &awscfn.CancelUpdateStackOutput{}, nil
}

func (e *Engine) continueUpdateRollback(
	ctx context.Context, in *awscfn.ContinueUpdateRollbackInput,
) (*awscfn.ContinueUpdateRollbackOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, noStack)
	if err != nil {
		return nil, err
	}
	defer unlock()
	again, err := s.claim(in.ClientRequestToken, "ContinueUpdateRollback")
	if err != nil || again {
		return &awscfn.ContinueUpdateRollbackOutput{}, err
	}
	if s.status != types.StackStatusUpdateRollbackFailed {
		return nil, invalid("Stack:%s is in %s state and can not be continued to update rollback.", s.id, s.status)
	}
	skip := map[string]bool{}
	for _, id := range in.ResourcesToSkip {
		id = strings.TrimPrefix(id, s.name+".")
		if m := s.members[id]; m == nil || m.status != types.ResourceStatusUpdateFailed {
			return nil, invalid("Resources [%s] are not in UPDATE_FAILED state and can not be skipped", id)
		}
		skip[id] = true
	}
	s.enter(ctx, in.ClientRequestToken, "ContinueUpdateRollback")
	if in.RoleARN != nil {
		s.settings.roleARN = *in.RoleARN
	}
	s.setStatus(types.StackStatusUpdateRollbackInProgress, "User Initiated")
	s.post(func() { s.rollbackUpdate(skip, "User Initiated") })
	return &awscfn.ContinueUpdateRollbackOutput{}, nil
}

// rollbackStack returns a stack whose rollback was disabled to its last stable state.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_RollbackStack.html
func (e *Engine) rollbackStack(ctx context.Context, in *awscfn.RollbackStackInput) (*awscfn.RollbackStackOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, noStack)
	if err != nil {
		return nil, err
	}
	defer unlock()
	out := &awscfn.RollbackStackOutput{StackId: aws.String(s.id)}
	again, err := s.claim(in.ClientRequestToken, "RollbackStack")
	if err != nil || again {
		return out, err
	}
	s.settings.retainExceptOnCreate = aws.ToBool(in.RetainExceptOnCreate)
	switch s.status {
	case types.StackStatusCreateFailed:
		s.enter(ctx, in.ClientRequestToken, "RollbackStack")
		s.rollbackCreate("User Initiated")
	case types.StackStatusUpdateFailed:
		s.enter(ctx, in.ClientRequestToken, "RollbackStack")
		s.beginRollback("User Initiated")
	default:
		return nil, invalid("%s", fmt.Sprintf("Stack:%s is in %s state and can not be rolled back.", s.id, s.status))
	}
	return out, nil
}
