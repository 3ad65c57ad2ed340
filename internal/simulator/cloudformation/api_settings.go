package cloudformation

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func (e *Engine) updateTerminationProtection(
	ctx context.Context, in *awscfn.UpdateTerminationProtectionInput,
) (*awscfn.UpdateTerminationProtectionOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, noStack)
	if err != nil {
		return nil, err
	}
	defer unlock()
	switch {
	case in.EnableTerminationProtection == nil:
		return nil, invalid(
			"1 validation error detected: Value null at 'enableTerminationProtection' failed to satisfy constraint: Member must not be null",
		)
	case s.parent != nil:
		return nil, invalid("Termination protection cannot be updated on nested stacks; update the root stack %s", s.root().id)
	case !s.live() || s.status == types.StackStatusDeleteInProgress:
		return nil, invalid("Stack [%s] is in %s state and its termination protection cannot be changed", s.name, s.status)
	}
	s.protected.Store(*in.EnableTerminationProtection)
	return &awscfn.UpdateTerminationProtectionOutput{StackId: aws.String(s.id)}, nil
}

func (e *Engine) setStackPolicy(ctx context.Context, in *awscfn.SetStackPolicyInput) (*awscfn.SetStackPolicyOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, noStack)
	if err != nil {
		return nil, err
	}
	defer unlock()
	text, err := e.policyText(ctx, in.StackPolicyBody, in.StackPolicyURL)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, invalid("You must specify either StackPolicyURL or StackPolicyBody")
	}
	s.settings.policy = text
	return &awscfn.SetStackPolicyOutput{}, nil
}

func (e *Engine) getStackPolicy(ctx context.Context, in *awscfn.GetStackPolicyInput) (*awscfn.GetStackPolicyOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, noStack)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return &awscfn.GetStackPolicyOutput{StackPolicyBody: optional(s.settings.policy)}, nil
}

func (e *Engine) signalResource(ctx context.Context, in *awscfn.SignalResourceInput) (*awscfn.SignalResourceOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, noStack)
	if err != nil {
		return nil, err
	}
	defer unlock()
	m := s.members[aws.ToString(in.LogicalResourceId)]
	switch {
	case m == nil:
		return nil, invalid("Resource %s does not exist for stack %s", aws.ToString(in.LogicalResourceId), *in.StackName)
	case aws.ToString(in.UniqueId) == "":
		return nil, invalid("1 validation error detected: Value null at 'uniqueId' failed to satisfy constraint: Member must not be null")
	case !strings.HasSuffix(string(s.status), "_IN_PROGRESS"):
		// As reported in https://github.com/convox/rack/issues/2432.
		return nil, invalid("Stack %s is in %s state and cannot be signaled", s.id, s.status)
	case !strings.HasSuffix(string(m.status), "_IN_PROGRESS"):
		return nil, invalid("Resource %s is in %s state and cannot be signaled", m.id, m.status)
	}
	s.post(func() {
		s.receive(m, *in.UniqueId, signal{ok: in.Status == types.ResourceSignalStatusSuccess})
	})
	return &awscfn.SignalResourceOutput{}, nil
}

// maxDetectionID is the length of the longest ID of a drift detection.
const maxDetectionID = 36

func (e *Engine) detectStackDrift(ctx context.Context, in *awscfn.DetectStackDriftInput) (*awscfn.DetectStackDriftOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, noStack)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if !slices.Contains(driftDone, s.status) {
		return nil, invalid("Drift detection cannot be performed on stack [%s] while it is in %s state", s.id, s.status)
	}
	ids := slices.Sorted(maps.Keys(s.members))
	for _, id := range in.LogicalResourceIds {
		if s.members[id] == nil {
			return nil, invalid("Resource %s does not exist for stack %s", id, *in.StackName)
		}
		ids = in.LogicalResourceIds
	}
	// "You can only run a single drift detection operation on a given stack at the same time":
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/detect-drift-stack.html
	// Many programs match the first words of the message; what follows is not documented.
	if s.detection != nil {
		return nil, invalid("Drift detection is already in progress for stack [%s]", s.id)
	}
	call := wire.CallFrom(ctx)
	d := &driftDetection{
		id: newUUID(), stack: s, started: e.now(), caller: call.Caller, accessKey: call.AccessKeyID,
		status: types.StackDriftDetectionStatusDetectionInProgress, reason: userInitiated,
	}
	s.detection = d
	s.space.mu.Lock()
	s.space.drifts[d.id] = d
	s.space.mu.Unlock()
	s.post(func() { s.detect(d, ids) })
	return &awscfn.DetectStackDriftOutput{StackDriftDetectionId: aws.String(d.id)}, nil
}

func (e *Engine) describeStackDriftDetectionStatus(
	ctx context.Context, in *awscfn.DescribeStackDriftDetectionStatusInput,
) (*awscfn.DescribeStackDriftDetectionStatusOutput, error) {
	// "Minimum length of 1. Maximum length of 36":
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackDriftDetectionStatus.html
	if id := aws.ToString(in.StackDriftDetectionId); len(id) > maxDetectionID {
		return nil, invalid("1 validation error detected: Value '%s' at 'stackDriftDetectionId' failed to satisfy constraint: "+
			"Member must have length less than or equal to %d", id, maxDetectionID)
	}
	sp := e.here(ctx)
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	d := sp.drifts[aws.ToString(in.StackDriftDetectionId)]
	if d == nil {
		return nil, invalid("Drift detection operation %s does not exist", aws.ToString(in.StackDriftDetectionId))
	}
	out := &awscfn.DescribeStackDriftDetectionStatusOutput{
		StackDriftDetectionId: aws.String(d.id), StackId: aws.String(d.stack.id), DetectionStatus: d.status,
		DetectionStatusReason: optional(d.reason), Timestamp: aws.Time(d.started), StackDriftStatus: d.result,
	}
	if d.status != types.StackDriftDetectionStatusDetectionInProgress {
		out.DriftedStackResourceCount = aws.Int32(d.drifted)
	}
	return out, nil
}

func (e *Engine) detectStackResourceDrift(
	ctx context.Context, in *awscfn.DetectStackResourceDriftInput,
) (*awscfn.DetectStackResourceDriftOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, noStack)
	if err != nil {
		return nil, err
	}
	m := s.members[aws.ToString(in.LogicalResourceId)]
	status := s.status
	unlock()
	if m == nil {
		return nil, invalid("Resource %s does not exist for stack %s", aws.ToString(in.LogicalResourceId), *in.StackName)
	}
	if !slices.Contains(driftDone, status) {
		return nil, invalid("Drift detection cannot be performed on stack [%s] while it is in %s state", s.id, status)
	}
	// "Resources that don't currently support drift detection can't be checked":
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_StackResourceDrift.html
	if s.unchecked(m.kind) {
		return nil, invalid("Drift detection is not supported for resource %s of type %s", m.id, m.kind)
	}
	call := wire.CallFrom(ctx)
	d := &driftDetection{stack: s, caller: call.Caller, accessKey: call.AccessKeyID}
	found := make(chan *types.StackResourceDrift, 1)
	s.post(func() {
		m.drift, _ = s.compare(d, m)
		found <- m.drift
	})
	select {
	case drift := <-found:
		return &awscfn.DetectStackResourceDriftOutput{StackResourceDrift: drift}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (e *Engine) describeStackResourceDrifts(
	ctx context.Context, in *awscfn.DescribeStackResourceDriftsInput,
) (*awscfn.DescribeStackResourceDriftsOutput, error) {
	s, unlock, err := e.theStack(ctx, in.StackName, noStack)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var all []types.StackResourceDrift
	for _, m := range s.sortedMembers() {
		if m.drift == nil {
			continue
		}
		if f := in.StackResourceDriftStatusFilters; len(f) == 0 || slices.Contains(f, m.drift.StackResourceDriftStatus) {
			all = append(all, *m.drift)
		}
	}
	size := pageSize
	if in.MaxResults != nil {
		// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackResourceDrifts.html
		if size = int(*in.MaxResults); size < 1 || size > pageSize {
			return nil, invalid("1 validation error detected: Value '%d' at 'maxResults' failed to satisfy constraint: "+
				"Member must have value between 1 and %d", size, pageSize)
		}
	}
	part, next, err := page(all, in.NextToken, size)
	if err != nil {
		return nil, err
	}
	if part == nil {
		part = []types.StackResourceDrift{}
	}
	return &awscfn.DescribeStackResourceDriftsOutput{StackResourceDrifts: part, NextToken: next}, nil
}
