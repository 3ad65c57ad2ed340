package wire

import (
	"fmt"
	"net/http"
)

// Error is an AWS error. It is a client error unless Status is 500 or more.
type Error struct {
	// Code is the error's shape name or code; Message is its message.
	Code, Message string
	// Status is the HTTP status. The default is 400.
	Status int
	// Detail holds further members of the error.
	Detail map[string]string
	// Body is an SDK exception whose members are sent as well (JSON only), such as DynamoDB's
	// *types.TransactionCanceledException.
	Body any
	// Target names the resource that a denied action is on, if known.
	Target string
}

// Error returns code and message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Errorf returns an [*Error] with status 400 and a formatted message.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Status: http.StatusBadRequest}
}

// WithStatus returns the error with another HTTP status.
func (e *Error) WithStatus(status int) *Error {
	c := *e
	c.Status = status
	return &c
}

func (e *Error) status() int {
	if e.Status == 0 {
		return http.StatusBadRequest
	}
	return e.Status
}

func (e *Error) fault() string {
	if e.status() >= http.StatusInternalServerError {
		return "Receiver"
	}
	return "Sender"
}
