package dynamodb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

func (t *Tables) createTable(ctx context.Context, in *dynamodb.CreateTableInput) (*dynamodb.CreateTableOutput, error) {
	if err := tagRules.Check(nil, tagMap(in.Tags)); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	made, err := t.create(idOf(ctx, in.TableName), in, t.latency)
	if err != nil {
		return nil, err
	}
	return &dynamodb.CreateTableOutput{TableDescription: made.describe(t.env.Clock.Now())}, nil
}

// create creates a table. The caller holds the lock.
func (t *Tables) create(id tableID, in *dynamodb.CreateTableInput, latency time.Duration) (*table, error) {
	if err := checkCreate(in); err != nil {
		return nil, err
	}
	if t.find(id) != nil {
		return nil, refuse("ResourceInUseException", "Table already exists: %s", id.name)
	}
	now := t.env.Clock.Now().UTC()
	made := &table{
		id: id, arn: arnOf(t.env, id), uid: uuid.NewString(), created: now,
		definitions: in.AttributeDefinitions, schema: in.KeySchema,
		billing: in.BillingMode, throughput: throughputOf(in.ProvisionedThroughput),
		onDemand: in.OnDemandThroughput, warm: in.WarmThroughput,
		class: in.TableClass, protected: deref(in.DeletionProtectionEnabled),
		policy: deref(in.ResourcePolicy), tags: map[string]string{},
		items: index{key: keySchemaOf(in.KeySchema)},
	}
	if made.billing == "" {
		made.billing = types.BillingModeProvisioned
	}
	if made.billing == types.BillingModePayPerRequest {
		made.onDemandAt = &now
	}
	maps.Copy(made.tags, tagMap(in.Tags))
	made.setStream(in.StreamSpecification, now)
	made.setEncryption(t.env, in.SSESpecification)
	for _, x := range in.LocalSecondaryIndexes {
		made.addIndex(&secondaryIndex{name: *x.IndexName, local: true, schema: x.KeySchema, projection: *x.Projection})
	}
	for _, x := range in.GlobalSecondaryIndexes {
		made.addIndex(&secondaryIndex{
			name: *x.IndexName, schema: x.KeySchema, projection: *x.Projection, readyAt: now.Add(latency),
			throughput: throughputOf(x.ProvisionedThroughput), onDemand: x.OnDemandThroughput, warm: x.WarmThroughput,
		})
	}
	made.busy(types.TableStatusCreating, now, latency)
	t.tables[id] = made
	return made, nil
}

func arnOf(env *resource.Env, id tableID) string {
	return fmt.Sprintf("arn:%s:dynamodb:%s:%s:table/%s", partitionOf(env), id.region, id.account, id.name)
}

func throughputOf(in *types.ProvisionedThroughput) types.ProvisionedThroughputDescription {
	out := types.ProvisionedThroughputDescription{
		NumberOfDecreasesToday: new(int64(0)), ReadCapacityUnits: new(int64(0)), WriteCapacityUnits: new(int64(0)),
	}
	if in != nil {
		*out.ReadCapacityUnits, *out.WriteCapacityUnits = deref(in.ReadCapacityUnits), deref(in.WriteCapacityUnits)
	}
	return out
}

func (t *table) setStream(s *types.StreamSpecification, now time.Time) {
	switch {
	case s == nil:
	case deref(s.StreamEnabled):
		t.stream, t.streamLabel = s, now.UTC().Format("2006-01-02T15:04:05.000")
	default:
		t.stream = nil
	}
}

func (t *table) setEncryption(env *resource.Env, s *types.SSESpecification) {
	if s == nil {
		return
	}
	if !deref(s.Enabled) {
		t.encryption = nil
		return
	}
	key := deref(s.KMSMasterKeyId)
	if key == "" {
		key = "alias/aws/dynamodb"
	}
	if key[:min(4, len(key))] != "arn:" {
		kind := "key/"
		if key[:min(6, len(key))] == "alias/" {
			kind = ""
		}
		id := tableID{account: t.id.account, region: t.id.region}
		key = fmt.Sprintf("arn:%s:kms:%s:%s:%s%s", partitionOf(env), id.region, id.account, kind, key)
	}
	t.encryption = &types.SSEDescription{SSEType: types.SSETypeKms, Status: types.SSEStatusEnabled, KMSMasterKeyArn: &key}
}

func partitionOf(env *resource.Env) string {
	if env.Partition == "" {
		return "aws"
	}
	return env.Partition
}

func (t *Tables) describeTable(ctx context.Context, in *dynamodb.DescribeTableInput) (*dynamodb.DescribeTableOutput, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	found, err := t.described(idOf(ctx, in.TableName))
	if err != nil {
		return nil, err
	}
	return &dynamodb.DescribeTableOutput{Table: found.describe(t.env.Clock.Now())}, nil
}

func (t *Tables) listTables(ctx context.Context, in *dynamodb.ListTablesInput) (*dynamodb.ListTablesOutput, error) {
	limit := int(deref(in.Limit))
	if in.Limit != nil && (limit < 1 || limit > 100) {
		return nil, invalid(
			"1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value between 1 and 100",
			limit,
		)
	}
	if limit == 0 {
		limit = 100
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	here := idOf(ctx, nil)
	names := []string{}
	for id := range t.tables {
		if id.account == here.account && id.region == here.region && id.name > deref(in.ExclusiveStartTableName) && t.find(id) != nil {
			names = append(names, id.name)
		}
	}
	slices.Sort(names)
	out := &dynamodb.ListTablesOutput{TableNames: names}
	if len(names) > limit {
		out.TableNames, out.LastEvaluatedTableName = names[:limit], &names[limit-1]
	}
	return out, nil
}

func (t *Tables) deleteTable(ctx context.Context, in *dynamodb.DeleteTableInput) (*dynamodb.DeleteTableOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, err := t.delete(idOf(ctx, in.TableName), t.latency)
	if err != nil {
		return nil, err
	}
	d := found.describe(t.env.Clock.Now())
	d.TableStatus = types.TableStatusDeleting
	return &dynamodb.DeleteTableOutput{TableDescription: d}, nil
}

// delete deletes a table. The caller holds the lock.
func (t *Tables) delete(id tableID, latency time.Duration) (*table, error) {
	found, err := t.described(id)
	if err != nil {
		return nil, err
	}
	now := t.env.Clock.Now()
	if err := found.checkIdle(now); err != nil {
		return nil, err
	}
	if found.protected {
		return nil, invalid("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	found.busy(types.TableStatusDeleting, now, latency)
	if latency == 0 {
		delete(t.tables, id)
	}
	return found, nil
}

// checkIdle rejects a change of a table that is not ACTIVE.
func (t *table) checkIdle(now time.Time) error {
	doing := map[types.TableStatus]string{
		types.TableStatusCreating: "created", types.TableStatusUpdating: "updated", types.TableStatusDeleting: "deleted",
	}[t.status(now)]
	if doing == "" {
		return nil
	}
	return refuse("ResourceInUseException", "Attempt to change a resource which is still in use: Table is being %s: %s", doing, t.id.name)
}
