package render_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// CloudFormation knows the type of images of each family. With Bottlerocket, the root volume of the group is the data volume.
func TestImagesOfManagedNodeGroups(t *testing.T) {
	for family, want := range map[v1alpha1.EKSImageFamily]map[v1alpha1.Architecture]string{
		"":                                {v1alpha1.AMD64: "AL2023_x86_64_STANDARD", v1alpha1.ARM64: "AL2023_ARM_64_STANDARD"},
		v1alpha1.EKSAmazonLinux2023:       {v1alpha1.AMD64: "AL2023_x86_64_STANDARD", v1alpha1.ARM64: "AL2023_ARM_64_STANDARD"},
		v1alpha1.EKSAmazonLinux2023Nvidia: {v1alpha1.AMD64: "AL2023_x86_64_NVIDIA", v1alpha1.ARM64: "AL2023_ARM_64_NVIDIA"},
		v1alpha1.EKSAmazonLinux2023Neuron: {v1alpha1.AMD64: "AL2023_x86_64_NEURON"},
		v1alpha1.EKSBottlerocket:          {v1alpha1.AMD64: "BOTTLEROCKET_x86_64", v1alpha1.ARM64: "BOTTLEROCKET_ARM_64"},
		v1alpha1.EKSBottlerocketNvidia:    {v1alpha1.AMD64: "BOTTLEROCKET_x86_64_NVIDIA", v1alpha1.ARM64: "BOTTLEROCKET_ARM_64_NVIDIA"},
	} {
		for architecture, kind := range want {
			f := read(t, "../../../examples/clusters/eks-self-managed.yaml")
			f.cluster.Spec.Release = "set-1.2.0"
			spec := &f.groups[0].Spec
			spec.EKS, spec.Architecture, spec.Roll = &v1alpha1.EKSNodes{ImageFamily: family}, architecture, "now"
			if architecture == v1alpha1.ARM64 {
				spec.InstanceTypes = []string{"m7g.large"}
			}
			f.groups = f.groups[:1]
			s := f.stacks(t, setRelease(release.Set120))[1]
			if got, _ := s.Template.Resources["NodeGroup"].Properties.Get("AmiType").Scalar(); got != kind {
				t.Errorf("%s for %s is %s, want %s", family, architecture, got, kind)
			}
			data := string(s.Template.Resources["LaunchTemplate"].Properties.Get("LaunchTemplateData").AppendJSON(nil))
			rocket := strings.HasPrefix(kind, "BOTTLEROCKET")
			if strings.Contains(data, "/dev/xvdb") != rocket || strings.Contains(data, `motd = \"Replaced`) != rocket {
				t.Errorf("the launch template of %s is %s", kind, data)
			}
		}
	}
}
