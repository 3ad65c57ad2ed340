package permissions

// users are the parts of the project that need a permission.
type users int

const (
	// services is an operator that runs modelled kinds.
	services users = 1 << iota
	// clusters is an operator that runs Clusters and InstanceGroups.
	clusters
	// terminal is a person who runs the commands, beyond what the operator's own policies allow.
	terminal
)

// statement is a statement of the policies for what the operator calls itself.
type statement struct {
	sid       string
	users     users
	resources []string
	// calls are the SDK's calls as "package.Operation".
	calls []string
	// actions are needed without a call of the same name.
	actions   []string
	condition map[string]map[string][]string
	why       string
}

// actionsOf are the IAM actions of calls that are not named like their action, or need more than
// one.
// https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
var actionsOf = map[string][]string{
	// Stacks and change sets are tagged in the call that creates them.
	// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awscloudformation.html
	"cloudformation.CreateStack":     {"cloudformation:CreateStack", "cloudformation:TagResource"},
	"cloudformation.UpdateStack":     {"cloudformation:UpdateStack", "cloudformation:TagResource", "cloudformation:UntagResource"},
	"cloudformation.CreateChangeSet": {"cloudformation:CreateChangeSet", "cloudformation:TagResource"},
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

// prefixes are the IAM prefixes of SDK packages that are not called like them.
var prefixes = map[string]string{"elasticloadbalancingv2": "elasticloadbalancing"}

var statements = []statement{
	{
		sid: "OwnStacks", users: services, resources: []string{"arn:aws:cloudformation:*:*:stack/aws-operator-*"}, calls: stackCalls,
		why: "The stacks of objects and of events. Their names begin with the operator's cluster name: change aws-operator to yours.",
	},
	{
		sid: "ClusterStacks", users: clusters, resources: []string{"arn:aws:cloudformation:*:*:stack/*"},
		calls: append([]string{
			"cloudformation.SetStackPolicy", "cloudformation.SignalResource", "cloudformation.CancelUpdateStack",
		}, stackCalls...),
		why: "Stacks of clusters are named after the cluster. A rolling update waits for SignalResource; CancelUpdateStack ends one that cannot succeed.",
	},
	{
		sid: "FindStacks", users: services | clusters, resources: all,
		calls: []string{"cloudformation.DescribeStacks", "sts.GetCallerIdentity"},
		why:   "The sweep lists all stacks of an account and region; AWS knows no narrower resource for that.",
	},
	{
		sid: "AssumeRoles", users: services | clusters, resources: []string{"arn:aws:iam::*:role/cluster-operator"},
		calls: []string{"sts.AssumeRole"},
		why:   "The roles that objects and Clusters name for other accounts: change it to yours, or remove the statement.",
	},
	{
		sid: "Events", users: services | clusters, resources: []string{"arn:aws:sqs:*:*:aws-operator-events*"},
		calls: []string{"sqs.ReceiveMessage", "sqs.DeleteMessageBatch"},
		why:   "The queue by which the operator learns of changes.",
	},
	{
		sid: "ReadInstances", users: clusters, resources: all,
		calls: []string{
			"autoscaling.DescribeAutoScalingGroups", "autoscaling.DescribeAutoScalingInstances",
			"ec2.DescribeDhcpOptions", "ec2.DescribeInstances", "ec2.DescribeLaunchTemplates", "ec2.DescribeNetworkInterfaces",
			"ec2.DescribeRouteTables",
			"ec2.DescribeSecurityGroups", "ec2.DescribeSnapshots", "ec2.DescribeSubnets", "ec2.DescribeTags", "ec2.DescribeVolumes",
			"ec2.DescribeVpcAttribute", "ec2.DescribeVpcs", "elasticloadbalancing.DescribeLoadBalancers",
			"elasticloadbalancing.DescribeTags",
			"elasticloadbalancingv2.DescribeLoadBalancers", "elasticloadbalancingv2.DescribeTargetGroups",
			"elasticloadbalancingv2.DescribeTags",
		},
		why: "What exists, for rolls, repairs, existing VPCs and deletion. AWS knows no resources for these.",
	},
	{
		sid: "Rolls", users: clusters, resources: []string{"arn:aws:autoscaling:*:*:autoScalingGroup:*:autoScalingGroupName/*"},
		calls: []string{
			"autoscaling.CompleteLifecycleAction", "autoscaling.RecordLifecycleActionHeartbeat",
			"autoscaling.TerminateInstanceInAutoScalingGroup", "autoscaling.SetDesiredCapacity", "autoscaling.SuspendProcesses",
			"autoscaling.ResumeProcesses", "autoscaling.CreateOrUpdateTags", "autoscaling.DeleteTags",
		},
		why: "Nodes are drained before their instances end, unhealthy instances are replaced, and groups rolled by the operator change their size. The tags keep the cluster autoscaler off a group that rolls.",
	},
	{
		sid: "Backups", users: clusters, resources: all,
		calls: []string{"ec2.CreateSnapshot", "ec2.DeleteSnapshot", "ec2.TerminateInstances"},
		why:   "Snapshots of etcd's volumes, and the instances of a control plane that is restored.",
	},
	{
		sid: "ExistingNetworks", users: clusters, resources: []string{"arn:aws:ec2:*:*:subnet/*"},
		calls: []string{"ec2.CreateTags", "ec2.DeleteTags"},
		why:   "Subnets of an existing VPC get the cluster's tag, by which the cloud controller manager finds them.",
	},
	{
		sid: "Leftovers", users: clusters, resources: all,
		calls: []string{
			"ec2.DeleteNetworkInterface", "ec2.DeleteSecurityGroup", "ec2.DeleteVolume", "ec2.RevokeSecurityGroupIngress",
			"elasticloadbalancing.DeleteLoadBalancer", "elasticloadbalancingv2.DeleteLoadBalancer",
			"elasticloadbalancingv2.DeleteTargetGroup",
			"route53.ChangeResourceRecordSets", "route53.ListResourceRecordSets",
		},
		why: "What Kubernetes created in AWS is removed when its cluster is deleted.",
	},
	{
		sid: "Buckets", users: clusters, resources: []string{"arn:aws:s3:::*"},
		calls: []string{"s3.PutObject", "s3.HeadObject", "s3.ListObjectVersions", "s3.DeleteObjects"},
		why:   "Each cluster's bucket holds nodeup, bundles, certificate authorities and large templates. CloudFormation reads a template from there with the caller's permissions.",
	},
	{
		sid: "Keys", users: clusters, resources: all, actions: []string{"kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"},
		condition: map[string]map[string][]string{"StringLike": {"kms:ViaService": {"s3.*.amazonaws.com", "ssm.*.amazonaws.com"}}},
		why:       "The bucket and the bootstrap token are encrypted with the cluster's key. Only through S3 and the Parameter Store.",
	},
	{
		sid: "Token", users: clusters, resources: []string{"arn:aws:ssm:*:*:parameter/cluster-operator/*"},
		calls: []string{"ssm.PutParameter", "ssm.DeleteParameter"},
		why:   "The token with which workers join.",
	},
	{
		sid: "Validate", users: terminal, resources: all,
		calls: []string{"elasticloadbalancingv2.DescribeTargetHealth"},
		why:   "validate and get show how the targets of the API's load balancer are.",
	},
	{
		sid: "State", users: terminal, resources: []string{"arn:aws:s3:::STATE-BUCKET", "arn:aws:s3:::STATE-BUCKET/*"},
		calls: []string{"s3.GetObject", "s3.PutObject", "s3.DeleteObject", "s3.ListObjectsV2"},
		why:   "The state that commands keep in a bucket: put its name here, or remove the statement if the state is in a folder.",
	},
}

// all is the resource of actions for which AWS knows no narrower one, or whose resources have no
// names that are known before.
var all = []string{"*"}

// stackCalls are those that the stack engine makes for every stack.
var stackCalls = []string{
	"cloudformation.CreateStack", "cloudformation.UpdateStack", "cloudformation.DeleteStack",
	"cloudformation.UpdateTerminationProtection", "cloudformation.ContinueUpdateRollback", "cloudformation.RollbackStack",
	"cloudformation.CreateChangeSet", "cloudformation.DescribeChangeSet", "cloudformation.ExecuteChangeSet",
	"cloudformation.DeleteChangeSet", "cloudformation.DescribeStackEvents", "cloudformation.ListStackResources",
	"cloudformation.GetTemplate",
}
