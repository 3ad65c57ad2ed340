package model

// nearest returns the candidate with the spelling closest to a word, or "" if none is close.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", len(word)/2+1
	for _, candidate := range candidates {
		if d := distance(word, candidate); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance returns the edit distance of a and b.
func distance(a, b string) int {
	previous := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(a) {
		current := make([]int, len(b)+1)
		current[0] = i + 1
		for j := range len(b) {
			substitution := previous[j]
			if a[i] != b[j] {
				substitution++
			}
			current[j+1] = min(substitution, previous[j+1]+1, current[j]+1)
		}
		previous = current
	}
	return previous[len(b)]
}
