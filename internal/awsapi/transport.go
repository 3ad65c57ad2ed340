package awsapi

import (
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// steadyClient keeps a connection in use when an answer begins before the transport has looked for the end of the request's body.
// The SDK closes the body then, the body's WriteTo gives io.EOF as an error, and net/http closes the connection for it, sometimes
// under an answer that is still being read; the SDK's retry hides that and costs its backoff. Without WriteTo the end of a body is
// no error.
type steadyClient struct{ aws.HTTPClient }

// Do sends the request.
func (c steadyClient) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return c.HTTPClient.Do(r)
}
