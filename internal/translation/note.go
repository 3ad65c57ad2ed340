package translation

import (
	"fmt"
	"strings"
)

// Severity is how much a note matters.
type Severity string

// Severities.
const (
	// Info is for fields that make no difference to the cluster, or that the operator handles in
	// another way.
	Info Severity = "info"
	// Warning is for fields whose loss a user may notice.
	Warning Severity = "warning"
)

// Note reports a field of a manifest without a counterpart.
type Note struct {
	// File is the name of the file.
	File string `json:"file"`
	// Document is which document of the file, from 1.
	Document int `json:"document"`
	// Line is the line in the file; 0 when the note is of something that is not there.
	Line int `json:"line,omitempty"`
	// Object is the kind and name of what the document holds.
	Object string `json:"object"`
	// Path is the field's, as spec.kubeDNS.
	Path string `json:"path"`
	// Value is what it holds, in short.
	Value string `json:"value,omitempty"`
	// Why says why it is dropped, or what is done instead.
	Why string `json:"why"`
	// Severity says how much that matters.
	Severity Severity `json:"severity"`
}

// String returns "FILE, document N, line N: Cluster demo: PATH: VALUE: WHY".
func (n Note) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s, document %d", n.File, n.Document)
	if n.Line > 0 {
		fmt.Fprintf(&s, ", line %d", n.Line)
	}
	fmt.Fprintf(&s, ": %s: %s", n.Object, n.Path)
	if n.Value != "" {
		fmt.Fprintf(&s, ": %s", n.Value)
	}
	return s.String() + ": " + n.Why
}
