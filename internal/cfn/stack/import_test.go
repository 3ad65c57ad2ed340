package stack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// unnamed is the template of a queue whose name it does not set: the simulator makes URLs of such queues only, unless it has SQS.
func unnamed(delay int) string {
	return strings.Replace(queueTemplate(delay), "      QueueName: jobs\n", "", 1)
}

// orphan leaves a queue behind, without a stack, and returns its URL.
func (l *suite) orphan() string {
	l.t.Helper()
	url := l.owned()
	if _, err := l.console.DeleteStack(l.t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("other")}); err != nil {
		l.t.Fatal(err)
	}
	l.until("done", func() (stack.Result, error) { return l.otherIs("") })
	return url
}

// owned makes a queue in the stack "other".
func (l *suite) owned() string {
	l.t.Helper()
	if _, err := l.console.CreateStack(l.t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("other"), TemplateBody: aws.String(`{"Resources": {"Queue": {"Type": "AWS::SQS::Queue",
			"DeletionPolicy": "Retain", "Properties": {"VisibilityTimeout": 77}}}}`),
	}); err != nil {
		l.t.Fatal(err)
	}
	l.until("done", func() (stack.Result, error) { return l.otherIs(types.StackStatusCreateComplete) })
	found, err := l.console.DescribeStackResource(l.t.Context(), &cloudformation.DescribeStackResourceInput{
		StackName: aws.String("other"), LogicalResourceId: aws.String("Queue"),
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return aws.ToString(found.StackResourceDetail.PhysicalResourceId)
}

// queue returns the properties of the queue with a URL, nil if it does not exist.
func (l *suite) queue(url string) (properties map[string]any) {
	l.sim.Simulated().Change("123456789012", region, queue, url, func(p map[string]any) { properties = p })
	return properties
}

func (l *suite) queues() int { return l.sim.Simulated().Len("123456789012", region, queue) }

// adopter is an object that adopts a queue.
func (l *suite) adopter(url string) *object {
	o := l.object(unnamed(1))
	o.desired.Import = &stack.Import{Resources: map[string]map[string]string{"Queue": {"QueueUrl": url}}}
	return o
}

func TestImportThenUpdate(t *testing.T) {
	l := newSuite(t)
	url := l.orphan()
	o := l.adopter(url)
	calls := o.calls(func() { o.is(stack.Ready) })
	want := []string{
		"GetResource", "CreateStack", "DescribeStacks", "CreateChangeSet", "DescribeChangeSet", "ExecuteChangeSet", "DescribeStacks",
		"UpdateStack", "DescribeStacks",
	}
	if !slices.Equal(calls, want) {
		t.Errorf("the import called %q, want %q", calls, want)
	}
	if !l.through(types.StackStatusImportComplete) || l.queues() != 1 {
		t.Errorf("%d queues after %q", l.queues(), l.passed)
	}
	if got := l.queue(url)["DelaySeconds"]; fmt.Sprint(got) != "1" {
		t.Errorf("DelaySeconds is %v, want that of the template", got)
	}
	if !strings.HasPrefix(o.outputs["arn"], "arn:aws:sqs:") {
		t.Errorf("outputs %q", o.outputs)
	}
	if calls := o.calls(func() { o.is(stack.Ready) }); len(calls) != 0 {
		t.Errorf("a no-op called %q", calls)
	}
	o.edit(unnamed(2))
	if calls := o.calls(func() { o.is(stack.Ready) }); !slices.Equal(calls, []string{"UpdateStack", "DescribeStacks"}) {
		t.Errorf("an edit called %q", calls)
	}
	o.deleted(stack.DeleteOptions{})
}

// The first change of an imported resource waits for approval; until then the resource is as it was,
// and a deletion of the stack retains it.
// An import gives required properties that can change in place the values of the resource. Otherwise
// CloudFormation would see no difference, and the update after the import would not set them.
func TestImportSetsRequiredProperties(t *testing.T) {
	for _, c := range []struct{ kind, name, before, after, property string }{
		{
			"AWS::Events::ApiDestination", "Name",
			`"ConnectionArn": "arn:aws:events:eu-west-1:123456789012:connection/a/b", "HttpMethod": "GET", "InvocationEndpoint": "https://example.org"`,
			`"ConnectionArn": "arn:aws:events:eu-west-1:123456789012:connection/a/b", "HttpMethod": "POST", "InvocationEndpoint": "https://example.org"`,
			"HttpMethod",
		},
		{ // one of several properties is required
			"AWS::CloudWatch::Alarm", "AlarmName",
			`"MetricName": "Errors", "ComparisonOperator": "LessThanThreshold", "EvaluationPeriods": 1`,
			`"MetricName": "Faults", "ComparisonOperator": "LessThanThreshold", "EvaluationPeriods": 1`,
			"MetricName",
		},
	} {
		t.Run(c.kind, func(t *testing.T) {
			l := newSuite(t)
			template := func(properties string) string {
				return fmt.Sprintf(`{"Resources": {"It": {"Type": %q, "DeletionPolicy": "Retain", "Properties": {%q: "it", %s}}}}`, c.kind, c.name, properties)
			}
			if _, err := l.console.CreateStack(t.Context(), &cloudformation.CreateStackInput{
				StackName: aws.String("other"), TemplateBody: aws.String(template(c.before)),
			}); err != nil {
				t.Fatal(err)
			}
			l.until("done", func() (stack.Result, error) { return l.otherIs(types.StackStatusCreateComplete) })
			if _, err := l.console.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("other")}); err != nil {
				t.Fatal(err)
			}
			l.until("done", func() (stack.Result, error) { return l.otherIs("") })
			o := l.object(template(c.after))
			o.desired.Import = &stack.Import{Resources: map[string]map[string]string{"It": {c.name: "it"}}}
			o.is(stack.Ready)
			var live map[string]any
			l.sim.Simulated().Change("123456789012", region, c.kind, "it", func(p map[string]any) { live = p })
			if want := map[string]string{"HttpMethod": "POST", "MetricName": "Faults"}[c.property]; live[c.property] != want {
				t.Errorf("%s is %v, want %s", c.property, live[c.property], want)
			}
		})
	}
}

func TestImportHoldsTheFirstChange(t *testing.T) {
	l := newSuite(t)
	url := l.orphan()
	o := l.adopter(url)
	o.desired.Import.Review = &stack.Review{}
	result := o.is(stack.Proposed)
	if got := fmt.Sprint(l.queue(url)["VisibilityTimeout"]); got != "77" || l.queue(url)["DelaySeconds"] != nil {
		t.Errorf("the queue changed: %v", l.queue(url))
	}
	changes := result.Proposal.Changes
	if !slices.ContainsFunc(changes, func(c stack.ResourceChange) bool {
		return c.Resource == "Queue" && c.Action == "Modify" && c.Replacement != "True" && slices.Contains(c.Properties, "DelaySeconds")
	}) {
		t.Errorf("changes %+v, want that of DelaySeconds", changes)
	}
	t.Run("and again after a restart", func(t *testing.T) {
		o.restart()
		if again := o.is(stack.Proposed); again.Record.Proposal != result.Record.Proposal {
			t.Errorf("proposal %s, want %s", again.Record.Proposal, result.Record.Proposal)
		}
	})
	o.edit(unnamed(5))
	o.restart()
	result = o.is(stack.Proposed)
	o.desired.Import.Review.Approved = []string{result.Record.Proposal}
	o.is(stack.Ready)
	if got := fmt.Sprint(l.queue(url)["DelaySeconds"]); got != "5" {
		t.Errorf("DelaySeconds is %s after the approval, want 5", got)
	}
	o.edit(unnamed(6))
	o.is(stack.Ready) // later changes need no approval
}

// imported is the template of a queue with properties, without a name.
func imported(properties string) string {
	return "Resources: {Queue: {Type: AWS::SQS::Queue, Properties: {" + properties + "}}}"
}

// The change to approve has only what the resource does not have already, and nothing of the stack
// before the import.
func TestImportShowsWhatDiffers(t *testing.T) {
	l := newSuite(t)
	o := l.object(imported("VisibilityTimeout: 77, DelaySeconds: 5"))
	o.desired.Import = &stack.Import{
		Resources: map[string]map[string]string{"Queue": {"QueueUrl": l.orphan()}}, Review: &stack.Review{},
	}
	changes := o.is(stack.Proposed).Proposal.Changes
	if len(changes) != 1 || !slices.Equal(changes[0].Properties, []string{"DelaySeconds"}) {
		t.Errorf("changes %+v, want that of DelaySeconds only", changes)
	}
}

func TestImportWithoutDifferencesNeedsNoApproval(t *testing.T) {
	l := newSuite(t)
	url := l.orphan()
	o := l.object(imported("VisibilityTimeout: 77"))
	o.desired.Import = &stack.Import{Resources: map[string]map[string]string{"Queue": {"QueueUrl": url}}, Review: &stack.Review{}}
	o.is(stack.Ready)
	if got := fmt.Sprint(l.queue(url)["VisibilityTimeout"]); got != "77" {
		t.Errorf("the queue is %v", l.queue(url))
	}
}

// What cannot change in place is compared before anything is made.
func TestImportOfAnotherResourceThanWrittenIsRefused(t *testing.T) {
	l := newSuite(t)
	o := l.object(imported("FifoQueue: true"))
	o.desired.Import = &stack.Import{Resources: map[string]map[string]string{"Queue": {"QueueUrl": l.orphan()}}}
	before := len(l.passed)
	result := o.stalled()
	if want := "its FifoQueue is (none), not true, and a change of that can replace the resource"; !strings.Contains(result.Message, want) {
		t.Errorf("%s: %s; want %s", result.Reason, result.Message, want)
	}
	if len(l.passed) != before {
		t.Errorf("a stack was created: %q", l.passed)
	}
}

// Some types cannot be read. Their resources are imported, and all their properties are shown.
func TestImportOfATypeThatCannotBeRead(t *testing.T) {
	l := newSuite(t)
	l.faults.Add(fault.Rule{Service: "cloudcontrolapi", Code: "UnsupportedActionException", Message: "no READ"})
	o := l.object(imported("VisibilityTimeout: 77, DelaySeconds: 5"))
	o.desired.Import = &stack.Import{
		Resources: map[string]map[string]string{"Queue": {"QueueUrl": l.orphan()}}, Review: &stack.Review{},
	}
	changes := o.is(stack.Proposed).Proposal.Changes
	if len(changes) != 1 || !slices.Equal(changes[0].Properties, []string{"DelaySeconds", "DeletionPolicy", "VisibilityTimeout"}) {
		t.Errorf("changes %+v, want all that the template sets", changes)
	}
}

func TestImportWithoutThePermissionToReadWaits(t *testing.T) {
	l := newSuite(t)
	l.faults.Add(fault.Rule{Service: "cloudcontrolapi", Code: "AccessDeniedException", Message: "may not", Times: 1})
	o := l.adopter(l.orphan())
	before := len(l.passed)
	if result, err := o.ensure(); err != nil || result.Reason != "AccessDenied" || len(l.passed) != before {
		t.Errorf("%s: %s, %v; passed %q", result.Reason, result.Message, err, l.passed[before:])
	}
	o.is(stack.Ready)
}

func TestImportIsReleasedBeforeItIsAccepted(t *testing.T) {
	l := newSuite(t)
	url := l.orphan()
	o := l.adopter(url)
	o.desired.Import.Review = &stack.Review{}
	o.is(stack.Proposed)
	o.deleted(stack.DeleteOptions{})
	if got := fmt.Sprint(l.queue(url)["VisibilityTimeout"]); got != "77" {
		t.Errorf("the queue is %v, want it as it was", l.queue(url))
	}
}

func (o *object) stalled() stack.Result {
	o.t.Helper()
	for {
		result, err := o.ensure()
		if err != nil {
			o.t.Fatal(err)
		}
		if result.State == stack.Stalled {
			return result
		}
		select {
		case <-o.events:
		case <-time.After(result.RequeueAfter):
		}
	}
}

func TestImportOfAResourceOfAnotherStackIsRefused(t *testing.T) {
	l := newSuite(t)
	o := l.adopter(l.owned())
	result := o.stalled()
	if !strings.Contains(result.Message, "belongs to the stack other") || result.Reason != "ImportFailed" {
		t.Errorf("%s: %s", result.Reason, result.Message)
	}
	if l.queues() != 1 {
		t.Errorf("%d queues, want the one of the other stack", l.queues())
	}
}

func TestImportOfAMissingResource(t *testing.T) {
	l := newSuite(t)
	o := l.adopter(l.orphan() + "-lost")
	if result := o.stalled(); !strings.Contains(result.Message, "there is no AWS::SQS::Queue") {
		t.Errorf("%s: %s", result.Reason, result.Message)
	}
	if len(l.passed) > 4 { // those of the stack that left the queue behind
		t.Errorf("a stack was created although there is nothing to import: %q", l.passed)
	}
}

// A property that the type requires and that can change in place has its live value in the import. So it may refer to a
// resource that the update after the import creates.
func TestImportBeforeWhatItRefersTo(t *testing.T) {
	l := newSuite(t)
	const control = `{"Name": "pages", "OriginAccessControlOriginType": "s3", "SigningBehavior": "always", "SigningProtocol": "sigv4"}`
	body := func(resources, access string) string {
		return `{"Resources": {` + resources + `"Site": {"Type": "AWS::CloudFront::Distribution", "DeletionPolicy": "Retain",
			"Properties": {"DistributionConfig": {"Enabled": true,
			"Origins": [{"Id": "a", "DomainName": "pages.s3.amazonaws.com", "S3OriginConfig": {"OriginAccessIdentity": ""}` + access + `}],
			"DefaultCacheBehavior": {"TargetOriginId": "a", "ViewerProtocolPolicy": "https-only", "CachePolicyId": "658327ea-f89d-4fab-a63d-7e88639e58f6"}}}}}}`
	}
	if _, err := l.console.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("other"), TemplateBody: aws.String(body("", "")),
	}); err != nil {
		t.Fatal(err)
	}
	l.until("done", func() (stack.Result, error) { return l.otherIs(types.StackStatusCreateComplete) })
	found, err := l.console.DescribeStackResource(t.Context(), &cloudformation.DescribeStackResourceInput{
		StackName: aws.String("other"), LogicalResourceId: aws.String("Site"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.console.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("other")}); err != nil {
		t.Fatal(err)
	}
	l.until("done", func() (stack.Result, error) { return l.otherIs("") })
	o := l.object(body(
		`"Control": {"Type": "AWS::CloudFront::OriginAccessControl", "Properties": {"OriginAccessControlConfig": `+control+`}}, `,
		`, "OriginAccessControlId": {"Ref": "Control"}`,
	))
	o.desired.Import = &stack.Import{Resources: map[string]map[string]string{
		"Site": {"Id": aws.ToString(found.StackResourceDetail.PhysicalResourceId)},
	}}
	o.is(stack.Ready)
	if !l.through(types.StackStatusImportComplete) {
		t.Errorf("after %q", l.passed)
	}
}

func TestImportOrCreate(t *testing.T) {
	l := newSuite(t)
	o := l.adopter("https://sqs." + region + ".amazonaws.com/123456789012/jobs")
	o.desired.Import.Create, o.desired.Import.Review = true, &stack.Review{}
	o.is(stack.Ready)
	if l.queues() != 1 || l.through(types.StackStatusImportInProgress) {
		t.Errorf("%d queues after %q", l.queues(), l.passed)
	}
	o.deleted(stack.DeleteOptions{})
	if l.queues() != 0 {
		t.Errorf("%d queues are left", l.queues())
	}
}

// A rolled back import is not followed by an update, which would create the resource.
func TestFailedImportCreatesNothing(t *testing.T) {
	l := newSuite(t)
	url := l.orphan()
	l.faults.Add(fault.Rule{ResourceType: queue, Operation: "Read", Code: "AccessDenied", Message: "no", Skip: 1, Times: 1})
	o := l.adopter(url)
	result := o.stalled()
	if !l.through(types.StackStatusImportRollbackComplete) || !strings.Contains(result.Message, "cannot be adopted") {
		t.Errorf("%s: %s, after %q", result.Reason, result.Message, l.passed)
	}
	if l.through(types.StackStatusUpdateInProgress) || l.queues() != 1 {
		t.Errorf("%d queues after %q", l.queues(), l.passed)
	}
	o.desired.Retry = "now"
	o.is(stack.Ready)
}

func TestImportThatIsImpossibleSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		body, id, identifier, want string
	}{
		"another name":       {queueTemplate(1), "Queue", "https://sqs/1/other", `names resource Queue "jobs"`},
		"no such resource":   {queueTemplate(1), "Topic", "x", "has no resource Topic"},
		"a reference":        {"Resources: {Other: {Type: AWS::SNS::Topic}, Queue: {Type: AWS::SQS::Queue, Properties: {QueueName: !GetAtt Other.TopicName}}}", "Queue", "x", "computed"},
		"an unborn resource": {"Resources: {Other: {Type: AWS::SNS::Topic}, Sub: {Type: AWS::SNS::Subscription, Properties: {Protocol: sqs, TopicArn: !Ref Other}}}", "Sub", "x", "refers to Other, which does not exist yet"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newSuite(t).object(c.body)
			o.desired.Import = &stack.Import{Resources: map[string]map[string]string{c.id: {"QueueUrl": c.identifier}}}
			if result := o.stalled(); !strings.Contains(result.Message, c.want) {
				t.Errorf("%s: %s; want %s", result.Reason, result.Message, c.want)
			}
		})
	}
}

// The connection breaks at one call, before or after its effect. The results of that visit are not
// persisted, and the engine restarts without state.
func TestKilledAtAnyCallOfAnImport(t *testing.T) {
	for killAt := range 12 {
		for _, effect := range []bool{false, true} {
			t.Run(fmt.Sprintf("call %d, effect %t", killAt+1, effect), func(t *testing.T) {
				l := newSuiteWith(t, 1, 50*time.Millisecond)
				url := l.orphan()
				l.faults.Add(fault.Rule{
					Service: "cloudformation", HangUp: true, AfterEffect: effect, Skip: killAt, Times: 1,
				})
				o := l.adopter(url)
				o.settles(stack.Ready, o.ensure)
				o.edit(unnamed(2))
				o.settles(stack.Ready, o.ensure)
				if got := fmt.Sprint(l.queue(url)["DelaySeconds"]); got != "2" || l.queues() != 1 {
					t.Errorf("DelaySeconds is %s in %d queues, after %q", got, l.queues(), l.passed)
				}
				l.mu.Lock()
				imports := l.begun("IMPORT_IN_PROGRESS")
				l.mu.Unlock()
				if imports != 1 {
					t.Errorf("%d imports, want 1: %q", imports, l.passed)
				}
				sets, err := l.console.ListChangeSets(t.Context(), &cloudformation.ListChangeSetsInput{StackName: aws.String("jobs")})
				if err != nil || slices.ContainsFunc(sets.Summaries, func(s types.ChangeSetSummary) bool {
					return s.ExecutionStatus == types.ExecutionStatusAvailable
				}) {
					t.Errorf("change sets %+v, %v are left", sets, err)
				}
				o.settles(stack.Gone, func() (stack.Result, error) {
					result, err := o.current().Delete(t.Context(), awsapi.Target{}, o.desired.Name, o.record, stack.DeleteOptions{
						OwnerTags: map[string]string{ownerTag: o.desired.Tags[ownerTag]},
					})
					o.record = result.Record
					return result, err
				})
			})
		}
	}
}
