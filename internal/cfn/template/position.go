package template

import (
	"slices"
	"strconv"
	"strings"
)

// Position is a position in a template file; the zero Position is unknown.
type Position struct {
	// File is the name that was passed to Parse.
	File string `json:"file,omitempty"`
	// Line counts from 1.
	Line int `json:"line,omitempty"`
	// Column counts characters from 1.
	Column int `json:"column,omitempty"`
}

// String returns "file:line:col", without the unknown parts.
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

// Problem is one problem of a template.
type Problem struct {
	// Pos is its position.
	Pos Position `json:"pos"`
	// Path is its path in the tree, such as "Resources/Queue/Properties/DelaySeconds".
	Path string `json:"path,omitempty"`
	// Message describes the problem, without position and suggestion.
	Message string `json:"message"`
	// Suggestion is the name that was probably meant, if any.
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

// Problems are the problems of a template, sorted by position.
type Problems []Problem

// Error returns one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Sentence returns all problems on one line that ends like a sentence, for conditions and Events.
func (p Problems) Sentence() string {
	sorted := slices.Clone(p)
	SortProblems(sorted)
	return Sentence(strings.ReplaceAll(sorted.Error(), "\n", "; "))
}

// Sentence appends a full stop to text unless it already ends like a sentence.
func Sentence(text string) string {
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// Err returns the problems as an error, or nil if there are none. A function that returns error
// must not return an empty Problems, which is a non-nil error.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}
