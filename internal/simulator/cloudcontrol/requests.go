package cloudcontrol

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// requests are the requests that clients made to change resources, by token.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations-manage-requests.html
type requests struct {
	mu      sync.Mutex
	byToken map[requestKey]*changing
	tokens  map[requestKey]requestKey // of the requests, by the client's token
}

type requestKey struct {
	at    wire.Target
	token string
}

// changing is a request to create, update or delete a resource.
type changing struct {
	event    types.ProgressEvent
	input    any
	provider resource.Provider
	request  resource.Request
}

// operation is a request that a client makes.
type operation struct {
	kind  types.Operation
	token *string
	input any // with which a token must be used again
	// do makes the change, and returns the identifier of the resource if it is known.
	do func(provider resource.Provider, r *resource.Request) (identifier string, err error)
}

// createResource creates a resource from all of its properties.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations-create.html
func (s *Service) createResource(ctx context.Context, in *cloudcontrol.CreateResourceInput) (*cloudcontrol.CreateResourceOutput, error) {
	t, err := s.typeWith(aws.ToString(in.TypeName), "create")
	if err != nil {
		return nil, err
	}
	desired := map[string]any{}
	if err := json.Unmarshal([]byte(aws.ToString(in.DesiredState)), &desired); err != nil {
		return nil, wire.Errorf("InvalidRequestException", "DesiredState is not valid JSON")
	}
	if err := validate(t, desired); err != nil {
		return nil, err
	}
	r := s.request(ctx)
	r.Properties = desired
	r.LogicalID = strings.ReplaceAll(t.Name, "::", "") // The form of the names that AWS generates is not documented.
	event, err := s.start(ctx, t, r, operation{
		kind: types.OperationCreate, token: in.ClientToken, input: *in.DesiredState,
		do: func(p resource.Provider, r *resource.Request) (string, error) {
			made, err := p.Create(ctx, *r)
			if err != nil {
				return "", err
			}
			r.PhysicalID = made.PhysicalID
			return simulated.IdentifierOf(t, made.PhysicalID, made.Attributes, r.Properties), nil
		},
	})
	return &cloudcontrol.CreateResourceOutput{ProgressEvent: event}, err
}

// updateResource changes properties of a resource by a JSON patch: the update handler gets what the read
// handler returns, after the patch.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations-update.html
func (s *Service) updateResource(ctx context.Context, in *cloudcontrol.UpdateResourceInput) (*cloudcontrol.UpdateResourceOutput, error) {
	t, err := s.typeWith(aws.ToString(in.TypeName), "update")
	if err != nil {
		return nil, err
	}
	r, live, err := s.read(ctx, t, aws.ToString(in.Identifier))
	if err != nil {
		return nil, err
	}
	live, desired, err := patched(live, aws.ToString(in.PatchDocument))
	if err != nil {
		return nil, err
	}
	if err := checkPatch(t, live, desired); err != nil {
		return nil, err
	}
	for _, set := range []map[string]any{live, desired} {
		maps.DeleteFunc(set, func(name string, _ any) bool { return slices.Contains(t.ReadOnly, name) })
	}
	if err := validate(t, desired); err != nil {
		return nil, err
	}
	identifier := r.PhysicalID
	r.Tags = s.resources.SystemTags(r.Target(), t, identifier)
	r.Properties, r.Previous = desired, live
	event, err := s.start(ctx, t, r, operation{
		kind: types.OperationUpdate, token: in.ClientToken, input: *in.PatchDocument + identifier,
		do: func(p resource.Provider, r *resource.Request) (string, error) {
			_, err := p.Update(ctx, *r)
			return identifier, err
		},
	})
	return &cloudcontrol.UpdateResourceOutput{ProgressEvent: event}, err
}

// deleteResource deletes a resource.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations-delete.html
func (s *Service) deleteResource(ctx context.Context, in *cloudcontrol.DeleteResourceInput) (*cloudcontrol.DeleteResourceOutput, error) {
	t, err := s.typeWith(aws.ToString(in.TypeName), "delete")
	if err != nil {
		return nil, err
	}
	r, live, err := s.read(ctx, t, aws.ToString(in.Identifier))
	if err != nil {
		return nil, err
	}
	r.Properties = live
	event, err := s.start(ctx, t, r, operation{
		kind: types.OperationDelete, token: in.ClientToken, input: r.PhysicalID,
		do: func(p resource.Provider, r *resource.Request) (string, error) { return r.PhysicalID, p.Delete(ctx, *r) },
	})
	return &cloudcontrol.DeleteResourceOutput{ProgressEvent: event}, err
}

// start makes a change and keeps the request. A client that repeats a request with its token gets the first
// one. What a handler refuses is no error of the call, but of the request.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations.html#resource-operations-idempotency
func (s *Service) start(ctx context.Context, t *schema.Type, r resource.Request, o operation) (*types.ProgressEvent, error) {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	key := requestKey{r.Target(), aws.ToString(o.token)}
	if earlier := s.requests.byToken[s.requests.tokens[key]]; key.token != "" && earlier != nil {
		if earlier.event.Operation != o.kind || *earlier.event.TypeName != t.Name || earlier.input != o.input {
			return nil, wire.Errorf("ClientTokenConflictException", "The specified client token has already been used in another resource request.")
		}
		return s.shown(earlier), nil
	}
	c := &changing{provider: s.resources.Provider(t.Name), request: r, input: o.input, event: types.ProgressEvent{
		TypeName: aws.String(t.Name), Operation: o.kind, OperationStatus: types.OperationStatusInProgress,
		RequestToken: aws.String(r.Token), EventTime: aws.Time(s.env.Clock.Now()),
	}}
	identifier, err := "", s.denial(ctx, t.Name, o.kind)
	if err == nil {
		identifier, err = o.do(c.provider, &c.request)
	}
	if identifier != "" {
		c.event.Identifier = aws.String(identifier)
	}
	started := s.shown(c)
	c.fail(err)
	if s.requests.byToken == nil {
		s.requests.byToken, s.requests.tokens = map[requestKey]*changing{}, map[requestKey]requestKey{}
	}
	by := requestKey{key.at, r.Token}
	s.requests.byToken[by], s.requests.tokens[key] = c, by
	return started, nil
}

// shown returns a copy of a request's event, for a response.
func (s *Service) shown(c *changing) *types.ProgressEvent {
	event := c.event
	return &event
}

// fail ends a request with the error of a handler.
func (c *changing) fail(err error) {
	if err == nil {
		return
	}
	code := types.HandlerErrorCodeInternalFailure
	if handler, ok := errors.AsType[*resource.Error](err); ok {
		code = types.HandlerErrorCode(handler.Code)
	}
	c.event.OperationStatus, c.event.ErrorCode, c.event.StatusMessage = types.OperationStatusFailed, code, aws.String(err.Error())
}

// getResourceRequestStatus returns the status of a request. A resource that its service still makes is in
// progress.
func (s *Service) getResourceRequestStatus(
	ctx context.Context, in *cloudcontrol.GetResourceRequestStatusInput,
) (*cloudcontrol.GetResourceRequestStatusOutput, error) {
	at := wire.CallFrom(ctx)
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	c := s.requests.byToken[requestKey{wire.Target{Account: at.Account, Region: at.Region}, aws.ToString(in.RequestToken)}]
	if c == nil {
		return nil, wire.Errorf("RequestTokenNotFoundException", "Request with token %s was not found", aws.ToString(in.RequestToken))
	}
	if c.event.OperationStatus == types.OperationStatusInProgress {
		done, err := true, error(nil)
		if waits, ok := c.provider.(resource.Stabilizer); ok {
			done, err = waits.Stable(ctx, c.request)
		}
		if err == nil && done {
			c.event.OperationStatus = types.OperationStatusSuccess
		}
		c.fail(err)
	}
	return &cloudcontrol.GetResourceRequestStatusOutput{ProgressEvent: s.shown(c)}, nil
}

// verbs are the operations as the names of actions have them.
var verbs = map[types.Operation]string{
	types.OperationCreate: "Create", types.OperationUpdate: "Update", types.OperationDelete: "Delete",
}

// denial returns an error if the caller may not take the action of a type's handler. Like the simulator's
// CloudFormation, it does not consider the resource that the action is on.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations.html#resource-operations-permissions
func (s *Service) denial(ctx context.Context, kind string, operation types.Operation) error {
	at := wire.CallFrom(ctx)
	action := simulated.Action(kind, verbs[operation])
	reason := s.env.Control.Denial(&access.Request{
		AccessKey: at.AccessKeyID, Principal: at.Principal, Caller: at.Caller, Action: action, Context: map[string][]string{
			access.CalledVia: {"cloudformation.amazonaws.com"}, "aws:requestedregion": {at.Region}, "aws:securetransport": {"true"},
		},
	})
	if reason == "" {
		return nil
	}
	return resource.Errorf(resource.AccessDenied, "%s", fault.DenialMessage(at.Principal, action, "", reason))
}

// validate returns the error for properties that the schema of a type does not allow.
// https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/2205 has the message.
func validate(t *schema.Type, properties map[string]any) error {
	if problems := simulated.Validate(t, properties); len(problems) > 0 {
		return wire.Errorf("ValidationException", "Model validation failed (%s)", strings.Join(problems, "\n"))
	}
	return nil
}

// patched returns properties as JSON decodes them, and after a JSON patch.
func patched(properties map[string]any, document string) (before, after map[string]any, err error) {
	text, err := json.Marshal(properties)
	if err == nil {
		err = json.Unmarshal(text, &before)
	}
	if err != nil {
		return nil, nil, wire.Errorf("HandlerInternalFailureException", "%s", err).WithStatus(http.StatusBadGateway)
	}
	patch, err := jsonpatch.DecodePatch([]byte(document))
	if err == nil {
		text, err = patch.Apply(text)
	}
	if err == nil {
		err = json.Unmarshal(text, &after)
	}
	if err != nil {
		return nil, nil, wire.Errorf("InvalidRequestException", "Invalid patch document: %s", err)
	}
	return before, after, nil
}

// checkPatch refuses a change of properties that cannot change.
// https://github.com/pulumi/pulumi-aws-native/issues/2936 has the message.
func checkPatch(t *schema.Type, before, after map[string]any) error {
	for list, paths := range map[string][]string{"createOnlyProperties": t.CreateOnly, "readOnlyProperties": t.ReadOnly} {
		var changed []string
		for _, path := range paths {
			if simulated.Differs(path, before, after) {
				changed = append(changed, "/properties/"+path)
			}
		}
		if len(changed) > 0 {
			slices.Sort(changed)
			return wire.Errorf("NotUpdatableException", "Invalid patch update: %s [%s] cannot be updated", list, strings.Join(changed, ", "))
		}
	}
	return nil
}
