package eks

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// machineImage is a type of images that the simulator has.
type machineImage struct {
	architecture ec2types.ArchitectureType
	// parameter is the public parameter with the image of a version.
	parameter string
	// release is the version of the image without the version of Kubernetes.
	release    string
	bottlerock bool
}

// serial is the version of all images that the simulator has.
const serial = "20260915"

const amazonLinux = "/aws/service/eks/optimized-ami/VERSION/amazon-linux-2023"

// machineImages are the types of images.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html#AmazonEKS-Type-Nodegroup-amiType
var machineImages = map[types.AMITypes]machineImage{
	types.AMITypesAl2023X8664Standard:     amazonLinuxImage(ec2types.ArchitectureTypeX8664, "standard"),
	types.AMITypesAl2023Arm64Standard:     amazonLinuxImage(ec2types.ArchitectureTypeArm64, "standard"),
	types.AMITypesAl2023X8664Nvidia:       amazonLinuxImage(ec2types.ArchitectureTypeX8664, "nvidia"),
	types.AMITypesAl2023Arm64Nvidia:       amazonLinuxImage(ec2types.ArchitectureTypeArm64, "nvidia"),
	types.AMITypesAl2023X8664Neuron:       amazonLinuxImage(ec2types.ArchitectureTypeX8664, "neuron"),
	types.AMITypesBottlerocketX8664:       bottlerocketImage(ec2types.ArchitectureTypeX8664, ""),
	types.AMITypesBottlerocketArm64:       bottlerocketImage(ec2types.ArchitectureTypeArm64, ""),
	types.AMITypesBottlerocketX8664Nvidia: bottlerocketImage(ec2types.ArchitectureTypeX8664, "-nvidia"),
	types.AMITypesBottlerocketArm64Nvidia: bottlerocketImage(ec2types.ArchitectureTypeArm64, "-nvidia"),
}

func amazonLinuxImage(of ec2types.ArchitectureType, variant string) machineImage {
	return machineImage{of, amazonLinux + "/" + string(of) + "/" + variant + "/recommended/image_id", serial, false}
}

// https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id-bottlerocket.html
func bottlerocketImage(of ec2types.ArchitectureType, variant string) machineImage {
	return machineImage{of, "/aws/service/bottlerocket/aws-k8s-VERSION" + variant + "/" + string(of) + "/latest/image_id", "1.50.0-" + serial, true}
}

// image returns the image of a node group for a version.
func (s *Service) image(region string, kind types.AMITypes, version string) (id string, ok bool) {
	return s.options.Instances.PublicParameter(region, strings.Replace(machineImages[kind].parameter, "VERSION", version, 1))
}

// releaseVersion returns the version of an image of EKS.
// https://docs.aws.amazon.com/eks/latest/userguide/eks-linux-ami-versions.html
func releaseVersion(kind types.AMITypes, version string) string {
	image := machineImages[kind]
	if image.bottlerock {
		return image.release
	}
	r, _ := releaseOf(version)
	return r.patch + "-" + image.release
}

// checkTemplate checks the launch template of a node group.
// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#launch-template-basics
func (s *Service) checkTemplate(c *cluster, n *nodegroup) error {
	given := n.LaunchTemplate
	if given == nil {
		return nil
	}
	if n.DiskSize != nil {
		return invalidParameter(*c.Name, "Disk size must be specified within the launch template.")
	}
	if (given.Id == nil) == (given.Name == nil) {
		return invalidParameter(*c.Name, "launchTemplate must have either an id or a name")
	}
	found, err := s.options.Instances.LaunchTemplate(c.at.Account, c.at.Region, *or(given.Id, value(given.Name)), value(given.Version))
	if err != nil {
		return invalidRequest(*c.Name, "%s", messageOf(err))
	}
	n.LaunchTemplate = &types.LaunchTemplateSpecification{Id: &found.ID, Name: &found.Name, Version: &found.Version}
	d := found.Data
	for _, m := range []struct {
		given bool
		name  string
	}{
		{d.IamInstanceProfile != nil, "IamInstanceProfile: use nodeRole"},
		{d.InstanceMarketOptions != nil, "InstanceMarketOptions: use capacityType"},
		{d.HibernationOptions != nil && value(d.HibernationOptions.Configured), "HibernationOptions"},
		{d.InstanceInitiatedShutdownBehavior != "", "InstanceInitiatedShutdownBehavior"},
		{slices.ContainsFunc(d.NetworkInterfaces, func(i ec2types.LaunchTemplateInstanceNetworkInterfaceSpecification) bool {
			return i.SubnetId != nil
		}), "SubnetId: use subnets"},
		{d.InstanceType != "" && len(n.InstanceTypes) > 0, "InstanceType, if instanceTypes is set"},
	} {
		if m.given {
			return invalidRequest(*c.Name, "Launch template %s should not specify %s", found.ID, m.name)
		}
	}
	if d.ImageId == nil {
		return nil
	}
	switch {
	case n.AmiType != "" && n.AmiType != types.AMITypesCustom:
		return invalidParameter(*c.Name,
			"You cannot specify an AMI Type other than CUSTOM, when specifying an image id in your launch template.")
	case n.Version != nil:
		return invalidParameter(*c.Name, "You cannot specify the field kubernetesVersion when using custom AMIs.")
	case n.ReleaseVersion != nil:
		return invalidParameter(*c.Name, "You cannot specify the field releaseVersion when using custom AMIs.")
	}
	n.AmiType = types.AMITypesCustom
	return nil
}

// checkHardware sets the defaults of image and instance types, and checks that they fit.
func (s *Service) checkHardware(c *cluster, n *nodegroup) error {
	source := s.source(c, n)
	if n.AmiType == types.AMITypesCustom && (source == nil || source.ImageId == nil) {
		return invalidParameter(*c.Name, "You must specify a launch template with an image id for the amiType CUSTOM")
	}
	if n.AmiType == "" {
		n.AmiType = types.AMITypesAl2023X8664Standard
	}
	if source == nil || source.InstanceType == "" {
		if len(n.InstanceTypes) == 0 {
			n.InstanceTypes = []string{"t3.medium"}
		}
	}
	if n.LaunchTemplate == nil {
		n.DiskSize = or(n.DiskSize, 20) //nolint:mnd // AWS's default
	}
	image, known := machineImages[n.AmiType]
	switch {
	case !slices.Contains(n.AmiType.Values(), n.AmiType):
		return invalidParameter(*c.Name, "The amiType %s is not valid. Valid values are %v", n.AmiType, n.AmiType.Values())
	case strings.HasPrefix(string(n.AmiType), "AL2_") && minor(*c.Version) > 32: //nolint:mnd // of the message
		return invalidParameter(*c.Name, "AMI Type %s is only supported for kubernetes versions 1.32 or earlier", n.AmiType)
	case !known && n.AmiType != types.AMITypesCustom:
		return unsupported(*c.Name, "amiType "+string(n.AmiType))
	}
	kinds := n.InstanceTypes
	if len(kinds) == 0 {
		kinds = []string{string(source.InstanceType)}
	}
	for _, kind := range kinds {
		found, err := wire.Do[ec2.DescribeInstanceTypesOutput](s.acting(c.at), s.options.EC2, "DescribeInstanceTypes",
			&ec2.DescribeInstanceTypesInput{InstanceTypes: []ec2types.InstanceType{ec2types.InstanceType(kind)}})
		if err != nil || len(found.InstanceTypes) == 0 {
			return invalidParameter(*c.Name, "The following supplied instance types do not exist: [%s]", kind)
		}
		if known && !slices.Contains(found.InstanceTypes[0].ProcessorInfo.SupportedArchitectures, image.architecture) {
			return invalidParameter(*c.Name, "[%s] is not a valid instanceType for requested amiType %s", kind, n.AmiType)
		}
	}
	return nil
}

// checkNodegroupVersion sets the default versions and checks them. Nodes are not newer than the API
// server, and at most three minor versions older.
// https://kubernetes.io/releases/version-skew-policy/#kubelet
func (s *Service) checkNodegroupVersion(c *cluster, n *nodegroup) error {
	if n.AmiType == types.AMITypesCustom {
		n.Version = c.Version
		n.ReleaseVersion = s.source(c, n).ImageId
		return nil
	}
	n.Version = or(n.Version, *c.Version)
	version := *n.Version
	_, known := releaseOf(version)
	switch {
	case !known:
		return invalidParameter(*c.Name, "unsupported Kubernetes version %s", version)
	case minor(version) > minor(*c.Version):
		return invalidParameter(*c.Name, "Nodegroup version %s cannot be greater than version %s of the cluster", version, *c.Version)
	case minor(*c.Version)-minor(version) > oldestNode:
		return invalidParameter(*c.Name, "Nodegroup version %s cannot be more than %d minor versions behind version %s of the cluster",
			version, oldestNode, *c.Version)
	}
	want := releaseVersion(n.AmiType, version)
	if n.ReleaseVersion != nil && *n.ReleaseVersion != want {
		return invalidParameter(*c.Name, "Requested release version %s is not valid for kubernetes version %s.", *n.ReleaseVersion, version)
	}
	n.ReleaseVersion = &want
	return nil
}

// source returns the data of the launch template that the user gave, nil if there is none.
func (s *Service) source(c *cluster, n *nodegroup) *ec2types.ResponseLaunchTemplateData {
	if n.LaunchTemplate == nil {
		return nil
	}
	found, err := s.options.Instances.LaunchTemplate(c.at.Account, c.at.Region, *n.LaunchTemplate.Id, *n.LaunchTemplate.Version)
	if err != nil {
		return nil
	}
	return found.Data
}
