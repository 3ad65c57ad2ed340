package ec2

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// launchData are the parameters of a launch, in the form in which EC2 returns those of a launch
// template.
type launchData = types.ResponseLaunchTemplateData

// merged merges the parameters of a request over those of a launch template. It merges tags and
// devices one by one; all other parameters of the request replace the template's.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RunInstances.html
func merged(template, request *launchData) (*launchData, error) {
	if template == nil {
		return request, nil
	}
	data, err := recast[launchData](template)
	if err != nil {
		return nil, err
	}
	devices, tags := data.BlockDeviceMappings, data.TagSpecifications
	overlay(data, request)
	for _, own := range request.BlockDeviceMappings {
		at := slices.IndexFunc(devices, func(d types.LaunchTemplateBlockDeviceMapping) bool {
			return aws.ToString(d.DeviceName) == aws.ToString(own.DeviceName)
		})
		if at < 0 {
			devices = append(devices, own)
			continue
		}
		if devices[at].Ebs != nil && own.Ebs != nil {
			ebs := *devices[at].Ebs
			overlay(&ebs, own.Ebs)
			own.Ebs = &ebs
		}
		devices[at] = own
	}
	for _, own := range request.TagSpecifications {
		at := slices.IndexFunc(tags, func(t types.LaunchTemplateTagSpecification) bool { return t.ResourceType == own.ResourceType })
		if at < 0 {
			tags = append(tags, own)
			continue
		}
		tags[at].Tags = append(slices.Clone(tags[at].Tags), own.Tags...) // the last value of a key counts
	}
	data.BlockDeviceMappings, data.TagSpecifications = devices, tags
	return data, nil
}

// checkRequest rejects the parameters of RunInstances that launch templates do not have and that
// the simulator does not support.
func checkRequest(in *ec2.RunInstancesInput) error {
	switch {
	case len(in.ElasticGpuSpecification) > 0:
		return unsupported("ElasticGpuSpecification")
	case aws.ToBool(in.EnablePrimaryIpv6), in.Ipv6AddressCount != nil, len(in.Ipv6Addresses) > 0:
		return unsupported("Ipv6Addresses")
	case in.MinCount == nil || in.MaxCount == nil:
		return missing("MinCount and MaxCount")
	case *in.MinCount < 1 || *in.MaxCount < *in.MinCount:
		return invalid("The parameter MinCount (%d) must be positive and not above MaxCount (%d)", *in.MinCount, *in.MaxCount)
	}
	return nil
}

// checkSupported rejects parameters that would change the instance and that the simulator does not
// support.
func checkSupported(d *launchData) error {
	for _, p := range []struct {
		name string
		used bool
	}{
		{"CpuOptions", d.CpuOptions != nil},
		{"ElasticGpuSpecifications", len(d.ElasticGpuSpecifications) > 0},
		{"ElasticInferenceAccelerators", len(d.ElasticInferenceAccelerators) > 0},
		{"EnclaveOptions", d.EnclaveOptions != nil && aws.ToBool(d.EnclaveOptions.Enabled)},
		{"HibernationOptions", d.HibernationOptions != nil && aws.ToBool(d.HibernationOptions.Configured)},
		{"InstanceRequirements", d.InstanceRequirements != nil},
		{"KernelId", d.KernelId != nil},
		{"RamdiskId", d.RamDiskId != nil},
		{"LicenseSpecifications", len(d.LicenseSpecifications) > 0},
		{"SecondaryInterfaces", len(d.SecondaryInterfaces) > 0},
		{"PrivateDnsNameOptions", d.PrivateDnsNameOptions != nil && d.PrivateDnsNameOptions.HostnameType == types.HostnameTypeResourceName},
	} {
		if p.used {
			return unsupported(p.name)
		}
	}
	if err := checkPlacement(d.Placement); err != nil {
		return err
	}
	if m := d.InstanceMarketOptions; m != nil {
		if m.MarketType != "" && m.MarketType != types.MarketTypeSpot {
			return unsupported("InstanceMarketOptions.MarketType")
		}
		if o := m.SpotOptions; o != nil && (o.SpotInstanceType == types.SpotInstanceTypePersistent || o.BlockDurationMinutes != nil) {
			return unsupported("InstanceMarketOptions.SpotOptions")
		}
	}
	for i := range d.NetworkInterfaces {
		if err := checkInterface(&d.NetworkInterfaces[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkPlacement(p *types.LaunchTemplatePlacement) error {
	if p == nil {
		return nil
	}
	if p.Affinity != nil || p.HostId != nil || p.HostResourceGroupArn != nil || p.SpreadDomain != nil || p.Tenancy != "" && p.Tenancy != types.TenancyDefault {
		return unsupported("Placement")
	}
	return nil
}

func checkInterface(n *types.LaunchTemplateInstanceNetworkInterfaceSpecification) error {
	kind := aws.ToString(n.InterfaceType)
	for _, p := range []struct {
		name string
		used bool
	}{
		{"AssociateCarrierIpAddress", aws.ToBool(n.AssociateCarrierIpAddress)},
		{"EnaSrdSpecification", n.EnaSrdSpecification != nil},
		{"InterfaceType", kind != "" && kind != "interface"},
		{"Ipv4PrefixCount", n.Ipv4PrefixCount != nil || len(n.Ipv4Prefixes) > 0},
		{"Ipv6AddressCount", aws.ToInt32(n.Ipv6AddressCount) > 0 || len(n.Ipv6Addresses) > 0 || n.Ipv6PrefixCount != nil || len(n.Ipv6Prefixes) > 0},
		{"NetworkCardIndex", aws.ToInt32(n.NetworkCardIndex) > 0},
		{"PrivateIpAddresses", len(n.PrivateIpAddresses) > 0 || n.SecondaryPrivateIpAddressCount != nil},
	} {
		if p.used {
			return unsupported("NetworkInterface." + p.name)
		}
	}
	return nil
}

// maxUserData is the size limit of decoded user data.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
const maxUserData = 16384

func decodeUserData(encoded string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, invalid("Invalid BASE64 encoding of user data")
	}
	if len(data) > maxUserData {
		return nil, invalid("User data is limited to %d bytes", maxUserData)
	}
	return data, nil
}

// devices returns the volumes to create: the image's volumes with the launch's settings merged over
// them.
func devices(image *types.Image, own []types.LaunchTemplateBlockDeviceMapping) ([]types.BlockDeviceMapping, error) {
	list := map[string]types.BlockDeviceMapping{}
	for _, d := range image.BlockDeviceMappings {
		if d.Ebs != nil { // instance stores are not simulated
			list[aws.ToString(d.DeviceName)] = d
		}
	}
	for _, d := range own {
		name := aws.ToString(d.DeviceName)
		if name == "" {
			return nil, missing("blockDeviceMapping.deviceName")
		}
		if d.NoDevice != nil {
			delete(list, name)
			continue
		}
		if d.Ebs == nil {
			continue
		}
		ebs, err := overDevice(list[name].Ebs, d.Ebs)
		if err != nil {
			return nil, err
		}
		list[name] = types.BlockDeviceMapping{DeviceName: d.DeviceName, Ebs: ebs}
	}
	all := slices.Collect(maps.Values(list))
	slices.SortFunc(all, func(a, b types.BlockDeviceMapping) int { return cmp.Compare(*a.DeviceName, *b.DeviceName) })
	return all, nil
}

// overDevice merges a launch's settings of a volume over those of the image, if the image has the
// volume.
func overDevice(base *types.EbsBlockDevice, own *types.LaunchTemplateEbsBlockDevice) (*types.EbsBlockDevice, error) {
	over, err := recast[types.EbsBlockDevice](own)
	if err != nil {
		return nil, err
	}
	ebs := &types.EbsBlockDevice{DeleteOnTermination: aws.Bool(true)}
	if base != nil {
		*ebs = *base
		if over.VolumeType != "" && over.VolumeType != ebs.VolumeType {
			ebs.Iops, ebs.Throughput = nil, nil
		}
		if over.VolumeSize != nil && *over.VolumeSize < aws.ToInt32(ebs.VolumeSize) {
			return nil, wire.Errorf("InvalidBlockDeviceMapping", "Volume of size %dGB is smaller than snapshot '%s', expect size>= %dGB",
				*over.VolumeSize, aws.ToString(ebs.SnapshotId), aws.ToInt32(ebs.VolumeSize))
		}
	}
	overlay(ebs, over)
	return ebs, nil
}

// launchTags returns the tags of a launch by kind of resource.
func launchTags(d *launchData) (map[types.ResourceType]map[string]string, error) {
	specifications := make([]types.TagSpecification, len(d.TagSpecifications))
	for i, t := range d.TagSpecifications {
		specifications[i] = types.TagSpecification(t)
	}
	return vpc.TagsFor(specifications, types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeNetworkInterface,
		types.ResourceTypeSpotInstancesRequest)
}
