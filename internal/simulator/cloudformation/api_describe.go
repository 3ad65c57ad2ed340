package cloudformation

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// pageSize is the number of items in a page of a list. AWS documents a limit of one megabyte; its
// responses have a hundred items.
const pageSize = 100

func (e *Engine) describeStacks(ctx context.Context, in *awscfn.DescribeStacksInput) (*awscfn.DescribeStacksOutput, error) {
	if in.StackName != nil && *in.StackName != "" {
		s, unlock, err := e.theStack(ctx, in.StackName, noStackWithID)
		if err != nil {
			return nil, err
		}
		defer unlock()
		return &awscfn.DescribeStacksOutput{Stacks: []types.Stack{s.describe()}}, nil
	}
	part, next, err := e.here(ctx).livePage(in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &awscfn.DescribeStacksOutput{NextToken: next, Stacks: make([]types.Stack, 0, len(part))}
	for _, s := range part {
		s.mu.Lock()
		if s.live() {
			out.Stacks = append(out.Stacks, s.describe())
		}
		s.mu.Unlock()
	}
	return out, nil
}

func (s *stack) describe() types.Stack {
	out := types.Stack{
		StackId: aws.String(s.id), StackName: aws.String(s.name), StackStatus: s.status, StackStatusReason: optional(s.reason),
		CreationTime: aws.Time(s.created), LastUpdatedTime: s.updated, DeletionTime: s.deleted,
		DisableRollback: aws.Bool(s.settings.disableRollback), EnableTerminationProtection: aws.Bool(s.protected.Load()),
		RetainExceptOnCreate: aws.Bool(s.settings.retainExceptOnCreate), RoleARN: optional(s.settings.roleARN),
		RollbackConfiguration: s.settings.rollbackConfiguration, ChangeSetId: optional(s.settings.changeSetID),
		DeletionMode: s.settings.deletionMode, Outputs: s.outputs,
		DriftInformation: &types.StackDriftInformation{StackDriftStatus: s.driftStatus(), LastCheckTimestamp: s.drift.checked},
	}
	if out.RollbackConfiguration == nil {
		out.RollbackConfiguration = &types.RollbackConfiguration{}
	}
	if s.settings.timeoutMinutes > 0 {
		out.TimeoutInMinutes = aws.Int32(s.settings.timeoutMinutes)
	}
	if s.parent != nil {
		out.ParentId, out.RootId = aws.String(s.parent.id), aws.String(s.root().id)
	}
	if rev := s.revision; rev != nil {
		out.Description = optional(rev.template.Description)
		out.Capabilities, out.NotificationARNs, out.Tags = rev.capabilities, rev.notificationARNs, rev.tags
		out.Parameters = rev.shownParameters()
	}
	if out.Tags == nil {
		out.Tags = []types.Tag{}
	}
	if out.NotificationARNs == nil {
		out.NotificationARNs = []string{}
	}
	return out
}

func (s *stack) driftStatus() types.StackDriftStatus {
	if s.drift.status == "" {
		return types.StackDriftStatusNotChecked
	}
	return s.drift.status
}

// shownParameters returns the parameters with NoEcho values masked.
func (rev *revision) shownParameters() []types.Parameter {
	var out []types.Parameter
	for _, name := range slices.Sorted(maps.Keys(rev.parameters)) {
		v := rev.parameters[name]
		p := types.Parameter{ParameterKey: aws.String(name), ParameterValue: aws.String(v.Text), ResolvedValue: optional(v.Resolved)}
		if v.NoEcho {
			p.ParameterValue, p.ResolvedValue = aws.String("****"), nil
		}
		out = append(out, p)
	}
	return out
}

// livePage returns a page of the existing stacks, newest first, and the token of the next page. A token is the number
// of stacks that are older, so a stack that is created or deleted meanwhile moves no other to another page. As in AWS,
// the last page can be empty.
func (sp *space) livePage(token *string) (part []*stack, next *string, err error) {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	older := len(sp.order)
	if token != nil {
		if older, err = strconv.Atoi(*token); err != nil || older < 0 || older > len(sp.order) {
			return nil, nil, invalid("NextToken is invalid")
		}
	}
	for ; older > 0; older-- {
		if len(part) == pageSize {
			return part, aws.String(strconv.Itoa(older)), nil
		}
		if s := sp.order[older-1]; sp.byName[s.name] == s {
			part = append(part, s)
		}
	}
	return part, nil, nil
}

// live returns the existing stacks, newest first.
func (sp *space) live() []*stack {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	out := make([]*stack, 0, len(sp.byName))
	for _, s := range slices.Backward(sp.order) {
		if sp.byName[s.name] == s {
			out = append(out, s)
		}
	}
	return out
}

func (e *Engine) listStacks(ctx context.Context, in *awscfn.ListStacksInput) (*awscfn.ListStacksOutput, error) {
	var summaries []types.StackSummary
	for _, s := range e.here(ctx).all() {
		s.mu.Lock()
		if len(in.StackStatusFilter) == 0 || slices.Contains(in.StackStatusFilter, s.status) {
			summaries = append(summaries, s.summary())
		}
		s.mu.Unlock()
	}
	part, next, err := page(summaries, in.NextToken, pageSize)
	if err != nil {
		return nil, err
	}
	return &awscfn.ListStacksOutput{StackSummaries: part, NextToken: next}, nil
}

func (s *stack) summary() types.StackSummary {
	out := types.StackSummary{
		StackId: aws.String(s.id), StackName: aws.String(s.name), StackStatus: s.status, StackStatusReason: optional(s.reason),
		CreationTime: aws.Time(s.created), LastUpdatedTime: s.updated, DeletionTime: s.deleted,
		DriftInformation: &types.StackDriftInformationSummary{StackDriftStatus: s.driftStatus(), LastCheckTimestamp: s.drift.checked},
	}
	if s.revision != nil {
		out.TemplateDescription = optional(s.revision.template.Description)
	}
	if s.parent != nil {
		out.ParentId, out.RootId = aws.String(s.parent.id), aws.String(s.root().id)
	}
	return out
}

func (e *Engine) describeStackEvents(ctx context.Context, in *awscfn.DescribeStackEventsInput) (*awscfn.DescribeStackEventsOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, noStack)
	if err != nil {
		return nil, err
	}
	defer unlock()
	newestFirst := slices.Clone(s.events)
	slices.Reverse(newestFirst)
	part, next, err := page(newestFirst, in.NextToken, pageSize)
	if err != nil {
		return nil, err
	}
	return &awscfn.DescribeStackEventsOutput{StackEvents: part, NextToken: next}, nil
}

func (s *stack) sortedMembers() []*member {
	out := make([]*member, 0, len(s.members))
	for _, id := range slices.Sorted(maps.Keys(s.members)) {
		out = append(out, s.members[id])
	}
	return out
}

func (m *member) driftInformation() *types.StackResourceDriftInformation {
	if m.drift == nil {
		return &types.StackResourceDriftInformation{StackResourceDriftStatus: types.StackResourceDriftStatusNotChecked}
	}
	return &types.StackResourceDriftInformation{
		StackResourceDriftStatus: m.drift.StackResourceDriftStatus,
		LastCheckTimestamp:       m.drift.Timestamp,
	}
}

func (e *Engine) describeStackResource(
	ctx context.Context, in *awscfn.DescribeStackResourceInput,
) (*awscfn.DescribeStackResourceOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, "Stack '%s' does not exist")
	if err != nil {
		return nil, err
	}
	defer unlock()
	m := s.members[aws.ToString(in.LogicalResourceId)]
	if m == nil {
		return nil, invalid("Resource %s does not exist for stack %s", aws.ToString(in.LogicalResourceId), *in.StackName)
	}
	detail := &types.StackResourceDetail{
		LogicalResourceId: aws.String(m.id), PhysicalResourceId: optional(m.physicalID), ResourceType: aws.String(m.kind),
		ResourceStatus: m.status, ResourceStatusReason: optional(m.reason), LastUpdatedTimestamp: aws.Time(m.changed),
		StackId: aws.String(s.id), StackName: aws.String(s.name), DriftInformation: m.driftInformation(),
	}
	if m.definition != nil && m.definition.Metadata != nil {
		if v, err := s.scope(s.revision).Value(m.definition.Metadata); err == nil {
			detail.Metadata = aws.String(compact(v))
		}
	}
	return &awscfn.DescribeStackResourceOutput{StackResourceDetail: detail}, nil
}

func (e *Engine) describeStackResources(
	ctx context.Context, in *awscfn.DescribeStackResourcesInput,
) (*awscfn.DescribeStackResourcesOutput, error) {
	name := in.StackName
	if name == nil && in.PhysicalResourceId != nil {
		owner := e.owner(ctx, *in.PhysicalResourceId)
		if owner == "" {
			return nil, invalid("Stack for %s does not exist", *in.PhysicalResourceId)
		}
		name = aws.String(owner)
	}
	s, unlock, err := e.theStack(ctx, name, noStackWithID)
	if err != nil {
		return nil, err
	}
	defer unlock()
	out := &awscfn.DescribeStackResourcesOutput{}
	for _, m := range s.sortedMembers() {
		if in.LogicalResourceId != nil && *in.LogicalResourceId != m.id || len(out.StackResources) == pageSize {
			continue
		}
		out.StackResources = append(out.StackResources, types.StackResource{
			LogicalResourceId: aws.String(m.id), PhysicalResourceId: optional(m.physicalID), ResourceType: aws.String(m.kind),
			ResourceStatus: m.status, ResourceStatusReason: optional(m.reason), Timestamp: aws.Time(m.changed),
			StackId: aws.String(s.id), StackName: aws.String(s.name), DriftInformation: m.driftInformation(),
		})
	}
	if in.LogicalResourceId != nil && len(out.StackResources) == 0 {
		return nil, invalid("Resource %s does not exist for stack %s", *in.LogicalResourceId, s.name)
	}
	return out, nil
}

// owner returns the stack that owns a physical resource.
func (e *Engine) owner(ctx context.Context, physicalID string) string {
	for _, s := range e.here(ctx).live() {
		s.mu.Lock()
		for _, m := range s.members {
			if m.physicalID == physicalID {
				s.mu.Unlock()
				return s.id
			}
		}
		s.mu.Unlock()
	}
	return ""
}

func (e *Engine) listStackResources(ctx context.Context, in *awscfn.ListStackResourcesInput) (*awscfn.ListStackResourcesOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, noStackWithID)
	if err != nil {
		return nil, err
	}
	defer unlock()
	part, next, err := page(s.sortedMembers(), in.NextToken, pageSize)
	if err != nil {
		return nil, err
	}
	out := &awscfn.ListStackResourcesOutput{NextToken: next, StackResourceSummaries: []types.StackResourceSummary{}}
	for _, m := range part {
		info := m.driftInformation()
		out.StackResourceSummaries = append(out.StackResourceSummaries, types.StackResourceSummary{
			LogicalResourceId: aws.String(m.id), PhysicalResourceId: optional(m.physicalID), ResourceType: aws.String(m.kind),
			ResourceStatus: m.status, ResourceStatusReason: optional(m.reason), LastUpdatedTimestamp: aws.Time(m.changed),
			DriftInformation: &types.StackResourceDriftInformationSummary{
				StackResourceDriftStatus: info.StackResourceDriftStatus, LastCheckTimestamp: info.LastCheckTimestamp,
			},
		})
	}
	return out, nil
}

func (e *Engine) describeAccountLimits(context.Context, *awscfn.DescribeAccountLimitsInput) (*awscfn.DescribeAccountLimitsOutput, error) {
	limit := func(name string, value int32) types.AccountLimit {
		return types.AccountLimit{Name: aws.String(name), Value: aws.Int32(value)}
	}
	return &awscfn.DescribeAccountLimitsOutput{AccountLimits: []types.AccountLimit{
		limit("StackLimit", 2000), limit("StackOutputsLimit", maxItems), limit("ConcurrentResourcesLimit", 2500),
	}}, nil
}

func (e *Engine) listExports(ctx context.Context, in *awscfn.ListExportsInput) (*awscfn.ListExportsOutput, error) {
	sp := e.here(ctx)
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	var all []types.Export
	for _, name := range slices.Sorted(maps.Keys(sp.exports)) {
		x := sp.exports[name]
		all = append(all, types.Export{Name: aws.String(name), Value: aws.String(x.value), ExportingStackId: aws.String(x.owner.id)})
	}
	part, next, err := page(all, in.NextToken, pageSize)
	if err != nil {
		return nil, err
	}
	return &awscfn.ListExportsOutput{Exports: part, NextToken: next}, nil
}

func (e *Engine) listImports(ctx context.Context, in *awscfn.ListImportsInput) (*awscfn.ListImportsOutput, error) {
	sp := e.here(ctx)
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	name := aws.ToString(in.ExportName)
	x := sp.exports[name]
	if x == nil || len(x.users) == 0 {
		return nil, invalid("Export '%s' is not imported by any stack.", name)
	}
	part, next, err := page(strings.Split(x.userNames(), " and "), in.NextToken, pageSize)
	if err != nil {
		return nil, err
	}
	return &awscfn.ListImportsOutput{Imports: part, NextToken: next}, nil
}
