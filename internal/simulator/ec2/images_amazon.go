package ec2

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
)

// amazonDevice is the root device of Amazon's images, which differs from Ubuntu's.
const amazonDevice = "/dev/xvda"

// amazonImages are the images that AWS publishes and names by public parameters, with the
// architecture as x86_64 or arm64. Each has one version, from the same day as the current version
// of Ubuntu.
//   - https://docs.aws.amazon.com/linux/al2023/ug/ec2.html
//   - https://bottlerocket.dev/en/os/latest/#/install/quickstart/aws/
//   - https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html
var amazonImages = []struct {
	// parameter matches the name of the parameter; its last group is the architecture.
	parameter *lazyregexp.Regexp
	// name is the image's name, with the groups of parameter.
	name, owner string
	// root and data are the sizes of the volumes in GiB. If data is 0, there is no data volume.
	root, data int32
}{
	{
		lazyregexp.New(`^/aws/service/ami-amazon-linux-latest/al2023-ami-(minimal-)?kernel-(?:default|6\.1|6\.12)-(x86_64|arm64)$`),
		"al2023-ami-${1}2023.8.20260915.0-kernel-6.1-$2", "137112412989", 8, 0,
	},
	{
		lazyregexp.New(`^/aws/service/bottlerocket/aws-k8s-(1\.(?:29|3[0-6])(?:-nvidia)?)/(x86_64|arm64)/latest/image_id$`),
		"bottlerocket-aws-k8s-$1-$2-v1.50.0-20260915", "092701018921", 2, 20,
	},
	{
		lazyregexp.New(
			`^/aws/service/eks/optimized-ami/(1\.(?:29|3[0-6]))/amazon-linux-2023/(x86_64|arm64)/standard/recommended/image_id$`,
		),
		"amazon-eks-node-al2023-$2-standard-$1-v20260915", "602401143452", 20, 0,
	},
	{
		lazyregexp.New(`^/aws/service/eks/optimized-ami/(1\.(?:29|3[0-6]))/amazon-linux-2023/(x86_64|arm64)/nvidia/recommended/image_id$`),
		"amazon-eks-node-al2023-$2-nvidia-$1-v20260915", "602401143452", 20, 0,
	},
	{ // for x86_64 only
		lazyregexp.New(`^/aws/service/eks/optimized-ami/(1\.(?:29|3[0-6]))/amazon-linux-2023/(x86_64)/neuron/recommended/image_id$`),
		"amazon-eks-node-al2023-$2-neuron-$1-v20260915", "602401143452", 20, 0,
	},
}

// amazon adds the image that one of Amazon's public parameters names to a region, and returns its
// ID.
func (m *images) amazon(region, parameter string) (id string, ok bool) {
	for _, family := range amazonImages {
		groups := family.parameter.FindStringSubmatch(parameter)
		if groups == nil {
			continue
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.at(region)
		name := family.parameter.ReplaceAllString(parameter, family.name)
		return m.addAmazon(region, name, groups[len(groups)-1], family.owner, family.root, family.data), true
	}
	return "", false
}

// addAmazon adds an image with an ID derived from its name. The caller holds the lock.
func (m *images) addAmazon(region, name, architecture, owner string, root, data int32) string {
	sum := sha256.Sum256([]byte(region + "/" + name))
	id := "ami-0" + hex.EncodeToString(sum[:])[:16]
	if _, removed := m.removed[region+"/"+id]; removed || m.regions[region][id] != nil {
		return id
	}
	image := types.Image{
		ImageId: &id, Name: &name, ImageLocation: aws.String("amazon/" + name), OwnerId: &owner, ImageOwnerAlias: aws.String("amazon"),
		CreationDate: aws.String("2026-09-15T00:00:00.000Z"), RootDeviceName: aws.String(amazonDevice),
		Architecture: types.ArchitectureValues(architecture), BootMode: types.BootModeValuesUefiPreferred,
		BlockDeviceMappings: []types.BlockDeviceMapping{amazonVolume(amazonDevice, root, sum[16:])},
	}
	if data > 0 {
		image.BlockDeviceMappings = append(image.BlockDeviceMappings, amazonVolume("/dev/xvdb", data, sum[8:]))
	}
	if image.Architecture == types.ArchitectureValuesArm64 {
		image.BootMode = types.BootModeValuesUefi
	}
	completeImage(&image)
	m.regions[region][id] = &image
	return id
}

func amazonVolume(device string, size int32, of []byte) types.BlockDeviceMapping {
	return types.BlockDeviceMapping{DeviceName: &device, Ebs: &types.EbsBlockDevice{
		VolumeSize: &size, VolumeType: types.VolumeTypeGp3, DeleteOnTermination: aws.Bool(true), Encrypted: aws.Bool(false),
		SnapshotId: aws.String("snap-0" + hex.EncodeToString(of)[:16]),
	}}
}
