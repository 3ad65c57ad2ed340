package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

// TestAccessLevels tests the names that manifests use.
func TestAccessLevels(t *testing.T) {
	want := map[string][]string{
		"SQSQueue": {"Send", "Receive", "ReadWrite"}, "DynamoDB": {"Read", "ReadWrite"}, "CloudFrontDistribution": {"Invalidate"}, "S3Bucket": {"Read", "Write", "ReadWrite"}, "SNSTopic": {"Publish"},
		"AWSSecret": {"Read", "ReadWrite"}, "EncryptionKey": {"Encrypt", "Decrypt", "EncryptDecrypt"}, "DataStream": {"Read", "Write", "ReadWrite"},
		"Lambda": {"Invoke"}, "StepFunction": {"StartExecution", "Read"}, "RDSInstance": {"Connect", "MasterPassword"}, "AuroraCluster": {"Connect", "MasterPassword"}, "OpenSearchDomain": {"Read", "ReadWrite"},
	}
	got := map[string][]string{}
	for _, m := range models(t) {
		if len(m.AccessLevels) > 0 {
			got[m.Kind] = m.AccessNames()
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the levels differ (-want +got):\n%s", diff)
	}
}

// elsewhere are actions of services that the simulator lacks, which AWS limits to a resource.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awssecretsmanager.html
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonkinesisdatastreams.html
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonopensearchservice.html
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonrdsiamauthentication.html
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awslambda.html
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsstepfunctions.html
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudfront.html
var elsewhere = []string{
	"secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue", "secretsmanager:PutSecretValue",
	"kinesis:DescribeStreamSummary", "kinesis:GetRecords", "kinesis:GetShardIterator", "kinesis:ListShards", "kinesis:PutRecord", "kinesis:PutRecords",
	"es:ESHttpDelete", "es:ESHttpGet", "es:ESHttpHead", "es:ESHttpPatch", "es:ESHttpPost", "es:ESHttpPut", "rds-db:connect",
	"lambda:InvokeFunction", "states:DescribeExecution", "states:DescribeStateMachine", "states:GetExecutionHistory", "states:ListExecutions",
	"states:StartExecution", "states:StartSyncExecution",
	"cloudfront:CreateInvalidation", "cloudfront:GetInvalidation", "cloudfront:ListInvalidations",
}

// TestActionsOfAccessLevelsAreAWSs compares the actions with those of AWS's service authorization
// reference, by which the simulator evaluates IAM: each exists, and AWS limits it to resources.
func TestActionsOfAccessLevelsAreAWSs(t *testing.T) {
	limited := map[string]bool{}
	for _, operation := range access.Operations() {
		service, name, _ := strings.Cut(operation, ":")
		for _, p := range access.Permissions(service, name) {
			limited[p.Action] = limited[p.Action] || p.Resource != nil
		}
	}
	for _, m := range models(t) {
		for _, level := range m.AccessLevels {
			for _, statement := range level.Statements {
				for _, action := range statement.Actions {
					if !limited[action] && !slices.Contains(elsewhere, action) {
						t.Errorf("%s of %s has %s, which AWS does not know or does not limit to a resource", level.Name, m.Kind, action)
					}
				}
				if !slices.IsSorted(statement.Actions) || len(slices.Compact(slices.Clone(statement.Actions))) != len(statement.Actions) {
					t.Errorf("%s of %s has the actions %v, which change with their order", level.Name, m.Kind, statement.Actions)
				}
			}
		}
	}
}
