package simulator_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// CloudFormation replaces a table whose key changes:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html
func TestTableWithChangedKeyIsReplaced(t *testing.T) {
	const table = `
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Properties: {NAME AttributeDefinitions: [{AttributeName: KEY, AttributeType: TYPE}],
                 KeySchema: [{AttributeName: KEY, KeyType: HASH}], BillingMode: PAY_PER_REQUEST}
Outputs:
  Name: {Value: !Ref Table}
`
	render := func(name, key, kind string) *string {
		return aws.String(strings.NewReplacer("NAME", name, "KEY", key, "TYPE", kind).Replace(table))
	}
	for _, c := range []struct {
		reason, name, key, kind string
		status                  cfntypes.StackStatus
		replaced                bool
		says                    string
	}{
		{"another key", "", "other", "S", cfntypes.StackStatusUpdateComplete, true, ""},
		{"another type of the key", "", "id", "N", cfntypes.StackStatusUpdateComplete, true, ""},
		{
			"a table with a name of its own cannot stand beside its replacement", "TableName: mine,", "id", "N",
			cfntypes.StackStatusUpdateRollbackComplete, false,
			"CloudFormation cannot update a stack when a custom-named resource requires replacing. Rename mine and update the stack again.",
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			config := start(t)
			client := cloudformation.NewFromConfig(config)
			if _, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{
				StackName: aws.String("s"), TemplateBody: render(c.name, "id", "S"),
			}); err != nil {
				t.Fatal(err)
			}
			before := settled(t, client, cfntypes.StackStatusCreateComplete)
			if _, err := client.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: render(c.name, c.key, c.kind)}); err != nil {
				t.Fatal(err)
			}
			after := settled(t, client, c.status)
			if replaced := before != after; replaced != c.replaced {
				t.Errorf("the table was %s and is %s", before, after)
			}
			tables, err := dynamodb.NewFromConfig(config).ListTables(t.Context(), &dynamodb.ListTablesInput{})
			if err != nil || len(tables.TableNames) != 1 {
				t.Errorf("tables are %v, %v; want the one", tables.TableNames, err)
			}
			events, err := client.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: aws.String("s")})
			if err != nil {
				t.Fatal(err)
			}
			var reasons []string
			for _, event := range events.StackEvents {
				reasons = append(reasons, aws.ToString(event.ResourceStatusReason))
			}
			if !strings.Contains(strings.Join(reasons, "\n"), c.says) {
				t.Errorf("no event says %q:\n%s", c.says, strings.Join(reasons, "\n"))
			}
		})
	}
}

// waitForStack waits until the stack has the status, and returns its table's name.
func settled(t *testing.T, client *cloudformation.Client, status cfntypes.StackStatus) string {
	t.Helper()
	for {
		out, err := client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("s")})
		if err != nil {
			t.Fatal(err)
		}
		stack := out.Stacks[0]
		if stack.StackStatus == status {
			return *stack.Outputs[0].OutputValue
		}
		if !strings.HasSuffix(string(stack.StackStatus), "IN_PROGRESS") {
			t.Fatalf("the stack is %s: %s", stack.StackStatus, aws.ToString(stack.StackStatusReason))
		}
	}
}
