package kmsprovider

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/smithy-go"
	"google.golang.org/grpc/codes"
)

// Error is an error for the API server.
type Error struct {
	// Code says what kind of error it is. With [codes.Unavailable], a retry may succeed.
	Code codes.Code

	err error
}

// Error returns the message.
func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// ofTheData are the errors of KMS about a ciphertext, and not about the key.
var ofTheData = []string{"InvalidCiphertextException", "IncorrectKeyException"}

// remedies are what to do about KMS's errors that persist until the user acts:
// https://docs.aws.amazon.com/kms/latest/APIReference/API_Decrypt.html#API_Decrypt_Errors
var remedies = map[string]struct {
	code   codes.Code
	remedy string
}{
	"AccessDeniedException": {codes.PermissionDenied, "the control plane's role needs kms:Encrypt and kms:Decrypt for the key: " +
		"apply the cluster's definition, and check the policies of the key and of the organization"},
	"DisabledException": {codes.FailedPrecondition, "enable the key in KMS"},
	"KMSInvalidStateException": {codes.FailedPrecondition, "cancel the deletion of the key: " +
		"encrypted resources can never be read without it"},
	"NotFoundException": {codes.FailedPrecondition, "check spec.api.encryption.kmsKeyARN: " +
		"encrypted resources can never be read if the key is deleted"},
	"InvalidKeyUsageException": {codes.FailedPrecondition, "create a cluster with a symmetric key for encryption in " +
		"spec.api.encryption.kmsKeyARN"},
}

// explain returns an error of KMS with its code and its remedy. Errors that are neither in the table nor
// about the data count as temporary: throttling, errors of the service and of the network.
func explain(action, keyARN string, err error) *Error {
	wrapped := fmt.Errorf("%s with the key %s: %w", action, keyARN, err)
	if errors.Is(err, context.Canceled) {
		return &Error{Code: codes.Canceled, err: wrapped}
	}
	failure, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return &Error{Code: codes.Unavailable, err: wrapped}
	}
	if slices.Contains(ofTheData, failure.ErrorCode()) {
		return &Error{Code: codes.InvalidArgument, err: fmt.Errorf(
			"%w; the data was encrypted with another key, or for another cluster: the encryption context has the cluster's name and account",
			wrapped,
		)}
	}
	if known, ok := remedies[failure.ErrorCode()]; ok {
		return &Error{Code: known.code, err: fmt.Errorf("%w; %s", wrapped, known.remedy)}
	}
	return &Error{Code: codes.Unavailable, err: wrapped}
}
