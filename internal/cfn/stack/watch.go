package stack

import (
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// sight is a stack's status and last change.
type sight struct{ status, changed string }

// watched is what is known of one stack: what its record says and what was observed since.
type watched struct {
	place awsapi.Place
	// owner is the digest of the tags that prove the stack's owner, empty until they were read.
	owner string
	// ours is true once a caller passed a record of the stack.
	ours bool
	// recorded is the last content of the record, and token the token of the last operation.
	recorded sight
	token    string
	// seen is what the last sweep or read observed, if any.
	seen sight
	// hint is the last event that was not followed by a read, nil if none.
	hint       *Event
	hintNumber uint64
}

// watchlist caches, by stack ID, what was observed. It holds a few hundred bytes for each stack.
type watchlist struct {
	mu     sync.RWMutex
	stacks map[string]*watched
	number uint64
}

// event records that a stack changed. The start of an update's rollback matters while
// CloudFormation is still working: from then on it waits for other instances.
func (w *watchlist) event(event Event, place awsapi.Place) {
	status := types.StackStatus(event.Status)
	if event.StackID == "" || inProgress(status) && status != types.StackStatusUpdateRollbackInProgress {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.get(event.StackID, place)
	if one.ended(event) {
		return
	}
	w.number++
	one.hint, one.hintNumber = &event, w.number
}

// ended reports whether the event belongs to an operation whose end was already read.
func (w *watched) ended(event Event) bool {
	return event.Token != "" && event.Token == w.token && event.Status == w.recorded.status
}

// get returns the entry of a stack. The caller holds the lock.
func (w *watchlist) get(id string, place awsapi.Place) *watched {
	one, ok := w.stacks[id]
	if !ok {
		one = &watched{place: place}
		w.stacks[id] = one
	}
	return one
}

// changed reports whether the stack may have changed since the record, and returns the event to
// follow.
func (w *watchlist) changed(record *Record) (Event, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	one, ok := w.stacks[record.StackID]
	if !ok {
		return Event{}, false
	}
	if one.hint != nil {
		known := one.hint.Token != "" && one.hint.Token == record.Token && one.hint.Status == record.Status
		return *one.hint, !known
	}
	return Event{}, one.seen.status != "" && one.seen != sight{record.Status, record.Changed}
}

// confirmed reports whether the last read or sweep agrees with the record.
func (w *watchlist) confirmed(record *Record) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	one, ok := w.stacks[record.StackID]
	return ok && one.hint == nil && one.seen == sight{record.Status, record.Changed}
}

// recorded is called at the end of every visit with the stack's current record.
func (w *watchlist) recorded(place awsapi.Place, record *Record) {
	if record.StackID == "" {
		return
	}
	now := sight{record.Status, record.Changed}
	w.mu.RLock()
	one, ok := w.stacks[record.StackID]
	same := ok && one.ours && one.recorded == now && one.token == record.Token
	w.mu.RUnlock()
	if same {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one = w.get(record.StackID, place)
	one.place, one.ours, one.recorded, one.token = place, true, now, record.Token
	if one.hint != nil && one.ended(*one.hint) {
		one.hint, one.hintNumber = nil, 0
	}
}

// own records the owner whose tags a stack was read or created with. An ARN never names another
// stack.
func (w *watchlist) own(id string, place awsapi.Place, owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.get(id, place).owner = owner
}

// ownedBy reports whether a stack carries its owner's tags.
func (w *watchlist) ownedBy(id, owner string) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	one, ok := w.stacks[id]
	return ok && one.owner == owner
}

// mark returns the number of the last event, to be passed to observed.
func (w *watchlist) mark() uint64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.number
}

// observed records the result of a read. Events after the mark are kept.
func (w *watchlist) observed(id string, place awsapi.Place, saw sight, mark uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.get(id, place)
	if !inProgress(types.StackStatus(saw.status)) {
		one.seen = saw
	}
	if one.hintNumber <= mark {
		one.hint, one.hintNumber = nil, 0
	}
}

// has reports whether a stack was read or an event named it.
func (w *watchlist) has(id string) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	_, ok := w.stacks[id]
	return ok
}

// began records that an operation was sent: earlier observations no longer count.
func (w *watchlist) began(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one, ok := w.stacks[id]; ok {
		one.seen = sight{}
	}
}

func (w *watchlist) forget(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.stacks, id)
}

// ours returns the stacks of a place for which a caller passed a record.
func (w *watchlist) ours(place awsapi.Place) map[string]sight {
	w.mu.RLock()
	defer w.mu.RUnlock()
	found := map[string]sight{}
	for id, one := range w.stacks {
		if one.ours && one.place == place {
			found[id] = one.recorded
		}
	}
	return found
}

// swept records what a sweep observed, and reports whether it differs from the record of one of the
// operator's stacks.
func (w *watchlist) swept(id string, place awsapi.Place, saw sight) bool {
	if inProgress(types.StackStatus(saw.status)) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.get(id, place)
	one.seen = saw
	return one.ours && one.recorded != saw
}

// prune removes foreign stacks that a sweep no longer lists: their events would accumulate for the
// life of the process.
func (w *watchlist) prune(place awsapi.Place, listed map[string]bool, mark uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, one := range w.stacks {
		if !one.ours && one.place == place && !listed[id] && one.hintNumber <= mark {
			delete(w.stacks, id)
		}
	}
}
