package dynamodb_test

import (
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
)

// No concurrent increment of a counter is lost, while other clients read and the table changes.
func TestConcurrentUpdatesAreAtomic(t *testing.T) {
	c := newSuite(t).simple("", "")
	name := aws.String("things")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				_, err := c.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
					TableName: name, Key: item{"id": s("a")},
					UpdateExpression:          aws.String("ADD n :one SET seen = list_append(if_not_exists(seen, :none), :none)"),
					ExpressionAttributeValues: item{":one": n("1"), ":none": list()},
				})
				if err != nil {
					t.Error(err)
				}
				if _, err := c.Scan(t.Context(), &dynamodb.ScanInput{TableName: name}); err != nil {
					t.Error(err)
				}
				if _, err := c.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: name}); err != nil {
					t.Error(err)
				}
				if _, err := c.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
					TableName: name, DeletionProtectionEnabled: aws.Bool(true),
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	got, err := c.GetItem(
		t.Context(), &dynamodb.GetItemInput{TableName: name, Key: item{"id": s("a")}, ProjectionExpression: aws.String("n")},
	)
	if d := cmp.Diff(item{"n": n("160")}, got.Item, ignore); err != nil || d != "" {
		t.Fatal(err, d)
	}
}
