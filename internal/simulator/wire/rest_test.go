package wire_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

type thingInput struct {
	ThingName *string
	Tags      []string
	MaxCount  *int32
	Force     bool
	Size      *int32
}

type thingOutput struct {
	ThingName *string
	Tags      []string
	MaxCount  *int32
	Force     bool
	Size      *int32
}

// https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html
func TestRESTJSON(t *testing.T) {
	service := &wire.Service{
		Name: "things", Protocols: []wire.Protocol{wire.RESTJSON}, LowerCamel: true,
		Routes: map[string]string{"UpdateThing": "POST /things/{thingName}", "DeleteThing": "DELETE /things/{thingName}"},
		Operations: map[string]wire.Operation{
			"UpdateThing": wire.Op(func(_ context.Context, in *thingInput) (*thingOutput, error) { return (*thingOutput)(in), nil }),
			"DeleteThing": wire.Op(func(context.Context, *thingInput) (*thingOutput, error) {
				return nil, &wire.Error{Code: "ResourceInUseException", Message: "It is in use.", Status: http.StatusConflict}
			}),
		},
	}
	router := wire.NewRouter([]*wire.Service{service}, nil, clock.RealClock{})
	for name, c := range map[string]struct {
		request, body string
		status        int
		want          string
	}{
		"members of all parts": {"POST /things/a%2Fb?tags=x&tags=y&maxCount=3&force=true", `{"size": 4, "thingName": "other"}`, 200,
			`{"thingName":"a/b","tags":["x","y"],"maxCount":3,"force":true,"size":4}`},
		"no body":               {"POST /things/a", "", 200, `{"thingName":"a","force":false}`},
		"a number that is none": {"POST /things/a?maxCount=x", "", 400, `SerializationException`},
		"a body that is none":   {"POST /things/a", "{", 400, `SerializationException`},
		"an error":              {"DELETE /things/a", "", 409, `{"__type":"ResourceInUseException","message":"It is in use."}`},
		"no such path":          {"POST /other/a", "", 404, `UnknownOperationException`},
		"no such method":        {"PUT /things/a", "", 404, `UnknownOperationException`},
	} {
		t.Run(name, func(t *testing.T) {
			method, target, _ := strings.Cut(c.request, " ")
			request := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(c.body))
			request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIA/20260101/eu-central-1/things/aws4_request, SignedHeaders=host, Signature=0")
			recorder := httptest.NewRecorder()
			router.ServeHTTP(recorder, request)
			body, err := io.ReadAll(recorder.Result().Body)
			if err != nil || recorder.Code != c.status || !strings.Contains(string(body), c.want) {
				t.Errorf("got %d %s (%v), want %d %s", recorder.Code, body, err, c.status, c.want)
			}
			if got := recorder.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("the type is %s", got)
			}
		})
	}
}
