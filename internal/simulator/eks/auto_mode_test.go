package eks_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
)

// autoModePolicies are those that the role of a cluster has for EKS Auto Mode.
// https://docs.aws.amazon.com/eks/latest/userguide/auto-cluster-iam-role.html
var autoModePolicies = []string{
	"AmazonEKSClusterPolicy", "AmazonEKSComputePolicy", "AmazonEKSBlockStoragePolicy", "AmazonEKSLoadBalancingPolicy",
	"AmazonEKSNetworkingPolicy",
}

// autoRole creates a role for a cluster with EKS Auto Mode, with some of AWS's policies.
func (w *suite) autoRole(name string, policies ...string) string {
	w.t.Helper()
	arn := w.role(name, "eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")
	for _, policy := range policies {
		w.attach(name, policy)
	}
	return arn
}

func (w *suite) attach(role, policy string) {
	w.t.Helper()
	out, err := w.iam.AttachRolePolicy(w.t.Context(), &awsiam.AttachRolePolicyInput{
		RoleName: &role, PolicyArn: aws.String("arn:aws:iam::aws:policy/" + policy),
	})
	must(w.t, out, err)
}

// parts are the three parts of Auto Mode in requests.
func (w *suite) parts(
	on bool, pools ...string,
) (*types.ComputeConfigRequest, *types.StorageConfigRequest, *types.KubernetesNetworkConfigRequest) {
	compute := &types.ComputeConfigRequest{Enabled: &on, NodePools: pools}
	if len(pools) > 0 {
		compute.NodeRoleArn = &w.nodeRole
	}
	return compute, &types.StorageConfigRequest{BlockStorage: &types.BlockStorage{Enabled: &on}},
		&types.KubernetesNetworkConfigRequest{ElasticLoadBalancing: &types.ElasticLoadBalancing{Enabled: &on}}
}

// automatic returns the input for a cluster with Auto Mode.
func (w *suite) automatic(name, role string, pools ...string) *awseks.CreateClusterInput {
	in := w.input(name)
	in.RoleArn, in.BootstrapSelfManagedAddons = &role, aws.Bool(false)
	in.ComputeConfig, in.StorageConfig, in.KubernetesNetworkConfig = w.parts(true, pools...)
	return in
}

func (w *suite) entryOf(role string) (*types.AccessEntry, error) {
	out, err := w.DescribeAccessEntry(w.t.Context(), &awseks.DescribeAccessEntryInput{ClusterName: &one.Cluster, PrincipalArn: &role})
	if err != nil {
		return nil, err
	}
	return out.AccessEntry, nil
}

// https://docs.aws.amazon.com/eks/latest/userguide/automode-get-started-cli.html
func TestClusterWithAutoMode(t *testing.T) {
	w := start(t)
	c := w.made(w.automatic("one", w.autoRole("auto", autoModePolicies...), "system", "general-purpose"))
	if !*c.ComputeConfig.Enabled || len(c.ComputeConfig.NodePools) != 2 || *c.ComputeConfig.NodeRoleArn != w.nodeRole ||
		!*c.StorageConfig.BlockStorage.Enabled || !*c.KubernetesNetworkConfig.ElasticLoadBalancing.Enabled {
		t.Errorf("the cluster is %+v", c)
	}
	// Nodes of the built-in node pools may join.
	// https://docs.aws.amazon.com/eks/latest/userguide/auto-learn-iam.html
	if entry, err := w.entryOf(w.nodeRole); err != nil || *entry.Type != "EC2" {
		t.Errorf("the entry of the nodes' role is %+v: %v", entry, err)
	}
	policies, err := w.ListAssociatedAccessPolicies(t.Context(),
		&awseks.ListAssociatedAccessPoliciesInput{ClusterName: c.Name, PrincipalArn: &w.nodeRole})
	got := must(t, policies, err).AssociatedAccessPolicies
	if len(got) != 1 || !strings.HasSuffix(*got[0].PolicyArn, "/AmazonEKSAutoNodePolicy") {
		t.Errorf("the policies of the nodes are %+v", got)
	}
}

func TestRefusedAutoMode(t *testing.T) {
	w := start(t)
	role := w.autoRole("auto", autoModePolicies...)
	without := w.autoRole("without", autoModePolicies[:3]...)
	for name, c := range map[string]struct {
		change  func(*awseks.CreateClusterInput)
		message string
	}{
		// https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/5278
		"without load balancing": {
			func(in *awseks.CreateClusterInput) { in.KubernetesNetworkConfig = nil }, "are all either fully enabled or fully disabled",
		},
		"without storage": {
			func(in *awseks.CreateClusterInput) { in.StorageConfig = nil }, "are all either fully enabled or fully disabled",
		},
		"without nodes": {
			func(in *awseks.CreateClusterInput) { in.ComputeConfig = nil }, "are all either fully enabled or fully disabled",
		},
		// https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3366
		"no role of nodes": {
			func(in *awseks.CreateClusterInput) { in.ComputeConfig.NodeRoleArn = nil },
			"When Compute Config nodeRoleArn is null or empty, nodePool list cannot be populated.",
		},
		// https://github.com/pulumi/pulumi-eks/issues/1585
		"a role for no nodes": {
			func(in *awseks.CreateClusterInput) { in.ComputeConfig.NodePools = nil },
			"When Compute Config nodeRoleArn is not null or empty, nodePool value(s) must be provided.",
		},
		"an unknown pool": {
			func(in *awseks.CreateClusterInput) { in.ComputeConfig.NodePools = []string{"gpu"} },
			"Valid values are [general-purpose system]",
		},
		// https://github.com/hashicorp/terraform-provider-aws/pull/40483
		"add-ons that EKS does not manage": {
			func(in *awseks.CreateClusterInput) { in.BootstrapSelfManagedAddons = nil },
			"When EKS Auto Mode is enabled, bootstrapSelfManagedAddons must be set to false.",
		},
		"no access entries": {func(in *awseks.CreateClusterInput) { in.AccessConfig = nil }, "API_AND_CONFIG_MAP"},
		"missing policies": {
			func(in *awseks.CreateClusterInput) { in.RoleArn = &without },
			"lacks policies that EKS Auto Mode needs: [AmazonEKSLoadBalancingPolicy AmazonEKSNetworkingPolicy]",
		},
		"no tags of sessions": {func(in *awseks.CreateClusterInput) { in.RoleArn = &w.clusterRole }, "sts:TagSession"},
		"the cluster's role":  {func(in *awseks.CreateClusterInput) { in.ComputeConfig.NodeRoleArn = &role }, "cannot be the role of a cluster"},
		"a role of pods": {
			func(in *awseks.CreateClusterInput) { in.ComputeConfig.NodeRoleArn = &w.podRole }, "ec2.amazonaws.com",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := w.automatic("one", role, "system")
			c.change(in)
			_, err := w.CreateCluster(t.Context(), in)
			refused(t, err, "InvalidParameterException", c.message)
		})
	}
}

// https://docs.aws.amazon.com/eks/latest/userguide/auto-enable-existing.html
func TestAutoModeIsEnabledChangedAndDisabled(t *testing.T) {
	w := start(t)
	in := w.input("one")
	in.RoleArn = aws.String(w.autoRole("auto"))
	w.made(in)
	other := w.role("other", "ec2.amazonaws.com", "sts:AssumeRole")
	update := func(on bool, change func(*awseks.UpdateClusterConfigInput), pools ...string) error {
		of := &awseks.UpdateClusterConfigInput{Name: in.Name}
		of.ComputeConfig, of.StorageConfig, of.KubernetesNetworkConfig = w.parts(on, pools...)
		if change != nil {
			change(of)
		}
		out, err := w.UpdateClusterConfig(t.Context(), of)
		if err != nil {
			return err
		}
		u := w.ended(&awseks.DescribeUpdateInput{Name: in.Name, UpdateId: out.Update.Id})
		if u.Type != types.UpdateTypeAutoModeUpdate || u.Status != types.UpdateStatusSuccessful {
			return errors.New(string(u.Status))
		}
		if c := w.get("one"); *c.ComputeConfig.Enabled != on || *c.StorageConfig.BlockStorage.Enabled != on ||
			*c.KubernetesNetworkConfig.ElasticLoadBalancing.Enabled != on || !slices.Equal(c.ComputeConfig.NodePools, pools) {
			t.Errorf("the cluster is %+v", c)
		}
		return nil
	}
	refused(t, update(true, nil, "system"), "InvalidParameterException", "lacks policies")
	for _, policy := range autoModePolicies {
		w.attach("auto", policy)
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(update(true, nil, "system"))
	if entry, err := w.entryOf(w.nodeRole); err != nil || *entry.Type != "EC2" {
		t.Errorf("the entry of the nodes' role is %+v: %v", entry, err)
	}
	refused(t, update(true, nil, "system"), "InvalidParameterException", "No changes needed")
	// https://docs.aws.amazon.com/eks/latest/APIReference/API_ComputeConfigRequest.html
	refused(t, update(true, func(in *awseks.UpdateClusterConfigInput) { in.ComputeConfig.NodeRoleArn = &other }, "general-purpose"),
		"InvalidParameterException", "cannot change")
	// https://github.com/awsdocs/amazon-eks-user-guide/issues/819
	refused(t, update(true, func(in *awseks.UpdateClusterConfigInput) { in.ComputeConfig.Enabled = nil }),
		"InvalidParameterException", "The type for cluster update was not provided.")
	// https://docs.aws.amazon.com/eks/latest/userguide/set-builtin-node-pools.html
	ok(update(true, nil))
	ok(update(true, nil, "general-purpose", "system"))
	refused(t, update(false, func(in *awseks.UpdateClusterConfigInput) {
		in.KubernetesNetworkConfig = nil
		in.ComputeConfig.Enabled = aws.Bool(true)
	}),
		"InvalidParameterException", "fully enabled or fully disabled")
	// https://docs.aws.amazon.com/eks/latest/userguide/auto-disable.html
	ok(update(false, nil))
}

// autoTemplate is a cluster of which <parts> are the parts of Auto Mode.
const autoTemplate = `
Resources:
  Cluster:
    Type: AWS::EKS::Cluster
    Properties:
      Name: one
      RoleArn: <cluster role>
      ResourcesVpcConfig: {SubnetIds: [<subnets>]}
      AccessConfig: {AuthenticationMode: API}
      KubernetesNetworkConfig: {ServiceIpv4Cidr: 172.20.0.0/16<balancing>}
<parts>
`

// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-eks-cluster-computeconfig.html
func TestStackWithAutoMode(t *testing.T) {
	w := start(t)
	w.clusterRole = w.autoRole("auto", autoModePolicies...)
	body := func(balancing, parts string) *string {
		return aws.String(strings.NewReplacer("<cluster role>", w.clusterRole, "<subnets>", strings.Join(w.subnets, ", "), "<parts>", parts,
			"<balancing>", balancing).Replace(autoTemplate))
	}
	of := func(on, compute string) *string {
		return body(", ElasticLoadBalancing: {Enabled: "+on+"}",
			"      ComputeConfig: {Enabled: "+on+compute+"}\n      StorageConfig: {BlockStorage: {Enabled: "+on+"}}")
	}
	out, err := w.cfn.CreateStack(t.Context(), &awscfn.CreateStackInput{StackName: aws.String("s"), TemplateBody: body("", "")})
	must(t, out, err)
	w.stack(cfntypes.StackStatusCreateComplete)
	before := *w.get("one").Arn
	for _, step := range []struct {
		body  *string
		on    bool
		pools []string
	}{
		{of("true", ", NodePools: [system, general-purpose], NodeRoleArn: "+w.nodeRole), true, []string{"system", "general-purpose"}},
		{of("true", ", NodePools: []"), true, nil},
		{of("false", ""), false, nil},
	} {
		out, err := w.cfn.UpdateStack(t.Context(), &awscfn.UpdateStackInput{StackName: aws.String("s"), TemplateBody: step.body})
		must(t, out, err)
		w.stack(cfntypes.StackStatusUpdateComplete)
		c := w.get("one")
		if *c.Arn != before || *c.ComputeConfig.Enabled != step.on || !slices.Equal(c.ComputeConfig.NodePools, step.pools) {
			t.Errorf("with %s the cluster is %+v", *step.body, c.ComputeConfig)
		}
	}
}
