package dynamodb

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func (t *Tables) putItem(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
	if err := refuseLegacy(len(in.Expected) > 0, "Expected"); err != nil {
		return nil, err
	}
	if err := checkReturnValues(in.ReturnValues, types.ReturnValueNone, types.ReturnValueAllOld); err != nil {
		return nil, err
	}
	w := &write{
		kind: writePut, item: in.Item, condition: in.ConditionExpression,
		names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues,
		returnOld: in.ReturnValuesOnConditionCheckFailure == types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if err := t.one(ctx, in.TableName, w); err != nil {
		return nil, err
	}
	return &dynamodb.PutItemOutput{
		Attributes:            w.returned(in.ReturnValues),
		ConsumedCapacity:      w.consumed(in.ReturnConsumedCapacity),
		ItemCollectionMetrics: w.collection(in.ReturnItemCollectionMetrics),
	}, nil
}

func (t *Tables) updateItem(ctx context.Context, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	if err := refuseLegacy(len(in.Expected) > 0, "Expected"); err != nil {
		return nil, err
	}
	if err := refuseLegacy(len(in.AttributeUpdates) > 0, "AttributeUpdates"); err != nil {
		return nil, err
	}
	if err := checkReturnValues(in.ReturnValues, types.ReturnValue("").Values()...); err != nil {
		return nil, err
	}
	w := &write{
		kind: writeUpdate, item: in.Key, condition: in.ConditionExpression, update: in.UpdateExpression,
		names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues,
		returnOld: in.ReturnValuesOnConditionCheckFailure == types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if err := t.one(ctx, in.TableName, w); err != nil {
		return nil, err
	}
	return &dynamodb.UpdateItemOutput{
		Attributes:            w.returned(in.ReturnValues),
		ConsumedCapacity:      w.consumed(in.ReturnConsumedCapacity),
		ItemCollectionMetrics: w.collection(in.ReturnItemCollectionMetrics),
	}, nil
}

func (t *Tables) deleteItem(ctx context.Context, in *dynamodb.DeleteItemInput) (*dynamodb.DeleteItemOutput, error) {
	if err := refuseLegacy(len(in.Expected) > 0, "Expected"); err != nil {
		return nil, err
	}
	if err := checkReturnValues(in.ReturnValues, types.ReturnValueNone, types.ReturnValueAllOld); err != nil {
		return nil, err
	}
	w := &write{
		kind: writeDelete, item: in.Key, condition: in.ConditionExpression,
		names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues,
		returnOld: in.ReturnValuesOnConditionCheckFailure == types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if err := t.one(ctx, in.TableName, w); err != nil {
		return nil, err
	}
	return &dynamodb.DeleteItemOutput{
		Attributes:            w.returned(in.ReturnValues),
		ConsumedCapacity:      w.consumed(in.ReturnConsumedCapacity),
		ItemCollectionMetrics: w.collection(in.ReturnItemCollectionMetrics),
	}, nil
}

// one executes a single write.
func (t *Tables) one(ctx context.Context, name *string, w *write) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	if w.table, err = t.data(idOf(ctx, name)); err != nil {
		return err
	}
	if err := w.prepare(); err != nil {
		return err
	}
	if err := w.plan(); err != nil {
		return err
	}
	w.commit()
	return nil
}

// refuseLegacy rejects the parameters that expressions replaced:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LegacyConditionalParameters.html
func refuseLegacy(given bool, parameter string) error {
	if !given {
		return nil
	}
	return invalid("The simulator does not serve the legacy parameter %s; use an expression", parameter)
}

func checkReturnValues(want types.ReturnValue, allowed ...types.ReturnValue) error {
	if want == "" || slices.Contains(allowed, want) {
		return nil
	}
	if slices.Contains(want.Values(), want) {
		return invalid("Return values set to invalid value")
	}
	return invalid(
		"1 validation error detected: Value '%s' at 'returnValues' failed to satisfy constraint: Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]",
		want,
	)
}

func (t *Tables) getItem(ctx context.Context, in *dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error) {
	if err := refuseLegacy(len(in.AttributesToGet) > 0, "AttributesToGet"); err != nil {
		return nil, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	found, err := t.data(idOf(ctx, in.TableName))
	if err != nil {
		return nil, err
	}
	paths, err := projectionOnly(in.ProjectionExpression, in.ExpressionAttributeNames)
	if err != nil {
		return nil, err
	}
	got, size, err := found.read(in.Key, paths)
	if err != nil {
		return nil, err
	}
	return &dynamodb.GetItemOutput{
		Item: got, ConsumedCapacity: readCapacity(found, nil, in.ReturnConsumedCapacity, readUnits(size, deref(in.ConsistentRead))),
	}, nil
}

// projectionOnly parses the projection of an operation without other expressions.
func projectionOnly(text *string, names map[string]string) ([]path, error) {
	given, err := newPlaceholders(names, nil)
	if err != nil {
		return nil, err
	}
	paths, err := parseProjection(text, given)
	if err != nil {
		return nil, err
	}
	return paths, given.checkUsed()
}

// read returns an item by its key, or nil, and its size.
func (t *table) read(key attributes, paths []path) (got attributes, size int, err error) {
	if key, err = checkedItem(key); err != nil {
		return nil, 0, err
	}
	if err := t.checkKey(key); err != nil {
		return nil, 0, err
	}
	r := t.items.get(key)
	if r == nil {
		return nil, 0, nil
	}
	return projected(r.item, paths), r.size, nil
}
