package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// idempotence is how long a client token is valid:
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const idempotence = 10 * time.Minute

type tokenID struct{ account, region, token string }

// transaction is a completed transaction with a client token.
type transaction struct {
	digest uint64
	out    *dynamodb.TransactWriteItemsOutput
	until  time.Time
}

func (t *Tables) transactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput) (*dynamodb.TransactWriteItemsOutput, error) {
	if len(in.TransactItems) == 0 || len(in.TransactItems) > maxTransact {
		return nil, invalid(
			"1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length between 1 and 100",
		)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	id := tokenID{wire.CallFrom(ctx).Account, wire.CallFrom(ctx).Region, deref(in.ClientRequestToken)}
	digest, err := digestOf(in)
	if err != nil {
		return nil, err
	}
	now := t.env.Clock.Now()
	if done, found := t.tokens[id]; found && now.Before(done.until) && id.token != "" {
		if done.digest != digest {
			return nil, refuse(
				"IdempotentParameterMismatchException",
				"The request uses the same client token as a previous, but non-identical request. Do not reuse a client token with different requests, unless the requests are identical",
			)
		}
		return done.out, nil
	}
	writes, err := t.transactWrites(ctx, in.TransactItems)
	if err != nil {
		return nil, err
	}
	if err := planAll(writes); err != nil {
		return nil, err
	}
	for _, w := range writes {
		w.commit()
	}
	out := &dynamodb.TransactWriteItemsOutput{ConsumedCapacity: totalConsumed(writes, in.ReturnConsumedCapacity, 2)}
	t.remember(id, transaction{digest, out, now.Add(idempotence)}, now)
	return out, nil
}

// remember stores the transaction and removes expired ones.
func (t *Tables) remember(id tokenID, done transaction, now time.Time) {
	for other, old := range t.tokens {
		if !now.Before(old.until) {
			delete(t.tokens, other)
		}
	}
	if id.token != "" {
		t.tokens[id] = done
	}
}

func digestOf(in *dynamodb.TransactWriteItemsInput) (uint64, error) {
	data, err := json.Marshal(in.TransactItems)
	if err != nil {
		return 0, fmt.Errorf("digest of a transaction: %w", err)
	}
	h := fnv.New64a()
	_, _ = h.Write(data)
	return h.Sum64(), nil
}

// transactWrites prepares the parts of a transaction.
func (t *Tables) transactWrites(ctx context.Context, items []types.TransactWriteItem) ([]*write, error) {
	writes := make([]*write, len(items))
	seen := map[*table]map[position]bool{}
	for i, item := range items {
		w, name, err := transactWrite(item)
		if err != nil {
			return nil, err
		}
		if w.table, err = t.data(idOf(ctx, name)); err != nil {
			return nil, err
		}
		if err := w.prepare(); err != nil {
			return nil, err
		}
		if seen[w.table] == nil {
			seen[w.table] = map[position]bool{}
		}
		at, _ := w.table.items.at(w.item)
		if seen[w.table][at] {
			return nil, invalid("Transaction request cannot include multiple operations on one item")
		}
		seen[w.table][at] = true
		writes[i] = w
	}
	return writes, nil
}

func transactWrite(item types.TransactWriteItem) (w *write, name *string, err error) {
	const allOld = types.ReturnValuesOnConditionCheckFailureAllOld
	given := 0
	if p := item.Put; p != nil {
		given++
		w, name = &write{
			kind: writePut, item: p.Item, condition: p.ConditionExpression, names: p.ExpressionAttributeNames,
			values: p.ExpressionAttributeValues, returnOld: p.ReturnValuesOnConditionCheckFailure == allOld,
		}, p.TableName
	}
	if u := item.Update; u != nil {
		given++
		w, name = &write{
			kind: writeUpdate, item: u.Key, condition: u.ConditionExpression, update: u.UpdateExpression, names: u.ExpressionAttributeNames,
			values: u.ExpressionAttributeValues, returnOld: u.ReturnValuesOnConditionCheckFailure == allOld,
		}, u.TableName
	}
	if d := item.Delete; d != nil {
		given++
		w, name = &write{
			kind: writeDelete, item: d.Key, condition: d.ConditionExpression, names: d.ExpressionAttributeNames,
			values: d.ExpressionAttributeValues, returnOld: d.ReturnValuesOnConditionCheckFailure == allOld,
		}, d.TableName
	}
	if c := item.ConditionCheck; c != nil {
		given++
		w, name = &write{
			kind: writeCheck, item: c.Key, condition: c.ConditionExpression, names: c.ExpressionAttributeNames,
			values: c.ExpressionAttributeValues, returnOld: c.ReturnValuesOnConditionCheckFailure == allOld,
		}, c.TableName
	}
	if given != 1 {
		return nil, nil, invalid("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	return w, name, nil
}

// planAll plans every part; if any fails, the error lists the reasons of all parts.
func planAll(writes []*write) error {
	reasons := make([]types.CancellationReason, len(writes))
	codes := make([]string, len(writes))
	failed := false
	for i, w := range writes {
		codes[i] = "None"
		if failure, ok := errors.AsType[*wire.Error](w.plan()); ok {
			failed = true
			codes[i] = map[string]string{"ConditionalCheckFailedException": "ConditionalCheckFailed"}[failure.Code]
			if codes[i] == "" {
				codes[i] = "ValidationError"
			}
			reasons[i].Message = &failure.Message
			if w.returnOld {
				reasons[i].Item = w.oldItem()
			}
		}
		reasons[i].Code = &codes[i]
	}
	if !failed {
		return nil
	}
	canceled := refuse("TransactionCanceledException",
		"Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", "))
	canceled.Body = &types.TransactionCanceledException{Message: &canceled.Message, CancellationReasons: reasons}
	return canceled
}

func (t *Tables) transactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput) (*dynamodb.TransactGetItemsOutput, error) {
	if len(in.TransactItems) == 0 || len(in.TransactItems) > maxTransact {
		return nil, invalid(
			"1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length between 1 and 100",
		)
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := &dynamodb.TransactGetItemsOutput{}
	for _, item := range in.TransactItems {
		get := item.Get
		if get == nil {
			return nil, invalid(
				"1 validation error detected: Value null at 'transactItems.1.member.get' failed to satisfy constraint: Member must not be null",
			)
		}
		found, err := t.data(idOf(ctx, get.TableName))
		if err != nil {
			return nil, err
		}
		paths, err := projectionOnly(get.ProjectionExpression, get.ExpressionAttributeNames)
		if err != nil {
			return nil, err
		}
		got, size, err := found.read(get.Key, paths)
		if err != nil {
			return nil, err
		}
		out.Responses = append(out.Responses, types.ItemResponse{Item: got})
		if c := readCapacity(found, nil, in.ReturnConsumedCapacity, 2*readUnits(size, true)); c != nil {
			out.ConsumedCapacity = append(out.ConsumedCapacity, *c)
		}
	}
	return out, nil
}
