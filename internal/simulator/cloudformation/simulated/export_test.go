package simulated

import (
	"maps"
	"slices"
)

// ConditionalAttributes returns the paths of the attributes that have a condition, by type.
func ConditionalAttributes() map[string][]string {
	out := map[string][]string{}
	for name, paths := range conditions {
		out[name] = slices.Sorted(maps.Keys(paths))
	}
	return out
}
