package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Slot is the observed state of a control-plane slot, which is an Auto Scaling group of one.
type Slot struct {
	Number int
	// Outdated reports that its instance is to be replaced.
	Outdated bool
	// State is the state of its own rollout; empty or Done if none is in progress.
	State State
	// Problem describes what is wrong with its API server or etcd member; empty if both are
	// healthy.
	Problem string
	// Why describes what its rollout waits for, or why it stopped.
	Why string
}

// NoSlot stands for no slot.
const NoSlot = -1

// SlotDecision selects the slot to replace.
type SlotDecision struct {
	State State
	// Next is the slot whose rollout to start or continue; NoSlot if none.
	Next int
	// Why describes what the rollout waits for.
	Why string
}

// DecideSlots selects the next slot of a control plane: one at a time, and only while all others
// are healthy, so that etcd keeps its quorum and the API responds. The first slot that does not
// become healthy stops the rollout; the others stay unchanged. An unhealthy slot has precedence.
func DecideSlots(slots []Slot) SlotDecision {
	sorted := slices.SortedFunc(slices.Values(slots), func(a, b Slot) int { return cmp.Compare(a.Number, b.Number) })
	for _, s := range sorted {
		if s.State == Stopped {
			return SlotDecision{
				State: Stopped,
				Next:  NoSlot,
				Why:   fmt.Sprintf("Slot %d: %s The other slots are unchanged.", s.Number, s.Why),
			}
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
	case len(unwell) == 1 && unwell[0].Outdated: // The outdated instance may be the cause.
		return SlotDecision{
			State: Rolling,
			Next:  unwell[0].Number,
			Why:   fmt.Sprintf("Replacing slot %d first because it is unhealthy.", unwell[0].Number),
		}
	case len(unwell) > 0:
		return SlotDecision{
			State: Rolling,
			Next:  NoSlot,
			Why:   "All slots must be healthy before another one is replaced. " + strings.Join(problems, " "),
		}
	default:
		return SlotDecision{State: Rolling, Next: next, Why: fmt.Sprintf("Replacing slot %d.", next)}
	}
}

// Role is the role of a group's instances in the cluster.
type Role string

// Roles.
const (
	RoleControlPlane Role = "control-plane"
	RoleWorker       Role = "worker"
	RoleBastion      Role = "bastion"
)

// Order returns the indexes of the groups in stages: each stage starts when the one before is done.
// Bastions are first, like in kops, or last; they do not affect workloads. The slots precede the
// workers, since no node may be newer than the control plane. Up to atOnce worker groups (1 if
// zero) form a stage.
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
