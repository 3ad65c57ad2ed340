package stack

import (
	"maps"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// Forget drops what is cached for an account and region in which no caller has a stack any more.
func (e *Engine) Forget(target awsapi.Target) {
	e.journal.mu.Lock()
	maps.DeleteFunc(e.journal.entries, func(key stackKey, _ entry) bool { return key.target == target })
	e.journal.mu.Unlock()
	e.denials.mu.Lock()
	maps.DeleteFunc(e.denials.counts, func(key stackKey, _ int) bool { return key.target == target })
	e.denials.mu.Unlock()
	e.watchlist.mu.Lock()
	maps.DeleteFunc(e.watchlist.stacks, func(_ string, one *watched) bool { return one.target == target })
	e.watchlist.mu.Unlock()
	e.describer.mu.Lock()
	if known := e.describer.targets[target]; known != nil && !known.running {
		delete(e.describer.targets, target)
	}
	e.describer.mu.Unlock()
}
