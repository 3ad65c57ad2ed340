package replicas

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestShardsAreDividedEqually replaces, adds and removes replicas at random. Each has the same number of shards or one
// more, and no more shards move than must.
func TestShardsAreDividedEqually(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		holders := make([]string, 1+random.IntN(12))
		var replicas []string
		for round := range 12 {
			replicas = changed(random, replicas, round)
			owners := divide(replicas, holders)
			checkEqual(t, replicas, owners)
			checkMoves(t, replicas, holders, owners)
			if again := divide(replicas, owners); !slices.Equal(again, owners) {
				t.Fatalf("%v of %v became %v without a change", owners, replicas, again)
			}
			holders = owners
		}
	}
}

// changed adds or removes a replica.
func changed(random *rand.Rand, replicas []string, round int) []string {
	replicas = slices.Clone(replicas)
	if len(replicas) == 0 || random.IntN(2) == 0 {
		replicas = append(replicas, fmt.Sprintf("replica-%d-%d", random.IntN(100), round))
	} else {
		at := random.IntN(len(replicas))
		replicas = slices.Delete(replicas, at, at+1)
	}
	slices.Sort(replicas)
	return replicas
}

func checkEqual(t *testing.T, replicas, owners []string) {
	t.Helper()
	counts := map[string]int{}
	for _, owner := range owners {
		counts[owner]++
	}
	if len(replicas) == 0 {
		if counts[""] != len(owners) {
			t.Fatalf("without replicas, the owners are %v", owners)
		}
		return
	}
	for _, replica := range replicas {
		if n := counts[replica]; n != len(owners)/len(replicas) && n != (len(owners)+len(replicas)-1)/len(replicas) {
			t.Fatalf("of %d shards, %d replicas have %v", len(owners), len(replicas), counts)
		}
		delete(counts, replica)
	}
	if len(counts) > 0 {
		t.Fatalf("owners that are no replicas: %v", slices.Collect(maps.Keys(counts)))
	}
}

// checkMoves counts the shards that moved from a replica that still lives: as many as the others lack.
func checkMoves(t *testing.T, replicas, holders, owners []string) {
	t.Helper()
	moved, lacking := 0, 0
	held := map[string]int{}
	for shard, holder := range holders {
		held[holder]++
		if slices.Contains(replicas, holder) && owners[shard] != holder {
			moved++
		}
	}
	for _, replica := range replicas {
		lacking += max(0, len(owners)/len(replicas)-held[replica])
	}
	if moved > lacking {
		t.Fatalf("%v became %v: %d shards moved, although the others lack %d", holders, owners, moved, lacking)
	}
}
