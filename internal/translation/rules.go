package translation

import (
	"maps"
	"slices"
)

// Handling is how a field is handled.
type Handling int

// Ways to handle a field.
const (
	// Translated fields are read by code.
	Translated Handling = iota
	// Noted fields have no counterpart, which a note says.
	Noted
	// Refused fields cannot be dropped.
	Refused
)

// Rule is how a field is handled, and why.
type Rule struct {
	Handling Handling
	Severity Severity
	Why      string
	// Unless are values for which no note is needed.
	Unless []string
}

// Fields are the rules of all fields of a type, by their names.
type Fields map[string]Rule

func (f Fields) names() []string { return slices.Sorted(maps.Keys(f)) }

// Taken marks a field that code translates; the code decides how.
var Taken = Rule{Handling: Translated}

// Inform returns the rule of a field whose loss makes no difference, unless it has one of some values.
func Inform(why string, unless ...string) Rule {
	return Rule{Handling: Noted, Severity: Info, Why: why, Unless: unless}
}

// Warn returns the rule of a field whose loss a user may notice, unless it has one of some values.
func Warn(why string, unless ...string) Rule {
	return Rule{Handling: Noted, Severity: Warning, Why: why, Unless: unless}
}

// Refuse returns the rule of a field that cannot be dropped, unless it has one of some values.
func Refuse(why string, unless ...string) Rule {
	return Rule{Handling: Refused, Why: why, Unless: unless}
}
