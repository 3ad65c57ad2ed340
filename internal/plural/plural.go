// Package plural writes a number with its noun in messages.
package plural

import "strconv"

// Count returns "1 file" or "2 files".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
