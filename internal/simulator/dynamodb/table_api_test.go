package dynamodb_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func provisioned(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:             &name,
		AttributeDefinitions:  []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:             []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(5), WriteCapacityUnits: aws.Int64(5)},
	}
}

func TestTableLifecycle(t *testing.T) {
	w := newSuite(t)
	c := w.mine()
	made, err := c.CreateTable(t.Context(), provisioned("things"))
	if err != nil {
		t.Fatal(err)
	}
	d := made.TableDescription
	if *d.TableArn != "arn:aws:dynamodb:eu-west-1:111111111111:table/things" || d.TableStatus != types.TableStatusActive ||
		*d.ProvisionedThroughput.ReadCapacityUnits != 5 || d.BillingModeSummary != nil {
		t.Fatalf("unexpected %+v", d)
	}
	_, err = c.CreateTable(t.Context(), provisioned("things"))
	wantError(t, err, "ResourceInUseException", "Table already exists: things")
	for _, stranger := range []*dynamodb.Client{w.client("222222222222", "eu-west-1"), w.client("111111111111", "us-east-1")} {
		_, err = stranger.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("things")})
		wantError(t, err, "ResourceNotFoundException", "Requested resource not found: Table: things not found")
	}
	if _, err = c.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: aws.String("things"), DeletionProtectionEnabled: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	_, err = c.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("things")})
	wantError(
		t,
		err,
		"ValidationException",
		"Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.",
	)
	if _, err = c.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: aws.String("things"), DeletionProtectionEnabled: aws.Bool(false)}); err != nil {
		t.Fatal(err)
	}
	if _, err = c.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("things")}); err != nil {
		t.Fatal(err)
	}
	list, err := c.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(list.TableNames) != 0 {
		t.Fatalf("left over: %v %v", list, err)
	}
}

// Statuses:
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
func TestTableOperationsTakeConfiguredLatency(t *testing.T) {
	w := newSuite(t)
	c := w.mine()
	w.tables.SetLatency(10 * time.Second)
	status := func() types.TableStatus {
		d, err := c.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("things")})
		if err != nil {
			return ""
		}
		return d.Table.TableStatus
	}
	if _, err := c.CreateTable(t.Context(), provisioned("things")); err != nil || status() != types.TableStatusCreating {
		t.Fatalf("got %v %v", status(), err)
	}
	_, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("things"), Item: item{"id": s("a")}})
	wantError(t, err, "ResourceNotFoundException", "Requested resource not found")
	_, err = c.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("things")})
	wantError(t, err, "ResourceInUseException", "Attempt to change a resource which is still in use: Table is being created: things")
	w.clock.Step(10 * time.Second)
	if status() != types.TableStatusActive {
		t.Fatalf("got %v", status())
	}
	if _, err := c.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("things")}); err != nil ||
		status() != types.TableStatusDeleting {
		t.Fatalf("got %v %v", status(), err)
	}
	w.clock.Step(10 * time.Second)
	if status() != "" {
		t.Fatalf("got %v", status())
	}
	if _, err := c.CreateTable(t.Context(), provisioned("things")); err != nil {
		t.Fatalf("the name is free again: %v", err)
	}
}

// Rules: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
func TestCreateTableRefuses(t *testing.T) {
	tests := map[string]struct {
		change  func(*dynamodb.CreateTableInput)
		message string
	}{
		"a name that is too short": {
			func(in *dynamodb.CreateTableInput) { in.TableName = aws.String("ab") },
			"TableName must be at least 3 characters long and at most 255 characters long",
		},
		"a name with a blank": {
			func(in *dynamodb.CreateTableInput) { in.TableName = aws.String("a table") },
			"1 validation error detected: Value 'a table' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
		},
		"a key that is not defined": {
			func(in *dynamodb.CreateTableInput) { in.KeySchema[0].AttributeName = aws.String("other") },
			"One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [other], AttributeDefinitions: [id]",
		},
		"a definition that no key uses": {
			func(in *dynamodb.CreateTableInput) {
				in.AttributeDefinitions = append(
					in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String("x"), AttributeType: "S"},
				)
			},
			"One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions",
		},
		"a range key first": {
			func(in *dynamodb.CreateTableInput) { in.KeySchema[0].KeyType = types.KeyTypeRange },
			"Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
		},
		"units on an on-demand table": {
			func(in *dynamodb.CreateTableInput) { in.BillingMode = types.BillingModePayPerRequest },
			"One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
		},
		"no units on a provisioned table": {
			func(in *dynamodb.CreateTableInput) { in.ProvisionedThroughput = nil },
			"One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := provisioned("things")
			tt.change(in)
			_, err := newSuite(t).mine().CreateTable(t.Context(), in)
			wantError(t, err, "ValidationException", tt.message)
		})
	}
}

func TestSettings(t *testing.T) {
	w := newSuite(t)
	c := w.simple("", "")
	name, arn := aws.String("things"), aws.String("arn:aws:dynamodb:eu-west-1:111111111111:table/things")
	if _, err := c.TagResource(t.Context(), &dynamodb.TagResourceInput{
		ResourceArn: arn, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}},
	}); err != nil {
		t.Fatal(err)
	}
	tags, err := c.ListTagsOfResource(t.Context(), &dynamodb.ListTagsOfResourceInput{ResourceArn: arn})
	if err != nil || len(tags.Tags) != 1 || *tags.Tags[0].Value != "1" {
		t.Fatalf("got %v %v", tags, err)
	}
	if _, err := c.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("until"), Enabled: aws.Bool(true)},
	}); err != nil {
		t.Fatal(err)
	}
	ttl, err := c.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: name})
	if err != nil || ttl.TimeToLiveDescription.TimeToLiveStatus != types.TimeToLiveStatusEnabled {
		t.Fatalf("got %v %v", ttl, err)
	}
	if _, err := c.UpdateContinuousBackups(t.Context(), &dynamodb.UpdateContinuousBackupsInput{
		TableName:                        name,
		PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)},
	}); err != nil {
		t.Fatal(err)
	}
	backups, err := c.DescribeContinuousBackups(t.Context(), &dynamodb.DescribeContinuousBackupsInput{TableName: name})
	if err != nil {
		t.Fatal(err)
	}
	recovery := backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription
	if recovery.PointInTimeRecoveryStatus != types.PointInTimeRecoveryStatusEnabled {
		t.Fatalf("point-in-time recovery is %v", recovery.PointInTimeRecoveryStatus)
	}
	_, err = c.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: name})
	wantError(
		t,
		err,
		"ValidationException",
		"At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required",
	)
}
