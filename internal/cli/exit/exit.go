// Package exit is what commands exit with. Scripts rely on it, so it is part of what a release promises.
package exit

import (
	"context"
	"errors"
)

// The exit codes of every command.
const (
	// Done means that it is done, or that there was nothing to do.
	Done = 0
	// Failed means that it is not done, or that the command was called wrongly; standard error says why.
	Failed = 1
	// Pending means that there are changes to make, where --detailed-exitcode asks for it.
	Pending = 2
	// NotValid means that a validation found something wrong.
	NotValid = 3
	// Interrupted means that it was interrupted before it was done; the same command goes on.
	Interrupted = 130
)

// coded is an error with a code of its own.
type coded struct {
	code int
	err  error
}

func (c *coded) Error() string {
	if c.err == nil {
		return ""
	}
	return c.err.Error()
}

func (c *coded) Unwrap() error { return c.err }

// Changes returns the error of a command that found changes to make and was asked to say so by its code
// (--detailed-exitcode). It has no message: the changes have been printed.
func Changes() error { return &coded{code: Pending} }

// Invalid returns the error of a validation that found something wrong; nil if everything has been printed.
func Invalid(err error) error { return &coded{code: NotValid, err: err} }

// Interruption returns the error of a command that was interrupted. Text says so, and how it goes on, in one line.
func Interruption(text string) error { return &coded{code: Interrupted, err: &interruption{text}} }

type interruption struct{ text string }

func (i *interruption) Error() string { return i.text }

// Unwrap has it be known for what it is.
func (i *interruption) Unwrap() error { return context.Canceled }

// Code returns what to exit with after an error; Done if it is nil.
func Code(err error) int {
	if err == nil {
		return Done
	}
	if c, ok := errors.AsType[*coded](err); ok {
		return c.code
	}
	return Failed
}
