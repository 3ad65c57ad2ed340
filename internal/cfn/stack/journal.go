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
	owner  string
}

// newest returns the newer one of the caller's record and what the engine returned last for the same owner.
func (j *journal) newest(key stackKey, owner string, record Record) Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	known, ok := j.entries[key]
	if !ok {
		return record
	}
	if known.record.Revision <= record.Revision || (owner != "" && known.owner != "" && known.owner != owner) {
		delete(j.entries, key)
		return record
	}
	return known.record
}

func (j *journal) keep(key stackKey, owner string, record Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries[key] = entry{record: record, owner: owner}
}

func (j *journal) forget(key stackKey) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.entries, key)
}
