package dynamodb

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const tableType = "AWS::DynamoDB::Table"

// tableProvider implements AWS::DynamoDB::Table. Its tables are ACTIVE at once, because the
// CloudFormation engine adds the latency.
type tableProvider struct{ tables *Tables }

// Create creates a table.
func (p *tableProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	want, err := readProperties(r.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	return p.create(r, want)
}

func (p *tableProvider) create(r resource.Request, want *tableProperties) (resource.Result, error) {
	if want.TableName == "" {
		want.TableName = generatedName(r)
	}
	t := p.tables
	t.mu.Lock()
	defer t.mu.Unlock()
	id := tableID{r.Account, r.Region, want.TableName}
	if t.find(id) != nil {
		return resource.Result{}, resource.Errorf(
			resource.AlreadyExists, "Resource of type '%s' with identifier '%s' already exists.", tableType, id.name,
		)
	}
	made, err := t.create(id, want.createInput(), 0)
	if err != nil {
		return resource.Result{}, refused(err)
	}
	if err := made.applySettings(want, r.Tags, t.env.Clock.Now()); err != nil {
		delete(t.tables, id)
		return resource.Result{}, refused(err)
	}
	return made.result(), nil
}

// generatedName returns stack-logical-RANDOM, which is CloudFormation's form:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html
func generatedName(r resource.Request) string {
	stem := r.StackName + "-" + r.LogicalID
	return stem[:min(len(stem), 255-13)] + "-" + wire.RandomName(12)
}

func (t *table) result() resource.Result {
	out := resource.Result{PhysicalID: t.id.name, Attributes: map[string]any{"Arn": t.arn}}
	if t.stream != nil {
		out.Attributes["StreamArn"] = t.streamARN()
	}
	return out
}

// applySettings applies the properties that CreateTable and UpdateTable do not accept.
func (t *table) applySettings(want *tableProperties, stackTags map[string]string, now time.Time) error {
	t.tags = maps.Clone(stackTags)
	if t.tags == nil {
		t.tags = map[string]string{}
	}
	for _, tag := range want.Tags {
		t.tags[deref(tag.Key)] = deref(tag.Value)
	}
	if err := t.settleTimeToLive(want.TimeToLiveSpecification); err != nil {
		return err
	}
	recovery := &types.PointInTimeRecoverySpecification{}
	if w := want.PointInTimeRecoverySpecification; w != nil {
		recovery.PointInTimeRecoveryEnabled = new(bool(w.PointInTimeRecoveryEnabled))
		if w.RecoveryPeriodInDays != nil {
			recovery.RecoveryPeriodInDays = new(int32(*w.RecoveryPeriodInDays)) //nolint:gosec // checked by setRecovery
		}
	}
	if err := t.setRecovery(recovery, now); err != nil {
		return err
	}
	t.insights = types.ContributorInsightsStatusDisabled
	if w := want.ContributorInsightsSpecification; w != nil && bool(w.Enabled) {
		t.insights = types.ContributorInsightsStatusEnabled
	}
	t.kinesis = nil
	if w := want.KinesisStreamSpecification; w != nil {
		t.kinesis = []types.KinesisDataStreamDestination{{StreamArn: &w.StreamArn, DestinationStatus: types.DestinationStatusActive}}
	}
	t.policy = want.policy()
	return nil
}

func (t *table) settleTimeToLive(want *timeToLiveProperty) error {
	if want == nil || !bool(want.Enabled) {
		t.ttl = nil
		return nil
	}
	if t.ttl != nil && *t.ttl.AttributeName == want.AttributeName {
		return nil
	}
	return t.setTimeToLive(&types.TimeToLiveSpecification{AttributeName: &want.AttributeName, Enabled: new(true)})
}

// Update changes a table in place.
func (p *tableProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	want, err := readProperties(r.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	return p.change(r, want)
}

func (p *tableProvider) change(r resource.Request, want *tableProperties) (resource.Result, error) {
	t := p.tables
	t.mu.Lock()
	defer t.mu.Unlock()
	id := tableID{r.Account, r.Region, r.PhysicalID}
	found := t.find(id)
	if found == nil {
		return resource.Result{}, notFound(id.name)
	}
	if keySchemaOf(want.KeySchema) != found.items.key {
		return resource.Result{}, resource.Errorf(resource.NotUpdatable, "KeySchema of table %s cannot be updated", id.name)
	}
	for _, d := range want.AttributeDefinitions {
		if found.hasOtherType(d) {
			return resource.Result{}, resource.Errorf(
				resource.NotUpdatable, "The type of attribute %s of table %s cannot be updated", deref(d.AttributeName), id.name,
			)
		}
	}
	if !found.hasLocalIndexes(want.LocalSecondaryIndexes) {
		return resource.Result{}, resource.Errorf(resource.NotUpdatable, "LocalSecondaryIndexes of table %s cannot be updated", id.name)
	}
	updates, err := found.updatesTo(want)
	if err != nil {
		return resource.Result{}, err
	}
	for _, in := range updates {
		if _, err := t.update(id, in, 0); err != nil {
			return resource.Result{}, refused(err)
		}
	}
	if want.OnDemandThroughput == nil {
		found.onDemand = nil
	}
	if err := found.applySettings(want, r.Tags, t.env.Clock.Now()); err != nil {
		return resource.Result{}, refused(err)
	}
	return found.result(), nil
}

// updatesTo returns the UpdateTable calls, in order, that change the table to the wanted
// properties.
func (t *table) updatesTo(want *tableProperties) ([]*dynamodb.UpdateTableInput, error) {
	var updates []*dynamodb.UpdateTableInput
	main := &dynamodb.UpdateTableInput{AttributeDefinitions: want.AttributeDefinitions}
	if t.protected != bool(want.DeletionProtectionEnabled) {
		main.DeletionProtectionEnabled = new(bool(want.DeletionProtectionEnabled))
	}
	class := want.TableClass
	if class == "" && t.class != "" {
		class = types.TableClassStandard
	}
	if class != t.class {
		main.TableClass = class
	}
	main.SSESpecification = t.encryptionChange(want.SSESpecification)
	main.OnDemandThroughput, main.WarmThroughput = want.OnDemandThroughput.input(), want.WarmThroughput.input()
	indexes, err := t.indexChanges(want)
	if err != nil {
		return nil, err
	}
	t.throughputChange(want, main)
	if !nothingToUpdate(main) {
		updates = append(updates, main)
	}
	updates = append(updates, t.streamChanges(want.StreamSpecification)...)
	for _, u := range indexes {
		updates = append(updates, &dynamodb.UpdateTableInput{
			AttributeDefinitions:        want.AttributeDefinitions,
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{u},
		})
	}
	return updates, nil
}

func (t *table) throughputChange(want *tableProperties, in *dynamodb.UpdateTableInput) {
	mode := want.BillingMode
	if mode == "" {
		mode = types.BillingModeProvisioned
	}
	units := want.ProvisionedThroughput.input()
	if mode != t.billing {
		in.BillingMode, in.ProvisionedThroughput = mode, units
		return
	}
	if units != nil &&
		(*units.ReadCapacityUnits != deref(t.throughput.ReadCapacityUnits) ||
			*units.WriteCapacityUnits != deref(t.throughput.WriteCapacityUnits)) {
		in.ProvisionedThroughput = units
	}
}

func (t *table) encryptionChange(want *encryptionProperty) *types.SSESpecification {
	if want == nil {
		if t.encryption == nil {
			return nil
		}
		return &types.SSESpecification{Enabled: new(false)}
	}
	if !bool(want.SSEEnabled) && t.encryption == nil {
		return nil
	}
	return want.input()
}

// streamChanges turns the stream off before it enables one with another view type.
func (t *table) streamChanges(want *streamProperty) []*dynamodb.UpdateTableInput {
	var updates []*dynamodb.UpdateTableInput
	if t.stream != nil && (want == nil || want.StreamViewType != t.stream.StreamViewType) {
		updates = append(updates, &dynamodb.UpdateTableInput{StreamSpecification: &types.StreamSpecification{StreamEnabled: new(false)}})
	}
	if want != nil && (t.stream == nil || want.StreamViewType != t.stream.StreamViewType) {
		updates = append(updates, &dynamodb.UpdateTableInput{StreamSpecification: want.input()})
	}
	return updates
}

// indexChanges returns the changes of global indexes. CloudFormation can create or delete only one
// per update:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html#cfn-dynamodb-table-globalsecondaryindexes
func (t *table) indexChanges(want *tableProperties) ([]types.GlobalSecondaryIndexUpdate, error) {
	var updates []types.GlobalSecondaryIndexUpdate
	moved := 0
	for _, x := range t.secondary {
		i := slices.IndexFunc(want.GlobalSecondaryIndexes, func(w indexProperty) bool { return w.IndexName == x.name })
		if !x.local && i < 0 {
			moved++
			updates = append(updates, types.GlobalSecondaryIndexUpdate{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: &x.name}})
		}
	}
	for _, w := range want.GlobalSecondaryIndexes {
		x := t.index(w.IndexName)
		if x != nil && (keySchemaOf(w.KeySchema) != x.key || !sameProjection(w.Projection, x.projection)) {
			return nil, resource.Errorf(
				resource.InvalidRequest,
				"Cannot update GSI's properties other than Provisioned Throughput and Contributor Insights Specification. You can create a new GSI with a different name.",
			)
		}
		if x == nil {
			moved++
			updates = append(updates, types.GlobalSecondaryIndexUpdate{Create: &types.CreateGlobalSecondaryIndexAction{
				IndexName: &w.IndexName, KeySchema: w.KeySchema, Projection: w.Projection,
				ProvisionedThroughput: w.ProvisionedThroughput.input(), OnDemandThroughput: w.OnDemandThroughput.input(),
				WarmThroughput: w.WarmThroughput.input(),
			}})
			continue
		}
		updates = append(updates, types.GlobalSecondaryIndexUpdate{Update: &types.UpdateGlobalSecondaryIndexAction{
			IndexName: &w.IndexName, ProvisionedThroughput: w.ProvisionedThroughput.input(),
			OnDemandThroughput: w.OnDemandThroughput.input(), WarmThroughput: w.WarmThroughput.input(),
		}})
	}
	if moved > 1 {
		return nil, resource.Errorf(resource.InvalidRequest, "Cannot perform more than one GSI creation or deletion in a single update")
	}
	return updates, nil
}

// hasLocalIndexes reports whether the table has exactly these local indexes. "A local secondary index
// can only be created when its parent table is created":
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-dynamodb-table-localsecondaryindex.html
func (t *table) hasLocalIndexes(want []indexProperty) bool {
	local := 0
	for _, x := range t.secondary {
		if x.local {
			local++
		}
	}
	return local == len(want) && !slices.ContainsFunc(want, func(w indexProperty) bool {
		x := t.index(w.IndexName)
		return x == nil || !x.local || keySchemaOf(w.KeySchema) != x.key || !sameProjection(w.Projection, x.projection)
	})
}

func sameProjection(want *types.Projection, have types.Projection) bool {
	return want != nil && want.ProjectionType == have.ProjectionType && slices.Equal(want.NonKeyAttributes, have.NonKeyAttributes)
}

// Delete deletes a table with its items.
func (p *tableProvider) Delete(_ context.Context, r resource.Request) error {
	t := p.tables
	t.mu.Lock()
	defer t.mu.Unlock()
	id := tableID{r.Account, r.Region, r.PhysicalID}
	if t.find(id) == nil {
		return notFound(id.name)
	}
	if _, err := t.delete(id, 0); err != nil {
		return refused(err)
	}
	return nil
}

func notFound(name string) *resource.Error {
	return resource.Errorf(resource.NotFound, "Resource of type '%s' with identifier '%s' was not found.", tableType, name)
}

// refused converts DynamoDB's error to a resource handler's.
func refused(err error) error {
	return property.Refusal(err, map[string]string{
		"ResourceInUseException":    resource.ResourceConflict,
		"ResourceNotFoundException": resource.NotFound,
		"LimitExceededException":    resource.ServiceLimit,
	})
}
