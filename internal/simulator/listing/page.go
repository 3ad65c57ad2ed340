package listing

import "slices"

// Size is the size of a page of an operation: Standard unless the caller asks for another number,
// and never more than Most.
type Size struct{ Standard, Most int }

// Page sorts names and returns one page, with the token of the next page if there is one. The token
// is the last name of the previous page.
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
