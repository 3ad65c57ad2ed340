package console_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const (
	account = "123456789012"
	region  = "eu-central-1"
)

// useAWS starts the simulator, and makes its credentials those of the user.
func useAWS(t *testing.T) *cloudformation.Client {
	t.Helper()
	_, endpoint := simulatortest.Start(t, simulator.Options{Account: account, Region: region})
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": region, "AWS_ACCESS_KEY_ID": account, "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_PROFILE": "", "AWS_SESSION_TOKEN": "",
	} {
		t.Setenv(name, value)
	}
	return cloudformation.NewFromConfig(simulatortest.Root(endpoint, account, region))
}

// stackOf creates the stack of a queue, with the tags of its owner, and returns its ID.
func (w *suite) stackOf(api *cloudformation.Client, queue, template string) string {
	w.t.Helper()
	tags := map[string]string{"name": queue, "namespace": w.namespace, "kind": "SQSQueue"}
	in := &cloudformation.CreateStackInput{StackName: aws.String(w.namespace + "-" + queue), TemplateBody: &template}
	for key, value := range tags {
		in.Tags = append(in.Tags, types.Tag{Key: aws.String("service-operator.aws/" + key), Value: &value})
	}
	out, err := api.CreateStack(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	patience.UntilTrue(w.t, "the stack ends", func() bool {
		found, err := api.DescribeStacks(w.t.Context(), &cloudformation.DescribeStacksInput{StackName: out.StackId})
		if err != nil {
			w.t.Fatal(err)
		}
		return !strings.HasSuffix(string(found.Stacks[0].StackStatus), "_IN_PROGRESS")
	})
	return *out.StackId
}

// queue creates a queue whose status records a stack.
func (w *suite) queue(name, stackID string) {
	w.t.Helper()
	queue := service("SQSQueue", name, map[string]any{})
	w.create(queue)
	if err := unstructured.SetNestedField(queue.Object, stackID, "status", "stackID"); err != nil {
		w.t.Fatal(err)
	}
	w.setStatus(queue)
}

func TestTimelineOfTheStack(t *testing.T) {
	w := newSuite(t)
	api := useAWS(t)
	w.queue("works", w.stackOf(api, "works", `{"Resources":{"Queue":{"Type":"AWS::SQS::Queue"}}}`))
	failed := w.stackOf(api, "fails", `{"Resources":{"Queue":{"Type":"AWS::SQS::Queue","Properties":{"DelaySeconds":100000}}}}`)
	w.queue("fails", failed)
	w.queue("pretends", failed)
	b := w.open(w.config, "--aws")
	overview := b.watch()
	id := func(name string) string { return overview.row("SQSQueue "+name, "waiting").ID }

	const title = "Last operation on the stacks"
	p := b.aws(id("works"))
	if got := p.section(title); !strings.Contains(got, "Queue | AWS::SQS::Queue | create |") || !strings.Contains(got, "stack ") {
		t.Errorf("the timeline of a stack: %s", got)
	}
	p = b.aws(id("fails"))
	if got := p.section(title); !strings.Contains(got, "create failed: ") || !strings.Contains(got, "DelaySeconds") {
		t.Errorf("the timeline of a stack that failed: %s", got)
	}
	p = b.aws(id("pretends"))
	if got := p.section(title); !strings.Contains(got, "tags are those of another object") || strings.Contains(got, "AWS::SQS::Queue") {
		t.Errorf("the timeline of another object's stack: %s", got)
	}
}

func TestAWSIsNotReadWithoutTheFlag(t *testing.T) {
	w := newSuite(t)
	w.queue("works", "arn:aws:cloudformation:eu-central-1:123456789012:stack/a/b")
	b := w.open(w.config)
	row := b.watch().row("SQSQueue works", "waiting")
	if status, body, _ := b.send(b.request(http.MethodGet, "/api/aws?id="+row.ID, "")); status != http.StatusNotFound {
		t.Errorf("status %d, %s", status, body)
	}
}

func TestCallsOfAnObject(t *testing.T) {
	w := newSuite(t)
	w.create(service("SQSQueue", "orders", map[string]any{}))
	log := filepath.Join(t.TempDir(), "operator.log")
	line := func(message, namespace, name, rest string) string {
		return `{"time":"2026-11-28T10:00:00Z","level":"INFO","msg":"` + message + `",` +
			`"controller":"sqsqueue","object":{"name":"` + name + `","namespace":"` + namespace + `"},"namespace":"` + namespace +
			`","name":"` + name + `","service":"CloudFormation",` + rest + "}\n"
	}
	text := line("Called AWS", w.namespace, "orders", `"operation":"CreateStack","requestID":"r-1","reason":"the stack does not exist"`) +
		line("Called AWS", "elsewhere", "orders", `"operation":"CreateStack","requestID":"r-2"`) +
		line("Called AWS", w.namespace, "other", `"operation":"CreateStack","requestID":"r-3"`) +
		"a line that is no JSON about AWS and orders\n" +
		line("AWS rejected a call", w.namespace, "orders", `"operation":"UpdateStack","requestID":"r-4","error":"AccessDenied: no."`) +
		"15:17:57 INFO  Called AWS  controller=sqsqueue namespace=" + w.namespace + " name=orders reason=\"the template \\\"x\\\" differs\" " +
		"service=CloudFormation operation=UpdateStack requestID=r-5\n"
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b := w.open(w.config, "--operator-log", log)
	p := b.page(b.watch().row("SQSQueue orders", "waiting").ID)
	const want = "\n15:17:57 | CloudFormation UpdateStack | the template \"x\" differs | done | r-5 | \n" +
		" | CloudFormation UpdateStack |  | AccessDenied: no. | r-4 | \n" +
		" | CloudFormation CreateStack | the stack does not exist | done | r-1 | \n"
	if got := p.section("Calls of AWS"); got != want {
		t.Errorf("calls: %q, want %q", got, want)
	}
}
