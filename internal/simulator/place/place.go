// Package place stores the simulator's state separately for each account and region.
package place

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Place is an account and a region.
type Place struct{ Account, Region string }

// Of returns the account and region of a call.
func Of(ctx context.Context) Place {
	c := wire.CallFrom(ctx)
	return Place{Account: c.Account, Region: c.Region}
}

// OfResource returns the account and region of a stack's resource.
func OfResource(r resource.Request) Place { return Place{Account: r.Account, Region: r.Region} }

// ARN returns the ARN of a service's resource in this account and region.
func (p Place) ARN(partition, service, resource string) string {
	return "arn:" + partition + ":" + service + ":" + p.Region + ":" + p.Account + ":" + resource
}

// Store holds one T for each account and region, created on first use. Set New before use.
type Store[T any] struct {
	// New creates the T of an account and region.
	New func(Place) *T

	mu sync.RWMutex
	at map[Place]*T
}

// At returns the T of an account and region.
func (s *Store[T]) At(p Place) *T {
	s.mu.RLock()
	t, ok := s.at[p]
	s.mu.RUnlock()
	if ok {
		return t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok = s.at[p]; ok {
		return t
	}
	if s.at == nil {
		s.at = map[Place]*T{}
	}
	t = s.New(p)
	s.at[p] = t
	return t
}

// All returns every T so far, ordered by account and region.
func (s *Store[T]) All() []*T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	places := make([]Place, 0, len(s.at))
	for p := range s.at {
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Region, b.Region))
	})
	all := make([]*T, len(places))
	for i, p := range places {
		all[i] = s.at[p]
	}
	return all
}
