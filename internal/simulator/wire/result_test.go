package wire_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awscloudformation "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	awssns "github.com/aws/aws-sdk-go-v2/service/sns"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation"
	"github.com/aws-operator/aws-operator/internal/simulator/iam"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/sns"
	"github.com/aws-operator/aws-operator/internal/simulator/sts"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

var resultElement = regexp.MustCompile(`(?s)<\w+Result>.*</\w+Result>`)

// direct sends requests to a handler; if bare is set, it removes the result element from responses.
type direct struct {
	handler   http.Handler
	bare      bool
	hasResult bool
}

func (d *direct) Do(req *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	d.handler.ServeHTTP(recorder, req)
	answer := recorder.Result()
	body := recorder.Body.Bytes()
	d.hasResult = resultElement.Match(body)
	if d.bare {
		body = resultElement.ReplaceAll(body, nil)
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return answer, nil
}

// A response has a result element exactly where AWS's API defines an output: the SDK then reads it,
// and fails if the element is missing.
func TestResultElements(t *testing.T) {
	transport := &direct{}
	config := aws.Config{
		Region: "eu-west-1", HTTPClient: transport, BaseEndpoint: aws.String("http://localhost"),
		Credentials: credentials.NewStaticCredentialsProvider("demo", "secret", ""),
		Retryer:     func() aws.Retryer { return aws.NopRetryer{} },
		APIOptions: []func(*middleware.Stack) error{func(stack *middleware.Stack) error {
			// Only the response matters here, so skip validation. Not every operation has that
			// step.
			_, _ = stack.Initialize.Remove("OperationInputValidation")
			return nil
		}},
	}
	env, keys := &resource.Env{Clock: clock.RealClock{}}, &wire.Keys{}
	for _, tc := range []struct {
		service *wire.Service
		client  any
	}{
		{cloudformation.New(cloudformation.Options{Env: env}).Service(), awscloudformation.NewFromConfig(config)},
		{iam.New(env, keys).Service(), awsiam.NewFromConfig(config)},
		{sns.New(env, nil, nil).Service(), awssns.NewFromConfig(config)},
		{sts.New(env, keys).Service(), awssts.NewFromConfig(config)},
	} {
		for name, operation := range tc.service.Operations {
			t.Run(tc.service.Name+"/"+name, func(t *testing.T) {
				method := reflect.ValueOf(tc.client).MethodByName(name)
				if !method.IsValid() {
					t.Fatal("the SDK has no such operation")
				}
				tc.service.Operations[name] = operation.Answering(reflect.New(method.Type().Out(0).Elem()).Interface())
				transport.handler = wire.NewRouter([]*wire.Service{tc.service}, nil, clock.RealClock{})
				call := func() error {
					out := method.Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.New(method.Type().In(1).Elem())})
					err, _ := reflect.TypeAssert[error](out[1])
					return err
				}
				transport.bare = false
				if err := call(); err != nil {
					t.Fatal(err)
				}
				hasResult := transport.hasResult
				transport.bare = true
				if needsResult := call() != nil; hasResult != needsResult {
					t.Errorf("result in the answer: %t, in AWS's: %t", hasResult, needsResult)
				}
			})
		}
	}
}
