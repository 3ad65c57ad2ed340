package property

import (
	"errors"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// HandlerError converts a service's error into the error that a CloudFormation resource handler
// reports for it; nil stays nil. Like a handler's, the message names service, status and code.
func HandlerError(service string, err error) error {
	if err == nil {
		return nil
	}
	if handled, ok := errors.AsType[*resource.Error](err); ok {
		return handled
	}
	var e *wire.Error
	if !errors.As(err, &e) {
		return resource.Errorf(resource.InternalFailure, "%s", err)
	}
	status := e.Status
	if status == 0 {
		status = 400
	}
	return resource.Errorf(handlerCode(e), "%s (Service: %s, Status Code: %d, Error Code: %s)", e.Message, service, status, e.Code)
}

// Refusal converts a service's error into a CloudFormation handler's error with only the service's
// message. codes maps the service's codes to handler codes; any other code becomes InvalidRequest.
func Refusal(err error, codes map[string]string) error {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return resource.Errorf(resource.InternalFailure, "%v", err)
	}
	code := codes[e.Code]
	if code == "" {
		code = resource.InvalidRequest
	}
	return &resource.Error{Code: code, Message: strings.TrimSpace(e.Message)}
}

func handlerCode(e *wire.Error) string {
	code := e.Code
	switch {
	case strings.Contains(code, "NotFound"), strings.Contains(code, "NoSuch"), strings.Contains(code, "DoesNotExist"):
		return resource.NotFound
	case strings.Contains(code, "AlreadyExists"), strings.Contains(code, "NameExists"):
		return resource.AlreadyExists
	case strings.Contains(code, "AccessDenied"):
		return resource.AccessDenied
	case strings.Contains(code, "LimitExceeded"), code == "OverLimit":
		return resource.ServiceLimit
	case strings.Contains(code, "Conflict"), strings.Contains(code, "InUse"):
		return resource.ResourceConflict
	case strings.Contains(code, "Throttl"):
		return resource.ThrottlingError
	case e.Status >= 500:
		return resource.ServiceInternal
	default:
		return resource.InvalidRequest
	}
}

// Exists is the error for creating a resource that already exists.
func Exists(resourceType, id string) error {
	return resource.Errorf(resource.AlreadyExists, "Resource of type '%s' with identifier '%s' already exists.", resourceType, id)
}

// Missing is the error for a resource that does not exist.
func Missing(resourceType, id string) error {
	return resource.Errorf(resource.NotFound, "Resource of type '%s' with identifier '%s' was not found.", resourceType, id)
}
