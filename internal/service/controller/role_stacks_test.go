package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
)

// TestObjectsShareTheRoleOfAServiceAccount grants access to one service account from a queue, a
// table, a bucket and a topic. Each adds and removes its own permissions, and the role is deleted with
// the last of them, also while the operator does not run.
func TestObjectsShareTheRoleOfAServiceAccount(t *testing.T) {
	w := newGrantsSuite(t)
	w.createAccount("web", nil)
	bucket := w.namespace + "-files"
	w.apply(`
{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Receive}]}}
---
{kind: DynamoDB, metadata: {name: users}, spec: {hashAttribute: {name: id, type: S}, grants: [{serviceAccount: web, access: Read}]}}
---
{kind: S3Bucket, metadata: {name: ` + bucket + `}, spec: {grants: [{serviceAccount: web, access: Write}]}}
---
{kind: SNSTopic, metadata: {name: news}, spec: {grants: [{serviceAccount: web, access: Publish}]}}
`)
	jobs := w.queueURL("jobs")
	w.ready("DynamoDB", "users")
	w.ready("S3Bucket", bucket)
	topic, _ := nested(w.ready("SNSTopic", "news"), "status", "output", "topicARN").(string)
	role := w.roleOf("web")
	if roles := w.rolesLeft(); len(roles) != 1 {
		t.Fatalf("the roles are %v, want one: the annotation can name only one", roles)
	}
	pod := w.pod(role, "web")
	key := map[string]ddbtypes.AttributeValue{"id": &ddbtypes.AttributeValueMemberS{Value: "a"}}
	read := func(ctx context.Context) error {
		_, err := dynamodb.NewFromConfig(pod).GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("users"), Key: key})
		return err
	}
	put := func(ctx context.Context) error {
		_, err := dynamodb.NewFromConfig(pod).PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("users"), Item: key})
		return err
	}
	files := s3.NewFromConfig(pod, func(o *s3.Options) { o.UsePathStyle = true })
	upload := func(ctx context.Context) error {
		_, err := files.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("a"), Body: strings.NewReader("a")})
		return err
	}
	list := func(ctx context.Context) error {
		_, err := files.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &bucket})
		return err
	}
	publish := func(ctx context.Context) error {
		_, err := sns.NewFromConfig(pod).Publish(ctx, &sns.PublishInput{TopicArn: &topic, Message: aws.String("hello")})
		return err
	}
	w.may("receiving", receive(pod, jobs))
	w.may("reading the table", read)
	w.mayNot("writing the table", put)
	w.may("writing to the bucket", upload)
	w.mayNot("listing the bucket", list)
	w.may("publishing", publish)

	w.delete("SQSQueue", "jobs")
	w.change("SNSTopic", "news", `{"spec":{"grants":null}}`)
	w.mayNot("publishing", publish)
	w.may("reading the table", read)
	if w.roleOf("web") != role {
		t.Error("the role changed, although two objects still grant access")
	}

	w.ready("SNSTopic", "news")
	w.stop()
	w.change("DynamoDB", "users", `{"spec":{"grants":[]}}`)
	w.startOperator()
	w.mayNot("reading the table", read)
	w.may("writing to the bucket", upload)
	if _, err := files.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: aws.String("a")}); err != nil {
		t.Fatal(err)
	}
	w.ready("DynamoDB", "users") // it no longer uses the role
	w.delete("S3Bucket", bucket)
	if roles := w.rolesLeft(); len(roles) > 0 {
		t.Errorf("the roles %v are left", roles)
	}
	if account, err := w.account("web"); err != nil || len(account.Annotations) > 0 {
		t.Errorf("the ServiceAccount has %v, %v", account.Annotations, err)
	}
	if _, err := w.session(role, w.namespace, "web", "sts.amazonaws.com"); err == nil {
		t.Error("the role can still be assumed")
	}
}

// TestRoleGoesWhenItsLastGrantsGoAtOnce deletes two objects, and removes the grants of a third one, at
// the same time: the last one to stop using the role deletes it.
func TestRoleGoesWhenItsLastGrantsGoAtOnce(t *testing.T) {
	w := newGrantsSuite(t)
	w.createAccount("web", nil)
	w.apply(`
{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Receive}]}}
---
{kind: SQSQueue, metadata: {name: more}, spec: {grants: [{serviceAccount: web, access: Send}]}}
---
{kind: SNSTopic, metadata: {name: news}, spec: {grants: [{serviceAccount: web, access: Publish}]}}
`)
	for _, name := range []string{"jobs", "more"} {
		w.ready("SQSQueue", name)
	}
	w.ready("SNSTopic", "news")
	w.change("SNSTopic", "news", `{"spec":{"grants":null}}`)
	for _, name := range []string{"jobs", "more"} {
		queue, err := w.get("SQSQueue", name)
		if err == nil {
			err = w.client.Delete(t.Context(), queue)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"jobs", "more"} {
		w.gone("SQSQueue", name)
	}
	w.ready("SNSTopic", "news")
	if roles := w.rolesLeft(); len(roles) > 0 {
		t.Errorf("the roles %v are left", roles)
	}
	if account, err := w.account("web"); err != nil || len(account.Annotations) > 0 {
		t.Errorf("the ServiceAccount has %v, %v", account.Annotations, err)
	}
}

// TestRoleOfARetainedStackStays deletes an object whose stack stays, and then the last other object
// that grants access to the service account: the role belongs to the retained stack's policy, too.
func TestRoleOfARetainedStackStays(t *testing.T) {
	w := newGrantsSuite(t)
	w.createAccount("web", nil)
	w.apply(`
{kind: SQSQueue, metadata: {name: kept, annotations: {service-operator.aws/deletion-policy: retain}}, spec: {grants: [{serviceAccount: web, access: Send}]}}
---
{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Send}]}}
`)
	kept, jobs := w.queueURL("kept"), w.queueURL("jobs")
	role := w.roleOf("web")
	pod := w.pod(role, "web")
	w.may("sending to kept", send(pod, kept))
	w.may("sending to jobs", send(pod, jobs))
	w.delete("SQSQueue", "kept")
	w.delete("SQSQueue", "jobs")
	w.may("sending to the retained queue", send(pod, kept))
	if account, err := w.account("web"); err != nil || account.Annotations[v1alpha1.RoleAnnotation] != role {
		t.Errorf("the ServiceAccount has %v, %v", account.Annotations, err)
	}
}

// TestGrantThatReplacesAnotherKeepsTheRole deletes an object and creates another one that grants
// access to the same service account, while the role is being deleted.
func TestGrantThatReplacesAnotherKeepsTheRole(t *testing.T) {
	w := newGrantsSuite(t)
	w.createAccount("web", nil)
	w.apply(`{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Send}]}}`)
	old := w.ready("SQSQueue", "jobs")
	role := w.roleOf("web")
	if err := w.client.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	w.apply(`{kind: SQSQueue, metadata: {name: tasks}, spec: {grants: [{serviceAccount: web, access: Send}]}}`)
	w.gone("SQSQueue", "jobs")
	tasks := w.queueURL("tasks")
	if again := w.roleOf("web"); again != role {
		t.Errorf("the role is %s, was %s", again, role)
	}
	w.may("sending to tasks", send(w.pod(role, "web"), tasks))
	w.delete("SQSQueue", "tasks")
	if roles := w.rolesLeft(); len(roles) > 0 {
		t.Errorf("the roles %v are left", roles)
	}
}

// TestRoleWaitsForKindsThatAreNotServed breaks a ModelDefinition while the operator does not run: the
// objects of its kind, which defaults from the resource type, may grant access to the service account.
func TestRoleWaitsForKindsThatAreNotServed(t *testing.T) {
	w := newGrantsSuite(t)
	w.createAccount("web", nil)
	const name, kind = "unserved-parameters", "SSMParameter"
	definition := func(resource string) string {
		return `
kind: ModelDefinition
metadata: {name: ` + name + `}
spec:
  resourceType: AWS::SSM::Parameter
  accessLevels:
    - name: Read
      statements: [{actions: ["ssm:GetParameter"], resources: ["{Fn::Sub: 'arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter/${` + resource + `}'}"]}]
`
	}
	w.apply(definition("Resource"))
	w.condition("ModelDefinition", name, "Ready", "True", "")
	w.apply(`
{kind: ` + kind + `, metadata: {name: setting}, spec: {type: String, value: a, grants: [{serviceAccount: web, access: Read}]}}
---
{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Send}]}}
`)
	w.ready(kind, "setting")
	jobs := w.ready("SQSQueue", "jobs")
	role := w.roleOf("web")
	w.stop()
	w.apply(definition("Nothing"))
	if err := w.client.Delete(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	w.startOperator()
	w.eventually("the deletion waits for the kind", func() error {
		obj, err := w.get("SQSQueue", "jobs")
		if err == nil && !strings.Contains(show(nested(obj, "status")), "KindNotServed") {
			err = fmt.Errorf("status %v", nested(obj, "status"))
		}
		return err
	})
	w.apply(definition("Resource"))
	w.gone("SQSQueue", "jobs")
	if w.roleOf("web") != role || len(w.rolesLeft()) != 1 {
		t.Errorf("the roles are %v", w.rolesLeft())
	}
	w.delete(kind, "setting")
	w.delete("ModelDefinition", name)
	if roles := w.rolesLeft(); len(roles) > 0 {
		t.Errorf("the roles %v are left", roles)
	}
}
