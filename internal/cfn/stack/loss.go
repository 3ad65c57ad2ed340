package stack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
)

// holding is the name of a kind of stateful resource, and what its deletion loses.
type holding struct{ thing, loss string }

// holdings name the common types in plain words; the others get a general text.
var holdings = map[string]holding{
	"AWS::Cognito::UserPool":             {"user pool", "its users are lost"},
	"AWS::DocDB::DBCluster":              {"database", "its data is lost"},
	"AWS::DynamoDB::GlobalTable":         {"table", "its items are lost"},
	"AWS::DynamoDB::Table":               {"table", "its items are lost"},
	"AWS::EC2::EIP":                      {"address", "the address is released"},
	"AWS::EC2::Volume":                   {"volume", "the data on it is lost"},
	"AWS::ECR::Repository":               {"repository", "its images are lost"},
	"AWS::EFS::FileSystem":               {"file system", "its files are lost"},
	"AWS::ElastiCache::CacheCluster":     {"cache", "its data is lost"},
	"AWS::ElastiCache::ReplicationGroup": {"cache", "its data is lost"},
	"AWS::KMS::Key":                      {"key", "data that it encrypted cannot be decrypted after its deletion"},
	"AWS::Kinesis::Stream":               {"stream", "the records in it are lost"},
	"AWS::Logs::LogGroup":                {"log group", "its logs are lost"},
	"AWS::OpenSearchService::Domain":     {"search domain", "its indexes are lost"},
	"AWS::RDS::DBCluster":                {"database", "its data is lost"},
	"AWS::RDS::DBInstance":               {"database", "its data is lost"},
	"AWS::Route53::HostedZone":           {"DNS zone", "its records are lost and it gets other name servers"},
	"AWS::S3::Bucket":                    {"bucket", "its objects are lost"},
	"AWS::SQS::Queue":                    {"queue", "the messages in it are lost"},
	"AWS::SecretsManager::Secret":        {"secret", "its value is lost"},
	"AWS::CloudFormation::Stack":         {"nested stack", "the data in its resources is lost"},
}

// fixed lists properties that AWS cannot change in place although CloudFormation only says that a
// change may replace the resource:
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html accepts no
// other key.
var fixed = map[string]string{"AWS::DynamoDB::Table": "KeySchema", "AWS::DynamoDB::GlobalTable": "KeySchema"}

// replaces reports whether the change certainly replaces the resource.
func replaces(change *types.ResourceChange) bool {
	property, known := fixed[aws.ToString(change.ResourceType)]
	return change.Replacement == types.ReplacementTrue ||
		known && slices.ContainsFunc(change.Details, func(d types.ResourceChangeDetail) bool {
			return d.Target != nil && d.Target.Attribute == types.ResourceAttributeProperties && aws.ToString(d.Target.Name) == property
		})
}

func holdingOf(kind string) holding {
	if known, ok := holdings[kind]; ok {
		return known
	}
	return holding{thing: kind, loss: "its data is lost"}
}

// warning describes the data loss that a change of a stateful resource causes; "" if it causes
// none.
func warning(change *types.ResourceChange, planned *diff.Change) string {
	held := holdingOf(aws.ToString(change.ResourceType))
	name := fmt.Sprintf("the %s %s", held.thing, aws.ToString(change.LogicalResourceId))
	if id := aws.ToString(change.PhysicalResourceId); id != "" {
		name += " (" + id + ")"
	}
	if change.ResourceDriftStatus == types.StackResourceDriftStatusDeleted {
		return fmt.Sprintf("RE-CREATES %s, which was deleted outside of CloudFormation: the new one is empty.", name)
	}
	causes := causesOf(change, planned)
	fate := fateOf(change, planned)
	switch {
	case change.Action == types.ChangeActionRemove && fate == keptFate:
		return fmt.Sprintf("RETAINS %s: it stays in AWS, but is no longer part of the stack.", name)
	case change.Action == types.ChangeActionRemove:
		return fmt.Sprintf("REMOVES %s: %s%s.", name, held.loss, fate)
	case change.Action != types.ChangeActionModify:
		return ""
	case replaces(change):
		since := ""
		if causes != "" {
			since = ", because " + causes + " cannot be changed in place"
		}
		if fate == keptFate {
			return fmt.Sprintf("REPLACES %s with an empty one%s%s.", name, since, fate)
		}
		return fmt.Sprintf("REPLACES %s: %s%s%s.", name, held.loss, since, fate)
	case change.Replacement == types.ReplacementConditional:
		cause := ""
		if causes != "" {
			cause = " because of " + causes
		}
		return fmt.Sprintf("MAY REPLACE %s%s: then %s%s.", name, cause, held.loss, fate)
	default:
		return ""
	}
}

// What happens to the old resource.
const (
	keptFate     = "; the old one is retained"
	snapshotFate = "; a snapshot of the old one is kept"
)

// fateOf returns what happens to the old resource, according to CloudFormation or, where it does
// not say, the plan.
func fateOf(change *types.ResourceChange, planned *diff.Change) string {
	switch change.PolicyAction {
	case types.PolicyActionRetain, types.PolicyActionReplaceAndRetain:
		return keptFate
	case types.PolicyActionSnapshot, types.PolicyActionReplaceAndSnapshot:
		return snapshotFate
	case types.PolicyActionDelete, types.PolicyActionReplaceAndDelete:
		return ""
	}
	switch {
	case planned == nil:
		return ""
	case planned.OldResource == "Retain":
		return keptFate
	case planned.OldResource == "Snapshot":
		return snapshotFate
	default:
		return ""
	}
}

// causesOf lists the properties that cause the replacement.
func causesOf(change *types.ResourceChange, planned *diff.Change) string {
	var names []string
	for i := range change.Details {
		target := change.Details[i].Target
		if target == nil || target.Attribute != types.ResourceAttributeProperties {
			continue
		}
		always := target.RequiresRecreation == types.RequiresRecreationAlways
		if always ||
			target.RequiresRecreation == types.RequiresRecreationConditionally && change.Replacement == types.ReplacementConditional {
			names = append(names, aws.ToString(target.Name))
		}
	}
	if len(names) == 0 && planned != nil {
		for _, property := range planned.Properties {
			if property.ForcesReplacement || property.MayReplace {
				name, _, _ := strings.Cut(property.Path, "/")
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return ""
	}
	return listed(names)
}
