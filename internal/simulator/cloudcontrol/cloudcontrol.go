package cloudcontrol

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Resources are the resources of all CloudFormation types.
type Resources interface {
	// Type returns the schema of a type, and whether its resources can be read.
	Type(name string) (t *schema.Type, readable bool)
	// Provider returns the provider of a type's resources.
	Provider(name string) resource.Provider
}

// Service is the simulated Cloud Control API.
type Service struct{ resources Resources }

// New returns a service that reads resources.
func New(resources Resources) *Service { return &Service{resources: resources} }

// Service returns the operations for the wire layer. The names of the service differ: requests are
// signed for cloudcontrolapi, and the prefix of its actions is that of CloudFormation.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_cloudcontrol.html
func (s *Service) Service() *wire.Service {
	return &wire.Service{
		Name: "cloudcontrolapi", Protocols: []wire.Protocol{wire.JSON10}, TargetPrefix: "CloudApiService", APIVersion: "2021-09-30",
		ErrorNamespace: "com.amazon.cloudapiservice",
		Operations:     map[string]wire.Operation{"GetResource": wire.Op(s.getResource)},
	}
}

// getResource returns the properties that CloudFormation can read. Those that are write-only, and
// those without a value, are not among them.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations-read.html
func (s *Service) getResource(ctx context.Context, in *cloudcontrol.GetResourceInput) (*cloudcontrol.GetResourceOutput, error) {
	kind := aws.ToString(in.TypeName)
	t, readable := s.resources.Type(kind)
	switch {
	case t == nil: // https://github.com/pulumi/pulumi-aws-native/issues/2308
		return nil, wire.Errorf("TypeNotFoundException", "The type '%s' cannot be found.", kind)
	case !readable: // https://github.com/aws/aws-toolkit-vscode/pull/2198 has the message about LIST
		return nil, wire.Errorf("UnsupportedActionException", "Resource type %s does not support READ action", kind)
	}
	identifier, identified, err := identify(t, aws.ToString(in.Identifier))
	if err != nil {
		return nil, err
	}
	at := wire.CallFrom(ctx)
	live, err := s.resources.Provider(kind).Read(ctx, resource.Request{
		Account: at.Account, Region: at.Region, PhysicalID: identifier, Properties: identified,
	})
	if err != nil {
		return nil, failed(kind, err)
	}
	maps.DeleteFunc(live, func(name string, value any) bool {
		_, known := t.Root.Properties[name]
		return !known || value == nil || slices.Contains(t.WriteOnly, name)
	})
	properties, err := json.Marshal(live)
	if err != nil {
		return nil, wire.Errorf("HandlerInternalFailureException", "%s", err).WithStatus(http.StatusBadGateway)
	}
	return &cloudcontrol.GetResourceOutput{TypeName: in.TypeName, ResourceDescription: &types.ResourceDescription{
		Identifier: aws.String(identifier), Properties: aws.String(string(properties)),
	}}, nil
}

// identify returns the primary identifier as text, and by property. It can be written as text, in
// which | separates the values of several properties, or as JSON.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-identifier.html
func identify(t *schema.Type, text string) (identifier string, properties map[string]any, err error) {
	properties = map[string]any{}
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &properties) == nil {
		values := make([]string, len(t.PrimaryIdentifier))
		for i, name := range t.PrimaryIdentifier {
			value, ok := properties[name].(string)
			if !ok || len(properties) != len(values) {
				return "", nil, invalidIdentifier(t, text)
			}
			values[i] = value
		}
		return strings.Join(values, "|"), properties, nil
	}
	values := []string{text}
	if len(t.PrimaryIdentifier) > 1 {
		values = strings.Split(text, "|")
	}
	if len(values) != len(t.PrimaryIdentifier) || slices.Contains(values, "") {
		return "", nil, invalidIdentifier(t, text)
	}
	for i, name := range t.PrimaryIdentifier {
		properties[name] = values[i]
	}
	return text, properties, nil
}

// invalidIdentifier is the error for a part of an identifier of several properties.
// https://github.com/go-to-k/cdk-real-drift/pull/663
func invalidIdentifier(t *schema.Type, text string) error {
	pointers := make([]string, len(t.PrimaryIdentifier))
	for i, name := range t.PrimaryIdentifier {
		pointers[i] = "/properties/" + name
	}
	return wire.Errorf("ValidationException", "Identifier %s is not valid for identifier [%s]", text, strings.Join(pointers, ", "))
}

// exceptions are the errors of the API by the code of the handler's.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/APIReference/API_GetResource.html#API_GetResource_Errors
var exceptions = map[string]struct {
	code   string
	status int
}{
	resource.NotFound:        {"ResourceNotFoundException", http.StatusBadRequest},
	resource.InvalidRequest:  {"InvalidRequestException", http.StatusBadRequest},
	resource.AccessDenied:    {"AccessDeniedException", http.StatusBadRequest},
	resource.ThrottlingError: {"ThrottlingException", http.StatusBadRequest},
	resource.GeneralService:  {"GeneralServiceException", http.StatusBadRequest},
}

// failed returns the API's error for a handler's. The message is like that of a queue that does not
// exist: "AWS::SQS::Queue Handler returned status FAILED: Resource of type 'AWS::SQS::Queue' with
// identifier '…' was not found. (HandlerErrorCode: NotFound, RequestToken: …)".
func failed(kind string, err error) error {
	code := resource.InternalFailure
	if handler, ok := errors.AsType[*resource.Error](err); ok {
		code = handler.Code
	}
	e, ok := exceptions[code]
	if !ok {
		e.code, e.status = "HandlerInternalFailureException", http.StatusBadGateway
	}
	return wire.Errorf(e.code, "%s Handler returned status FAILED: %s (HandlerErrorCode: %s, RequestToken: %s)",
		kind, err, code, uuid.NewString()).WithStatus(e.status)
}
