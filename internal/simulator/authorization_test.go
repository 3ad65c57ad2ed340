package simulator_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"

	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// account is an account with users and roles, whose IAM decides.
type account struct {
	t    *testing.T
	root aws.Config
	iam  *iam.Client
}

func newAccount(t *testing.T) *account {
	t.Helper()
	config := enforced(t, simulator.Options{})
	return &account{t: t, root: config, iam: iam.NewFromConfig(config)}
}

// of returns another account of the same simulator.
func (a *account) of(id string) *account {
	config := as(a.root, id, wire.RootSecret, "")
	return &account{t: a.t, root: config, iam: iam.NewFromConfig(config)}
}

func policy(statements ...string) *string {
	return aws.String(`{"Version":"2012-10-17","Statement":[` + strings.Join(statements, ",") + `]}`)
}

func allow(actions, resource string) string {
	return `{"Effect":"Allow","Action":` + actions + `,"Resource":"` + resource + `"}`
}

// user creates a user with an inline policy, if there are statements, and returns its configuration.
func (a *account) user(name string, statements ...string) aws.Config {
	a.t.Helper()
	ctx := a.t.Context()
	done(a.t)(a.iam.CreateUser(ctx, &iam.CreateUserInput{UserName: &name}))
	if len(statements) > 0 {
		done(a.t)(a.iam.PutUserPolicy(ctx, &iam.PutUserPolicyInput{
			UserName: &name, PolicyName: aws.String("p"), PolicyDocument: policy(statements...),
		}))
	}
	made, err := a.iam.CreateAccessKey(ctx, &iam.CreateAccessKeyInput{UserName: &name})
	if err != nil {
		a.t.Fatal(err)
	}
	return as(a.root, *made.AccessKey.AccessKeyId, *made.AccessKey.SecretAccessKey, "")
}

// role creates a role with a trust policy and an inline policy.
func (a *account) role(name, trust string, statements ...string) (arn string) {
	a.t.Helper()
	made, err := a.iam.CreateRole(a.t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: policy(trust)})
	if err != nil {
		a.t.Fatal(err)
	}
	if len(statements) > 0 {
		done(a.t)(a.iam.PutRolePolicy(a.t.Context(), &iam.PutRolePolicyInput{
			RoleName: &name, PolicyName: aws.String("p"), PolicyDocument: policy(statements...),
		}))
	}
	return *made.Role.Arn
}

func done(t *testing.T) func(any, error) {
	t.Helper()
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// assume returns the configuration of a session.
func assume(ctx context.Context, config aws.Config, in *sts.AssumeRoleInput) (aws.Config, error) {
	in.RoleSessionName = aws.String("session")
	out, err := sts.NewFromConfig(config).AssumeRole(ctx, in)
	if err != nil {
		return aws.Config{}, err
	}
	return as(config, *out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken), nil
}

func wantDenied(t *testing.T, what string, err error, want, text string) {
	t.Helper()
	if code(err) != want || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: got %v, want %s: %s", what, err, want, text)
	}
}

func createQueue(ctx context.Context, config aws.Config, name string) error {
	_, err := sqs.NewFromConfig(config).CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name})
	return err
}

// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
func TestUsersMayDoWhatTheirPoliciesAllow(t *testing.T) {
	a := newAccount(t)
	ctx := t.Context()
	queue := "arn:aws:sqs:eu-central-1:" + root + ":"
	ann := "User: arn:aws:iam::" + root + ":user/ann is not authorized to perform: "
	stranger := a.user("stranger")
	wantDenied(t, "a user without policies", createQueue(ctx, stranger, "x"), "AccessDenied",
		"User: arn:aws:iam::"+root+":user/stranger is not authorized to perform: sqs:CreateQueue on resource: "+queue+
			"x because no identity-based policy allows the sqs:CreateQueue action")
	if _, err := sts.NewFromConfig(stranger).GetCallerIdentity(ctx, nil); err != nil {
		t.Errorf("GetCallerIdentity needs no permission: %v", err)
	}
	config := a.user("ann", allow(`["sqs:CreateQueue", "sqs:Get*"]`, queue+"mine-*"), allow(`"ec2:CreateVolume"`, "*"),
		`{"Effect":"Deny","Action":"sqs:*","Resource":"`+queue+`mine-not"}`,
		`{"Effect":"Allow","Action":"sqs:CreateQueue","Resource":"`+queue+`${aws:username}"}`,
		`{"Effect":"Allow","Action":"sqs:CreateQueue","Resource":"*","Condition":{"StringEquals":{"aws:RequestTag/team":"a"}}}`,
		`{"Effect":"Allow","Action":"sqs:TagQueue","Resource":"*","Condition":{"ForAllValues:StringEquals":{"aws:TagKeys":["team"]}}}`,
		`{"Effect":"Allow","Action":"sqs:DeleteQueue","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/team":"a"}}}`)
	for _, name := range []string{"mine-1", "ann"} {
		if err := createQueue(ctx, config, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantDenied(t, "another queue", createQueue(ctx, config, "other"), "AccessDenied",
		ann+"sqs:CreateQueue on resource: "+queue+"other because no identity-based policy allows the sqs:CreateQueue action")
	wantDenied(t, "an explicit denial", createQueue(ctx, config, "mine-not"), "AccessDenied",
		ann+"sqs:CreateQueue on resource: "+queue+"mine-not with an explicit deny in an identity-based policy")

	queues := sqs.NewFromConfig(config)
	tagged, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("tagged"), Tags: map[string]string{"team": "a"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("two"), Tags: map[string]string{"team": "a", "other": "b"}})
	wantDenied(t, "a tag that may not be set", err, "AccessDenied", ann+"sqs:TagQueue on resource: "+queue+"two")
	done(t)(queues.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: tagged.QueueUrl}))
	_, err = queues.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: aws.String(strings.Replace(*tagged.QueueUrl, "tagged", "ann", 1))})
	wantDenied(t, "a queue without the tag", err, "AccessDenied", ann+"sqs:DeleteQueue on resource: "+queue+"ann")

	_, err = iam.NewFromConfig(config).ListUsers(ctx, nil)
	wantDenied(t, "IAM", err, "AccessDenied", ann+"iam:ListUsers on resource: * because no identity-based policy allows the iam:ListUsers action")
	_, err = sns.NewFromConfig(config).CreateTopic(ctx, &sns.CreateTopicInput{Name: aws.String("t")})
	wantDenied(t, "SNS", err, "AuthorizationError", ann+"sns:CreateTopic on resource: arn:aws:sns:eu-central-1:"+root+":t")
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
// https://docs.aws.amazon.com/STS/latest/APIReference/API_DecodeAuthorizationMessage.html
func TestEC2EncodesTheReasonOfADenial(t *testing.T) {
	a := newAccount(t)
	config := a.user("ann", allow(`"sts:DecodeAuthorizationMessage"`, "*"), allow(`"ec2:CreateVolume"`, "*"))
	_, err := ec2.NewFromConfig(config).CreateVolume(t.Context(), &ec2.CreateVolumeInput{
		AvailabilityZone: aws.String("eu-central-1a"), Size: aws.Int32(1), TagSpecifications: []ec2types.TagSpecification{{
			ResourceType: ec2types.ResourceTypeVolume, Tags: []ec2types.Tag{{Key: aws.String("a"), Value: aws.String("b")}},
		}},
	})
	wantDenied(t, "tags at creation", err, "UnauthorizedOperation",
		"You are not authorized to perform this operation. User: arn:aws:iam::"+root+":user/ann is not authorized to perform: "+
			"ec2:CreateTags on resource: arn:aws:ec2:eu-central-1:"+root+":volume/* because no identity-based policy allows the "+
			"ec2:CreateTags action. Encoded authorization failure message: ")
	encoded := err.Error()[strings.LastIndexByte(err.Error(), ' ')+1:]
	out, err := sts.NewFromConfig(config).DecodeAuthorizationMessage(
		t.Context(), &sts.DecodeAuthorizationMessageInput{EncodedMessage: &encoded},
	)
	if err != nil {
		t.Fatal(err)
	}
	var decoded struct {
		Allowed bool
		Context struct {
			Action, Resource string
			Principal        struct{ ARN string }
		}
	}
	if err := json.Unmarshal([]byte(*out.DecodedMessage), &decoded); err != nil || decoded.Allowed ||
		decoded.Context.Action != "ec2:CreateTags" || decoded.Context.Principal.ARN != "arn:aws:iam::"+root+":user/ann" {
		t.Errorf("got %s, %v", *out.DecodedMessage, err)
	}
}

// https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html
func TestBoundariesAndSessionPoliciesLimit(t *testing.T) {
	a := newAccount(t)
	ctx := t.Context()
	config := a.user("ann", allow(`["sqs:*", "sts:AssumeRole"]`, "*"))
	boundary, err := a.iam.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: aws.String("b"), PolicyDocument: policy(allow(`"sqs:*"`, "*:small-*"))})
	if err != nil {
		t.Fatal(err)
	}
	trust := `{"Effect":"Allow","Principal":{"AWS":"` + root + `"},"Action":"sts:AssumeRole"}`
	arn := a.role("wide", trust, allow(`"sqs:*"`, "*"))
	narrow, err := assume(ctx, config, &sts.AssumeRoleInput{RoleArn: &arn, Policy: policy(allow(`"sqs:CreateQueue"`, "*:one"))})
	if err != nil {
		t.Fatal(err)
	}
	if err := createQueue(ctx, narrow, "one"); err != nil {
		t.Error(err)
	}
	wantDenied(t, "outside of the session policy", createQueue(ctx, narrow, "two"), "AccessDenied",
		"because no session policy allows the sqs:CreateQueue action")
	limited, err := assume(ctx, config, &sts.AssumeRoleInput{
		RoleArn: &arn, PolicyArns: []ststypes.PolicyDescriptorType{{Arn: boundary.Policy.Arn}},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantDenied(t, "outside of the managed session policy", createQueue(ctx, limited, "two"), "AccessDenied", "no session policy")

	bounded, err := a.iam.CreateRole(ctx, &iam.CreateRoleInput{
		RoleName: aws.String("bounded"), AssumeRolePolicyDocument: policy(trust), PermissionsBoundary: boundary.Policy.Arn,
	})
	if err != nil {
		t.Fatal(err)
	}
	done(t)(a.iam.PutRolePolicy(ctx, &iam.PutRolePolicyInput{
		RoleName: aws.String("bounded"), PolicyName: aws.String("p"), PolicyDocument: policy(allow(`"sqs:*"`, "*")),
	}))
	session, err := assume(ctx, config, &sts.AssumeRoleInput{RoleArn: bounded.Role.Arn})
	if err != nil {
		t.Fatal(err)
	}
	if err := createQueue(ctx, session, "small-1"); err != nil {
		t.Error(err)
	}
	wantDenied(t, "outside of the boundary", createQueue(ctx, session, "large"), "AccessDenied",
		"because no permissions boundary allows the sqs:CreateQueue action")
}

// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_create_for-user_externalid.html
// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_session-tags.html
func TestTrustPoliciesDecideWhoAssumesARole(t *testing.T) {
	a := newAccount(t)
	ctx := t.Context()
	other := a.of("210987654321")
	statement := func(principal, condition string) string {
		return `{"Effect":"Allow","Principal":{"AWS":"` + principal + `"},"Action":["sts:AssumeRole","sts:TagSession"]` + condition + `}`
	}
	external := `,"Condition":{"StringEquals":{"sts:ExternalId":"secret"}}`
	arn := other.role("partner", statement("arn:aws:iam::"+root+":root", external), allow(`"sqs:*"`, "*:${aws:PrincipalTag/team}-*"))
	ann, bob := a.user("ann", allow(`["sts:AssumeRole","sts:TagSession"]`, "arn:aws:iam::210987654321:role/*")), a.user("bob")
	for name, test := range map[string]struct {
		config aws.Config
		in     sts.AssumeRoleInput
		want   string
	}{
		"with the external ID":     {ann, sts.AssumeRoleInput{RoleArn: &arn, ExternalId: aws.String("secret")}, ""},
		"with another external ID": {ann, sts.AssumeRoleInput{RoleArn: &arn, ExternalId: aws.String("guess")}, "AccessDenied"},
		"without one":              {ann, sts.AssumeRoleInput{RoleArn: &arn}, "AccessDenied"},
		"a user without policies":  {bob, sts.AssumeRoleInput{RoleArn: &arn, ExternalId: aws.String("secret")}, "AccessDenied"},
		"a role that does not exist": {
			ann, sts.AssumeRoleInput{RoleArn: aws.String(arn + "x"), ExternalId: aws.String("secret")}, "AccessDenied",
		},
		"the root user": {a.root, sts.AssumeRoleInput{RoleArn: &arn, ExternalId: aws.String("secret")}, "AccessDenied"},
		"for longer than the role": {
			ann, sts.AssumeRoleInput{RoleArn: &arn, ExternalId: aws.String("secret"), DurationSeconds: aws.Int32(7200)}, "ValidationError",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := assume(ctx, test.config, &test.in); code(err) != test.want || test.want == "" && err != nil {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	session, err := assume(ctx, ann, &sts.AssumeRoleInput{
		RoleArn: &arn, ExternalId: aws.String("secret"), Tags: []ststypes.Tag{{Key: aws.String("team"), Value: aws.String("a")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := createQueue(ctx, session, "a-1"); err != nil {
		t.Error(err)
	}
	wantDenied(t, "another team's", createQueue(ctx, session, "b-1"), "AccessDenied",
		"User: arn:aws:sts::210987654321:assumed-role/partner/session is not authorized to perform: sqs:CreateQueue")

	// In its own account, a trust policy that names the user is sufficient.
	own := a.role("own", statement("arn:aws:iam::"+root+":user/bob", ""), allow(`"sqs:*"`, "*"))
	again, err := assume(ctx, bob, &sts.AssumeRoleInput{RoleArn: &own})
	if err != nil {
		t.Fatal(err)
	}
	// A session does not outlive its role's policies.
	done(t)(a.iam.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: aws.String("own"), PolicyName: aws.String("p")}))
	wantDenied(t, "without the policy", createQueue(ctx, again, "x"), "AccessDenied", "assumed-role/own/session")
}

// https://docs.aws.amazon.com/AmazonS3/latest/userguide/how-s3-evaluates-access-control.html
// https://docs.aws.amazon.com/kms/latest/developerguide/policy-evaluation.html
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-iam-servicerole.html
func TestCloudFormationActsForItsCallerOrItsRole(t *testing.T) {
	a := newAccount(t)
	ctx := t.Context()
	service := `{"Effect":"Allow","Principal":{"Service":"cloudformation.amazonaws.com"},"Action":"sts:AssumeRole"}`
	role := a.role("stacks", service, allow(`"sqs:*"`, "*"))
	stacks := allow(`"cloudformation:*"`, "*")
	plain := a.user("plain", stacks)
	passes := a.user("passes", stacks, `{"Effect":"Allow","Action":"iam:PassRole","Resource":"`+role+`","Condition":{"StringEquals":{"iam:PassedToService":"cloudformation.amazonaws.com"}}}`)
	template := aws.String(`{"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}}`)
	create := func(config aws.Config, name string, role *string) (string, error) {
		client := cloudformation.NewFromConfig(config)
		stack := &cloudformation.CreateStackInput{StackName: &name, TemplateBody: template, RoleARN: role}
		if _, err := client.CreateStack(ctx, stack); err != nil {
			return "", err
		}
		in := &cloudformation.DescribeStacksInput{StackName: &name}
		err := cloudformation.NewStackCreateCompleteWaiter(client).Wait(ctx, in, 60e9)
		events, eventsErr := client.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &name})
		if eventsErr != nil {
			return "", eventsErr
		}
		var reasons []string
		for _, event := range events.StackEvents {
			reasons = append(reasons, aws.ToString(event.ResourceStatusReason))
		}
		return strings.Join(reasons, "\n"), err
	}
	if reasons, err := create(plain, "a", nil); err == nil || !strings.Contains(reasons, "user/plain is not authorized to perform: sqs:CreateQueue") {
		t.Errorf("got %v, %s", err, reasons)
	}
	_, err := create(plain, "b", &role)
	wantDenied(t, "a role that may not be passed", err, "AccessDenied", "is not authorized to perform: iam:PassRole on resource: "+role)
	if reasons, err := create(passes, "c", &role); err != nil {
		t.Errorf("got %v, %s", err, reasons)
	}
}

// https://docs.aws.amazon.com/sns/latest/dg/subscribe-sqs-queue-to-sns-topic.html
func TestAuditReportsDenials(t *testing.T) {
	var lines []string
	a := &account{t: t, root: enforced(t, simulator.Options{IAM: access.Audit, Audit: func(line string) { lines = append(lines, line) }})}
	a.iam = iam.NewFromConfig(a.root)
	if err := createQueue(t.Context(), a.user("ann"), "x"); err != nil {
		t.Error(err)
	}
	want := "arn:aws:iam::" + root + ":user/ann would not be authorized to perform: sqs:CreateQueue on resource: " +
		"arn:aws:sqs:eu-central-1:" + root + ":x because no identity-based policy allows the sqs:CreateQueue action"
	if len(lines) != 1 || lines[0] != want {
		t.Errorf("got %q", lines)
	}
}

// The actions of every operation are known, so that none is decided by a guess.
// https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
func TestActionsOfEveryOperationAreKnown(t *testing.T) {
	sim := simulator.New(simulator.Options{Lag: simulator.NoLag})
	defer sim.Close()
	for service, operations := range sim.Operations() {
		for _, operation := range operations {
			if !access.Documented(service, operation) {
				t.Errorf("%s:%s is not in internal/simulator/access/actions", service, operation)
			}
		}
	}
}

// CloudFormation reads Parameter Store with the permissions of the caller.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-supplied-parameter-types.html
func TestParametersOfStacksAreReadWithThePermissionsOfTheCaller(t *testing.T) {
	a := newAccount(t)
	ctx := t.Context()
	done(t)(ssm.NewFromConfig(a.root).PutParameter(ctx, &ssm.PutParameterInput{
		Name: aws.String("/image"), Value: aws.String("one"), Type: ssmtypes.ParameterTypeString,
	}))
	stacks := allow(`["cloudformation:*","sqs:*"]`, "*")
	create := func(config aws.Config, name string) error {
		_, err := cloudformation.NewFromConfig(config).CreateStack(ctx, &cloudformation.CreateStackInput{
			StackName: &name, TemplateBody: aws.String(`{"Parameters": {"P": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/image"}},
				"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Ref": "P"}}}}}`),
		})
		return err
	}
	wantDenied(t, "without the permission", create(a.user("ann", stacks), "ann"), "ValidationError",
		"AccessDenied. User doesn't have permission to call ssm:GetParameters")
	if err := create(a.user("bob", stacks, allow(`"ssm:GetParameters"`, "*")), "bob"); err != nil {
		t.Errorf("with the permission: %v", err)
	}
}

// A new listener is tagged below its load balancer.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/tagging-resources-during-creation.html
