package ec2

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
)

// images are the public images of all regions. They are created on first use: one for each release
// of Ubuntu, serial and architecture.
type images struct {
	mu      sync.Mutex
	regions map[string]map[string]*types.Image
	removed map[string]*types.Image // by region/id
}

const (
	canonical     = "099720109477"
	currentSerial = "20260915"
	rootDevice    = "/dev/sda1"
	amd64, arm64  = "amd64", "arm64"
)

// ubuntus are the releases of Ubuntu: version, code name and volume type of the
// root device.
// https://documentation.ubuntu.com/aws/aws-how-to/instances/find-ubuntu-images/
var ubuntus = []struct{ version, name, volume string }{
	{"22.04", "jammy", "gp2"},
	{"24.04", "noble", "gp3"},
}

// ubuntuParameter matches the public parameters that name Ubuntu images.
var ubuntuParameter = lazyregexp.New(
	`^/aws/service/canonical/ubuntu/server/([a-z0-9.]+)/stable/(current|20\d{6}(?:\.\d{1,2})?)/(amd64|arm64)/hvm/ebs-(gp2|gp3)/ami-id$`,
)

// PublicParameter returns the value of a region's public parameter that names an image:
// /aws/service/canonical/ubuntu/server/24.04/stable/SERIAL/amd64/hvm/ebs-gp3/ami-id, where the
// serial is a date or "current", or a parameter of [amazonImages]. It reports false for all other
// parameters.
func (s *Service) PublicParameter(region, name string) (imageID string, ok bool) {
	match := ubuntuParameter.FindStringSubmatch(name)
	if match == nil {
		return s.images.amazon(region, name)
	}
	for _, u := range ubuntus {
		if (u.version == match[1] || u.name == match[1]) && u.volume == match[4] {
			serial := match[2]
			if serial == "current" {
				serial = currentSerial
			}
			return s.images.ubuntu(region, u.version, u.name, u.volume, serial, match[3]), true
		}
	}
	return "", false
}

// at returns the images of a region, including the current ones. The caller holds the lock.
func (m *images) at(region string) map[string]*types.Image {
	if all, ok := m.regions[region]; ok {
		return all
	}
	if m.regions == nil {
		m.regions = map[string]map[string]*types.Image{}
	}
	m.regions[region] = map[string]*types.Image{}
	for _, u := range ubuntus {
		for _, architecture := range []string{amd64, arm64} {
			m.addUbuntu(region, u.version, u.name, u.volume, currentSerial, architecture)
		}
	}
	return m.regions[region]
}

func (m *images) ubuntu(region, version, name, volume, serial, architecture string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at(region)
	return m.addUbuntu(region, version, name, volume, serial, architecture)
}

// addUbuntu adds an image with an ID derived from its properties.
func (m *images) addUbuntu(region, version, name, volume, serial, architecture string) string {
	sum := sha256.Sum256([]byte(region + "/" + version + "/" + serial + "/" + architecture))
	id := "ami-0" + hex.EncodeToString(sum[:])[:16]
	if _, removed := m.removed[region+"/"+id]; removed || m.regions[region][id] != nil {
		return id
	}
	date, _, _ := strings.Cut(serial, ".")
	full := "ubuntu/images/hvm-ssd-" + volume + "/ubuntu-" + name + "-" + version + "-" + architecture + "-server-" + serial
	image := types.Image{
		ImageId: &id, Name: &full, ImageLocation: aws.String("amazon/" + full), OwnerId: aws.String(canonical),
		ImageOwnerAlias: aws.String("amazon"),
		Description:     aws.String("Canonical, Ubuntu, " + version + ", " + architecture + " " + name + " image"),
		CreationDate:    aws.String(date[:4] + "-" + date[4:6] + "-" + date[6:8] + "T00:00:00.000Z"),
		Architecture:    types.ArchitectureValuesX8664, BootMode: types.BootModeValuesUefiPreferred,
		BlockDeviceMappings: []types.BlockDeviceMapping{
			{DeviceName: aws.String(rootDevice), Ebs: &types.EbsBlockDevice{
				VolumeSize: aws.Int32(8), VolumeType: types.VolumeType(volume), DeleteOnTermination: aws.Bool(true),
				Encrypted:  aws.Bool(false),
				SnapshotId: aws.String("snap-0" + hex.EncodeToString(sum[16:])[:16]),
			}},
			{DeviceName: aws.String("/dev/sdb"), VirtualName: aws.String("ephemeral0")},
			{DeviceName: aws.String("/dev/sdc"), VirtualName: aws.String("ephemeral1")},
		},
	}
	if architecture == arm64 {
		image.Architecture, image.BootMode = types.ArchitectureValuesArm64, types.BootModeValuesUefi
	}
	completeImage(&image)
	m.regions[region][id] = &image
	return id
}

// completeImage sets the attributes that all Linux images share.
func completeImage(i *types.Image) {
	i.State, i.Public, i.EnaSupport = types.ImageStateAvailable, aws.Bool(true), aws.Bool(true)
	i.ImageType, i.Hypervisor = types.ImageTypeValuesMachine, types.HypervisorTypeXen
	i.RootDeviceType, i.VirtualizationType = types.DeviceTypeEbs, types.VirtualizationTypeHvm
	i.PlatformDetails, i.UsageOperation, i.SriovNetSupport = aws.String("Linux/UNIX"), aws.String("RunInstances"), aws.String("simple")
	if i.RootDeviceName == nil {
		i.RootDeviceName = aws.String(rootDevice)
	}
	if i.OwnerId == nil {
		i.OwnerId = aws.String(canonical)
	}
	if i.Architecture == "" {
		i.Architecture = types.ArchitectureValuesX8664
	}
	if len(i.BlockDeviceMappings) == 0 {
		i.BlockDeviceMappings = []types.BlockDeviceMapping{{
			DeviceName: i.RootDeviceName,
			Ebs: &types.EbsBlockDevice{
				VolumeSize:          aws.Int32(8),
				VolumeType:          types.VolumeTypeGp3,
				DeleteOnTermination: aws.Bool(true),
			},
		}}
	}
}

// AddImage adds a public image to a region, or restores a removed one.
func (s *Service) AddImage(region string, image types.Image) {
	m := &s.images
	m.mu.Lock()
	defer m.mu.Unlock()
	id := aws.ToString(image.ImageId)
	delete(m.removed, region+"/"+id)
	completeImage(&image)
	m.at(region)[id] = &image
}

// RemoveImage removes an image: launches fail with InvalidAMIID.NotFound. The public parameter
// still names it.
func (s *Service) RemoveImage(region, imageID string) {
	m := &s.images
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.removed == nil {
		m.removed = map[string]*types.Image{}
	}
	if image, ok := m.at(region)[imageID]; ok {
		m.removed[region+"/"+imageID] = image
		delete(m.at(region), imageID)
	}
}

// RestoreImage restores an image that [Service.RemoveImage] removed.
func (s *Service) RestoreImage(region, imageID string) {
	m := &s.images
	m.mu.Lock()
	defer m.mu.Unlock()
	if image, ok := m.removed[region+"/"+imageID]; ok {
		m.at(region)[imageID] = image
		delete(m.removed, region+"/"+imageID)
	}
}

// find returns an image of a region.
func (m *images) find(region, id string) (*types.Image, error) {
	if err := checkID("InvalidAMIID", "ami-", id); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.at(region)[id]
	if !ok {
		return nil, noImage(id)
	}
	return i, nil
}

// all returns the images of a region, ordered by ID.
func (m *images) all(region string) []*types.Image {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.Collect(maps.Values(m.at(region)))
	slices.SortFunc(list, byImageID)
	return list
}

func byImageID(a, b *types.Image) int { return cmp.Compare(*a.ImageId, *b.ImageId) }
