package property

import (
	"errors"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// HandlerError turns a service's own error into what a CloudFormation resource
// handler reports for it; nil stays nil. The sentence names service, status and
// code as handlers do.
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

// Refusal turns a service's own error into a CloudFormation resource handler's
// with the service's sentence alone. codes are the handler's codes of the
// service's; any other is an InvalidRequest.
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

// Exists is the error for a resource that is to be made but is there already.
func Exists(resourceType, id string) error {
	return resource.Errorf(resource.AlreadyExists, "Resource of type '%s' with identifier '%s' already exists.", resourceType, id)
}

// Missing is the error for a resource that is gone.
func Missing(resourceType, id string) error {
	return resource.Errorf(resource.NotFound, "Resource of type '%s' with identifier '%s' was not found.", resourceType, id)
}
