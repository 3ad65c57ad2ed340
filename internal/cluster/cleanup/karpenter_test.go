package cleanup_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// pooled are the tags that the Karpenter of a cluster sets.
func pooled(cluster string) map[string]string {
	tags := owned(cluster)
	tags["karpenter.sh/nodepool"] = "default"
	tags["karpenter.k8s.aws/ec2nodeclass"], tags["eks:eks-cluster-name"] = "default", cluster // as Karpenter 1.14 does
	return tags
}

// template creates a launch template, and an instance from it, both with tags.
func (a *simulated) template(name, subnet string, tags map[string]string) (template, instance string) {
	a.t.Helper()
	image, ok := a.sim.Instances().PublicParameter(
		region, "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id",
	)
	if !ok {
		a.t.Fatal("no image")
	}
	made, err := a.ec2.CreateLaunchTemplate(a.t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name, TagSpecifications: specs(types.ResourceTypeLaunchTemplate, tags),
		LaunchTemplateData: &types.RequestLaunchTemplateData{ImageId: &image, InstanceType: types.InstanceTypeM6iLarge},
	})
	must(a.t, err)
	run, err := a.ec2.RunInstances(a.t.Context(), &ec2.RunInstancesInput{
		LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateId: made.LaunchTemplate.LaunchTemplateId},
		SubnetId:       &subnet, MinCount: aws.Int32(1), MaxCount: aws.Int32(1), TagSpecifications: specs(types.ResourceTypeInstance, tags),
	})
	must(a.t, err)
	return *made.LaunchTemplate.LaunchTemplateId, *run.Instances[0].InstanceId
}

// live returns the IDs of launch templates and of instances that are not terminated.
func (a *simulated) live() []string {
	a.t.Helper()
	var ids []string
	templates, err := a.seen.ec2.DescribeLaunchTemplates(a.t.Context(), &ec2.DescribeLaunchTemplatesInput{})
	must(a.t, err)
	for _, one := range templates.LaunchTemplates {
		ids = append(ids, *one.LaunchTemplateId)
	}
	found, err := a.seen.ec2.DescribeInstances(a.t.Context(), &ec2.DescribeInstancesInput{})
	must(a.t, err)
	for _, reservation := range found.Reservations {
		for _, one := range reservation.Instances {
			if one.State.Name != types.InstanceStateNameTerminated {
				ids = append(ids, *one.InstanceId)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// The instances and launch templates of the cluster's Karpenter are deleted, and no others: those of
// another cluster's Karpenter, those of EKS Auto Mode, which EKS deletes, and instances that users launched with the
// cluster's tag.
func TestKarpenterLeavesNothing(t *testing.T) {
	a := newAWS(t)
	subnet := a.subnet()
	var kept []string
	automatic := pooled("demo")
	delete(automatic, "karpenter.k8s.aws/ec2nodeclass")
	for name, tags := range map[string]map[string]string{"other": pooled("other"), "users": owned("demo"), "automatic": automatic} {
		template, instance := a.template(name, subnet, tags)
		kept = append(kept, template, instance)
	}
	slices.Sort(kept)
	template, instance := a.template("karpenter.k8s.aws/1", subnet, pooled("demo"))

	found, err := a.cleaner.List(t.Context(), a.cluster, target)
	must(t, err)
	listed := map[string]string{}
	for _, one := range found {
		listed[one.ID] = one.Type
	}
	want := map[string]string{template: "AWS::EC2::LaunchTemplate", instance: "AWS::EC2::Instance"}
	if !maps.Equal(listed, want) {
		t.Errorf("listed are %v, want %v: %v", listed, want, found)
	}
	a.finishes(a.cleaner.AfterNodes)
	if got := a.live(); !slices.Equal(got, kept) {
		t.Errorf("left are %q, want %q", got, kept)
	}
}
