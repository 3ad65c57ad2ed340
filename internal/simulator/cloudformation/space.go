package cloudformation

import (
	"strings"
	"sync"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// space holds the stacks of one account in one region.
type space struct {
	wire.Target

	mu      sync.RWMutex
	byName  map[string]*stack // live stacks
	byID    map[string]*stack // live and deleted stacks
	order   []*stack          // in order of creation
	exports map[string]*export
	drifts  map[string]*driftDetection
}

// export is an output that other stacks may import.
type export struct {
	name, value string
	owner       *stack
	users       map[*stack]bool
}

func newSpace(p wire.Target) *space {
	return &space{
		Target:  p,
		byName:  map[string]*stack{},
		byID:    map[string]*stack{},
		exports: map[string]*export{},
		drifts:  map[string]*driftDetection{},
	}
}

// find returns a stack by name or ID. Deleted stacks are found by ID only, as in
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html
func (sp *space) find(nameOrID string) *stack {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	if strings.HasPrefix(nameOrID, "arn:") {
		return sp.byID[nameOrID]
	}
	return sp.byName[nameOrID]
}

// add adds a new stack. If a stack with its name exists, it returns that stack instead.
func (sp *space) add(s *stack) (existing *stack) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if other := sp.byName[s.name]; other != nil {
		return other
	}
	sp.byName[s.name] = s
	sp.byID[s.id] = s
	sp.order = append(sp.order, s)
	return nil
}

// forget frees a deleted stack's name and exports. The stack can still be found by its ID.
func (sp *space) forget(s *stack) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if sp.byName[s.name] == s {
		delete(sp.byName, s.name)
	}
	for name, x := range sp.exports {
		delete(x.users, s)
		if x.owner == s {
			delete(sp.exports, name)
		}
	}
}

// all returns the stacks, newest first.
func (sp *space) all() []*stack {
	sp.mu.RLock()
	defer sp.mu.RUnlock()
	out := make([]*stack, len(sp.order))
	for i, s := range sp.order {
		out[len(out)-1-i] = s
	}
	return out
}
