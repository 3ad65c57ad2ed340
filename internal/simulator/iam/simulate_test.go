package iam_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

const trust = `{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}}`

// https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulateCustomPolicy.html
func TestCustomPoliciesAreSimulated(t *testing.T) {
	c, _ := start(t)
	in := &awsiam.SimulateCustomPolicyInput{
		ActionNames:  []string{"s3:GetObject", "s3:PutObject", "sqs:SendMessage"},
		ResourceArns: []string{"arn:aws:s3:::demo/a"},
		PolicyInputList: []string{`{"Version": "2012-10-17", "Statement": [
			{"Effect": "Allow", "Action": "s3:*", "Resource": "arn:aws:s3:::demo/*", "Condition": {"StringEquals": {"aws:PrincipalTag/team": "blue"}}},
			{"Effect": "Deny", "Action": "s3:Put*", "Resource": "*"}]}`},
	}
	decisions := func() []types.PolicyEvaluationDecisionType {
		out, err := c.SimulateCustomPolicy(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		var all []types.PolicyEvaluationDecisionType
		for i := range out.EvaluationResults {
			all = append(all, out.EvaluationResults[i].EvalDecision)
		}
		if missing := out.EvaluationResults[0].MissingContextValues; len(in.ContextEntries) == 0 && !slices.Equal(missing, []string{"aws:PrincipalTag/team"}) {
			t.Errorf("the missing keys are %v", missing)
		}
		return all
	}
	const allowed, denied, none = types.PolicyEvaluationDecisionTypeAllowed, types.PolicyEvaluationDecisionTypeExplicitDeny,
		types.PolicyEvaluationDecisionTypeImplicitDeny
	if got := decisions(); !slices.Equal(got, []types.PolicyEvaluationDecisionType{none, denied, none}) {
		t.Errorf("without the tag: %v", got)
	}
	in.ContextEntries = []types.ContextEntry{{
		ContextKeyName: aws.String("aws:PrincipalTag/team"), ContextKeyType: types.ContextKeyTypeEnumString, ContextKeyValues: []string{"blue"},
	}}
	if got := decisions(); !slices.Equal(got, []types.PolicyEvaluationDecisionType{allowed, denied, none}) {
		t.Errorf("with the tag: %v", got)
	}
	in.PermissionsBoundaryPolicyInputList = []string{`{"Statement": {"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}}`}
	out, err := c.SimulateCustomPolicy(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if first := out.EvaluationResults[0]; first.EvalDecision != none || first.PermissionsBoundaryDecisionDetail == nil ||
		first.PermissionsBoundaryDecisionDetail.AllowedByPermissionsBoundary {
		t.Errorf("with a boundary: %+v", first)
	}
	in.PolicyInputList = []string{`{"Statement": {"Effect": "Allow", "Action": "sqs:*"}}`}
	_, err = c.SimulateCustomPolicy(t.Context(), in)
	wiretest.WantCode(t, err, "MalformedPolicyDocument")
}

// https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html
func TestPoliciesOfARoleAreSimulated(t *testing.T) {
	c, _ := start(t)
	made, err := c.CreateRole(t.Context(), &awsiam.CreateRoleInput{RoleName: aws.String("app"), AssumeRolePolicyDocument: aws.String(trust)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.PutRolePolicy(t.Context(), &awsiam.PutRolePolicyInput{RoleName: aws.String("app"), PolicyName: aws.String("queues"), PolicyDocument: aws.String(
		`{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "sqs:*", "Resource": "arn:aws:sqs:*:*:app-*"}}`,
	)})
	if err != nil {
		t.Fatal(err)
	}
	in := &awsiam.SimulatePrincipalPolicyInput{
		PolicySourceArn: made.Role.Arn, ActionNames: []string{"sqs:SendMessage"},
		ResourceArns: []string{"arn:aws:sqs:eu-central-1:123456789012:app-1", "arn:aws:sqs:eu-central-1:123456789012:other"}, MaxItems: aws.Int32(1),
	}
	var found []types.EvaluationResult
	pages := awsiam.NewSimulatePrincipalPolicyPaginator(c, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, page.EvaluationResults...)
	}
	if len(found) != 2 || found[0].EvalDecision != types.PolicyEvaluationDecisionTypeAllowed ||
		aws.ToString(found[0].MatchedStatements[0].SourcePolicyId) != "queues" ||
		found[1].EvalDecision != types.PolicyEvaluationDecisionTypeImplicitDeny {
		t.Errorf("the results are %+v", found)
	}
	in.PolicySourceArn = aws.String("arn:aws:iam::123456789012:role/none")
	_, err = c.SimulatePrincipalPolicy(t.Context(), in)
	wiretest.WantCode(t, err, "NoSuchEntity")
}

// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_policies.html
func TestPoliciesThatIAMDoesNotAcceptAreRefused(t *testing.T) {
	c, _ := start(t)
	refused := func(err error, want string) {
		t.Helper()
		if wiretest.WantCode(t, err, "MalformedPolicyDocument"); !strings.HasSuffix(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	for document, want := range map[string]string{
		`{"Statement": {"Effect": "Allow", "Action": "sts:AssumeRole"}}`:                                             "Missing required field Principal",
		`{"Statement": {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole", "Resource": "*"}}`: "Has prohibited field Resource",
		`{"Statement": {"Effect": "allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}}`:                  "Syntax errors in policy.",
	} {
		_, err := c.CreateRole(t.Context(), &awsiam.CreateRoleInput{RoleName: aws.String("app"), AssumeRolePolicyDocument: &document})
		refused(err, want)
	}
	for document, want := range map[string]string{
		`{"Statement": {"Effect": "Allow", "Action": "s3:*"}}`:                                    "Policy statement must contain resources.",
		`{"Statement": {"Effect": "Allow", "Resource": "*"}}`:                                     "Policy statement must contain actions.",
		`{"Statement": {"Effect": "Allow", "Action": "GetObject", "Resource": "*"}}`:              "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.",
		`{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "s3:*", "Resource": "*"}}`: "Policy document should not specify a principal.",
		`{`: "This policy contains invalid Json",
	} {
		_, err := c.CreatePolicy(t.Context(), &awsiam.CreatePolicyInput{PolicyName: aws.String("app"), PolicyDocument: &document})
		refused(err, want)
	}
}
