package controller_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/catalog"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// TestStacksOfEveryKind creates, updates and deletes the stack of an object of every built-in kind
// that needs no other object, without an API server: the stack has every output that the kind always
// has, and its ConfigMaps and Services can be made of them.
func TestStacksOfEveryKind(t *testing.T) {
	_, endpoint := simulatortest.Start(t, simulator.Options{Region: region})
	w := &suite{t: t, observer: endpoint}
	stacks := cloudformation.NewFromConfig(w.awsConfig())
	models, err := catalog.Models(schema.Default())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind, created, updated string
		optional               []string
	}{
		{"AWSSecret", `{"generate": {}}`, `{"generate": {"length": 40, "template": "{}", "key": "password"}, "description": "changed"}`, nil},
		{"AuroraCluster", `{"engine": "aurora-mysql"}`, `{"engine": "aurora-mysql", "instances": 3, "maxCapacity": 8, "deletionProtection": false}`, nil},
		{"DataStream", `{}`, `{"mode": "PROVISIONED", "shardCount": 2, "retentionHours": 48}`, nil},
		{
			"DynamoDB",
			`{"hashAttribute": {"name": "id", "type": "S"}, "rangeAttribute": {"name": "at", "type": "N"},
				"attributes": [{"name": "color", "type": "S"}], "localSecondaryIndexes": [{"name": "own-color", "rangeAttribute": "color"}]}`,
			`{"hashAttribute": {"name": "id", "type": "S"}, "rangeAttribute": {"name": "at", "type": "N"},
				"attributes": [{"name": "size", "type": "N"}, {"name": "color", "type": "S"}],
				"localSecondaryIndexes": [{"name": "own-color", "rangeAttribute": "color"}],
				"globalSecondaryIndexes": [{"name": "by-size", "hashAttribute": "size", "rangeAttribute": "color", "readCapacityUnits": 2}],
				"readCapacityUnits": 5, "minReadCapacityUnits": 2, "maxReadCapacityUnits": 50, "readTargetUtilization": 60, "streamViewType": "NEW_IMAGE", "timeToLive": {"attributeName": "until"}, "pointInTimeRecovery": true,
				"recoveryPeriodDays": 7, "deletionProtection": false, "tableClass": "STANDARD_INFREQUENT_ACCESS", "kmsKeyID": "alias/tables"}`,
			[]string{"streamARN"},
		},
		{
			"ECRRepository", `{"kmsKeyID": "alias/images"}`,
			`{"kmsKeyID": "alias/images", "scanOnPush": true, "imageTagMutability": "MUTABLE_WITH_EXCLUSION", "imageTagMutabilityExclusions": ["v*"],
				"lifecyclePolicyText": "{\"rules\": [{\"rulePriority\": 1, \"selection\": {\"tagStatus\": \"any\", \"countType\": \"imageCountMoreThan\", \"countNumber\": 5}, \"action\": {\"type\": \"expire\"}}]}"}`,
			nil,
		},
		{
			"ElastiCache", `{"engine": "redis", "cacheNodeType": "cache.t4g.micro"}`, `{"engine": "redis", "cacheNodeType": "cache.t4g.small"}`,
			[]string{"configurationEndpoint", "configurationEndpointPort"},
		},
		{
			"ElasticFileSystem", `{"subnetIDs": ["subnet-0a1b2c3d"]}`,
			`{"subnetIDs": ["subnet-0a1b2c3e", "subnet-0a1b2c3d"], "throughputMode": "provisioned", "provisionedThroughputMiBps": 10, "backup": false}`, nil,
		},
		{"EncryptionKey", `{}`, `{"rotationPeriodDays": 90, "pendingWindowDays": 7, "description": "changed"}`, nil},
		{
			"Lambda", `{"code": {"bucket": "builds", "key": "a.zip"}, "runtime": "python3.13", "handler": "app.handler"}`,
			`{"code": {"bucket": "builds", "key": "b.zip"}, "runtime": "provided.al2023", "handler": "app.handler", "architecture": "arm64", "memoryMiB": 1024,
				"timeoutSeconds": 900, "ephemeralStorageMiB": 1024, "reservedConcurrency": 2, "environment": {"MODE": "fast"}, "logRetentionDays": 1,
				"vpc": {"subnetIDs": ["subnet-0a1b2c3d"], "securityGroupIDs": ["sg-0a1b2c3d"]}}`, nil,
		},
		{
			"OpenSearchDomain", `{"instanceType": "t3.small.search", "volumeSize": 10}`,
			`{"instanceType": "m7g.large.search", "instanceCount": 2, "availabilityZones": 2, "masterType": "m7g.large.search", "volumeSize": 20,
				"volumeType": "io1", "iops": 3000, "engineVersion": "OpenSearch_2.19", "autoSoftwareUpdate": false}`, nil,
		},
		{
			"RDSInstance", `{"engine": "postgres", "instanceClass": "db.t4g.micro", "allocatedStorage": 20}`,
			`{"engine": "postgres", "instanceClass": "db.t4g.small", "allocatedStorage": 40, "deletionProtection": false}`, nil,
		},
		{
			"S3Bucket", `{}`,
			`{"versioning": true, "blockPublicAccess": true, "objectOwnership": "BucketOwnerEnforced", "kmsKeyID": "alias/buckets",
				"lifecycleRules": [{"id": "a", "prefix": "a/", "tags": {"b": "c"}, "expirationDays": 9, "transitions": [{"days": 3, "storageClass": "GLACIER_IR"}],
					"noncurrentExpirationDays": 5, "newerNoncurrentVersions": 2, "noncurrentTransitions": [{"days": 3, "storageClass": "GLACIER"}]},
					{"id": "b", "enabled": false, "abortIncompleteMultipartUploadDays": 7}],
				"corsRules": [{"allowedOrigins": ["*"], "allowedMethods": ["GET"], "allowedHeaders": ["*"], "exposedHeaders": ["ETag"], "maxAgeSeconds": 60}]}`,
			nil,
		},
		{
			"StepFunction", `{"definition": "{\"StartAt\": \"A\", \"States\": {\"A\": {\"Type\": \"Succeed\"}}}"}`,
			`{"definition": "{\"StartAt\": \"B\", \"States\": {\"B\": {\"Type\": \"Succeed\", \"Comment\": \"${A}\"}}}", "substitutions": {"A": "b"}}`, nil,
		},
		{"SNSTopic", `{}`, `{"displayName": "News", "kmsKeyID": "alias/topics", "subscribers": [{"account": "210987654321"}]}`, []string{"publishers"}},
		{"SQSQueue", `{}`, `{"delaySeconds": 5, "kmsKeyID": "alias/queues", "kmsDataKeyReusePeriodSeconds": 60}`, []string{"senders", "deadLetterQueueURL", "deadLetterQueueARN", "deadLetterQueueName"}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			m := models[slices.IndexFunc(models, func(m *model.Model) bool { return m.Kind == c.kind })]
			facts := render.Facts{Region: region, AccountID: account, ClusterName: clusterName}
			obj := &v1alpha1.Object{ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: "default"}}
			rendered := func(spec string) *render.Desired {
				obj.Spec = []byte(spec)
				desired, err := render.Stack(m, obj, facts, nil)
				if err != nil {
					t.Fatal(err)
				}
				return desired
			}
			desired := rendered(c.created)
			if m.ExecutionRole != "" && m.RoleOnlyIf == nil {
				createRole(t, w.awsConfig(), desired, m.ExecutionRole)
			}
			made, err := stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{
				StackName: &desired.Name, TemplateBody: aws.String(string(desired.Template.JSON())), DisableRollback: aws.Bool(true),
				Capabilities: capabilities(desired),
			})
			if err != nil {
				t.Fatal(err)
			}
			id := aws.ToString(made.StackId)
			if err := reaches(t, stacks, id, "", types.StackStatusCreateComplete); err != nil {
				t.Fatal(err)
			}
			out, err := stacks.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &id})
			if err != nil {
				t.Fatal(err)
			}
			published := map[string]string{}
			for _, o := range out.Stacks[0].Outputs {
				published[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
			}
			obj.Status.Output = render.Outputs(m, published)
			for _, o := range m.Outputs {
				if _, ok := obj.Status.Output[o.Name]; ok == slices.Contains(c.optional, o.Name) {
					t.Errorf("output %s exists: %t, of %v", o.Name, ok, slices.Sorted(maps.Keys(published)))
				}
			}
			additional(t, m, obj, facts)
			last := types.StackStatusCreateComplete
			if c.updated != "" {
				desired = rendered(c.updated)
				if _, err := stacks.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
					StackName: &id, TemplateBody: aws.String(string(desired.Template.JSON())), Capabilities: capabilities(desired),
				}); err != nil {
					t.Fatal(err)
				}
				if err := reaches(t, stacks, id, last, types.StackStatusUpdateComplete); err != nil {
					t.Fatal(err)
				}
				last = types.StackStatusUpdateComplete
			}
			if _, err := stacks.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: &id}); err != nil {
				t.Fatal(err)
			}
			if err := reaches(t, stacks, id, last, types.StackStatusDeleteComplete); err != nil {
				t.Error(err)
			}
		})
	}
}

func capabilities(desired *render.Desired) (all []types.Capability) {
	for _, one := range desired.Capabilities {
		all = append(all, types.Capability(one))
	}
	return all
}

// createRole creates the role with which an object runs.
func createRole(t *testing.T, config aws.Config, desired *render.Desired, service string) {
	t.Helper()
	role := desired.Template.Outputs["RoleArn"].Value.Text
	name := role[strings.LastIndexByte(role, '/')+1:]
	_, err := iam.NewFromConfig(config).CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: &name, Path: aws.String(strings.TrimSuffix(role[strings.IndexByte(role, '/'):], name)),
		AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"` + service + `"},"Action":"sts:AssumeRole"}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// additional tests that the Services and ConfigMaps of an object can be made.
func additional(t *testing.T, m *model.Model, obj *v1alpha1.Object, facts render.Facts) {
	t.Helper()
	services, err := render.Services(m, obj, facts)
	if err != nil || len(services) != len(m.Services) {
		t.Errorf("there are %d of %d Services: %v", len(services), len(m.Services), err)
	}
	names := map[string]string{}
	for _, s := range services {
		names[s.ID] = s.Name
	}
	configMaps, err := render.ConfigMaps(m, obj, facts, names)
	if err != nil || len(configMaps) != len(m.ConfigMaps) {
		t.Errorf("there are %d of %d ConfigMaps: %v", len(configMaps), len(m.ConfigMaps), err)
	}
}
