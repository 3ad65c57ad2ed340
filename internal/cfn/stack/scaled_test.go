package stack

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

const scaledTemplate = `
Resources:
  Table: {Type: AWS::DynamoDB::Table}
  Other: {Type: AWS::DynamoDB::Table}
  Service: {Type: AWS::ApplicationAutoScaling::ScalableTarget, Properties: {ResourceId: service/a/b, ScalableDimension: ecs:service:DesiredCount}}
  Reads:
    Type: AWS::ApplicationAutoScaling::ScalableTarget
    Properties: {ResourceId: {Fn::Sub: "table/${Table}"}, ScalableDimension: dynamodb:table:ReadCapacityUnits}
  OfIndexes:
    Type: AWS::ApplicationAutoScaling::ScalableTarget
    Properties: {ResourceId: {Fn::Join: ["", ["table/", {Ref: Table}, /index/a]]}, ScalableDimension: dynamodb:index:WriteCapacityUnits}
`

// TestOnlyScaledCapacityIsNoDrift tests that drift of everything but what a scalable target of the
// template names still counts.
func TestOnlyScaledCapacityIsNoDrift(t *testing.T) {
	parsed, err := template.Parse("template.yaml", []byte(scaledTemplate))
	if err != nil {
		t.Fatal(err)
	}
	different := func(kind types.DifferenceType, path, expected, actual string) types.PropertyDifference {
		return types.PropertyDifference{DifferenceType: kind, PropertyPath: &path, ExpectedValue: &expected, ActualValue: &actual}
	}
	const (
		changed, removed, added = types.DifferenceTypeNotEqual, types.DifferenceTypeRemove, types.DifferenceTypeAdd
		index, scaledIndex      = `{"IndexName":"a","ProvisionedThroughput":{"WriteCapacityUnits":5}}`, `{"IndexName":"a","ProvisionedThroughput":{"WriteCapacityUnits":9}}`
		otherIndex              = `{"IndexName":"b","ProvisionedThroughput":{"WriteCapacityUnits":9}}`
	)
	for _, c := range []struct {
		reason, resource string
		differences      []types.PropertyDifference
		left             int
	}{
		{"the capacity of the target", "Table", []types.PropertyDifference{different(changed, "/ProvisionedThroughput/ReadCapacityUnits", "5", "9")}, 0},
		{"a capacity without a target", "Table", []types.PropertyDifference{different(changed, "/ProvisionedThroughput/WriteCapacityUnits", "5", "9")}, 1},
		{"another table", "Other", []types.PropertyDifference{different(changed, "/ProvisionedThroughput/ReadCapacityUnits", "5", "9")}, 1},
		{"the capacity of an index", "Table", []types.PropertyDifference{
			different(changed, "/GlobalSecondaryIndexes/0/ProvisionedThroughput/WriteCapacityUnits", "5", "9"),
			different(changed, "/GlobalSecondaryIndexes/0/ProvisionedThroughput/ReadCapacityUnits", "5", "9"),
		}, 1},
		{"an index at another position", "Table", []types.PropertyDifference{
			different(removed, "/GlobalSecondaryIndexes/0", index, "null"),
			different(added, "/GlobalSecondaryIndexes/1", "null", scaledIndex),
		}, 0},
		{"another index", "Table", []types.PropertyDifference{
			different(removed, "/GlobalSecondaryIndexes/0", index, "null"),
			different(added, "/GlobalSecondaryIndexes/1", "null", otherIndex),
		}, 2},
		{"a table that was deleted", "Table", nil, 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			left := scaledIn(parsed).unscaled([]types.StackResourceDrift{{
				LogicalResourceId: aws.String(c.resource), PropertyDifferences: c.differences,
			}})
			if stays := len(c.differences) == 0 || c.left > 0; stays != (len(left) == 1) {
				t.Fatalf("left is %+v", left)
			}
			if len(left) == 1 && len(left[0].PropertyDifferences) != c.left {
				t.Errorf("left are the differences %+v", left[0].PropertyDifferences)
			}
		})
	}
}
