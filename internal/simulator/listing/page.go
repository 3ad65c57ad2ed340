package listing

import "slices"

// Size is how many entries a page of an operation has: Standard unless the caller
// asks for another number, of which at most Most count.
type Size struct{ Standard, Most int }

// Page sorts names and returns those of one page, with the token of the next one
// if there is more. The token is the last name of the page before.
func (s Size) Page(names []string, token *string, asked *int32) (page []string, next *string) {
	slices.Sort(names)
	if token != nil && *token != "" {
		start, found := slices.BinarySearch(names, *token)
		if found {
			start++
		}
		names = names[start:]
	}
	size := s.Standard
	if asked != nil && *asked > 0 {
		size = min(s.Most, int(*asked))
	}
	if len(names) <= size {
		return names, nil
	}
	return names[:size], new(names[size-1])
}
