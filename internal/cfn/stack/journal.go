package stack

import (
	"maps"
	"sync"
	"time"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// stackKey identifies a stack before it has an ID.
type stackKey struct {
	place awsapi.Place
	name  string
}

// lastRevision is more than the engine ever counts to. A record with a negative or higher revision was
// edited, and would count as newer than what the engine returned.
const lastRevision = 1 << 40

// journal holds the records that the callers have not yet passed back. A caller that reads its
// objects from a cache may pass an older record than the engine returned last; acting on that would
// send an operation twice.
type journal struct {
	mu      sync.Mutex
	entries map[stackKey]entry
	// created are the stacks that were created so recently that a read by name may not find them.
	created map[stackKey]creation
}

type creation struct {
	id, owner string // the owner's digest
	at        time.Time
}

// create remembers a stack that was just created, and forgets those that a read finds by now.
func (j *journal) create(key stackKey, made creation) {
	j.mu.Lock()
	defer j.mu.Unlock()
	maps.DeleteFunc(j.created, func(_ stackKey, old creation) bool { return made.at.Sub(old.at) > consistency })
	if j.created == nil {
		j.created = map[stackKey]creation{}
	}
	j.created[key] = made
}

// recent returns the stack that was just created for an owner.
func (j *journal) recent(key stackKey, owner string, now time.Time) (creation, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	made, ok := j.created[key]
	return made, ok && made.owner == owner && now.Sub(made.at) <= consistency
}

type entry struct {
	record Record
	owner  claimant
}

// claimant is the object that a record is kept for. Empty fields are unknown.
type claimant struct{ tags, salt string }

// isAnother reports whether both are known and differ.
func (o claimant) isAnother(other claimant) bool {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	return differ(o.tags, other.tags) || differ(o.salt, other.salt)
}

// newest returns the newer one of the caller's record and the one that the engine last returned for
// the same owner. Two objects may claim one name: neither may receive or remove the entry of the
// other.
func (j *journal) newest(key stackKey, caller claimant, record Record) Record {
	if record.Revision < 0 || record.Revision > lastRevision {
		record.Revision = 0
	}
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
		return // it has no stack; the other may have one
	}
	j.entries[key] = entry{record: record, owner: of}
}

func (j *journal) forget(key stackKey, caller claimant) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.entries[key].owner.isAnother(caller) {
		delete(j.entries, key)
		delete(j.created, key)
	}
}
