package template

import (
	"slices"
	"strconv"
	"strings"
)

// Position is a place in a template file; the zero Position is unknown.
type Position struct {
	// File is the name the template was parsed under.
	File string `json:"file,omitempty"`
	// Line counts from 1.
	Line int `json:"line,omitempty"`
	// Column counts characters from 1.
	Column int `json:"column,omitempty"`
}

// String returns "file:line:col", leaving out what is unknown.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	s := strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
	if p.File == "" {
		return s
	}
	return p.File + ":" + s
}

// IsZero reports whether the position is unknown.
func (p Position) IsZero() bool { return p == Position{} }

// Problem is one thing wrong with a template, for a person to correct.
type Problem struct {
	// Pos is where it is.
	Pos Position `json:"pos"`
	// Path is where it is in the tree, as in "Resources/Queue/Properties/DelaySeconds".
	Path string `json:"path,omitempty"`
	// Message says what is wrong, without position and suggestion.
	Message string `json:"message"`
	// Suggestion is the name that was probably meant, if there is one.
	Suggestion string `json:"suggestion,omitempty"`
}

// Error returns "file:line:col: message; did you mean X?".
func (p Problem) Error() string {
	s := p.Text()
	if at := p.Pos.String(); at != "" {
		return at + ": " + s
	}
	return s
}

// Text returns the message and the suggestion without the position.
func (p Problem) Text() string {
	if p.Suggestion == "" {
		return p.Message
	}
	return p.Message + "; did you mean " + p.Suggestion + "?"
}

// Problems is what is wrong with a template, in order of position.
type Problems []Problem

// Error returns one line a problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Sentence returns all problems in one line that ends like a sentence, for
// conditions and Events.
func (p Problems) Sentence() string {
	sorted := slices.Clone(p)
	SortProblems(sorted)
	return Sentence(strings.ReplaceAll(sorted.Error(), "\n", "; "))
}

// Sentence ends text with a full stop unless it ends like a sentence already.
func Sentence(text string) string {
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// Err returns the problems as an error, or nil if there are none. A function
// that returns error must not return an empty Problems, which is not nil.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}
