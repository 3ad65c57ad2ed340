package render

import (
	"maps"
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// The types of a parameter that holds a machine image's ID, or the name of the SSM parameter that
// does.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-supplied-parameter-types.html
const (
	typeImage          = "AWS::EC2::Image::Id"
	typeImageParameter = "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"
	typeSecurityGroup  = "AWS::EC2::SecurityGroup::Id"
	typeSubnet         = "AWS::EC2::Subnet::Id"
	typeString         = "String"
)

// rootDevice is the name of the root disk in the images of Ubuntu and Debian. An
// image that calls it otherwise boots from a disk of its own size beside this one.
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

// machine is what the templates see of the machines of one Auto Scaling group.
// Fields that say "expression" hold YAML.
type machine struct {
	// ID begins the logical IDs of what is made for it.
	ID string
	// Parameters are the stack's, beside those that are the base stack's own.
	Parameters []parameter
	// InstanceType is the machines', the first if there are several.
	InstanceType string
	// Profile is an expression for the name of the instance profile, empty for none.
	Profile string
	// SecurityGroups are expressions for their IDs.
	SecurityGroups []string
	// Subnets are expressions for their IDs.
	Subnets []string
	// PublicAddress is whether the machines get one.
	PublicAddress bool
	// Volumes are the machines' disks, the root first.
	Volumes []v1alpha1.DataVolume
	// Tags are put on the group and its machines, DiskTags on the disks and network interfaces that
	// come with a machine.
	Tags, DiskTags []tag
	// GroupTags are put on the Auto Scaling group alone.
	GroupTags []tag
	// UserData is the script that a machine boots with.
	UserData string
	// MinSize and MaxSize are the group's.
	MinSize, MaxSize int32
	// Mix is how several types and spot are mixed, nil if they are not.
	Mix *mix
	// Roll is how machines are replaced; of instance groups only.
	Roll roll
}

// roll is how the machines of a group are replaced.
type roll struct {
	// ByCloudFormation is whether CloudFormation does it.
	ByCloudFormation bool
	// BatchSize is how many are replaced at once, MinInService how many stay.
	BatchSize, MinInService int32
	// PauseTime is how long signals of new machines are waited for, HookTimeout how long an old one
	// waits for a heartbeat; both in seconds.
	PauseTime, HookTimeout int64
	// Retain is whether a machine is kept whose node could not be drained.
	Retain bool
	// Rebalance is whether spot instances are replaced that are likely to be interrupted.
	Rebalance bool
}

// parameter is a parameter of a stack.
type parameter struct{ Name, Type string }

// mix is how several instance types, and spot instances, are mixed.
type mix struct {
	InstanceTypes                    []string
	OnDemandBase, OnDemandPercentage int32
	SpotStrategy                     v1alpha1.SpotStrategy
	SpotMaxPrice                     string
}

// TaggedWithMachine are the resources that come with a machine.
func (machine) TaggedWithMachine() []string { return []string{"network-interface", "volume"} }

// disks returns a machine's disks.
func disks(root v1alpha1.Volume, more []v1alpha1.DataVolume) []v1alpha1.DataVolume {
	return append([]v1alpha1.DataVolume{{Device: rootDevice, Volume: root}}, more...)
}

// named returns tags with a name for people.
func named(name string, of map[string]string) []tag {
	of = maps.Clone(of)
	of["Name"] = name
	return tags(of)
}

// imageParameter returns the type and value of the parameter that holds an image.
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
