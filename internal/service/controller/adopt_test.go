package controller_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// adopting is the manifest of a queue that adopts one.
func adopting(name, url, more, spec string) string {
	return fmt.Sprintf(
		"{kind: SQSQueue, metadata: {name: %s, annotations: {service-operator.aws/adopt: %q%s}}, spec: {%s}}", name, url, more, spec)
}

// byHand makes a queue without the operator.
func (w *suite) byHand(name string) (url string) {
	w.t.Helper()
	out, err := sqs.NewFromConfig(w.awsConfig()).CreateQueue(w.t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String(name), Attributes: map[string]string{"VisibilityTimeout": "77", "DelaySeconds": "7"},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return *out.QueueUrl
}

// attributes are those of a queue that users set.
func (w *suite) attributes(url string) map[string]string {
	w.t.Helper()
	out, err := sqs.NewFromConfig(w.awsConfig()).GetQueueAttributes(w.t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	maps.DeleteFunc(out.Attributes, func(name, _ string) bool { return strings.HasSuffix(name, "Timestamp") })
	return out.Attributes
}

func (w *suite) approve(kind, name string) {
	w.t.Helper()
	w.change(kind, name, fmt.Sprintf(`{"metadata":{"annotations":{"aws-operator/approve":%q}}}`, w.pending(kind, name).Digest))
}

// TestQueueIsAdopted takes over a queue that was made by hand: it changes only after its owner
// accepted the difference, follows the object then, and stays as it is when the object is deleted.
func TestQueueIsAdopted(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{Adoption: []grant.Grant{{Namespace: "*", Pattern: "AWS::SQS::Queue/*"}}})
	url := w.byHand("orders")
	before := w.attributes(url)
	w.apply(adopting("orders", url, ", service-operator.aws/deletion-policy: Retain", "visibilityTimeout: 30"))
	held := w.condition("SQSQueue", "orders", "Synced", "False", "ApprovalNeeded")
	if !strings.Contains(held.Message, "Changes Queue in place") {
		t.Errorf("the condition says %q, want what differs", held.Message)
	}
	if pending := w.pending("SQSQueue", "orders"); !strings.Contains(fmt.Sprint(pending.Changes), "VisibilityTimeout") {
		t.Errorf("pending %+v, want the property", pending)
	}
	if now := w.attributes(url); !maps.Equal(now, before) {
		t.Errorf("the queue changed before the approval: %v, was %v", now, before)
	}
	w.approve("SQSQueue", "orders")
	if made := w.ready("SQSQueue", "orders"); nested(made, "status", "output", "queueURL") != url {
		t.Errorf("output %v, want the queue %s", nested(made, "status", "output"), url)
	}
	if now := w.attributes(url); now["VisibilityTimeout"] != "30" {
		t.Errorf("attributes %v after the approval", now)
	}
	w.change("SQSQueue", "orders", `{"spec":{"visibilityTimeout":40}}`)
	w.eventually("the queue follows the object", func() error {
		if now := w.attributes(url); now["VisibilityTimeout"] != "40" {
			return fmt.Errorf("attributes %v", now)
		}
		return nil
	})
	w.ready("SQSQueue", "orders")
	released := w.attributes(url)
	w.delete("SQSQueue", "orders")
	if now := w.attributes(url); !maps.Equal(now, released) {
		t.Errorf("the queue changed when it was released: %v, was %v", now, released)
	}
}

// TestAdoptionThatIsNotAcceptedIsReleased deletes the object before the approval: its stack goes, and
// the queue stays whatever the deletion policy is.
func TestAdoptionThatIsNotAcceptedIsReleased(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{Adoption: []grant.Grant{{Namespace: "*", Pattern: "AWS::SQS::Queue/*"}}})
	url := w.byHand("orders")
	before := w.attributes(url)
	w.apply(adopting("orders", url, "", "visibilityTimeout: 30"))
	w.condition("SQSQueue", "orders", "Synced", "False", "ApprovalNeeded")
	w.delete("SQSQueue", "orders")
	if now := w.attributes(url); !maps.Equal(now, before) || len(w.stacks()) > 0 {
		t.Errorf("the queue is %v, was %v; stacks %v", now, before, w.stacks())
	}
}

// TestTableIsAdopted adopts a resource with required properties, and that has more than one property
// that cannot change in place.
func TestTableIsAdopted(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{Adoption: []grant.Grant{{Namespace: "*", Pattern: "AWS::DynamoDB::Table/dynamo-table"}}})
	client := dynamodb.NewFromConfig(w.awsConfig())
	if _, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("dynamo-table"),
		AttributeDefinitions: []dynamodbtypes.AttributeDefinition{
			{AttributeName: aws.String("name"), AttributeType: dynamodbtypes.ScalarAttributeTypeS},
			{AttributeName: aws.String("created_at"), AttributeType: dynamodbtypes.ScalarAttributeTypeS},
		},
		KeySchema: []dynamodbtypes.KeySchemaElement{
			{AttributeName: aws.String("name"), KeyType: dynamodbtypes.KeyTypeHash},
			{AttributeName: aws.String("created_at"), KeyType: dynamodbtypes.KeyTypeRange},
		},
		ProvisionedThroughput: &dynamodbtypes.ProvisionedThroughput{
			ReadCapacityUnits: aws.Int64(1), WriteCapacityUnits: aws.Int64(1),
		},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String("dynamo-table"),
		Item: map[string]dynamodbtypes.AttributeValue{
			"name":       &dynamodbtypes.AttributeValueMemberS{Value: "kept"},
			"created_at": &dynamodbtypes.AttributeValueMemberS{Value: "now"},
		},
	}); err != nil {
		t.Fatal(err)
	}
	adopts := strings.Replace(dynamoTable, "metadata:\n", "metadata:\n  annotations: {service-operator.aws/adopt: dynamo-table}\n", 1)
	w.apply(strings.Replace(adopts, "created_at", "updated_at", 1))
	refused := w.condition("DynamoDB", "dynamo-table", "Stalled", "True", "ImportFailed")
	if !strings.Contains(refused.Message, `its KeySchema/1/AttributeName is "created_at", not "updated_at"`) || len(w.stacks()) > 0 {
		t.Errorf("the condition says %q; stacks %v", refused.Message, w.stacks())
	}
	w.apply(adopts)
	w.condition("DynamoDB", "dynamo-table", "Synced", "False", "ApprovalNeeded")
	w.approve("DynamoDB", "dynamo-table")
	w.ready("DynamoDB", "dynamo-table")
	items, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("dynamo-table")})
	if err != nil || items.Count != 1 {
		t.Errorf("items %+v, %v; want the one", items, err)
	}
}

// TestAdoptionIsRefused shows who may adopt what: nothing without a grant, and never what another
// stack has.
func TestAdoptionIsRefused(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{
		OwnPrefix: "aws-operator-events",
		Adoption:  []grant.Grant{{Namespace: "*", Pattern: "AWS::SQS::Queue/http*"}, {Namespace: "theirs", Pattern: "AWS::SQS::Queue/*"}},
	})
	url := w.byHand("free")
	for _, c := range []struct{ name, manifest, reason, message string }{
		{
			"no grant", adopting("free", "queue/free", "", ""), "AdoptionNotAllowed",
			"--allow-adoption=" + w.namespace + "=AWS::SQS::Queue/queue/free",
		},
		{"the operator's own", adopting("free", strings.Replace(url, "free", "aws-operator-events-x", 1), "", ""), "OperatorsOwn", "belongs to the operator"},
		{"an unknown policy", adopting("free", url, ", service-operator.aws/adoption-policy: Steal", ""), "UnknownAdoptionPolicy", "Adopt or AdoptOrCreate"},
		{"another name", adopting("another", url, "", ""), "ImportFailed", `names resource Queue "another"`},
		{"several resources", adopting("free", url, "", "usedeadletterQueue: true"), "InvalidAdoption", "DeadLetterQueue, Queue"},
		{"a missing resource", adopting("lost", strings.Replace(url, "free", "lost", 1), "", ""), "ImportFailed", "there is no AWS::SQS::Queue"},
	} {
		t.Run(c.name, func(t *testing.T) {
			name, _, _ := strings.Cut(strings.SplitAfter(c.manifest, "name: ")[1], ",")
			w.apply(c.manifest)
			defer w.delete("SQSQueue", name)
			if found := w.condition("SQSQueue", name, "Stalled", "True", c.reason); !strings.Contains(found.Message, c.message) {
				t.Errorf("the condition says %q, want %q", found.Message, c.message)
			}
		})
	}
	t.Run("of another stack", func(t *testing.T) {
		victim := strings.Replace(url, "free", "victim", 1)
		if _, err := cloudformation.NewFromConfig(w.awsConfig()).CreateStack(t.Context(), &cloudformation.CreateStackInput{
			StackName:    aws.String("theirs"),
			TemplateBody: aws.String(`{"Resources":{"Queue":{"Type":"AWS::SQS::Queue","Properties":{"QueueName":"victim"}}}}`),
		}); err != nil {
			t.Fatal(err)
		}
		w.eventually("the stack of others exists", func() error {
			if status := w.stacks()["theirs"]; status != "CREATE_COMPLETE" {
				return fmt.Errorf("it is %s", status)
			}
			return nil
		})
		before := w.attributes(victim)
		w.apply(adopting("victim", victim, "", "visibilityTimeout: 1"))
		found := w.condition("SQSQueue", "victim", "Stalled", "True", "ImportFailed")
		if !strings.Contains(found.Message, "belongs to the stack theirs") {
			t.Errorf("the condition says %q", found.Message)
		}
		w.delete("SQSQueue", "victim")
		if now := w.attributes(victim); !maps.Equal(now, before) {
			t.Errorf("the queue is %v, was %v", now, before)
		}
	})
	if now := w.attributes(url); now["VisibilityTimeout"] != "77" {
		t.Errorf("the queue is %v", now)
	}
}

// TestAdoptOrCreate creates what does not exist, and adopts a queue of a stack with several resources.
func TestAdoptOrCreate(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{Adoption: []grant.Grant{{Namespace: "*", Pattern: "AWS::SQS::Queue/*"}}})
	url := w.byHand("orders")
	w.apply(adopting("orders", "Queue="+url, ", service-operator.aws/adoption-policy: AdoptOrCreate", "usedeadletterQueue: true"))
	w.condition("SQSQueue", "orders", "Synced", "False", "ApprovalNeeded")
	w.approve("SQSQueue", "orders")
	if made := w.ready("SQSQueue", "orders"); nested(made, "status", "output", "queueURL") != url {
		t.Errorf("output %v, want the queue %s", nested(made, "status", "output"), url)
	}
	lost := strings.Replace(url, "orders", "fresh", 1)
	w.apply(adopting("fresh", lost, ", service-operator.aws/adoption-policy: AdoptOrCreate", "delaySeconds: 3"))
	w.ready("SQSQueue", "fresh")
	if now := w.attributes(lost); now["DelaySeconds"] != "3" {
		t.Errorf("the queue is %v", now)
	}
}

// TestCallsOfAnAdoption counts what an adoption costs, with and without a difference to approve.
func TestCallsOfAnAdoption(t *testing.T) {
	w := newSuiteOf(t, simulator.Options{Lag: simulator.NoLag}, render.Limits{
		Adoption: []grant.Grant{{Namespace: "*", Pattern: "AWS::SQS::Queue/*"}},
	})
	for _, c := range []struct {
		name, spec string
		approve    bool
		reads      int
	}{{"alike", "visibilityTimeout: 77", false, 2}, {"orders", "visibilityTimeout: 30", true, 3}} {
		t.Run(c.name, func(t *testing.T) {
			url := w.byHand(c.name)
			var mu sync.Mutex
			calls := map[string]int{}
			remove := w.sim.Faults().OnCall(func(call fault.CallInfo) {
				mu.Lock()
				defer mu.Unlock()
				if call.ResourceType == "" && call.Phase == fault.Before && call.Operation != "ReceiveMessage" &&
					call.Operation != "DeleteMessageBatch" && !strings.HasPrefix(call.Name, "aws-operator-events") {
					calls[call.Operation]++
				}
			})
			defer remove()
			w.apply(adopting(c.name, url, "", c.spec))
			if c.approve {
				w.condition("SQSQueue", c.name, "Synced", "False", "ApprovalNeeded")
				w.approve("SQSQueue", c.name)
			}
			w.ready("SQSQueue", c.name)
			mu.Lock()
			defer mu.Unlock()
			t.Logf("calls %v", calls)
			if n := calls["GetResource"]; n > c.reads || calls["ExecuteChangeSet"] != 2 || calls["CreateStack"] != 1 ||
				calls["UpdateStack"] != 0 {
				t.Errorf("the resource is read %d times, want %d", n, c.reads)
			}
		})
	}
}
