package operatorkit_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// codeBlock is a Go block of a page, after a comment with the file that contains it.
var codeBlock = regexp.MustCompile("(?m)^(?:<!-- (\\S+) -->\n)?```go\n((?s:.*?))^```$")

// TestGoBlocksOfDocsAreCode ensures that all Go code in the pages is compiled.
func TestGoBlocksOfDocsAreCode(t *testing.T) {
	for _, page := range []string{"README.md", "docs/tutorial.md", "docs/migrate-from-giantswarm.md"} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			blocks := codeBlock.FindAllStringSubmatch(string(text), -1)
			if len(blocks) != strings.Count(string(text), "```go\n") || len(blocks) == 0 {
				t.Errorf("found %d Go blocks, want %d", len(blocks), strings.Count(string(text), "```go\n"))
			}
			for _, block := range blocks {
				file, code := block[1], block[2]
				if file == "" {
					t.Errorf("no comment names the file of this block:\n%s", code)
					continue
				}
				source, err := os.ReadFile(file)
				if err != nil {
					t.Error(err)
					continue
				}
				if !strings.Contains(unindented(string(source)), unindented(code)) {
					t.Errorf("%s does not contain this block:\n%s", file, code)
				}
			}
		})
	}
}

// unindented removes the indentation of all lines.
func unindented(code string) string {
	lines := strings.Split(strings.TrimSpace(code), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}
