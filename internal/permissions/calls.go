package permissions

// users is a set of the parts of the project that need a permission.
type users int

const (
	// services is an operator that reconciles kinds of ModelDefinitions.
	services users = 1 << iota
	// clusters is an operator that reconciles Clusters and InstanceGroups.
	clusters
	// events is the stack of the operator's event queue, which every operator has.
	events
	// grants is an operator whose objects grant access to service accounts, or have roles.
	grants
	// roles is an operator whose objects have roles that CloudFormation passes to services.
	roles
	// podIdentities is an operator that associates roles with service accounts of an EKS cluster.
	podIdentities
	// eksClusters is an operator that reconciles Clusters whose control plane EKS runs.
	eksClusters
	// terminal is a user of the commands, in addition to the operator's own policies.
	terminal
	// trials is a user of the command trial, in addition to the policies for clusters.
	trials
)

// statement is a statement of the policies for the project's own calls, not CloudFormation's.
type statement struct {
	sid   string
	users users
	// resources are ARNs, in which names in braces stand for the values of a Choice.
	resources []string
	// calls are calls of the AWS SDK as "package.Operation".
	calls []string
	// actions are IAM actions without a call of the same name.
	actions   []string
	condition map[string]map[string][]string
	why       string
}

// actionsOf are the IAM actions of calls whose action has another name, or that need several.
// https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
var actionsOf = map[string][]string{
	// Stacks and change sets are tagged in the call that creates them.
	// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awscloudformation.html
	"cloudformation.CreateStack":     {"cloudformation:CreateStack", "cloudformation:TagResource"},
	"cloudformation.UpdateStack":     {"cloudformation:UpdateStack", "cloudformation:TagResource", "cloudformation:UntagResource"},
	"cloudformation.CreateChangeSet": {"cloudformation:CreateChangeSet", "cloudformation:TagResource"},
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html#drift-considerations
	"cloudformation.DetectStackDrift": {"cloudformation:DetectStackDrift", "cloudformation:DetectStackResourceDrift"},
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_session-tags.html
	"sts.AssumeRole": {"sts:AssumeRole", "sts:TagSession"},
	// Without s3:ListBucket, S3 answers 403 for an object that does not exist, not 404.
	// https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadObject.html
	"s3.HeadObject": {"s3:GetObject", "s3:ListBucket"},
	"s3.GetObject":  {"s3:GetObject", "s3:ListBucket"},
	// https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html
	"s3.ListObjectsV2":      {"s3:ListBucket"},
	"s3.ListObjectVersions": {"s3:ListBucketVersions"},
	"s3.DeleteObjects":      {"s3:DeleteObject", "s3:DeleteObjectVersion"},
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-api-permissions-reference.html
	"sqs.DeleteMessageBatch": {"sqs:DeleteMessage"},
	// Snapshots are tagged in the call that creates them.
	// https://docs.aws.amazon.com/ebs/latest/userguide/snapshot-permissions.html
	"ec2.CreateSnapshot": {"ec2:CreateSnapshot", "ec2:CreateTags"},
}

// prefixes are the IAM prefixes of SDK packages whose names differ from the prefix.
var prefixes = map[string]string{"cloudcontrol": "cloudformation", "elasticloadbalancingv2": "elasticloadbalancing"}

var statements = []statement{
	{
		sid: "OwnStacks", users: services, resources: []string{"arn:{partition}:cloudformation:{region}:{account}:stack/{serviceStack}"},
		calls: append([]string{"cloudformation.DetectStackDrift", "cloudformation.DescribeStackResourceDrifts"}, stackCalls...),
		why:   "The stacks of objects and of the event queue. Their names begin with the operator's cluster name: change aws-operator to yours.",
	},
	{
		sid: "DriftDetections", users: services | clusters, resources: all,
		calls: []string{"cloudformation.DescribeStackDriftDetectionStatus"},
		why:   "The progress of a drift detection. Its ID names no stack, and AWS supports no resource-level permissions for this action.",
	},
	{
		sid: "ClusterStacks", users: clusters, resources: []string{"arn:{partition}:cloudformation:{region}:{account}:stack/{clusterStack}"},
		calls: append([]string{
			"cloudformation.SetStackPolicy", "cloudformation.SignalResource", "cloudformation.CancelUpdateStack",
			"cloudformation.DetectStackDrift", "cloudformation.DescribeStackResourceDrifts",
		}, stackCalls...),
		why: "Stacks of clusters have the cluster's name. SignalResource continues a rolling update; CancelUpdateStack cancels an update that cannot succeed.",
	},
	{
		sid: "FindStacks", users: services | clusters, resources: all,
		calls: []string{"cloudformation.DescribeStacks", "sts.GetCallerIdentity"},
		why:   "The operator lists all stacks of an account and region to find its own; AWS supports no narrower resource for that.",
	},
	{
		sid: "ReadResources", users: services | terminal, resources: all,
		calls: []string{"cloudcontrol.GetResource"},
		why:   "The operator compares a resource with the object that adopts it, and the command import reads resources; AWS supports no narrower resource for that.",
	},
	{
		sid: "AssumeRoles", users: services | clusters, resources: []string{"{role}"},
		calls: []string{"sts.AssumeRole"},
		why:   "The roles of AWSIdentities, and those that Clusters name. TagSession is for the tags of sessions. Change the ARN to yours, or remove the statement.",
	},
	{
		sid: "Events", users: services | clusters, resources: []string{"arn:{partition}:sqs:{region}:{account}:{events}"},
		calls: []string{"sqs.ReceiveMessage", "sqs.DeleteMessageBatch"},
		why:   "The queue from which the operator receives events of stacks and instances.",
	},
	{
		sid: "ReadInstances", users: clusters, resources: all,
		calls: []string{
			"autoscaling.DescribeAutoScalingGroups", "autoscaling.DescribeAutoScalingInstances",
			"autoscaling.DescribeScalingActivities",
			"ec2.DescribeDhcpOptions", "ec2.DescribeImages", "ec2.DescribeInstanceTypeOfferings", "ec2.DescribeInstances", "ec2.DescribeLaunchTemplates", "ec2.DescribeNetworkInterfaces",
			"ec2.DescribeRouteTables",
			"ec2.DescribeSecurityGroups", "ec2.DescribeSnapshots", "ec2.DescribeSubnets", "ec2.DescribeTags", "ec2.DescribeVolumes",
			"ec2.DescribeVpcAttribute", "ec2.DescribeVpcs", "elasticloadbalancing.DescribeLoadBalancers",
			"elasticloadbalancing.DescribeTags",
			"elasticloadbalancingv2.DescribeLoadBalancers", "elasticloadbalancingv2.DescribeTargetGroups",
			"elasticloadbalancingv2.DescribeTags",
		},
		why: "Existing resources, for rollouts, repairs, existing VPCs and deletion. AWS supports no resource-level permissions for these actions.",
	},
	{
		sid: "Consoles", users: clusters, resources: []string{"arn:{partition}:ec2:{region}:{account}:instance/*"},
		calls: []string{"ec2.GetConsoleOutput"},
		why:   "The console of an instance that does not become a node, for the reason. Without this permission, conditions name the instance only.",
	},
	{
		sid: "Rolls", users: clusters, resources: []string{"arn:{partition}:autoscaling:{region}:{account}:autoScalingGroup:*:autoScalingGroupName/{group}"},
		calls: []string{
			"autoscaling.CompleteLifecycleAction", "autoscaling.RecordLifecycleActionHeartbeat",
			"autoscaling.TerminateInstanceInAutoScalingGroup", "autoscaling.SetDesiredCapacity", "autoscaling.SuspendProcesses",
			"autoscaling.ResumeProcesses", "autoscaling.CreateOrUpdateTags", "autoscaling.DeleteTags",
		},
		why: "The operator drains nodes before their instances terminate, replaces unhealthy instances, and changes the size of groups during a rollout. Tags keep the cluster autoscaler from scaling a group during its rollout.",
	},
	{
		sid: "Backups", users: clusters, resources: []string{
			"arn:{partition}:ec2:{region}::snapshot/*", "arn:{partition}:ec2:{region}:{account}:volume/*", "arn:{partition}:ec2:{region}:{account}:instance/*",
		},
		calls: []string{"ec2.CreateSnapshot", "ec2.DeleteSnapshot", "ec2.TerminateInstances"},
		why:   "Snapshots of etcd's volumes, and the termination of control-plane instances before a restore.",
	},
	{
		sid: "ExistingNetworks", users: clusters,
		resources: []string{"arn:{partition}:ec2:{region}:*:subnet/*", "arn:{partition}:ec2:{region}:*:vpc/*"},
		calls:     []string{"ec2.CreateTags", "ec2.DeleteTags"},
		why:       "The operator tags an existing VPC and its subnets, so that the cloud controller manager finds them, and removes these tags with the cluster.",
	},
	{
		sid: "Leftovers", users: clusters, resources: all,
		calls: []string{
			"ec2.DeleteNetworkInterface", "ec2.DeleteSecurityGroup", "ec2.DeleteVolume", "ec2.RevokeSecurityGroupIngress",
			"elasticloadbalancing.DeleteLoadBalancer", "elasticloadbalancingv2.DeleteLoadBalancer",
			"elasticloadbalancingv2.DeleteTargetGroup",
			"route53.ChangeResourceRecordSets", "route53.ListResourceRecordSets",
		},
		why: "The operator deletes load balancers, volumes and other resources that the cluster's controllers created when it deletes the cluster.",
	},
	{
		sid: "KarpenterLeftovers", users: clusters,
		resources: []string{"arn:{partition}:ec2:{region}:{account}:instance/*", "arn:{partition}:ec2:{region}:{account}:launch-template/*"},
		calls:     []string{"ec2.TerminateInstances", "ec2.DeleteLaunchTemplate"},
		condition: map[string]map[string][]string{"StringLike": {"aws:ResourceTag/karpenter.sh/nodepool": {"*"}}},
		why:       "The operator terminates the instances that a cluster's Karpenter launched, and deletes its launch templates, when it deletes the cluster.",
	},
	{
		sid: "Buckets", users: clusters, resources: []string{"arn:{partition}:s3:::{bucket}"},
		calls: []string{"s3.PutObject", "s3.HeadObject", "s3.GetObject", "s3.ListObjectsV2", "s3.ListObjectVersions", "s3.DeleteObjects"},
		why:   "Each cluster's bucket holds nodeup, bundles, certificate authorities, large templates, and backups that slots make. CloudFormation reads a template from there with the caller's permissions.",
	},
	{
		sid: "Keys", users: clusters, resources: all, actions: []string{"kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"},
		condition: map[string]map[string][]string{"StringLike": {"kms:ViaService": {"s3.{region}.{suffix}", "ssm.{region}.{suffix}"}}},
		why:       "The bucket and the bootstrap token are encrypted with the cluster's key. The condition allows its use through S3 and Parameter Store only.",
	},
	{
		sid: "Token", users: clusters, resources: []string{"arn:{partition}:ssm:{region}:{account}:parameter/cluster-operator/{cluster}"},
		calls: []string{"ssm.PutParameter", "ssm.DeleteParameter"},
		why:   "The bootstrap token with which workers join.",
	},
	{
		// The handlers of AWS::IAM::Role for what the stack of a role has, and of AWS::IAM::Policy.
		// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-iam-policy.html
		sid: "CloudFormationGrants", users: grants, resources: []string{"arn:{partition}:iam::{account}:role/{grantRole}"},
		actions: []string{
			"iam:CreateRole", "iam:DeleteRole", "iam:DeleteRolePermissionsBoundary", "iam:DeleteRolePolicy", "iam:GetRole", "iam:GetRolePolicy",
			"iam:ListAttachedRolePolicies", "iam:ListRolePolicies", "iam:PutRolePermissionsBoundary", "iam:PutRolePolicy", "iam:TagRole",
			"iam:UntagRole", "iam:UpdateAssumeRolePolicy", "iam:UpdateRole", "iam:UpdateRoleDescription",
		},
		condition: map[string]map[string][]string{"ForAnyValue:StringEquals": {"aws:CalledVia": {"cloudformation.amazonaws.com"}}},
		why:       "The roles of service accounts that spec.grants names, and of objects that run with a role, such as Lambdas and EventBridgeRules, and their policies. Their path begins with aws-operator and the operator's cluster name.",
	},
	{
		// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_passrole.html
		sid: "PassRoles", users: roles, resources: []string{"arn:{partition}:iam::{account}:role/{grantRole}"},
		actions: []string{"iam:PassRole"},
		condition: map[string]map[string][]string{
			"ForAnyValue:StringEquals": {"aws:CalledVia": {"cloudformation.amazonaws.com"}},
			"StringEquals":             {"iam:PassedToService": {"{executionService}"}},
		},
		why: "CloudFormation passes the role of an object to the service that runs it. Roles outside of the operator's path, and other services, are denied.",
	},
	{
		// The handler of AWS::EKS::PodIdentityAssociation. Creation is authorized on the cluster, the rest on
		// the association.
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelastickubernetesservice.html
		sid: "PodIdentities", users: podIdentities, resources: []string{"{eksCluster}"},
		actions: []string{
			"eks:CreatePodIdentityAssociation", "eks:DeletePodIdentityAssociation", "eks:DescribePodIdentityAssociation",
			"eks:TagResource", "eks:UntagResource", "eks:UpdatePodIdentityAssociation",
		},
		condition: map[string]map[string][]string{"ForAnyValue:StringEquals": {"aws:CalledVia": {"cloudformation.amazonaws.com"}}},
		why:       "With --eks-cluster, each role of a service account is associated with it in the EKS cluster.",
	},
	{
		// https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html
		sid: "PassPodRoles", users: podIdentities, resources: []string{"arn:{partition}:iam::{account}:role/{grantRole}"},
		actions: []string{"iam:PassRole"},
		condition: map[string]map[string][]string{
			"ForAnyValue:StringEquals": {"aws:CalledVia": {"cloudformation.amazonaws.com"}},
			"StringEquals":             {"iam:PassedToService": {"pods.eks.amazonaws.com"}},
		},
		why: "CloudFormation passes the role of a service account to EKS Pod Identity.",
	},
	{
		sid: "Validate", users: terminal | trials, resources: all,
		calls: []string{"elasticloadbalancingv2.DescribeTargetHealth"},
		why:   "The commands validate and get show the health of the load balancer's targets for the API.",
	},
	{
		sid: "ValidateEKS", users: terminal, resources: all,
		calls: []string{"eks.DescribeCluster", "eks.DescribeNodegroup", "eks.ListNodegroups"},
		why:   "The commands validate, diagnose and get show what EKS says about its control planes and node groups.",
	},
	{
		sid: "Trial", users: trials, resources: all,
		calls: []string{"cloudformation.ValidateTemplate"},
		why:   "The command trial checks what CloudFormation refuses in templates.",
	},
	{
		sid: "Import", users: terminal, resources: all,
		calls: []string{"cloudcontrol.ListResources", "cloudformation.DescribeStackResources"},
		why: "The command import lists resources, and leaves out those of stacks. Cloud Control API calls the services of their types with the caller's permissions: " +
			"AWS's policy ReadOnlyAccess has those.",
	},
	{
		sid: "Quotas", users: terminal, resources: all,
		calls: []string{
			"ec2.DescribeAddresses", "ec2.DescribeInstanceTypes", "servicequotas.GetAWSDefaultServiceQuota", "servicequotas.GetServiceQuota",
		},
		why: "The commands plan and create compare quotas with what is in use, with --quotas. Cloud Control API counts the resources with the caller's permissions, as for import.",
	},
	{
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
		sid: "Images", users: terminal, resources: all,
		calls: []string{
			"ec2.CreateImage", "ec2.DescribeImages", "ec2.DescribeInstances", "ec2.DescribeLaunchTemplateVersions",
			"ec2.DescribeSubnets", "ec2.GetConsoleOutput", "ec2.RunInstances",
		},
		why: "The command image create launches an instance without an instance profile, and creates an image of it; image delete looks for users of it.",
	},
	{
		sid: "ImageTags", users: terminal, resources: all, actions: []string{"ec2:CreateTags"},
		condition: map[string]map[string][]string{"StringEquals": {"ec2:CreateAction": {"CreateImage", "RunInstances"}}},
		why:       "The command image create tags what it creates.",
	},
	{
		// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-systems-manager-parameter-to-find-AMI.html
		sid: "ImageParameters", users: terminal, resources: []string{"arn:{partition}:ssm:{region}::parameter/aws/service/*"},
		actions: []string{"ssm:GetParameters"},
		why:     "EC2 reads the public parameter that names the image of a Release, with the caller's permissions.",
	},
	{
		sid: "DeleteImages", users: terminal, resources: all,
		calls:     []string{"ec2.DeleteSnapshot", "ec2.DeregisterImage", "ec2.TerminateInstances"},
		condition: map[string]map[string][]string{"StringLike": {"aws:ResourceTag/cluster-operator.aws/image": {"*"}}},
		why:       "The commands image create and image delete terminate the instance of an image, and delete images with their snapshots, only with the tag.",
	},
	{
		sid: "State", users: terminal, resources: []string{"arn:{partition}:s3:::{stateBucket}", "arn:{partition}:s3:::{stateBucket}/*"},
		calls: []string{"s3.GetObject", "s3.PutObject", "s3.DeleteObject", "s3.ListObjectsV2"},
		why:   "The bucket with the commands' state. Set the bucket's name, or remove the statement if the state is in a folder.",
	},
}

// all is the resource of actions without resource-level permissions, or whose resources have names
// that are not known in advance.
var all = []string{"*"}

// stackCalls are the calls of the stack engine for every stack.
var stackCalls = []string{
	"cloudformation.CreateStack", "cloudformation.UpdateStack", "cloudformation.DeleteStack",
	"cloudformation.UpdateTerminationProtection", "cloudformation.ContinueUpdateRollback", "cloudformation.RollbackStack",
	"cloudformation.CreateChangeSet", "cloudformation.DescribeChangeSet", "cloudformation.ExecuteChangeSet",
	"cloudformation.DeleteChangeSet", "cloudformation.DescribeStackEvents", "cloudformation.ListStackResources",
	"cloudformation.GetTemplate",
}
