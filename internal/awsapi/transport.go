package awsapi

import (
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// steadyClient keeps a connection open if a response begins before the transport has read the end
// of the request's body. In that case the SDK closes the body, the body's WriteTo returns io.EOF as
// an error, and net/http closes the connection, sometimes while the response is still being read.
// The SDK's retry hides that but costs its backoff. Without WriteTo the end of a body is not an
// error.
type steadyClient struct{ aws.HTTPClient }

// Do sends the request.
func (c steadyClient) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return c.HTTPClient.Do(r)
}
