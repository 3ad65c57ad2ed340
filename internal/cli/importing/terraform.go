package importing

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/adopt"
)

// terraformState is what the command reads of a state file, whose format has the version 4. Other values
// in it may be secrets.
// https://developer.hashicorp.com/terraform/internals/json-format is about another format; the state's own
// is in https://github.com/hashicorp/terraform/blob/main/internal/states/statefile/version4.go.
type terraformState struct {
	Version   int `json:"version"`
	Resources []struct {
		Module    string `json:"module"`
		Mode      string `json:"mode"`
		Type      string `json:"type"`
		Name      string `json:"name"`
		Instances []struct {
			IndexKey   any                        `json:"index_key"` //nolint:tagliatelle // Terraform's name
			Attributes map[string]json.RawMessage `json:"attributes"`
		} `json:"instances"`
	} `json:"resources"`
}

// terraformTypes are CloudFormation's types for those of Terraform's provider aws, and the attributes
// with their primary identifiers.
// https://registry.terraform.io/providers/hashicorp/aws/latest/docs
var terraformTypes = map[string]struct{ kind, identifier string }{
	"aws_acm_certificate":               {"AWS::CertificateManager::Certificate", "arn"},
	"aws_apigatewayv2_api":              {"AWS::ApiGatewayV2::Api", "id"},
	"aws_cloudfront_distribution":       {"AWS::CloudFront::Distribution", "id"},
	"aws_cloudwatch_event_bus":          {"AWS::Events::EventBus", "name"},
	"aws_cloudwatch_event_rule":         {"AWS::Events::Rule", "arn"},
	"aws_cloudwatch_log_group":          {"AWS::Logs::LogGroup", "name"},
	"aws_cloudwatch_metric_alarm":       {"AWS::CloudWatch::Alarm", "alarm_name"},
	"aws_cognito_user_pool":             {"AWS::Cognito::UserPool", "id"},
	"aws_db_instance":                   {"AWS::RDS::DBInstance", "identifier"},
	"aws_db_subnet_group":               {"AWS::RDS::DBSubnetGroup", "name"},
	"aws_dynamodb_table":                {"AWS::DynamoDB::Table", "name"},
	"aws_ecr_repository":                {"AWS::ECR::Repository", "name"},
	"aws_ecs_cluster":                   {"AWS::ECS::Cluster", "name"},
	"aws_efs_file_system":               {"AWS::EFS::FileSystem", "id"},
	"aws_elasticache_replication_group": {"AWS::ElastiCache::ReplicationGroup", "replication_group_id"},
	"aws_iam_instance_profile":          {"AWS::IAM::InstanceProfile", "name"},
	"aws_iam_policy":                    {"AWS::IAM::ManagedPolicy", "arn"},
	"aws_iam_role":                      {"AWS::IAM::Role", "name"},
	"aws_iam_user":                      {"AWS::IAM::User", "name"},
	"aws_kinesis_stream":                {"AWS::Kinesis::Stream", "name"},
	"aws_kms_alias":                     {"AWS::KMS::Alias", "name"},
	"aws_kms_key":                       {"AWS::KMS::Key", "key_id"},
	"aws_lambda_function":               {"AWS::Lambda::Function", "function_name"},
	"aws_opensearch_domain":             {"AWS::OpenSearchService::Domain", "domain_name"},
	"aws_rds_cluster":                   {"AWS::RDS::DBCluster", "cluster_identifier"},
	"aws_route53_zone":                  {"AWS::Route53::HostedZone", "zone_id"},
	"aws_s3_bucket":                     {"AWS::S3::Bucket", "id"},
	"aws_secretsmanager_secret":         {"AWS::SecretsManager::Secret", "arn"},
	"aws_security_group":                {"AWS::EC2::SecurityGroup", "id"},
	"aws_sfn_state_machine":             {"AWS::StepFunctions::StateMachine", "arn"},
	"aws_sns_topic":                     {"AWS::SNS::Topic", "arn"},
	"aws_sqs_queue":                     {"AWS::SQS::Queue", "id"},
	"aws_ssm_parameter":                 {"AWS::SSM::Parameter", "name"},
	"aws_subnet":                        {"AWS::EC2::Subnet", "id"},
	"aws_vpc":                           {"AWS::EC2::VPC", "id"},
}

// ofTerraform returns the resources in a state file of Terraform, as they are in AWS.
func (s *source) ofTerraform(ctx context.Context, file string) ([]adopt.Resource, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the user names the file
	if err != nil {
		return nil, fmt.Errorf("--terraform-state: %w", err)
	}
	var state terraformState
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, fmt.Errorf("--terraform-state %s is no state file of Terraform: %w", file, err)
	}
	const version = 4
	if state.Version != version {
		return nil, fmt.Errorf("--terraform-state %s has version %d; the command reads version %d, which terraform state pull prints",
			file, state.Version, version)
	}
	var listed []adopt.Resource
	addresses := map[adopt.Resource]string{}
	for _, resource := range state.Resources {
		if resource.Mode != "managed" {
			continue
		}
		for _, instance := range resource.Instances {
			address := strings.TrimPrefix(resource.Module+"."+resource.Type+"."+resource.Name, ".")
			switch key := instance.IndexKey.(type) {
			case string:
				address += fmt.Sprintf("[%q]", key)
			case float64:
				address += fmt.Sprintf("[%d]", int(key))
			}
			r, why := s.fromTerraform(resource.Type, instance.Attributes)
			if why != "" {
				s.skipped = append(s.skipped, skipped{address, why})
				continue
			}
			listed, addresses[r] = append(listed, r), address
		}
	}
	read, err := s.read(ctx, listed)
	if err != nil {
		return nil, err
	}
	s.steps = []string{"When the objects are ready, take the resources out of Terraform's state, so that Terraform neither changes nor deletes them:"}
	for _, r := range read {
		s.steps = append(s.steps, "  terraform state rm '"+addresses[adopt.Resource{Type: r.Type, Identifier: r.Identifier}]+"'")
	}
	return read, nil
}

// fromTerraform returns the resource with the attributes, or why there is none.
func (s *source) fromTerraform(kind string, attributes map[string]json.RawMessage) (r adopt.Resource, why string) {
	attribute := func(name string) (text string) {
		_ = json.Unmarshal(attributes[name], &text) // it is empty if it is no text
		return text
	}
	identifier := "id"
	if known, ok := terraformTypes[kind]; ok {
		r.Type, identifier = known.kind, known.identifier
	} else if r.Type = cloudControlType(kind); r.Type == "" {
		return r, "the command does not know which CloudFormation type it has, or it is a part of another resource"
	}
	if r.Identifier = attribute(identifier); r.Identifier == "" {
		return r, "its attribute " + identifier + " is empty"
	}
	const parts, region = 6, 3 // arn:partition:service:region:account:resource
	if arn := strings.SplitN(attribute("arn"), ":", parts); len(arn) == parts && arn[region] != "" {
		if here := s.clients.Region(awsapi.Target{}); arn[region] != here {
			return r, fmt.Sprintf("it is in region %s, not in %s; run the command again with --aws-region %s", arn[region], here, arn[region])
		}
	}
	return r, ""
}

// cloudControlType returns the CloudFormation type of a type of the provider awscc, which is named after it
// and identifies its resources in the same way.
// https://registry.terraform.io/providers/hashicorp/awscc/latest/docs
func cloudControlType(kind string) string {
	name, ok := strings.CutPrefix(kind, "awscc_")
	if !ok {
		return ""
	}
	name = strings.ReplaceAll(name, "_", "")
	for _, candidate := range schema.Default().Names() {
		if strings.EqualFold(name, strings.ReplaceAll(strings.TrimPrefix(candidate, "AWS::"), "::", "")) {
			return candidate
		}
	}
	return ""
}
