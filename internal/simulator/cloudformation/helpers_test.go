package cloudformation_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

const (
	account = "123456789012"
	region  = "eu-west-1"
)

// suite is a simulator with only CloudFormation, and an SDK client.
type suite struct {
	*awscfn.Client

	t       *testing.T
	engine  *cloudformation.Engine
	faults  *fault.Injector
	clock   *clocktesting.FakeClock // nil with a real clock
	server  *httptest.Server
	objects map[string]string // S3, by bucket/key

	mu        sync.Mutex
	published []published
	notified  []string
}

type published struct {
	detailType string
	detail     any
}

// newSuite starts a simulator; change may edit its options. If the options' Env has a fake clock,
// time stands still until the test steps it.
func newSuite(t *testing.T, change func(w *suite, o *cloudformation.Options)) *suite {
	t.Helper()
	w := &suite{t: t, faults: fault.New(), objects: map[string]string{}}
	options := cloudformation.Options{
		Env:    &resource.Env{Clock: clock.RealClock{}},
		Faults: w.faults,
		Publish: func(_ context.Context, _, _, _, detailType string, _ []string, detail any) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.published = append(w.published, published{detailType: detailType, detail: detail})
		},
		Notify: func(_ context.Context, _, _, _, _, message string) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.notified = append(w.notified, message)
			return nil
		},
		FetchS3: func(_ context.Context, bucket, key string) ([]byte, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			body, ok := w.objects[bucket+"/"+key]
			if !ok {
				return nil, resource.Errorf(resource.NotFound, "The specified key does not exist.")
			}
			return []byte(body), nil
		},
		SSMParameter: func(_ context.Context, _, _, name string) (string, error) {
			if name == "/image" {
				return "ami-1", nil
			}
			return "", resource.Errorf(resource.NotFound, "ParameterNotFound")
		},
	}
	if change != nil {
		change(w, &options)
	}
	w.clock, _ = options.Env.Clock.(*clocktesting.FakeClock)
	w.engine = cloudformation.New(options)
	w.server = httptest.NewServer(wire.NewRouter([]*wire.Service{w.engine.Service()}, w.faults, options.Env.Clock))
	t.Cleanup(w.server.Close)
	w.Client = w.client(account)
	return w
}

// fakeTime sets a fake clock.
func fakeTime(w *suite, o *cloudformation.Options) {
	o.Env.Clock = clocktesting.NewFakeClock(time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC))
}

func (w *suite) client(key string) *awscfn.Client {
	return awscfn.New(awscfn.Options{
		Region: region, BaseEndpoint: aws.String(w.server.URL), RetryMaxAttempts: 1,
		HTTPClient:  wiretest.SteadyClient{HTTPClient: awshttp.NewBuildableClient()},
		Credentials: credentials.NewStaticCredentialsProvider(key, "secret", ""),
	})
}

func (w *suite) create(name, template string) string {
	w.t.Helper()
	out, err := w.CreateStack(w.t.Context(), &awscfn.CreateStackInput{
		StackName: aws.String(name), TemplateBody: aws.String(template),
		Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam},
	})
	if err != nil {
		w.t.Fatalf("CreateStack %s: %v", name, err)
	}
	return aws.ToString(out.StackId)
}

func (w *suite) createAndWait(name, template string) types.Stack {
	w.t.Helper()
	id := w.create(name, template)
	return w.waitFor(id, types.StackStatusCreateComplete)
}

func (w *suite) update(name, template string) error {
	_, err := w.UpdateStack(w.t.Context(), &awscfn.UpdateStackInput{StackName: aws.String(name), TemplateBody: aws.String(template)})
	return err
}

func (w *suite) delete(name string) {
	w.t.Helper()
	if _, err := w.DeleteStack(w.t.Context(), &awscfn.DeleteStackInput{StackName: aws.String(name)}); err != nil {
		w.t.Fatalf("DeleteStack %s: %v", name, err)
	}
}

func (w *suite) stack(name string) types.Stack {
	w.t.Helper()
	out, err := w.DescribeStacks(w.t.Context(), &awscfn.DescribeStacksInput{StackName: aws.String(name)})
	if err != nil {
		w.t.Fatalf("DescribeStacks %s: %v", name, err)
	}
	return out.Stacks[0]
}

// waitFor waits until the stack has the status.
func (w *suite) waitFor(name string, status types.StackStatus) types.Stack {
	w.t.Helper()
	var last types.Stack
	w.eventually(func() bool {
		last = w.stack(name)
		return last.StackStatus == status
	}, func() string {
		return "stack " + name + " is " + string(last.StackStatus) + " (" + aws.ToString(last.StackStatusReason) + "), want " +
			string(status) + "\n" + strings.Join(w.events(name), "\n")
	})
	return last
}

// eventually waits for a condition. It does not use the suite's clock.
func (w *suite) eventually(condition func() bool, describe func() string) {
	w.t.Helper()
	ctx := patience.Context(w.t)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.t.Fatal(describe())
		}
	}
}

// events returns the stack's events, oldest first, as "id STATUS reason".
func (w *suite) events(name string) []string {
	w.t.Helper()
	var out []string
	p := awscfn.NewDescribeStackEventsPaginator(w.Client, &awscfn.DescribeStackEventsInput{StackName: aws.String(name)})
	for p.HasMorePages() {
		part, err := p.NextPage(w.t.Context())
		if err != nil {
			w.t.Fatalf("DescribeStackEvents: %v", err)
		}
		for _, e := range part.StackEvents {
			out = append(
				[]string{
					strings.TrimSpace(*e.LogicalResourceId + " " + string(e.ResourceStatus) + " " + aws.ToString(e.ResourceStatusReason)),
				},
				out...)
		}
	}
	return out
}

func (w *suite) resource(stack, id string) types.StackResource {
	w.t.Helper()
	out, err := w.DescribeStackResources(
		w.t.Context(), &awscfn.DescribeStackResourcesInput{StackName: aws.String(stack), LogicalResourceId: aws.String(id)},
	)
	if err != nil {
		w.t.Fatalf("DescribeStackResources: %v", err)
	}
	return out.StackResources[0]
}

// expectError checks an API error's code and message.
func expectError(t *testing.T, err error, code, message string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s: %s", code, message)
	}
	if !strings.Contains(err.Error(), code+": ") || !strings.Contains(err.Error(), message) {
		t.Fatalf("error %v\nwant %s: %s", err, code, message)
	}
}

func expectEvents(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("events:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("event %d is %q, want %q", i, got[i], want[i])
		}
	}
}
