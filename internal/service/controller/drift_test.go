package controller_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// checkDrift asks for a check until its result is the expected one: a service may still be making a
// change.
func (w *suite) checkDrift(kind, name, status, reason string) *metav1.Condition {
	w.t.Helper()
	return w.answered(w.askDrift(kind, name), kind, name, status, reason)
}

// answered is checkDrift after a check was asked for.
func (w *suite) answered(answered func() bool, kind, name, status, reason string) *metav1.Condition {
	w.t.Helper()
	var found *metav1.Condition
	w.eventually(fmt.Sprintf("%s %s was checked: %s %s", kind, name, status, reason), func() error {
		if !answered() {
			return errors.New("the check has not ended")
		}
		obj, err := w.get(kind, name)
		if err != nil {
			return err
		}
		if found = findCondition(obj, v1alpha1.ConditionDrifted); found == nil || string(found.Status) != status || found.Reason != reason {
			answered = w.askDrift(kind, name)
			return fmt.Errorf("status %v", show(obj.Object["status"]))
		}
		return nil
	})
	return found
}

// askDrift asks for a check, and returns a function that reports whether it has ended.
func (w *suite) askDrift(kind, name string) (answered func() bool) {
	w.t.Helper()
	last := func() string {
		var record struct{ Asked string }
		_ = json.Unmarshal(w.driftOf(kind, name).Record, &record) // there is none before the first check
		return record.Asked
	}
	before := last()
	w.change(kind, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d"}}}`, v1alpha1.CheckDriftAnnotation, time.Now().UnixNano()))
	return func() bool { return last() != before }
}

// driftOf returns what an object's status says of drift.
func (w *suite) driftOf(kind, name string) v1alpha1.DriftStatus {
	w.t.Helper()
	obj, err := w.get(kind, name)
	if err != nil {
		w.t.Fatal(err)
	}
	var drift v1alpha1.DriftStatus
	if found, ok := nested(obj, "status", "drift").(map[string]any); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found, &drift); err != nil {
			w.t.Fatal(err)
		}
		if drift.Record, err = json.Marshal(found["record"]); err != nil {
			w.t.Fatal(err)
		}
	}
	return drift
}

// driftEvents returns the Events about an object's drift.
func (w *suite) driftEvents(name, reason string) (notes []string) {
	w.t.Helper()
	events := &corev1.EventList{}
	if err := w.client.List(w.t.Context(), events, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	for i := range events.Items {
		if e := &events.Items[i]; e.InvolvedObject.Name == name && e.Reason == reason {
			notes = append(notes, e.Type+" "+e.Message)
		}
	}
	return notes
}

// TestDriftByHand changes a table, a bucket and a queue by their own APIs: the objects say both
// values, and say so when the changes are undone.
func TestDriftByHand(t *testing.T) {
	w := newSuite(t, nil)
	tables, buckets, queues := dynamodb.NewFromConfig(w.awsConfig()), s3.NewFromConfig(w.awsConfig(), func(o *s3.Options) {
		o.UsePathStyle = true
	}), sqs.NewFromConfig(w.awsConfig())
	w.apply(dynamoTable)
	w.apply("{kind: S3Bucket, metadata: {name: drifting-bucket}, spec: {versioning: true}}")
	w.apply("{kind: SQSQueue, metadata: {name: jobs}, spec: {visibilityTimeout: 30}}")
	w.ready("DynamoDB", "dynamo-table")
	w.ready("S3Bucket", "drifting-bucket")
	url := fmt.Sprint(nested(w.ready("SQSQueue", "jobs"), "status", "output", "queueURL"))
	for _, c := range []struct {
		kind, name, path, expected, actual string
		set                                func(value string) error
	}{
		{"DynamoDB", "dynamo-table", "ProvisionedThroughput/ReadCapacityUnits", "5", "7", func(value string) error {
			units := int64(value[0] - '0')
			_, err := tables.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
				TableName: aws.String("dynamo-table"), ProvisionedThroughput: &dynamodbtypes.ProvisionedThroughput{
					ReadCapacityUnits: &units, WriteCapacityUnits: aws.Int64(5),
				},
			})
			return err
		}},
		{"S3Bucket", "drifting-bucket", "VersioningConfiguration/Status", "Enabled", "Suspended", func(value string) error {
			_, err := buckets.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
				Bucket:                  aws.String("drifting-bucket"),
				VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatus(value)},
			})
			return err
		}},
		{"SQSQueue", "jobs", "VisibilityTimeout", "30", "60", func(value string) error {
			_, err := queues.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{
				QueueUrl: &url, Attributes: map[string]string{"VisibilityTimeout": value},
			})
			return err
		}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			w.checkDrift(c.kind, c.name, "False", "InSync")
			w.eventually("the change by hand", func() error { return c.set(c.actual) })
			found := w.checkDrift(c.kind, c.name, "True", "Drifted")
			if want := fmt.Sprintf("%s is %s and should be %s", c.path, c.actual, c.expected); !strings.Contains(found.Message, want) {
				t.Errorf("the condition says %q, want %q", found.Message, want)
			}
			drift := w.driftOf(c.kind, c.name)
			want := v1alpha1.DriftedProperty{Path: c.path, Difference: "NOT_EQUAL", Expected: c.expected, Actual: c.actual}
			if len(drift.Resources) != 1 || len(drift.Resources[0].Properties) != 1 || drift.Resources[0].Properties[0] != want ||
				drift.CheckedAt == nil {
				t.Errorf("status.drift %+v, want %+v", drift, want)
			}
			w.condition(c.kind, c.name, "Ready", "True", "") // drift does not make an object unready
			w.checkDrift(c.kind, c.name, "True", "Drifted")
			w.eventually("the table can be changed again", func() error { return c.set(c.expected) })
			w.checkDrift(c.kind, c.name, "False", "InSync")
			if drift := w.driftOf(c.kind, c.name); len(drift.Resources) > 0 {
				t.Errorf("status.drift %+v after the change was undone", drift)
			}
			for reason, kind := range map[string]string{"Drifted": "Warning ", "InSync": "Normal "} {
				w.eventually("one Event says "+reason, func() error {
					if notes := w.driftEvents(c.name, reason); len(notes) != 1 || !strings.HasPrefix(notes[0], kind) {
						return fmt.Errorf("Events %q", notes)
					}
					return nil
				})
			}
		})
	}
	if _, err := queues.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the deletion is seen", func() error {
		w.checkDrift("SQSQueue", "jobs", "True", "Drifted")
		if drift := w.driftOf("SQSQueue", "jobs"); len(drift.Resources) != 1 || drift.Resources[0].State != v1alpha1.DriftDeleted {
			return fmt.Errorf("status.drift %+v", drift)
		}
		return nil
	})
}

// TestNothingDriftsByItself checks objects with most properties of the built-in kinds just after
// their creation.
func TestNothingDriftsByItself(t *testing.T) {
	w := newSuite(t, nil)
	w.drift = 200 * time.Millisecond
	w.stop()
	w.startOperator()
	w.apply(`
{kind: SQSQueue, metadata: {name: jobs}, spec: {usedeadletterQueue: true, delaySeconds: 3}}
---
{kind: S3Bucket, metadata: {name: full-bucket}, spec: {versioning: true, accessControl: PublicRead, logging: {enabled: true, prefix: logs}, website: {enabled: true}}}
---
{kind: SNSTopic, metadata: {name: news}, spec: {}}
---
{kind: SNSSubscription, metadata: {name: subscription}, spec: {topicName: news, protocol: sqs, endpoint: jobs}}
---
{kind: ECRRepository, metadata: {name: images}, spec: {}}
---
{kind: ElastiCache, metadata: {name: fragments}, spec: {engine: memcached, cacheNodeType: cache.t4g.micro, numCacheNodes: 2, azMode: cross-az, preferredAvailabilityZones: "eu-west-1a,eu-west-1b"}}
`)
	w.apply(dynamoTable)
	for kind, name := range map[string]string{
		"SQSQueue": "jobs", "S3Bucket": "full-bucket", "SNSTopic": "news", "SNSSubscription": "subscription", "ECRRepository": "images",
		"DynamoDB": "dynamo-table", "ElastiCache": "fragments",
	} {
		w.condition(kind, name, "Drifted", "False", "InSync")
	}
}

// TestDriftPolicy ignores drift, and says what is wrong with a policy.
func TestDriftPolicy(t *testing.T) {
	w := newCountedSuite(t)
	w.apply("{kind: SQSQueue, metadata: {name: jobs}, spec: {}}")
	w.ready("SQSQueue", "jobs")
	w.checkDrift("SQSQueue", "jobs", "False", "InSync")
	calls := w.count()
	policy := func(value, check string) {
		w.change("SQSQueue", "jobs", fmt.Sprintf(
			`{"metadata":{"annotations":{%q:%q,%q:%q}}}`, v1alpha1.DriftPolicyAnnotation, value, v1alpha1.CheckDriftAnnotation, check))
	}
	policy("Ignore", "again")
	w.eventually("the condition is removed", func() error {
		obj, err := w.get("SQSQueue", "jobs")
		if err == nil && (findCondition(obj, "Drifted") != nil || nested(obj, "status", "drift") != nil) {
			return fmt.Errorf("status %v", show(obj.Object["status"]))
		}
		return err
	})
	policy("Undo", "once more")
	w.eventually("the condition says what is wrong", func() error {
		obj, err := w.get("SQSQueue", "jobs")
		if err != nil {
			return err
		}
		if found := findCondition(obj, "Drifted"); found == nil || found.Reason != "UnknownDriftPolicy" || !strings.Contains(found.Message, "Report, Revert or Ignore") {
			return fmt.Errorf("condition %+v", found)
		}
		return nil
	})
	w.condition("SQSQueue", "jobs", "Ready", "True", "")
	if n := calls()["DetectStackDrift"]; n != 0 {
		t.Errorf("%d detections despite the policy", n)
	}
	w.change("SQSQueue", "jobs", fmt.Sprintf(`{"metadata":{"annotations":{%q:"Que ue"}}}`, v1alpha1.IgnoreDriftAnnotation))
	policy("report", "once more")
	w.condition("SQSQueue", "jobs", "Drifted", "Unknown", "InvalidIgnoreDrift")
	w.change("SQSQueue", "jobs", fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, v1alpha1.IgnoreDriftAnnotation))
	w.eventually("the stack is checked", func() error {
		if obj, err := w.get("SQSQueue", "jobs"); err != nil || nested(obj, "status", "drift", "checkedAt") == nil {
			return errors.Join(err, errors.New("it is not"))
		}
		return nil
	})
}

// TestDriftCheckOutlivesTheOperator stops the operator while a detection runs, and forges the status.
func TestDriftCheckOutlivesTheOperator(t *testing.T) {
	w := newSuite(t, nil)
	w.apply("{kind: SQSQueue, metadata: {name: jobs}, spec: {visibilityTimeout: 30}}")
	url := fmt.Sprint(nested(w.ready("SQSQueue", "jobs"), "status", "output", "queueURL"))
	if _, err := sqs.NewFromConfig(w.awsConfig()).SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{
		QueueUrl: &url, Attributes: map[string]string{"VisibilityTimeout": "60"},
	}); err != nil {
		t.Fatal(err)
	}
	w.sim.Faults().Add(fault.Rule{
		Service: "cloudformation", Operation: "Read", ResourceType: "AWS::SQS::Queue", Latency: 2 * time.Second, Times: 1,
	})
	w.change("SQSQueue", "jobs", fmt.Sprintf(`{"metadata":{"annotations":{%q:"now"}}}`, v1alpha1.CheckDriftAnnotation))
	w.eventually("a detection runs", func() error {
		if record := string(w.driftOf("SQSQueue", "jobs").Record); !strings.Contains(record, "detectionID") {
			return errors.New(record)
		}
		return nil
	})
	w.stop()
	calls := w.count()
	w.startOperator()
	w.condition("SQSQueue", "jobs", "Drifted", "True", "Drifted")
	if n := calls()["DetectStackDrift"]; n != 0 {
		t.Errorf("the restart started %d detections", n)
	}
	w.stop()

	console := cloudformation.NewFromConfig(w.awsConfig())
	if _, err := console.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName:    aws.String("victim"),
		TemplateBody: aws.String(`{"Resources":{"Queue":{"Type":"AWS::SQS::Queue","Properties":{"QueueName":"victim","VisibilityTimeout":4711}}}}`),
	}); err != nil {
		t.Fatal(err)
	}
	var id string
	w.eventually("the victim's drift is detected", func() error {
		out, err := console.DetectStackDrift(t.Context(), &cloudformation.DetectStackDriftInput{StackName: aws.String("victim")})
		if err == nil {
			id = aws.ToString(out.StackDriftDetectionId)
		}
		return err
	})
	w.eventually("the detection ends", func() error {
		out, err := console.DescribeStackDriftDetectionStatus(t.Context(), &cloudformation.DescribeStackDriftDetectionStatusInput{
			StackDriftDetectionId: &id,
		})
		if err == nil && out.DetectionStatus == cfntypes.StackDriftDetectionStatusDetectionInProgress {
			return errors.New("it runs")
		}
		return err
	})
	obj, err := w.get("SQSQueue", "jobs")
	if err != nil {
		t.Fatal(err)
	}
	forged := fmt.Sprintf(`{"status":{"drift":{"record":{"detectionID":%q,"startedAt":"2020-01-01T00:00:00Z","reported":"none"}}}}`, id)
	if err := w.client.Status().Patch(t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(forged))); err != nil {
		t.Fatal(err)
	}
	w.startOperator()
	w.checkDrift("SQSQueue", "jobs", "True", "Drifted")
	if obj, err = w.get("SQSQueue", "jobs"); err != nil || strings.Contains(show(obj.Object["status"]), "victim") || strings.Contains(show(obj.Object["status"]), "4711") {
		t.Errorf("status %s, %v reveals another stack", show(obj.Object["status"]), err)
	}
}
