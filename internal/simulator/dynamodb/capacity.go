package dynamodb

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// readUnits returns the read capacity for a number of bytes: one unit for each 4 KB, half of that
// for an eventually consistent read:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
func readUnits(size int, consistent bool) float64 {
	units := float64(max(1, (size+4095)/4096))
	if !consistent {
		units /= 2
	}
	return units
}

// readCapacity reports a read of a table or of one of its indexes.
func readCapacity(t *table, x *secondaryIndex, want types.ReturnConsumedCapacity, units float64) *types.ConsumedCapacity {
	if want == "" || want == types.ReturnConsumedCapacityNone {
		return nil
	}
	out := &types.ConsumedCapacity{TableName: &t.id.name, CapacityUnits: &units}
	if want != types.ReturnConsumedCapacityIndexes {
		return out
	}
	if x == nil {
		out.Table = &types.Capacity{CapacityUnits: &units}
		return out
	}
	out.Table = &types.Capacity{CapacityUnits: new(0.0)}
	byName := map[string]types.Capacity{x.name: {CapacityUnits: &units}}
	if x.local {
		out.LocalSecondaryIndexes = byName
	} else {
		out.GlobalSecondaryIndexes = byName
	}
	return out
}

// consumed reports the capacity of a write in the table and its indexes.
func (w *write) consumed(want types.ReturnConsumedCapacity) *types.ConsumedCapacity {
	if want == "" || want == types.ReturnConsumedCapacityNone {
		return nil
	}
	units := w.units()
	out := &types.ConsumedCapacity{TableName: &w.table.id.name, Table: &types.Capacity{CapacityUnits: new(units)}}
	total := units
	for _, x := range w.table.secondary {
		if !w.touches(x) {
			continue
		}
		total += units
		byName := &out.GlobalSecondaryIndexes
		if x.local {
			byName = &out.LocalSecondaryIndexes
		}
		if *byName == nil {
			*byName = map[string]types.Capacity{}
		}
		(*byName)[x.name] = types.Capacity{CapacityUnits: new(units)}
	}
	out.CapacityUnits = &total
	if want != types.ReturnConsumedCapacityIndexes {
		out.Table, out.GlobalSecondaryIndexes, out.LocalSecondaryIndexes = nil, nil, nil
	}
	return out
}

// touches reports whether the write changes an index.
func (w *write) touches(x *secondaryIndex) bool {
	_, before := x.at(w.oldItem())
	_, after := x.at(w.result)
	return before || after
}

// collection estimates the size of the item collection, for tables with local indexes.
func (w *write) collection(want types.ReturnItemCollectionMetrics) *types.ItemCollectionMetrics {
	if want != types.ReturnItemCollectionMetricsSize {
		return nil
	}
	for _, x := range w.table.secondary {
		if x.local {
			name := w.table.items.key.partition
			return &types.ItemCollectionMetrics{ItemCollectionKey: attributes{name: w.item[name]}, SizeEstimateRangeGB: []float64{0, 1}}
		}
	}
	return nil
}
