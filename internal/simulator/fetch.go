package simulator

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// fetch reads objects from the simulated S3 without going over the wire, for
// CloudFormation's TemplateURL.
func fetch(buckets http.Handler) func(ctx context.Context, bucket, key string) ([]byte, error) {
	return func(ctx context.Context, bucket, key string) ([]byte, error) {
		u := url.URL{Scheme: "http", Host: "localhost", Path: "/" + bucket + "/" + key}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
		if err != nil {
			return nil, fmt.Errorf("asking for s3://%s/%s: %w", bucket, key, err)
		}
		call := *wire.CallFrom(ctx)
		call.Service, call.Operation, call.Host, call.Path = "s3", "GetObject", u.Host, u.Path
		answer := &answer{header: http.Header{}, status: http.StatusOK}
		buckets.ServeHTTP(answer, req.WithContext(wire.WithCall(ctx, &call)))
		if answer.status != http.StatusOK {
			return nil, fmt.Errorf("s3://%s/%s: S3 answered %d", bucket, key, answer.status)
		}
		return answer.body.Bytes(), nil
	}
}

// answer keeps what a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the answer's header.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader keeps the status.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write keeps the body.
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
