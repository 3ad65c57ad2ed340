// Package exit defines the exit codes of commands. Scripts rely on them, so they do not change
// between releases.
package exit

import (
	"context"
	"errors"
)

// The exit codes of every command.
const (
	// Done means that the command succeeded, or that there was nothing to do.
	Done = 0
	// Failed means that the command failed or was called incorrectly; standard error has the
	// reason.
	Failed = 1
	// Pending means that changes are pending, with --detailed-exitcode.
	Pending = 2
	// NotValid means that a validation found problems.
	NotValid = 3
	// Interrupted means that the command was interrupted before it was done; the same command
	// continues.
	Interrupted = 130
)

// coded is an error with an exit code of its own.
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

// Changes returns the error of a command that found pending changes and must report them by its
// exit code (--detailed-exitcode). It has no message, since the changes have been printed.
func Changes() error { return &coded{code: Pending} }

// Misused returns the error of a command that was called incorrectly and has printed its usage.
func Misused() error { return &coded{code: Failed} }

// Invalid returns the error of a validation that found problems; nil if everything has been
// printed.
func Invalid(err error) error { return &coded{code: NotValid, err: err} }

// Interruption returns the error of a command that was interrupted. Text is one line that says how
// to continue.
func Interruption(text string) error { return &coded{code: Interrupted, err: &interruption{text}} }

type interruption struct{ text string }

func (i *interruption) Error() string { return i.text }

// Unwrap makes errors.Is match context.Canceled.
func (i *interruption) Unwrap() error { return context.Canceled }

// Code returns the exit code for an error; Done if it is nil.
func Code(err error) int {
	if err == nil {
		return Done
	}
	if c, ok := errors.AsType[*coded](err); ok {
		return c.code
	}
	return Failed
}
