package cloudformation_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

const databaseTemplate = `
Resources:
  Database:
    Type: AWS::RDS::DBInstance
    Properties: {DBInstanceClass: db.t4g.micro, Engine: postgres, AllocatedStorage: '20', ManageMasterUserPassword: MANAGED}
Outputs:
  Endpoint: {Value: !GetAtt Database.Endpoint.Address}
  Secret: {Value: !GetAtt Database.MasterUserSecret.SecretArn}
`

// The words are those of a stack event in
// https://github.com/awsdocs/aws-cloudformation-user-guide/issues/1048.
const missingSecret = "Attribute 'MasterUserSecret.SecretArn' does not exist."

func TestOutputOfAnAttributeThatTheResourceDoesNotHaveFailsTheStack(t *testing.T) {
	w := newSuite(t, nil)
	id := w.create("database", strings.Replace(databaseTemplate, "MANAGED", "false", 1))
	w.waitFor(id, types.StackStatusRollbackComplete)
	expectEvents(t, w.events("database"),
		"database CREATE_IN_PROGRESS User Initiated",
		"Database CREATE_IN_PROGRESS",
		"Database CREATE_IN_PROGRESS Resource creation Initiated",
		"Database CREATE_COMPLETE",
		"database ROLLBACK_IN_PROGRESS "+missingSecret+" Rollback requested by user.",
		"Database DELETE_IN_PROGRESS",
		"Database DELETE_COMPLETE",
		"database ROLLBACK_COMPLETE",
	)
}

func TestAttributeAppearsAndDisappearsWithItsFeature(t *testing.T) {
	w := newSuite(t, nil)
	without, with := strings.Replace(databaseTemplate, "MANAGED", "false", 1), strings.Replace(databaseTemplate, "MANAGED", "true", 1)
	before, _, _ := strings.Cut(without, "  Secret:")
	id := aws.ToString(w.createAndWait("database", before).StackId)

	if err := w.update("database", with); err != nil {
		t.Fatal(err)
	}
	s := w.waitFor(id, types.StackStatusUpdateComplete)
	outputs := map[string]string{}
	for _, o := range s.Outputs {
		outputs[*o.OutputKey] = *o.OutputValue
	}
	if !strings.HasPrefix(outputs["Secret"], "arn:aws:") || outputs["Endpoint"] == "" {
		t.Errorf("the outputs are %v", outputs)
	}

	if err := w.update("database", without); err != nil {
		t.Fatal(err)
	}
	w.waitFor(id, types.StackStatusUpdateRollbackComplete)
	found := false
	for _, e := range w.events("database") {
		found = found || strings.HasPrefix(e, "database UPDATE_ROLLBACK_IN_PROGRESS "+missingSecret)
	}
	if !found {
		t.Errorf("no event says why the update failed: %v", w.events("database"))
	}
}

func TestPropertyFromAnAttributeThatTheResourceDoesNotHaveFailsTheResource(t *testing.T) {
	w := newSuite(t, nil)
	id := w.create("groups", `
Resources:
  Group:
    Type: AWS::ElastiCache::ReplicationGroup
    Properties: {ReplicationGroupDescription: one shard, CacheNodeType: cache.t4g.micro, NumCacheClusters: 2}
  Address:
    Type: AWS::SSM::Parameter
    Properties: {Type: String, Value: !GetAtt Group.ConfigurationEndPoint.Address}
`)
	w.waitFor(id, types.StackStatusRollbackComplete)
	events, err := w.DescribeStackEvents(t.Context(), &awscfn.DescribeStackEventsInput{StackName: &id})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.StackEvents {
		if e.ResourceStatus == types.ResourceStatusCreateFailed {
			if got := aws.ToString(e.ResourceStatusReason); got != "Attribute 'ConfigurationEndPoint.Address' does not exist" {
				t.Errorf("%s failed because of %q", *e.LogicalResourceId, got)
			}
			return
		}
	}
	t.Error("no resource failed")
}
