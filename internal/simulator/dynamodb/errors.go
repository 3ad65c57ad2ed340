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

// refuse returns an error of any of DynamoDB's codes, all of which are sent
// with status 400:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
func refuse(code, format string, args ...any) *wire.Error {
	message := format
	if len(args) > 0 {
		message = fmt.Sprintf(format, args...)
	}
	return &wire.Error{Code: code, Message: message, Status: http.StatusBadRequest}
}

// noTable is what the operations on items answer for a table that is not there.
func noTable() *wire.Error {
	return refuse("ResourceNotFoundException", "Requested resource not found")
}

// noTableNamed is what the operations on tables answer for one that is not there.
func noTableNamed(name string) *wire.Error {
	return refuse("ResourceNotFoundException", "Requested resource not found: Table: %s not found", name)
}

// messageOf returns the error's sentence without its code.
func messageOf(err error) string {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e.Message
	}
	return err.Error()
}
