package iam_test

import (
	"errors"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/iam"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/sts"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

const document = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:*","Resource":"*"}]}`

func start(t *testing.T) (*awsiam.Client, aws.Config) {
	t.Helper()
	clk := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	env, keys := &resource.Env{Clock: clk}, &wire.Keys{}
	services := []*wire.Service{iam.New(env, keys).Service(), sts.New(env, keys).Service()}
	config := wiretest.Serve(t, wire.NewRouter(services, nil, clk, wire.WithKeys(keys)))
	return awsiam.NewFromConfig(config), config
}

func TestRoles(t *testing.T) {
	c, _ := start(t)
	ctx := t.Context()
	name := aws.String("r")
	made, err := c.CreateRole(
		ctx, &awsiam.CreateRoleInput{RoleName: name, Path: aws.String("/team/"), AssumeRolePolicyDocument: aws.String(trust)},
	)
	if err != nil || *made.Role.Arn != "arn:aws:iam::123456789012:role/team/r" {
		t.Fatalf("create: %+v %v", made, err)
	}
	_, err = c.CreateRole(ctx, &awsiam.CreateRoleInput{RoleName: name, AssumeRolePolicyDocument: aws.String(trust)})
	wiretest.WantCode(t, err, "EntityAlreadyExists")
	got, err := c.GetRole(ctx, &awsiam.GetRoleInput{RoleName: name})
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := url.QueryUnescape(*got.Role.AssumeRolePolicyDocument); text != trust {
		t.Errorf("trust policy %s", text)
	}
	if _, err := c.PutRolePolicy(ctx, &awsiam.PutRolePolicyInput{RoleName: name, PolicyName: aws.String("p"), PolicyDocument: aws.String(document)}); err != nil {
		t.Fatal(err)
	}
	managed := aws.String("arn:aws:iam::aws:policy/ReadOnlyAccess")
	if _, err := c.AttachRolePolicy(ctx, &awsiam.AttachRolePolicyInput{RoleName: name, PolicyArn: managed}); err != nil {
		t.Fatal(err)
	}
	_, err = c.DeleteRole(ctx, &awsiam.DeleteRoleInput{RoleName: name})
	wiretest.WantCode(t, err, "DeleteConflict")
	if _, err := c.DetachRolePolicy(ctx, &awsiam.DetachRolePolicyInput{RoleName: name, PolicyArn: managed}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DeleteRolePolicy(ctx, &awsiam.DeleteRolePolicyInput{RoleName: name, PolicyName: aws.String("p")}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DeleteRole(ctx, &awsiam.DeleteRoleInput{RoleName: name}); err != nil {
		t.Fatal(err)
	}
	_, err = c.GetRole(ctx, &awsiam.GetRoleInput{RoleName: name})
	if _, ok := errors.AsType[*types.NoSuchEntityException](err); !ok {
		t.Errorf("after deletion: %v", err)
	}
	_, err = c.CreateRole(ctx, &awsiam.CreateRoleInput{RoleName: name, AssumeRolePolicyDocument: aws.String("{")})
	wiretest.WantCode(t, err, "MalformedPolicyDocument")
}

func TestUserKeyAuthenticatesAsUser(t *testing.T) {
	c, config := start(t)
	if _, err := c.CreateUser(t.Context(), &awsiam.CreateUserInput{UserName: aws.String("ann")}); err != nil {
		t.Fatal(err)
	}
	made, err := c.CreateAccessKey(t.Context(), &awsiam.CreateAccessKeyInput{UserName: aws.String("ann")})
	if err != nil {
		t.Fatal(err)
	}
	config.Credentials = credentials.NewStaticCredentialsProvider(*made.AccessKey.AccessKeyId, *made.AccessKey.SecretAccessKey, "")
	who, err := awssts.NewFromConfig(config).GetCallerIdentity(t.Context(), nil)
	if err != nil || *who.Arn != "arn:aws:iam::123456789012:user/ann" {
		t.Errorf("got %+v %v", who, err)
	}
}

func TestManagedPoliciesHaveVersions(t *testing.T) {
	c, _ := start(t)
	ctx := t.Context()
	made, err := c.CreatePolicy(ctx, &awsiam.CreatePolicyInput{PolicyName: aws.String("p"), PolicyDocument: aws.String(document)})
	if err != nil {
		t.Fatal(err)
	}
	v2, err := c.CreatePolicyVersion(
		ctx, &awsiam.CreatePolicyVersionInput{PolicyArn: made.Policy.Arn, PolicyDocument: aws.String(document), SetAsDefault: true},
	)
	if err != nil || *v2.PolicyVersion.VersionId != "v2" {
		t.Fatalf("got %+v %v", v2, err)
	}
	_, err = c.DeletePolicy(ctx, &awsiam.DeletePolicyInput{PolicyArn: made.Policy.Arn})
	wiretest.WantCode(t, err, "DeleteConflict")
	if _, err := c.DeletePolicyVersion(ctx, &awsiam.DeletePolicyVersionInput{
		PolicyArn: made.Policy.Arn, VersionId: aws.String("v1"),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DeletePolicy(ctx, &awsiam.DeletePolicyInput{PolicyArn: made.Policy.Arn}); err != nil {
		t.Fatal(err)
	}
}

func TestCloudFormationTypes(t *testing.T) {
	providers := iam.New(&resource.Env{Clock: testclock.NewFakeClock(time.Unix(0, 0))}, &wire.Keys{}).Providers()
	policy := map[string]any{"Version": "2012-10-17", "Statement": map[string]any{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}}
	trusted := map[string]any{"Version": "2012-10-17", "Statement": map[string]any{
		"Effect": "Allow", "Principal": map[string]any{"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole",
	}}
	create := func(kind string, props map[string]any) resource.Request {
		t.Helper()
		r := resource.Request{Account: "1", Region: "r", StackName: "s", LogicalID: "L", Properties: props}
		made, err := providers[kind].Create(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		r.PhysicalID, r.Previous = made.PhysicalID, props
		return r
	}
	role := create("AWS::IAM::Role", map[string]any{
		"AssumeRolePolicyDocument": trusted, "ManagedPolicyArns": []any{"arn:aws:iam::aws:policy/ReadOnlyAccess"},
		"Policies": []any{map[string]any{"PolicyName": "own", "PolicyDocument": policy}},
	})
	roles := []any{role.PhysicalID}
	inline := create("AWS::IAM::Policy", map[string]any{"PolicyName": "p", "PolicyDocument": policy, "Roles": roles})
	managed := create("AWS::IAM::ManagedPolicy", map[string]any{"PolicyDocument": policy, "Roles": roles})
	profile := create("AWS::IAM::InstanceProfile", map[string]any{"Roles": roles})

	live, err := providers["AWS::IAM::Role"].Read(t.Context(), role)
	if err != nil || len(live["ManagedPolicyArns"].([]any)) != 2 || len(live["Policies"].([]any)) != 2 {
		t.Errorf("role: %v %v", live, err)
	}
	var refused *resource.Error
	if err := providers["AWS::IAM::Role"].Delete(t.Context(), role); !errors.As(err, &refused) ||
		refused.Code != resource.ResourceConflict {
		t.Errorf("deleting a role in use: %v", err)
	}
	for _, step := range []struct {
		kind string
		r    resource.Request
	}{
		{"AWS::IAM::InstanceProfile", profile},
		{"AWS::IAM::ManagedPolicy", managed},
		{"AWS::IAM::Policy", inline},
		{"AWS::IAM::Role", role},
	} {
		if err := providers[step.kind].Delete(t.Context(), step.r); err != nil {
			t.Errorf("deleting %s: %v", step.kind, err)
		}
	}
}

// TestTokensOfAStacksProviderAreAccepted tests that STS knows the provider of a stack, until its deletion.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-iam-oidcprovider.html
func TestTokensOfAStacksProviderAreAccepted(t *testing.T) {
	s := iam.New(&resource.Env{Clock: testclock.NewFakeClock(time.Unix(0, 0))}, &wire.Keys{})
	provider := s.Providers()["AWS::IAM::OIDCProvider"]
	r := resource.Request{Account: "1", Region: "eu-west-1", StackName: "s", LogicalID: "L", Properties: map[string]any{
		"Url": "https://issuer.example.com/oidc", "ClientIdList": []any{"sts.amazonaws.com"},
	}}
	made, err := provider.Create(t.Context(), r)
	const arn = "arn:aws:iam::1:oidc-provider/issuer.example.com/oidc"
	if err != nil || made.PhysicalID != arn || made.Attributes["Arn"] != arn {
		t.Fatalf("made %+v, %v", made, err)
	}
	if got, audiences, ok := s.Provider("1", "issuer.example.com/oidc"); !ok || got != arn || !slices.Equal(audiences, []string{"sts.amazonaws.com"}) {
		t.Errorf("IAM knows %s for %v, %v", got, audiences, ok)
	}
	var refused *resource.Error
	if _, err := provider.Create(t.Context(), r); !errors.As(err, &refused) || refused.Code != resource.AlreadyExists {
		t.Errorf("a second provider with the URL: %v", err)
	}
	r.PhysicalID, r.Properties = arn, map[string]any{"Url": "https://issuer.example.com/oidc", "ClientIdList": []any{"vault"}}
	if _, err := provider.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, audiences, _ := s.Provider("1", "issuer.example.com/oidc"); !slices.Equal(audiences, []string{"vault"}) {
		t.Errorf("after the update, the audiences are %v", audiences)
	}
	if live, err := provider.Read(t.Context(), r); err != nil || live["Url"] != "https://issuer.example.com/oidc" {
		t.Errorf("read %v, %v", live, err)
	}
	if err := provider.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := s.Provider("1", "issuer.example.com/oidc"); ok {
		t.Error("IAM knows the provider after its deletion")
	}
}
