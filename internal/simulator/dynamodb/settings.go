package dynamodb

import (
	"context"
	"maps"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// tagRules are the errors for tags; no words of AWS are on record.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Tagging.Operations.html
var tagRules = tagging.Rules{
	Reserved: tagging.Refusal{
		Code:    "ValidationException",
		Message: "One or more parameter values were invalid: Tag keys starting with 'aws:' are reserved for system use",
	},
	Key:     tagging.LongKey("ValidationException", "key"),
	Value:   tagging.LongValue("ValidationException", "value"),
	TooMany: tagging.Refusal{Code: "ValidationException", Message: "One or more parameter values were invalid: Too many tags: at most 50 are allowed"},
}

func tagMap(list []types.Tag) map[string]string {
	tags := make(map[string]string, len(list))
	for _, tag := range list {
		tags[deref(tag.Key)] = deref(tag.Value)
	}
	return tags
}

func (t *Tables) tagResource(ctx context.Context, in *dynamodb.TagResourceInput) (*dynamodb.TagResourceOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, err := t.byARN(ctx, in.ResourceArn)
	if err != nil {
		return nil, err
	}
	added := tagMap(in.Tags)
	if err := tagRules.Check(found.tags, added); err != nil {
		return nil, err
	}
	maps.Copy(found.tags, added)
	return &dynamodb.TagResourceOutput{}, nil
}

func (t *Tables) untagResource(ctx context.Context, in *dynamodb.UntagResourceInput) (*dynamodb.UntagResourceOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, err := t.byARN(ctx, in.ResourceArn)
	if err != nil {
		return nil, err
	}
	for _, key := range in.TagKeys {
		delete(found.tags, key)
	}
	return &dynamodb.UntagResourceOutput{}, nil
}

func (t *Tables) listTagsOfResource(ctx context.Context, in *dynamodb.ListTagsOfResourceInput) (*dynamodb.ListTagsOfResourceOutput, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	found, err := t.byARN(ctx, in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return &dynamodb.ListTagsOfResourceOutput{Tags: sortedTags(found.tags)}, nil
}

func (t *Tables) updateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput) (*dynamodb.UpdateTimeToLiveOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, err := t.described(idOf(ctx, in.TableName))
	if err != nil {
		return nil, err
	}
	if err := found.setTimeToLive(in.TimeToLiveSpecification); err != nil {
		return nil, err
	}
	return &dynamodb.UpdateTimeToLiveOutput{TimeToLiveSpecification: in.TimeToLiveSpecification}, nil
}

func (t *table) setTimeToLive(want *types.TimeToLiveSpecification) error {
	if want == nil || deref(want.AttributeName) == "" {
		return invalid(
			"1 validation error detected: Value null at 'timeToLiveSpecification.attributeName' failed to satisfy constraint: Member must not be null",
		)
	}
	enabled := t.ttl != nil
	switch {
	case enabled && deref(want.Enabled) && *t.ttl.AttributeName == *want.AttributeName:
		return invalid("TimeToLive is already enabled")
	case enabled && *t.ttl.AttributeName != *want.AttributeName:
		return invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", *t.ttl.AttributeName)
	case !enabled && !deref(want.Enabled):
		return invalid("TimeToLive is already disabled")
	}
	if t.ttl = want; !*want.Enabled {
		t.ttl = nil
	}
	return nil
}

func (t *Tables) describeTimeToLive(ctx context.Context, in *dynamodb.DescribeTimeToLiveInput) (*dynamodb.DescribeTimeToLiveOutput, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	found, err := t.described(idOf(ctx, in.TableName))
	if err != nil {
		return nil, err
	}
	d := &types.TimeToLiveDescription{TimeToLiveStatus: types.TimeToLiveStatusDisabled}
	if found.ttl != nil {
		d.TimeToLiveStatus, d.AttributeName = types.TimeToLiveStatusEnabled, found.ttl.AttributeName
	}
	return &dynamodb.DescribeTimeToLiveOutput{TimeToLiveDescription: d}, nil
}

func (t *Tables) updateContinuousBackups(
	ctx context.Context, in *dynamodb.UpdateContinuousBackupsInput,
) (*dynamodb.UpdateContinuousBackupsOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, err := t.described(idOf(ctx, in.TableName))
	if err != nil {
		return nil, noSuchTable(in.TableName)
	}
	if err := found.setRecovery(in.PointInTimeRecoverySpecification, t.env.Clock.Now()); err != nil {
		return nil, err
	}
	return &dynamodb.UpdateContinuousBackupsOutput{ContinuousBackupsDescription: found.backups(t.env.Clock.Now())}, nil
}

func noSuchTable(name *string) error {
	return refuse("TableNotFoundException", "Table not found: %s", deref(name))
}

func (t *table) setRecovery(want *types.PointInTimeRecoverySpecification, now time.Time) error {
	if want == nil {
		return invalid(
			"1 validation error detected: Value null at 'pointInTimeRecoverySpecification' failed to satisfy constraint: Member must not be null",
		)
	}
	if days := want.RecoveryPeriodInDays; days != nil && (*days < 1 || *days > 35) {
		return invalid(
			"1 validation error detected: Value '%d' at 'pointInTimeRecoverySpecification.recoveryPeriodInDays' failed to satisfy constraint: Member must have value between 1 and 35",
			*days,
		)
	}
	if !deref(want.PointInTimeRecoveryEnabled) {
		t.recovery = nil
		return nil
	}
	if t.recovery == nil {
		t.recoveryAt = now.UTC()
	}
	t.recovery = want
	return nil
}

func (t *Tables) describeContinuousBackups(
	ctx context.Context, in *dynamodb.DescribeContinuousBackupsInput,
) (*dynamodb.DescribeContinuousBackupsOutput, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	found, err := t.described(idOf(ctx, in.TableName))
	if err != nil {
		return nil, noSuchTable(in.TableName)
	}
	return &dynamodb.DescribeContinuousBackupsOutput{ContinuousBackupsDescription: found.backups(t.env.Clock.Now())}, nil
}

// backups describes point-in-time recovery; its latest point is about five minutes ago:
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PointInTimeRecoveryDescription.html
func (t *table) backups(now time.Time) *types.ContinuousBackupsDescription {
	d := &types.PointInTimeRecoveryDescription{PointInTimeRecoveryStatus: types.PointInTimeRecoveryStatusDisabled}
	if t.recovery != nil {
		days := int32(35)
		if t.recovery.RecoveryPeriodInDays != nil {
			days = *t.recovery.RecoveryPeriodInDays
		}
		earliest, latest := t.recoveryAt, now.UTC().Add(-5*time.Minute)
		if start := now.UTC().AddDate(0, 0, -int(days)); start.After(earliest) {
			earliest = start
		}
		if latest.Before(earliest) {
			latest = earliest
		}
		d.PointInTimeRecoveryStatus, d.RecoveryPeriodInDays = types.PointInTimeRecoveryStatusEnabled, &days
		d.EarliestRestorableDateTime, d.LatestRestorableDateTime = &earliest, &latest
	}
	return &types.ContinuousBackupsDescription{
		ContinuousBackupsStatus:        types.ContinuousBackupsStatusEnabled,
		PointInTimeRecoveryDescription: d,
	}
}

func (t *Tables) putResourcePolicy(ctx context.Context, in *dynamodb.PutResourcePolicyInput) (*dynamodb.PutResourcePolicyOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, err := t.byARN(ctx, in.ResourceArn)
	if err != nil {
		return nil, err
	}
	if want := deref(in.ExpectedRevisionId); want != "" && want != found.revisionID() {
		return nil, refuse("PolicyNotFoundException", "Policy with the expected revision id does not exist on resource: %s", found.arn)
	}
	found.policy = deref(in.Policy)
	found.revision++
	return &dynamodb.PutResourcePolicyOutput{RevisionId: new(found.revisionID())}, nil
}

// revisionID is NO_POLICY or a number that changes with the policy.
func (t *table) revisionID() string {
	if t.policy == "" {
		return "NO_POLICY"
	}
	return strconv.Itoa(1700000000000 + t.revision)
}

func (t *Tables) getResourcePolicy(ctx context.Context, in *dynamodb.GetResourcePolicyInput) (*dynamodb.GetResourcePolicyOutput, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	found, err := t.byARN(ctx, in.ResourceArn)
	if err != nil {
		return nil, err
	}
	if found.policy == "" {
		return nil, refuse("PolicyNotFoundException", "Resource-based policy not found for the provided ResourceArn: %s", found.arn)
	}
	return &dynamodb.GetResourcePolicyOutput{Policy: new(found.policy), RevisionId: new(found.revisionID())}, nil
}

func (t *Tables) deleteResourcePolicy(
	ctx context.Context, in *dynamodb.DeleteResourcePolicyInput,
) (*dynamodb.DeleteResourcePolicyOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, err := t.byARN(ctx, in.ResourceArn)
	if err != nil {
		return nil, err
	}
	out := &dynamodb.DeleteResourcePolicyOutput{}
	if found.policy != "" {
		out.RevisionId = new(found.revisionID())
	}
	found.policy = ""
	return out, nil
}

func (t *Tables) describeKinesisDestination(
	ctx context.Context, in *dynamodb.DescribeKinesisStreamingDestinationInput,
) (*dynamodb.DescribeKinesisStreamingDestinationOutput, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	found, err := t.described(idOf(ctx, in.TableName))
	if err != nil {
		return nil, err
	}
	return &dynamodb.DescribeKinesisStreamingDestinationOutput{TableName: &found.id.name, KinesisDataStreamDestinations: found.kinesis}, nil
}

func (t *Tables) describeContributorInsights(
	ctx context.Context, in *dynamodb.DescribeContributorInsightsInput,
) (*dynamodb.DescribeContributorInsightsOutput, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	found, err := t.described(idOf(ctx, in.TableName))
	if err != nil {
		return nil, err
	}
	status := found.insights
	if status == "" {
		status = types.ContributorInsightsStatusDisabled
	}
	return &dynamodb.DescribeContributorInsightsOutput{TableName: &found.id.name, ContributorInsightsStatus: status}, nil
}

func (t *Tables) updateContributorInsights(
	ctx context.Context, in *dynamodb.UpdateContributorInsightsInput,
) (*dynamodb.UpdateContributorInsightsOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, err := t.described(idOf(ctx, in.TableName))
	if err != nil {
		return nil, err
	}
	found.insights = types.ContributorInsightsStatusDisabled
	if in.ContributorInsightsAction == types.ContributorInsightsActionEnable {
		found.insights = types.ContributorInsightsStatusEnabled
	}
	return &dynamodb.UpdateContributorInsightsOutput{TableName: &found.id.name, ContributorInsightsStatus: found.insights}, nil
}

func (t *Tables) describeEndpoints(ctx context.Context, _ *dynamodb.DescribeEndpointsInput) (*dynamodb.DescribeEndpointsOutput, error) {
	return &dynamodb.DescribeEndpointsOutput{Endpoints: []types.Endpoint{{
		Address: &wire.CallFrom(ctx).Host, CachePeriodInMinutes: 1440,
	}}}, nil
}

// describeLimits returns the default quotas:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
func (t *Tables) describeLimits(context.Context, *dynamodb.DescribeLimitsInput) (*dynamodb.DescribeLimitsOutput, error) {
	return &dynamodb.DescribeLimitsOutput{
		AccountMaxReadCapacityUnits: new(int64(80000)), AccountMaxWriteCapacityUnits: new(int64(80000)),
		TableMaxReadCapacityUnits: new(int64(40000)), TableMaxWriteCapacityUnits: new(int64(40000)),
	}, nil
}
