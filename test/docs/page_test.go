package docs

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fenced replaces ' by `, which a raw string cannot have.
func fenced(text string) string { return strings.ReplaceAll(text, "'''", "```") }

func TestMistakesInPagesAreReported(t *testing.T) {
	for _, c := range []struct{ reason, page, want string }{
		{"a language that says nothing", "'''ruby\nputs 1\n'''\n", `line 1: a block of language "ruby"`},
		{"a misspelled marker", "<!-- docs-test: notrun: because -->\n'''\nfalse\n'''\n", `line 2: there is no marker "notrun: because"`},
		{"a marker that is too far away", "<!-- docs-test: fails -->\n\n'''\nfalse\n'''\n", "line 2: there is no block below the marker"},
		{"a block without an end", "'''\ntrue\n", "line 1: the block has no end"},
	} {
		if _, err := Parse(fenced(c.page)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.reason, err, c.want)
		}
	}
}

// page has a block of every sort.
const page = `
'''
word=same
'''

1. In a list:

   <!-- docs-test: fails -->
   '''console
   $ echo $word \
     shell; false
   same shell
   '''

<!-- docs-test: not run: it would end everything -->
'''
exit 1
'''

<!-- docs-test: needs a-program-that-does-not-exist -->
'''
exit 1
'''

<!-- docs-test: until [0-9]+ lines -->
'''
echo 3 lines; sleep 600
'''

<!-- docs-test: output -->
'''text
17 lines
another …
'''

'''text
exit 1
'''
`

func TestBlocksRunInOrder(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	blocks, err := Parse(fenced(page))
	if err != nil {
		t.Fatal(err)
	}
	steps := Steps(blocks, func(b *Block) bool { return b.Needs != nil })
	script := exec.CommandContext(t.Context(), "bash", "-c", "export word\n"+Script(steps))
	out, err := script.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got []string
	for _, r := range Results(steps, string(out)) {
		got = append(got, strings.TrimSpace(r.Printed)+"; missing "+strings.Join(r.Missing(), ", "))
	}
	want := []string{"; missing ", "same shell; missing ", "3 lines; missing another …"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("results (-want +got):\n%s", d)
	}
}
