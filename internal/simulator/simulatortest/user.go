package simulatortest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/aws-operator/aws-operator/internal/simulator"
)

// Administrator is the policy of an administrator.
const Administrator = "arn:aws:iam::aws:policy/AdministratorAccess"

// Root returns a configuration of the root user of an account. Root users may do everything in their
// account, except assume roles.
func Root(endpoint, account, region string) aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider(account, simulator.RootSecret, ""),
	}
}

// User creates a user with managed policies, by their ARNs, and returns its key.
func User(tb testing.TB, root aws.Config, name string, policies ...string) aws.Credentials {
	tb.Helper()
	client := iam.NewFromConfig(root)
	if _, err := client.CreateUser(tb.Context(), &iam.CreateUserInput{UserName: &name}); err != nil {
		tb.Fatal(err)
	}
	for _, arn := range policies {
		if _, err := client.AttachUserPolicy(tb.Context(), &iam.AttachUserPolicyInput{UserName: &name, PolicyArn: &arn}); err != nil {
			tb.Fatal(err)
		}
	}
	made, err := client.CreateAccessKey(tb.Context(), &iam.CreateAccessKeyInput{UserName: &name})
	if err != nil {
		tb.Fatal(err)
	}
	return aws.Credentials{AccessKeyID: *made.AccessKey.AccessKeyId, SecretAccessKey: *made.AccessKey.SecretAccessKey}
}

// Role creates a role that an account may assume, with an external ID if it is not empty, and with
// managed policies.
func Role(tb testing.TB, root aws.Config, name, trusted, externalID string, policies ...string) (arn string) {
	tb.Helper()
	statement := map[string]any{
		"Effect": "Allow", "Principal": map[string]string{"AWS": "arn:aws:iam::" + trusted + ":root"}, "Action": []string{"sts:AssumeRole", "sts:TagSession"},
	}
	if externalID != "" {
		statement["Condition"] = map[string]any{"StringEquals": map[string]string{"sts:ExternalId": externalID}}
	}
	trust, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": []any{statement}})
	if err != nil {
		tb.Fatal(err)
	}
	client := iam.NewFromConfig(root)
	made, err := client.CreateRole(tb.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(string(trust))})
	if err != nil {
		tb.Fatal(err)
	}
	for _, policy := range policies {
		if _, err := client.AttachRolePolicy(tb.Context(), &iam.AttachRolePolicyInput{RoleName: &name, PolicyArn: &policy}); err != nil {
			tb.Fatal(err)
		}
	}
	return *made.Role.Arn
}

// Policies creates a managed policy for each file that matches a pattern, with the file's name, and
// returns their ARNs.
func Policies(tb testing.TB, root aws.Config, patterns ...string) (arns []string) {
	tb.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			tb.Fatalf("no file matches %s: %v", pattern, err)
		}
		for _, file := range files {
			document, err := os.ReadFile(file) //nolint:gosec // the test names it
			if err != nil {
				tb.Fatal(err)
			}
			arns = append(arns, Policy(tb, root, strings.TrimSuffix(filepath.Base(file), ".json"), string(document)))
		}
	}
	return arns
}

// Policy creates a managed policy, and returns its ARN.
func Policy(tb testing.TB, root aws.Config, name, document string) (arn string) {
	tb.Helper()
	made, err := iam.NewFromConfig(root).CreatePolicy(tb.Context(), &iam.CreatePolicyInput{PolicyName: &name, PolicyDocument: &document})
	if err != nil {
		tb.Fatalf("policy %s: %v", name, err)
	}
	return *made.Policy.Arn
}
