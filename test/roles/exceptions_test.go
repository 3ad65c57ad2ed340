package roles_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/golden"
)

func newest() string {
	sets := release.Sets()
	return sets[len(sets)-1]
}

// exception is what roles may do though it is not on resources of their own cluster.
type exception struct {
	roles, actions []string
	// on are the kinds of the resources, or what is in their place; owner, if set, is the only one whose
	// resources it is about.
	on    []string
	owner string
	// tags are the tags of the request; the default is that they do not matter.
	tags []string
	// sets are the resource sets; nil for all.
	sets   []string
	reason string
}

// Roles.
const (
	controlPlane = "ControlPlaneRole"
	worker       = "WorkerRole"
	ebsCSI       = "EBSCSIRole"

	loadBalancers = "LoadBalancerControllerRole"
	externalDNS   = "ExternalDNSRole"
	certManager   = "CertManagerRole"
)

// pull are the actions that pull an image.
var pull = []string{"ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"}

// created are the tags of what roles create. IAM cannot deny keys that begin like those of clusters
// without the own one.
var created = []string{ownTag, bothTags}

const (
	noResourceReason = "AWS defines no resources for these actions. They read, and only in the cluster's region."
	createdReason    = "The resource is new and gets the tag of the own cluster. With the tag of another cluster as well, that cluster gets rights over it, " +
		"and its deletion deletes it. The operator's tags are denied."
	createdByControllerReason = "The resource is new and gets the controller's tag of the own cluster. Other clusters' tags and the operator's are denied."
)

// exceptions are all of them. Each combination is used, or the test fails.
var exceptions = []exception{
	{
		roles: []string{controlPlane},
		actions: []string{
			"autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeAutoScalingInstances", "autoscaling:DescribeLaunchConfigurations",
			"autoscaling:DescribeScalingActivities", "autoscaling:DescribeTags", "ec2:DescribeAvailabilityZones", "ec2:DescribeImages",
			"ec2:DescribeInstanceTopology", "ec2:DescribeInstanceTypes", "ec2:DescribeInstances", "ec2:DescribeLaunchTemplateVersions",
			"ec2:DescribeRegions", "ec2:DescribeRouteTables", "ec2:DescribeSecurityGroups", "ec2:DescribeSnapshots", "ec2:DescribeSubnets",
			"ec2:DescribeTags", "ec2:DescribeVolumeStatus", "ec2:DescribeVolumes", "ec2:DescribeVolumesModifications", "ec2:DescribeVpcs",
			"ec2:GetInstanceTypesFromInstanceRequirements", "elasticloadbalancing:DescribeListeners",
			"elasticloadbalancing:DescribeLoadBalancerAttributes", "elasticloadbalancing:DescribeLoadBalancerPolicies",
			"elasticloadbalancing:DescribeLoadBalancers", "elasticloadbalancing:DescribeTags",
			"elasticloadbalancing:DescribeTargetGroupAttributes", "elasticloadbalancing:DescribeTargetGroups",
			"elasticloadbalancing:DescribeTargetHealth",
		},
		on: []string{noResource}, reason: noResourceReason,
	},
	{
		roles: []string{ebsCSI},
		actions: []string{
			"ec2:DescribeAvailabilityZones", "ec2:DescribeInstanceTypes", "ec2:DescribeInstances", "ec2:DescribeSnapshots", "ec2:DescribeTags",
			"ec2:DescribeVolumeStatus", "ec2:DescribeVolumes", "ec2:DescribeVolumesModifications",
		},
		on: []string{noResource}, reason: noResourceReason,
	},
	{
		roles: []string{loadBalancers},
		actions: []string{
			"acm:ListCertificates", "ec2:DescribeAccountAttributes", "ec2:DescribeAddresses", "ec2:DescribeAvailabilityZones",
			"ec2:DescribeCoipPools", "ec2:DescribeInstances", "ec2:DescribeInternetGateways", "ec2:DescribeIpamPools",
			"ec2:DescribeNetworkInterfaces", "ec2:DescribeRouteTables", "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeTags",
			"ec2:DescribeVpcPeeringConnections", "ec2:DescribeVpcs", "elasticloadbalancing:DescribeCapacityReservation",
			"elasticloadbalancing:DescribeListenerAttributes", "elasticloadbalancing:DescribeListenerCertificates",
			"elasticloadbalancing:DescribeListeners", "elasticloadbalancing:DescribeLoadBalancerAttributes",
			"elasticloadbalancing:DescribeLoadBalancers", "elasticloadbalancing:DescribeRules", "elasticloadbalancing:DescribeSSLPolicies",
			"elasticloadbalancing:DescribeTags", "elasticloadbalancing:DescribeTargetGroupAttributes",
			"elasticloadbalancing:DescribeTargetGroups", "elasticloadbalancing:DescribeTargetHealth",
			"elasticloadbalancing:DescribeTrustStores",
		},
		on: []string{noResource}, sets: []string{release.Set120}, reason: noResourceReason,
	},
	{
		roles: []string{loadBalancers}, actions: []string{"acm:DescribeCertificate"}, on: []string{"acm:certificate"},
		reason: "The controller chooses the certificate of a host among those of the account and region. The answer has no private key.",
	},
	{
		roles: []string{externalDNS}, actions: []string{"route53:ListHostedZones"}, on: []string{noResource, otherRegion},
		reason: "AWS defines no resources for this action. It reads the names of zones.",
	},
	{
		roles: []string{certManager}, actions: []string{"route53:ListHostedZonesByName"}, on: []string{noResource, otherRegion},
		reason: "AWS defines no resources for this action. It reads the names of zones.",
	},
	{
		roles: []string{controlPlane, worker}, actions: []string{"ecr:GetAuthorizationToken"}, on: []string{noResource, otherRegion},
		reason: "A login to ECR has no resource. It gives access to no repository.",
	},
	{
		roles: []string{controlPlane, worker}, actions: []string{"ecr-public:GetAuthorizationToken", "sts:GetServiceBearerToken"},
		on: []string{noResource, otherRegion}, sets: []string{release.Set120},
		reason: "A login to `public.ecr.aws` has no resource. It gives access to nothing private.",
	},
	{
		roles: []string{controlPlane, worker}, actions: pull, on: []string{"ecr:repository"}, sets: []string{release.Set100, release.Set110},
		reason: "Published resource sets keep the images that their nodes run. Name the repositories in `spec.iam.imageRepositories`, or use 1.2.0.",
	},
	{
		roles: []string{controlPlane, worker}, actions: pull, on: []string{"ecr:repository"}, owner: sameName, sets: []string{release.Set120},
		reason: "Repositories are tagged for clusters by name, in any region.",
	},
	{
		roles: []string{controlPlane, certManager}, actions: []string{"route53:GetChange"}, on: []string{"route53:change"},
		reason: "AWS defines no zone as the resource of a change. It reports whether the change is published.",
	},
	{
		roles: []string{controlPlane, loadBalancers}, actions: []string{"iam:CreateServiceLinkedRole"},
		on:     []string{"iam:service-linked-role"},
		reason: "Only the role of Elastic Load Balancing, which an account has once.",
	},
	{
		roles: []string{controlPlane, loadBalancers}, actions: []string{"ec2:CreateSecurityGroup"}, on: []string{"ec2:vpc"},
		owner: "the clusters of an existing VPC", reason: "Load balancers of Services need a security group in the VPC that the clusters share.",
	},
	{
		roles:   []string{controlPlane, worker, ebsCSI, loadBalancers, externalDNS, certManager},
		actions: []string{"s3:GetObject"}, on: []string{"s3:object"},
		reason: "Only below `oidc/`: the documents of an issuer of service-account tokens are public, by the policy of their bucket.",
	},
	{
		roles: []string{controlPlane}, actions: []string{"ec2:CreateSecurityGroup", "ec2:CreateTags"},
		on: []string{newResource + "ec2:security-group"}, tags: created, reason: createdReason,
	},
	{
		roles: []string{controlPlane, ebsCSI}, actions: []string{"ec2:CreateSnapshot", "ec2:CreateTags"},
		on: []string{newResource + "ec2:snapshot"}, tags: created, reason: createdReason,
	},
	{
		roles: []string{controlPlane, ebsCSI}, actions: []string{"ec2:CreateTags", "ec2:CreateVolume"},
		on: []string{newResource + "ec2:volume"}, tags: created, reason: createdReason,
	},
	{
		roles: []string{ebsCSI}, actions: []string{"ec2:CopyVolumes"},
		on: []string{newResource + "ec2:volume"}, tags: created, reason: createdReason,
	},
	{
		roles: []string{loadBalancers}, actions: []string{"ec2:GetSecurityGroupsForVpc"}, on: []string{"ec2:vpc"},
		owner: "the clusters of an existing VPC", reason: "It reads the security groups of the VPC that the clusters share.",
	},
	{
		roles: []string{loadBalancers}, actions: []string{"ec2:CreateSecurityGroup", "ec2:CreateTags"},
		on: []string{newResource + "ec2:security-group"}, tags: []string{ownLBTag}, reason: createdByControllerReason,
	},
	{
		roles: []string{loadBalancers}, actions: []string{"elasticloadbalancing:AddTags", "elasticloadbalancing:CreateLoadBalancer"},
		on: []string{newResource + "elasticloadbalancing:loadbalancer"}, tags: []string{ownLBTag}, reason: createdByControllerReason,
	},
	{
		roles: []string{loadBalancers}, actions: []string{"elasticloadbalancing:AddTags", "elasticloadbalancing:CreateTargetGroup"},
		on: []string{newResource + "elasticloadbalancing:targetgroup"}, tags: []string{ownLBTag}, reason: createdByControllerReason,
	},
	{
		roles: []string{loadBalancers}, actions: []string{"elasticloadbalancing:AddTags"},
		on:   []string{newResource + "elasticloadbalancing:listener", newResource + "elasticloadbalancing:listener-rule"},
		tags: []string{ownLBTag}, reason: createdByControllerReason,
	},
	{
		roles: []string{controlPlane}, actions: []string{"elasticloadbalancing:AddTags", "elasticloadbalancing:CreateLoadBalancer"},
		on: []string{newResource + "elasticloadbalancing:loadbalancer"}, tags: created, reason: createdReason,
	},
	{
		roles: []string{controlPlane}, actions: []string{"elasticloadbalancing:AddTags", "elasticloadbalancing:CreateTargetGroup"},
		on: []string{newResource + "elasticloadbalancing:targetgroup"}, tags: created, reason: createdReason,
	},
	{
		roles: []string{controlPlane}, actions: []string{"elasticloadbalancing:AddTags"},
		on: []string{newResource + "elasticloadbalancing:listener"}, tags: created,
		reason: createdReason + " `CreateListener` itself is allowed only on the cluster's own load balancers.",
	},
}

// covers reports whether the exception is about a request.
func (e *exception) covers(r *request) bool {
	return slices.Contains(e.roles, r.role.role.id) && slices.Contains(e.actions, r.p.Action) && slices.Contains(e.on, r.target.on) &&
		(e.tags == nil || slices.Contains(e.tags, r.attempt.tags)) && (e.sets == nil || slices.Contains(e.sets, r.role.set)) &&
		(e.owner == "" || e.owner == r.target.owner) && (r.target.on != "s3:object" || strings.Contains(r.target.arn, "/oidc/"))
}

// combination describes one use of the exception.
func (e *exception) combination(role, action, on, tags string) string {
	if e.tags == nil {
		tags = anyTags
	}
	return fmt.Sprintf("%s %s on %s %s with %s in %s", role, action, on, e.owner, tags, e.sets)
}

const anyTags = "any tags"

// combinations returns everything that the exception is about.
func (e *exception) combinations() []string {
	tags := e.tags
	if tags == nil {
		tags = []string{anyTags}
	}
	var all []string
	for _, role := range e.roles {
		for _, action := range e.actions {
			for _, on := range e.on {
				for _, one := range tags {
					all = append(all, e.combination(role, action, on, one))
				}
			}
		}
	}
	return all
}

const head = `# Roles and resources of others

What the IAM roles of a cluster may do that is not on the cluster's own resources. ` + "`make golden-update`" + ` writes this page from
[test/roles](../../test/roles).

` + "`TestRolesReachNoResourcesOfOthers`" + ` renders the roles for every resource set, in a new and an existing VPC, with an operator and with
Terraform, and in each partition. It tries every action that the simulator knows on resources of other clusters in the account (also
one of the same name in another region), of service objects, and of users who set no tags. The simulator's
[evaluation of IAM](simulator.md#what-iam-decides) denies everything but these rows, and every row is needed:

| role | actions | on | tags in the request | resource sets | reason |
| --- | --- | --- | --- | --- | --- |
`

const foot = `
The test does not try what IAM cannot limit: which instances become targets of the cluster's own target groups, and which security
groups its own load balancers get. AWS defines no resources for these parameters. Policies that
` + "`spec.iam`" + ` names are not tried either.
`

const services = `
## Roles of services

` + "`TestRolesOfServicesReachNothingElse`" + ` renders a service account's role with each access level of each kind, and the roles that AWS
services use for objects. It tries every action that the simulator knows, and those of other services that a role names, on resources of
other objects of the namespace, of other namespaces, operators, clusters and users, and on resources whose names begin like the object's.
Everything but these rows is denied:

| role | actions | reason |
| --- | --- | --- |
`

// TestExceptionsAreInTheReference writes the page with -update.
func TestExceptionsAreInTheReference(t *testing.T) {
	code := func(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }
	page := head
	for i := range exceptions {
		e := &exceptions[i]
		on, tags, sets := strings.Join(e.on, "; "), "any", "all"
		if e.owner != "" {
			on += " of " + e.owner
		}
		if e.tags != nil {
			tags = strings.Join(e.tags, "; ")
		}
		if e.sets != nil {
			sets = strings.Join(e.sets, ", ")
		}
		page += fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", code(e.roles), code(e.actions), on, tags, sets, e.reason)
	}
	page += foot + services
	for _, e := range serviceExceptions {
		page += fmt.Sprintf("| %s | %s | %s |\n", e.role, code(e.actions), e.reason)
	}
	golden.Equal(t, "../../../docs/reference/roles.md", []byte(page))
}
