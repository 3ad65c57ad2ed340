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
	// Type returns the schema of a type, or nil if there is none.
	Type(name string) *schema.Type
	// HasHandler reports whether a type has a handler: create, read, update, delete or list.
	HasHandler(kind, handler string) bool
	// Provider returns the provider of a type's resources.
	Provider(name string) resource.Provider
	// SystemTags returns the tags that CloudFormation set on a resource and that only AWS can set.
	SystemTags(at wire.Target, t *schema.Type, identifier string) map[string]string
}

// Service is the simulated Cloud Control API.
type Service struct {
	resources Resources
	env       *resource.Env
	requests  requests
}

// New returns a service that reads and changes resources.
func New(env *resource.Env, resources Resources) *Service {
	return &Service{resources: resources, env: env}
}

// Service returns the operations for the wire layer. The names of the service differ: requests are
// signed for cloudcontrolapi, and the prefix of its actions is that of CloudFormation.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_cloudcontrol.html
func (s *Service) Service() *wire.Service {
	return &wire.Service{
		Name: "cloudcontrolapi", Protocols: []wire.Protocol{wire.JSON10}, TargetPrefix: "CloudApiService", APIVersion: "2021-09-30",
		ErrorNamespace: "com.amazon.cloudapiservice",
		Operations: map[string]wire.Operation{
			"GetResource": wire.Op(s.getResource), "ListResources": wire.Op(s.listResources),
			"CreateResource": wire.Op(s.createResource), "UpdateResource": wire.Op(s.updateResource),
			"DeleteResource": wire.Op(s.deleteResource), "GetResourceRequestStatus": wire.Op(s.getResourceRequestStatus),
		},
	}
}

// getResource returns the properties that CloudFormation can read. Those that are write-only, and
// those without a value, are not among them.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations-read.html
func (s *Service) getResource(ctx context.Context, in *cloudcontrol.GetResourceInput) (*cloudcontrol.GetResourceOutput, error) {
	kind := aws.ToString(in.TypeName)
	t, err := s.typeWith(kind, "read")
	if err != nil {
		return nil, err
	}
	r, live, err := s.read(ctx, t, aws.ToString(in.Identifier))
	if err != nil {
		return nil, err
	}
	properties, err := json.Marshal(live)
	if err != nil {
		return nil, wire.Errorf("HandlerInternalFailureException", "%s", err).WithStatus(http.StatusBadGateway)
	}
	return &cloudcontrol.GetResourceOutput{TypeName: in.TypeName, ResourceDescription: &types.ResourceDescription{
		Identifier: aws.String(r.PhysicalID), Properties: aws.String(string(properties)),
	}}, nil
}

// typeWith returns the schema of a type that has a handler.
func (s *Service) typeWith(kind, handler string) (*schema.Type, error) {
	t := s.resources.Type(kind)
	if t == nil { // https://github.com/pulumi/pulumi-aws-native/issues/2308
		return nil, wire.Errorf("TypeNotFoundException", "The type '%s' cannot be found.", kind)
	}
	// The simulator's CloudFormation implements its own types, without handlers.
	if len(t.PrimaryIdentifier) == 0 || strings.HasPrefix(kind, "AWS::CloudFormation::") || !s.resources.HasHandler(kind, handler) {
		// https://github.com/aws/aws-toolkit-vscode/pull/2198 has the message about LIST
		return nil, wire.Errorf("UnsupportedActionException", "Resource type %s does not support %s action", kind, strings.ToUpper(handler))
	}
	return t, nil
}

// read returns the properties of a resource that its handler returns, and the request for them.
func (s *Service) read(ctx context.Context, t *schema.Type, identifier string) (r resource.Request, live map[string]any, err error) {
	identifier, identified, err := identify(t, identifier)
	if err != nil {
		return r, nil, err
	}
	r = s.request(ctx)
	r.PhysicalID, r.Properties = identifier, identified
	live, err = s.resources.Provider(t.Name).Read(ctx, r)
	if err != nil {
		return r, nil, failed(t.Name, err)
	}
	maps.DeleteFunc(live, func(name string, value any) bool {
		_, known := t.Root.Properties[name]
		return !known || value == nil || slices.Contains(t.WriteOnly, name)
	})
	return r, live, nil
}

// request returns a request to a provider in the account and region of a call.
func (s *Service) request(ctx context.Context) resource.Request {
	at := wire.CallFrom(ctx)
	return resource.Request{Account: at.Account, Region: at.Region, Token: uuid.NewString()}
}

// pageSize is what a page of ListResources has. The API reference names no size, and calls the field that
// asks for one reserved.
var pageSize = wire.PageSize{Standard: 20, Most: 100}

// listResources returns the resources of a type, of which most types' handlers return only the properties
// that identify them.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations-list.html
func (s *Service) listResources(ctx context.Context, in *cloudcontrol.ListResourcesInput) (*cloudcontrol.ListResourcesOutput, error) {
	kind := aws.ToString(in.TypeName)
	t, err := s.typeWith(kind, "list")
	if err != nil {
		return nil, err
	}
	lister, ok := s.resources.Provider(kind).(resource.Lister)
	if !ok {
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
