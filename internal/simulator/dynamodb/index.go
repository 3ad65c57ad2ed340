package dynamodb

import (
	"cmp"
	"hash/fnv"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// record is a stored item. It is immutable.
type record struct {
	item attributes
	size int
}

// position is the position of a record in an index. Items of one partition are contiguous and
// ordered by their sort key; partitions are ordered by a hash, which is why a Scan looks unordered.
type position struct {
	hash      uint64
	partition string
	sort      string
	primary   string // orders equal keys of a secondary index
}

func (p position) compare(o position) int {
	return cmp.Or(
		cmp.Compare(p.hash, o.hash), cmp.Compare(p.partition, o.partition),
		cmp.Compare(p.sort, o.sort), cmp.Compare(p.primary, o.primary),
	)
}

type entry struct {
	position
	record *record
}

// keySchema names the attributes of a key; sort is empty without a sort key.
type keySchema struct {
	partition, sort string
}

// names returns the key's attributes.
func (k keySchema) names() []string {
	if k.sort == "" {
		return []string{k.partition}
	}
	return []string{k.partition, k.sort}
}

// index orders a table's items by one key: that of the table or of a secondary index.
type index struct {
	key     keySchema
	primary *keySchema // the table's key, for a secondary index
	entries []*entry
	size    int
}

// at returns the position of an item. ok is false if the item lacks a key attribute, in which case
// a secondary index does not contain it.
func (x *index) at(in attributes) (p position, ok bool) {
	if p.partition, ok = sortKeyOf(in[x.key.partition]); !ok {
		return p, false
	}
	if x.key.sort != "" {
		if p.sort, ok = sortKeyOf(in[x.key.sort]); !ok {
			return p, false
		}
	}
	if x.primary != nil {
		for _, name := range x.primary.names() {
			key, _ := sortKeyOf(in[name])
			p.primary += escapeKey(key)
		}
	}
	p.hash = hashOf(p.partition)
	return p, true
}

// escapeKey escapes a key so that concatenated keys keep their order and stay distinct.
func escapeKey(key string) string {
	out := make([]byte, 0, len(key)+2)
	for i := range len(key) {
		out = append(out, key[i])
		if key[i] == 0 {
			out = append(out, 0xff)
		}
	}
	return string(append(out, 0, 0))
}

func hashOf(partition string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(partition))
	// FNV's high bits differ little for short strings: mix them.
	v := h.Sum64()
	v ^= v >> 33
	v *= 0xff51afd7ed558ccd
	return v ^ v>>33
}

// search returns the first entry at or after the position.
func (x *index) search(p position) (i int, found bool) {
	return slices.BinarySearchFunc(x.entries, p, func(e *entry, p position) int { return e.compare(p) })
}

// get returns the record with the key.
func (x *index) get(key attributes) *record {
	p, ok := x.at(key)
	if !ok {
		return nil
	}
	if i, found := x.search(p); found {
		return x.entries[i].record
	}
	return nil
}

func (x *index) insert(r *record) {
	p, ok := x.at(r.item)
	if !ok {
		return
	}
	i, found := x.search(p)
	x.size += r.size
	if found {
		x.size -= x.entries[i].record.size
		x.entries[i].record = r
		return
	}
	x.entries = slices.Insert(x.entries, i, &entry{p, r})
}

func (x *index) remove(r *record) {
	p, ok := x.at(r.item)
	if !ok {
		return
	}
	if i, found := x.search(p); found {
		x.size -= r.size
		x.entries = slices.Delete(x.entries, i, i+1)
	}
}

// partitionBounds returns the range of a partition's entries.
func (x *index) partitionBounds(v types.AttributeValue) (from, to int) {
	key, _ := sortKeyOf(v)
	hash := hashOf(key)
	from, _ = x.search(position{hash: hash, partition: key})
	rest := x.entries[from:]
	n, _ := slices.BinarySearchFunc(rest, 0, func(e *entry, _ int) int {
		if e.hash == hash && e.partition == key {
			return -1
		}
		return 1
	})
	return from, from + n
}
