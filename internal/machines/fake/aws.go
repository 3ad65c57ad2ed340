package fake

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// within sends requests to a handler in this process.
type within struct{ handler http.Handler }

// Do serves a request.
func (w within) Do(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		req.Body = http.NoBody
	}
	req.RequestURI = req.URL.RequestURI()
	if req.Host == "" {
		req.Host = req.URL.Host
	}
	answer := &recorder{header: http.Header{}, code: http.StatusOK}
	w.handler.ServeHTTP(answer, req)
	return &http.Response{
		StatusCode: answer.code, Status: http.StatusText(answer.code), Header: answer.header, Request: req,
		Body: io.NopCloser(&answer.body), ContentLength: int64(answer.body.Len()),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// recorder records a response.
type recorder struct {
	header http.Header
	code   int
	wrote  bool
	body   bytes.Buffer
}

// Header returns the response's header.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader sets the response's status.
func (r *recorder) WriteHeader(code int) {
	if !r.wrote {
		r.code, r.wrote = code, true
	}
}

// Write appends to the response's body.
func (r *recorder) Write(data []byte) (int, error) {
	r.wrote = true
	return r.body.Write(data) //nolint:wrapcheck // never returns an error
}

// metadata is a client of the instance's metadata service, version 2.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
type metadata struct {
	service http.Handler
	token   string
}

func (m *metadata) ask(ctx context.Context, method, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://169.254.169.254/latest/"+path, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("request %s from the metadata service: %w", path, err)
	}
	if method == http.MethodPut {
		req.Header.Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
	} else {
		req.Header.Set("X-Aws-Ec2-Metadata-Token", m.token)
	}
	answer, err := within{m.service}.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", fmt.Errorf("request %s from the metadata service: %w", path, err)
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the metadata service answers %s with %d", path, answer.StatusCode)
	}
	return strings.TrimSpace(string(body)), nil
}

// config returns a configuration with the credentials of the instance's role.
func (m *fakeMachine) config(ctx context.Context) (aws.Config, error) {
	service := &metadata{service: m.spec.Metadata}
	token, err := service.ask(ctx, http.MethodPut, "api/token")
	if err != nil {
		return aws.Config{}, err
	}
	service.token = token
	role, err := service.ask(ctx, http.MethodGet, "meta-data/iam/security-credentials/")
	if err != nil {
		return aws.Config{}, err
	}
	text, err := service.ask(ctx, http.MethodGet, "meta-data/iam/security-credentials/"+role)
	if err != nil {
		return aws.Config{}, err
	}
	var key struct{ AccessKeyID, SecretAccessKey, Token string }
	if err := json.Unmarshal([]byte(text), &key); err != nil {
		return aws.Config{}, fmt.Errorf("read the credentials of %s: %w", role, err)
	}
	return aws.Config{
		Region:           m.spec.Region,
		Credentials:      credentials.NewStaticCredentialsProvider(key.AccessKeyID, key.SecretAccessKey, key.Token),
		HTTPClient:       within{m.host.services.AWS},
		RetryMaxAttempts: 1, // boot retries
	}, nil
}

// fetch reads an object of the cluster's bucket.
func fetch(ctx context.Context, store *s3.Client, bucket, key string) ([]byte, error) {
	answer, err := store.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", key, err)
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", key, err)
	}
	return data, nil
}
