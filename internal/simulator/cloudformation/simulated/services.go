package simulated

import "strings"

// services are the ARN service names that differ from the lower-case second part of the type's
// name.
// https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
var services = map[string]string{
	"ElasticLoadBalancingV2": "elasticloadbalancing", "ApplicationAutoScaling": "application-autoscaling",
	"CertificateManager": "acm", "StepFunctions": "states", "Cognito": "cognito-idp", "KinesisFirehose": "firehose",
	"KinesisAnalyticsV2": "kinesisanalytics", "EFS": "elasticfilesystem", "EMR": "elasticmapreduce", "SSO": "sso",
	"OpenSearchService": "es", "Elasticsearch": "es", "MSK": "kafka", "AmazonMQ": "mq", "DAX": "dax",
	"ACMPCA": "acm-pca", "ServiceCatalogAppRegistry": "servicecatalog", "ResourceGroups": "resource-groups",
	"Bedrock": "bedrock", "IoT": "iot", "APS": "aps", "VpcLattice": "vpc-lattice", "NetworkFirewall": "network-firewall",
	"AppRunner": "apprunner", "DirectoryService": "ds", "CloudWatch": "cloudwatch", "ApiGatewayV2": "apigateway",
}

// serviceOf returns the service's name in ARNs and actions.
func serviceOf(resourceType string) string {
	parts := strings.Split(resourceType, "::")
	if len(parts) < 2 {
		return "cloudformation"
	}
	if s, ok := services[parts[1]]; ok {
		return s
	}
	return strings.ToLower(parts[1])
}

// isGlobal reports whether a type's resources belong to no region.
func isGlobal(resourceType string) bool {
	for _, prefix := range []string{"AWS::IAM::", "AWS::Route53::", "AWS::CloudFront::", "AWS::Organizations::"} {
		if strings.HasPrefix(resourceType, prefix) {
			return true
		}
	}
	return false
}

// prefixes are the well-known prefixes of identifiers, by type.
var prefixes = map[string]string{
	"AWS::EC2::VPC": "vpc-", "AWS::EC2::Subnet": "subnet-", "AWS::EC2::SecurityGroup": "sg-", "AWS::EC2::Instance": "i-",
	"AWS::EC2::Volume": "vol-", "AWS::EC2::InternetGateway": "igw-", "AWS::EC2::NatGateway": "nat-",
	"AWS::EC2::RouteTable": "rtb-", "AWS::EC2::LaunchTemplate": "lt-", "AWS::EC2::EIP": "eipalloc-",
	"AWS::EC2::NetworkInterface": "eni-", "AWS::EC2::VPCEndpoint": "vpce-", "AWS::EC2::NetworkAcl": "acl-",
	"AWS::EC2::TransitGateway": "tgw-", "AWS::EC2::DHCPOptions": "dopt-", "AWS::EC2::VPCPeeringConnection": "pcx-",
	"AWS::EC2::CustomerGateway": "cgw-", "AWS::EC2::VPNGateway": "vgw-", "AWS::EFS::FileSystem": "fs-",
	"AWS::EFS::AccessPoint": "fsap-", "AWS::EC2::SubnetRouteTableAssociation": "rtbassoc-", "AWS::EC2::FlowLog": "fl-",
}

// idPrefixes are the same by the attribute's name.
var idPrefixes = map[string]string{
	"AllocationId": "eipalloc-", "VpcId": "vpc-", "SubnetId": "subnet-", "GroupId": "sg-", "InstanceId": "i-",
	"VolumeId": "vol-", "NetworkInterfaceId": "eni-", "RouteTableId": "rtb-", "DefaultNetworkAcl": "acl-",
	"DefaultSecurityGroup": "sg-",
}

func prefixOf(resourceType, attribute string) string {
	if p, ok := idPrefixes[attribute]; ok {
		return p
	}
	if p, ok := prefixes[resourceType]; ok {
		return p
	}
	return ""
}

// verbs are the actions of operations that are not named <service>:<operation><kind>.
var verbs = map[string]string{
	// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelastickubernetesservice.html
	"AWS::EKS::Cluster/Update":   "eks:UpdateClusterConfig",
	"AWS::EKS::Nodegroup/Update": "eks:UpdateNodegroupConfig",
	"AWS::EC2::Instance/Create":  "ec2:RunInstances", "AWS::EC2::Instance/Delete": "ec2:TerminateInstances",
	"AWS::EC2::EIP/Create": "ec2:AllocateAddress", "AWS::EC2::EIP/Delete": "ec2:ReleaseAddress",
	"AWS::SNS::Subscription/Create": "sns:Subscribe", "AWS::SNS::Subscription/Delete": "sns:Unsubscribe",
	"AWS::SNS::Topic/Update": "sns:SetTopicAttributes", "AWS::SQS::Queue/Update": "sqs:SetQueueAttributes",
	"AWS::SQS::QueuePolicy/Create": "sqs:SetQueueAttributes", "AWS::SQS::QueuePolicy/Update": "sqs:SetQueueAttributes",
	"AWS::SNS::TopicPolicy/Create": "sns:SetTopicAttributes", "AWS::SNS::TopicPolicy/Update": "sns:SetTopicAttributes",
	"AWS::SNS::TopicPolicy/Delete": "sns:SetTopicAttributes",
	"AWS::SQS::QueuePolicy/Delete": "sqs:SetQueueAttributes", "AWS::S3::BucketPolicy/Create": "s3:PutBucketPolicy",
	"AWS::S3::BucketPolicy/Update": "s3:PutBucketPolicy", "AWS::S3::BucketPolicy/Delete": "s3:DeleteBucketPolicy",
	"AWS::S3::Bucket/Update":   "s3:PutBucketTagging",
	"AWS::Events::Rule/Create": "events:PutRule", "AWS::Events::Rule/Update": "events:PutRule",
	"AWS::KMS::Key/Delete": "kms:ScheduleKeyDeletion", "AWS::KMS::Key/Update": "kms:PutKeyPolicy",
	"AWS::SSM::Parameter/Create": "ssm:PutParameter", "AWS::SSM::Parameter/Update": "ssm:PutParameter",
	"AWS::ApplicationAutoScaling::ScalableTarget/Create": "application-autoscaling:RegisterScalableTarget",
	"AWS::ApplicationAutoScaling::ScalableTarget/Update": "application-autoscaling:RegisterScalableTarget",
	"AWS::ApplicationAutoScaling::ScalableTarget/Delete": "application-autoscaling:DeregisterScalableTarget",
	"AWS::ApplicationAutoScaling::ScalingPolicy/Create":  "application-autoscaling:PutScalingPolicy",
	"AWS::ApplicationAutoScaling::ScalingPolicy/Update":  "application-autoscaling:PutScalingPolicy",
	"AWS::ElastiCache::CacheCluster/Update":              "elasticache:ModifyCacheCluster",
	"AWS::EFS::MountTarget/Update":                       "elasticfilesystem:ModifyMountTargetSecurityGroups",
	"AWS::Kinesis::Stream/Update":                        "kinesis:UpdateShardCount",
	"AWS::OpenSearchService::Domain/Update":              "es:UpdateDomainConfig",
	"AWS::RDS::DBCluster/Update":                         "rds:ModifyDBCluster",
	"AWS::RDS::DBInstance/Update":                        "rds:ModifyDBInstance",
	"AWS::ECR::Repository/Update":                        "ecr:PutImageScanningConfiguration",
	"AWS::EC2::VPCGatewayAttachment/Create":              "ec2:AttachInternetGateway",
	"AWS::EC2::VPCGatewayAttachment/Delete":              "ec2:DetachInternetGateway",
	"AWS::EC2::SubnetRouteTableAssociation/Create":       "ec2:AssociateRouteTable",
	"AWS::EC2::SubnetRouteTableAssociation/Delete":       "ec2:DisassociateRouteTable",
	"AWS::EC2::SecurityGroupIngress/Create":              "ec2:AuthorizeSecurityGroupIngress",
	"AWS::EC2::SecurityGroupIngress/Delete":              "ec2:RevokeSecurityGroupIngress",
	"AWS::EC2::SecurityGroupIngress/Update":              "ec2:UpdateSecurityGroupRuleDescriptionsIngress",
	"AWS::EC2::SecurityGroup/Update":                     "ec2:AuthorizeSecurityGroupIngress",
	"AWS::EC2::LaunchTemplate/Update":                    "ec2:CreateLaunchTemplateVersion", "AWS::EC2::VPC/Update": "ec2:ModifyVpcAttribute",
	"AWS::EC2::Subnet/Update": "ec2:ModifySubnetAttribute", "AWS::EC2::Volume/Update": "ec2:ModifyVolume",
	"AWS::EC2::Volume/Snapshot":    "ec2:CreateSnapshot",
	"AWS::EC2::VPCEndpoint/Update": "ec2:ModifyVpcEndpoint", "AWS::EC2::VPCEndpoint/Delete": "ec2:DeleteVpcEndpoints",
	"AWS::EC2::Route/Update": "ec2:ReplaceRoute", "AWS::EC2::RouteTable/Update": "ec2:CreateTags",
	"AWS::EC2::InternetGateway/Update": "ec2:CreateTags",
	"AWS::EC2::NatGateway/Update":      "ec2:CreateTags", "AWS::EC2::EIP/Update": "ec2:CreateTags",
	"AWS::ElasticLoadBalancingV2::LoadBalancer/Update": "elasticloadbalancing:ModifyLoadBalancerAttributes",
	"AWS::ElasticLoadBalancingV2::TargetGroup/Update":  "elasticloadbalancing:ModifyTargetGroup",
	"AWS::ElasticLoadBalancingV2::Listener/Update":     "elasticloadbalancing:ModifyListener",
	"AWS::Route53::RecordSet/Create":                   "route53:ChangeResourceRecordSets",
	"AWS::Route53::RecordSet/Update":                   "route53:ChangeResourceRecordSets",
	"AWS::Route53::RecordSet/Delete":                   "route53:ChangeResourceRecordSets",
	"AWS::Route53::HostedZone/Update":                  "route53:UpdateHostedZoneComment",
	// It embeds inline policies; the simulator has no groups, and asks for those of roles.
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-iam-policy.html
	"AWS::IAM::Policy/Create": "iam:PutRolePolicy", "AWS::IAM::Policy/Update": "iam:PutRolePolicy", "AWS::IAM::Policy/Delete": "iam:DeleteRolePolicy",
	"AWS::IAM::RolePolicy/Create": "iam:PutRolePolicy", "AWS::IAM::RolePolicy/Update": "iam:PutRolePolicy",
	"AWS::IAM::RolePolicy/Delete":    "iam:DeleteRolePolicy",
	"AWS::IAM::ManagedPolicy/Create": "iam:CreatePolicy", "AWS::IAM::ManagedPolicy/Update": "iam:CreatePolicyVersion",
	"AWS::IAM::ManagedPolicy/Delete": "iam:DeletePolicy",
	"AWS::IAM::OIDCProvider/Create":  "iam:CreateOpenIDConnectProvider", "AWS::IAM::OIDCProvider/Delete": "iam:DeleteOpenIDConnectProvider",
	"AWS::IAM::OIDCProvider/Update":    "iam:UpdateOpenIDConnectProviderThumbprint",
	"AWS::IAM::InstanceProfile/Update": "iam:AddRoleToInstanceProfile",
	"AWS::SNS::Subscription/Update":    "sns:SetSubscriptionAttributes",
	"AWS::Lambda::Function/Update":     "lambda:UpdateFunctionConfiguration",
	"AWS::Logs::LogGroup/Update":       "logs:PutRetentionPolicy",
	"AWS::Lambda::Permission/Create":   "lambda:AddPermission", "AWS::Lambda::Permission/Delete": "lambda:RemovePermission",
}

// Action returns the action that a caller needs for an operation on a type, such as
// "sqs:CreateQueue".
func Action(resourceType, operation string) string {
	if v, ok := verbs[resourceType+"/"+operation]; ok {
		return v
	}
	parts := strings.Split(resourceType, "::")
	return serviceOf(resourceType) + ":" + operation + parts[len(parts)-1]
}
