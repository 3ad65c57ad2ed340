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
		Operations: map[string]wire.Operation{
			"GetResource": wire.Op(s.getResource), "ListResources": wire.Op(s.listResources),
		},
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

// pageSize is what a page of ListResources has. The API reference names no size, and calls the field that
// asks for one reserved.
var pageSize = wire.PageSize{Standard: 20, Most: 100}

// listResources returns the resources of a type, of which most types' handlers return only the properties
// that identify them.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations-list.html
func (s *Service) listResources(ctx context.Context, in *cloudcontrol.ListResourcesInput) (*cloudcontrol.ListResourcesOutput, error) {
	kind := aws.ToString(in.TypeName)
	t, readable := s.resources.Type(kind)
	if t == nil {
		return nil, wire.Errorf("TypeNotFoundException", "The type '%s' cannot be found.", kind)
	}
	lister, ok := s.resources.Provider(kind).(resource.Lister)
	if !ok || !readable { // https://github.com/aws/aws-toolkit-vscode/pull/2198
		return nil, wire.Errorf("UnsupportedActionException", "Resource type %s does not support LIST action", kind)
	}
	within, err := container(t, aws.ToString(in.ResourceModel))
	if err != nil {
		return nil, err
	}
	at := wire.CallFrom(ctx)
	found, err := lister.List(ctx, wire.Target{Account: at.Account, Region: at.Region})
	if err != nil {
		return nil, failed(kind, err)
	}
	found, next := pageSize.Page(found, in.NextToken, in.MaxResults)
	out := &cloudcontrol.ListResourcesOutput{TypeName: in.TypeName, NextToken: next, ResourceDescriptions: []types.ResourceDescription{}}
	for _, identifier := range found {
		text, by, err := identify(t, identifier)
		if err != nil {
			return nil, err
		}
		if !contains(by, within) {
			continue
		}
		properties, err := json.Marshal(by)
		if err != nil {
			return nil, wire.Errorf("HandlerInternalFailureException", "%s", err).WithStatus(http.StatusBadGateway)
		}
		out.ResourceDescriptions = append(out.ResourceDescriptions, types.ResourceDescription{
			Identifier: aws.String(text), Properties: aws.String(string(properties)),
		})
	}
	return out, nil
}

// containers are the properties that a list of a type needs although they do not identify its resources.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations-list.html#resource-operations-list-containers
var containers = map[string][]string{
	"AWS::EKS::Nodegroup":                       {"ClusterName"},
	"AWS::ElasticLoadBalancingV2::Listener":     {"LoadBalancerArn"},
	"AWS::ElasticLoadBalancingV2::ListenerRule": {"ListenerArn"},
}

// container returns the properties of the resource that contains those to list. A type whose resources
// several properties identify has all of these but the last from its container.
func container(t *schema.Type, model string) (map[string]any, error) {
	required := containers[t.Name]
	if n := len(t.PrimaryIdentifier); n > 1 {
		required = t.PrimaryIdentifier[:n-1]
	}
	given := map[string]any{}
	if model != "" {
		if err := json.Unmarshal([]byte(model), &given); err != nil {
			return nil, wire.Errorf("InvalidRequestException", "ResourceModel is not valid JSON")
		}
	}
	for _, name := range required {
		if _, ok := given[name]; !ok { // https://github.com/awslabs/mcp/issues/403
			return nil, wire.Errorf("InvalidRequestException",
				"Missing or invalid ResourceModel property in %s list handler request input.Required property: (#: required key [%s] not found)",
				t.Name, name)
		}
	}
	return given, nil
}

// contains reports whether the identifying properties have the container's values.
func contains(identifier, container map[string]any) bool {
	for name, value := range container {
		if own, ok := identifier[name]; ok && own != value {
			return false
		}
	}
	return true
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
