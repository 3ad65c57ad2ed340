package controller_test

import (
	"fmt"
	"slices"
	"strings"
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
		if got := nested(obj, "status", "output", path); got != want {
			t.Errorf("output.%s is %v, want %v", path, got, want)
		}
	}
	if got := nested(obj, "status", "resourceStatus"); got != "CREATE_COMPLETE" {
		t.Errorf("status.resourceStatus is %v", got)
	}
	if got := fmt.Sprint(nested(obj, "status", "additionalResources", "configMaps")); got != "[dynamo-table]" {
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

// TestIndexesAreAddedAndRemovedInPlace adds an index with an attribute of its own to a table with
// items, and removes it. The API server refuses what AWS would roll back.
func TestIndexesAreAddedAndRemovedInPlace(t *testing.T) {
	w := newSuite(t, nil)
	tables, name := dynamodb.NewFromConfig(w.awsConfig()), aws.String("indexed-table")
	w.apply(`{kind: DynamoDB, metadata: {name: indexed-table}, spec: {hashAttribute: {name: id, type: S}}}`)
	w.ready("DynamoDB", *name)
	if _, err := tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: name, Item: map[string]types.AttributeValue{
		"id": &types.AttributeValueMemberS{Value: "a"}, "color": &types.AttributeValueMemberS{Value: "red"},
	}}); err != nil {
		t.Fatal(err)
	}
	indexes := func(want string) func() error {
		return func() error {
			out, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: name})
			if err != nil {
				return err
			}
			var names []string
			for _, x := range out.Table.GlobalSecondaryIndexes {
				names = append(names, aws.ToString(x.IndexName))
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != want || aws.ToInt64(out.Table.ItemCount) != 1 {
				return fmt.Errorf("there are the indexes %q and %d items", got, aws.ToInt64(out.Table.ItemCount))
			}
			return nil
		}
	}
	w.change("DynamoDB", *name, `{"spec":{
		"attributes":[{"name":"color","type":"S"}],"globalSecondaryIndexes":[{"name":"by-color","hashAttribute":"color"}]}}`)
	w.eventually("the index by-color", indexes("by-color"))
	w.ready("DynamoDB", *name)

	obj, err := w.get("DynamoDB", *name)
	if err != nil {
		t.Fatal(err)
	}
	for reason, patch := range map[string]string{
		"change them in several steps": `{"spec":{"globalSecondaryIndexes":[
			{"name":"by-color","hashAttribute":"color"},{"name":"b-one","hashAttribute":"color"},{"name":"b-two","hashAttribute":"color"}]}}`,
		"add an index under another name": `{"spec":{"globalSecondaryIndexes":[{"name":"by-color","hashAttribute":"id"}],"attributes":null}}`,
		"cannot change, because DynamoDB creates them with the table": `{"spec":{"rangeAttribute":{"name":"at","type":"S"},
			"localSecondaryIndexes":[{"name":"own-color","rangeAttribute":"color"}]}}`,
		"add it, with its type, to attributes": `{"spec":{"attributes":null}}`,
	} {
		err := w.client.Patch(t.Context(), obj.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch)))
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", reason, err)
		}
	}

	w.change("DynamoDB", *name, `{"spec":{"attributes":null,"globalSecondaryIndexes":null}}`)
	w.eventually("no index", indexes(""))
	w.ready("DynamoDB", *name)
	w.delete("DynamoDB", *name)
}
