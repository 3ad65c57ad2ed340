package dynamodb

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func (t *Tables) updateTable(ctx context.Context, in *dynamodb.UpdateTableInput) (*dynamodb.UpdateTableOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, err := t.update(idOf(ctx, in.TableName), in, t.latency)
	if err != nil {
		return nil, err
	}
	return &dynamodb.UpdateTableOutput{TableDescription: found.describe(t.env.Clock.Now())}, nil
}

// update changes a table. It validates everything first. The caller holds the lock.
func (t *Tables) update(id tableID, in *dynamodb.UpdateTableInput, latency time.Duration) (*table, error) {
	found, err := t.described(id)
	if err != nil {
		return nil, err
	}
	now := t.env.Clock.Now().UTC()
	if err := found.checkIdle(now); err != nil {
		return nil, err
	}
	if err := found.checkUpdate(in); err != nil {
		return nil, err
	}
	found.updateThroughput(in, now)
	if in.DeletionProtectionEnabled != nil {
		found.protected = *in.DeletionProtectionEnabled
	}
	if in.TableClass != "" && in.TableClass != found.class {
		found.class, found.classAt = in.TableClass, &now
	}
	found.setStream(in.StreamSpecification, now)
	found.setEncryption(t.env, in.SSESpecification)
	found.mergeDefinitions(in.AttributeDefinitions)
	for _, u := range in.GlobalSecondaryIndexUpdates {
		found.updateIndex(u, now.Add(latency))
	}
	found.busy(types.TableStatusUpdating, now, latency)
	return found, nil
}

func (t *table) checkUpdate(in *dynamodb.UpdateTableInput) error {
	if nothingToUpdate(in) {
		return invalid(
			"At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required",
		)
	}
	if len(in.VectorIndexUpdates) > 0 || len(in.GlobalTableWitnessUpdates) > 0 || len(in.ReplicaUpdates) > 0 {
		return invalid("One or more parameter values were invalid: The simulator has no replicas, witnesses and vector indexes")
	}
	if err := t.checkStreamUpdate(in.StreamSpecification); err != nil {
		return err
	}
	if err := t.checkThroughputUpdate(in); err != nil {
		return err
	}
	return t.checkIndexUpdates(in)
}

func nothingToUpdate(in *dynamodb.UpdateTableInput) bool {
	return in.ProvisionedThroughput == nil && in.BillingMode == "" && in.StreamSpecification == nil &&
		len(in.GlobalSecondaryIndexUpdates) == 0 && in.SSESpecification == nil && len(in.ReplicaUpdates) == 0 &&
		in.DeletionProtectionEnabled == nil && in.TableClass == "" && in.OnDemandThroughput == nil && in.WarmThroughput == nil &&
		len(in.VectorIndexUpdates) == 0 && len(in.GlobalTableWitnessUpdates) == 0
}

func (t *table) checkStreamUpdate(s *types.StreamSpecification) error {
	if s == nil {
		return nil
	}
	if deref(s.StreamEnabled) && t.stream != nil {
		return invalid("Table already has an enabled stream: TableName: %s", t.id.name)
	}
	if !deref(s.StreamEnabled) && t.stream == nil {
		return invalid("Table is already without a stream: TableName: %s", t.id.name)
	}
	return checkStream(s)
}

func (t *table) checkThroughputUpdate(in *dynamodb.UpdateTableInput) error {
	mode := in.BillingMode
	if mode == "" {
		mode = t.billing
	}
	if in.ProvisionedThroughput == nil && (in.BillingMode == "" || mode == t.billing) {
		return nil
	}
	if err := checkBilling(mode, in.ProvisionedThroughput, ""); err != nil {
		return err
	}
	want := in.ProvisionedThroughput
	if want == nil || mode != t.billing {
		return nil
	}
	read, write := deref(t.throughput.ReadCapacityUnits), deref(t.throughput.WriteCapacityUnits)
	if *want.ReadCapacityUnits != read || *want.WriteCapacityUnits != write || len(in.GlobalSecondaryIndexUpdates) > 0 {
		return nil
	}
	return invalid("The provisioned throughput for the table will not change. The requested value equals the current value. "+
		"Current ReadCapacityUnits provisioned for the table: %d. Requested ReadCapacityUnits: %d. "+
		"Current WriteCapacityUnits provisioned for the table: %d. Requested WriteCapacityUnits: %d. "+
		"Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.", read, read, write, write)
}

func (t *table) checkIndexUpdates(in *dynamodb.UpdateTableInput) error {
	changes := 0
	definitions := slices.Concat(t.definitions, in.AttributeDefinitions)
	for _, u := range in.GlobalSecondaryIndexUpdates {
		switch {
		case u.Create != nil:
			changes++
			if err := t.checkIndexCreate(u.Create, in, definitions); err != nil {
				return err
			}
		case u.Delete != nil:
			changes++
			if x := t.index(deref(u.Delete.IndexName)); x == nil || x.local {
				return refuse("ResourceNotFoundException", "Requested resource not found")
			}
		case u.Update != nil:
			if x := t.index(deref(u.Update.IndexName)); x == nil || x.local {
				return refuse("ResourceNotFoundException", "Requested resource not found")
			}
		default:
			return invalid(
				"One or more parameter values were invalid: One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null",
			)
		}
	}
	if changes > 1 {
		return refuse(
			"LimitExceededException", "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
		)
	}
	return nil
}

func (t *table) checkIndexCreate(
	create *types.CreateGlobalSecondaryIndexAction, in *dynamodb.UpdateTableInput, definitions []types.AttributeDefinition,
) error {
	if t.index(deref(create.IndexName)) != nil {
		return invalid("Attempting to create an index which already exists")
	}
	if err := checkIndex(map[string]bool{}, create.IndexName, create.KeySchema, create.Projection, definitions); err != nil {
		return err
	}
	mode := in.BillingMode
	if mode == "" {
		mode = t.billing
	}
	return checkBilling(mode, create.ProvisionedThroughput, *create.IndexName)
}

func (t *table) updateThroughput(in *dynamodb.UpdateTableInput, now time.Time) {
	if in.BillingMode != "" && in.BillingMode != t.billing {
		t.billing = in.BillingMode
		if t.billing == types.BillingModePayPerRequest {
			t.onDemandAt = &now
			t.throughput = throughputOf(nil)
			for _, x := range t.secondary {
				x.throughput = throughputOf(nil)
			}
		}
	}
	if in.ProvisionedThroughput != nil && t.billing == types.BillingModeProvisioned {
		t.throughput = changedThroughput(t.throughput, in.ProvisionedThroughput, now)
	}
	if in.OnDemandThroughput != nil {
		t.onDemand = in.OnDemandThroughput
	}
	if in.WarmThroughput != nil {
		t.warm = in.WarmThroughput
	}
}

func changedThroughput(
	old types.ProvisionedThroughputDescription, in *types.ProvisionedThroughput, now time.Time,
) types.ProvisionedThroughputDescription {
	out := throughputOf(in)
	out.LastIncreaseDateTime, out.LastDecreaseDateTime = old.LastIncreaseDateTime, old.LastDecreaseDateTime
	out.NumberOfDecreasesToday = old.NumberOfDecreasesToday
	read, write := deref(old.ReadCapacityUnits), deref(old.WriteCapacityUnits)
	if *out.ReadCapacityUnits > read || *out.WriteCapacityUnits > write {
		out.LastIncreaseDateTime = &now
	}
	if *out.ReadCapacityUnits < read || *out.WriteCapacityUnits < write {
		out.LastDecreaseDateTime = &now
		out.NumberOfDecreasesToday = new(deref(old.NumberOfDecreasesToday) + 1)
	}
	return out
}

// hasOtherType reports whether a key attribute has another type than the definition.
func (t *table) hasOtherType(d types.AttributeDefinition) bool {
	return slices.ContainsFunc(t.definitions, func(has types.AttributeDefinition) bool {
		return deref(has.AttributeName) == deref(d.AttributeName) && has.AttributeType != d.AttributeType
	})
}

// mergeDefinitions adds the new definitions.
func (t *table) mergeDefinitions(in []types.AttributeDefinition) {
	for _, d := range in {
		if !defined(t.definitions, deref(d.AttributeName)) {
			t.definitions = append(slices.Clone(t.definitions), d)
		}
	}
}

func (t *table) updateIndex(u types.GlobalSecondaryIndexUpdate, readyAt time.Time) {
	switch {
	case u.Create != nil:
		t.addIndex(&secondaryIndex{
			name: *u.Create.IndexName, schema: u.Create.KeySchema, projection: *u.Create.Projection, readyAt: readyAt,
			throughput: throughputOf(u.Create.ProvisionedThroughput), onDemand: u.Create.OnDemandThroughput, warm: u.Create.WarmThroughput,
		})
	case u.Delete != nil:
		t.secondary = slices.DeleteFunc(t.secondary, func(x *secondaryIndex) bool { return x.name == *u.Delete.IndexName })
		t.dropUnusedDefinitions()
	default:
		x := t.index(*u.Update.IndexName)
		if u.Update.ProvisionedThroughput != nil {
			x.throughput = throughputOf(u.Update.ProvisionedThroughput)
		}
		if u.Update.OnDemandThroughput != nil {
			x.onDemand = u.Update.OnDemandThroughput
		}
		if u.Update.WarmThroughput != nil {
			x.warm = u.Update.WarmThroughput
		}
	}
}

// dropUnusedDefinitions removes the definitions of attributes that no key uses.
func (t *table) dropUnusedDefinitions() {
	used := t.items.key.names()
	for _, x := range t.secondary {
		used = append(used, x.key.names()...)
	}
	t.definitions = slices.DeleteFunc(slices.Clone(t.definitions), func(d types.AttributeDefinition) bool {
		return !slices.Contains(used, *d.AttributeName)
	})
}
