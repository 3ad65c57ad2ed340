package dynamodb_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

type properties = map[string]any

// tableProperties are the properties of a provisioned table. Its numbers are strings, which
// CloudFormation accepts.
func tableProperties() properties {
	return properties{
		"TableName":             "things",
		"AttributeDefinitions":  []any{properties{"AttributeName": "id", "AttributeType": "S"}},
		"KeySchema":             []any{properties{"AttributeName": "id", "KeyType": "HASH"}},
		"ProvisionedThroughput": properties{"ReadCapacityUnits": "5", "WriteCapacityUnits": 5.0},
	}
}

func request(p properties) resource.Request {
	return resource.Request{
		Account: "111111111111", Region: "eu-west-1", StackName: "stack", LogicalID: "Table", PhysicalID: "things",
		Properties: p, Tags: map[string]string{"aws:cloudformation:stack-name": "stack", "team": "blue"},
	}
}

func wantHandlerError(t *testing.T, err error, code, message string) {
	t.Helper()
	var e *resource.Error
	if !errors.As(err, &e) || e.Code != code || message != "" && e.Message != message {
		t.Fatalf("got %v, want %s: %s", err, code, message)
	}
}

func TestTableProvider(t *testing.T) {
	w := newSuite(t)
	c, p := w.mine(), w.tables.Providers()["AWS::DynamoDB::Table"]
	r := request(tableProperties())
	got, err := p.Create(t.Context(), r)
	if err != nil || got.PhysicalID != "things" || got.Attributes["Arn"] != "arn:aws:dynamodb:eu-west-1:111111111111:table/things" {
		t.Fatalf("got %+v %v", got, err)
	}
	_, err = p.Create(t.Context(), r)
	wantHandlerError(t, err, resource.AlreadyExists, "Resource of type 'AWS::DynamoDB::Table' with identifier 'things' already exists.")
	if _, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("things"), Item: item{"id": s("a")}}); err != nil {
		t.Fatal(err)
	}

	r.Properties["BillingMode"] = "PAY_PER_REQUEST"
	delete(r.Properties, "ProvisionedThroughput")
	r.Properties["AttributeDefinitions"] = append(
		r.Properties["AttributeDefinitions"].([]any), properties{"AttributeName": "color", "AttributeType": "S"},
	)
	r.Properties["GlobalSecondaryIndexes"] = []any{properties{
		"IndexName": "by-color", "KeySchema": []any{properties{"AttributeName": "color", "KeyType": "HASH"}},
		"Projection": properties{"ProjectionType": "ALL"},
	}}
	r.Properties["StreamSpecification"] = properties{"StreamViewType": "NEW_IMAGE"}
	r.Properties["TimeToLiveSpecification"] = properties{"AttributeName": "until", "Enabled": "true"}
	r.Properties["PointInTimeRecoverySpecification"] = properties{"PointInTimeRecoveryEnabled": true}
	r.Properties["Tags"] = []any{properties{"Key": "own", "Value": "yes"}}
	got, err = p.Update(t.Context(), r)
	if err != nil ||
		!strings.HasPrefix(got.Attributes["StreamArn"].(string), "arn:aws:dynamodb:eu-west-1:111111111111:table/things/stream/2026-") {
		t.Fatalf("got %+v %v", got, err)
	}
	live, err := p.Read(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range r.Properties {
		if name == "TimeToLiveSpecification" {
			want = properties{"AttributeName": "until", "Enabled": true}
		}
		if d := cmp.Diff(want, live[name]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	d, err := c.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("things")})
	if err != nil || *d.Table.ItemCount != 1 || d.Table.BillingModeSummary.BillingMode != "PAY_PER_REQUEST" {
		t.Fatalf("the items stay: %+v %v", d, err)
	}

	if err := p.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	wantHandlerError(t, p.Delete(t.Context(), r), resource.NotFound, "")
	_, err = p.Read(t.Context(), r)
	wantHandlerError(t, err, resource.NotFound, "Resource of type 'AWS::DynamoDB::Table' with identifier 'things' was not found.")
}

func TestTableProviderRefuses(t *testing.T) {
	tests := map[string]struct {
		change        func(properties)
		code, message string
	}{
		"what the service refuses, in its words": {
			func(p properties) { p["KeySchema"] = []any{properties{"AttributeName": "other", "KeyType": "HASH"}} },
			resource.InvalidRequest,
			"One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [other], AttributeDefinitions: [id]",
		},
		"a word for a number": {
			func(p properties) { p["ProvisionedThroughput"] = properties{"ReadCapacityUnits": "five"} }, resource.InvalidRequest, "",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := tableProperties()
			tt.change(p)
			_, err := newSuite(t).tables.Providers()["AWS::DynamoDB::Table"].Create(t.Context(), request(p))
			wantHandlerError(t, err, tt.code, tt.message)
		})
	}
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html
func TestTableProviderRefusesUpdatesOfIndexes(t *testing.T) {
	index := func(name, hash, sort string) properties {
		keys := []any{properties{"AttributeName": hash, "KeyType": "HASH"}}
		if sort != "" {
			keys = append(keys, properties{"AttributeName": sort, "KeyType": "RANGE"})
		}
		return properties{"IndexName": name, "KeySchema": keys, "Projection": properties{"ProjectionType": "ALL"}}
	}
	table := func(local, global []any) properties {
		p := tableProperties()
		delete(p, "ProvisionedThroughput")
		p["BillingMode"] = "PAY_PER_REQUEST"
		p["AttributeDefinitions"] = []any{
			properties{"AttributeName": "id", "AttributeType": "S"},
			properties{"AttributeName": "at", "AttributeType": "N"},
			properties{"AttributeName": "color", "AttributeType": "S"},
		}
		p["KeySchema"] = []any{properties{"AttributeName": "id", "KeyType": "HASH"}, properties{"AttributeName": "at", "KeyType": "RANGE"}}
		p["LocalSecondaryIndexes"], p["GlobalSecondaryIndexes"] = local, global
		return p
	}
	local, global := []any{index("own-color", "id", "color")}, []any{index("by-color", "color", "")}
	for name, tt := range map[string]struct {
		local, global []any
		code, message string
	}{
		"two new global indexes": {
			local, append([]any{index("one", "at", ""), index("two", "color", "at")}, global...),
			resource.InvalidRequest, "Cannot perform more than one GSI creation or deletion in a single update",
		},
		"one more global index, and one fewer": {
			local,
			[]any{index("one", "at", "")},
			resource.InvalidRequest, "Cannot perform more than one GSI creation or deletion in a single update",
		},
		"a global index with another key": {
			local,
			[]any{index("by-color", "color", "at")},
			resource.InvalidRequest,
			"Cannot update GSI's properties other than Provisioned Throughput and Contributor Insights Specification. You can create a new GSI with a different name.",
		},
		"a new local index": {
			append([]any{index("own-id", "id", "at")}, local...), global,
			resource.NotUpdatable, "LocalSecondaryIndexes of table things cannot be updated",
		},
		"no local index": {nil, global, resource.NotUpdatable, "LocalSecondaryIndexes of table things cannot be updated"},
		"a local index with another key": {
			[]any{index("own-color", "id", "at")}, global, resource.NotUpdatable, "LocalSecondaryIndexes of table things cannot be updated",
		},
		"one more global index": {local, append([]any{index("one", "at", "")}, global...), "", ""},
		"one fewer":             {local, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			provider := newSuite(t).tables.Providers()["AWS::DynamoDB::Table"]
			if _, err := provider.Create(t.Context(), request(table(local, global))); err != nil {
				t.Fatal(err)
			}
			_, err := provider.Update(t.Context(), request(table(tt.local, tt.global)))
			if tt.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantHandlerError(t, err, tt.code, tt.message)
		})
	}
}

func TestTableProviderGeneratesNames(t *testing.T) {
	p := tableProperties()
	delete(p, "TableName")
	provider := newSuite(t).tables.Providers()["AWS::DynamoDB::Table"]
	one, err := provider.Create(t.Context(), request(maps.Clone(p)))
	if err != nil || !strings.HasPrefix(one.PhysicalID, "stack-Table-") || len(one.PhysicalID) != len("stack-Table-")+12 {
		t.Fatalf("got %v %v", one, err)
	}
}

func TestProtectedTableOutlivesItsStack(t *testing.T) {
	p := tableProperties()
	p["DeletionProtectionEnabled"] = true
	provider := newSuite(t).tables.Providers()["AWS::DynamoDB::Table"]
	if _, err := provider.Create(t.Context(), request(p)); err != nil {
		t.Fatal(err)
	}
	wantHandlerError(t, provider.Delete(t.Context(), request(p)), resource.InvalidRequest,
		"Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-globaltable.html
func TestGlobalTableProvider(t *testing.T) {
	w := newSuite(t)
	provider := w.tables.Providers()["AWS::DynamoDB::GlobalTable"]
	p := tableProperties()
	delete(p, "ProvisionedThroughput")
	p["BillingMode"] = "PAY_PER_REQUEST"
	p["Replicas"] = []any{properties{"Region": "eu-west-1", "DeletionProtectionEnabled": true}}
	got, err := provider.Create(t.Context(), request(p))
	if err != nil || got.Attributes["TableId"] == "" {
		t.Fatalf("got %v %v", got, err)
	}
	live, err := provider.Read(t.Context(), request(p))
	if err != nil || live["Replicas"].([]any)[0].(properties)["DeletionProtectionEnabled"] != true {
		t.Fatalf("got %v %v", live, err)
	}
	p["Replicas"] = []any{properties{"Region": "us-east-1"}}
	_, err = provider.Update(t.Context(), request(p))
	wantHandlerError(
		t,
		err,
		resource.InvalidRequest,
		"The simulator does not replicate tables: Replicas must be one replica in the stack's region, eu-west-1",
	)
}
