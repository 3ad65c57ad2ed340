package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Slot is what was observed of one slot of a control plane, which is an Auto Scaling group of one.
type Slot struct {
	Number int
	// Outdated says that its machine is to be replaced.
	Outdated bool
	// State is how far its own roll is; empty or Done while nothing is done to it.
	State State
	// Problem says in a sentence what is wrong with its API server or its member of etcd; empty if both are well.
	Problem string
	// Why says what its roll waits for, or why it stopped.
	Why string
}

// NoSlot is no slot.
const NoSlot = -1

// SlotDecision says which slot may be worked at.
type SlotDecision struct {
	State State
	// Next is the slot whose roll is to be taken on, or begun; NoSlot if none may.
	Next int
	// Why says in a sentence what is waited for.
	Why string
}

// DecideSlots decides which slot of a control plane goes next: one at a time, and only while all the others are well, so that etcd keeps
// its quorum and the API answers. The first slot that does not come back stops the roll: the others stay as they are. A slot that is
// not well itself goes before the others.
func DecideSlots(slots []Slot) SlotDecision {
	sorted := slices.SortedFunc(slices.Values(slots), func(a, b Slot) int { return cmp.Compare(a.Number, b.Number) })
	for _, s := range sorted {
		if s.State == Stopped {
			return SlotDecision{State: Stopped, Next: NoSlot, Why: fmt.Sprintf("Slot %d: %s The others stay as they are.", s.Number, s.Why)}
		}
	}
	for _, s := range sorted {
		if s.State == Rolling {
			return SlotDecision{State: Rolling, Next: s.Number, Why: fmt.Sprintf("Slot %d: %s", s.Number, s.Why)}
		}
	}
	var unwell []Slot
	var problems []string
	next := NoSlot
	for _, s := range sorted {
		if s.Outdated && next == NoSlot {
			next = s.Number
		}
		if s.Problem != "" {
			unwell = append(unwell, s)
			problems = append(problems, fmt.Sprintf("Slot %d: %s", s.Number, s.Problem))
		}
	}
	switch {
	case next == NoSlot:
		return SlotDecision{State: Done, Next: NoSlot, Why: "No slot needs to be replaced."}
	case len(unwell) == 1 && unwell[0].Outdated: // What is to be replaced may be what is broken.
		return SlotDecision{State: Rolling, Next: unwell[0].Number, Why: fmt.Sprintf("Slot %d is replaced first, since it is not well.", unwell[0].Number)}
	case len(unwell) > 0:
		return SlotDecision{State: Rolling, Next: NoSlot, Why: "All slots must be well before another goes. " + strings.Join(problems, " ")}
	default:
		return SlotDecision{State: Rolling, Next: next, Why: fmt.Sprintf("Slot %d is replaced.", next)}
	}
}

// Role is what the machines of a group are to the cluster.
type Role string

// Roles.
const (
	RoleControlPlane Role = "control-plane"
	RoleWorker       Role = "worker"
	RoleBastion      Role = "bastion"
)

// Order returns the groups in the stages in which they roll, given as their indexes: each stage begins when the one before is done.
// Bastions go first, as kops has it, or last: no workload notices. The slots go before the workers, since no node may be newer than the
// control plane; of the workers up to atOnce groups (1 when zero) are one stage.
func Order(groups []Group, atOnce int, bastionsLast bool) [][]int {
	of := map[Role][]int{}
	for n := range groups {
		of[groups[n].Role] = append(of[groups[n].Role], n)
	}
	stages := [][]int{of[RoleBastion], of[RoleControlPlane]}
	if bastionsLast {
		stages = stages[1:]
	}
	stages = slices.AppendSeq(stages, slices.Chunk(of[RoleWorker], max(1, atOnce)))
	if bastionsLast {
		stages = append(stages, of[RoleBastion])
	}
	return slices.DeleteFunc(stages, func(stage []int) bool { return len(stage) == 0 })
}
