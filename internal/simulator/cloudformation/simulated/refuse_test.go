package simulated_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// TestRulesOfServices tests what services refuse although the schemas of their types allow it.
func TestRulesOfServices(t *testing.T) {
	const (
		stream, database = "AWS::Kinesis::Stream", "AWS::RDS::DBInstance"
		secret, files    = "AWS::SecretsManager::Secret", "AWS::EFS::FileSystem"
		target, scaling  = "AWS::ApplicationAutoScaling::ScalableTarget", "AWS::ApplicationAutoScaling::ScalingPolicy"
	)
	for _, c := range []struct {
		reason, kind, created, updated, want string
	}{
		{"a stream with shards", stream, `{"StreamModeDetails": {"StreamMode": "PROVISIONED"}, "ShardCount": 1}`, "", ""},
		{"a stream that needs shards", stream, `{"StreamModeDetails": {"StreamMode": "PROVISIONED"}}`, "", "ShardCount is required"},
		{"a stream without limit in time", stream, `{"RetentionPeriodHours": 8761}`, "", "between 24 and 8760"},
		{"twice the shards", stream, `{"ShardCount": 2}`, `{"ShardCount": 4}`, ""},
		{"more than twice the shards", stream, `{"ShardCount": 2}`, `{"ShardCount": 5}`, "more than double"},
		{"less than half of the shards", stream, `{"ShardCount": 5}`, `{"ShardCount": 2}`, "below half"},
		{"a managed password", database, `{"ManageMasterUserPassword": true}`, "", ""},
		{"two passwords", database, `{"ManageMasterUserPassword": true, "MasterUserPassword": "x"}`, "", "MasterUserPassword cannot be specified"},
		{"a key without encryption", database, `{"KmsKeyId": "k"}`, "", "requires that StorageEncrypted is true"},
		{"a key with encryption", database, `{"KmsKeyId": "k", "StorageEncrypted": true}`, "", ""},
		{"a zone for several zones", database, `{"MultiAZ": true, "AvailabilityZone": "eu-west-1a"}`, "", "Multi-AZ"},
		{"too many days", database, `{"BackupRetentionPeriod": 36}`, "", "between 0 and 35"},
		{"more storage", database, `{"AllocatedStorage": "20"}`, `{"AllocatedStorage": "100"}`, ""},
		{"less storage", database, `{"AllocatedStorage": "100"}`, `{"AllocatedStorage": "20"}`, "cannot be reduced"},
		{"a key of a value that is not JSON", secret, `{"GenerateSecretString": {"GenerateStringKey": "a"}}`, "", "requires SecretStringTemplate"},
		{"a value that is too long", secret, `{"GenerateSecretString": {"PasswordLength": 4097}}`, "", "between 1 and 4096"},
		{"a throughput that is missing", files, `{"ThroughputMode": "provisioned"}`, "", "must be specified"},
		{"a key of files that are not encrypted", files, `{"KmsKeyId": "k"}`, "", "requires that Encrypted is true"},
		{"a range of capacity", target, `{"MinCapacity": 5, "MaxCapacity": 5}`, "", ""},
		{"an empty range of capacity", target, `{"MinCapacity": 6, "MaxCapacity": 5}`, "", "cannot be less than minimum capacity"},
		{
			"a utilization that a table cannot have", scaling, `{"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 95,
				"PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"}}}`, "", "between 20 and 90",
		},
		{"two transitions in one policy", files, `{"LifecyclePolicies": [{"TransitionToIA": "a", "TransitionToArchive": "b"}]}`, "", "single transition"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			provider := simulated.NewStore(schema.Default()).Provider(c.kind)
			r := resource.Request{Account: "123456789012", Region: "eu-west-1", StackName: "stack", LogicalID: "It", Properties: decode(t, c.created)}
			made, err := provider.Create(t.Context(), r)
			if c.updated != "" {
				if err != nil {
					t.Fatal(err)
				}
				r.PhysicalID, r.Properties = made.PhysicalID, decode(t, c.updated)
				_, err = provider.Update(t.Context(), r)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
}

// TestProtectedDatabaseIsNotDeleted tests that a database is deleted only after its protection was
// turned off.
func TestProtectedDatabaseIsNotDeleted(t *testing.T) {
	provider := simulated.NewStore(schema.Default()).Provider("AWS::RDS::DBInstance")
	r := resource.Request{
		Account: "123456789012", Region: "eu-west-1", StackName: "stack", LogicalID: "It",
		Properties: decode(t, `{"DeletionProtection": true}`),
	}
	made, err := provider.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	r.PhysicalID = made.PhysicalID
	if err := provider.Delete(t.Context(), r); err == nil || !strings.Contains(err.Error(), "disable deletion protection") {
		t.Errorf("the deletion returns %v", err)
	}
	r.Properties = decode(t, `{"DeletionProtection": false}`)
	if _, err := provider.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := provider.Delete(t.Context(), r); err != nil {
		t.Error(err)
	}
}
