package dynamodb_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	clocktesting "k8s.io/utils/clock/testing"

	simulated "github.com/aws-operator/aws-operator/internal/simulator/dynamodb"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// suite is a simulated DynamoDB behind a real HTTP server.
type suite struct {
	t      *testing.T
	clock  *clocktesting.FakeClock
	tables *simulated.Tables
	url    string
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	tables := simulated.New(&resource.Env{Clock: clock, Partition: "aws"})
	server := httptest.NewServer(wire.NewRouter([]*wire.Service{tables.Service()}, fault.New(), clock))
	t.Cleanup(server.Close)
	return &suite{t: t, clock: clock, tables: tables, url: server.URL}
}

// client returns a client of an account in a region.
func (w *suite) client(account, region string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &w.url, Region: region,
		Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	})
}

func (w *suite) mine() *dynamodb.Client { return w.client("111111111111", "eu-west-1") }

// simple creates a table "things" with partition key id and an optional sort key.
func (w *suite) simple(sortKey string, kind types.ScalarAttributeType) *dynamodb.Client {
	w.t.Helper()
	in := &dynamodb.CreateTableInput{
		TableName: aws.String("things"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	}
	if sortKey != "" {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &sortKey, AttributeType: kind})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: &sortKey, KeyType: types.KeyTypeRange})
	}
	c := w.mine()
	if _, err := c.CreateTable(w.t.Context(), in); err != nil {
		w.t.Fatal(err)
	}
	return c
}

func s(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
func n(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }
func list(v ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: v}
}

type item = map[string]types.AttributeValue

func put(t *testing.T, c *dynamodb.Client, items ...item) {
	t.Helper()
	for _, it := range items {
		if _, err := c.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("things"), Item: it}); err != nil {
			t.Fatal(err)
		}
	}
}

// wantError checks the code and message of an AWS error.
func wantError(t *testing.T, err error, code, message string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) {
		t.Fatalf("got %v, want %s", err, code)
	}
	if api.ErrorCode() != code || message != "" && api.ErrorMessage() != message {
		t.Fatalf("got %s: %s\nwant %s: %s", api.ErrorCode(), api.ErrorMessage(), code, message)
	}
}
