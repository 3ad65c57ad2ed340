package awsapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// answer is an answer in the Query protocol, with errors as in
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/CommonErrors.html.
type answer struct {
	status        int
	code, message string
}

// respond serves the answers in order, and then repeats the last one.
func respond(t *testing.T, answers ...answer) (*Clients, *prometheus.Registry, *atomic.Int64) {
	t.Helper()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		one := answers[min(int(calls.Add(1)), len(answers))-1]
		w.Header().Set("Content-Type", "text/xml")
		if one.code == "" {
			_, _ = io.WriteString(
				w,
				`<DescribeStacksResponse><DescribeStacksResult><Stacks/></DescribeStacksResult></DescribeStacksResponse>`,
			)
			return
		}
		w.WriteHeader(one.status)
		_, _ = fmt.Fprintf(
			w,
			`<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>1</RequestId></ErrorResponse>`,
			one.code,
			one.message,
		)
	}))
	t.Cleanup(server.Close)
	registry := prometheus.NewRegistry()
	clients, err := New(t.Context(), Options{
		Region: "eu-central-1", EndpointURL: server.URL, Registerer: registry,
		Credentials: credentials.NewStaticCredentialsProvider("123456789012", "secret", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	return clients, registry, &calls
}

func describe(ctx context.Context, clients *Clients) error {
	_, err := clients.CloudFormation(Target{}).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String("jobs")})
	return err
}

func TestEveryAttemptIsCounted(t *testing.T) {
	clients, registry, calls := respond(t, answer{http.StatusServiceUnavailable, "ServiceUnavailable", "try later"}, answer{})
	if err := describe(t.Context(), clients); err != nil {
		t.Fatal(err)
	}
	if calls.Load() != 2 {
		t.Errorf("%d attempts, want 2", calls.Load())
	}
	want := `
# HELP aws_operator_api_requests_total HTTP attempts of AWS calls, by service, operation and AWS's error code ("200" for success).
# TYPE aws_operator_api_requests_total counter
aws_operator_api_requests_total{code="200",operation="DescribeStacks",service="cloudformation"} 1
aws_operator_api_requests_total{code="ServiceUnavailable",operation="DescribeStacks",service="cloudformation"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "aws_operator_api_requests_total"); err != nil {
		t.Error(err)
	}
}

func TestThrottledAttemptsAreCounted(t *testing.T) {
	clients, registry, _ := respond(
		t,
		answer{http.StatusBadRequest, "Throttling", "Rate exceeded"},
		answer{http.StatusServiceUnavailable, "ServiceUnavailable", "try later"},
		answer{},
	)
	if err := describe(t.Context(), clients); err != nil {
		t.Fatal(err)
	}
	want := `
# HELP aws_operator_api_throttled_total HTTP attempts of AWS calls that AWS refused because of their rate.
# TYPE aws_operator_api_throttled_total counter
aws_operator_api_throttled_total{operation="DescribeStacks",service="cloudformation"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "aws_operator_api_throttled_total"); err != nil {
		t.Error(err)
	}
}

func TestExplain(t *testing.T) {
	cases := []struct {
		name    string
		answer  answer
		kind    Kind
		message string
		action  string
	}{
		{
			"a missing permission is named",
			answer{
				403,
				"AccessDenied",
				"User: arn:aws:iam::123456789012:user/op is not authorized to perform: cloudformation:DescribeStacks on resource: arn:aws:cloudformation:eu-central-1:123456789012:stack/jobs/* because no identity-based policy allows the cloudformation:DescribeStacks action",
			},
			Denied,
			"AWS denies access: arn:aws:iam::123456789012:user/op lacks the permission cloudformation:DescribeStacks on arn:aws:cloudformation:eu-central-1:123456789012:stack/jobs/*; allow this action in its IAM policy.",
			"cloudformation:DescribeStacks",
		},
		{
			"an explicit deny needs another fix",
			answer{
				403,
				"AccessDenied",
				"User: arn:aws:iam::123456789012:user/op is not authorized to perform: cloudformation:DescribeStacks with an explicit deny in a service control policy",
			},
			Denied,
			"AWS denies access: arn:aws:iam::123456789012:user/op lacks the permission cloudformation:DescribeStacks; a policy denies it explicitly, so that policy must change.",
			"cloudformation:DescribeStacks",
		},
		{
			"a denial without a message is described by its call",
			answer{403, "AccessDenied", "Access Denied"},
			Denied,
			"AWS denies access: the identity of these credentials lacks the permission cloudformation:DescribeStacks; allow this action in its IAM policy.", "cloudformation:DescribeStacks",
		},
		{
			"throttling passes",
			answer{400, "Throttling", "Rate exceeded"},
			Throttled, "AWS throttles cloudformation:DescribeStacks calls; they succeed again at a lower rate.", "",
		},
		{
			"expired credentials must be renewed",
			answer{403, "ExpiredToken", "The security token included in the request is expired"},
			Expired, "The AWS credentials have expired; renew them. If they were just renewed, check the machine's clock.", "",
		},
		{
			"unknown credentials must be corrected",
			answer{403, "InvalidClientTokenId", "The security token included in the request is invalid."},
			BadCredentials, "AWS rejects the credentials (InvalidClientTokenId); check the access key, its secret and the session token.",
			"",
		},
		{
			"a refusal keeps AWS's message",
			answer{400, "ValidationError", "Template error: no such thing"},
			Rejected, "AWS rejects cloudformation:DescribeStacks: Template error: no such thing.", "",
		},
		{
			"an internal error of AWS is temporary",
			answer{500, "InternalFailure", "oops"},
			Unavailable,
			"AWS returned an internal error for cloudformation:DescribeStacks (InternalFailure); such errors are usually temporary.", "",
		},
		{
			"an exhausted quota needs a user",
			answer{400, "LimitExceeded", "Limit for stack has been exceeded"},
			LimitReached,
			"A quota of the AWS account is exhausted: Limit for stack has been exceeded. Request a higher quota or delete unused resources.", "",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // retries take time
			clients, _, _ := respond(t, c.answer)
			failure := Explain(describe(t.Context(), clients))
			if failure == nil {
				t.Fatal("no failure")
			}
			if failure.Kind != c.kind || failure.Message != c.message || failure.Action != c.action {
				t.Errorf("got  %s %q %q\nwant %s %q %q", failure.Kind, failure.Message, failure.Action, c.kind, c.message, c.action)
			}
		})
	}
}

func TestExplainSilence(t *testing.T) {
	clients, err := New(t.Context(), Options{
		Region: "eu-central-1", EndpointURL: "http://127.0.0.1:1", MaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("123456789012", "secret", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	failure := Explain(describe(t.Context(), clients))
	if failure == nil || failure.Kind != Unreachable || !failure.Transient() {
		t.Fatalf("got %+v, want Unreachable", failure)
	}
	if want := "AWS cannot be reached at 127.0.0.1:1: connection refused; check the network and the endpoint."; failure.Message != want {
		t.Errorf("got  %s\nwant %s", failure.Message, want)
	}
}

func TestExplainMissingCredentials(t *testing.T) {
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	clients, err := New(t.Context(), Options{Region: "eu-central-1", EndpointURL: "http://127.0.0.1:1", MaxAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	failure := Explain(describe(t.Context(), clients))
	if failure == nil || failure.Kind != BadCredentials || !strings.Contains(failure.Message, "There are no AWS credentials") {
		t.Errorf("got %+v, want BadCredentials", failure)
	}
}

func TestRegionIsRequired(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	if _, err := New(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("got %v, want the message to name the region's flag", err)
	}
}

func TestClientsAreSharedByTarget(t *testing.T) {
	clients, _, _ := respond(t, answer{})
	role := Target{RoleARN: "arn:aws:iam::210987654321:role/operator"}
	if clients.CloudFormation(Target{}) != clients.CloudFormation(Target{Region: "eu-central-1"}) {
		t.Error("the operator's own region has two clients")
	}
	if clients.CloudFormation(Target{}) == clients.CloudFormation(role) {
		t.Error("another account has the same client")
	}
	clients.mu.Lock()
	defer clients.mu.Unlock()
	if clients.bucket("cloudformation", role) != clients.bucket("cloudformation", Target{Account: "210987654321"}) {
		t.Error("one account has two budgets")
	}
	if clients.bucket("cloudformation", role) == clients.bucket("cloudformation", Target{}) {
		t.Error("two accounts share a budget")
	}
}
