package roles_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	service "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	servicerender "github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

// permission is what an operation needs, from the simulator's table.
type permission struct {
	access.Permission

	// operation is the operation with its service: "ec2:CreateVolume".
	operation string
	// kinds are the kinds of resources that the action is on; nil for actions without resources.
	kinds []string
}

// unimplemented are permissions that roles have and that the simulator has no operations for.
var unimplemented = []permission{
	{operation: "ec2:CopyVolumes", kinds: []string{"ec2:volume"}},
	{operation: "ec2:CopyVolumes", kinds: []string{"ec2:volume"}, Permission: access.Permission{New: true}},
	{operation: "ec2:CopyVolumes", kinds: []string{"ec2:volume"}, Permission: access.Permission{Action: "ec2:CreateTags", New: true, Tags: true}},
	{operation: "ec2:EnableFastSnapshotRestores", kinds: []string{"ec2:snapshot"}},
	{operation: "ec2:GetInstanceTypesFromInstanceRequirements"},
	{operation: "autoscaling:DescribeLaunchConfigurations"},
	{operation: "ecr:GetDownloadUrlForLayer", kinds: []string{"ecr:repository"}},
	{operation: "ecr-public:GetAuthorizationToken"},
	{operation: "sts:GetServiceBearerToken"},
	{operation: "elasticloadbalancing:DescribeLoadBalancerPolicies"},
	{operation: "elasticloadbalancing:CreateLoadBalancerPolicy", kinds: []string{"elasticloadbalancing:loadbalancer"}},
	{operation: "elasticloadbalancing:SetLoadBalancerPoliciesForBackendServer", kinds: []string{"elasticloadbalancing:loadbalancer"}},
	{operation: "elasticloadbalancing:SetLoadBalancerPoliciesOfListener", kinds: []string{"elasticloadbalancing:loadbalancer"}},
	{operation: "acm:ListCertificates"},
	{operation: "acm:DescribeCertificate", kinds: []string{"acm:certificate"}},
	{operation: "ec2:DescribeCoipPools"},
	{operation: "ec2:DescribeIpamPools"},
	{operation: "ec2:DescribeVpcPeeringConnections"},
	{operation: "ec2:GetSecurityGroupsForVpc", kinds: []string{"ec2:vpc"}},
	{operation: "elasticloadbalancing:DescribeCapacityReservation"},
	{operation: "elasticloadbalancing:DescribeListenerCertificates"},
	{operation: "elasticloadbalancing:DescribeRules"},
	{operation: "elasticloadbalancing:DescribeSSLPolicies"},
	{operation: "elasticloadbalancing:DescribeTrustStores"},
	{operation: "elasticloadbalancing:AddListenerCertificates", kinds: []string{"elasticloadbalancing:listener"}},
	{operation: "elasticloadbalancing:RemoveListenerCertificates", kinds: []string{"elasticloadbalancing:listener"}},
	{operation: "elasticloadbalancing:CreateRule", kinds: []string{"elasticloadbalancing:listener"}},
	{
		operation: "elasticloadbalancing:CreateRule", kinds: []string{"elasticloadbalancing:listener-rule"},
		Permission: access.Permission{Action: "elasticloadbalancing:AddTags", New: true, Tags: true},
	},
	{operation: "elasticloadbalancing:DeleteRule", kinds: []string{"elasticloadbalancing:listener-rule"}},
	{operation: "elasticloadbalancing:ModifyRule", kinds: []string{"elasticloadbalancing:listener-rule"}},
	{operation: "elasticloadbalancing:SetRulePriorities", kinds: []string{"elasticloadbalancing:listener-rule"}},
	{operation: "elasticloadbalancing:ModifyCapacityReservation", kinds: []string{"elasticloadbalancing:loadbalancer"}},
	{operation: "elasticloadbalancing:ModifyIpPools", kinds: []string{"elasticloadbalancing:loadbalancer"}},
	{operation: "elasticloadbalancing:SetIpAddressType", kinds: []string{"elasticloadbalancing:loadbalancer"}},
	{operation: "iam:CreateServiceLinkedRole", kinds: []string{"iam:service-linked-role"}},
	{operation: "cloudfront:CreateInvalidation", kinds: []string{"cloudfront:distribution"}},
	{operation: "cloudfront:GetInvalidation", kinds: []string{"cloudfront:distribution"}},
	{operation: "cloudfront:ListInvalidations", kinds: []string{"cloudfront:distribution"}},
	{operation: "dynamodb:Query", kinds: []string{"dynamodb:index"}},
	{operation: "dynamodb:Scan", kinds: []string{"dynamodb:index"}},
	{operation: "es:ESHttpDelete", kinds: []string{"es:path"}},
	{operation: "es:ESHttpGet", kinds: []string{"es:path"}},
	{operation: "es:ESHttpHead", kinds: []string{"es:path"}},
	{operation: "es:ESHttpPatch", kinds: []string{"es:path"}},
	{operation: "es:ESHttpPost", kinds: []string{"es:path"}},
	{operation: "es:ESHttpPut", kinds: []string{"es:path"}},
	{operation: "kinesis:DescribeStreamSummary", kinds: []string{"kinesis:stream"}},
	{operation: "kinesis:GetRecords", kinds: []string{"kinesis:stream"}},
	{operation: "kinesis:GetShardIterator", kinds: []string{"kinesis:stream"}},
	{operation: "kinesis:ListShards", kinds: []string{"kinesis:stream"}},
	{operation: "kinesis:PutRecord", kinds: []string{"kinesis:stream"}},
	{operation: "kinesis:PutRecords", kinds: []string{"kinesis:stream"}},
	{operation: "lambda:InvokeFunction", kinds: []string{"lambda:function"}},
	{operation: "logs:CreateLogStream", kinds: []string{"logs:log-stream"}},
	{operation: "logs:PutLogEvents", kinds: []string{"logs:log-stream"}},
	{operation: "rds-db:connect", kinds: []string{"rds-db:db-user"}},
	{operation: "s3:GetObjectVersionAcl", kinds: []string{"s3:object"}},
	{operation: "s3:GetObjectVersionForReplication", kinds: []string{"s3:object"}},
	{operation: "s3:GetObjectVersionTagging", kinds: []string{"s3:object"}},
	{operation: "s3:ReplicateDelete", kinds: []string{"s3:object"}},
	{operation: "s3:ReplicateObject", kinds: []string{"s3:object"}},
	{operation: "s3:ReplicateTags", kinds: []string{"s3:object"}},
	{operation: "secretsmanager:DescribeSecret", kinds: []string{"secretsmanager:secret"}},
	{operation: "secretsmanager:GetSecretValue", kinds: []string{"secretsmanager:secret"}},
	{operation: "secretsmanager:PutSecretValue", kinds: []string{"secretsmanager:secret"}},
	{operation: "states:DescribeExecution", kinds: []string{"states:execution"}},
	{operation: "states:DescribeStateMachine", kinds: []string{"states:stateMachine"}},
	{operation: "states:GetExecutionHistory", kinds: []string{"states:execution"}},
	{operation: "states:ListExecutions", kinds: []string{"states:stateMachine"}},
	{operation: "states:StartExecution", kinds: []string{"states:stateMachine"}},
	{operation: "states:StartSyncExecution", kinds: []string{"states:stateMachine"}},
}

// arnsOfUnimplemented are the forms of the ARNs of kinds that the simulator's table does not have.
// https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
var arnsOfUnimplemented = map[string]string{
	"acm:certificate":                    "arn:{p}:acm:{r}:{a}:certificate/{}",
	"elasticloadbalancing:listener-rule": "arn:{p}:elasticloadbalancing:{r}:{a}:listener-rule/app/{}/0a1b/2c3d/4e5f",
	"cloudfront:distribution":            "arn:{p}:cloudfront::{a}:distribution/{}",
	"dynamodb:index":                     "arn:{p}:dynamodb:{r}:{a}:table/{}/index/by-date",
	"es:path":                            "arn:{p}:es:{r}:{a}:domain/{}/an-index/_doc",
	"iam:service-linked-role":            "arn:{p}:iam::{a}:role/aws-service-role/{}",
	"kinesis:stream":                     "arn:{p}:kinesis:{r}:{a}:stream/{}",
	"lambda:function":                    "arn:{p}:lambda:{r}:{a}:function:{}",
	"logs:log-stream":                    "arn:{p}:logs:{r}:{a}:log-group:{}:log-stream:2026/01/01",
	"rds-db:db-user":                     "arn:{p}:rds-db:{r}:{a}:dbuser:{}/admin",
	"secretsmanager:secret":              "arn:{p}:secretsmanager:{r}:{a}:secret:{}-a1b2c3",
	"states:execution":                   "arn:{p}:states:{r}:{a}:execution:{}:0a1b",
	"states:stateMachine":                "arn:{p}:states:{r}:{a}:stateMachine:{}",
}

// creations are the operations without a type in the table for what they create. They do not change a
// load balancer or a target group of another client: names are unique, and a name in use is refused.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateLoadBalancer.html
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html
var creations = []string{"elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateTargetGroup"}

// table is the whole table, and arns are the templates of ARNs by kind.
var table, arns = permissions()

func permissions() (all []permission, arns map[string]string) {
	arns = maps.Clone(arnsOfUnimplemented)
	for _, operation := range access.Operations() {
		service, name, _ := strings.Cut(operation, ":")
		for _, p := range access.Permissions(service, name) {
			one := permission{Permission: p, operation: operation}
			one.New = p.New || p.Tags || slices.Contains(creations, operation)
			if p.Resource != nil {
				one.kinds = kindsOf(service, p.Resource.Name)
				if len(one.kinds) == 1 {
					arns[one.kinds[0]] = p.Resource.Template
				}
			}
			all = append(all, one)
		}
	}
	for _, one := range unimplemented {
		if one.Action == "" {
			one.Action = one.operation
		}
		all = append(all, one)
	}
	for i := range all { // after all kinds are known
		if slices.Equal(all[i].kinds, []string{"ec2:*"}) {
			all[i].kinds = nil
			for kind := range arns {
				if strings.HasPrefix(kind, "ec2:") && kind != "ec2:*" {
					all[i].kinds = append(all[i].kinds, kind)
				}
			}
			slices.Sort(all[i].kinds)
		}
	}
	delete(arns, "ec2:*")
	return all, arns
}

// kindsOf returns the kinds of a type of the table.
func kindsOf(service, name string) []string {
	switch {
	case name == "role":
		return []string{"iam:role"}
	case service == "iam" && name == "source":
		return []string{"iam:role", "iam:user"}
	case service == "ec2" && name == "tagged":
		return []string{"ec2:*"}
	case service == "elasticloadbalancing" && name == "any":
		return []string{"elasticloadbalancing:listener", "elasticloadbalancing:loadbalancer", "elasticloadbalancing:targetgroup"}
	}
	return []string{service + ":" + name}
}

// names are the names of resources whose ARNs have a form that the table does not say.
var names = map[string]string{
	"elasticloadbalancing:loadbalancer": "net/{}/0a1b", "elasticloadbalancing:listener": "net/{}/0a1b/2c3d", "s3:object": "{}/an/object",
	"kms:alias": "alias/{}", "iam:service-linked-role": "elasticloadbalancing.amazonaws.com/AWSServiceRoleForElasticLoadBalancing",
}

// ofEveryKind returns one resource of every kind, with the same tags.
func ofEveryKind(arns map[string]string, owner, region, name string, tags map[string]string) []resource {
	all := make([]resource, 0, len(arns))
	for kind, arn := range arns {
		full := name
		if form, ok := names[kind]; ok {
			full = strings.ReplaceAll(form, "{}", name)
		}
		arn = strings.NewReplacer("/{}/*", "/{}/0a1b", "Group:*:", "Group:3a4b5c6d:").Replace(arn)
		all = append(all, resource{
			kind: kind, owner: owner, tags: tags, arn: fill(arn, partitionOf(region), region, account, full),
		})
	}
	return all
}

// tagOfLoadBalancers has the cluster's name on what the AWS Load Balancer Controller creates.
const tagOfLoadBalancers = "elbv2.k8s.aws/cluster"

// ofCluster returns the resources of a cluster: those of its stacks, those that its controllers and
// its operator create, and one of every kind with the tags of its stacks.
func ofCluster(t *testing.T, s settings, owner string) []resource {
	t.Helper()
	var all []resource
	stacks := s.stacks(t)
	for _, one := range stacks {
		all = append(all, one.resources(owner)...)
	}
	c := stacks[0].cluster
	owned := map[string]string{model.TagOwnedPrefix + s.name: model.TagOwned}
	of := func(kind, name string, tags map[string]string) {
		all = append(all, ofEveryKind(map[string]string{kind: arns[kind]}, owner, s.region, name, tags)...)
	}
	// https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/tagging.md
	claim := with(owned, map[string]string{
		"KubernetesCluster": s.name, "ebs.csi.aws.com/cluster": "true", "CSIVolumeName": "pvc-1", "kubernetes.io/created-for/pvc/name": "data",
	})
	of("ec2:volume", "vol-claim", claim)
	of("ec2:snapshot", "snap-claim", claim)
	// https://github.com/kubernetes/cloud-provider-aws/blob/v1.36.1/pkg/providers/v1/aws_loadbalancer.go
	web := with(owned, map[string]string{"kubernetes.io/service-name": "default/web"})
	// https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/v3.5.0/pkg/deploy/tracking/provider.go
	tracked := map[string]string{tagOfLoadBalancers: s.name, "service.k8s.aws/stack": "default/web"}
	for _, kind := range []string{"elasticloadbalancing:loadbalancer", "elasticloadbalancing:targetgroup", "elasticloadbalancing:listener"} {
		of(kind, "a0f1e2d3", web)
		of(kind, "k8s-default-web", tracked)
	}
	of("elasticloadbalancing:listener-rule", "k8s-default-web", tracked)
	of("ec2:security-group", "k8s-default-web", tracked)
	of("ec2:security-group", "k8s-elb-a0f1e2d3", owned)
	of("ec2:snapshot", "snap-backup", with(c.Tags, map[string]string{model.TagEtcdSlot: "0"}))
	of("ssm:parameter", strings.TrimPrefix(model.TokenParameterName(s.name), "/"), nil)
	return append(all, ofEveryKind(arns, owner, s.region, s.name+"-other", c.Tags)...)
}

// ofOwn returns the resources of the cluster whose roles are tried.
func ofOwn(t *testing.T, s settings) []resource {
	t.Helper()
	all := append(ofCluster(t, s, "own"), ofEveryKind(
		map[string]string{"iam:service-linked-role": arns["iam:service-linked-role"]}, "own", s.region, "", nil,
	)...)
	// spec.iam.hostedZones names it.
	zone := map[string]string{"route53:hostedzone": arns["route53:hostedzone"]}
	all = append(all, ofEveryKind(zone, "own", s.region, "Z0OFTHEUSER", nil)...)
	if s.existing {
		all = append(all, ofEveryKind(map[string]string{"ec2:vpc": arns["ec2:vpc"]}, "own", s.region, sharedVPC, nil)...)
	}
	return all
}

// foreign returns what no role of the cluster may change or read.
func foreign(t *testing.T, s settings) []resource {
	t.Helper()
	var all []resource
	for _, name := range []string{"demo-2", "demo2", "dem"} {
		other := s
		other.name = name
		all = append(all, ofCluster(t, other, "cluster "+name)...)
	}
	elsewhere := demo(map[string]string{"aws": "eu-west-1", "aws-cn": "cn-northwest-1", "aws-us-gov": "us-gov-east-1"}[partitionOf(s.region)], s.set)
	elsewhere.operator = "another-management"
	all = append(all, ofCluster(t, elsewhere, sameName)...)
	all = append(all, ofEveryKind(arns, "kops cluster", s.region, "demo.example.com", map[string]string{
		"KubernetesCluster": "demo.example.com", model.TagOwnedPrefix + "demo.example.com": model.TagOwned,
	})...)
	tenant := &service.Object{ObjectMeta: metav1.ObjectMeta{Name: "orders", Namespace: "shop"}}
	tags := servicerender.Tags("SQSQueue", tenant, "management")
	tags["aws:cloudformation:stack-name"] = servicerender.StackName("management", "SQSQueue", "shop", "orders")
	all = append(all, ofEveryKind(arns, "service object", s.region, tags["aws:cloudformation:stack-name"], tags)...)
	all = append(all, ofEveryKind(arns, "a user, without tags", s.region, "by-hand", nil)...)
	if s.existing {
		vpc := map[string]string{"ec2:vpc": arns["ec2:vpc"]}
		all = append(all, ofEveryKind(vpc, "the clusters of an existing VPC", s.region, sharedVPC, nil)...)
	}
	return all
}

// sameName is the owner of a cluster of the same name in another region.
const sameName = "cluster demo of another region"
