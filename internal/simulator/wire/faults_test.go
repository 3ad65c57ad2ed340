package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/smithy-go"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// counting returns a service that counts the effects of its only operation.
func counting(effects *atomic.Int64) *wire.Service {
	return dynamo(wire.Op(func(context.Context, *dynamodb.DeleteTableInput) (*dynamodb.DeleteTableOutput, error) {
		effects.Add(1)
		return nil, nil
	}), "DeleteTable")
}

func TestFaults(t *testing.T) {
	tests := []struct {
		name    string
		rule    fault.Rule
		code    string // of the error; "" for none, "-" for a broken connection
		effects int64
	}{
		{"none", fault.Rule{Service: "sqs", Code: "Throttling"}, "", 1},
		{"throttled before the effect", fault.Throttle("dynamodb", "DeleteTable", 1), "Throttling", 0},
		{
			"server error after the effect",
			fault.Rule{Code: "InternalServerError", Status: 500, AfterEffect: true},
			"InternalServerError",
			1,
		},
		{"connection lost before the effect", fault.Rule{HangUp: true}, "-", 0},
		{"connection lost after the effect", fault.Rule{HangUp: true, AfterEffect: true}, "-", 1},
		{"denied", fault.Rule{Operation: "Delete*", Deny: true}, "AccessDeniedException", 0},
		{"another table", fault.Rule{Name: "other", Code: "Throttling"}, "", 1},
		{"this table", fault.Rule{Name: "tab*", Code: "Throttling"}, "Throttling", 0},
		{"a resource's rule is not an API call's", fault.Rule{ResourceType: "AWS::*", Code: "Throttling"}, "", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			faults, effects := fault.New(), new(atomic.Int64)
			faults.Add(tt.rule)
			client := dynamodb.NewFromConfig(start(t, faults, counting(effects)))
			_, err := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("table")})
			var e smithy.APIError
			switch {
			case tt.code == "" && err != nil, tt.code == "-" && (err == nil || errors.As(err, &e)),
				len(tt.code) > 1 && (!errors.As(err, &e) || e.ErrorCode() != tt.code):
				t.Errorf("got %v, want %q", err, tt.code)
			}
			if effects.Load() != tt.effects {
				t.Errorf("%d effects, want %d", effects.Load(), tt.effects)
			}
			if got := faults.Calls()["dynamodb/DeleteTable"]; got != 1 {
				t.Errorf("counted %d calls", got)
			}
		})
	}
}

func TestSkipAndTimes(t *testing.T) {
	faults, effects := fault.New(), new(atomic.Int64)
	remove := faults.Add(fault.Rule{Skip: 1, Times: 2, Code: "Throttling"})
	client := dynamodb.NewFromConfig(start(t, faults, counting(effects)))
	var failed []bool
	for range 4 {
		_, err := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("t")})
		failed = append(failed, err != nil)
	}
	if want := []bool{false, true, true, false}; !slices.Equal(failed, want) {
		t.Errorf("got %v, want %v", failed, want)
	}
	remove()
	remove()
	if faults.Decide(fault.CallInfo{Service: "dynamodb"}).Fails() {
		t.Error("a removed rule still applies")
	}
}

// AWS documents the message:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
func TestDenialNamesTheAction(t *testing.T) {
	faults := fault.New()
	faults.Add(fault.Rule{Deny: true})
	config := start(t, faults, snsService())
	_, err := sns.NewFromConfig(config).CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("t")})
	want := "User: arn:aws:iam::123456789012:user/demo is not authorized to perform: sns:CreateTopic on resource: " +
		"arn:aws:sns:eu-central-1:123456789012:t because no identity-based policy allows the sns:CreateTopic action"
	var e smithy.APIError
	if !errors.As(err, &e) || e.ErrorMessage() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestHooksRunBeforeAndAfterTheEffect(t *testing.T) {
	faults, effects := fault.New(), new(atomic.Int64)
	var seen []string
	remove := faults.OnCall(func(c fault.CallInfo) {
		seen = append(seen, fmt.Sprintf("%d %s %s %s: %d", c.N, c.Phase, c.Operation, c.Name, effects.Load()))
	})
	client := dynamodb.NewFromConfig(start(t, faults, counting(effects)))
	call := func() {
		if _, err := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("t")}); err != nil {
			t.Fatal(err)
		}
	}
	call()
	remove()
	call()
	if want := []string{"1 Before DeleteTable t: 0", "1 After DeleteTable t: 1"}; !slices.Equal(seen, want) {
		t.Errorf("got %q, want %q", seen, want)
	}
}

func TestLatencyUsesTheClock(t *testing.T) {
	clk := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	faults, effects := fault.New(), new(atomic.Int64)
	faults.Add(fault.Rule{Latency: time.Hour})
	server := httptest.NewServer(wire.NewRouter([]*wire.Service{counting(effects)}, faults, clk))
	t.Cleanup(server.Close)
	client := dynamodb.New(dynamodb.Options{
		Region: "r", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})
	done := make(chan error)
	go func() {
		_, err := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("t")})
		done <- err
	}()
	for !clk.HasWaiters() { // until the call sleeps
		select {
		case err := <-done:
			t.Fatalf("did not wait: %v", err)
		default:
		}
	}
	clk.Step(time.Hour)
	if err := <-done; err != nil || effects.Load() != 1 {
		t.Errorf("%v, %d effects", err, effects.Load())
	}
}

func TestServicesWithTheirOwnHTTPAreSubjectToFaults(t *testing.T) {
	faults, effects := fault.New(), new(atomic.Int64)
	service := &wire.Service{
		Name: "s3", Protocols: []wire.Protocol{wire.RESTXML},
		HTTP: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			effects.Add(1)
			w.WriteHeader(http.StatusNoContent)
			_ = wire.CallFrom(req.Context())
		}),
		OperationOf: func(req *http.Request) (operation, name string) {
			return "DeleteBucket", strings.Trim(req.URL.Path, "/")
		},
	}
	remove := faults.Add(fault.Rule{Service: "s3", Operation: "DeleteBucket", Name: "b", Code: "SlowDown", Status: 503, AfterEffect: true})
	config := start(t, faults, service)
	send := func() int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, *config.BaseEndpoint+"/b", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(
			"Authorization", "AWS4-HMAC-SHA256 Credential=AK/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0",
		)
		resp, err := config.HTTPClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := send(); got != http.StatusServiceUnavailable || effects.Load() != 1 {
		t.Errorf("status %d, %d effects", got, effects.Load())
	}
	remove()
	if got := send(); got != http.StatusNoContent || effects.Load() != 2 {
		t.Errorf("status %d, %d effects", got, effects.Load())
	}
}
