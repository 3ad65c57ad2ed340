package encryption_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/encryption"
	"github.com/aws-operator/aws-operator/internal/cluster/rotation"
)

func slot(current, ready bool) rotation.Machines {
	one := rotation.Machines{Name: "slot 0", Settled: true, Desired: 1, Nodes: 1}
	if current {
		one.Current = 1
	}
	if current && ready {
		one.Ready = 1
	}
	return one
}

func healthy() *encryption.Observed {
	return &encryption.Observed{Slots: []rotation.Machines{slot(true, true), slot(true, true)}, Rewritten: true}
}

func TestStagesFollowEachOther(t *testing.T) {
	stage := v1alpha1.EncryptionPlain
	var passed []string
	for stage != v1alpha1.EncryptionDone {
		next, why := encryption.Next(stage, healthy())
		if next == stage {
			t.Fatalf("stage %s does not end: %s", stage, why)
		}
		stage = next
		passed = append(passed, string(stage))
	}
	if got := strings.Join(passed, " "); got != "Readable Encrypting Rewriting Done" {
		t.Errorf("the stages are %s", got)
	}
	if next, why := encryption.Next("Other", healthy()); next != "Other" || why == "" {
		t.Errorf("an unknown stage is followed by %s: %s", next, why)
	}
}

func TestStageWaits(t *testing.T) {
	rolls := []v1alpha1.EncryptionStage{v1alpha1.EncryptionReadable, v1alpha1.EncryptionEncrypting}
	for name, c := range map[string]struct {
		change func(*encryption.Observed)
		stages []v1alpha1.EncryptionStage
		why    string
	}{
		"for a slot of the former stage": {
			func(o *encryption.Observed) { o.Slots[1] = slot(false, false) }, rolls,
			"Replacing the instances of slot 0: 0 of 1 nodes are up to date.",
		},
		"for a slot that is not ready": {
			func(o *encryption.Observed) { o.Slots[0] = slot(true, false) }, rolls, "Waiting for the nodes of slot 0: 0 of 1 are ready.",
		},
		"for slots that were not observed": {
			func(o *encryption.Observed) { o.Slots = nil }, rolls, "The control plane was not observed yet.",
		},
		"for the control plane's health": {
			func(o *encryption.Observed) { o.Unhealthy = "slot 1: etcd failed" }, rolls,
			"Waiting for the control plane to become healthy: slot 1: etcd failed.",
		},
		"for objects": {
			func(o *encryption.Observed) { o.Rewritten = false },
			[]v1alpha1.EncryptionStage{v1alpha1.EncryptionRewriting},
			"Writing objects again.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, stage := range append(slices.Clone(rolls), v1alpha1.EncryptionRewriting) {
				seen := healthy()
				c.change(seen)
				next, why := encryption.Next(stage, seen)
				if waits := slices.Contains(c.stages, stage); waits != (next == stage) || waits && why != c.why {
					t.Errorf("stage %s is followed by %s: %q", stage, next, why)
				}
			}
		})
	}
}

// What the API server of a slot does.
const (
	plain = iota
	readable
	encrypting
)

// history is a cluster whose slots are replaced in a random order.
type history struct {
	*rand.Rand

	at, former [3]int // what the slots' API servers do, and did before
	ready      [3]bool
	objects    [10]bool // those that are encrypted
	pass       int      // how many objects were written again
	stage      v1alpha1.EncryptionStage
	known      v1alpha1.EncryptionStage // in the memory of an operator
}

// wants returns what a slot that boots in a stage does.
func wants(stage v1alpha1.EncryptionStage) int {
	switch stage {
	case v1alpha1.EncryptionPlain:
		return plain
	case v1alpha1.EncryptionReadable:
		return readable
	default:
		return encrypting
	}
}

// step changes one thing.
func (h *history) step() {
	i := h.IntN(len(h.at))
	switch h.IntN(7) {
	case 0: // An instance is replaced with what its launch template says, also because it is broken.
		if wanted := wants(h.stage); h.at[i] != wanted {
			h.former[i], h.at[i] = h.at[i], wanted
		}
		h.ready[i] = false
	case 1: // Or it rolls back, because it was not healthy in time.
		h.at[i] = h.former[i]
	case 2: // The change of its stack ends.
		h.ready[i], h.former[i] = true, h.at[i]
	case 3:
		h.ready[i] = h.IntN(10) > 0
	case 4, 5: // A client writes.
		h.objects[h.IntN(len(h.objects))] = h.at[i] == encrypting
	default:
		h.operate()
	}
}

// operate reconciles. The operator may be killed before it knows that it has stored a stage, and loses its pass.
func (h *history) operate() {
	if h.IntN(3) == 0 {
		h.known, h.pass = h.stage, 0
	}
	seen := &encryption.Observed{}
	for i := range h.at {
		one := slot(h.at[i] == wants(h.known), h.ready[i])
		one.Settled = h.former[i] == h.at[i] // Otherwise, its stack may roll back.
		seen.Slots = append(seen.Slots, one)
	}
	if h.known == v1alpha1.EncryptionRewriting {
		if h.pass < len(h.objects) {
			h.objects[h.pass] = h.at[h.IntN(len(h.at))] == encrypting
			h.pass++
		}
		seen.Rewritten = h.pass == len(h.objects)
	}
	if next, _ := encryption.Next(h.known, seen); next != h.known && h.known == h.stage { // Another write is a conflict.
		h.stage = next
	}
	if h.IntN(3) > 0 {
		h.known = h.stage
	}
}

// In every history, each API server reads each object at any time, and at the end all objects are encrypted.
func TestObjectsStayReadable(t *testing.T) {
	const runs, steps = 500, 20000
	for seed := range uint64(runs) {
		h := &history{Rand: rand.New(rand.NewPCG(seed, 1)), stage: v1alpha1.EncryptionPlain, known: v1alpha1.EncryptionPlain}
		for step := 0; h.stage != v1alpha1.EncryptionDone; step++ {
			if step == steps {
				t.Fatalf("seed %d: the encryption does not end: %+v", seed, h)
			}
			h.step()
			if slices.Contains(h.at[:], plain) && slices.Contains(h.objects[:], true) {
				t.Fatalf("seed %d: in stage %s, a slot cannot read what others have encrypted: %v", seed, h.stage, h.at)
			}
		}
		if slices.Contains(h.objects[:], false) {
			t.Fatalf("seed %d: at the end, an object is in plain text", seed)
		}
	}
}
