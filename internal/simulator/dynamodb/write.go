package dynamodb

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// maxItem is the maximum size of an item:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-items
const maxItem = 400 * 1024

// writeKind is the kind of a write.
type writeKind int

const (
	writePut writeKind = iota
	writeUpdate
	writeDelete
	writeCheck
)

// write is one change of one item: a PutItem, UpdateItem or DeleteItem, or one part of a batch or a
// transaction.
type write struct {
	kind      writeKind
	table     *table
	item      attributes // the item to put, or the key
	condition *string
	update    *string
	names     map[string]string
	values    attributes
	returnOld bool // in the error if the condition fails

	parsedCondition condition
	parsedUpdate    *update
	old             *record
	result          attributes
}

// prepare parses and validates everything that does not depend on the stored item.
func (w *write) prepare() error {
	given, err := newPlaceholders(w.names, w.values)
	if err != nil {
		return err
	}
	if w.parsedUpdate, err = parseUpdate(w.update, given); err != nil {
		return err
	}
	if w.parsedCondition, err = parseCondition(conditionExpression, w.condition, given); err != nil {
		return err
	}
	if err := given.checkUsed(); err != nil {
		return err
	}
	if w.item, err = checkedItem(w.item); err != nil {
		return err
	}
	if w.kind == writePut {
		return w.table.checkItem(w.item)
	}
	if err := w.table.checkKey(w.item); err != nil {
		return err
	}
	return w.checkKeyUntouched()
}

// checkKeyUntouched rejects an update of a key attribute.
func (w *write) checkKeyUntouched() error {
	for _, p := range w.parsedUpdate.paths {
		if p[0].key == w.table.items.key.partition || p[0].key == w.table.items.key.sort {
			return invalid(
				"One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", p[0].key,
			)
		}
	}
	return nil
}

// plan finds the old item, checks the condition and computes the new item, without storing it.
func (w *write) plan() error {
	w.old = w.table.items.get(w.item)
	if w.parsedCondition != nil && !w.parsedCondition.holds(w.oldItem()) {
		return w.conditionFailed()
	}
	switch w.kind {
	case writePut:
		w.result = w.item
	case writeUpdate:
		return w.planUpdate()
	case writeCheck:
		w.result = w.oldItem()
	case writeDelete:
	}
	return nil
}

func (w *write) planUpdate() error {
	base := w.oldItem()
	if base == nil {
		base = w.item
	}
	result, err := w.parsedUpdate.apply(base)
	if err != nil {
		return err
	}
	w.result = result
	if sizeOfItem(result) > maxItem {
		return invalid("Item size to update has exceeded the maximum allowed size")
	}
	return w.table.checkIndexKeys(result)
}

// commit stores the planned change.
func (w *write) commit() {
	if w.kind != writeCheck {
		w.table.store(w.old, w.result)
	}
}

func (w *write) oldItem() attributes {
	if w.old == nil {
		return nil
	}
	return w.old.item
}

func (w *write) conditionFailed() error {
	failure := refuse("ConditionalCheckFailedException", "The conditional request failed")
	if w.returnOld && w.old != nil {
		failure.Body = &types.ConditionalCheckFailedException{Message: &failure.Message, Item: w.old.item}
	}
	return failure
}

// units returns the write capacity of the change.
func (w *write) units() float64 {
	size := 1
	if w.old != nil {
		size = w.old.size
	}
	if w.result != nil {
		size = max(size, sizeOfItem(w.result))
	}
	return float64((size + 1023) / 1024)
}

// returned returns the attributes that ReturnValues selects.
func (w *write) returned(want types.ReturnValue) attributes {
	switch want {
	case types.ReturnValueAllOld:
		return w.oldItem()
	case types.ReturnValueAllNew:
		return w.result
	case types.ReturnValueUpdatedOld:
		return w.updatedPart(w.oldItem())
	case types.ReturnValueUpdatedNew:
		return w.updatedPart(w.result)
	default:
		return nil
	}
}

func (w *write) updatedPart(of attributes) attributes {
	if len(w.parsedUpdate.paths) == 0 || of == nil {
		return nil
	}
	return projected(of, w.parsedUpdate.paths)
}

// checkItem rejects an item that lacks key attributes or is too large.
func (t *table) checkItem(in attributes) error {
	for _, name := range t.items.key.names() {
		v := in[name]
		if v == nil {
			return invalid("One or more parameter values were invalid: Missing the key %s in the item", name)
		}
		if want := t.typeOf(name); typeOf(v) != string(want) {
			return invalid(
				"One or more parameter values were invalid: Type mismatch for key %s expected: %s actual: %s", name, want, typeOf(v),
			)
		}
		if err := t.checkKeyValue(name, v); err != nil {
			return err
		}
	}
	if sizeOfItem(in) > maxItem {
		return invalid("Item size has exceeded the maximum allowed size")
	}
	return t.checkIndexKeys(in)
}

// checkKey rejects a key whose attributes differ from the table's.
func (t *table) checkKey(key attributes) error {
	names := t.items.key.names()
	if len(key) != len(names) {
		return keyMismatch()
	}
	for _, name := range names {
		if key[name] == nil || typeOf(key[name]) != string(t.typeOf(name)) {
			return keyMismatch()
		}
		if err := t.checkKeyValue(name, key[name]); err != nil {
			return err
		}
	}
	return nil
}

func keyMismatch() *wire.Error { return invalid("The provided key element does not match the schema") }

// checkKeyValue checks the limits of keys:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-partition-sort-keys
func (t *table) checkKeyValue(name string, v types.AttributeValue) error {
	if typeOf(v) == "N" {
		return nil
	}
	key, _ := sortKeyOf(v)
	if key == "" {
		kind := "string"
		if typeOf(v) == "B" {
			kind = "binary"
		}
		return invalid(
			"One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s",
			kind,
			name,
		)
	}
	if name == t.items.key.partition && len(key) > 2048 {
		return invalid("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes")
	}
	if name == t.items.key.sort && len(key) > 1024 {
		return invalid(
			"One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
		)
	}
	return nil
}

// checkIndexKeys rejects an item whose index keys have the wrong type.
func (t *table) checkIndexKeys(in attributes) error {
	for _, x := range t.secondary {
		for _, name := range x.key.names() {
			v := in[name]
			if v == nil {
				continue
			}
			if want := t.typeOf(name); typeOf(v) != string(want) {
				return invalid(
					"One or more parameter values were invalid: Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s",
					name,
					want,
					typeOf(v),
					x.name,
				)
			}
			if key, _ := sortKeyOf(v); key == "" {
				return invalid(
					"One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: %s, IndexKey: %s",
					x.name,
					name,
				)
			}
		}
	}
	return nil
}
