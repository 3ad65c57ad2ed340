package dynamodb

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The limits of batches and transactions:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-api
const (
	maxBatchGet   = 100
	maxBatchWrite = 25
	maxTransact   = 100
	maxBatchBytes = 16 << 20
)

func (t *Tables) batchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput) (*dynamodb.BatchGetItemOutput, error) {
	total := 0
	for _, keys := range in.RequestItems {
		total += len(keys.Keys)
	}
	if total == 0 {
		return nil, invalid(
			"1 validation error detected: Value '{}' at 'requestItems' failed to satisfy constraint: Member must have length greater than or equal to 1",
		)
	}
	if total > maxBatchGet {
		return nil, invalid("Too many items requested for the BatchGetItem call")
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := &dynamodb.BatchGetItemOutput{
		Responses: map[string][]map[string]types.AttributeValue{}, UnprocessedKeys: map[string]types.KeysAndAttributes{},
	}
	left := maxBatchBytes
	for _, name := range slices.Sorted(maps.Keys(in.RequestItems)) {
		keys := in.RequestItems[name]
		if err := t.batchGetTable(ctx, name, &keys, in.ReturnConsumedCapacity, &left, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// batchGetTable reads the keys of one table. It leaves keys past the limit of bytes unprocessed.
func (t *Tables) batchGetTable(
	ctx context.Context,
	name string,
	keys *types.KeysAndAttributes,
	capacity types.ReturnConsumedCapacity,
	left *int,
	out *dynamodb.BatchGetItemOutput,
) error {
	found, err := t.data(idOf(ctx, &name))
	if err != nil {
		return err
	}
	if err := refuseLegacy(len(keys.AttributesToGet) > 0, "AttributesToGet"); err != nil {
		return err
	}
	paths, err := projectionOnly(keys.ProjectionExpression, keys.ExpressionAttributeNames)
	if err != nil {
		return err
	}
	if err := found.checkDistinct(keys.Keys, "Provided list of item keys contains duplicates"); err != nil {
		return err
	}
	units := 0.0
	got := []map[string]types.AttributeValue{}
	for i, key := range keys.Keys {
		one, size, err := found.read(key, paths)
		if err != nil {
			return err
		}
		if *left -= size; *left < 0 {
			rest := *keys
			rest.Keys = keys.Keys[i:]
			out.UnprocessedKeys[name] = rest
			break
		}
		units += readUnits(size, deref(keys.ConsistentRead))
		if one != nil {
			got = append(got, one)
		}
	}
	out.Responses[name] = got
	if c := readCapacity(found, nil, capacity, units); c != nil {
		out.ConsumedCapacity = append(out.ConsumedCapacity, *c)
	}
	return nil
}

// checkDistinct rejects two equal keys.
func (t *table) checkDistinct(keys []map[string]types.AttributeValue, message string) error {
	seen := map[position]bool{}
	for _, key := range keys {
		checked, err := checkedItem(key)
		if err != nil {
			return err
		}
		at, ok := t.items.at(checked)
		if ok && seen[at] {
			return invalid("%s", message)
		}
		seen[at] = true
	}
	return nil
}

func (t *Tables) batchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput) (*dynamodb.BatchWriteItemOutput, error) {
	total := 0
	for _, requests := range in.RequestItems {
		total += len(requests)
	}
	if total == 0 {
		return nil, invalid(
			"1 validation error detected: Value '{}' at 'requestItems' failed to satisfy constraint: Member must have length greater than or equal to 1",
		)
	}
	if total > maxBatchWrite {
		return nil, invalid("Too many items requested for the BatchWriteItem call")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var writes []*write
	for _, name := range slices.Sorted(maps.Keys(in.RequestItems)) {
		of, err := t.batchWrites(ctx, name, in.RequestItems[name])
		if err != nil {
			return nil, err
		}
		writes = append(writes, of...)
	}
	out := &dynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{}}
	for _, w := range writes {
		if err := w.plan(); err != nil {
			return nil, err
		}
	}
	for _, w := range writes {
		w.commit()
	}
	out.ConsumedCapacity = totalConsumed(writes, in.ReturnConsumedCapacity, 1)
	return out, nil
}

// batchWrites prepares one table's part of a batch. A batch has no effect if any part is malformed.
func (t *Tables) batchWrites(ctx context.Context, name string, requests []types.WriteRequest) ([]*write, error) {
	found, err := t.data(idOf(ctx, &name))
	if err != nil {
		return nil, err
	}
	var writes []*write
	var keys []map[string]types.AttributeValue
	for _, r := range requests {
		w := &write{table: found}
		switch {
		case r.PutRequest != nil && r.DeleteRequest == nil:
			w.kind, w.item = writePut, r.PutRequest.Item
		case r.DeleteRequest != nil && r.PutRequest == nil:
			w.kind, w.item = writeDelete, r.DeleteRequest.Key
		default:
			return nil, invalid(
				"Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
			)
		}
		if err := w.prepare(); err != nil {
			return nil, err
		}
		writes, keys = append(writes, w), append(keys, w.item)
	}
	return writes, found.checkDistinct(keys, "Provided list of item keys contains duplicates")
}

// totalConsumed returns the total capacity of writes by table.
func totalConsumed(writes []*write, want types.ReturnConsumedCapacity, times float64) []types.ConsumedCapacity {
	if want == "" || want == types.ReturnConsumedCapacityNone {
		return nil
	}
	byTable := map[string]float64{}
	for _, w := range writes {
		byTable[w.table.id.name] += times * deref(w.consumed(want).CapacityUnits)
	}
	out := make([]types.ConsumedCapacity, 0, len(byTable))
	for _, name := range slices.Sorted(maps.Keys(byTable)) {
		out = append(out, types.ConsumedCapacity{TableName: &name, CapacityUnits: new(byTable[name])})
	}
	return out
}
