package translation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// Report collects what a translation has to say.
type Report struct {
	// Tool is the name of the tool whose manifests are translated.
	Tool string
	// Notes are about fields without a counterpart, Problems about what cannot be translated.
	Notes    []Note
	Problems yamltree.Problems
}

// Problem reports what cannot be translated.
func (r *Report) Problem(d yamltree.Document, line int, path, suggestion, format string, args ...any) {
	r.Problems = append(r.Problems, yamltree.Problem{
		File: d.File, Document: d.Number, Line: line, Path: path, Message: fmt.Sprintf(format, args...), Suggestion: suggestion,
	})
}

// Strict makes an error of every note.
func (r *Report) Strict() {
	for _, n := range r.Notes {
		message := n.Why
		if n.Value != "" {
			message = n.Value + ": " + message
		}
		r.Problems = append(r.Problems, yamltree.Problem{File: n.File, Document: n.Document, Line: n.Line, Path: n.Path, Message: message})
	}
}

// Sorted returns the notes in the order of the manifests, or the problems as an error if there are some.
func (r *Report) Sorted() ([]Note, error) {
	if len(r.Problems) > 0 {
		slices.SortStableFunc(r.Problems, func(a, b yamltree.Problem) int {
			return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Document, b.Document), cmp.Compare(a.Line, b.Line))
		})
		return nil, r.Problems
	}
	slices.SortStableFunc(r.Notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Document, b.Document), cmp.Compare(a.Line, b.Line))
	})
	return r.Notes, nil
}

// Part returns a section of a document, at a path, of an object that notes name so.
func (r *Report) Part(d yamltree.Document, object, path string, value *yamltree.Value, table Fields) *Part {
	return &Part{Document: d, Value: value, Table: table, report: r, object: object, path: path, used: map[string]bool{}}
}
