package eks_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
func TestLifeOfACluster(t *testing.T) {
	w := startWith(t, machine.Absent{}, time.Minute)
	in := w.input("one")
	in.Tags = map[string]string{"team": "a"}
	made, err := w.CreateCluster(t.Context(), in)
	c := must(t, made, err).Cluster
	if c.Status != types.ClusterStatusCreating || c.Endpoint != nil || *c.Version != "1.36" || c.Tags["team"] != "a" {
		t.Errorf("made %+v", c)
	}
	if c = w.get("one"); c.Status != types.ClusterStatusCreating {
		t.Errorf("it is %s before its time", c.Status)
	}
	_, err = w.CreateCluster(t.Context(), w.input("one"))
	refused(t, err, "ResourceInUseException", "Cluster already exists with name: one")
	w.clock.Step(time.Minute)
	c = w.until("one", types.ClusterStatusActive)
	if !strings.HasPrefix(*c.Endpoint, "https://") || *c.CertificateAuthority.Data == "" || !strings.HasPrefix(*c.Identity.Oidc.Issuer,
		"https://oidc.eks."+region+".amazonaws.com/id/") {
		t.Errorf("it has the endpoint %s, the CA %v and the issuer %s", *c.Endpoint, c.CertificateAuthority, *c.Identity.Oidc.Issuer)
	}
	config := c.ResourcesVpcConfig
	if *config.VpcId != w.vpcID || !config.EndpointPublicAccess || config.EndpointPrivateAccess || !slices.Equal(config.PublicAccessCidrs,
		[]string{"0.0.0.0/0"}) {
		t.Errorf("its network is %+v", config)
	}
	if *c.KubernetesNetworkConfig.ServiceIpv4Cidr != "172.20.0.0/16" {
		t.Errorf("the range of services is %s", *c.KubernetesNetworkConfig.ServiceIpv4Cidr)
	}

	// https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html
	groups, err := w.ec2.DescribeSecurityGroups(t.Context(),
		&awsec2.DescribeSecurityGroupsInput{GroupIds: []string{*config.ClusterSecurityGroupId}})
	group := must(t, groups, err).SecurityGroups[0]
	tags := map[string]string{}
	for _, tag := range group.Tags {
		tags[*tag.Key] = *tag.Value
	}
	if !strings.HasPrefix(*group.GroupName, "eks-cluster-sg-one-") || tags["kubernetes.io/cluster/one"] != "owned" ||
		tags["aws:eks:cluster-name"] != "one" {
		t.Errorf("the security group %s has the tags %v", *group.GroupName, tags)
	}

	deleted, err := w.DeleteCluster(t.Context(), &awseks.DeleteClusterInput{Name: aws.String("one")})
	if must(t, deleted, err).Cluster.Status != types.ClusterStatusDeleting {
		t.Errorf("the deleted cluster is %s", deleted.Cluster.Status)
	}
	w.clock.Step(time.Minute)
	w.deleted("one")
	if _, err := w.ec2.DescribeSecurityGroups(t.Context(),
		&awsec2.DescribeSecurityGroupsInput{GroupIds: []string{*config.ClusterSecurityGroupId}}); err == nil {
		t.Error("the security group still exists")
	}
	_, err = w.DescribeCluster(t.Context(), &awseks.DescribeClusterInput{Name: aws.String("one")})
	refused(t, err, "ResourceNotFoundException", "No cluster found for name: one.")
}

func TestRefusedClusters(t *testing.T) {
	w := start(t)
	_, elsewhere := w.network("10.1")
	stranger := w.role("stranger", "ec2.amazonaws.com", "sts:AssumeRole")
	group, err := w.ec2.CreateSecurityGroup(t.Context(), &awsec2.CreateSecurityGroupInput{
		GroupName: aws.String("g"), Description: aws.String("g"), VpcId: &w.vpcID,
	})
	must(t, group, err)
	for name, c := range map[string]struct {
		change        func(*awseks.CreateClusterInput)
		code, message string
	}{
		// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
		"a name": {func(in *awseks.CreateClusterInput) { in.Name = aws.String("-a") }, "InvalidParameterException", "name"},
		// https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html
		"an unknown version": {
			func(in *awseks.CreateClusterInput) { in.Version = aws.String("1.12") }, "InvalidParameterException",
			"unsupported Kubernetes version",
		},
		// https://docs.aws.amazon.com/eks/latest/userguide/cluster-iam-role.html
		"no role": {
			func(in *awseks.CreateClusterInput) { in.RoleArn = aws.String("arn:aws:iam::123456789012:role/none") },
			"InvalidParameterException", "does not exist",
		},
		"another service": {
			func(in *awseks.CreateClusterInput) { in.RoleArn = &stranger }, "InvalidParameterException",
			"the trusted entity is not correct",
		},
		// https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
		"one zone": {
			func(in *awseks.CreateClusterInput) { in.ResourcesVpcConfig.SubnetIds = w.subnets[1:] }, "InvalidParameterException",
			"at least two different AZs",
		},
		"no subnet": {func(in *awseks.CreateClusterInput) {
			in.ResourcesVpcConfig.SubnetIds = []string{"subnet-0123456789abcdef0"}
		}, "InvalidParameterException", "The subnet ID 'subnet-0123456789abcdef0' does not exist"},
		"two VPCs": {func(in *awseks.CreateClusterInput) {
			in.ResourcesVpcConfig.SubnetIds = []string{w.subnets[0], elsewhere[1]}
		}, "InvalidParameterException", "same VPC"},
		"another's group": {func(in *awseks.CreateClusterInput) {
			in.ResourcesVpcConfig.SubnetIds, in.ResourcesVpcConfig.SecurityGroupIds = elsewhere, []string{*group.GroupId}
		}, "InvalidParameterException", "not in the same VPC as the subnets"},
		// https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
		"no endpoint": {
			func(in *awseks.CreateClusterInput) { in.ResourcesVpcConfig.EndpointPublicAccess = aws.Bool(false) },
			"InvalidParameterException", "Private and public endpoint access cannot be false",
		},
		"private ranges": {
			func(in *awseks.CreateClusterInput) { in.ResourcesVpcConfig.PublicAccessCidrs = []string{"10.0.0.0/8"} },
			"InvalidParameterException", "publicAccessCidrs",
		},
		// https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html
		"the VPC's range": {func(in *awseks.CreateClusterInput) {
			in.KubernetesNetworkConfig = &types.KubernetesNetworkConfigRequest{ServiceIpv4Cidr: aws.String("10.0.0.0/16")}
		}, "InvalidParameterException", "serviceIpv4Cidr"},
		// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessConfigRequest.html
		"no administrator": {func(in *awseks.CreateClusterInput) {
			in.AccessConfig = &types.CreateAccessConfigRequest{BootstrapClusterCreatorAdminPermissions: aws.Bool(false)}
		}, "InvalidParameterException", "bootstrapClusterCreatorAdminPermissions must be true"},
		"no key": {func(in *awseks.CreateClusterInput) {
			in.EncryptionConfig = []types.EncryptionConfig{{
				Resources: []string{"secrets"},
				Provider:  &types.Provider{KeyArn: aws.String("arn:aws:kms:eu-central-1:123456789012:key/none")},
			}}
		}, "InvalidRequestException", "keyArn"},
		"what the simulator lacks": {func(in *awseks.CreateClusterInput) {
			in.RemoteNetworkConfig = &types.RemoteNetworkConfigRequest{}
		}, "InvalidParameterException", "The simulator does not support remoteNetworkConfig"},
	} {
		t.Run(name, func(t *testing.T) {
			in := w.input("one")
			c.change(in)
			_, err := w.CreateCluster(t.Context(), in)
			refused(t, err, c.code, c.message)
		})
	}
	if out, err := w.ListClusters(t.Context(), &awseks.ListClustersInput{}); err != nil || len(out.Clusters) != 0 {
		t.Errorf("there are clusters: %v %v", out, err)
	}
}

// https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html
func TestVersionsOfAClusterGoForwardByOne(t *testing.T) {
	w := startWith(t, machine.Absent{}, time.Minute)
	in := w.input("one")
	in.Version = aws.String("1.33")
	_, err := w.CreateCluster(t.Context(), in)
	must(t, in, err)
	w.clock.Step(time.Minute)
	w.until("one", types.ClusterStatusActive)
	update := func(version string) (*awseks.UpdateClusterVersionOutput, error) {
		return w.UpdateClusterVersion(t.Context(), &awseks.UpdateClusterVersionInput{Name: in.Name, Version: &version})
	}
	for version, message := range map[string]string{
		"1.35": "Unsupported Kubernetes minor version update from 1.33 to 1.35",
		"1.33": "Unsupported Kubernetes minor version update from 1.33 to 1.33",
		"1.32": "Unsupported Kubernetes minor version update from 1.33 to 1.32", "1.99": "unsupported Kubernetes version",
	} {
		_, err := update(version)
		refused(t, err, "InvalidParameterException", message)
	}
	out, err := update("1.34")
	u := must(t, out, err).Update
	if u.Type != types.UpdateTypeVersionUpdate || u.Status != types.UpdateStatusInProgress {
		t.Errorf("the update is %+v", u)
	}
	if c := w.get("one"); c.Status != types.ClusterStatusUpdating || *c.Version != "1.33" {
		t.Errorf("during the update it is %s with version %s", c.Status, *c.Version)
	}
	_, err = update("1.34")
	refused(t, err, "ResourceInUseException", "Cannot VersionUpdate because cluster one currently has update "+*u.Id+" in progress")
	w.clock.Step(time.Minute)
	if u := w.ended(&awseks.DescribeUpdateInput{Name: in.Name, UpdateId: u.Id}); u.Status != types.UpdateStatusSuccessful {
		t.Errorf("the update ended %s", u.Status)
	}
	if c := w.get("one"); c.Status != types.ClusterStatusActive || *c.Version != "1.34" {
		t.Errorf("after the update it is %s with version %s", c.Status, *c.Version)
	}
	if list, err := w.ListUpdates(t.Context(), &awseks.ListUpdatesInput{Name: in.Name}); err != nil || !slices.Equal(list.UpdateIds,
		[]string{*u.Id}) {
		t.Errorf("the updates are %v %v", list, err)
	}
}

// https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateClusterConfig.html
func TestConfigurationOfACluster(t *testing.T) {
	w := start(t)
	in := w.input("one")
	in.AccessConfig = nil
	if c := w.made(in); c.AccessConfig.AuthenticationMode != types.AuthenticationModeConfigMap {
		t.Errorf("the default mode is %s", c.AccessConfig.AuthenticationMode)
	}
	_, err := w.ListAccessEntries(t.Context(), &awseks.ListAccessEntriesInput{ClusterName: in.Name})
	refused(t, err, "InvalidRequestException", "authentication mode must be set to one of [API, API_AND_CONFIG_MAP]")
	update := func(change awseks.UpdateClusterConfigInput) error {
		change.Name = in.Name
		out, err := w.UpdateClusterConfig(t.Context(), &change)
		if err != nil {
			return err
		}
		if u := w.ended(&awseks.DescribeUpdateInput{Name: in.Name, UpdateId: out.Update.Id}); u.Status != types.UpdateStatusSuccessful {
			return errors.New(string(u.Status))
		}
		return nil
	}
	mode := func(m types.AuthenticationMode) awseks.UpdateClusterConfigInput {
		return awseks.UpdateClusterConfigInput{AccessConfig: &types.UpdateAccessConfigRequest{AuthenticationMode: m}}
	}
	logs := func(kinds ...types.LogType) *types.Logging {
		return &types.Logging{ClusterLogging: []types.LogSetup{{Enabled: aws.Bool(true), Types: kinds}}}
	}
	for _, step := range []struct {
		change awseks.UpdateClusterConfigInput
		want   string // of the error, empty for none
		holds  func(*types.Cluster) bool
	}{
		{mode(types.AuthenticationModeApi), "Unsupported authentication mode update from CONFIG_MAP to API", nil},
		{mode(types.AuthenticationModeApiAndConfigMap), "", func(c *types.Cluster) bool {
			return c.AccessConfig.AuthenticationMode == types.AuthenticationModeApiAndConfigMap
		}},
		{mode(types.AuthenticationModeConfigMap), "Unsupported authentication mode update from API_AND_CONFIG_MAP to CONFIG_MAP", nil},
		{
			mode(types.AuthenticationModeApi), "",
			func(c *types.Cluster) bool { return c.AccessConfig.AuthenticationMode == types.AuthenticationModeApi },
		},
		{awseks.UpdateClusterConfigInput{Logging: logs(types.LogTypeApi)}, "", func(c *types.Cluster) bool {
			l := c.Logging.ClusterLogging
			return len(l) == 2 && *l[0].Enabled && slices.Equal(l[0].Types, []types.LogType{types.LogTypeApi}) && len(l[1].Types) == 4
		}},
		{awseks.UpdateClusterConfigInput{Logging: logs(types.LogTypeApi)}, "No changes needed for the logging config provided", nil},
		{
			awseks.UpdateClusterConfigInput{Logging: logs(types.LogTypeAudit), DeletionProtection: aws.Bool(true)},
			"Only one type of update can be allowed.", nil,
		},
		{awseks.UpdateClusterConfigInput{ResourcesVpcConfig: &types.VpcConfigRequest{
			EndpointPrivateAccess: aws.Bool(true),
			EndpointPublicAccess:  aws.Bool(false),
		}}, "", func(c *types.Cluster) bool {
			return c.ResourcesVpcConfig.EndpointPrivateAccess && !c.ResourcesVpcConfig.EndpointPublicAccess &&
				len(c.ResourcesVpcConfig.PublicAccessCidrs) == 0
		}},
		{
			awseks.UpdateClusterConfigInput{ResourcesVpcConfig: &types.VpcConfigRequest{EndpointPrivateAccess: aws.Bool(true)}},
			"Cluster is already at the desired configuration", nil,
		},
		{
			awseks.UpdateClusterConfigInput{ResourcesVpcConfig: &types.VpcConfigRequest{SubnetIds: w.subnets[:2]}},
			"",
			func(c *types.Cluster) bool { return len(c.ResourcesVpcConfig.SubnetIds) == 2 },
		},
		{
			awseks.UpdateClusterConfigInput{UpgradePolicy: &types.UpgradePolicyRequest{SupportType: types.SupportTypeStandard}},
			"",
			func(c *types.Cluster) bool { return c.UpgradePolicy.SupportType == types.SupportTypeStandard },
		},
		{awseks.UpdateClusterConfigInput{DeletionProtection: aws.Bool(true)}, "", func(c *types.Cluster) bool { return *c.DeletionProtection }},
	} {
		err := update(step.change)
		switch {
		case step.want != "":
			refused(t, err, "InvalidParameterException", step.want)
		case err != nil:
			t.Fatal(err)
		case !step.holds(w.get("one")):
			t.Errorf("after %+v the cluster is %+v", step.change, w.get("one"))
		}
	}
	// The creator of the cluster got its entry with the change of the mode.
	entries, err := w.ListAccessEntries(t.Context(), &awseks.ListAccessEntriesInput{ClusterName: in.Name})
	if !slices.Equal(must(t, entries, err).AccessEntries, []string{"arn:aws:iam::123456789012:root"}) {
		t.Errorf("the entries are %v", entries.AccessEntries)
	}
	// https://docs.aws.amazon.com/eks/latest/userguide/deletion-protection.html
	_, err = w.DeleteCluster(t.Context(), &awseks.DeleteClusterInput{Name: in.Name})
	refused(t, err, "InvalidRequestException", "deletion protection")
}

// https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeClusterVersions.html
func TestVersions(t *testing.T) {
	w := start(t)
	all, err := w.DescribeClusterVersions(t.Context(), &awseks.DescribeClusterVersionsInput{})
	var names []string
	for _, v := range must(t, all, err).ClusterVersions {
		names = append(names, *v.ClusterVersion)
	}
	for _, version := range []string{"1.33", "1.34", "1.35", "1.36"} {
		if !slices.Contains(names, version) {
			t.Errorf("%s is not in %v", version, names)
		}
	}
	standard, err := w.DescribeClusterVersions(t.Context(), &awseks.DescribeClusterVersionsInput{DefaultOnly: aws.Bool(true)})
	if got := must(t, standard, err).ClusterVersions; len(got) != 1 || !got[0].DefaultVersion || got[0].ReleaseDate == nil {
		t.Errorf("the default is %+v", got)
	}
	some, err := w.DescribeClusterVersions(t.Context(), &awseks.DescribeClusterVersionsInput{ClusterVersions: []string{"1.33", "1.34"}})
	if got := must(t, some, err).ClusterVersions; len(got) != 2 {
		t.Errorf("of two versions, %+v", got)
	}
}

// https://docs.aws.amazon.com/eks/latest/userguide/eks-using-tags.html
func TestTags(t *testing.T) {
	w := start(t)
	arn := w.cluster("one").Arn
	_, err := w.TagResource(t.Context(), &awseks.TagResourceInput{ResourceArn: arn, Tags: map[string]string{"a": "1", "b": "2"}})
	must(t, arn, err)
	_, err = w.UntagResource(t.Context(), &awseks.UntagResourceInput{ResourceArn: arn, TagKeys: []string{"a", "c"}})
	must(t, arn, err)
	out, err := w.ListTagsForResource(t.Context(), &awseks.ListTagsForResourceInput{ResourceArn: arn})
	if tags := must(t, out, err).Tags; len(tags) != 1 || tags["b"] != "2" {
		t.Errorf("the tags are %v", tags)
	}
	_, err = w.TagResource(t.Context(), &awseks.TagResourceInput{ResourceArn: arn, Tags: map[string]string{"aws:a": "1"}})
	refused(t, err, "BadRequestException", "aws:")
	_, err = w.ListTagsForResource(t.Context(), &awseks.ListTagsForResourceInput{ResourceArn: aws.String(*arn + "x")})
	refused(t, err, "NotFoundException", "one"+"x")
}
