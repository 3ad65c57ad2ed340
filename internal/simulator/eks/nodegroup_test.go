package eks_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsas "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

func (w *suite) nodegroupInput(name string) *awseks.CreateNodegroupInput {
	return &awseks.CreateNodegroupInput{ClusterName: &one.Cluster, NodegroupName: &name, NodeRole: &w.nodeRole, Subnets: w.subnets}
}

func (w *suite) nodegroup(name string) *types.Nodegroup {
	w.t.Helper()
	out, err := w.DescribeNodegroup(w.t.Context(), &awseks.DescribeNodegroupInput{ClusterName: &one.Cluster, NodegroupName: &name})
	return must(w.t, out, err).Nodegroup
}

// activeNodegroup creates a node group and waits until it is active.
func (w *suite) activeNodegroup(in *awseks.CreateNodegroupInput) *types.Nodegroup {
	w.t.Helper()
	made, err := w.CreateNodegroup(w.t.Context(), in)
	n := must(w.t, made, err).Nodegroup
	if n.Status != types.NodegroupStatusCreating {
		w.t.Errorf("the new node group is %s", n.Status)
	}
	return w.untilNodegroup(*in.NodegroupName, types.NodegroupStatusActive)
}

func (w *suite) untilNodegroup(name string, status types.NodegroupStatus) (n *types.Nodegroup) {
	w.t.Helper()
	patience.UntilTrue(w.t, "node group "+name+" "+string(status), func() bool {
		n = w.nodegroup(name)
		return n.Status == status
	})
	return n
}

// instances returns the running instances of a node group by their IDs.
func (w *suite) instances(n *types.Nodegroup) map[string]ec2types.Instance {
	w.t.Helper()
	out, err := w.ec2.DescribeInstances(w.t.Context(), &awsec2.DescribeInstancesInput{Filters: []ec2types.Filter{
		{Name: aws.String("tag:eks:nodegroup-name"), Values: []string{*n.NodegroupName}},
		{Name: aws.String("instance-state-name"), Values: []string{"pending", "running"}},
	}})
	found := map[string]ec2types.Instance{}
	for _, r := range must(w.t, out, err).Reservations {
		for _, i := range r.Instances {
			found[*i.InstanceId] = i
		}
	}
	return found
}

// https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html
func TestLifeOfANodegroup(t *testing.T) {
	w := start(t)
	c := w.cluster("one")
	in := w.nodegroupInput("workers")
	in.Labels = map[string]string{"team": "a"}
	in.Taints = []types.Taint{{Key: aws.String("dedicated"), Value: aws.String("a"), Effect: types.TaintEffectNoSchedule}}
	in.ScalingConfig = &types.NodegroupScalingConfig{MinSize: aws.Int32(1), MaxSize: aws.Int32(3), DesiredSize: aws.Int32(2)}
	n := w.activeNodegroup(in)
	if *n.Version != "1.36" || *n.ReleaseVersion != "1.36.0-20260915" || n.AmiType != types.AMITypesAl2023X8664Standard ||
		*n.DiskSize != 20 ||
		!slices.Equal(n.InstanceTypes, []string{"t3.medium"}) || n.CapacityType != types.CapacityTypesOnDemand ||
		*n.UpdateConfig.MaxUnavailable != 1 {
		t.Errorf("the node group is %+v", n)
	}
	group := *n.Resources.AutoScalingGroups[0].Name
	if !strings.HasPrefix(group, "eks-workers-") {
		t.Errorf("its Auto Scaling group is %s", group)
	}
	running := w.instances(n)
	if len(running) != 2 {
		t.Fatalf("it has %d instances", len(running))
	}
	for id, i := range running {
		tags := map[string]string{}
		for _, tag := range i.Tags {
			tags[*tag.Key] = *tag.Value
		}
		for key, want := range map[string]string{
			"eks:cluster-name": "one", "eks:nodegroup-name": "workers", "kubernetes.io/cluster/one": "owned",
			"k8s.io/cluster-autoscaler/enabled": "true", "k8s.io/cluster-autoscaler/one": "owned",
		} {
			if tags[key] != want {
				t.Errorf("the tag %s is %q", key, tags[key])
			}
		}
		if *i.SecurityGroups[0].GroupId != *c.ResourcesVpcConfig.ClusterSecurityGroupId {
			t.Errorf("its security group is %s", *i.SecurityGroups[0].GroupId)
		}
		data, err := w.ec2.DescribeInstanceAttribute(t.Context(), &awsec2.DescribeInstanceAttributeInput{
			InstanceId: &id, Attribute: ec2types.InstanceAttributeNameUserData,
		})
		text, err := base64.StdEncoding.DecodeString(*must(t, data, err).UserData.Value)
		for _, want := range []string{
			"application/node.eks.aws", "kind: NodeConfig", "name: one", *c.Endpoint, *c.CertificateAuthority.Data, "cidr: 172.20.0.0/16",
			"eks.amazonaws.com/nodegroup=workers", "eks.amazonaws.com/capacityType=ON_DEMAND", "eks.amazonaws.com/nodegroup-image=" + *i.ImageId,
			"team=a", "--register-with-taints=dedicated=a:NoSchedule",
		} {
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("the user data lacks %q: %s (%v)", want, text, err)
			}
		}
	}
	entry, err := w.DescribeAccessEntry(t.Context(), &awseks.DescribeAccessEntryInput{ClusterName: &one.Cluster, PrincipalArn: &w.nodeRole})
	if e := must(t, entry, err).AccessEntry; *e.Type != "EC2_LINUX" || *e.Username != "system:node:{{EC2PrivateDNSName}}" {
		t.Errorf("the entry of the role is %+v", e)
	}
	_, err = w.CreateNodegroup(t.Context(), w.nodegroupInput("workers"))
	refused(t, err, "ResourceInUseException", "NodeGroup already exists with name workers and cluster name one")
	_, err = w.DeleteCluster(t.Context(), &awseks.DeleteClusterInput{Name: &one.Cluster})
	refused(t, err, "ResourceInUseException", "Cluster has nodegroups attached")

	_, err = w.DeleteNodegroup(t.Context(), &awseks.DeleteNodegroupInput{ClusterName: &one.Cluster, NodegroupName: n.NodegroupName})
	must(t, n, err)
	patience.UntilTrue(t, "the end of the node group", func() bool {
		out, err := w.ListNodegroups(t.Context(), &awseks.ListNodegroupsInput{ClusterName: &one.Cluster})
		return len(must(t, out, err).Nodegroups) == 0
	})
	groups, err := w.groups.DescribeAutoScalingGroups(t.Context(), &awsas.DescribeAutoScalingGroupsInput{})
	templates, terr := w.ec2.DescribeLaunchTemplates(t.Context(), &awsec2.DescribeLaunchTemplatesInput{})
	profiles, perr := w.iam.ListInstanceProfiles(t.Context(), nil)
	if len(must(t, groups, err).AutoScalingGroups)+len(must(t, templates, terr).LaunchTemplates)+len(must(t, profiles,
		perr).InstanceProfiles) != 0 {
		t.Errorf("left are %+v, %+v, %+v", groups.AutoScalingGroups, templates.LaunchTemplates, profiles.InstanceProfiles)
	}
	_, err = w.DescribeAccessEntry(t.Context(), &awseks.DescribeAccessEntryInput{ClusterName: &one.Cluster, PrincipalArn: &w.nodeRole})
	refused(t, err, "ResourceNotFoundException", "")
}

func TestRefusedNodegroups(t *testing.T) {
	w := start(t)
	in := w.input("one")
	in.Version = aws.String("1.35")
	w.made(in)
	_, elsewhere := w.network("10.1")
	template, err := w.ec2.CreateLaunchTemplate(t.Context(), &awsec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("own"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			UserData: aws.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\n"))),
		},
	})
	id := must(t, template, err).LaunchTemplate.LaunchTemplateId
	many := map[string]string{}
	for i := range 51 {
		many["k"+strings.Repeat("a", i+1)] = "v"
	}
	for name, c := range map[string]struct {
		change        func(*awseks.CreateNodegroupInput)
		code, message string
	}{
		// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html
		"a name": {
			func(in *awseks.CreateNodegroupInput) { in.NodegroupName = aws.String("-") }, "InvalidParameterException",
			"nodegroupName",
		},
		"no cluster": {
			func(in *awseks.CreateNodegroupInput) { in.ClusterName = aws.String("none") }, "ResourceNotFoundException",
			"No cluster found for name: none.",
		},
		"another's role": {
			func(in *awseks.CreateNodegroupInput) { in.NodeRole = &w.clusterRole }, "InvalidParameterException",
			"Following required service principals [ec2.amazonaws.com] were not found",
		},
		"another VPC": {func(in *awseks.CreateNodegroupInput) { in.Subnets = elsewhere }, "InvalidParameterException", "VPC"},
		"more than most": {func(in *awseks.CreateNodegroupInput) {
			in.ScalingConfig = &types.NodegroupScalingConfig{MaxSize: aws.Int32(1), DesiredSize: aws.Int32(2)}
		}, "InvalidParameterException", "desired capacity 2 can't be greater than max size 1"},
		"less than least": {func(in *awseks.CreateNodegroupInput) {
			in.ScalingConfig = &types.NodegroupScalingConfig{MinSize: aws.Int32(2), MaxSize: aws.Int32(3), DesiredSize: aws.Int32(1)}
		}, "InvalidParameterException", "Minimum capacity 2 can't be greater than desired size 1"},
		"both limits": {func(in *awseks.CreateNodegroupInput) {
			in.UpdateConfig = &types.NodegroupUpdateConfig{MaxUnavailable: aws.Int32(1), MaxUnavailablePercentage: aws.Int32(50)}
		}, "InvalidParameterException", "updateConfig"},
		"many labels": {func(in *awseks.CreateNodegroupInput) { in.Labels = many }, "InvalidParameterException", "labels"},
		"reserved labels": {
			func(in *awseks.CreateNodegroupInput) { in.Labels = map[string]string{"eks.amazonaws.com/a": "b"} },
			"InvalidParameterException", "reserved prefixes",
		},
		"a taint": {func(in *awseks.CreateNodegroupInput) {
			in.Taints = []types.Taint{{Key: aws.String("a"), Effect: "NONE"}}
		}, "InvalidParameterException", "effect"},
		"no such type": {
			func(in *awseks.CreateNodegroupInput) { in.InstanceTypes = []string{"t9.medium"} }, "InvalidParameterException",
			"t9.medium",
		},
		"another processor": {func(in *awseks.CreateNodegroupInput) {
			in.AmiType, in.InstanceTypes = types.AMITypesAl2023Arm64Standard, []string{"t3.medium"}
		}, "InvalidParameterException", "is not a valid instanceType for requested amiType"},
		"drivers for another processor": {func(in *awseks.CreateNodegroupInput) {
			in.AmiType, in.InstanceTypes = types.AMITypesBottlerocketArm64Nvidia, []string{"t3.medium"}
		}, "InvalidParameterException", "is not a valid instanceType for requested amiType"},
		"an old image": {
			func(in *awseks.CreateNodegroupInput) { in.AmiType = types.AMITypesAl2X8664 }, "InvalidParameterException",
			"AMI Type AL2_x86_64 is only supported for kubernetes versions 1.32 or earlier",
		},
		// https://kubernetes.io/releases/version-skew-policy/#kubelet
		"a newer version": {
			func(in *awseks.CreateNodegroupInput) { in.Version = aws.String("1.36") }, "InvalidParameterException",
			"cannot be greater than version 1.35",
		},
		"an old version": {
			func(in *awseks.CreateNodegroupInput) { in.Version = aws.String("1.31") }, "InvalidParameterException",
			"cannot be more than 3 minor versions behind",
		},
		"no such release": {
			func(in *awseks.CreateNodegroupInput) { in.ReleaseVersion = aws.String("1.35.0-20200101") },
			"InvalidParameterException", "Requested release version 1.35.0-20200101 is not valid",
		},
		// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
		"two disks": {func(in *awseks.CreateNodegroupInput) {
			in.LaunchTemplate, in.DiskSize = &types.LaunchTemplateSpecification{Id: id}, aws.Int32(30)
		}, "InvalidParameterException", "Disk size must be specified within the launch template."},
		"a script": {
			func(in *awseks.CreateNodegroupInput) { in.LaunchTemplate = &types.LaunchTemplateSpecification{Id: id} },
			"InvalidRequestException", "User data was not in the MIME multipart format.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := w.nodegroupInput("workers")
			c.change(in)
			_, err := w.CreateNodegroup(t.Context(), in)
			refused(t, err, c.code, c.message)
		})
	}
}

// https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html
func TestANodegroupWithoutCapacityFails(t *testing.T) {
	w := start(t)
	w.cluster("one")
	for _, zone := range []string{"a", "b"} {
		w.compute.SetCapacity(region+zone, "t3.medium", false)
	}
	_, err := w.CreateNodegroup(t.Context(), w.nodegroupInput("workers"))
	must(t, w, err)
	var n *types.Nodegroup
	patience.UntilTrue(t, "the failure", func() bool {
		w.clock.Step(time.Second)
		n = w.nodegroup("workers")
		return n.Status == types.NodegroupStatusCreateFailed
	})
	if issue := n.Health.Issues[0]; issue.Code != types.NodegroupIssueCodeAsgInstanceLaunchFailures ||
		!strings.Contains(*issue.Message, "capacity") {
		t.Errorf("its health is %+v", n.Health)
	}
	_, err = w.DeleteNodegroup(t.Context(), &awseks.DeleteNodegroupInput{ClusterName: &one.Cluster, NodegroupName: n.NodegroupName})
	must(t, w, err)
	patience.UntilTrue(t, "the end of the node group", func() bool {
		out, err := w.ListNodegroups(t.Context(), &awseks.ListNodegroupsInput{ClusterName: &one.Cluster})
		return len(must(t, out, err).Nodegroups) == 0
	})
}

// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
func TestLaunchTemplatesOfUsers(t *testing.T) {
	w := start(t)
	w.cluster("one")
	image, ok := w.compute.PublicParameter(region, "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id")
	parts := "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"x\"\n\n" +
		"--x\nContent-Type: text/x-shellscript\n\n#!/bin/sh\necho mine\n--x--\n"
	template := func(name string, data ec2types.RequestLaunchTemplateData) *types.LaunchTemplateSpecification {
		made, err := w.ec2.CreateLaunchTemplate(t.Context(), &awsec2.CreateLaunchTemplateInput{
			LaunchTemplateName: &name, LaunchTemplateData: &data,
		})
		return &types.LaunchTemplateSpecification{Id: must(t, made, err).LaunchTemplate.LaunchTemplateId}
	}
	userData := func(n *types.Nodegroup) string {
		for id := range w.instances(n) {
			data, err := w.ec2.DescribeInstanceAttribute(t.Context(), &awsec2.DescribeInstanceAttributeInput{
				InstanceId: &id, Attribute: ec2types.InstanceAttributeNameUserData,
			})
			text, err := base64.StdEncoding.DecodeString(*must(t, data, err).UserData.Value)
			return string(must(t, text, err))
		}
		return ""
	}
	in := w.nodegroupInput("merged")
	in.LaunchTemplate = template("merged", ec2types.RequestLaunchTemplateData{
		InstanceType: ec2types.InstanceTypeM6iLarge, UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(parts))),
	})
	merged := w.activeNodegroup(in)
	if text := userData(merged); !strings.Contains(text, "echo mine") || !strings.Contains(text, "kind: NodeConfig") {
		t.Errorf("the user data is %s", text)
	}
	in = w.nodegroupInput("custom")
	in.LaunchTemplate = template("custom", ec2types.RequestLaunchTemplateData{
		ImageId: &image, InstanceType: ec2types.InstanceTypeM6iLarge,
		UserData: aws.String(base64.StdEncoding.EncodeToString([]byte("mine"))),
	})
	custom := w.activeNodegroup(in)
	if !ok || custom.AmiType != types.AMITypesCustom || *custom.ReleaseVersion != image || userData(custom) != "mine" {
		t.Errorf("the node group is %+v", custom)
	}
}

// https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
func TestVersionOfANodegroup(t *testing.T) {
	w := startWith(t, machine.Absent{}, time.Second)
	_, err := w.CreateCluster(t.Context(), w.input("one"))
	must(t, w, err)
	w.clock.Step(time.Second)
	w.until("one", types.ClusterStatusActive)
	in := w.nodegroupInput("workers")
	in.Version = aws.String("1.35")
	in.ScalingConfig = &types.NodegroupScalingConfig{MinSize: aws.Int32(1), MaxSize: aws.Int32(5), DesiredSize: aws.Int32(4)}
	_, err = w.CreateNodegroup(t.Context(), in)
	must(t, w, err)
	w.clock.Step(time.Second)
	n := w.untilNodegroup("workers", types.NodegroupStatusActive)
	before := w.instances(n)
	update := func(version string) (*awseks.UpdateNodegroupVersionOutput, error) {
		return w.UpdateNodegroupVersion(t.Context(),
			&awseks.UpdateNodegroupVersionInput{ClusterName: &one.Cluster, NodegroupName: n.NodegroupName, Version: &version})
	}
	_, err = update("1.34")
	refused(t, err, "InvalidParameterException", "cannot be less than its present version 1.35")
	out, err := update("1.36")
	u := must(t, out, err).Update
	if u.Type != types.UpdateTypeVersionUpdate || u.Status != types.UpdateStatusInProgress {
		t.Errorf("the update is %+v", u)
	}
	_, err = update("1.36")
	refused(t, err, "ResourceInUseException", "Nodegroup cannot be updated as it is currently not in Active State")
	// One of four nodes at a time, each of which has a successor first.
	refreshes, err := w.groups.DescribeInstanceRefreshes(t.Context(),
		&awsas.DescribeInstanceRefreshesInput{AutoScalingGroupName: n.Resources.AutoScalingGroups[0].Name})
	if p := must(t, refreshes, err).InstanceRefreshes[0].Preferences; *p.MinHealthyPercentage != 100 || *p.MaxHealthyPercentage != 125 {
		t.Errorf("it keeps %d to %d percent", *p.MinHealthyPercentage, *p.MaxHealthyPercentage)
	}
	w.clock.Step(time.Second)
	done := w.ended(&awseks.DescribeUpdateInput{Name: &one.Cluster, NodegroupName: n.NodegroupName, UpdateId: u.Id})
	if done.Status != types.UpdateStatusSuccessful {
		t.Errorf("the update ended %s: %+v", done.Status, done.Errors)
	}
	n = w.nodegroup("workers")
	if n.Status != types.NodegroupStatusActive || *n.Version != "1.36" || *n.ReleaseVersion != "1.36.0-20260915" {
		t.Errorf("after the update it is %s with %s and %s", n.Status, *n.Version, *n.ReleaseVersion)
	}
	after := w.instances(n)
	for id := range after {
		if _, stayed := before[id]; stayed || len(after) != 4 {
			t.Errorf("instances were %v and are %v", before, after)
		}
	}
}

// https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateNodegroupConfig.html
func TestConfigurationOfANodegroup(t *testing.T) {
	w := start(t)
	w.cluster("one")
	n := w.activeNodegroup(w.nodegroupInput("workers"))
	out, err := w.UpdateNodegroupConfig(t.Context(), &awseks.UpdateNodegroupConfigInput{
		ClusterName: &one.Cluster, NodegroupName: n.NodegroupName,
		Labels:        &types.UpdateLabelsPayload{AddOrUpdateLabels: map[string]string{"a": "b"}},
		ScalingConfig: &types.NodegroupScalingConfig{MinSize: aws.Int32(0), MaxSize: aws.Int32(4), DesiredSize: aws.Int32(3)},
	})
	u := must(t, out, err).Update
	w.ended(&awseks.DescribeUpdateInput{Name: &one.Cluster, NodegroupName: n.NodegroupName, UpdateId: u.Id})
	n = w.nodegroup("workers")
	if n.Labels["a"] != "b" || *n.ScalingConfig.DesiredSize != 3 || len(w.instances(n)) != 3 {
		t.Errorf("after the update it is %+v", n)
	}
	_, err = w.groups.DeleteAutoScalingGroup(t.Context(),
		&awsas.DeleteAutoScalingGroupInput{AutoScalingGroupName: n.Resources.AutoScalingGroups[0].Name, ForceDelete: aws.Bool(true)})
	must(t, n, err)
	n = w.untilNodegroup("workers", types.NodegroupStatusDegraded)
	if n.Health.Issues[0].Code != types.NodegroupIssueCodeAutoScalingGroupNotFound {
		t.Errorf("its health is %+v", n.Health)
	}
}
