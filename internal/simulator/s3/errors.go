package s3

import (
	"fmt"
	"net/http"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// refuse returns one of S3's errors:
// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
func refuse(status int, code, format string, args ...any) *wire.Error {
	message := format
	if len(args) > 0 {
		message = fmt.Sprintf(format, args...)
	}
	return &wire.Error{Code: code, Message: message, Status: status, Detail: map[string]string{}}
}

// with adds a member to the error's document.
func with(e *wire.Error, name, value string) *wire.Error {
	e.Detail[name] = value
	return e
}

func malformedXML() error {
	return refuse(
		http.StatusBadRequest, "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema",
	)
}

func invalidArgument(name, value, message string) error {
	return with(with(refuse(http.StatusBadRequest, "InvalidArgument", "%s", message), "ArgumentName", name), "ArgumentValue", value)
}

func invalidRequest(message string) error {
	return refuse(http.StatusBadRequest, "InvalidRequest", "%s", message)
}

func noSuchBucket(name string) error {
	return with(refuse(http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist"), "BucketName", name)
}

func noSuchKey(key string) error {
	return with(refuse(http.StatusNotFound, "NoSuchKey", "The specified key does not exist."), "Key", key)
}

func noSuchVersion(key, version string) error {
	return with(
		with(refuse(http.StatusNotFound, "NoSuchVersion", "The specified version does not exist."), "Key", key), "VersionId", version,
	)
}

func accessDenied() error {
	return refuse(http.StatusForbidden, "AccessDenied", "Access Denied")
}

func preconditionFailed(condition string) error {
	return with(
		refuse(http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold"),
		"Condition",
		condition,
	)
}
