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
		req.Header.Set("Authorization", "AWS4-HMAC-SHA256") // CloudFormation reads with its caller's permissions
		got := ask(ctx, buckets, req, call)
		if region := got.header.Get("X-Amz-Bucket-Region"); got.status != http.StatusOK && region != "" && region != call.Region {
			call.Region = region
			got = ask(ctx, buckets, req, call)
		}
		if got.status != http.StatusOK {
			return nil, fmt.Errorf("s3://%s/%s: S3 answered %d", bucket, key, got.status)
		}
		return got.body.Bytes(), nil
	}
}

func ask(ctx context.Context, handler http.Handler, req *http.Request, call wire.Call) *answer {
	got := &answer{header: http.Header{}, status: http.StatusOK}
	handler.ServeHTTP(got, req.WithContext(wire.WithCall(ctx, &call)))
	return got
}

// answer records the response that a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the response's header.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader records the status.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write records the body.
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
