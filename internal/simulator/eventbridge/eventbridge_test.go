package eventbridge_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsevents "github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/eventbridge"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/sns"
	"github.com/aws-operator/aws-operator/internal/simulator/sqs"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

type rig struct {
	*awsevents.Client

	t       *testing.T
	sqs     *awssqs.Client
	service *eventbridge.Service
	clock   *testclock.FakeClock
	faults  *fault.Injector
	wait    int32
}

func start(t *testing.T) *rig {
	t.Helper()
	clk := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	env := &resource.Env{Clock: clk}
	faults := fault.New()
	queues := sqs.New(env)
	service := eventbridge.New(env, queues, sns.New(env, queues, func() string { return "" }), faults)
	config := wiretest.Serve(t, wire.NewRouter([]*wire.Service{service.Service(), queues.Service()}, nil, clk))
	return &rig{awsevents.NewFromConfig(config), t, awssqs.NewFromConfig(config), service, clk, faults, 0}
}

// rule creates a rule whose target is a queue with the same name.
func (r *rig) rule(name, pattern string, change func(*types.Target)) (queue *string) {
	r.t.Helper()
	made, err := r.sqs.CreateQueue(r.t.Context(), &awssqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.PutRule(r.t.Context(), &awsevents.PutRuleInput{Name: &name, EventPattern: &pattern}); err != nil {
		r.t.Fatal(err)
	}
	target := types.Target{Id: aws.String("queue"), Arn: aws.String("arn:aws:sqs:eu-central-1:123456789012:" + name)}
	if change != nil {
		change(&target)
	}
	if _, err := r.PutTargets(r.t.Context(), &awsevents.PutTargetsInput{Rule: &name, Targets: []types.Target{target}}); err != nil {
		r.t.Fatal(err)
	}
	return made.QueueUrl
}

func (r *rig) bodies(queue *string) []string {
	r.t.Helper()
	out, err := r.sqs.ReceiveMessage(
		r.t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: queue, MaxNumberOfMessages: 10, WaitTimeSeconds: r.wait},
	)
	if err != nil {
		r.t.Fatal(err)
	}
	var all []string
	for _, m := range out.Messages {
		all = append(all, *m.Body)
	}
	return all
}

func (r *rig) stackEvent(status string) {
	r.service.Publish(r.t.Context(), "123456789012", "eu-central-1", "aws.cloudformation", "CloudFormation Stack Status Change",
		[]string{"arn:stack"}, map[string]any{"stack-id": "arn:stack", "status-details": map[string]any{"status": status}})
}

const stackPattern = `{"source":["aws.cloudformation"],"detail":{"status-details":{"status":[{"suffix":"_COMPLETE"}]}}}`

// https://docs.aws.amazon.com/eventbridge/latest/ref/overiew-event-structure.html
func TestServiceEventsReachQueues(t *testing.T) {
	r := start(t)
	queue := r.rule("stacks", stackPattern, nil)
	r.stackEvent("CREATE_IN_PROGRESS")
	r.stackEvent("CREATE_COMPLETE")
	got := r.bodies(queue)
	if len(got) != 1 {
		t.Fatalf("got %q", got)
	}
	var e map[string]any
	if err := json.Unmarshal([]byte(got[0]), &e); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"version": "0", "source": "aws.cloudformation", "account": "123456789012", "region": "eu-central-1",
		"detail-type": "CloudFormation Stack Status Change", "time": "2026-01-01T00:00:00Z",
	} {
		if e[name] != want {
			t.Errorf("%s is %v, want %v", name, e[name], want)
		}
	}
}

func TestPutEventsAndInputs(t *testing.T) {
	r := start(t)
	pattern := `{"source":["app"]}`
	tests := []struct {
		name, want string
		change     func(*types.Target)
	}{
		{"constant", `{"fixed":true}`, func(t *types.Target) { t.Input = aws.String(`{"fixed":true}`) }},
		{"path", `{"n":1,"s":"a \"b\""}`, func(t *types.Target) { t.InputPath = aws.String("$.detail") }},
		{"transformer", `{"text":"n is 1 by transformer","s":"a \"b\"","r":"x"}`, func(t *types.Target) {
			t.InputTransformer = &types.InputTransformer{
				InputPathsMap: map[string]string{"n": "$.detail.n", "s": "$.detail.s", "r": "$.resources[0]"},
				InputTemplate: aws.String(`{"text":"n is <n> by <aws.events.rule-name>","s":<s>,"r":<r>}`),
			}
		}},
	}
	queues := map[string]*string{}
	for _, tt := range tests {
		queues[tt.name] = r.rule(tt.name, pattern, tt.change)
	}
	out, err := r.PutEvents(t.Context(), &awsevents.PutEventsInput{Entries: []types.PutEventsRequestEntry{
		{Source: aws.String("app"), DetailType: aws.String("d"), Detail: aws.String(`{"n":1,"s":"a \"b\""}`), Resources: []string{"x"}},
		{Source: aws.String("aws.fake"), DetailType: aws.String("d"), Detail: aws.String(`{}`)},
		{Source: aws.String("app"), DetailType: aws.String("d"), Detail: aws.String(`no JSON`)},
	}})
	if err != nil || out.FailedEntryCount != 2 || *out.Entries[1].ErrorCode != "NotAuthorizedForSourceException" ||
		*out.Entries[2].ErrorCode != "MalformedDetail" {
		t.Fatalf("got %+v %v", out, err)
	}
	for _, tt := range tests {
		if got := r.bodies(queues[tt.name]); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: got %q, want %s", tt.name, got, tt.want)
		}
	}
}

func TestFaultsLoseDuplicateAndDelayEvents(t *testing.T) {
	r := start(t)
	queue := r.rule("stacks", stackPattern, nil)
	deliver := fault.Rule{Service: "events", Operation: eventbridge.OpDeliver, ResourceType: "AWS::Events::Rule", Name: "stacks", Times: 1}
	lost, twice, late := deliver, deliver, deliver
	lost.HangUp = true
	twice.HangUp, twice.AfterEffect = true, true
	late.Latency = time.Minute
	for _, c := range []struct {
		name string
		rule fault.Rule
		want int
	}{{"lost", lost, 0}, {"twice", twice, 2}, {"late", late, 0}} {
		remove := r.faults.Add(c.rule)
		r.stackEvent("CREATE_COMPLETE")
		if got := r.bodies(queue); len(got) != c.want {
			t.Errorf("%s: got %d", c.name, len(got))
		}
		remove()
	}
	r.clock.Step(time.Minute)
	r.wait = 20 // wait for a message, because the clock stands still
	// The late one arrives, and the two duplicates are visible again.
	for got := 0; got < 3; {
		got += len(r.bodies(queue))
	}
}

func TestRuleLifeCycle(t *testing.T) {
	r := start(t)
	ctx := t.Context()
	queue := r.rule("r", `{"source":["aws.cloudformation"]}`, nil)
	if _, err := r.DisableRule(ctx, &awsevents.DisableRuleInput{Name: aws.String("r")}); err != nil {
		t.Fatal(err)
	}
	r.stackEvent("X")
	if got := r.bodies(queue); len(got) != 0 {
		t.Error("a disabled rule fired")
	}
	described, err := r.DescribeRule(ctx, &awsevents.DescribeRuleInput{Name: aws.String("r")})
	if err != nil || described.State != types.RuleStateDisabled || *described.Arn != "arn:aws:events:eu-central-1:123456789012:rule/r" {
		t.Errorf("describe: %+v %v", described, err)
	}
	_, err = r.DeleteRule(ctx, &awsevents.DeleteRuleInput{Name: aws.String("r")})
	wiretest.WantCode(t, err, "ValidationException")
	if _, err := r.RemoveTargets(ctx, &awsevents.RemoveTargetsInput{Rule: aws.String("r"), Ids: []string{"queue"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.DeleteRule(ctx, &awsevents.DeleteRuleInput{Name: aws.String("r")}); err != nil {
		t.Fatal(err)
	}
	_, err = r.DescribeRule(ctx, &awsevents.DescribeRuleInput{Name: aws.String("r")})
	wiretest.WantCode(t, err, "ResourceNotFoundException")
	_, err = r.PutRule(ctx, &awsevents.PutRuleInput{Name: aws.String("r"), EventPattern: aws.String(`{"a":"b"}`)})
	wiretest.WantCode(t, err, "InvalidEventPatternException")
	for _, bad := range []string{"rate(1 minutes)", "rate(5 minute)", "rate(0 minutes)", "cron(0 12 * * ?)", "at(2026-01-01T00:00:00)"} {
		_, err = r.PutRule(ctx, &awsevents.PutRuleInput{Name: aws.String("r"), ScheduleExpression: &bad})
		wiretest.WantCode(t, err, "ValidationException")
	}
	for _, good := range []string{"rate(1 minute)", "rate(10 hours)", "cron(0 12 * * ? *)"} {
		if _, err = r.PutRule(ctx, &awsevents.PutRuleInput{Name: aws.String("scheduled"), ScheduleExpression: &good}); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	_, err = r.PutTargets(ctx, &awsevents.PutTargetsInput{Rule: aws.String("scheduled"), Targets: []types.Target{
		{Id: aws.String("stream"), Arn: aws.String("arn:aws:kinesis:eu-central-1:123456789012:stream/s")},
	}})
	wiretest.WantCode(t, err, "ValidationException") // RoleArn is required for target …
	_, err = r.PutRule(
		ctx,
		&awsevents.PutRuleInput{Name: aws.String("r"), EventBusName: aws.String("none"), EventPattern: aws.String(`{"a":["b"]}`)},
	)
	wiretest.WantCode(t, err, "ResourceNotFoundException")
}

func TestCloudFormationRule(t *testing.T) {
	r := start(t)
	if _, err := r.sqs.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("q")}); err != nil {
		t.Fatal(err)
	}
	provider := r.service.Providers()["AWS::Events::Rule"]
	request := resource.Request{
		Account: "123456789012", Region: "eu-central-1", StackName: "s", LogicalID: "Rule",
		Properties: map[string]any{
			"EventPattern": map[string]any{"source": []any{"aws.cloudformation"}},
			"Targets":      []any{map[string]any{"Id": "q", "Arn": "arn:aws:sqs:eu-central-1:123456789012:q"}},
		},
	}
	made, err := provider.Create(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	r.stackEvent("X")
	if got := r.bodies(aws.String("http://x/123456789012/q")); len(got) != 1 {
		t.Errorf("got %q", got)
	}
	request.PhysicalID = made.PhysicalID
	live, err := provider.Read(t.Context(), request)
	if err != nil || live["State"] != "ENABLED" || live["Arn"] != made.Attributes["Arn"] {
		t.Errorf("read: %v %v", live, err)
	}
	if err := provider.Delete(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Read(t.Context(), request); err == nil {
		t.Error("still there")
	}
}
