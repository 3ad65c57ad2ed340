package dynamodb

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// invalid returns DynamoDB's ValidationException.
func invalid(format string, args ...any) *wire.Error {
	return refuse("ValidationException", format, args...)
}

// refuse returns an error with one of DynamoDB's codes, which all have the status 400:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
func refuse(code, format string, args ...any) *wire.Error {
	message := format
	if len(args) > 0 {
		message = fmt.Sprintf(format, args...)
	}
	return &wire.Error{Code: code, Message: message, Status: http.StatusBadRequest}
}

// noTable returns the error of operations on items for a table that does not exist.
func noTable() *wire.Error {
	return refuse("ResourceNotFoundException", "Requested resource not found")
}

// noTableNamed returns the error of operations on tables for a table that does not exist.
func noTableNamed(name string) *wire.Error {
	return refuse("ResourceNotFoundException", "Requested resource not found: Table: %s not found", name)
}

// messageOf returns the error's message without its code.
func messageOf(err error) string {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e.Message
	}
	return err.Error()
}
