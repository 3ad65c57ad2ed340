package controller_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
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
	config := aws.Config{Region: region, BaseEndpoint: &w.endpoint}
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
	queue, _ := nested(w.ready("SQSQueue", name), "status", "output", "queueURL").(string)
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
