package cloudformation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/events-detail-reference.html
func TestEventsReachEventBridgeAndSNS(t *testing.T) {
	w := newSuite(t, nil)
	_, err := w.CreateStack(t.Context(), &awscfn.CreateStackInput{
		StackName: aws.String("loud"), TemplateBody: aws.String(streamTemplate), ClientRequestToken: aws.String("tok"),
		NotificationARNs: []string{"arn:aws:sns:eu-west-1:123456789012:topic"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := w.waitFor("loud", types.StackStatusCreateComplete)
	w.eventually(func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.published) == 5 && len(w.notified) == 5
	}, func() string { return fmt.Sprint(w.published, w.notified) })
	text := func(v any) string {
		data, _ := json.Marshal(v)
		return string(data)
	}
	want := `{"client-request-token":"tok","stack-id":"` + *s.StackId + `","status-details":{"status":"CREATE_IN_PROGRESS","status-reason":"User Initiated"}}`
	if p := w.published[0]; p.detailType != "CloudFormation Stack Status Change" || text(p.detail) != want {
		t.Errorf("%s %s\nwant %s", p.detailType, text(p.detail), want)
	}
	if p := w.published[3]; p.detailType != "CloudFormation Resource Status Change" ||
		!strings.Contains(text(p.detail), `"logical-resource-id":"Stream","physical-resource-id":"loud-Stream-`) {
		t.Errorf("%s %s", p.detailType, text(p.detail))
	}
	if !strings.Contains(w.notified[4], "ResourceStatus='CREATE_COMPLETE'\n") || !strings.Contains(w.notified[4], "StackName='loud'\n") {
		t.Errorf("notification:\n%s", w.notified[4])
	}
}

func TestAccessDeniedNamesTheAction(t *testing.T) {
	cases := []struct {
		why  string
		rule fault.Rule
	}{
		{"the service's action is denied", fault.Rule{Service: "sqs", Operation: "CreateQueue", Deny: true}},
		{"the resource's creation is denied", fault.Rule{ResourceType: "AWS::SQS::Queue", Operation: "Create", Deny: true}},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			w := newSuite(t, nil)
			w.faults.Add(c.rule)
			w.create("denied", `{"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}}`)
			w.waitFor("denied", types.StackStatusRollbackComplete)
			e := strings.Join(w.events("denied"), "\n")
			if !strings.Contains(
				e,
				"is not authorized to perform: sqs:CreateQueue because no identity-based policy allows the sqs:CreateQueue action (Service: Sqs, Status Code: 403",
			) ||
				!strings.Contains(e, "HandlerErrorCode: AccessDenied)") {
				t.Errorf("events:\n%s", e)
			}
		})
	}
}

func TestLatencyUsesTheClock(t *testing.T) {
	w := newSuite(t, func(w *suite, o *cloudformation.Options) {
		fakeTime(w, o)
		o.Latency = func(resourceType, operation string) time.Duration {
			if resourceType == "AWS::SQS::Queue" && operation == cloudformation.OpCreate {
				return time.Minute
			}
			return 0
		}
	})
	w.create(
		"slow",
		`{"Resources": {"A": {"Type": "AWS::SQS::Queue"}, "B": {"Type": "AWS::SQS::Queue"}, "C": {"Type": "AWS::Kinesis::Stream"}}}`,
	)
	w.eventually(
		func() bool { return len(w.events("slow")) == 8 && w.clock.HasWaiters() },
		func() string { return strings.Join(w.events("slow"), "\n") },
	)
	if got := w.resource("slow", "C").ResourceStatus; got != types.ResourceStatusCreateComplete {
		t.Errorf("C is %s", got)
	}
	w.clock.Step(time.Minute)
	w.waitFor("slow", types.StackStatusCreateComplete) // A and B were created in parallel
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html
func TestPagination(t *testing.T) {
	w := newSuite(t, nil)
	var resources []string
	for i := range 120 {
		resources = append(resources, fmt.Sprintf(`"Q%d": {"Type": "AWS::SQS::Queue"}`, i))
	}
	w.createAndWait("many", `{"Resources": {`+strings.Join(resources, ",")+`}}`)
	if n := len(w.events("many")); n != 362 {
		t.Errorf("%d events", n)
	}
	listed := 0
	p := awscfn.NewListStackResourcesPaginator(w.Client, &awscfn.ListStackResourcesInput{StackName: aws.String("many")})
	for p.HasMorePages() {
		part, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		listed += len(part.StackResourceSummaries)
	}
	if listed != 120 {
		t.Errorf("%d resources are listed", listed)
	}
	for i := range 130 {
		w.create(fmt.Sprintf("s%d", i), streamTemplate)
	}
	described := map[string]bool{}
	dp := awscfn.NewDescribeStacksPaginator(w.Client, &awscfn.DescribeStacksInput{})
	pages := 0
	for dp.HasMorePages() {
		part, err := dp.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pages++
		for _, s := range part.Stacks {
			described[*s.StackName] = true
		}
	}
	if len(described) != 131 || pages != 2 {
		t.Errorf("%d stacks on %d pages", len(described), pages)
	}
	_, err := w.DescribeStacks(t.Context(), &awscfn.DescribeStacksInput{NextToken: aws.String("x")})
	expectError(t, err, "ValidationError", "NextToken")
}

func TestAccountsAreSeparate(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("mine", streamTemplate)
	other := w.client("210987654321")
	_, err := other.DescribeStacks(t.Context(), &awscfn.DescribeStacksInput{StackName: aws.String("mine")})
	expectError(t, err, "ValidationError", "Stack with id mine does not exist")
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-elasticache-cachecluster.html
func TestElastiCacheEndpoints(t *testing.T) {
	w := newSuite(t, nil)
	template := func(engine, attribute, more string) string {
		return `{"Resources": {"C": {"Type": "AWS::ElastiCache::CacheCluster", "Properties": {"Engine": "` + engine + `", "CacheNodeType": "cache.t3.micro", "NumCacheNodes": 1` + more + `}}},
			"Outputs": {"Address": {"Value": {"Fn::GetAtt": ["C", "` + attribute + `.Address"]}}, "Port": {"Value": {"Fn::GetAtt": ["C", "` + attribute + `.Port"]}}}}`
	}
	cases := []struct{ why, engine, attribute, more, port, suffix string }{
		{"redis has its own endpoint", "redis", "RedisEndpoint", "", "6379", ".0001.euw1.cache.amazonaws.com"},
		{"memcached has a configuration endpoint", "memcached", "ConfigurationEndpoint", "", "11211", ".cfg.euw1.cache.amazonaws.com"},
		{"a port that is given is kept", "redis", "RedisEndpoint", `, "Port": 7000`, "7000", ".0001.euw1.cache.amazonaws.com"},
	}
	for i, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			s := w.createAndWait(fmt.Sprintf("cache%d", i), template(c.engine, c.attribute, c.more))
			if *s.Outputs[1].OutputValue != c.port || !strings.HasSuffix(*s.Outputs[0].OutputValue, c.suffix) {
				t.Errorf("%s:%s", *s.Outputs[0].OutputValue, *s.Outputs[1].OutputValue)
			}
		})
	}
	before := *w.resource("cache0", "C").PhysicalResourceId
	if err := w.update("cache0", template("redis", "RedisEndpoint", `, "SnapshotWindow": "05:00-09:00"`)); err != nil {
		t.Fatal(err)
	}
	w.waitFor("cache0", types.StackStatusUpdateComplete)
	if *w.resource("cache0", "C").PhysicalResourceId != before {
		t.Error("a snapshot window replaced the cluster")
	}
	if err := w.update("cache0", template("redis", "RedisEndpoint", `, "Port": 7001`)); err != nil {
		t.Fatal(err)
	}
	w.waitFor("cache0", types.StackStatusUpdateComplete)
	if *w.resource("cache0", "C").PhysicalResourceId == before {
		t.Error("a port did not replace the cluster")
	}
}

func TestTypes(t *testing.T) {
	w := newSuite(t, nil)
	described, err := w.DescribeType(
		t.Context(), &awscfn.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: aws.String("AWS::SQS::Queue")},
	)
	if err != nil || !strings.Contains(*described.Schema, `"QueueUrl"`) {
		t.Errorf("%v", err)
	}
	listed, err := w.ListTypes(t.Context(), &awscfn.ListTypesInput{
		Visibility: types.VisibilityPublic, Type: types.RegistryTypeResource,
		Filters: &types.TypeFilters{TypeNamePrefix: aws.String("AWS::SQS::")},
	})
	if err != nil || len(listed.TypeSummaries) < 2 {
		t.Errorf("%v %v", listed, err)
	}
}

// A thousand stacks without latency take the engine almost no time: the test shows that none of
// them gets stuck when all run at once.
func TestThousandStacksAtOnce(t *testing.T) {
	w := newSuite(t, nil)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 125 {
				_, err := w.CreateStack(t.Context(), &awscfn.CreateStackInput{
					StackName: aws.String(fmt.Sprintf("s-%d-%d", worker, i)), TemplateBody: aws.String(streamTemplate),
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	w.eventually(func() bool {
		p := awscfn.NewListStacksPaginator(
			w.Client, &awscfn.ListStacksInput{StackStatusFilter: []types.StackStatus{types.StackStatusCreateComplete}},
		)
		n := 0
		for p.HasMorePages() {
			part, err := p.NextPage(t.Context())
			if err != nil {
				t.Error(err)
				return true
			}
			n += len(part.StackSummaries)
		}
		return n == 1000
	}, func() string { return "some stacks are not complete" })
}
