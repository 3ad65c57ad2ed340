package simulator_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

const root = "123456789012"

// enforced returns a configuration of the root user of a simulator that enforces IAM.
func enforced(t *testing.T, o simulator.Options) aws.Config {
	t.Helper()
	o.Region = "eu-central-1"
	if o.IAM == "" {
		o.IAM = access.Enforce
	}
	if o.Lag == 0 {
		o.Lag = simulator.NoLag
	}
	_, endpoint := simulatortest.Start(t, o)
	return aws.Config{
		Region: o.Region, BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider(root, wire.RootSecret, ""),
		Retryer:    func() aws.Retryer { return aws.NopRetryer{} },
		HTTPClient: wiretest.SteadyClient{HTTPClient: awshttp.NewBuildableClient()},
	}
}

// as returns a configuration with other credentials.
func as(config aws.Config, id, secret, token string) aws.Config {
	c := config.Copy()
	c.Credentials = credentials.NewStaticCredentialsProvider(id, secret, token)
	return c
}

// onPath makes clients of S3 name the bucket in the path.
func onPath(o *s3.Options) { o.UsePathStyle = true }

// calls is a call of each protocol, and of EC2 and S3, whose errors have other codes.
var calls = map[string]func(context.Context, aws.Config) error{
	"query": func(ctx context.Context, c aws.Config) error {
		_, err := iam.NewFromConfig(c).ListRoles(ctx, nil)
		return err
	},
	"json": func(ctx context.Context, c aws.Config) error {
		_, err := kms.NewFromConfig(c).ListKeys(ctx, nil)
		return err
	},
	"sqs": func(ctx context.Context, c aws.Config) error {
		_, err := sqs.NewFromConfig(c).ListQueues(ctx, nil)
		return err
	},
	"dynamodb": func(ctx context.Context, c aws.Config) error {
		_, err := dynamodb.NewFromConfig(c).ListTables(ctx, nil)
		return err
	},
	"ec2": func(ctx context.Context, c aws.Config) error {
		_, err := ec2.NewFromConfig(c).DescribeVpcs(ctx, nil)
		return err
	},
	"s3": func(ctx context.Context, c aws.Config) error {
		_, err := s3.NewFromConfig(c, onPath).ListBuckets(ctx, nil)
		return err
	},
	"s3 with a body": func(ctx context.Context, c aws.Config) error {
		_, err := s3.NewFromConfig(c, onPath).PutObject(ctx, &s3.PutObjectInput{
			Bucket: aws.String("no-bucket"), Key: aws.String("a b/ü:+~*"), Body: strings.NewReader("text"),
		})
		if code(err) == "NoSuchBucket" {
			return nil
		}
		return err
	},
	"rest": func(ctx context.Context, c aws.Config) error {
		_, err := route53.NewFromConfig(c).ListHostedZones(ctx, &route53.ListHostedZonesInput{MaxItems: aws.Int32(10)})
		return err
	},
}

func code(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return ""
}

// https://docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
func TestCredentialsAreVerified(t *testing.T) {
	clk := testclock.NewFakeClock(time.Now())
	config := enforced(t, simulator.Options{Clock: clk})
	token, err := sts.NewFromConfig(config).GetSessionToken(t.Context(), &sts.GetSessionTokenInput{DurationSeconds: aws.Int32(900)})
	if err != nil {
		t.Fatal(err)
	}
	made := token.Credentials
	session := as(config, *made.AccessKeyId, *made.SecretAccessKey, *made.SessionToken)
	for name, test := range map[string]struct {
		config                    aws.Config
		later                     time.Duration
		query, json, sqs, ec2, s3 string
	}{
		"the root user":            {config: config},
		"a session":                {config: session},
		"four minutes late":        {config: config, later: 4 * time.Minute},
		"a key that is not known":  {as(config, "AKIAUNKNOWN", "secret", ""), 0, "InvalidClientTokenId", "UnrecognizedClientException", "InvalidClientTokenId", "AuthFailure", "InvalidAccessKeyId"},
		"another secret":           {as(config, root, "guessed", ""), 0, "SignatureDoesNotMatch", "InvalidSignatureException", "SignatureDoesNotMatch", "AuthFailure", "SignatureDoesNotMatch"},
		"a session without token":  {as(config, *made.AccessKeyId, *made.SecretAccessKey, ""), 0, "InvalidClientTokenId", "UnrecognizedClientException", "InvalidClientTokenId", "AuthFailure", "InvalidAccessKeyId"},
		"a session, another token": {as(config, *made.AccessKeyId, *made.SecretAccessKey, "x"), 0, "InvalidClientTokenId", "UnrecognizedClientException", "InvalidClientTokenId", "AuthFailure", "InvalidToken"},
		"an expired session":       {session, 15 * time.Minute, "ExpiredToken", "ExpiredTokenException", "ExpiredToken", "RequestExpired", "ExpiredToken"},
		"six minutes late":         {config, 6 * time.Minute, "SignatureDoesNotMatch", "InvalidSignatureException", "SignatureDoesNotMatch", "", ""},
		"six minutes early":        {config, -6 * time.Minute, "SignatureDoesNotMatch", "InvalidSignatureException", "SignatureDoesNotMatch", "", ""},
		"sixteen minutes late":     {config, 16 * time.Minute, "SignatureDoesNotMatch", "InvalidSignatureException", "SignatureDoesNotMatch", "RequestExpired", "RequestTimeTooSkewed"},
	} {
		t.Run(name, func(t *testing.T) {
			clk.SetTime(time.Now().Add(test.later))
			defer func() { clk.SetTime(time.Now()) }()
			for by, want := range map[string]string{
				"query": test.query, "rest": test.query, "json": test.json, "dynamodb": test.json, "sqs": test.sqs, "ec2": test.ec2,
				"s3": test.s3, "s3 with a body": test.s3,
			} {
				if err := calls[by](t.Context(), test.config); code(err) != want || want == "" && err != nil {
					t.Errorf("%s: got %v, want %q", by, err, want)
				}
			}
		})
	}
}

func TestMessagesAboutTheTimeOfARequestNameBothTimes(t *testing.T) {
	clk := testclock.NewFakeClock(time.Now())
	config := enforced(t, simulator.Options{Clock: clk})
	clk.Step(time.Hour)
	_, err := sts.NewFromConfig(config).GetCallerIdentity(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "Signature expired: ") || !strings.Contains(err.Error(), " is now earlier than ") ||
		!strings.Contains(err.Error(), " - 5 min.)") {
		t.Error(err)
	}
	// SDKs correct their clock by the response, and try again.
	config.Retryer = nil
	if _, err := sts.NewFromConfig(config).GetCallerIdentity(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestRequestsWithoutCredentialsAreRefused(t *testing.T) {
	config := enforced(t, simulator.Options{})
	config.Credentials = aws.AnonymousCredentials{}
	for by, want := range map[string]string{
		"query": "MissingAuthenticationToken", "json": "MissingAuthenticationTokenException", "ec2": "MissingAuthenticationToken",
	} {
		if err := calls[by](t.Context(), config); code(err) != want {
			t.Errorf("%s: got %v, want %s", by, err, want)
		}
	}
}

// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
func TestPresignedURLsAreVerified(t *testing.T) {
	config := enforced(t, simulator.Options{})
	store := s3.NewFromConfig(config, onPath)
	bucket, key := aws.String("presigned"), aws.String("a b/ü")
	made := &s3.CreateBucketInput{Bucket: bucket, CreateBucketConfiguration: locationOf(config)}
	if _, err := store.CreateBucket(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	if _, err := store.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: key, Body: strings.NewReader("text")}); err != nil {
		t.Fatal(err)
	}
	presigned, err := s3.NewPresignClient(store).PresignGetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		url    string
		status int
	}{
		"as it was signed":  {presigned.URL, http.StatusOK},
		"of another object": {strings.Replace(presigned.URL, "/a%20b/", "/b/", 1), http.StatusForbidden},
		"valid for longer":  {strings.Replace(presigned.URL, "X-Amz-Expires=900", "X-Amz-Expires=9000", 1), http.StatusForbidden},
		"of version 2":      {*config.BaseEndpoint + "/presigned/x?AWSAccessKeyId=" + root + "&Signature=x&Expires=9999999999", http.StatusBadRequest},
		"unsigned":          {*config.BaseEndpoint + "/presigned/a%20b/%C3%BC", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			if status, body := get(t, test.url); status != test.status {
				t.Errorf("got %d %s, want %d", status, body, test.status)
			}
		})
	}
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return send(t, req)
}

func send(t *testing.T, req *http.Request) (status int, body string) {
	t.Helper()
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html
func TestBodiesNeedNoHashInTheSignature(t *testing.T) {
	config := enforced(t, simulator.Options{})
	store := s3.NewFromConfig(config, onPath)
	if _, err := store.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: aws.String("chunks"), CreateBucketConfiguration: locationOf(config),
	}); err != nil {
		t.Fatal(err)
	}
	identity, err := config.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for hash, body := range map[string]string{
		"UNSIGNED-PAYLOAD":                           "hello",
		"STREAMING-UNSIGNED-PAYLOAD-TRAILER":         "5\r\nhello\r\n0\r\n\r\n",
		"STREAMING-AWS4-HMAC-SHA256-PAYLOAD":         "5;chunk-signature=x\r\nhello\r\n0;chunk-signature=y\r\n\r\n",
		"STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER": "5;chunk-signature=x\r\nhello\r\n0;chunk-signature=y\r\n\r\n",
	} {
		for secret, want := range map[string]int{wire.RootSecret: http.StatusOK, "guessed": http.StatusForbidden} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, *config.BaseEndpoint+"/chunks/x", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Amz-Content-Sha256", hash)
			if strings.HasPrefix(hash, "STREAMING") {
				req.Header.Set("X-Amz-Decoded-Content-Length", "5")
			}
			identity.SecretAccessKey = secret
			if err := v4.NewSigner().SignHTTP(t.Context(), identity, req, hash, "s3", config.Region, time.Now(), func(o *v4.SignerOptions) {
				o.DisableURIPathEscaping = true
			}); err != nil {
				t.Fatal(err)
			}
			if status, answer := send(t, req); status != want {
				t.Errorf("%s with secret %s: got %d %s", hash, secret, status, answer)
			}
		}
	}
}

// curl sends the header only if a flag names it.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
func TestS3NeedsTheHashOfThePayload(t *testing.T) {
	config := enforced(t, simulator.Options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, *config.BaseEndpoint+"/b/k", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	identity := aws.Credentials{AccessKeyID: root, SecretAccessKey: wire.RootSecret}
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if err := v4.NewSigner().SignHTTP(t.Context(), identity, req, empty, "s3", config.Region, time.Now()); err != nil {
		t.Fatal(err)
	}
	if status, answer := send(t, req); status != http.StatusBadRequest || !strings.Contains(answer, "required header for this request: x-amz-content-sha256") {
		t.Errorf("got %d %s", status, answer)
	}
}

func TestMalformedAuthorizationIsRefused(t *testing.T) {
	config := enforced(t, simulator.Options{})
	for header, want := range map[string]string{
		"AWS4-HMAC-SHA256 Signature=0": "IncompleteSignature",
		"AWS4-HMAC-SHA256 Credential=123456789012/20260101/eu-central-1/sts/aws4_request, SignedHeaders=x-amz-date, Signature=0": "IncompleteSignature",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, *config.BaseEndpoint+"/?Action=GetCallerIdentity&Version=2011-06-15", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", header)
		req.Header.Set("X-Amz-Date", "20260101T000000Z")
		if _, answer := send(t, req); !strings.Contains(answer, "<Code>"+want+"</Code>") {
			t.Errorf("%s: %s", header, answer)
		}
	}
}

func TestAuditReportsWhatWouldBeRefused(t *testing.T) {
	var lines []string
	config := enforced(t, simulator.Options{IAM: access.Audit, Audit: func(line string) { lines = append(lines, line) }})
	if err := calls["sqs"](t.Context(), as(config, "AKIAUNKNOWN", "x", "")); err != nil {
		t.Error(err)
	}
	if err := calls["query"](t.Context(), as(config, root, "x", "")); err != nil {
		t.Error(err)
	}
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "sqs:ListQueues by access key AKIAUNKNOWN would be refused: UnrecognizedClientException: ") ||
		!strings.HasPrefix(lines[1], "iam:ListRoles by access key "+root+" would be refused: SignatureDoesNotMatch: ") {
		t.Errorf("got %q", lines)
	}
}

// locationOf places a bucket in the region of a configuration.
func locationOf(config aws.Config) *s3types.CreateBucketConfiguration {
	return &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(config.Region)}
}
