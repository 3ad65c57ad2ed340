package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/catalog"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// TestBuiltInKinds tests that the kinds have the names, fields and outputs that existing manifests
// and scripts use.
func TestBuiltInKinds(t *testing.T) {
	type kind struct{ ShortNames, Fields, Outputs []string }
	want := map[string]kind{
		"DynamoDB": {
			[]string{"ddb", "ddbs", "dynamo", "dynamotable", "dynamotables"},
			[]string{
				"attributes", "deletionProtection", "encryptionKeyName", "globalSecondaryIndexes", "hashAttribute", "kmsKeyID",
				"localSecondaryIndexes", "maxReadCapacityUnits", "maxWriteCapacityUnits", "minReadCapacityUnits", "minWriteCapacityUnits",
				"pointInTimeRecovery", "rangeAttribute", "readCapacityUnits", "readTargetUtilization", "recoveryPeriodDays", "streamViewType",
				"tableClass", "timeToLive", "writeCapacityUnits", "writeTargetUtilization",
			},
			[]string{"tableName", "tableARN", "streamARN"},
		},
		"S3Bucket": {
			[]string{"s3", "bucket", "buckets"},
			[]string{
				"accessControl", "blockPublicAccess", "corsRules", "distributionName", "encryptionKeyName", "kmsKeyID", "lifecycleRules",
				"logging", "notifications", "objectOwnership", "replication", "versioning", "website",
			},
			[]string{"bucketName", "bucketARN", "websiteURL"},
		},
		"CloudFrontDistribution": {
			[]string{"cloudfront", "cdn"},
			[]string{
				"aliases", "allowedCountries", "bucketName", "cachePolicy", "certificateARN", "defaultRootObject", "deniedCountries",
				"description", "enabled", "errorResponses", "httpVersion", "ipv6", "minimumTLSVersion", "priceClass",
				"responseHeadersPolicy", "viewerProtocolPolicy", "webACLARN",
			},
			[]string{"domainName", "distributionID", "distributionARN"},
		},
		"ECRRepository": {
			[]string{"ecr", "repository"},
			[]string{
				"encryptionKeyName", "imageTagMutability", "imageTagMutabilityExclusions", "kmsKeyID", "lifecyclePolicyText", "pullers", "pushers",
				"scanOnPush",
			},
			[]string{"repositoryName", "repositoryARN", "repositoryURL"},
		},
		"AWSSecret": {
			[]string{"secretsmanager"},
			[]string{"description", "encryptionKeyName", "generate", "kmsKeyID"},
			[]string{"secretARN", "secretName"},
		},
		"EncryptionKey": {
			[]string{"kms", "cmk"},
			[]string{"description", "enabled", "pendingWindowDays", "rotation", "rotationPeriodDays", "users"},
			[]string{"keyID", "keyARN", "aliasName"},
		},
		"RDSInstance": {
			[]string{"rds"},
			[]string{
				"allocatedStorage", "allowMajorVersionUpgrade", "autoMinorVersionUpgrade", "backupRetentionDays", "backupWindow",
				"databaseName", "deletionProtection", "encryptionKeyName", "engine", "engineVersion", "iamAuthentication", "instanceClass",
				"iops", "kmsKeyID", "maintenanceWindow", "masterUsername", "maxAllocatedStorage", "multiAZ", "parameterGroupName", "port",
				"securityGroupIDs", "storageType", "subnetGroupName",
			},
			[]string{"instanceName", "instanceARN", "resourceID", "address", "port", "masterUserSecretARN"},
		},
		"AuroraCluster": {
			[]string{"aurora"},
			[]string{
				"backupRetentionDays", "backupWindow", "databaseName", "deletionProtection", "encryptionKeyName", "engine", "engineVersion",
				"iamAuthentication", "instanceClass", "instances", "kmsKeyID", "maintenanceWindow", "masterUsername", "maxCapacity",
				"minCapacity", "parameterGroupName", "port", "securityGroupIDs", "subnetGroupName",
			},
			[]string{"clusterName", "clusterARN", "resourceID", "address", "readerAddress", "port", "masterUserSecretARN"},
		},
		"DataStream": {
			[]string{"kinesis"},
			[]string{"encryptionKeyName", "kmsKeyID", "mode", "retentionHours", "shardCount"},
			[]string{"streamName", "streamARN"},
		},
		"EventBridgeRule": {
			[]string{"eventbridge"},
			[]string{
				"deadLetterQueueName", "description", "enabled", "encryptionKeyName", "eventBusARN", "eventPattern", "schedule", "targets",
			},
			[]string{"ruleARN", "roleARN"},
		},
		"ElasticFileSystem": {
			[]string{"efs"},
			[]string{
				"backup", "encryptionKeyName", "infrequentAccessAfter", "kmsKeyID", "provisionedThroughputMiBps", "securityGroupIDs",
				"subnetIDs", "throughputMode",
			},
			[]string{"fileSystemID", "fileSystemARN"},
		},
		"Lambda": {
			nil,
			[]string{
				"architecture", "code", "deadLetterQueueName", "description", "environment", "ephemeralStorageMiB", "handler", "image",
				"logRetentionDays", "memoryMiB", "queueTrigger", "reservedConcurrency", "runtime", "timeoutSeconds", "vpc",
			},
			[]string{"functionName", "functionARN", "logGroupName", "roleARN"},
		},
		"OpenSearchDomain": {
			[]string{"opensearch"},
			[]string{
				"autoSoftwareUpdate", "availabilityZones", "encryptionKeyName", "engineVersion", "instanceCount", "instanceType", "iops",
				"kmsKeyID", "masterType", "securityGroupIDs", "subnetIDs", "throughputMiBps", "volumeSize", "volumeType",
			},
			[]string{"domainName", "domainARN", "endpoint"},
		},
		"SNSTopic": {
			[]string{"sns", "topic", "topics"},
			[]string{"contentBasedDeduplication", "displayName", "encryptionKeyName", "fifoTopic", "kmsKeyID", "publishers", "subscribers"},
			[]string{"topicARN", "publishers"},
		},
		"SNSSubscription": {
			[]string{"subscription"}, []string{"endpoint", "protocol", "queueURL", "topicName"}, []string{"subscriptionARN"},
		},
		"StepFunction": {
			[]string{"sfn"}, []string{"definition", "substitutions", "type"}, []string{"stateMachineARN", "stateMachineName", "roleARN"},
		},
		"SQSQueue": {
			[]string{"sqs", "queue", "queues"},
			[]string{
				"contentBasedDeduplication", "deadLetterQueueName", "deduplicationScope", "delaySeconds", "encryptionKeyName", "fifoQueue",
				"fifoThroughputLimit", "kmsDataKeyReusePeriodSeconds", "kmsKeyID", "maxReceiveCount", "maximumMessageSize",
				"messageRetentionPeriod", "receiveMessageWaitTimeSeconds", "receivers", "senders", "usedeadletterQueue", "visibilityTimeout",
			},
			[]string{"queueURL", "queueARN", "queueName", "senders", "deadLetterQueueURL", "deadLetterQueueARN", "deadLetterQueueName"},
		},
		"ElastiCache": {
			[]string{"ec"},
			[]string{
				"autoMinorVersionUpgrade", "azMode", "cacheNodeType", "cacheParameterGroupName", "cacheSubnetGroupName", "engine",
				"engineVersion", "notificationTopicArn", "numCacheNodes", "port", "preferredAvailabilityZone", "preferredAvailabilityZones",
				"preferredMaintenanceWindow", "snapshotWindow", "vpcSecurityGroupIds",
			},
			[]string{"redisEndpointAddress", "redisEndpointPort", "configurationEndpoint", "configurationEndpointPort"},
		},
	}
	got := map[string]kind{}
	for _, m := range models(t) {
		k := kind{ShortNames: m.ShortNames}
		for name := range m.Schema.Properties {
			k.Fields = append(k.Fields, name)
		}
		slices.Sort(k.Fields)
		for _, o := range m.Outputs {
			k.Outputs = append(k.Outputs, o.Name)
		}
		got[m.Kind] = k
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the catalog differs (-want +got):\n%s", diff)
	}
}

// olderKinds are the built-in kinds that have the default name of a derived kind. Their names are part
// of manifests that exist.
var olderKinds = []string{"ECRRepository", "S3Bucket", "SNSSubscription", "SNSTopic", "SQSQueue"}

// askedFor are the built-in kinds whose default name of a derived kind users asked for. No version was
// released without them, so no user has a kind of that name yet.
var askedFor = []string{"CloudFrontDistribution"}

// TestBuiltInKindsLeaveDerivedKindsTheirNames tests that a new built-in kind takes no name that
// users may have given to a kind of their own by not naming it: an upgrade of the operator would
// take the kind, its resource and its objects away from their ModelDefinition.
func TestBuiltInKindsLeaveDerivedKindsTheirNames(t *testing.T) {
	taken := map[string]string{}
	for _, m := range models(t) {
		if slices.Contains(slices.Concat(olderKinds, askedFor), m.Kind) {
			continue
		}
		for _, name := range append([]string{m.Kind, m.Plural}, m.ShortNames...) {
			taken[strings.ToLower(name)] = m.Kind
		}
	}
	for _, name := range schema.Default().Names() {
		derived := v1alpha1.ModelDefinitionSpec{ResourceType: name}
		singular := strings.ToLower(derived.ObjectKind())
		for _, one := range []string{singular, singular + "s", singular + "es", strings.TrimSuffix(singular, "y") + "ies"} {
			if kind, ok := taken[one]; ok {
				t.Errorf("%s takes the name %s of the kind that is derived from %s by default", kind, one, name)
			}
		}
	}
}

// TestBuiltInKindsAreCorrect checks the kinds as the operator checks the ModelDefinitions of users.
func TestBuiltInKindsAreCorrect(t *testing.T) {
	for _, m := range models(t) {
		if err := m.Check(schema.Default()); err != nil {
			t.Errorf("%s: %v", m.Kind, err)
		}
	}
}

// TestEveryFieldIsExplained tests that kubectl explain describes every field.
func TestEveryFieldIsExplained(t *testing.T) {
	var explained func(path string, s apiextensionsv1.JSONSchemaProps)
	explained = func(path string, s apiextensionsv1.JSONSchemaProps) {
		if s.Description == "" {
			t.Errorf("%s has no description", path)
		}
		if s.Items != nil {
			for name, child := range s.Items.Schema.Properties {
				explained(path+"[]."+name, child)
			}
		}
		for name, child := range s.Properties {
			explained(path+"."+name, child)
		}
	}
	for _, m := range models(t) {
		root := m.CRD().Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, part := range []string{"spec", "status"} {
			explained(m.Kind+"."+part, root.Properties[part])
		}
	}
}

func models(t *testing.T) []*model.Model {
	t.Helper()
	found, err := catalog.Models(schema.Default())
	if err != nil {
		t.Fatal(err)
	}
	return found
}
