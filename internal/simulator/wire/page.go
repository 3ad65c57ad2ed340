package wire

import "slices"

// PageSize is the number of results in a page of a list operation: Standard unless the caller asks
// for another number, and never more than Most. It is for operations whose page token is the last
// name of the previous page.
type PageSize struct{ Standard, Most int }

// Page sorts names and returns one page, with the token of the next page if there is one.
func (s PageSize) Page(names []string, token *string, asked *int32) (page []string, next *string) {
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
