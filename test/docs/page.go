package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Block is a fenced block of a page.
type Block struct {
	// Line is the line of its fence, from 1.
	Line int
	// Section is the heading above it.
	Section string
	// Language is the word after the fence.
	Language string
	// Text is its content, without the indentation of the fence.
	Text string

	// NotRun is the reason why its commands are not run.
	NotRun string
	// Needs are the programs without which it is skipped.
	Needs []string
	// Fails is true if its last command fails.
	Fails bool
	// Until is the pattern of the output after which its command gets Ctrl-C.
	Until string
	// Output is true if the previous block prints it.
	Output bool
	// File is the file that has its content.
	File string
}

// Commands reports whether the block has commands.
func (b *Block) Commands() bool { return slices.Contains([]string{"", "sh", "console"}, b.Language) }

// languages are those that a block may have.
var languages = []string{"", "sh", "console", "yaml", "json", "text"}

var (
	fence  = regexp.MustCompile("^( *)```([a-z]*)$")
	marker = regexp.MustCompile(`^ *<!-- docs-test: (.*) -->$`)
)

// Parse returns the blocks of a page. It returns an error for a block of an unknown language, an
// unknown marker, and a marker without a block.
func Parse(page string) ([]*Block, error) {
	var blocks []*Block
	var open *Block
	var indent, section, mark string
	for i, line := range strings.Split(page, "\n") {
		found := fence.FindStringSubmatch(line)
		switch {
		case open != nil && found != nil:
			blocks, open = append(blocks, open), nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, indent) + "\n"
		case found != nil:
			open, indent = &Block{Line: i + 1, Section: section, Language: found[2]}, found[1]
			if err := open.read(mark); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			mark = ""
		case mark != "":
			return nil, fmt.Errorf("line %d: there is no block below the marker", i+1)
		case strings.HasPrefix(line, "#"):
			section = strings.TrimLeft(line, "# ")
		default:
			if found := marker.FindStringSubmatch(line); found != nil {
				mark = found[1]
			}
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block has no end", open.Line)
	}
	return blocks, nil
}

// read reads the block's marker.
func (b *Block) read(mark string) error {
	if !slices.Contains(languages, b.Language) {
		return fmt.Errorf("a block of language %q is neither run nor known to be none that is: use one of %q", b.Language, languages)
	}
	if reason, ok := strings.CutPrefix(mark, "not run: "); ok {
		b.NotRun = reason
		return nil
	}
	for part := range strings.SplitSeq(mark, "; ") {
		verb, rest, _ := strings.Cut(part, " ")
		switch verb {
		case "":
		case "needs":
			b.Needs = strings.Fields(rest)
		case "fails":
			b.Fails = true
		case "until":
			b.Until = rest
		case "output":
			b.Output = true
		case "file":
			b.File = rest
		default:
			return fmt.Errorf("there is no marker %q", part)
		}
	}
	return nil
}
