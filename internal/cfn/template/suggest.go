package template

import "strings"

// Closest returns the candidate that name was probably meant to be, empty if
// none is near enough. Among equally near ones the first by name wins, so the
// answer does not depend on the order of the candidates.
func Closest(name string, candidates []string) string {
	best, bestDistance := "", allowedDistance(name)+1
	lower := strings.ToLower(name)
	for _, candidate := range candidates {
		if candidate == name {
			continue
		}
		difference := len(candidate) - len(name)
		if difference >= bestDistance+1 || -difference >= bestDistance+1 {
			continue
		}
		distance := 0
		if other := strings.ToLower(candidate); other != lower {
			distance = editDistance(lower, other, bestDistance)
		}
		if distance > 0 && distance >= len(name) {
			// Nothing of the name is left.
			continue
		}
		if distance < bestDistance || distance == bestDistance && best != "" && candidate < best {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

// allowedDistance is how many slips of the pen a name may hold and still be
// recognised: one in three letters, four at most.
func allowedDistance(name string) int { return min(max(len(name)/3, 1), 4) }

// editDistance counts insertions, deletions, substitutions and swaps of
// neighbours that turn a into b; it gives up above limit.
func editDistance(a, b string, limit int) int {
	previous2, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], previous2[j-2]+1)
			}
			least = min(least, current[j])
		}
		if least > limit {
			return least
		}
		previous2, previous, current = previous, current, previous2
	}
	return previous[len(b)]
}
