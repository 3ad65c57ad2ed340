package template

import "strings"

// Closest returns the candidate that name was probably meant to be, or "" if none is close enough.
// Among equally close ones the alphabetically first wins, so that the order of the candidates does
// not matter.
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
			// The edit would replace the whole name.
			continue
		}
		if distance < bestDistance || distance == bestDistance && best != "" && candidate < best {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

// allowedDistance is the maximum number of typos: one for every three letters, at most four.
func allowedDistance(name string) int { return min(max(len(name)/3, 1), 4) }

// editDistance counts the insertions, deletions, substitutions and swaps of adjacent letters that
// turn a into b; it stops above limit.
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
