package dynamodb

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxPage is the number of bytes that Query and Scan read at most:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html
const maxPage = 1 << 20

// search holds the common state of Query and Scan.
type search struct {
	table      *table
	secondary  *secondaryIndex // nil searches the table
	filter     condition
	projection []path
	keys       *keyCondition // nil for Scan
	selects    types.Select
	limit      int32
	start      attributes
	backward   bool
	consistent bool
	segment    func(position) bool
	capacity   types.ReturnConsumedCapacity
}

// page is one page of results.
type page struct {
	items          []attributes
	count, scanned int32
	last           attributes
	consumed       *types.ConsumedCapacity
}

func (t *Tables) query(ctx context.Context, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	if err := refuseLegacy(len(in.KeyConditions) > 0 || len(in.QueryFilter) > 0 || len(in.AttributesToGet) > 0,
		"KeyConditions, QueryFilter or AttributesToGet"); err != nil {
		return nil, err
	}
	if in.KeyConditionExpression == nil {
		return nil, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	found, err := t.data(idOf(ctx, in.TableName))
	if err != nil {
		return nil, err
	}
	given, err := newPlaceholders(in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	if err != nil {
		return nil, err
	}
	s := &search{
		table: found, selects: in.Select, limit: deref(in.Limit), backward: in.ScanIndexForward != nil && !*in.ScanIndexForward,
		consistent: deref(in.ConsistentRead), capacity: in.ReturnConsumedCapacity,
	}
	if err := s.parse(given, in.FilterExpression, in.ProjectionExpression, in.IndexName, in.Limit); err != nil {
		return nil, err
	}
	keyed, err := parseCondition(keyConditionExpression, in.KeyConditionExpression, given)
	if err != nil {
		return nil, err
	}
	if err := given.checkUsed(); err != nil {
		return nil, err
	}
	if s.keys, err = newKeyCondition(keyed, s.index().key, found); err != nil {
		return nil, err
	}
	if err := s.checkFilter(given); err != nil {
		return nil, err
	}
	if s.start, err = s.checkStart(in.ExclusiveStartKey); err != nil {
		return nil, err
	}
	p := s.run()
	return &dynamodb.QueryOutput{
		Items:            p.items,
		Count:            p.count,
		ScannedCount:     p.scanned,
		LastEvaluatedKey: p.last,
		ConsumedCapacity: p.consumed,
	}, nil
}

func (t *Tables) scan(ctx context.Context, in *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
	if err := refuseLegacy(len(in.ScanFilter) > 0 || len(in.AttributesToGet) > 0, "ScanFilter or AttributesToGet"); err != nil {
		return nil, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	found, err := t.data(idOf(ctx, in.TableName))
	if err != nil {
		return nil, err
	}
	given, err := newPlaceholders(in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	if err != nil {
		return nil, err
	}
	s := &search{
		table: found, selects: in.Select, limit: deref(in.Limit),
		consistent: deref(in.ConsistentRead), capacity: in.ReturnConsumedCapacity,
	}
	if s.segment, err = segmentOf(in.Segment, in.TotalSegments); err != nil {
		return nil, err
	}
	if err := s.parse(given, in.FilterExpression, in.ProjectionExpression, in.IndexName, in.Limit); err != nil {
		return nil, err
	}
	if err := given.checkUsed(); err != nil {
		return nil, err
	}
	if s.start, err = s.checkStart(in.ExclusiveStartKey); err != nil {
		return nil, err
	}
	p := s.run()
	return &dynamodb.ScanOutput{
		Items:            p.items,
		Count:            p.count,
		ScannedCount:     p.scanned,
		LastEvaluatedKey: p.last,
		ConsumedCapacity: p.consumed,
	}, nil
}

// segmentOf returns a test whether a position belongs to a segment of a parallel scan.
func segmentOf(segment, total *int32) (func(position) bool, error) {
	switch {
	case segment == nil && total == nil:
		return func(position) bool { return true }, nil
	case total == nil:
		return nil, invalid("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case segment == nil:
		return nil, invalid("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case *segment >= *total:
		return nil, invalid(
			"The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d",
			*segment,
			*total,
		)
	}
	return func(p position) bool { return int32(p.hash%uint64(*total)) == *segment }, nil //nolint:gosec // total is positive and small
}

// parse parses the expressions that Query and Scan share and finds the index.
func (s *search) parse(given *placeholders, filter, projection, index *string, limit *int32) (err error) {
	if limit != nil && *limit < 1 {
		return invalid(
			"1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1",
			*limit,
		)
	}
	if s.filter, err = parseCondition(filterExpression, filter, given); err != nil {
		return err
	}
	if s.projection, err = parseProjection(projection, given); err != nil {
		return err
	}
	if index != nil {
		if s.secondary = s.table.index(*index); s.secondary == nil {
			return invalid("The table does not have the specified index: %s", *index)
		}
		if s.consistent && !s.secondary.local {
			return invalid("Consistent reads are not supported on global secondary indexes")
		}
	}
	return s.checkSelect()
}

func (s *search) checkSelect() error {
	switch s.selects {
	case types.SelectAllProjectedAttributes:
		if s.secondary == nil {
			return invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
		}
	case types.SelectSpecificAttributes:
		if s.projection == nil {
			return invalid("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
		}
	case types.SelectAllAttributes:
		if x := s.secondary; x != nil && !x.local && x.projection.ProjectionType != types.ProjectionTypeAll {
			return invalid(
				"One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL",
				x.name,
			)
		}
	case types.SelectCount:
	}
	if s.projection != nil && s.selects != "" && s.selects != types.SelectSpecificAttributes {
		return invalid("Cannot specify the ProjectionExpression when choosing to get %s", s.selects)
	}
	return nil
}

// checkFilter rejects a filter on key attributes.
func (s *search) checkFilter(given *placeholders) error {
	for _, p := range given.paths[filterExpression] {
		if slices.Contains(s.index().key.names(), p[0].key) {
			return invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", p[0].key)
		}
	}
	return nil
}

// checkStart rejects a start key that cannot be the end of a page of this search.
func (s *search) checkStart(start attributes) (attributes, error) {
	if start == nil {
		return nil, nil
	}
	start, err := checkedItem(start)
	if err != nil {
		return nil, err
	}
	names := s.keyNames()
	if len(start) != len(names) {
		return nil, invalid("The provided starting key is invalid")
	}
	for _, name := range names {
		if start[name] == nil || typeOf(start[name]) != string(s.table.typeOf(name)) {
			return nil, invalid("The provided starting key is invalid: The provided key element does not match the schema")
		}
	}
	if s.keys != nil && !equalValues(start[s.index().key.partition], s.keys.partition) {
		return nil, invalid("The provided starting key is outside query boundaries based on provided conditions")
	}
	return start, nil
}

func (s *search) index() *index {
	if s.secondary != nil {
		return &s.secondary.index
	}
	return &s.table.items
}

// keyNames returns the attributes of a start key: those of the index and of the table.
func (s *search) keyNames() []string {
	names := s.index().key.names()
	for _, name := range s.table.items.key.names() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// entries returns the entries to read and the order in which to read them.
func (s *search) entries() (all []*entry, next func(i int) int, first, end int) {
	x := s.index()
	from, to := 0, len(x.entries)
	if s.keys != nil {
		from, to = x.partitionBounds(s.keys.partition)
	}
	if s.start != nil {
		at, _ := x.at(s.start)
		i, found := x.search(at)
		switch {
		case s.backward:
			to = min(to, i)
		case found:
			from = max(from, i+1)
		default:
			from = max(from, i)
		}
	}
	if s.backward {
		return x.entries, func(i int) int { return i - 1 }, to - 1, from - 1
	}
	return x.entries, func(i int) int { return i + 1 }, from, max(from, to)
}

func (s *search) run() page {
	p, size, read := page{}, 0, 0
	if s.selects != types.SelectCount {
		p.items = []attributes{}
	}
	entries, next, i, end := s.entries()
	for ; i != end; i = next(i) {
		e := entries[i]
		if !s.inSearch(e.position) {
			continue
		}
		if p.scanned > 0 && size+e.record.size > maxPage || s.limit > 0 && p.scanned == s.limit {
			break
		}
		size += e.record.size
		read += e.record.size
		p.scanned++
		p.last = s.lastKey(e.record.item)
		if s.filter == nil || s.filter.holds(e.record.item) {
			p.count++
			p.items = s.collect(p.items, e.record.item)
		}
	}
	if i == end && (s.limit == 0 || p.scanned < s.limit) {
		p.last = nil
	}
	p.consumed = readCapacity(s.table, s.secondary, s.capacity, readUnits(read, s.consistent))
	return p
}

func (s *search) inSearch(at position) bool {
	if s.keys != nil {
		return s.keys.sort == nil || s.keys.sort(at.sort)
	}
	return s.segment(at)
}

func (s *search) lastKey(in attributes) attributes {
	out := attributes{}
	for _, name := range s.keyNames() {
		out[name] = in[name]
	}
	return out
}

func (s *search) collect(items []attributes, in attributes) []attributes {
	if s.selects == types.SelectCount {
		return items
	}
	return append(items, projected(s.visible(in), s.projection))
}

// visible returns the attributes that the index contains. A local index reads others from the table
// on request.
func (s *search) visible(in attributes) attributes {
	x := s.secondary
	if x == nil || x.projection.ProjectionType == types.ProjectionTypeAll ||
		x.local && (s.projection != nil || s.selects == types.SelectAllAttributes) {
		return in
	}
	out := s.lastKey(in)
	for _, name := range x.projection.NonKeyAttributes {
		if v := in[name]; v != nil {
			out[name] = v
		}
	}
	return out
}
