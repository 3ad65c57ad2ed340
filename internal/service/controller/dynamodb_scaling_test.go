package controller_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// scales sets the capacity of a table and its index as Application Auto Scaling does.
func (w *suite) scales(table, index string, reads, writes int64) {
	w.t.Helper()
	units := &types.ProvisionedThroughput{ReadCapacityUnits: &reads, WriteCapacityUnits: &writes}
	for _, in := range []*dynamodb.UpdateTableInput{
		{TableName: &table, ProvisionedThroughput: units},
		{TableName: &table, GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{
			{Update: &types.UpdateGlobalSecondaryIndexAction{IndexName: &index, ProvisionedThroughput: units}},
		}},
	} {
		w.eventually("the capacity changes", func() error {
			_, err := dynamodb.NewFromConfig(w.awsConfig()).UpdateTable(w.t.Context(), in)
			return err
		})
	}
}

// TestCapacityOfAutoScalingIsNoDrift tests that the operator neither reports nor reverts the capacity that
// Application Auto Scaling sets, and still does other drift of the table.
func TestCapacityOfAutoScalingIsNoDrift(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
kind: DynamoDB
metadata: {name: views, annotations: {service-operator.aws/drift-policy: Revert}}
spec:
  hashAttribute: {name: page, type: S}
  readCapacityUnits: 5
  minReadCapacityUnits: 5
  maxReadCapacityUnits: 100
  writeCapacityUnits: 5
  attributes: [{name: visitor, type: S}]
  globalSecondaryIndexes: [{name: by-visitor, hashAttribute: visitor}]
`)
	w.ready("DynamoDB", "views")
	const resourceType = "AWS::DynamoDB::Table"
	w.scales("views", "by-visitor", 40, 5)
	found := w.checkDrift("DynamoDB", "views", "False", "InSync")
	if !strings.Contains(found.Message, "Application Auto Scaling") {
		t.Errorf("the message is %q", found.Message)
	}
	client := dynamodb.NewFromConfig(w.awsConfig())
	w.eventually("a user changes the capacity for writes", func() error {
		_, err := client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
			TableName:             aws.String("views"),
			ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(40), WriteCapacityUnits: aws.Int64(7)},
		})
		return err
	})
	answered := w.askDrift("DynamoDB", "views")
	w.eventually("the capacity for writes is reverted", func() error {
		units := w.live(resourceType, "views")["ProvisionedThroughput"]
		if fmt.Sprint(units) == "map[ReadCapacityUnits:40 WriteCapacityUnits:5]" {
			return nil
		}
		if answered() { // DynamoDB may still have been changing the table
			answered = w.askDrift("DynamoDB", "views")
		}
		obj, err := w.get("DynamoDB", "views")
		return errors.Join(err, fmt.Errorf("it is %v, and the object %s", units, show(nested(obj, "status", "conditions"))))
	})
	w.checkDrift("DynamoDB", "views", "False", "InSync")
	if got := fmt.Sprint(w.live(resourceType, "views")["GlobalSecondaryIndexes"]); !strings.Contains(got, "ReadCapacityUnits:40") {
		t.Errorf("the capacity of the index was reverted: %s", got)
	}
}
