package model

import (
	"errors"
	"fmt"
	"strings"
)

// Problem is an error in a cluster's or instance group's spec.
type Problem struct {
	// Field is its path in the object, as in spec.network.zones[1].
	Field string
	// Message describes the error.
	Message string
	// Remedy describes how to correct it.
	Remedy string
}

// Error returns "field: message; remedy".
func (p Problem) Error() string { return p.Field + ": " + p.Message + "; " + p.Remedy }

// Problems are all problems of an object, in the order of its fields.
type Problems []Problem

// Error returns the problems in one line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "; ")
}

// add notes a problem.
func (p *Problems) add(field, remedy, format string, args ...any) {
	*p = append(*p, Problem{Field: field, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}

// err returns the problems as an error, nil when there are none.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// AsProblems returns the problems that an error consists of.
func AsProblems(err error) (Problems, bool) { return errors.AsType[Problems](err) }
