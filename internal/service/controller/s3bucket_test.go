package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
)

const bucketType = "AWS::S3::Bucket"

// TestNotificationsOfABucket creates a bucket with notifications, which S3 refuses unless it may send them: the
// object waits for the queue and the topic to let it, and names their fields.
func TestNotificationsOfABucket(t *testing.T) {
	w := newGrantsSuite(t)
	w.apply(`
{kind: SQSQueue, metadata: {name: jobs}}
---
{kind: SNSTopic, metadata: {name: news}}
---
{kind: S3Bucket, metadata: {name: code}}
---
kind: Lambda
metadata: {name: resize}
spec: {code: {bucketName: code, key: resize.zip}, runtime: python3.13, handler: app.handler}
---
kind: S3Bucket
metadata: {name: uploads}
spec:
  notifications:
    - {queueName: jobs, events: ["s3:ObjectCreated:*"], prefix: jobs/}
    - {topicName: news, events: ["s3:ObjectRemoved:*"]}
    - {lambdaName: resize, events: ["s3:ObjectCreated:Put"], prefix: images/, suffix: .jpg}
    - {eventBridge: true}
`)
	refused := func(want string) {
		t.Helper()
		w.eventually("the bucket says "+want, func() error {
			got := w.condition("S3Bucket", "uploads", "Stalled", "True", "InvalidSpec")
			if !strings.Contains(got.Message, want) {
				return fmt.Errorf("it says %q", got.Message)
			}
			return nil
		})
	}
	refused("The SQSQueue jobs lets no S3Bucket uploads send. Add {kind: S3Bucket, name: uploads} to its spec.senders")
	w.change("SQSQueue", "jobs", `{"spec": {"senders": [{"kind": "S3Bucket", "name": "uploads"}]}}`)
	refused("The SNSTopic news lets no S3Bucket uploads publish. Add {kind: S3Bucket, name: uploads} to its spec.publishers")
	w.change("SNSTopic", "news", `{"spec": {"publishers": [{"kind": "S3Bucket", "name": "uploads"}]}}`)
	w.ready("S3Bucket", "uploads")
	live := fmt.Sprint(w.live(bucketType, "uploads")["NotificationConfiguration"])
	for _, want := range []string{
		"EventBridgeEnabled:true", "Queue:arn:aws:sqs:eu-west-1:123456789012:jobs", "Topic:arn:aws:sns:eu-west-1:123456789012:news",
		"Function:arn:aws:lambda:eu-west-1:123456789012:function:resize", "Value:.jpg",
	} {
		if !strings.Contains(live, want) {
			t.Errorf("the notifications are %s, without %s", live, want)
		}
	}
	for kind, name := range map[string]string{"S3Bucket": "uploads", "SQSQueue": "jobs", "SNSTopic": "news"} {
		w.checkDrift(kind, name, "False", "InSync")
	}
	if left := w.rolesLeft(); len(left) != 1 { // that of the function
		t.Errorf("the roles are %v; a bucket without replication has none", left)
	}
	w.change("S3Bucket", "uploads", `{"spec": {"notifications": [{"eventBridge": true}]}}`)
	w.becomes(bucketType, "uploads", "NotificationConfiguration", "map[EventBridgeConfiguration:map[EventBridgeEnabled:true]]")
	w.ready("S3Bucket", "uploads")
	for _, object := range [][2]string{
		{"S3Bucket", "uploads"}, {"Lambda", "resize"}, {"S3Bucket", "code"}, {"SQSQueue", "jobs"}, {"SNSTopic", "news"},
	} {
		w.delete(object[0], object[1])
	}
}

// TestNotificationsReachNoFIFOQueue tests that a destination that S3 does not notify is refused.
func TestNotificationsReachNoFIFOQueue(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
{kind: SQSQueue, metadata: {name: jobs}, spec: {fifoQueue: true, senders: [{kind: S3Bucket, name: uploads}]}}
---
{kind: S3Bucket, metadata: {name: uploads}, spec: {notifications: [{queueName: jobs, events: ["s3:ObjectCreated:*"]}]}}
`)
	got := w.condition("S3Bucket", "uploads", "Stalled", "True", "InvalidSpec")
	if want := "spec.notifications[0].queueName names jobs, a FIFO queue"; !strings.Contains(got.Message, want) {
		t.Errorf("the message is %q, want %q", got.Message, want)
	}
}

// TestReplicationOfABucket replicates a bucket to another one, which needs versioning, with a role that the
// bucket has only as long as it replicates.
func TestReplicationOfABucket(t *testing.T) {
	w := newGrantsSuite(t)
	w.apply(`
{kind: S3Bucket, metadata: {name: copies}}
---
{kind: S3Bucket, metadata: {name: uploads}, spec: {versioning: true, replication: {bucketName: copies, prefix: images/}}}
`)
	got := w.condition("S3Bucket", "uploads", "Stalled", "True", "InvalidSpec")
	if want := "The S3Bucket copies, to which spec.replication copies, has no versioning. Set its spec.versioning to true"; !strings.Contains(got.Message, want) {
		t.Errorf("the message is %q, want %q", got.Message, want)
	}
	w.change("S3Bucket", "copies", `{"spec": {"versioning": true}}`)
	w.ready("S3Bucket", "uploads")
	live, _ := w.live(bucketType, "uploads")["ReplicationConfiguration"].(map[string]any)
	role := fmt.Sprint(live["Role"])
	if !strings.HasPrefix(role, "arn:aws:iam::"+account+":role/aws-operator/"+clusterName+"/") {
		t.Errorf("the replication is %v", live)
	}
	policies := w.inlinePolicies(role)
	for _, want := range []string{"arn:aws:s3:::uploads/*", "arn:aws:s3:::copies/*", "aws:ResourceAccount"} {
		if !strings.Contains(policies, want) {
			t.Errorf("the policies are %s, without %s", policies, want)
		}
	}
	if strings.Contains(policies, `"s3:PutObject"`) || strings.Contains(policies, `"*"`) {
		t.Errorf("the policies are %s", policies)
	}
	w.checkDrift("S3Bucket", "uploads", "False", "InSync")
	w.change("S3Bucket", "uploads", `{"spec": {"replication": null}}`)
	w.eventually("the role is deleted", func() error {
		if left := w.rolesLeft(); len(left) > 0 {
			return fmt.Errorf("the roles are %v", left)
		}
		return nil
	})
	if live := w.live(bucketType, "uploads")["ReplicationConfiguration"]; live != nil {
		t.Errorf("the replication is %v", live)
	}
	w.change("S3Bucket", "uploads", `{"spec": {"replication": {"bucketName": "copies"}}}`)
	w.becomes(bucketType, "uploads", "VersioningConfiguration", "map[Status:Enabled]")
	w.eventually("the bucket replicates again", func() error {
		if w.live(bucketType, "uploads")["ReplicationConfiguration"] == nil {
			return fmt.Errorf("the roles are %v", w.rolesLeft())
		}
		return nil
	})
	w.delete("S3Bucket", "uploads")
	if left := w.rolesLeft(); len(left) > 0 {
		t.Errorf("the roles %v are left", left)
	}
}

// TestReplicationToBucketsOfOthers tests that a bucket that the namespace did not create needs a grant, and that
// an operator without the flag for roles makes none.
func TestReplicationToBucketsOfOthers(t *testing.T) {
	const replicating = `{kind: S3Bucket, metadata: {name: uploads}, spec: {versioning: true, replication: {bucket: theirs}}}`
	w := newSuite(t, nil)
	w.apply(replicating)
	got := w.condition("S3Bucket", "uploads", "Stalled", "True", "ForeignResource")
	if want := "--allow-foreign=" + w.namespace + "=arn:aws:s3:::theirs"; !strings.Contains(got.Message, want) || !strings.Contains(got.Message, "spec.replication.bucket") {
		t.Errorf("the message is %q, want the field and %s", got.Message, want)
	}
	w = newLimitedSuite(t, nil, render.Limits{Foreign: []grant.Grant{{Namespace: "*", Pattern: "arn:aws:s3:::theirs"}}})
	w.apply(replicating)
	got = w.condition("S3Bucket", "uploads", "Stalled", "True", "IssuerNotConfigured")
	if !strings.Contains(got.Message, "--service-account-issuer") {
		t.Errorf("the message is %q", got.Message)
	}
	w.apply(`{kind: S3Bucket, metadata: {name: plain}}`) // it needs no role
	w.ready("S3Bucket", "plain")
}

// TestBucketWithNotificationsIsAdopted adopts a bucket, whose notifications are a change that its owner approves.
func TestBucketWithNotificationsIsAdopted(t *testing.T) {
	w := prepareSuite(t, simulator.Options{}, render.Limits{Adoption: []grant.Grant{{Namespace: "*", Pattern: bucketType + "/*"}}})
	w.serveGrants()
	if _, err := s3.NewFromConfig(w.awsConfig(), func(o *s3.Options) { o.UsePathStyle = true }).
		CreateBucket(t.Context(), &s3.CreateBucketInput{
			Bucket: aws.String("old-uploads"), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region},
		}); err != nil {
		t.Fatal(err)
	}
	w.apply(`
{kind: SQSQueue, metadata: {name: jobs}, spec: {senders: [{kind: S3Bucket, name: old-uploads}]}}
---
{kind: S3Bucket, metadata: {name: copies}, spec: {versioning: true}}
`)
	w.ready("SQSQueue", "jobs")
	w.ready("S3Bucket", "copies")
	w.apply(`
kind: S3Bucket
metadata: {name: old-uploads, annotations: {service-operator.aws/adopt: Bucket=old-uploads}}
spec:
  versioning: true
  notifications: [{queueName: jobs, events: ["s3:ObjectCreated:*"]}]
  replication: {bucketName: copies}
`)
	w.condition("S3Bucket", "old-uploads", "Synced", "False", "ApprovalNeeded")
	if pending := fmt.Sprint(w.pending("S3Bucket", "old-uploads").Changes); !strings.Contains(pending, "NotificationConfiguration") {
		t.Errorf("pending %s, want the notifications", pending)
	}
	w.approve("S3Bucket", "old-uploads")
	w.ready("S3Bucket", "old-uploads")
	live := w.live(bucketType, "old-uploads")
	if live["NotificationConfiguration"] == nil || live["ReplicationConfiguration"] == nil {
		t.Errorf("the bucket is %v", live)
	}
	w.checkDrift("S3Bucket", "old-uploads", "False", "InSync")
}
