package s3_test

import (
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	simulated "github.com/aws-operator/aws-operator/internal/simulator/s3"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// suite is a simulated S3 behind a real HTTP server.
type suite struct {
	t       *testing.T
	clock   *clocktesting.FakeClock
	buckets *simulated.Buckets
	faults  *fault.Injector
	url     string
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	buckets := simulated.New(&resource.Env{Clock: clock, Partition: "aws"})
	faults := fault.New()
	server := httptest.NewServer(wire.NewRouter([]*wire.Service{buckets.Service()}, faults, clock))
	t.Cleanup(server.Close)
	return &suite{t: t, clock: clock, buckets: buckets, faults: faults, url: server.URL}
}

const (
	account = "111111111111"
	region  = "eu-west-1"
)

// client returns a client of an account in a region.
func (w *suite) client(account, region string, options ...func(*s3.Options)) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &w.url, Region: region, UsePathStyle: true,
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
		Credentials:                credentials.NewStaticCredentialsProvider(account, "secret", ""),
	}, options...)
}

// bucket creates the bucket "things" and returns its owner's client.
func (w *suite) bucket(options ...func(*s3.CreateBucketInput)) *s3.Client {
	w.t.Helper()
	c := w.client(account, region)
	in := &s3.CreateBucketInput{
		Bucket: things, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region},
	}
	for _, option := range options {
		option(in)
	}
	if _, err := c.CreateBucket(w.t.Context(), in); err != nil {
		w.t.Fatal(err)
	}
	return c
}

var things = aws.String("things")

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func put(t *testing.T, c *s3.Client, key, data string) *s3.PutObjectOutput {
	t.Helper()
	return must[*s3.PutObjectOutput](t)(
		c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: things, Key: &key, Body: bytes.NewReader([]byte(data))}),
	)
}

func read(t *testing.T, body io.ReadCloser) string {
	t.Helper()
	data := must[[]byte](t)(io.ReadAll(body))
	return string(data)
}

func wantError(t *testing.T, err error, code, message string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || message != "" && api.ErrorMessage() != message {
		t.Fatalf("got %v, want %s: %s", err, code, message)
	}
}
