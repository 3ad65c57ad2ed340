package wire_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func TestPages(t *testing.T) {
	size := wire.PageSize{Standard: 2, Most: 3}
	for _, tc := range []struct {
		reason, names string
		token         string
		asked         int32
		page, next    string
	}{
		{"nothing", "", "", 0, "", ""},
		{"names come in order", "b a", "", 0, "a b", ""},
		{"a page has the standard size", "a b c d", "", 0, "a b", "b"},
		{"the caller asks for fewer", "a b c d", "", 1, "a", "a"},
		{"the caller asks for more than the most", "a b c d", "", 9, "a b c", "c"},
		{"the next page begins after its token", "a b c d", "b", 0, "c d", ""},
		{"the token's own name was deleted", "a c d", "b", 0, "c d", ""},
		{"all names were deleted", "a", "b", 0, "", ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			page, next := size.Page(strings.Fields(tc.names), &tc.token, &tc.asked)
			if next == nil {
				next = new(string)
			}
			if strings.Join(page, " ") != tc.page || *next != tc.next {
				t.Errorf("got %v, next %q", page, *next)
			}
		})
	}
}
