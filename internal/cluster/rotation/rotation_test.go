package rotation_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/rotation"
)

func done(name string, nodes int) rotation.Machines {
	return rotation.Machines{Name: name, Settled: true, Desired: nodes, Nodes: nodes, Current: nodes, Ready: nodes}
}

func healthy() *rotation.Observed {
	return &rotation.Observed{
		Slots:  []rotation.Machines{done("slot 0", 1), done("slot 1", 1), done("slot 2", 1)},
		Groups: []rotation.Machines{done("instance group a", 2), done("instance group b", 0)},
	}
}

func TestStagesFollowEachOther(t *testing.T) {
	stage := v1alpha1.RotationTrust
	var passed []string
	for stage != v1alpha1.RotationDone {
		passed = append(passed, string(stage))
		next, why := rotation.Next(stage, healthy())
		if next == stage {
			t.Fatalf("stage %s does not end: %s", stage, why)
		}
		stage = next
	}
	if got := strings.Join(passed, " "); got != "Trust Issue Renew Forget" {
		t.Errorf("the stages are %s", got)
	}
	if next, why := rotation.Next("Other", healthy()); next != "Other" || why == "" {
		t.Errorf("an unknown stage is followed by %s: %s", next, why)
	}
}

func TestStageWaits(t *testing.T) {
	all := []v1alpha1.RotationStage{v1alpha1.RotationTrust, v1alpha1.RotationIssue, v1alpha1.RotationRenew, v1alpha1.RotationForget}
	withGroups := all[2:]
	for name, c := range map[string]struct {
		change func(*rotation.Observed)
		stages []v1alpha1.RotationStage
		why    string
	}{
		"for a slot that is being replaced": {
			func(o *rotation.Observed) { o.Slots[1].Settled = false }, all,
			"Replacing the instances of slot 1: 1 of 1 nodes are up to date.",
		},
		"for a slot whose node runs the former stage": {
			func(o *rotation.Observed) { o.Slots[2].Current = 0 }, all, "Replacing the instances of slot 2: 0 of 1 nodes are up to date.",
		},
		"for a slot without a node": {
			func(o *rotation.Observed) { o.Slots[0] = rotation.Machines{Name: "slot 0", Settled: true, Desired: 1} }, all,
			"Waiting for the nodes of slot 0: 0 of 1 are ready.",
		},
		"for a slot that is not Ready": {
			func(o *rotation.Observed) { o.Slots[0].Ready = 0 }, all, "Waiting for the nodes of slot 0: 0 of 1 are ready.",
		},
		"for the terminated node of a slot": {
			func(o *rotation.Observed) { o.Slots[0].Nodes = 2 }, all, "Replacing the instances of slot 0: 1 of 2 nodes are up to date.",
		},
		"for the control plane's health": {
			func(o *rotation.Observed) { o.Unhealthy = "slot 1: etcd failed" }, all,
			"Waiting for the control plane to become healthy: slot 1: etcd failed.",
		},
		"for slots that were not observed": {
			func(o *rotation.Observed) { o.Slots = nil }, all, "The control plane was not observed yet.",
		},
		"for a group that is paused": {
			func(o *rotation.Observed) { o.Groups[0].Held = "it is paused" }, withGroups, "Waiting for instance group a: it is paused.",
		},
		"for a node of a group that runs the former stage": {
			func(o *rotation.Observed) { o.Groups[0].Current, o.Groups[0].Ready = 1, 1 }, withGroups,
			"Replacing the instances of instance group a: 1 of 2 nodes are up to date.",
		},
		"for a node of a group that is not Ready": {
			func(o *rotation.Observed) { o.Groups[0].Ready = 1 }, withGroups,
			"Waiting for the nodes of instance group a: 1 of 2 are ready.",
		},
		"for a node of a deleted group": {
			func(o *rotation.Observed) { o.Strays = []string{"ip-1"} }, withGroups,
			"Waiting until node ip-1, which belongs to no instance group, is deleted.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, stage := range all {
				seen := healthy()
				c.change(seen)
				next, why := rotation.Next(stage, seen)
				waits := false
				for _, one := range c.stages {
					waits = waits || one == stage
				}
				if waits != (next == stage) || waits && why != c.why {
					t.Errorf("stage %s is followed by %s: %q", stage, next, why)
				}
			}
		})
	}
}

// A cluster whose nodes are replaced in a random order, with instances that fail and an operator that is killed at any
// moment, never has nodes of two stages that do not accept each other, and always ends.
func TestNodesOfARotationAcceptEachOther(t *testing.T) {
	const runs, steps, slots, workers = 500, 20000, 3, 4
	order := []v1alpha1.RotationStage{
		"", v1alpha1.RotationTrust, v1alpha1.RotationIssue, v1alpha1.RotationRenew, v1alpha1.RotationForget, v1alpha1.RotationDone,
	}
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 1))
		stage, stored := 1, 1        // what the operator has in memory and what is stored
		at := [slots + workers]int{} // the stage that each node booted with
		ready := [slots + workers]bool{}
		renewed := [slots + workers]bool{} // the kubelet serves with a certificate of the new CA
		for i := range at {
			ready[i] = true
		}
		for step := 0; stored < len(order)-1; step++ {
			if step == steps {
				t.Fatalf("seed %d: the rotation does not end", seed)
			}
			i := random.IntN(len(at))
			switch random.IntN(4) {
			case 0: // An instance is replaced with what its launch template says, or becomes Ready.
				if wanted := wants(i < slots, stored); at[i] != wanted {
					at[i], ready[i] = wanted, false
					renewed[i] = at[random.IntN(slots)] >= issue // Any slot's kube-controller-manager may lead.
				}
			case 1:
				ready[i] = true
			case 2:
				ready[i] = random.IntN(10) > 0
			default: // The operator reconciles, and may be killed before it remembers.
				seen := &rotation.Observed{}
				for n := range at {
					one := rotation.Machines{Name: "a", Settled: true, Desired: 1, Nodes: 1}
					if wants(n < slots, stage) == at[n] {
						one.Current = 1
						if ready[n] {
							one.Ready = 1
						}
					}
					if n < slots {
						seen.Slots = append(seen.Slots, one)
					} else {
						seen.Groups = append(seen.Groups, one)
					}
				}
				next, _ := rotation.Next(order[stage], seen)
				if next != order[stage] {
					stored = stage + 1
				}
				if random.IntN(3) > 0 {
					stage = stored
				}
			}
			check(t, seed, at[:slots], at[slots:])
			checkServing(t, seed, at[:], renewed[:], slots)
		}
		if slices.Contains(renewed[:], false) {
			t.Fatalf("seed %d: at the end, a kubelet serves with a certificate of the former CA: %v", seed, renewed)
		}
	}
}

// The stages from which slots issue with the new CA, and from which they trust no other.
const (
	issue  = 2
	forget = 4
)

// checkServing checks that API servers verify the serving certificates of kubelets. A slot whose kubelet
// got its certificate while another slot still issued with the former CA is not verified by slots that have
// forgotten that CA, until it is replaced in the same stage.
func checkServing(t *testing.T, seed uint64, at []int, renewed []bool, slots int) {
	t.Helper()
	for a := range slots {
		for n := range at {
			verified := renewed[n] && at[a] > 0 || !renewed[n] && at[a] < forget
			if isSlotToBeReplaced := n < slots && at[n] == issue && at[a] == forget; !verified && !isSlotToBeReplaced {
				t.Fatalf("seed %d: a slot of stage %d does not verify node %d of stage %d", seed, at[a], n, at[n])
			}
		}
	}
}

// wants returns the stage that a node boots with.
func wants(slot bool, stage int) int {
	const renew = 3
	switch {
	case slot && stage == renew:
		return renew - 1 // The control plane stays as it is.
	case slot:
		return min(stage, forget)
	case stage < renew:
		return 0 // The nodes of groups stay as they are.
	default:
		return min(stage, forget)
	}
}

func check(t *testing.T, seed uint64, slots, workers []int) {
	t.Helper()
	const renew = 3
	for _, a := range slots {
		for _, b := range slots {
			// Renew is the same as Issue for slots.
			if a-b > 1 && (a != forget || b != issue) {
				t.Fatalf("seed %d: a slot of stage %d beside one of stage %d", seed, a, b)
			}
		}
		for _, w := range workers {
			if a == forget && w < renew || w >= renew && a < issue {
				t.Fatalf("seed %d: a slot of stage %d with a node of stage %d", seed, a, w)
			}
		}
	}
}
