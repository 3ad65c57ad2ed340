package wiretest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Serve serves a handler until the test ends and returns the configuration of clients that call it.
// The clients do not retry.
func Serve(t *testing.T, handler http.Handler) aws.Config {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return aws.Config{
		Region: "eu-central-1", BaseEndpoint: &server.URL, HTTPClient: SteadyClient{server.Client()},
		Credentials: credentials.NewStaticCredentialsProvider("demo", "secret", ""),
		Retryer:     func() aws.Retryer { return aws.NopRetryer{} },
	}
}

// ServeRoot is Serve for a simulator that verifies signatures: the clients are the default account's
// root user.
func ServeRoot(t *testing.T, handler http.Handler) aws.Config {
	t.Helper()
	config := Serve(t, handler)
	config.Credentials = credentials.NewStaticCredentialsProvider(wire.DefaultAccount, wire.RootSecret, "")
	return config
}

// SteadyClient keeps a connection open if a response begins before the transport has read the end of
// the request's body. In that case smithy-go closes the body, its WriteTo returns io.EOF as an error,
// and net/http closes the connection. Without WriteTo the end of the body is not an error.
type SteadyClient struct{ aws.HTTPClient }

// Do sends a request.
func (c SteadyClient) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return c.HTTPClient.Do(r)
}

// WantCode fails the test unless err is an AWS error with the code.
func WantCode(t *testing.T, err error, code string) {
	t.Helper()
	if e, ok := errors.AsType[smithy.APIError](err); !ok || e.ErrorCode() != code {
		t.Errorf("got %v, want %s", err, code)
	}
}
