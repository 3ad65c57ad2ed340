package iam

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/hashicorp/hcl/v2/hclparse"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/golden"
	"github.com/aws-operator/aws-operator/internal/permissions"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const (
	account = "123456789012"
	region  = "eu-central-2"
)

func run(t *testing.T, args ...string) (out, errOut string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	cmd := Command()
	cmd.SetOut(&o)
	cmd.SetErr(&e)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(append([]string{"policy"}, args...))
	err = cmd.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

// documents returns the JSON documents that the command prints.
func documents(t *testing.T, args ...string) (all []string) {
	t.Helper()
	out, _, err := run(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	for decoder := json.NewDecoder(strings.NewReader(out)); decoder.More(); {
		var document json.RawMessage
		if err := decoder.Decode(&document); err != nil {
			t.Fatal(err)
		}
		all = append(all, string(document))
	}
	return all
}

func TestPoliciesAreGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"queues.json":  {"--kind", "SQSQueue,SNSSubscription", "--cluster-name", "blue", "--aws-region", region, "--aws-account-id", account},
		"cluster.yaml": {"--kind", "Cluster", "--cluster", "demo", "--aws-region", "cn-north-1", "--aws-account-id", account, "-o", formatCloudFormation},
		"terminal.tf": {
			"--kind", "DynamoDB", "--terminal", "--state-bucket", "state", "--assume-role", "arn:aws-us-gov:iam::210987654321:role/other",
			"--partition", "aws-us-gov", "-o", formatTerraform,
		},
		"trial.json": {"--trial", "--aws-region", region, "--aws-account-id", account},
	} {
		out, _, err := run(t, args...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		golden.Equal(t, name, []byte(out))
	}
}

// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html and
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
func TestEveryChoiceHasValidPoliciesOfAllowedSize(t *testing.T) {
	choices := [][]string{
		nil, {"--trial"}, {"--terminal", "--state-bucket", "state"}, {"--kind", clusterKind, "--cluster", "one,two,three"},
	}
	for _, kind := range append(permissions.Kinds(), clusterKind) {
		choices = append(choices, []string{"--kind", kind}, []string{"--kind", kind, "--aws-region", region, "--aws-account-id", account})
	}
	const maxAttached = 10
	for _, args := range choices {
		all := documents(t, args...)
		if len(all) == 0 || len(all) > maxAttached {
			t.Errorf("%q: %d documents", args, len(all))
		}
		for i, document := range all {
			if _, err := iampolicy.ParseIdentity("policy", document); err != nil {
				t.Errorf("%q: document %d: %v", args, i+1, err)
			}
			if size := len(strings.Join(strings.Fields(document), "")); size > permissions.MaxPolicy {
				t.Errorf("%q: document %d has %d characters", args, i+1, size)
			}
			if strings.ContainsAny(strings.NewReplacer("{\n", "", "}\n", "").Replace(document), "$%") {
				t.Errorf("%q: document %d has text that Terraform interpolates", args, i+1)
			}
		}
	}
}

// IAM itself evaluates the policies: only the chosen kinds, only through CloudFormation, and only in
// the chosen account, region and stacks.
func TestPolicyAllowsWhatItsKindNeedsAndNothingElse(t *testing.T) {
	_, endpoint := simulatortest.Start(t, simulator.Options{Region: region, Lag: simulator.NoLag})
	client := iam.NewFromConfig(simulatortest.Root(endpoint, account, region))
	policies := documents(t, "--kind", "SQSQueue", "--aws-region", region, "--aws-account-id", account)
	const stack = "arn:aws:cloudformation:" + region + ":" + account + ":stack/"
	via := []types.ContextEntry{{
		ContextKeyName: aws.String("aws:CalledVia"), ContextKeyType: types.ContextKeyTypeEnumStringList,
		ContextKeyValues: []string{"cloudformation.amazonaws.com"},
	}}
	for _, row := range []struct {
		action, resource string
		context          []types.ContextEntry
		want             bool
	}{
		{"cloudformation:CreateStack", stack + "aws-operator-sqsqueue-orders-default/1", nil, true},
		{"cloudformation:CreateStack", stack + "aws-operator-events/1", nil, true},
		{"cloudformation:CreateStack", stack + "aws-operator-dynamodb-orders-default/1", nil, false},
		{"cloudformation:CreateStack", stack + "payroll/1", nil, false},
		{"cloudformation:CreateStack", strings.Replace(stack, region, "us-east-1", 1) + "aws-operator-events/1", nil, false},
		{"sqs:CreateQueue", "arn:aws:sqs:" + region + ":" + account + ":orders", via, true},
		{"sqs:CreateQueue", "arn:aws:sqs:" + region + ":" + account + ":orders", nil, false},
		{"sqs:ReceiveMessage", "arn:aws:sqs:" + region + ":" + account + ":aws-operator-events", nil, true},
		{"sqs:ReceiveMessage", "arn:aws:sqs:" + region + ":" + account + ":orders", nil, false},
		{"dynamodb:CreateTable", "arn:aws:dynamodb:" + region + ":" + account + ":table/orders", via, false},
		{"iam:CreateRole", "arn:aws:iam::" + account + ":role/r", via, false},
		{"sts:AssumeRole", "arn:aws:iam::" + account + ":role/r", nil, false},
	} {
		out, err := client.SimulateCustomPolicy(t.Context(), &iam.SimulateCustomPolicyInput{
			ActionNames: []string{row.action}, ResourceArns: []string{row.resource}, PolicyInputList: policies, ContextEntries: row.context,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := out.EvaluationResults[0].EvalDecision; (got == types.PolicyEvaluationDecisionTypeAllowed) != row.want {
			t.Errorf("%s on %s: %s, want allowed: %t", row.action, row.resource, got, row.want)
		}
	}
}

func TestTemplateAndConfigurationAreValid(t *testing.T) {
	out, errOut, err := run(t, "-o", formatCloudFormation)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := template.Parse("policies.yaml", []byte(out)); err != nil {
		t.Error(err)
	}
	if !strings.Contains(errOut, "Attach all of them") {
		t.Errorf("the command does not say that there are several policies: %q", errOut)
	}
	if out, _, err = run(t, "-o", formatTerraform); err != nil {
		t.Fatal(err)
	}
	if _, problems := hclparse.NewParser().ParseHCL([]byte(out), "policies.tf"); problems.HasErrors() {
		t.Error(problems)
	}
}

func TestOutWritesAFileForEachPolicy(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "policies")
	if _, _, err := run(t, "--out", folder, "--cluster-name", "blue"); err != nil {
		t.Fatal(err)
	}
	printed := documents(t, "--cluster-name", "blue")
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != len(printed) || entries[0].Name() != "blue-1.json" {
		t.Fatalf("%v, %v, want %d files", entries, err, len(printed))
	}
	text, err := os.ReadFile(filepath.Join(folder, "blue-1.json"))
	if err != nil || strings.TrimSpace(string(text)) != printed[0] {
		t.Errorf("the file differs from what the command prints: %v", err)
	}
}

func TestWrongChoicesAreRefused(t *testing.T) {
	for want, args := range map[string][]string{
		"Kinesis is not one of":                  {"--kind", "Kinesis"},
		"--kind does not include Cluster":        {"--kind", "SQSQueue", "--cluster", "demo"},
		"add --terminal":                         {"--state-bucket", "b"},
		"is in the partition aws-cn, not in aws": {"--aws-region", "cn-north-1", "--partition", "aws"},
		"--partition aws-mars is unknown":        {"--partition", "aws-mars"},
		"--output yaml is unknown":               {"-o", "yaml"},
		"--out writes JSON":                      {"-o", formatTerraform, "--out", "x"},
	} {
		if _, _, err := run(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
	if slices.Contains(permissions.Kinds(), clusterKind) {
		t.Errorf("%s is also a kind of a service", clusterKind)
	}
}
