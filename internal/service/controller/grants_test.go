package controller_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
)

const issuer = "https://oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE"

// newGrantsSuite starts an operator that knows the issuer, whose provider is registered in IAM.
// The simulator enforces IAM.
func newGrantsSuite(t *testing.T) *suite {
	t.Helper()
	w := prepareSuite(t, simulator.Options{}, render.Limits{})
	w.serveGrants()
	return w
}

// serveGrants registers the issuer in IAM, and starts an operator that knows it.
func (w *suite) serveGrants() {
	w.t.Helper()
	w.issuer = issuer
	_, err := iam.NewFromConfig(w.awsConfig()).CreateOpenIDConnectProvider(w.t.Context(), &iam.CreateOpenIDConnectProviderInput{
		Url: aws.String(issuer), ClientIDList: []string{"sts.amazonaws.com"},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.startOperator()
}

// roleOf waits until a ServiceAccount names a role, and returns the role's ARN.
func (w *suite) roleOf(name string) string {
	w.t.Helper()
	role := ""
	w.eventually("ServiceAccount "+name+" names a role", func() error {
		account, err := w.account(name)
		if err == nil {
			role = account.Annotations[v1alpha1.RoleAnnotation]
		}
		if err == nil && role == "" {
			err = errors.New("it has no annotation")
		}
		return err
	})
	return role
}

func (w *suite) account(name string) (*corev1.ServiceAccount, error) {
	found := &corev1.ServiceAccount{}
	return found, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, found)
}

// createAccount creates a ServiceAccount.
func (w *suite) createAccount(name string, annotations map[string]string) {
	w.t.Helper()
	err := w.client.Create(w.t.Context(), &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Annotations: annotations},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// session assumes a role as a pod of a service account does, and returns the session's credentials.
func (w *suite) session(role, namespace, account, audience string) (aws.Config, error) {
	claims, err := json.Marshal(map[string]any{
		"iss": issuer, "aud": []string{audience}, "sub": "system:serviceaccount:" + namespace + ":" + account,
	})
	if err != nil {
		return aws.Config{}, err
	}
	token := "e30." + base64.RawURLEncoding.EncodeToString(claims) + ".x"
	config := aws.Config{Region: region, BaseEndpoint: &w.endpoint, RetryMaxAttempts: 1}
	out, err := sts.NewFromConfig(config).AssumeRoleWithWebIdentity(w.t.Context(), &sts.AssumeRoleWithWebIdentityInput{
		RoleArn: &role, RoleSessionName: aws.String("pod"), WebIdentityToken: &token,
	})
	if err != nil {
		return aws.Config{}, err
	}
	config.Credentials = credentials.NewStaticCredentialsProvider(
		*out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken,
	)
	return config, nil
}

// pod waits until a role can be assumed by a service account.
func (w *suite) pod(role, account string) aws.Config {
	w.t.Helper()
	var config aws.Config
	w.eventually(account+" assumes "+role, func() (err error) {
		config, err = w.session(role, w.namespace, account, "sts.amazonaws.com")
		return err
	})
	return config
}

// may waits until a call is allowed.
func (w *suite) may(what string, call func(context.Context) error) {
	w.t.Helper()
	w.eventually(what+" is allowed", func() error { return call(w.t.Context()) })
}

// mayNot waits until a call is denied.
func (w *suite) mayNot(what string, call func(context.Context) error) {
	w.t.Helper()
	w.eventually(what+" is denied", func() error {
		err := call(w.t.Context())
		if !isDenied(err) {
			return fmt.Errorf("the error is %w", errors.Join(err, errStill))
		}
		return nil
	})
}

func isDenied(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && (strings.Contains(api.ErrorCode(), "AccessDenied") || api.ErrorCode() == "AuthorizationError") // the code of SNS
}

// queueURL returns the URL of a queue from the object's output.
func (w *suite) queueURL(name string) *string {
	w.t.Helper()
	queue, _ := nested(w.ready("SQSQueue", name), "output", "queueURL").(string)
	return &queue
}

func send(config aws.Config, url *string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := sqs.NewFromConfig(config).SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("hello")})
		return err
	}
}

func receive(config aws.Config, url *string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := sqs.NewFromConfig(config).ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url})
		return err
	}
}

// rolesLeft returns the names of the roles in IAM.
func (w *suite) rolesLeft() []string {
	w.t.Helper()
	out, err := iam.NewFromConfig(w.awsConfig()).ListRoles(w.t.Context(), &iam.ListRolesInput{PathPrefix: aws.String("/aws-operator/")})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for i := range out.Roles {
		names = append(names, *out.Roles[i].RoleName)
	}
	return names
}

// TestGrantLetsExactlyThisServiceAccountUseExactlyThisQueue follows a grant from its creation to its
// removal, with IAM enforced.
func TestGrantLetsExactlyThisServiceAccountUseExactlyThisQueue(t *testing.T) {
	w := newGrantsSuite(t)
	w.createAccount("web", nil)
	w.apply(`
{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Send}]}}
---
{kind: SQSQueue, metadata: {name: other}}
`)
	jobs, other := w.queueURL("jobs"), w.queueURL("other")
	role := w.roleOf("web")
	if !strings.HasPrefix(role, "arn:aws:iam::"+account+":role/aws-operator/"+clusterName+"/") {
		t.Errorf("the role is %s, which policies of the operator cannot name by its path", role)
	}
	obj := w.ready("SQSQueue", "jobs")
	if got := nested(obj, "status", "grants"); show(got) != fmt.Sprintf("[map[roleARN:%s serviceAccount:web]]", role) {
		t.Errorf("status.grants is %v", got)
	}

	pod := w.pod(role, "web")
	w.may("sending to jobs", send(pod, jobs))
	w.mayNot("sending to other", send(pod, other))
	w.mayNot("receiving from jobs", receive(pod, jobs))

	for what, try := range map[string]func() (aws.Config, error){
		"another service account": func() (aws.Config, error) { return w.session(role, w.namespace, "worker", "sts.amazonaws.com") },
		"another namespace":       func() (aws.Config, error) { return w.session(role, "default", "web", "sts.amazonaws.com") },
		"another audience":        func() (aws.Config, error) { return w.session(role, w.namespace, "web", "vault") },
	} {
		if _, err := try(); err == nil {
			t.Errorf("%s can assume the role", what)
		}
	}

	w.change("SQSQueue", "jobs", `{"spec":{"grants":[{"serviceAccount":"web","access":"ReadWrite"}]}}`)
	w.may("receiving from jobs", receive(pod, jobs))

	w.change("SQSQueue", "jobs", `{"spec":{"grants":null}}`)
	w.mayNot("sending to jobs", send(pod, jobs))
	w.eventually("the role and the annotation are deleted", func() error {
		account, err := w.account("web")
		if err == nil && (len(account.Annotations) > 0 || len(w.rolesLeft()) > 0) {
			err = fmt.Errorf("annotations %v, roles %v", account.Annotations, w.rolesLeft())
		}
		return err
	})
	if got := nested(w.ready("SQSQueue", "jobs"), "status", "grants"); got != nil {
		t.Errorf("status.grants is %v", got)
	}
	if got := slices.Sorted(maps.Keys(w.stacks())); len(got) != 2 {
		t.Errorf("the stacks are %v, want those of two queues", got)
	}
}

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
	topic, _ := nested(w.ready("SNSTopic", "news"), "output", "topicARN").(string)
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

// TestServiceAccountIsAnnotatedWhenItAppears creates the ServiceAccount after the grant, and restores
// an annotation that another client removes.
func TestServiceAccountIsAnnotatedWhenItAppears(t *testing.T) {
	w := newGrantsSuite(t)
	w.apply(`{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: late, access: Send}]}}`)
	obj := w.ready("SQSQueue", "jobs")
	grants, _ := nested(obj, "status", "grants").([]any)
	if len(grants) != 1 || !strings.Contains(show(grants), "There is no ServiceAccount late") {
		t.Errorf("status.grants is %v, which does not say that the ServiceAccount is missing", grants)
	}
	w.createAccount("late", map[string]string{"note": "mine"})
	role := w.roleOf("late")
	found, err := w.account("late")
	if err != nil || found.Annotations["note"] != "mine" {
		t.Errorf("the annotations are %v, %v", found.Annotations, err)
	}
	delete(found.Annotations, v1alpha1.RoleAnnotation)
	if err := w.client.Update(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	if again := w.roleOf("late"); again != role {
		t.Errorf("the annotation is restored as %s, want %s", again, role)
	}
	w.eventually("the message in the status is removed", func() error {
		obj, err := w.get("SQSQueue", "jobs")
		if err == nil && strings.Contains(show(nested(obj, "status", "grants")), "message") {
			err = fmt.Errorf("status.grants is %v", nested(obj, "status", "grants"))
		}
		return err
	})
	if err := w.client.Delete(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	w.eventually("the status says that the ServiceAccount is missing again", func() error {
		obj, err := w.get("SQSQueue", "jobs")
		if err == nil && !strings.Contains(show(nested(obj, "status", "grants")), "There is no ServiceAccount late") {
			err = fmt.Errorf("status.grants is %v", nested(obj, "status", "grants"))
		}
		return err
	})
	w.createAccount("late", nil)
	if again := w.roleOf("late"); again != role {
		t.Errorf("the new ServiceAccount has %s, want %s", again, role)
	}
}

// TestAnnotationOfAnotherRoleStays tests that the operator neither replaces nor removes the
// annotation of a role that is not its own.
func TestAnnotationOfAnotherRoleStays(t *testing.T) {
	w := newGrantsSuite(t)
	const mine = "arn:aws:iam::123456789012:role/mine"
	w.createAccount("web", map[string]string{v1alpha1.RoleAnnotation: mine})
	w.apply(`{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Send}]}}`)
	found := w.condition("SQSQueue", "jobs", "Synced", "False", "RoleAnnotationTaken")
	for _, want := range []string{"web", mine, "spec.grants", "Remove"} {
		if !strings.Contains(found.Message, want) {
			t.Errorf("the message does not have %q: %s", want, found.Message)
		}
	}
	w.delete("SQSQueue", "jobs")
	if account, err := w.account("web"); err != nil || account.Annotations[v1alpha1.RoleAnnotation] != mine {
		t.Errorf("the annotation is %v, %v", account.Annotations, err)
	}
	if roles := w.rolesLeft(); len(roles) > 0 {
		t.Errorf("the roles %v are left", roles)
	}
}

// TestForgedGrantsInTheStatusDoNoHarm names service accounts in the status to which the object grants
// nothing: one of another object, one with a role of its own, and what is not the name of one.
func TestForgedGrantsInTheStatusDoNoHarm(t *testing.T) {
	w := newGrantsSuite(t)
	const mine = "arn:aws:iam::123456789012:role/mine"
	w.createAccount("web", nil)
	w.createAccount("own", map[string]string{v1alpha1.RoleAnnotation: mine})
	w.apply(`
{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Send}]}}
---
{kind: SQSQueue, metadata: {name: forger}}
`)
	jobs := w.queueURL("jobs")
	pod := w.pod(w.roleOf("web"), "web")
	w.may("sending", send(pod, jobs))
	forger := w.ready("SQSQueue", "forger")
	forged := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"grants":[{"serviceAccount":"web"},{"serviceAccount":"own","roleARN":"`+mine+`"},{"serviceAccount":"../web"}]}}`))
	if err := w.client.Status().Patch(t.Context(), forger, forged); err != nil {
		t.Fatal(err)
	}
	w.change("SQSQueue", "forger", `{"spec":{"delaySeconds":1}}`)
	w.eventually("the forged grants are removed", func() error {
		obj, err := w.get("SQSQueue", "forger")
		if err == nil && nested(obj, "status", "grants") != nil {
			err = fmt.Errorf("status.grants is %v", nested(obj, "status", "grants"))
		}
		return err
	})
	w.delete("SQSQueue", "forger")
	if err := send(pod, jobs)(t.Context()); err != nil {
		t.Errorf("the other object's grant has no effect: %v", err)
	}
	if account, err := w.account("own"); err != nil || account.Annotations[v1alpha1.RoleAnnotation] != mine {
		t.Errorf("the annotation is %v, %v", account.Annotations, err)
	}
}

// TestGrantIncludesTheKeyOfTheStack tests a kind of users whose stack has a key only if the spec asks
// for one.
func TestGrantIncludesTheKeyOfTheStack(t *testing.T) {
	w := newGrantsSuite(t)
	w.createAccount("web", nil)
	w.createAccount("plain", nil)
	kind := "Vault" + strings.ToUpper(w.namespace[:1]) + strings.Map(alphanumeric, w.namespace[1:])
	w.apply(`
kind: ModelDefinition
metadata: {name: ` + strings.ToLower(kind) + `}
spec:
  kind: ` + kind + `
  schema:
    type: object
    properties: {encrypted: {type: boolean}}
  template: |
    Resources:
      Queue:
        Type: AWS::SQS::Queue
        Properties:
          QueueName: {{ .name }}
          {{- if .spec.encrypted }}
          KmsMasterKeyId: {Ref: Key}
          {{- end }}
      {{- if .spec.encrypted }}
      Key:
        Type: AWS::KMS::Key
        Properties:
          PendingWindowInDays: 7
          KeyPolicy:
            Version: "2012-10-17"
            Statement:
              - {Effect: Allow, Principal: {AWS: {Fn::Sub: "arn:aws:iam::${AWS::AccountId}:root"}}, Action: "kms:*", Resource: "*"}
      {{- end }}
    Outputs:
      QueueURL: {Value: {Ref: Queue}}
  accessLevels:
    - name: Send
      statements:
        - {actions: [sqs:SendMessage], resources: ["{Fn::GetAtt: [Queue, Arn]}"]}
        - {actions: [kms:Decrypt, kms:GenerateDataKey], resources: ["{{ if .spec.encrypted }}{Fn::GetAtt: [Key, Arn]}{{ end }}"]}
`)
	w.condition("ModelDefinition", strings.ToLower(kind), "Ready", "True", "")
	w.apply(`
{kind: ` + kind + `, metadata: {name: safe}, spec: {encrypted: true, grants: [{serviceAccount: web, access: Send}]}}
---
{kind: ` + kind + `, metadata: {name: open}, spec: {grants: [{serviceAccount: plain, access: Send}]}}
`)
	w.ready(kind, "open")
	obj := w.ready(kind, "safe")
	queue, _ := nested(obj, "output", "queueURL").(string)
	w.may("sending", send(w.pod(w.roleOf("web"), "web"), &queue))
	for name, keys := range map[string]bool{"web": true, "plain": false} {
		if got := w.inlinePolicies(w.roleOf(name)); strings.Contains(got, "kms:Decrypt") != keys || strings.Contains(got, "*") {
			t.Errorf("the policies of %s are %s", name, got)
		}
	}
	w.delete(kind, "safe")
	w.delete(kind, "open")
	w.delete("ModelDefinition", strings.ToLower(kind))
}

func alphanumeric(r rune) rune {
	if r == '-' {
		return -1
	}
	return r
}

// inlinePolicies returns the inline policies of a role as text.
func (w *suite) inlinePolicies(arn string) string {
	w.t.Helper()
	api := iam.NewFromConfig(w.awsConfig())
	name := arn[strings.LastIndex(arn, "/")+1:]
	list, err := api.ListRolePolicies(w.t.Context(), &iam.ListRolePoliciesInput{RoleName: &name})
	if err != nil {
		w.t.Fatal(err)
	}
	var all strings.Builder
	for _, policy := range list.PolicyNames {
		out, err := api.GetRolePolicy(w.t.Context(), &iam.GetRolePolicyInput{RoleName: &name, PolicyName: &policy})
		if err != nil {
			w.t.Fatal(err)
		}
		document, err := url.PathUnescape(aws.ToString(out.PolicyDocument))
		if err != nil {
			w.t.Fatal(err)
		}
		all.WriteString(document)
	}
	return all.String()
}

// TestGrantsWithoutAnIssuerAreRefused tests that nothing is made for an object whose grants have no
// effect, and that it becomes ready without them.
func TestGrantsWithoutAnIssuerAreRefused(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Send}]}}`)
	found := w.condition("SQSQueue", "jobs", "Stalled", "True", "IssuerNotConfigured")
	for _, want := range []string{"spec.grants", "--service-account-issuer"} {
		if !strings.Contains(found.Message, want) {
			t.Errorf("the message does not have %q: %s", want, found.Message)
		}
	}
	if stacks := w.stacks(); len(stacks) > 0 {
		t.Errorf("the stacks are %v", stacks)
	}
	w.change("SQSQueue", "jobs", `{"spec":{"grants":null}}`)
	w.ready("SQSQueue", "jobs")
	w.delete("SQSQueue", "jobs")
}

// TestBadGrantsAreRefused tests that the API server or a condition names the field and what to do.
func TestBadGrantsAreRefused(t *testing.T) {
	w := newGrantsSuite(t)
	w.apply(`{kind: SQSQueue, metadata: {name: probe}}`)
	w.ready("SQSQueue", "probe") // the kind is served
	for name, c := range map[string]struct{ grants, field string }{
		"an unknown level":             {`[{serviceAccount: web, access: Admin}]`, "spec.grants[0].access"},
		"no level":                     {`[{serviceAccount: web}]`, "spec.grants[0].access"},
		"no service account":           {`[{access: Send}]`, "spec.grants: element 0"},
		"an empty service account":     {`[{serviceAccount: "", access: Send}]`, "spec.grants[0].serviceAccount"},
		"another namespace":            {`[{serviceAccount: other/web, access: Send}]`, "spec.grants[0].serviceAccount"},
		"a wildcard":                   {`[{serviceAccount: "*", access: Send}]`, "spec.grants[0].serviceAccount"},
		"a function":                   {`[{serviceAccount: "{{resolve:ssm:a}}", access: Send}]`, "spec.grants[0].serviceAccount"},
		"one service account twice":    {`[{serviceAccount: web, access: Send}, {serviceAccount: web, access: Receive}]`, "spec.grants: duplicate entries"},
		"what is not a list of grants": {`{web: Send}`, "spec.grants"},
	} {
		err := w.tryApply(`{kind: SQSQueue, metadata: {name: bad}, spec: {grants: ` + c.grants + `}}`)
		if err == nil || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: the error is %v, want one with %s", name, err, c.field)
		}
	}
	if err := w.tryApply(`{kind: ECRRepository, metadata: {name: bad}, spec: {grants: [{serviceAccount: web, access: Read}]}}`); err == nil ||
		!strings.Contains(err.Error(), ".spec.grants") {
		t.Errorf("a kind without access levels: the error is %v", err)
	}
	if roles := w.rolesLeft(); len(roles) > 0 {
		t.Errorf("the roles %v exist", roles)
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
	if err := send(pod, kept)(t.Context()); err != nil {
		t.Errorf("the pod may not use the retained queue: %v", err)
	}
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

// TestAdoptedResourceIsGranted adopts a queue with a grant: an import cannot create the policy, so it
// follows with the first change, after the approval.
func TestAdoptedResourceIsGranted(t *testing.T) {
	w := prepareSuite(t, simulator.Options{}, render.Limits{Adoption: []grant.Grant{{Namespace: "*", Pattern: "AWS::SQS::Queue/*"}}})
	w.serveGrants()
	w.createAccount("web", nil)
	url := w.byHand("orders")
	w.apply(adopting("orders", url, "", "grants: [{serviceAccount: web, access: Send}]"))
	w.condition("SQSQueue", "orders", "Synced", "False", "ApprovalNeeded")
	if account, err := w.account("web"); err != nil || len(account.Annotations) > 0 {
		t.Errorf("before the approval, the ServiceAccount has %v, %v", account.Annotations, err)
	}
	w.approve("SQSQueue", "orders")
	w.ready("SQSQueue", "orders")
	w.may("sending", send(w.pod(w.roleOf("web"), "web"), &url))
	w.delete("SQSQueue", "orders")
}
