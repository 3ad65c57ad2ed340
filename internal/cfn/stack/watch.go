package stack

import (
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// sight is a stack's status and last change.
type sight struct{ status, changed string }

// watched is what is known of one stack: what its record says and what was seen of it since.
type watched struct {
	target awsapi.Target
	// owner is the digest of the tags by which the stack was found to be an object's, empty while nobody has looked.
	owner string
	// ours is true once the stack was handed in with a record.
	ours bool
	// recorded is what the record said last, and token that of the last operation.
	recorded sight
	token    string
	// seen is what a sweep or a look saw last, if anything.
	seen sight
	// hint is the last event that no look has followed, nil when there is none.
	hint       *Event
	hintNumber uint64
}

// watchlist remembers, by stack ID, what was observed. It holds a few hundred bytes for each stack.
type watchlist struct {
	mu     sync.RWMutex
	stacks map[string]*watched
	number uint64
}

// event notes that a stack changed. That an update goes back is news while CloudFormation is still at work: from then on it waits for
// other machines.
func (w *watchlist) event(event Event) {
	status := types.StackStatus(event.Status)
	if event.StackID == "" || inProgress(status) && status != types.StackStatusUpdateRollbackInProgress {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.get(event.StackID, event.Target)
	if one.ended(event) {
		return
	}
	w.number++
	one.hint, one.hintNumber = &event, w.number
}

// ended is true for the event of an operation whose end was seen already.
func (w *watched) ended(event Event) bool {
	return event.Token != "" && event.Token == w.token && event.Status == w.recorded.status
}

// get returns the entry of a stack. The caller holds the lock.
func (w *watchlist) get(id string, target awsapi.Target) *watched {
	one, ok := w.stacks[id]
	if !ok {
		one = &watched{target: target}
		w.stacks[id] = one
	}
	return one
}

// changed says whether the stack may have changed since the record, and the hint to begin a look with.
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

// confirmed is true when a look or a sweep saw just what the record says.
func (w *watchlist) confirmed(record *Record) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	one, ok := w.stacks[record.StackID]
	return ok && one.hint == nil && one.seen == sight{record.Status, record.Changed}
}

// recorded is called at the end of every visit: the stack is ours, and this is what we know.
func (w *watchlist) recorded(target awsapi.Target, record *Record) {
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
	one = w.get(record.StackID, target)
	one.target, one.ours, one.recorded, one.token = target, true, now, record.Token
	if one.hint != nil && one.ended(*one.hint) {
		one.hint, one.hintNumber = nil, 0
	}
}

// own notes that a stack was found, or made, to carry its owner's tags. An ARN is of one stack for ever.
func (w *watchlist) own(id string, target awsapi.Target, owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.get(id, target).owner = owner
}

// ownedBy reports whether a stack was found to carry its owner's tags.
func (w *watchlist) ownedBy(id, owner string) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	one, ok := w.stacks[id]
	return ok && one.owner == owner
}

// mark returns the number of the last event, to be given to looked.
func (w *watchlist) mark() uint64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.number
}

// looked notes what a look saw; events that came after the mark stay.
func (w *watchlist) looked(id string, target awsapi.Target, saw sight, mark uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.get(id, target)
	if !inProgress(types.StackStatus(saw.status)) {
		one.seen = saw
	}
	if one.hintNumber <= mark {
		one.hint, one.hintNumber = nil, 0
	}
}

// has is true for a stack that was seen, or of which an event told.
func (w *watchlist) has(id string) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	_, ok := w.stacks[id]
	return ok
}

// began notes that an operation was sent: what was seen before says nothing any more.
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

// ours returns the stacks of a target that were handed in with a record.
func (w *watchlist) ours(target awsapi.Target) map[string]sight {
	w.mu.RLock()
	defer w.mu.RUnlock()
	found := map[string]sight{}
	for id, one := range w.stacks {
		if one.ours && one.target == target {
			found[id] = one.recorded
		}
	}
	return found
}

// swept notes what a sweep saw and returns true if it differs from what the record of one of our stacks says.
func (w *watchlist) swept(id string, target awsapi.Target, saw sight) bool {
	if inProgress(types.StackStatus(saw.status)) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.get(id, target)
	one.seen = saw
	return one.ours && one.recorded != saw
}

// prune forgets the stacks of others that a sweep no longer sees: their events would add up for as long as the operator runs.
func (w *watchlist) prune(target awsapi.Target, listed map[string]bool, mark uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, one := range w.stacks {
		if !one.ours && one.target == target && !listed[id] && one.hintNumber <= mark {
			delete(w.stacks, id)
		}
	}
}
