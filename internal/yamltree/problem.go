package yamltree

import (
	"fmt"
	"strings"
)

// Problem is one thing wrong with a file, for a person to correct.
type Problem struct {
	// File is the name of the file.
	File string `json:"file,omitempty"`
	// Document is which document of the file, from 1; 0 is the file as a whole.
	Document int `json:"document,omitempty"`
	// Line is the line in the file, from 1; 0 is not known.
	Line int `json:"line,omitempty"`
	// Object is the kind and the name of the object, as "Cluster demo", if it is known.
	Object string `json:"object,omitempty"`
	// Path is the path of the field, as spec.network.zones[1].
	Path string `json:"path,omitempty"`
	// Message says what is wrong and what to do.
	Message string `json:"message"`
	// Suggestion is the name that was probably meant, if there is one.
	Suggestion string `json:"suggestion,omitempty"`
}

// Error returns "FILE, document N, line N: OBJECT: PATH: MESSAGE; did you mean X?".
func (p Problem) Error() string {
	var where []string
	if p.File != "" {
		where = append(where, p.File)
	}
	if p.Document > 0 {
		where = append(where, fmt.Sprintf("document %d", p.Document))
	}
	if p.Line > 0 {
		where = append(where, fmt.Sprintf("line %d", p.Line))
	}
	text := p.Message
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	if p.Object != "" {
		text = p.Object + ": " + text
	}
	if p.Suggestion != "" {
		text += "; did you mean " + p.Suggestion + "?"
	}
	if len(where) == 0 {
		return text
	}
	return strings.Join(where, ", ") + ": " + text
}

// Problems is all that is wrong, in the order of files and lines.
type Problems []Problem

// Error returns one line a problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns the problems as an error, nil if there are none.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}
