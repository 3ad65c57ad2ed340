package adopt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// builtIn returns an object of a built-in kind, or why that kind cannot say everything about the resource.
func (a *Adopter) builtIn(in inference, t *schema.Type, r Resource, live map[string]any) (object *v1alpha1.Object, instead string) {
	settable := model.Settable(t, live)
	tags, ok := parseTags(settable[t.TagProperty])
	if !ok {
		return nil, fmt.Sprintf("%s cannot have its tags", in.kind.Kind)
	}
	spec := in.Spec(settable)
	name := objectName(t, r, live)
	if a.taken[in.kind.Kind][name] {
		return nil, fmt.Sprintf("another %s has the name %s", in.kind.Kind, name)
	}
	object, err := a.object(in.kind, name, r, spec, tags)
	if err != nil {
		return nil, err.Error()
	}
	changes, err := a.differences(in.kind, object, r)
	if err != nil {
		return nil, fmt.Sprintf("%s cannot say what it has: %s", in.kind.Kind, err)
	}
	changes = slices.DeleteFunc(changes, func(c diff.PropertyChange) bool {
		return c.New == nil && (c.Path == t.TagProperty || slices.Contains(t.ReadOnly, c.Path) || isDefault(r.Type, c))
	})
	if len(changes) > 0 {
		return nil, fmt.Sprintf("%s cannot say what it has in %s", in.kind.Kind, paths(changes))
	}
	return object, ""
}

// Tags returns the tags of a resource, by key, also those that belong to AWS.
func (r *Resource) Tags() map[string]string {
	t, ok := schema.Default().Type(r.Type)
	live := map[string]any{}
	if !ok || utiljson.Unmarshal([]byte(r.Properties), &live) != nil {
		return nil
	}
	tags, _ := parseTags(live[t.TagProperty]) // a list of another form has none
	return tags
}

// parseTags reads a property with tags; false if it has another form than a map or a list of keys and values.
func parseTags(value any) (map[string]string, bool) {
	tags := map[string]string{}
	switch list := value.(type) {
	case nil:
	case map[string]any:
		for key, text := range list {
			tags[key], _ = text.(string)
		}
	case []any:
		for _, item := range list {
			tag, _ := item.(map[string]any)
			key, ok := tag["Key"].(string)
			if !ok {
				return nil, false
			}
			tags[key], _ = tag["Value"].(string)
		}
	default:
		return nil, false
	}
	return tags, true
}

// ofAWS stands for a default that AWS computes.
const ofAWS = "*"

// defaults are what AWS gives resources whose templates do not set these properties, by type and path. A
// template that says nothing about them keeps them.
//
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/default-encryption-faq.html
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/create-bucket-faq.html
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecr-repository.html
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-sns-topic.html
var defaults = map[string]map[string]string{
	"AWS::S3::Bucket": {
		"BucketEncryption":               `{"ServerSideEncryptionConfiguration":[{"BucketKeyEnabled":false,"ServerSideEncryptionByDefault":{"SSEAlgorithm":"AES256"}}]}`,
		"OwnershipControls":              `{"Rules":[{"ObjectOwnership":"BucketOwnerEnforced"}]}`,
		"PublicAccessBlockConfiguration": `{"BlockPublicAcls":true,"BlockPublicPolicy":true,"IgnorePublicAcls":true,"RestrictPublicBuckets":true}`,
	},
	"AWS::SQS::Queue": {"SqsManagedSseEnabled": "true", "FifoQueue": "false", "ContentBasedDeduplication": "false"},
	"AWS::DynamoDB::Table": {
		"BillingMode": "PROVISIONED", "DeletionProtectionEnabled": "false", "TableClass": "STANDARD",
		"PointInTimeRecoverySpecification": `{"PointInTimeRecoveryEnabled":false}`, "ContributorInsightsSpecification": `{"Enabled":false}`,
		"SSESpecification": `{"SSEEnabled":false}`, "TimeToLiveSpecification": `{"Enabled":false}`,
		"WarmThroughput": ofAWS,
	},
	"AWS::ECR::Repository": {
		"ImageTagMutability": "MUTABLE", "EncryptionConfiguration": `{"EncryptionType":"AES256"}`,
		"ImageScanningConfiguration": `{"ScanOnPush":false}`,
	},
	"AWS::SNS::Topic": {"FifoTopic": "false", "ContentBasedDeduplication": "false", "DisplayName": "", "TracingConfig": "PassThrough"},
}

// isDefault reports whether a resource has AWS's default of a property that the template does not set.
func isDefault(kind string, c diff.PropertyChange) bool {
	want, known := defaults[kind][c.Path]
	if !known {
		return false
	}
	if want == ofAWS {
		return true
	}
	text, scalar := c.Old.Scalar()
	if !scalar {
		text = string(c.Old.AppendJSON(nil))
	}
	return text == want
}

// invalidInName are the characters that names of objects cannot have.
var invalidInName = regexp.MustCompile(`[^a-z0-9.-]+`)

// objectName returns a name for the object of a resource: the resource's own if objects can have it.
func objectName(t *schema.Type, r Resource, live map[string]any) string {
	name, _ := live[t.CustomName()].(string)
	short := t.Name[strings.LastIndexByte(t.Name, ':')+1:]
	for _, property := range []string{short + "Name", "Name"} {
		if text, ok := live[property].(string); ok && name == "" {
			name = text
		}
	}
	if name == "" {
		name = r.Identifier[strings.LastIndexAny(r.Identifier, "/:|")+1:]
	}
	if t.Name == "AWS::SQS::Queue" || t.Name == "AWS::SNS::Topic" {
		name = strings.TrimSuffix(name, ".fifo") // the built-in kinds add it
	}
	name = strings.Trim(invalidInName.ReplaceAllString(strings.ToLower(name), "-"), "-.")
	const most = 63 // what stays readable; the limit is 253
	if name = strings.TrimRight(name[:min(len(name), most)], "-."); name == "" {
		return "resource"
	}
	return name
}
