package permissions

// resourceType is a CloudFormation type in the project's templates.
type resourceType struct {
	name string
	// users are the parts whose templates use it.
	users users
	// actions are those that CloudFormation calls for it, with the permissions of the stack's
	// caller.
	actions []string
}

// resourceTypes has the permissions of the handlers in the schema that AWS publishes for each type,
// except those for properties that the project's templates do not set (fleets, VPC Lattice, table
// buckets, Cognito, Firehose, Kinesis, log groups, alarms, policies of users and groups, replicas,
// restores, logs of deliveries, layers, file systems of functions, roles of rules, and VPC origins,
// tenants and staging of distributions), and those that a narrower action replaces: ec2:Get* and
// ssm:Get*. In addition, it has the actions of types without
// a published handler (AWS::Route53::RecordSet), those of the update policy of an Auto Scaling group,
// and those that a service calls with the permissions of its caller: for a key of the user, for the
// images of functions, for the network interfaces of mount targets, for the web ACLs of distributions,
// and for the alarms of Application Auto Scaling. The role of an object may be passed by a statement of its own (PassRoles)
// only.
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-updatepolicy.html
// https://docs.aws.amazon.com/secretsmanager/latest/userguide/security-encryption.html
// https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/rds-secrets-manager.html
// https://docs.aws.amazon.com/opensearch-service/latest/developerguide/encryption-at-rest.html
// https://docs.aws.amazon.com/autoscaling/application/userguide/security_iam_id-based-policy-examples.html
// https://docs.aws.amazon.com/lambda/latest/dg/images-create.html
// https://github.com/aws/aws-sdk-java/issues/2901
// https://docs.aws.amazon.com/efs/latest/ug/API_CreateMountTarget.html
// https://docs.aws.amazon.com/efs/latest/ug/API_DeleteMountTarget.html
// https://docs.aws.amazon.com/efs/latest/ug/API_ModifyMountTargetSecurityGroups.html
var resourceTypes = []resourceType{
	{"AWS::ApplicationAutoScaling::ScalableTarget", services, []string{
		"application-autoscaling:DeregisterScalableTarget", "application-autoscaling:DescribeScalableTargets",
		"application-autoscaling:DescribeScheduledActions", "application-autoscaling:RegisterScalableTarget",
		"cloudwatch:DeleteAlarms", "cloudwatch:DescribeAlarms", "cloudwatch:PutMetricAlarm", "dynamodb:DescribeTable",
		"dynamodb:UpdateTable", "iam:CreateServiceLinkedRole",
	}},
	{"AWS::ApplicationAutoScaling::ScalingPolicy", services, []string{
		"application-autoscaling:DeleteScalingPolicy", "application-autoscaling:DescribeScalingPolicies",
		"application-autoscaling:PutScalingPolicy", "cloudwatch:DeleteAlarms", "cloudwatch:DescribeAlarms",
		"cloudwatch:PutMetricAlarm",
	}},
	{"AWS::AutoScaling::AutoScalingGroup", clusters, []string{
		"autoscaling:AttachLoadBalancerTargetGroups", "autoscaling:AttachLoadBalancers", "autoscaling:AttachTrafficSources",
		"autoscaling:CancelInstanceRefresh", "autoscaling:CreateAutoScalingGroup", "autoscaling:CreateOrUpdateTags",
		"autoscaling:DeleteAutoScalingGroup", "autoscaling:DeleteLifecycleHook", "autoscaling:DeleteNotificationConfiguration",
		"autoscaling:DeleteTags", "autoscaling:Describe*", "autoscaling:DetachLoadBalancerTargetGroups",
		"autoscaling:DetachLoadBalancers", "autoscaling:DetachTrafficSources", "autoscaling:DisableMetricsCollection",
		"autoscaling:EnableMetricsCollection", "autoscaling:PutLifecycleHook", "autoscaling:PutNotificationConfiguration",
		"autoscaling:ResumeProcesses", "autoscaling:StartInstanceRefresh", "autoscaling:SuspendProcesses",
		"autoscaling:TerminateInstanceInAutoScalingGroup", "autoscaling:UpdateAutoScalingGroup", "ec2:CreateTags", "ec2:Describe*",
		"ec2:GetInstanceTypesFromInstanceRequirements", "ec2:RunInstances", "elasticloadbalancing:Describe*",
		"iam:CreateServiceLinkedRole", "iam:PassRole",
	}},
	{"AWS::CloudFront::Distribution", services, []string{
		"cloudfront:CreateDistribution", "cloudfront:CreateDistributionWithTags", "cloudfront:DeleteDistribution",
		"cloudfront:GetDistribution", "cloudfront:GetDistributionConfig", "cloudfront:ListDistributions",
		"cloudfront:ListTagsForResource", "cloudfront:TagResource", "cloudfront:UntagResource", "cloudfront:UpdateDistribution",
		"wafv2:GetWebACL",
	}},
	{"AWS::CloudFront::OriginAccessControl", services, []string{
		"cloudfront:CreateOriginAccessControl", "cloudfront:DeleteOriginAccessControl", "cloudfront:GetOriginAccessControl",
		"cloudfront:ListOriginAccessControls", "cloudfront:UpdateOriginAccessControl",
	}},
	{"AWS::DynamoDB::Table", services, []string{
		"dynamodb:AssociateTableReplica", "dynamodb:BatchWriteItem", "dynamodb:CreateTable", "dynamodb:CreateTableReplica",
		"dynamodb:DeleteItem", "dynamodb:DeleteResourcePolicy", "dynamodb:DeleteTable", "dynamodb:DescribeContinuousBackups",
		"dynamodb:DescribeContributorInsights", "dynamodb:DescribeImport", "dynamodb:DescribeKinesisStreamingDestination",
		"dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive", "dynamodb:DisableKinesisStreamingDestination",
		"dynamodb:EnableKinesisStreamingDestination", "dynamodb:GetItem", "dynamodb:GetResourcePolicy", "dynamodb:ImportTable",
		"dynamodb:ListTables", "dynamodb:ListTagsOfResource", "dynamodb:PutItem", "dynamodb:PutResourcePolicy", "dynamodb:Query",
		"dynamodb:Scan", "dynamodb:TagResource", "dynamodb:UntagResource", "dynamodb:UpdateContinuousBackups",
		"dynamodb:UpdateContributorInsights", "dynamodb:UpdateItem", "dynamodb:UpdateKinesisStreamingDestination",
		"dynamodb:UpdateTable", "dynamodb:UpdateTimeToLive", "iam:CreateServiceLinkedRole", "kms:CreateGrant", "kms:Decrypt",
		"kms:DescribeKey", "kms:Encrypt", "kms:ListAliases", "kms:RevokeGrant", "s3:GetObject", "s3:ListBucket",
	}},
	{"AWS::EC2::EIP", clusters, []string{
		"ec2:AcceptAddressTransfer", "ec2:AllocateAddress", "ec2:AssociateAddress", "ec2:CreateTags", "ec2:DeleteTags",
		"ec2:DescribeAddresses", "ec2:DescribeInstances", "ec2:DisassociateAddress", "ec2:ReleaseAddress",
	}},
	{"AWS::EC2::InternetGateway", clusters, []string{
		"ec2:CreateInternetGateway", "ec2:CreateTags", "ec2:DeleteInternetGateway", "ec2:DeleteTags",
		"ec2:DescribeInternetGateways",
	}},
	{"AWS::EC2::LaunchTemplate", clusters, []string{
		"ec2:CreateLaunchTemplate", "ec2:CreateLaunchTemplateVersion", "ec2:CreateTags", "ec2:DeleteLaunchTemplate",
		"ec2:DeleteTags", "ec2:DescribeLaunchTemplateVersions", "ec2:DescribeLaunchTemplates", "ssm:GetParameters",
	}},
	{"AWS::EC2::NatGateway", clusters, []string{
		"ec2:AssignPrivateNatGatewayAddress", "ec2:AssociateNatGatewayAddress", "ec2:CreateNatGateway", "ec2:CreateTags",
		"ec2:DeleteNatGateway", "ec2:DeleteTags", "ec2:DescribeNatGateways", "ec2:DisassociateNatGatewayAddress",
		"ec2:UnassignPrivateNatGatewayAddress",
	}},
	{"AWS::EC2::PlacementGroup", clusters, []string{
		"ec2:CreatePlacementGroup", "ec2:CreateTags", "ec2:DeletePlacementGroup", "ec2:DescribePlacementGroups",
	}},
	{"AWS::EC2::Route", clusters, []string{
		"ec2:CreateRoute", "ec2:DeleteRoute", "ec2:DescribeNetworkInterfaces", "ec2:DescribeRouteTables", "ec2:ReplaceRoute",
	}},
	{"AWS::EC2::RouteTable", clusters, []string{
		"ec2:CreateRouteTable", "ec2:CreateTags", "ec2:DeleteRouteTable", "ec2:DeleteTags", "ec2:DescribeRouteTables",
	}},
	{"AWS::EC2::SecurityGroup", clusters, []string{
		"ec2:AuthorizeSecurityGroupEgress", "ec2:AuthorizeSecurityGroupIngress", "ec2:CreateSecurityGroup", "ec2:CreateTags",
		"ec2:DeleteSecurityGroup", "ec2:DeleteTags", "ec2:DescribeInstances", "ec2:DescribeSecurityGroups",
		"ec2:RevokeSecurityGroupEgress", "ec2:RevokeSecurityGroupIngress", "ec2:UpdateSecurityGroupRuleDescriptionsEgress",
		"ec2:UpdateSecurityGroupRuleDescriptionsIngress",
	}},
	{"AWS::EC2::SecurityGroupIngress", clusters, []string{
		"ec2:AuthorizeSecurityGroupIngress", "ec2:DescribeSecurityGroupRules", "ec2:DescribeSecurityGroups",
		"ec2:RevokeSecurityGroupIngress", "ec2:UpdateSecurityGroupRuleDescriptionsIngress",
	}},
	{"AWS::EC2::Subnet", clusters, []string{
		"ec2:AssociateSubnetCidrBlock", "ec2:CreateSubnet", "ec2:CreateTags", "ec2:DeleteSubnet", "ec2:DeleteTags",
		"ec2:DescribeNetworkAcls", "ec2:DescribeSubnets", "ec2:DisassociateSubnetCidrBlock", "ec2:ModifySubnetAttribute",
	}},
	{"AWS::EC2::SubnetRouteTableAssociation", clusters, []string{
		"ec2:AssociateRouteTable", "ec2:DescribeRouteTables", "ec2:DescribeSubnets", "ec2:DisassociateRouteTable",
		"ec2:ReplaceRouteTableAssociation",
	}},
	{"AWS::EC2::VPC", clusters, []string{
		"ec2:CreateTags", "ec2:CreateVpc", "ec2:CreateVpcEncryptionControl", "ec2:DeleteTags", "ec2:DeleteVpc",
		"ec2:DescribeNetworkAcls", "ec2:DescribeSecurityGroups", "ec2:DescribeVpcAttribute", "ec2:DescribeVpcEncryptionControls",
		"ec2:DescribeVpcs", "ec2:ModifyVpcAttribute", "ec2:ModifyVpcTenancy",
	}},
	{"AWS::EC2::VPCEndpoint", clusters, []string{
		"ec2:CreateTags", "ec2:CreateVpcEndpoint", "ec2:DeleteTags", "ec2:DeleteVpcEndpoints", "ec2:DescribeSecurityGroups",
		"ec2:DescribeSubnets", "ec2:DescribeVpcEndpoints", "ec2:DescribeVpcs", "ec2:ModifyVpcEndpoint",
	}},
	{"AWS::EC2::VPCGatewayAttachment", clusters, []string{
		"ec2:AttachInternetGateway", "ec2:AttachVpnGateway", "ec2:DescribeInternetGateways", "ec2:DescribeVpnGateways",
		"ec2:DetachInternetGateway", "ec2:DetachVpnGateway",
	}},
	{"AWS::EC2::Volume", clusters, []string{
		"ec2:CopyVolumes", "ec2:CreateSnapshot", "ec2:CreateTags", "ec2:CreateVolume", "ec2:DeleteTags", "ec2:DeleteVolume",
		"ec2:DescribeSnapshots", "ec2:DescribeTags", "ec2:DescribeVolumeAttribute", "ec2:DescribeVolumes",
		"ec2:DescribeVolumesModifications", "ec2:ModifyVolume", "ec2:ModifyVolumeAttribute", "kms:CreateGrant", "kms:Decrypt",
		"kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo",
	}},
	{"AWS::ECR::Repository", services, []string{
		"ecr:CreateRepository", "ecr:DeleteLifecyclePolicy", "ecr:DeleteRepository", "ecr:DeleteRepositoryPolicy",
		"ecr:DescribeRepositories", "ecr:GetLifecyclePolicy", "ecr:GetRepositoryPolicy", "ecr:ListTagsForResource",
		"ecr:PutImageScanningConfiguration", "ecr:PutImageTagMutability", "ecr:PutLifecyclePolicy", "ecr:SetRepositoryPolicy",
		"ecr:TagResource", "ecr:UntagResource", "kms:CreateGrant", "kms:DescribeKey", "kms:RetireGrant",
	}},
	{"AWS::EFS::FileSystem", services, []string{
		"elasticfilesystem:CreateFileSystem", "elasticfilesystem:DeleteFileSystem", "elasticfilesystem:DeleteTags",
		"elasticfilesystem:DescribeBackupPolicy", "elasticfilesystem:DescribeFileSystemPolicy",
		"elasticfilesystem:DescribeFileSystems", "elasticfilesystem:DescribeLifecycleConfiguration",
		"elasticfilesystem:DescribeReplicationConfigurations", "elasticfilesystem:ListTagsForResource",
		"elasticfilesystem:PutBackupPolicy", "elasticfilesystem:PutLifecycleConfiguration", "elasticfilesystem:TagResource",
		"elasticfilesystem:UntagResource", "elasticfilesystem:UpdateFileSystem", "kms:CreateGrant", "kms:DescribeKey",
		"kms:GenerateDataKeyWithoutPlaintext",
	}},
	{"AWS::EFS::MountTarget", services, []string{
		"ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets",
		"ec2:ModifyNetworkInterfaceAttribute", "elasticfilesystem:CreateMountTarget", "elasticfilesystem:DeleteMountTarget",
		"elasticfilesystem:DescribeMountTargetSecurityGroups", "elasticfilesystem:DescribeMountTargets",
		"elasticfilesystem:ModifyMountTargetSecurityGroups",
	}},
	{"AWS::ElastiCache::CacheCluster", services, []string{
		"elasticache:AddTagsToResource", "elasticache:CreateCacheCluster", "elasticache:CreateSnapshot",
		"elasticache:DeleteCacheCluster", "elasticache:DescribeCacheClusters", "elasticache:ListTagsForResource",
		"elasticache:ModifyCacheCluster", "elasticache:RebootCacheCluster", "elasticache:RemoveTagsFromResource",
		"iam:CreateServiceLinkedRole", "s3:GetObject",
	}},
	{"AWS::ElasticLoadBalancingV2::Listener", clusters, []string{
		"elasticloadbalancing:AddTags", "elasticloadbalancing:CreateListener", "elasticloadbalancing:DeleteListener",
		"elasticloadbalancing:DescribeListenerAttributes", "elasticloadbalancing:DescribeListeners",
		"elasticloadbalancing:DescribeTags", "elasticloadbalancing:ModifyListener",
		"elasticloadbalancing:ModifyListenerAttributes", "elasticloadbalancing:RemoveTags",
	}},
	{"AWS::ElasticLoadBalancingV2::LoadBalancer", clusters, []string{
		"ec2:DescribeIpamPools", "elasticloadbalancing:AddTags", "elasticloadbalancing:CreateLoadBalancer",
		"elasticloadbalancing:DeleteLoadBalancer", "elasticloadbalancing:DescribeCapacityReservation",
		"elasticloadbalancing:DescribeLoadBalancerAttributes", "elasticloadbalancing:DescribeLoadBalancers",
		"elasticloadbalancing:DescribeTags", "elasticloadbalancing:ModifyCapacityReservation",
		"elasticloadbalancing:ModifyIpPools", "elasticloadbalancing:ModifyLoadBalancerAttributes",
		"elasticloadbalancing:RemoveTags", "elasticloadbalancing:SetIpAddressType", "elasticloadbalancing:SetSecurityGroups",
		"elasticloadbalancing:SetSubnets",
	}},
	{"AWS::ElasticLoadBalancingV2::TargetGroup", clusters, []string{
		"elasticloadbalancing:AddTags", "elasticloadbalancing:CreateTargetGroup", "elasticloadbalancing:DeleteTargetGroup",
		"elasticloadbalancing:DeregisterTargets", "elasticloadbalancing:DescribeTags",
		"elasticloadbalancing:DescribeTargetGroupAttributes", "elasticloadbalancing:DescribeTargetGroups",
		"elasticloadbalancing:DescribeTargetHealth", "elasticloadbalancing:ModifyTargetGroup",
		"elasticloadbalancing:ModifyTargetGroupAttributes", "elasticloadbalancing:RegisterTargets",
		"elasticloadbalancing:RemoveTags",
	}},
	{"AWS::Events::Rule", services | events, []string{
		"events:DeleteRule", "events:DescribeRule", "events:ListRules", "events:ListTagsForResource", "events:ListTargetsByRule",
		"events:PutRule", "events:PutTargets", "events:RemoveTargets", "events:TagResource", "events:UntagResource",
	}},
	// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelastickubernetesservice.html
	{"AWS::EKS::AccessEntry", eksClusters, []string{
		"eks:AssociateAccessPolicy", "eks:CreateAccessEntry", "eks:DeleteAccessEntry", "eks:DescribeAccessEntry",
		"eks:DisassociateAccessPolicy", "eks:ListAssociatedAccessPolicies", "eks:TagResource", "eks:UntagResource", "eks:UpdateAccessEntry",
	}},
	{"AWS::EKS::Addon", eksClusters, []string{
		"eks:CreateAddon", "eks:DeleteAddon", "eks:DescribeAddon", "eks:DescribeUpdate", "eks:TagResource", "eks:UntagResource",
		"eks:UpdateAddon",
	}},
	{"AWS::EKS::Cluster", eksClusters, []string{
		"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs", "eks:CreateCluster", "eks:DeleteCluster",
		"eks:DescribeCluster", "eks:DescribeUpdate", "eks:TagResource", "eks:UntagResource", "eks:UpdateClusterConfig",
		"eks:UpdateClusterVersion", "iam:CreateServiceLinkedRole", "iam:GetRole", "iam:ListAttachedRolePolicies", "iam:PassRole",
		"kms:CreateGrant", "kms:DescribeKey",
	}},
	{"AWS::EKS::Nodegroup", eksClusters, []string{
		"ec2:CreateTags", "ec2:DescribeInstances", "ec2:DescribeLaunchTemplateVersions", "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets",
		"ec2:RunInstances", "eks:CreateNodegroup", "eks:DeleteNodegroup", "eks:DescribeNodegroup", "eks:DescribeUpdate", "eks:TagResource",
		"eks:UntagResource", "eks:UpdateNodegroupConfig", "eks:UpdateNodegroupVersion", "iam:CreateServiceLinkedRole", "iam:GetRole",
		"iam:ListAttachedRolePolicies", "iam:PassRole",
	}},
	{"AWS::EKS::PodIdentityAssociation", eksClusters, []string{
		"eks:CreatePodIdentityAssociation", "eks:DeletePodIdentityAssociation", "eks:DescribePodIdentityAssociation", "eks:TagResource",
		"eks:UntagResource", "eks:UpdatePodIdentityAssociation", "iam:GetRole", "iam:PassRole",
	}},
	{"AWS::IAM::InstanceProfile", clusters, []string{
		"iam:AddRoleToInstanceProfile", "iam:CreateInstanceProfile", "iam:DeleteInstanceProfile", "iam:GetInstanceProfile",
		"iam:ListInstanceProfiles", "iam:PassRole", "iam:RemoveRoleFromInstanceProfile",
	}},
	{"AWS::IAM::ManagedPolicy", clusters, []string{
		"iam:AttachRolePolicy", "iam:CreatePolicy", "iam:CreatePolicyVersion", "iam:DeletePolicy", "iam:DeletePolicyVersion",
		"iam:DetachRolePolicy", "iam:GetPolicy", "iam:GetPolicyVersion", "iam:ListEntitiesForPolicy", "iam:ListPolicies",
		"iam:ListPolicyVersions",
	}},
	{"AWS::IAM::OIDCProvider", clusters, []string{
		"iam:AddClientIDToOpenIDConnectProvider", "iam:CreateOpenIDConnectProvider", "iam:DeleteOpenIDConnectProvider",
		"iam:GetOpenIDConnectProvider", "iam:ListOpenIDConnectProviderTags", "iam:ListOpenIDConnectProviders",
		"iam:RemoveClientIDFromOpenIDConnectProvider", "iam:TagOpenIDConnectProvider", "iam:UntagOpenIDConnectProvider",
		"iam:UpdateOpenIDConnectProviderThumbprint",
	}},
	{"AWS::IAM::Role", clusters, []string{
		"iam:AttachRolePolicy", "iam:CreateRole", "iam:DeleteRole", "iam:DeleteRolePermissionsBoundary", "iam:DeleteRolePolicy",
		"iam:DetachRolePolicy", "iam:GetRole", "iam:GetRolePolicy", "iam:ListAttachedRolePolicies", "iam:ListRolePolicies",
		"iam:ListRoles", "iam:PutRolePermissionsBoundary", "iam:PutRolePolicy", "iam:TagRole", "iam:UntagRole",
		"iam:UpdateAssumeRolePolicy", "iam:UpdateRole", "iam:UpdateRoleDescription",
	}},
	{"AWS::KMS::Alias", services | clusters, []string{
		"kms:CreateAlias", "kms:DeleteAlias", "kms:ListAliases", "kms:UpdateAlias",
	}},
	{"AWS::KMS::Key", services | clusters, []string{
		"kms:CreateKey", "kms:DescribeKey", "kms:DisableKey", "kms:DisableKeyRotation", "kms:EnableKey", "kms:EnableKeyRotation",
		"kms:GetKeyPolicy", "kms:GetKeyRotationStatus", "kms:ListKeys", "kms:ListResourceTags", "kms:PutKeyPolicy",
		"kms:ScheduleKeyDeletion", "kms:TagResource", "kms:UntagResource", "kms:UpdateKeyDescription",
	}},
	{"AWS::Kinesis::Stream", services, []string{
		"kinesis:AddTagsToStream", "kinesis:CreateStream", "kinesis:DecreaseStreamRetentionPeriod", "kinesis:DeleteStream",
		"kinesis:DescribeStreamSummary", "kinesis:DisableEnhancedMonitoring", "kinesis:EnableEnhancedMonitoring",
		"kinesis:IncreaseStreamRetentionPeriod", "kinesis:ListStreams", "kinesis:ListTagsForResource", "kinesis:ListTagsForStream",
		"kinesis:RemoveTagsFromStream", "kinesis:StartStreamEncryption", "kinesis:StopStreamEncryption", "kinesis:TagResource",
		"kinesis:UntagResource", "kinesis:UpdateMaxRecordSize", "kinesis:UpdateShardCount", "kinesis:UpdateStreamMode",
		"kinesis:UpdateStreamWarmThroughput",
	}},
	{"AWS::Lambda::EventSourceMapping", services, []string{
		"lambda:CreateEventSourceMapping", "lambda:DeleteEventSourceMapping", "lambda:GetEventSourceMapping", "lambda:ListTags",
		"lambda:TagResource", "lambda:UntagResource", "lambda:UpdateEventSourceMapping",
	}},
	{"AWS::Lambda::Function", services, []string{
		"ec2:DescribeNetworkInterfaces", "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs", "ecr:BatchGetImage",
		"ecr:GetDownloadUrlForLayer", "ecr:GetRepositoryPolicy", "ecr:SetRepositoryPolicy", "kms:Decrypt", "lambda:CreateFunction",
		"lambda:DeleteFunction", "lambda:DeleteFunctionConcurrency", "lambda:GetFunction", "lambda:GetFunctionCodeSigningConfig",
		"lambda:GetFunctionRecursionConfig", "lambda:GetRuntimeManagementConfig", "lambda:PutFunctionConcurrency",
		"lambda:PutFunctionRecursionConfig", "lambda:PutRuntimeManagementConfig", "lambda:TagResource", "lambda:UntagResource",
		"lambda:UpdateFunctionCode", "lambda:UpdateFunctionConfiguration", "s3:GetObject", "s3:GetObjectVersion",
	}},
	{"AWS::Lambda::Permission", services, []string{"lambda:AddPermission", "lambda:GetPolicy", "lambda:RemovePermission"}},
	{"AWS::Logs::LogGroup", services, []string{
		"logs:CreateLogGroup", "logs:DeleteDataProtectionPolicy", "logs:DeleteLogGroup", "logs:DeleteRetentionPolicy",
		"logs:DescribeIndexPolicies", "logs:DescribeLogGroups", "logs:DescribeResourcePolicies", "logs:GetDataProtectionPolicy",
		"logs:ListTagsForResource", "logs:PutRetentionPolicy", "logs:TagResource", "logs:UntagResource",
	}},
	{"AWS::OpenSearchService::Domain", services, []string{
		"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs", "es:AddTags", "es:CreateDomain", "es:DeleteDomain",
		"es:DescribeDomain", "es:DescribeDomainChangeProgress", "es:ListTags", "es:RemoveTags", "es:UpdateDomainConfig",
		"es:UpgradeDomain", "iam:CreateServiceLinkedRole", "kms:CreateGrant", "kms:DescribeKey",
	}},
	{"AWS::RDS::DBCluster", services, []string{
		"ec2:DescribeSecurityGroups", "iam:CreateServiceLinkedRole", "kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey",
		"kms:GenerateDataKey", "rds:AddTagsToResource", "rds:CreateDBCluster", "rds:CreateDBClusterSnapshot", "rds:CreateDBInstance",
		"rds:DeleteDBCluster", "rds:DeleteDBInstance", "rds:DescribeDBClusterSnapshots", "rds:DescribeDBClusters",
		"rds:DescribeDBSnapshots", "rds:DescribeDBSubnetGroups", "rds:DescribeEvents", "rds:DescribeGlobalClusters",
		"rds:ModifyDBCluster", "rds:ModifyDBInstance", "rds:RemoveTagsFromResource", "secretsmanager:CreateSecret",
		"secretsmanager:TagResource",
	}},
	{"AWS::RDS::DBInstance", services, []string{
		"ec2:DescribeAccountAttributes", "ec2:DescribeAvailabilityZones", "ec2:DescribeInternetGateways", "ec2:DescribeSecurityGroups",
		"ec2:DescribeSubnets", "ec2:DescribeVpcAttribute", "ec2:DescribeVpcs", "iam:CreateServiceLinkedRole", "kms:CreateGrant",
		"kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey", "rds:AddTagsToResource", "rds:CreateDBInstance", "rds:CreateDBSnapshot",
		"rds:DeleteDBInstance", "rds:DescribeDBClusters", "rds:DescribeDBEngineVersions", "rds:DescribeDBInstanceAutomatedBackups",
		"rds:DescribeDBInstances", "rds:DescribeDBParameterGroups", "rds:DescribeDBSnapshots", "rds:DescribeEvents",
		"rds:ModifyDBInstance", "rds:RebootDBInstance", "rds:RemoveTagsFromResource", "secretsmanager:CreateSecret",
		"secretsmanager:TagResource",
	}},
	{"AWS::Route53::HostedZone", clusters, []string{
		"ec2:DescribeVpcs", "route53:AssociateVPCWithHostedZone", "route53:ChangeTagsForResource", "route53:CreateHostedZone",
		"route53:CreateQueryLoggingConfig", "route53:DeleteHostedZone", "route53:DeleteQueryLoggingConfig",
		"route53:DisassociateVPCFromHostedZone", "route53:GetChange", "route53:GetHostedZone", "route53:ListHostedZones",
		"route53:ListQueryLoggingConfigs", "route53:ListTagsForResource", "route53:UpdateHostedZoneComment",
		"route53:UpdateHostedZoneFeatures",
	}},
	{"AWS::Route53::RecordSet", clusters, []string{
		"route53:ChangeResourceRecordSets", "route53:GetChange", "route53:GetHostedZone", "route53:ListResourceRecordSets",
	}},
	{"AWS::S3::Bucket", services | clusters, []string{
		"s3:CreateBucket", "s3:CreateBucketMetadataTableConfiguration", "s3:DeleteBucket",
		"s3:DeleteBucketAnalyticsConfiguration", "s3:DeleteBucketCors", "s3:DeleteBucketEncryption", "s3:DeleteBucketLifecycle",
		"s3:DeleteBucketMetadataTableConfiguration", "s3:DeleteBucketMetricsConfiguration", "s3:DeleteBucketReplication",
		"s3:DeleteBucketWebsite", "s3:DeleteObject", "s3:GetAccelerateConfiguration", "s3:GetAnalyticsConfiguration",
		"s3:GetBucketAbac", "s3:GetBucketAcl", "s3:GetBucketCORS", "s3:GetBucketLogging", "s3:GetBucketNotification",
		"s3:GetBucketObjectLockConfiguration", "s3:GetBucketOwnershipControls", "s3:GetBucketPublicAccessBlock",
		"s3:GetBucketTagging", "s3:GetBucketVersioning", "s3:GetBucketWebsite", "s3:GetEncryptionConfiguration",
		"s3:GetIntelligentTieringConfiguration",
		"s3:GetInventoryConfiguration", "s3:GetLifecycleConfiguration", "s3:GetMetricsConfiguration",
		"s3:GetReplicationConfiguration", "s3:ListAllMyBuckets", "s3:ListBucket", "s3:PutAccelerateConfiguration",
		"s3:PutAnalyticsConfiguration", "s3:PutBucketAbac", "s3:PutBucketAcl", "s3:PutBucketCORS", "s3:PutBucketLogging",
		"s3:PutBucketNotification", "s3:PutBucketObjectLockConfiguration", "s3:PutBucketOwnershipControls",
		"s3:PutBucketPublicAccessBlock", "s3:PutBucketReplication", "s3:PutBucketTagging", "s3:PutBucketVersioning",
		"s3:PutBucketWebsite", "s3:PutEncryptionConfiguration", "s3:PutIntelligentTieringConfiguration",
		"s3:PutInventoryConfiguration", "s3:PutLifecycleConfiguration", "s3:PutMetricsConfiguration", "s3:PutObjectAcl",
		"s3:PutObjectLockConfiguration", "s3:PutReplicationConfiguration", "s3:TagResource", "s3:UntagResource",
		"s3:UpdateBucketMetadataAnnotationTableConfiguration", "s3:UpdateBucketMetadataInventoryTableConfiguration",
		"s3:UpdateBucketMetadataJournalTableConfiguration",
	}},
	{"AWS::S3::BucketPolicy", services | clusters, []string{
		"s3:DeleteBucketPolicy", "s3:GetBucketPolicy", "s3:ListAllMyBuckets", "s3:PutBucketPolicy",
	}},
	{"AWS::SecretsManager::Secret", services, []string{
		"kms:Decrypt", "kms:GenerateDataKey", "secretsmanager:CreateSecret", "secretsmanager:DeleteSecret",
		"secretsmanager:DescribeSecret", "secretsmanager:GetRandomPassword", "secretsmanager:GetSecretValue",
		"secretsmanager:ListSecrets", "secretsmanager:TagResource", "secretsmanager:UntagResource", "secretsmanager:UpdateSecret",
	}},
	{"AWS::SNS::Subscription", services, []string{
		"iam:GetRole", "sns:GetSubscriptionAttributes", "sns:ListSubscriptions", "sns:SetSubscriptionAttributes",
		"sns:Subscribe", "sns:Unsubscribe",
	}},
	{"AWS::SNS::Topic", services, []string{
		"iam:GetRole", "sns:CreateTopic", "sns:DeleteTopic", "sns:GetDataProtectionPolicy",
		"sns:GetTopicAttributes", "sns:ListSubscriptionsByTopic", "sns:ListTagsForResource", "sns:ListTopics",
		"sns:PutDataProtectionPolicy", "sns:SetTopicAttributes", "sns:Subscribe", "sns:TagResource", "sns:Unsubscribe",
		"sns:UntagResource",
	}},
	{"AWS::SNS::TopicPolicy", services, []string{"sns:SetTopicAttributes"}},
	{"AWS::StepFunctions::StateMachine", services, []string{
		"states:CreateStateMachine", "states:DeleteStateMachine", "states:DescribeStateMachine", "states:ListTagsForResource",
		"states:TagResource", "states:UntagResource", "states:UpdateStateMachine",
	}},
	{"AWS::SQS::Queue", services | events, []string{
		"sqs:CreateQueue", "sqs:DeleteQueue", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ListQueueTags", "sqs:ListQueues",
		"sqs:SetQueueAttributes", "sqs:TagQueue", "sqs:UntagQueue",
	}},
	{"AWS::SQS::QueuePolicy", services | events, []string{
		"sqs:SetQueueAttributes",
	}},
}
