package render

import (
	"maps"
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// The types of a parameter for the ID of an AMI, or for the name of an SSM parameter with the ID.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-supplied-parameter-types.html
const (
	typeImage          = "AWS::EC2::Image::Id"
	typeImageParameter = "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"
	typeSecurityGroup  = "AWS::EC2::SecurityGroup::Id"
	typeSubnet         = "AWS::EC2::Subnet::Id"
	typeString         = "String"
)

// rootDevice is the name of the root volume in the images of Ubuntu and Debian. An image with
// another name boots from a volume of its own size in addition to this one.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/device_naming.html
const rootDevice = "/dev/sda1"

// tag is a tag.
type tag struct{ Key, Value string }

// tags returns a map as tags, sorted.
func tags(of map[string]string) []tag {
	list := make([]tag, 0, len(of))
	for _, key := range slices.Sorted(maps.Keys(of)) {
		list = append(list, tag{Key: key, Value: of[key]})
	}
	return list
}

// machine is the templates' data about the instances of one Auto Scaling group. Expressions are
// YAML.
type machine struct {
	// ID is the prefix of the logical IDs of its resources.
	ID string
	// Parameters are the stack's parameters besides those for outputs of the base stack.
	Parameters []parameter
	// InstanceType is the instance type, the first if there are several.
	InstanceType string
	// Profile is an expression for the name of the instance profile, empty for none.
	Profile string
	// SecurityGroups are expressions for their IDs.
	SecurityGroups []string
	// Subnets are expressions for their IDs.
	Subnets []string
	// PublicAddress reports that instances get a public address.
	PublicAddress bool
	// Volumes are the instances' volumes, the root volume first.
	Volumes []v1alpha1.DataVolume
	// Tags are the tags of the group and its instances, DiskTags those of the instances' volumes
	// and network interfaces.
	Tags, DiskTags []tag
	// GroupTags are tags of the Auto Scaling group only.
	GroupTags []tag
	// UserData is the script that an instance boots with.
	UserData string
	// MinSize and MaxSize are the sizes of the group.
	MinSize, MaxSize int32
	// Replicas is the number of instances, "" if the template does not determine it.
	Replicas string
	// Mix is the mix of several types and spot instances, nil without one.
	Mix *mix
	// Roll is how instances are replaced, for instance groups only.
	Roll roll
	// Placement is an expression for the name of the instances' placement group, empty for none.
	Placement string
	// PlacementGroup is the placement group that the stack has, nil without one.
	PlacementGroup *placementGroup
	// Capacity is the reserved capacity of the instances, nil for EC2's default.
	Capacity *v1alpha1.CapacityReservation
	// EKSNode is the role of the instances of a self-managed group of EKS, which the stack has; nil for others.
	EKSNode *eksNode
}

// roll is how the instances of a group are replaced.
type roll struct {
	// ByCloudFormation reports that CloudFormation replaces them.
	ByCloudFormation bool
	// BatchSize is how many are replaced at once, MinInService how many stay in service.
	BatchSize, MinInService int32
	// PauseTime is how long CloudFormation waits for the signals of new instances, HookTimeout how
	// long an old one waits for a heartbeat; both in seconds.
	PauseTime, HookTimeout int64
	// Retain reports that an instance whose node could not be drained is kept.
	Retain bool
	// Rebalance reports that spot instances that are likely to be interrupted are replaced.
	Rebalance bool
}

// parameter is a parameter of a stack.
type parameter struct{ Name, Type string }

// mix is a mix of several instance types and spot instances.
type mix struct {
	InstanceTypes                    []string
	OnDemandBase, OnDemandPercentage int32
	SpotStrategy                     v1alpha1.SpotStrategy
	SpotMaxPrice                     string
}

// CapacityBlock reports whether the instances are those of a Capacity Block.
func (m machine) CapacityBlock() bool {
	return m.Capacity != nil && m.Capacity.Type == v1alpha1.CapacityBlock
}

// TaggedWithMachine are the resources that are created with an instance.
func (machine) TaggedWithMachine() []string { return []string{"network-interface", "volume"} }

// disks returns an instance's volumes.
func disks(root v1alpha1.Volume, more []v1alpha1.DataVolume) []v1alpha1.DataVolume {
	return append([]v1alpha1.DataVolume{{Device: rootDevice, Volume: root}}, more...)
}

// named returns tags with the tag Name.
func named(name string, of map[string]string) []tag {
	of = maps.Clone(of)
	of["Name"] = name
	return tags(of)
}

// imageParameter returns the type and value of the parameter for an image.
func imageParameter(image model.Image) (parameterType, value string) {
	if image.ID != "" {
		return typeImage, image.ID
	}
	return typeImageParameter, image.Parameter
}

// expressions returns values as YAML strings.
func expressions(values []string) ([]string, error) {
	out := make([]string, 0, len(values))
	for _, value := range values {
		quoted, err := quote(value)
		if err != nil {
			return nil, err
		}
		out = append(out, quoted)
	}
	return out, nil
}
