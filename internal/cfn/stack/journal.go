package stack

import (
	"sync"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// stackKey names a stack before it has an ID.
type stackKey struct {
	target awsapi.Target
	name   string
}

// journal holds the records that the callers have not yet handed back. A caller that reads its objects from a cache may hand in an
// older record than the engine returned last; acting on that would send an operation twice.
type journal struct {
	mu      sync.Mutex
	entries map[stackKey]entry
}

type entry struct {
	record Record
	owner  claimant
}

// claimant is the object that a record is kept for. What is empty is not known.
type claimant struct{ tags, salt string }

// isAnother is true when both are known and differ.
func (o claimant) isAnother(other claimant) bool {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	return differ(o.tags, other.tags) || differ(o.salt, other.salt)
}

// newest returns the newer one of the caller's record and what the engine returned last for the same owner. Two objects may claim
// one name: then neither gets, or takes away, what is kept for the other.
func (j *journal) newest(key stackKey, caller claimant, record Record) Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	known, ok := j.entries[key]
	if !ok {
		return record
	}
	if known.owner.isAnother(caller) {
		return record
	}
	if known.record.Revision <= record.Revision {
		delete(j.entries, key)
		return record
	}
	return known.record
}

func (j *journal) keep(key stackKey, of claimant, record Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if known, ok := j.entries[key]; ok && known.owner.isAnother(of) && record.StackID == "" {
		return // it has no stack; the other may
	}
	j.entries[key] = entry{record: record, owner: of}
}

func (j *journal) forget(key stackKey, caller claimant) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.entries[key].owner.isAnother(caller) {
		delete(j.entries, key)
	}
}
