package dynamodb

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// table is one table with its items.
type table struct {
	id          tableID
	arn, uid    string
	created     time.Time
	definitions []types.AttributeDefinition
	schema      []types.KeySchemaElement
	billing     types.BillingMode
	onDemandAt  *time.Time
	throughput  types.ProvisionedThroughputDescription
	onDemand    *types.OnDemandThroughput
	warm        *types.WarmThroughput
	stream      *types.StreamSpecification
	streamLabel string
	encryption  *types.SSEDescription
	class       types.TableClass
	classAt     *time.Time
	protected   bool
	tags        map[string]string
	ttl         *types.TimeToLiveSpecification
	recovery    *types.PointInTimeRecoverySpecification
	recoveryAt  time.Time
	policy      string
	revision    int
	insights    types.ContributorInsightsStatus
	kinesis     []types.KinesisDataStreamDestination

	busyAs    types.TableStatus
	busyUntil time.Time

	items     index
	secondary []*secondaryIndex
}

// secondaryIndex is a local or a global secondary index.
type secondaryIndex struct {
	index
	name       string
	local      bool
	schema     []types.KeySchemaElement
	projection types.Projection
	throughput types.ProvisionedThroughputDescription
	onDemand   *types.OnDemandThroughput
	warm       *types.WarmThroughput
	readyAt    time.Time
}

// busy sets the status of the table for some time.
func (t *table) busy(as types.TableStatus, now time.Time, latency time.Duration) {
	t.busyAs, t.busyUntil = as, now.Add(latency)
}

func (t *table) status(now time.Time) types.TableStatus {
	if now.Before(t.busyUntil) {
		return t.busyAs
	}
	return types.TableStatusActive
}

func (t *table) gone(now time.Time) bool {
	return t.busyAs == types.TableStatusDeleting && !now.Before(t.busyUntil)
}

// typeOf returns the declared type of a key attribute.
func (t *table) typeOf(attribute string) types.ScalarAttributeType {
	for _, d := range t.definitions {
		if *d.AttributeName == attribute {
			return d.AttributeType
		}
	}
	return ""
}

func (t *table) index(name string) *secondaryIndex {
	for _, x := range t.secondary {
		if x.name == name {
			return x
		}
	}
	return nil
}

// store replaces an old record, which may be nil, with an item in the table and its indexes. A nil
// item only removes the old record.
func (t *table) store(old *record, in attributes) {
	if old != nil {
		for _, x := range t.secondary {
			x.remove(old)
		}
	}
	if in == nil {
		if old != nil {
			t.items.remove(old)
		}
		return
	}
	r := &record{item: in, size: sizeOfItem(in)}
	t.items.insert(r)
	for _, x := range t.secondary {
		x.insert(r)
	}
}

// addIndex creates a secondary index and fills it.
func (t *table) addIndex(x *secondaryIndex) {
	x.key = keySchemaOf(x.schema)
	x.primary = &t.items.key
	for _, e := range t.items.entries {
		x.insert(e.record)
	}
	t.secondary = append(t.secondary, x)
}

func keySchemaOf(elements []types.KeySchemaElement) keySchema {
	k := keySchema{}
	for _, e := range elements {
		if e.KeyType == types.KeyTypeHash {
			k.partition = *e.AttributeName
		} else {
			k.sort = *e.AttributeName
		}
	}
	return k
}

// describe returns the table in the form of DescribeTable.
func (t *table) describe(now time.Time) *types.TableDescription {
	d := &types.TableDescription{
		AttributeDefinitions:      slices.Clone(t.definitions),
		CreationDateTime:          &t.created,
		DeletionProtectionEnabled: new(t.protected),
		ItemCount:                 new(int64(len(t.items.entries))),
		KeySchema:                 slices.Clone(t.schema),
		OnDemandThroughput:        t.onDemand,
		ProvisionedThroughput:     new(t.throughput),
		SSEDescription:            t.encryption,
		TableArn:                  &t.arn,
		TableId:                   &t.uid,
		TableName:                 &t.id.name,
		TableSizeBytes:            new(int64(t.items.size)),
		TableStatus:               t.status(now),
	}
	if t.billing == types.BillingModePayPerRequest {
		d.BillingModeSummary = &types.BillingModeSummary{BillingMode: t.billing, LastUpdateToPayPerRequestDateTime: t.onDemandAt}
	} else if t.onDemandAt != nil {
		d.BillingModeSummary = &types.BillingModeSummary{
			BillingMode: types.BillingModeProvisioned, LastUpdateToPayPerRequestDateTime: t.onDemandAt,
		}
	}
	if t.class != "" {
		d.TableClassSummary = &types.TableClassSummary{TableClass: t.class, LastUpdateDateTime: t.classAt}
	}
	if t.stream != nil {
		d.StreamSpecification = t.stream
	}
	if t.streamLabel != "" {
		d.LatestStreamLabel, d.LatestStreamArn = &t.streamLabel, new(t.streamARN())
	}
	read, write := t.warmUnits()
	d.WarmThroughput = &types.TableWarmThroughputDescription{
		ReadUnitsPerSecond:  &read,
		WriteUnitsPerSecond: &write,
		Status:              types.TableStatusActive,
	}
	for _, x := range t.secondary {
		x.describe(t, d, now)
	}
	return d
}

// warmUnits returns the warm throughput: as set, as provisioned, or the initial one of an on-demand
// table:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
func (t *table) warmUnits() (read, write int64) {
	if t.billing == types.BillingModePayPerRequest {
		read, write = 12000, 4000
	} else {
		read, write = deref(t.throughput.ReadCapacityUnits), deref(t.throughput.WriteCapacityUnits)
	}
	if t.warm != nil {
		read, write = max(read, deref(t.warm.ReadUnitsPerSecond)), max(write, deref(t.warm.WriteUnitsPerSecond))
	}
	return read, write
}

func (t *table) streamARN() string { return t.arn + "/stream/" + t.streamLabel }

func (x *secondaryIndex) describe(t *table, d *types.TableDescription, now time.Time) {
	arn := fmt.Sprintf("%s/index/%s", t.arn, x.name)
	count, size := new(int64(len(x.entries))), new(int64(x.size))
	if x.local {
		d.LocalSecondaryIndexes = append(d.LocalSecondaryIndexes, types.LocalSecondaryIndexDescription{
			IndexArn: &arn, IndexName: &x.name, IndexSizeBytes: size, ItemCount: count,
			KeySchema: slices.Clone(x.schema), Projection: new(x.projection),
		})
		return
	}
	status := types.IndexStatusActive
	if now.Before(x.readyAt) {
		status = types.IndexStatusCreating
	}
	d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, types.GlobalSecondaryIndexDescription{
		IndexArn: &arn, IndexName: &x.name, IndexSizeBytes: size, ItemCount: count, IndexStatus: status,
		KeySchema: slices.Clone(x.schema), Projection: new(x.projection),
		ProvisionedThroughput: new(x.throughput), OnDemandThroughput: x.onDemand,
	})
}

// sortedTags returns the tags ordered by key.
func sortedTags(tags map[string]string) []types.Tag {
	out := make([]types.Tag, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: &key, Value: new(tags[key])})
	}
	return out
}
