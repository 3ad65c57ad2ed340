package controller_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const dynamoTable = `
kind: DynamoDB
metadata:
  name: dynamo-table
spec:
  hashAttribute:
    name: name
    type: S
  rangeAttribute:
    name: created_at
    type: S
  readCapacityUnits: 5
  writeCapacityUnits: 5
`

// TestDynamoDB follows a table through its lifecycle.
func TestDynamoDB(t *testing.T) {
	w := newSuite(t, nil)
	tables := dynamodb.NewFromConfig(w.awsConfig())
	w.apply(dynamoTable)
	obj := w.ready("DynamoDB", "dynamo-table")
	arn := "arn:aws:dynamodb:eu-west-1:123456789012:table/dynamo-table"
	for path, want := range map[string]any{"tableARN": arn, "tableName": "dynamo-table"} {
		if got := nested(obj, "output", path); got != want {
			t.Errorf("output.%s is %v, want %v", path, got, want)
		}
	}
	if got := nested(obj, "status", "resourceStatus"); got != "CREATE_COMPLETE" {
		t.Errorf("status.resourceStatus is %v", got)
	}
	if got := fmt.Sprint(nested(obj, "additionalResources", "configMaps")); got != "[dynamo-table]" {
		t.Errorf("additionalResources.configMaps is %v", got)
	}
	configMap := &corev1.ConfigMap{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "dynamo-table"}, configMap); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(configMap.Data), fmt.Sprintf("map[region:eu-west-1 tableARN:%s tableName:dynamo-table]", arn); got != want {
		t.Errorf("the ConfigMap holds %s, want %s", got, want)
	}
	_, err := tables.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String("dynamo-table"),
		Item: map[string]types.AttributeValue{
			"name": &types.AttributeValueMemberS{Value: "a"}, "created_at": &types.AttributeValueMemberS{Value: "now"},
		},
	})
	if err != nil {
		t.Fatalf("the table accepts no item: %v", err)
	}

	w.change("DynamoDB", "dynamo-table", `{"spec":{"readCapacityUnits":7}}`)
	w.eventually("the table has 7 read capacity units", func() error {
		out, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("dynamo-table")})
		if err != nil {
			return err
		}
		if got := aws.ToInt64(out.Table.ProvisionedThroughput.ReadCapacityUnits); got != 7 {
			return fmt.Errorf("it has %d", got)
		}
		return nil
	})
	obj = w.ready("DynamoDB", "dynamo-table")
	if got := nested(obj, "status", "resourceStatus"); got != "UPDATE_COMPLETE" {
		t.Errorf("status.resourceStatus is %v", got)
	}

	w.delete("DynamoDB", "dynamo-table")
	if stacks := w.stacks(); len(stacks) != 0 {
		t.Errorf("stacks are left: %v", stacks)
	}
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(configMap), configMap); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap is left: %v", err)
	}
	if _, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("dynamo-table")}); err == nil {
		t.Error("the table is left")
	}
}
