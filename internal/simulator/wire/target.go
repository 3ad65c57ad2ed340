package wire

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
)

// Target is an account and a region.
type Target struct{ Account, Region string }

// TargetFrom returns the account and region of the call that a context carries.
func TargetFrom(ctx context.Context) Target {
	c := CallFrom(ctx)
	return Target{Account: c.Account, Region: c.Region}
}

// TargetOf returns the account and region in an ARN, and the part that names the resource.
func TargetOf(arn string) (at Target, resource string) {
	parts := strings.SplitN(arn, ":", 6) //nolint:mnd // the parts of an ARN
	if len(parts) != 6 {
		return Target{}, ""
	}
	return Target{Account: parts[4], Region: parts[3]}, parts[5]
}

// ARN returns the ARN of a service's resource in this account and region.
func (t Target) ARN(partition, service, resource string) string {
	return "arn:" + partition + ":" + service + ":" + t.Region + ":" + t.Account + ":" + resource
}

// Store holds a service's state: one T for each account and region, created on first use. Set New
// before use.
type Store[T any] struct {
	// New creates the T of an account and region.
	New func(Target) *T

	mu sync.RWMutex
	at map[Target]*T
}

// At returns the T of an account and region.
func (s *Store[T]) At(target Target) *T {
	s.mu.RLock()
	t, ok := s.at[target]
	s.mu.RUnlock()
	if ok {
		return t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok = s.at[target]; ok {
		return t
	}
	if s.at == nil {
		s.at = map[Target]*T{}
	}
	t = s.New(target)
	s.at[target] = t
	return t
}

// All returns every T so far, ordered by account and region.
func (s *Store[T]) All() []*T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	targets := make([]Target, 0, len(s.at))
	for t := range s.at {
		targets = append(targets, t)
	}
	slices.SortFunc(targets, func(a, b Target) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Region, b.Region))
	})
	all := make([]*T, len(targets))
	for i, t := range targets {
		all[i] = s.at[t]
	}
	return all
}
