package simulated

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// refusal is a rule of a service that the schema of the type does not contain.
type refusal struct {
	// breaks reports whether the properties break the rule, or the change to them does. Previous is nil
	// when the resource is created.
	breaks func(wanted, previous map[string]any) bool
	// code and message are those of the service's error.
	code, message string
}

// refusals are the rules by type. Each cites the page that documents it.
var refusals = map[string][]refusal{
	"AWS::ApplicationAutoScaling::ScalableTarget": {
		// https://docs.aws.amazon.com/autoscaling/application/APIReference/API_RegisterScalableTarget.html
		{
			func(wanted, _ map[string]any) bool {
				least, _ := numberAt(wanted, "MinCapacity")
				most, ok := numberAt(wanted, "MaxCapacity")
				return ok && least > most
			},
			"ValidationException", "Maximum capacity cannot be less than minimum capacity",
		},
	},
	"AWS::ApplicationAutoScaling::ScalingPolicy": {
		// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/AutoScaling.html
		{
			func(wanted, previous map[string]any) bool {
				const path = "TargetTrackingScalingPolicyConfiguration/"
				metric := fmt.Sprint(at(wanted, path+"PredefinedMetricSpecification/PredefinedMetricType"))
				return strings.HasPrefix(metric, "DynamoDB") && outside(path+"TargetValue", 20, 90)(wanted, previous)
			},
			"ValidationException", "The target utilization of a table must be between 20 and 90 percent",
		},
	},
	distributionType: distributionRules,
	"AWS::EFS::FileSystem": {
		// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-efs-filesystem.html
		{
			both(isSet("KmsKeyId"), not(isTrue("Encrypted"))),
			"BadRequest", "KmsKeyId requires that Encrypted is true",
		},
		{
			both(is("ThroughputMode", "provisioned"), not(isSet("ProvisionedThroughputInMibps"))),
			"BadRequest", "Provisioned throughput must be specified for throughput mode provisioned",
		},
		// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-efs-filesystem-lifecyclepolicy.html
		{
			func(wanted, _ map[string]any) bool { return hasSeveralTransitions(wanted) },
			"BadRequest", "One or more LifecyclePolicy objects specified are malformed: each has a single transition",
		},
	},
	"AWS::Kinesis::Stream": {
		// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-kinesis-stream.html
		{
			both(is("StreamModeDetails/StreamMode", "PROVISIONED"), not(isSet("ShardCount"))),
			"ValidationException", "ShardCount is required for streams in mode PROVISIONED",
		},
		// https://docs.aws.amazon.com/kinesis/latest/APIReference/API_IncreaseStreamRetentionPeriod.html
		{
			outside("RetentionPeriodHours", 24, 8760),
			"InvalidArgumentException", "Retention period must be between 24 and 8760 hours",
		},
		// https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateShardCount.html
		{
			changes("ShardCount", func(from, to float64) bool { return to > 2*from || 2*to < from }),
			"LimitExceededException", "ShardCount cannot be scaled to more than double or below half of the current number of shards",
		},
	},
	"AWS::Lambda::EventSourceMapping": {
		// https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html
		{
			both(above("BatchSize", 10), not(above("MaximumBatchingWindowInSeconds", 0))), //nolint:mnd // the limit of the page
			"InvalidParameterValueException", "Maximum batch window in seconds must be greater than 0 if maximum batch size is greater than 10",
		},
		{
			both(ends("EventSourceArn", ".fifo"), above("MaximumBatchingWindowInSeconds", 0)),
			"InvalidParameterValueException", "Batching window is not supported for FIFO queues",
		},
	},
	"AWS::Lambda::Function": {
		// https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html
		{
			both(not(is("PackageType", "Image")), not(isSet("Handler"))),
			"InvalidParameterValueException", "Runtime and Handler are mandatory parameters for functions created with deployment packages.",
		},
		{
			both(is("PackageType", "Image"), isSet("Runtime")),
			"InvalidParameterValueException", "Please don't provide Handler or Runtime or Layer when the intent is to create a function with container image.",
		},
		// https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
		{
			func(wanted, _ map[string]any) bool { return reservesVariable(wanted) },
			"InvalidParameterValueException", "Lambda was unable to configure your environment variables because the environment variables you have provided " +
				"contains reserved keys that are currently not supported for modification.",
		},
		// https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html
		{
			both(ends("DeadLetterConfig/TargetArn", ".fifo"), isSet("DeadLetterConfig")),
			"InvalidParameterValueException", "A FIFO queue is not a valid target of DeadLetterConfig",
		},
	},
	"AWS::RDS::DBInstance": {
		// https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_CreateDBInstance.html
		{
			both(isTrue("ManageMasterUserPassword"), isSet("MasterUserPassword")),
			"InvalidParameterCombination", "MasterUserPassword cannot be specified if ManageMasterUserPassword is turned on",
		},
		{
			both(isTrue("MultiAZ"), isSet("AvailabilityZone")),
			"InvalidParameterCombination", "Requesting a specific availability zone is not valid for Multi-AZ instances",
		},
		{
			outside("BackupRetentionPeriod", 0, 35),
			"InvalidParameterValue", "Backup retention period must be between 0 and 35",
		},
		// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-rds-dbinstance.html
		{
			both(isSet("KmsKeyId"), not(isTrue("StorageEncrypted"))),
			"InvalidParameterCombination", "KmsKeyId requires that StorageEncrypted is true",
		},
		// https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/USER_PIOPS.StorageTypes.html
		{
			changes("AllocatedStorage", func(from, to float64) bool { return to < from }),
			"InvalidParameterCombination", "The storage of an instance cannot be reduced",
		},
	},
	"AWS::StepFunctions::StateMachine": {
		// https://docs.aws.amazon.com/step-functions/latest/dg/statemachine-structure.html
		{
			both(isSet("DefinitionString"), not(isStateMachine)),
			"InvalidDefinition", "Invalid State Machine Definition: 'SCHEMA_VALIDATION_FAILED': the definition needs StartAt and States",
		},
	},
	"AWS::SecretsManager::Secret": {
		// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-secretsmanager-secret-generatesecretstring.html
		{
			both(isSet("GenerateSecretString/GenerateStringKey"), not(isSet("GenerateSecretString/SecretStringTemplate"))),
			"InvalidParameterException", "GenerateStringKey requires SecretStringTemplate",
		},
		// https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetRandomPassword.html
		{
			outside("GenerateSecretString/PasswordLength", 1, 4096),
			"InvalidParameterException", "PasswordLength must be between 1 and 4096",
		},
	},
}

// protections are the properties with which a service refuses to delete a resource, and its message.
var protections = map[string]struct{ property, message string }{
	// https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/USER_DeleteInstance.html
	// https://github.com/hashicorp/terraform-provider-aws/issues/26233
	"AWS::RDS::DBInstance": {"DeletionProtection", "Cannot delete protected DB Instance, please disable deletion protection and try again."},
	// https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/USER_DeleteCluster.html
	"AWS::RDS::DBCluster": {"DeletionProtection", "Cannot delete protected Cluster, please disable deletion protection and try again."},
}

// refuse returns the service's error if the properties of a type, or the change to them, break a
// rule. Previous is nil when the resource is created.
func refuse(resourceType string, wanted, previous map[string]any) error {
	for _, rule := range refusals[resourceType] {
		if rule.breaks(wanted, previous) {
			return refusedBy(resourceType, rule.message, rule.code)
		}
	}
	return nil
}

// refuseDeletion returns the service's error if a resource is protected from deletion.
func refuseDeletion(resourceType string, properties map[string]any) error {
	if protection, ok := protections[resourceType]; ok && isTrue(protection.property)(properties) {
		return refusedBy(resourceType, protection.message, "InvalidParameterCombination")
	}
	return nil
}

func refusedBy(resourceType, message, code string) error {
	return resource.Errorf(resource.InvalidRequest, "%s (Service: %s, Status Code: 400, Error Code: %s)", message, serviceOf(resourceType), code)
}

// both is broken by properties for which both conditions hold.
func both(a, b condition) func(wanted, previous map[string]any) bool {
	return func(wanted, _ map[string]any) bool { return a(wanted) && b(wanted) }
}

// above holds for a number that is greater than another.
func above(path string, least float64) condition {
	return func(p map[string]any) bool {
		n, ok := numberAt(p, path)
		return ok && n > least
	}
}

// ends holds for a text with an ending.
func ends(path, ending string) condition {
	return func(p map[string]any) bool {
		text, ok := at(p, path).(string)
		return ok && strings.HasSuffix(text, ending)
	}
}

// isStateMachine holds for a definition that is JSON and has a first state.
func isStateMachine(p map[string]any) bool {
	text, _ := at(p, "DefinitionString").(string)
	var definition struct {
		StartAt string
		States  map[string]any
	}
	return json.Unmarshal([]byte(text), &definition) == nil && definition.States[definition.StartAt] != nil
}

// reserved are the environment variables that Lambda sets, in part.
var reserved = []string{
	"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_LAMBDA_FUNCTION_NAME",
}

// reservesVariable reports whether the environment of a function has a variable that Lambda sets.
func reservesVariable(wanted map[string]any) bool {
	variables, _ := at(wanted, "Environment/Variables").(map[string]any)
	return slices.ContainsFunc(reserved, func(name string) bool { return variables[name] != nil })
}

// outside is broken by a number that is not in a range.
func outside(path string, least, most float64) func(wanted, previous map[string]any) bool {
	return func(wanted, _ map[string]any) bool {
		n, ok := numberAt(wanted, path)
		return ok && (n < least || n > most)
	}
}

// changes is broken by the change of a number.
func changes(path string, breaks func(from, to float64) bool) func(wanted, previous map[string]any) bool {
	return func(wanted, previous map[string]any) bool {
		from, known := numberAt(previous, path)
		to, ok := numberAt(wanted, path)
		return known && ok && breaks(from, to)
	}
}

// numberAt returns a number, which a template may write as text.
func numberAt(properties map[string]any, path string) (n float64, ok bool) {
	value := at(properties, path)
	if value == nil {
		return 0, false
	}
	_, err := fmt.Sscanf(fmt.Sprint(value), "%g", &n)
	return n, err == nil
}

// hasSeveralTransitions reports whether a lifecycle policy of a file system has more than one
// transition.
func hasSeveralTransitions(properties map[string]any) bool {
	policies, _ := properties["LifecyclePolicies"].([]any)
	for _, one := range policies {
		if policy, _ := one.(map[string]any); len(policy) > 1 {
			return true
		}
	}
	return false
}
