package replicas

import (
	"cmp"
	"slices"
)

// divide returns the owner of each shard. Holders are the replicas that hold the shards now, empty for none. Each
// replica gets the same number of shards, or one more, and a replica that holds shards keeps as many of them as it may:
// only shards move that must. Replicas are sorted; without replicas, no shard has an owner.
func divide(replicas, holders []string) []string {
	owners := make([]string, len(holders))
	if len(replicas) == 0 {
		return owners
	}
	free := shares(replicas, holders)
	for shard, holder := range holders {
		if free[holder] > 0 {
			owners[shard] = holder
			free[holder]--
		}
	}
	for shard, owner := range owners {
		if owner != "" {
			continue
		}
		next := slices.MaxFunc(replicas, func(a, b string) int { return cmp.Or(cmp.Compare(free[a], free[b]), cmp.Compare(b, a)) })
		owners[shard] = next
		free[next]--
	}
	return owners
}

// shares returns how many shards each replica gets. Those that hold most of them get the remainder.
func shares(replicas, holders []string) map[string]int {
	held := map[string]int{}
	for _, holder := range holders {
		held[holder]++
	}
	byHeld := slices.SortedFunc(slices.Values(replicas), func(a, b string) int {
		return cmp.Or(cmp.Compare(held[b], held[a]), cmp.Compare(a, b))
	})
	all := map[string]int{}
	for i, replica := range byHeld {
		all[replica] = len(holders) / len(replicas)
		if i < len(holders)%len(replicas) {
			all[replica]++
		}
	}
	return all
}
