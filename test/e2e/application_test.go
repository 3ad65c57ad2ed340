package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/examples"
	"github.com/aws-operator/aws-operator/internal/local/controlplane"
)

// The example of an application is applied in both orders. Then the test does what the kubelet, the
// SDK and the application do: it reads the Deployment's environment from the ConfigMaps and Secrets,
// assumes the role with a token of the ServiceAccount, and uses the queue, the table and the secret,
// and nothing else. The pods themselves run in package containers.
func TestApplication(t *testing.T) {
	t.Parallel()
	for name, ordered := range map[string]func([]*unstructured.Unstructured){
		"as written": func([]*unstructured.Unstructured) {}, "in reverse order": slices.Reverse[[]*unstructured.Unstructured],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t, cloudOptions{issuer: controlplane.Issuer})
			objects := decode(t, manifestOf(t, "application"))
			ordered(objects)
			for _, object := range objects {
				c.applied(object)
			}
			pods := &applicationPods{cloud: c, deployment: c.deployment("shop")}
			pods.env = pods.environment()
			pods.checkEnvironment()
			pods.checkAccess()
			pods.checkSecretGranted()
			c.kill()
		})
	}
}

// manifestOf returns the manifests of an example's folder.
func manifestOf(t *testing.T, folder string) string {
	t.Helper()
	var documents []string
	err := fs.WalkDir(examples.Application, folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := examples.Application.ReadFile(path)
		documents = append(documents, string(text))
		return err
	})
	if err != nil || len(documents) == 0 {
		t.Fatalf("the example %s has %d files, %v", folder, len(documents), err)
	}
	return strings.Join(documents, "---\n")
}

// applied applies an object as soon as its kind is served.
func (c *cloud) applied(object *unstructured.Unstructured) {
	c.t.Helper()
	var last error
	c.await(func() string { return fmt.Sprintf("%s %s to be applied: %v", object.GetKind(), object.GetName(), last) }, func() bool {
		_, last = c.of(object).Apply(c.t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: "e2e"})
		return last == nil
	})
}

func (c *cloud) deployment(name string) *appsv1.Deployment {
	c.t.Helper()
	found, err := c.core.AppsV1().Deployments(c.namespace).Get(c.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return found
}

// applicationPods are the pods of a Deployment that do not run.
type applicationPods struct {
	*cloud
	deployment *appsv1.Deployment
	env        map[string]string
}

// environment waits until the container could start, and returns its environment, as the kubelet makes it.
// https://kubernetes.io/docs/tasks/inject-data-application/define-environment-variable-container/
func (p *applicationPods) environment() (env map[string]string) {
	p.t.Helper()
	var last error
	p.await(func() string { return fmt.Sprintf("the container to start: %v", last) }, func() bool {
		env, last = p.tryEnvironment()
		return last == nil
	})
	return env
}

func (p *applicationPods) tryEnvironment() (map[string]string, error) {
	container := &p.deployment.Spec.Template.Spec.Containers[0]
	env := map[string]string{}
	for _, from := range container.EnvFrom {
		switch {
		case from.ConfigMapRef != nil:
			found, err := p.core.CoreV1().ConfigMaps(p.namespace).Get(p.t.Context(), from.ConfigMapRef.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			maps.Copy(env, found.Data)
		case from.SecretRef != nil:
			found, err := p.core.CoreV1().Secrets(p.namespace).Get(p.t.Context(), from.SecretRef.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			for key, value := range found.Data {
				env[key] = string(value)
			}
		}
	}
	for _, one := range container.Env {
		env[one.Name] = one.Value
		if one.ValueFrom == nil {
			continue
		}
		ref := one.ValueFrom.ConfigMapKeyRef
		found, err := p.core.CoreV1().ConfigMaps(p.namespace).Get(p.t.Context(), ref.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		value, ok := found.Data[ref.Key]
		if !ok {
			return nil, fmt.Errorf("ConfigMap %s has no key %s: %w", ref.Name, ref.Key, errMissing)
		}
		env[one.Name] = value
	}
	return env, nil
}

var errMissing = errors.New("the container cannot start")

// checkEnvironment checks the container's environment against what exists in AWS.
func (p *applicationPods) checkEnvironment() {
	p.t.Helper()
	admin := p.config(account)
	queue, err := sqs.NewFromConfig(admin).GetQueueUrl(p.t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("shop-orders")})
	if err != nil {
		p.t.Fatal(err)
	}
	object := func(kind, name string) *unstructured.Unstructured {
		wanted := &unstructured.Unstructured{}
		wanted.SetKind(kind)
		wanted.SetName(name)
		p.awaitReady(wanted)
		return p.get(wanted)
	}
	database := object("RDSInstance", "shop-database")
	output := func(name string) string { return fmt.Sprint(nestedValue(database, "status", "output", name)) }
	var role string
	p.await(func() string { return "the ServiceAccount to name a role" }, func() bool {
		found, err := p.core.CoreV1().ServiceAccounts(p.namespace).Get(p.t.Context(), "shop", metav1.GetOptions{})
		if err == nil {
			role = found.Annotations[v1alpha1.RoleAnnotation]
		}
		return role != ""
	})
	want := map[string]string{
		"AWS_REGION": region, "AWS_ROLE_ARN": role, "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/secrets/aws/token",
		"QUEUE_URL": *queue.QueueUrl, "TABLE_NAME": "shop-carts", "DATABASE_SECRET": output("masterUserSecretARN"),
		"DATABASE_URL": "postgres://dbadmin@" + output("address") + ":5432/shop?sslmode=require",
	}
	if diff := cmp.Diff(want, p.env); diff != "" {
		p.t.Errorf("the environment differs (-want +got):\n%s", diff)
	}
	object("SQSQueue", "shop-orders")
	object("DynamoDB", "shop-carts")
}

func nestedValue(object *unstructured.Unstructured, fields ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(object.Object, fields...)
	return value
}

// session returns the configuration of an SDK in a pod: with a token of the pod's ServiceAccount, as the
// kubelet requests it for the pod's volume.
// https://kubernetes.io/docs/concepts/storage/projected-volumes/#serviceaccounttoken
func (p *applicationPods) session(serviceAccount, audience string) aws.Config {
	p.t.Helper()
	token, err := p.core.CoreV1().ServiceAccounts(p.namespace).CreateToken(p.t.Context(), serviceAccount, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	file := filepath.Join(p.t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token.Status.Token), 0o600); err != nil {
		p.t.Fatal(err)
	}
	config := aws.Config{Region: p.env["AWS_REGION"], BaseEndpoint: aws.String(p.server.URL), RetryMaxAttempts: 1}
	config.Credentials = aws.NewCredentialsCache(
		stscreds.NewWebIdentityRoleProvider(sts.NewFromConfig(config), p.env["AWS_ROLE_ARN"], stscreds.IdentityTokenFile(file)),
	)
	return config
}

// checkAccess checks that the pods may do what the application does, and nothing else.
func (p *applicationPods) checkAccess() {
	p.t.Helper()
	spec := &p.deployment.Spec.Template.Spec
	token := tokenOf(p.t, spec)
	pod := p.session(spec.ServiceAccountName, token.Audience)
	others, err := sqs.NewFromConfig(p.config(account)).CreateQueue(p.t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("theirs")})
	if err != nil {
		p.t.Fatal(err)
	}
	send := func(config aws.Config, to *string) func() error {
		return func() error {
			_, err := sqs.NewFromConfig(config).SendMessage(p.t.Context(), &sqs.SendMessageInput{
				QueueUrl: to, MessageBody: aws.String("hello"),
			})
			return err
		}
	}
	tables, queues := dynamodb.NewFromConfig(pod), sqs.NewFromConfig(pod)
	name, queue := aws.String(p.env["TABLE_NAME"]), aws.String(p.env["QUEUE_URL"])
	p.may("send to the queue", send(pod, queue))
	p.may("write to the table", func() error {
		_, err := tables.PutItem(p.t.Context(), &dynamodb.PutItemInput{TableName: name, Item: map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: "pod"},
		}})
		return err
	})
	p.mayNot("send to another queue", send(pod, others.QueueUrl))
	p.mayNot("receive from the queue", func() error {
		_, err := queues.ReceiveMessage(p.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: queue})
		return err
	})
	p.mayNot("delete the table", func() error {
		_, err := tables.DeleteTable(p.t.Context(), &dynamodb.DeleteTableInput{TableName: name})
		return err
	})
	p.mayNot("use a token of another ServiceAccount", send(p.session("default", token.Audience), queue))
	p.mayNot("use a token with another audience", send(p.session(spec.ServiceAccountName, "vault"), queue))
}

// checkSecretGranted checks that the role may read exactly the secret with the password. IAM answers: the
// simulator has no Secrets Manager.
func (p *applicationPods) checkSecretGranted() {
	p.t.Helper()
	role, secret := p.env["AWS_ROLE_ARN"], p.env["DATABASE_SECRET"]
	another := secret[:strings.LastIndex(secret, ":")+1] + "another-a1b2c3"
	out, err := iam.NewFromConfig(p.config(account)).SimulatePrincipalPolicy(p.t.Context(), &iam.SimulatePrincipalPolicyInput{
		PolicySourceArn: &role, ActionNames: []string{"secretsmanager:GetSecretValue"}, ResourceArns: []string{secret, another},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	got := map[string]string{}
	for _, result := range out.EvaluationResults {
		got[*result.EvalResourceName] = string(result.EvalDecision)
	}
	if diff := cmp.Diff(map[string]string{secret: "allowed", another: "implicitDeny"}, got); diff != "" {
		p.t.Errorf("reading secrets differs (-want +got):\n%s", diff)
	}
}

// tokenOf returns the token in the file that the container's environment names.
func tokenOf(t *testing.T, spec *corev1.PodSpec) *corev1.ServiceAccountTokenProjection {
	t.Helper()
	container := &spec.Containers[0]
	for _, mount := range container.VolumeMounts {
		for _, volume := range spec.Volumes {
			if volume.Name != mount.Name || volume.Projected == nil {
				continue
			}
			for _, source := range volume.Projected.Sources {
				path := filepath.Join(mount.MountPath, source.ServiceAccountToken.Path)
				if slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool { return e.Value == path }) {
					return source.ServiceAccountToken
				}
			}
		}
	}
	t.Fatal("the Deployment mounts no token where its environment says")
	return nil
}

// may waits until a call is allowed: IAM is eventually consistent.
func (p *applicationPods) may(what string, call func() error) {
	p.t.Helper()
	var last error
	p.await(func() string { return fmt.Sprintf("the pods to %s: %v", what, last) }, func() bool {
		last = call()
		return last == nil
	})
}

// mayNot checks that a call is denied.
func (p *applicationPods) mayNot(what string, call func() error) {
	p.t.Helper()
	err := call()
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok || !slices.Contains([]string{"AccessDenied", "AccessDeniedException", "InvalidIdentityToken"}, api.ErrorCode()) {
		p.t.Errorf("the pods may %s: %v", what, err)
	}
}
