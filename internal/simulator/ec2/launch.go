package ec2

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/iam"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// launch is a resolved launch that has not been executed.
type launch struct {
	data      *launchData
	template  *launchTemplate
	version   string
	subnet    string // of the primary interface, unless the interfaces name it
	privateIP string
	least     int
	most      int
	token     string
	requester string
	// tags take precedence over the tags in the data. AWS's own services may use aws: keys.
	tags map[string]string

	kind     *kind
	image    *types.Image
	profile  iam.InstanceProfile
	userData []byte
	kinds    map[types.ResourceType]map[string]string // tags
	placed   *placementGroup
	spot     bool
	capacity wantedCapacity
	// reserved are the capacity reservations of the instances, nil for those outside.
	reserved []*capacityReservation
}

// Launch launches one instance, which is pending when Launch returns. It returns the errors of
// RunInstances.
func (s *Service) Launch(q LaunchRequest) (Instance, error) {
	r := s.locked(wire.Target{Account: q.Account, Region: q.Region})
	defer r.mu.Unlock()
	l, err := r.requested(q)
	if err != nil {
		return Instance{}, err
	}
	made, err := s.run(r, l)
	if err != nil {
		return Instance{}, err
	}
	return s.view(made.instances[0]), nil
}

// CheckLaunch returns the errors that Launch would return for the resources in the request: the
// template, the image, the instance type, the key pair and the instance profile. It does not check
// quotas and capacity.
func (s *Service) CheckLaunch(q LaunchRequest) error {
	r := s.locked(wire.Target{Account: q.Account, Region: q.Region})
	defer r.mu.Unlock()
	l, err := r.requested(q)
	if err != nil {
		return err
	}
	return s.decide(r, l)
}

// requested converts a request to a launch. The caller holds the lock.
func (r *region) requested(q LaunchRequest) (*launch, error) {
	id, name := wire.Optional(q.LaunchTemplateID), wire.Optional(q.LaunchTemplateName)
	if id != nil {
		name = nil
	}
	t, err := r.template(id, name)
	if err != nil {
		return nil, err
	}
	v, err := t.version(q.Version)
	if err != nil {
		return nil, err
	}
	data, err := recast[launchData](v.data)
	if err != nil {
		return nil, err
	}
	if q.InstanceType != "" {
		data.InstanceType, data.InstanceRequirements = types.InstanceType(q.InstanceType), nil
	}
	if q.Spot && data.InstanceMarketOptions == nil {
		data.InstanceMarketOptions = &types.LaunchTemplateInstanceMarketOptions{MarketType: types.MarketTypeSpot}
	}
	l := &launch{
		data: data, template: t, version: strconv.FormatInt(v.number, 10), least: 1, most: 1, requester: q.Requester, tags: q.Tags,
	}
	if len(data.NetworkInterfaces) > 0 { // a template leaves the subnet of an interface to the caller
		data.NetworkInterfaces[0].SubnetId = &q.SubnetID
	} else {
		l.subnet = q.SubnetID
	}
	return l, nil
}

// digest returns a hash that shows whether two requests with the same token are equal.
func digest(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// decide resolves everything that a launch will create.
func (s *Service) decide(r *region, l *launch) (err error) {
	d := l.data
	if err := checkSupported(d); err != nil {
		return err
	}
	if err := checkTemplateData(d); err != nil {
		return err
	}
	if d.ImageId == nil {
		return missing("ImageId")
	}
	if l.image, err = s.imageOf(r, *d.ImageId); err != nil {
		return err
	}
	if l.image.State != types.ImageStateAvailable {
		return wire.Errorf("InvalidAMIID.Unavailable", "The image ID '%s' is not available: it is '%s'", *l.image.ImageId, l.image.State)
	}
	if d.InstanceType == "" {
		return missing("InstanceType")
	}
	k, ok := kinds[string(d.InstanceType)]
	if !ok {
		return invalid("Invalid value '%s' for InstanceType.", d.InstanceType)
	}
	l.kind = k
	if l.placed, err = r.placementOf(d.Placement); err != nil {
		return err
	}
	if l.capacity, err = r.wanted(d); err != nil {
		return err
	}
	if k.architecture() != l.image.Architecture {
		return invalid("The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI. "+
			"Specify an instance type and an AMI that have matching architectures, and try again. "+
			"You can use 'describe-instance-types' or 'describe-images' to discover the architecture of the instance type or AMI.",
			k.architecture(), l.image.Architecture)
	}
	if d.KeyName != nil {
		if _, ok := r.keyPairs[*d.KeyName]; !ok {
			return noKeyPair(*d.KeyName)
		}
	}
	if d.UserData != nil {
		if l.userData, err = decodeUserData(*d.UserData); err != nil {
			return err
		}
	}
	if l.kinds, err = launchTags(d); err != nil {
		return err
	}
	if err := vpc.CheckTags(l.tags, true); err != nil {
		return err
	}
	l.spot = d.InstanceMarketOptions != nil && d.InstanceMarketOptions.MarketType == types.MarketTypeSpot
	l.profile, err = s.profileOf(r.Account, d.IamInstanceProfile)
	return err
}

// imageOf returns an image by its ID or by a public parameter that names it.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/create-launch-template.html#use-an-ssm-parameter-instead-of-an-ami-id
func (s *Service) imageOf(r *region, id string) (*types.Image, error) {
	name, byName := strings.CutPrefix(id, "resolve:ssm:")
	if !byName {
		return s.image(r, id)
	}
	named, ok := s.PublicParameter(r.Region, name)
	if !ok {
		return nil, invalid("Invalid value '%s' for ImageId: the simulator resolves public parameters of machine images only.", id)
	}
	return s.images.find(r.Region, named)
}

// profileOf returns the instance profile of a launch.
func (s *Service) profileOf(account string, p *types.LaunchTemplateIamInstanceProfileSpecification) (iam.InstanceProfile, error) {
	if p == nil || p.Arn == nil && p.Name == nil {
		return iam.InstanceProfile{}, nil
	}
	parameter, what, name := "name", "name", aws.ToString(p.Name)
	if p.Arn != nil {
		if p.Name != nil {
			return iam.InstanceProfile{}, wire.Errorf(
				"InvalidParameterCombination",
				"The parameter 'iamInstanceProfile.name' may not be used in combination with 'iamInstanceProfile.arn'",
			)
		}
		parameter, what, name = "arn", "ARN", *p.Arn
	}
	if s.options.Profiles == nil {
		return iam.InstanceProfile{}, unsupported("IamInstanceProfile")
	}
	profile, ok := s.options.Profiles.InstanceProfile(account, name)
	if !ok {
		return profile, invalid(
			"Value (%s) for parameter iamInstanceProfile.%s is invalid. Invalid IAM Instance Profile %s", name, parameter, what,
		)
	}
	if profile.RoleName == "" {
		return profile, invalid("IAM Instance Profile %q has no associated IAM Roles", profile.ARN)
	}
	return profile, nil
}

// cardsOf returns the network interfaces of a launch, the primary one first.
func (s *Service) cardsOf(p wire.Target, l *launch) ([]types.LaunchTemplateInstanceNetworkInterfaceSpecification, error) {
	d := l.data
	groups := slices.Clone(d.SecurityGroupIds)
	if len(d.SecurityGroups) > 0 && (l.subnet != "" || len(d.NetworkInterfaces) > 0) { // names are for the default VPC only
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter groupName cannot be used with the parameter subnet")
	}
	for _, name := range d.SecurityGroups {
		group, err := s.network.DefaultGroup(p.Account, p.Region, name)
		if err != nil {
			return nil, err
		}
		groups = append(groups, group.ID)
	}
	if len(d.NetworkInterfaces) == 0 {
		card := types.LaunchTemplateInstanceNetworkInterfaceSpecification{
			SubnetId: wire.Optional(l.subnet), Groups: groups, PrivateIpAddress: wire.Optional(l.privateIP),
		}
		return []types.LaunchTemplateInstanceNetworkInterfaceSpecification{card}, nil
	}
	if l.subnet != "" {
		return nil, wire.Errorf(
			"InvalidParameterCombination", "Network interfaces and an instance-level subnet ID may not be specified on the same request",
		)
	}
	cards := slices.Clone(d.NetworkInterfaces)
	slices.SortFunc(cards, func(a, b types.LaunchTemplateInstanceNetworkInterfaceSpecification) int {
		return int(aws.ToInt32(a.DeviceIndex) - aws.ToInt32(b.DeviceIndex))
	})
	for n := range cards {
		if int(aws.ToInt32(cards[n].DeviceIndex)) != n {
			return nil, invalid("Each network interface requires a unique device index, from 0 on.")
		}
	}
	if len(cards) > int(l.kind.interfaces) {
		return nil, wire.Errorf("AttachmentLimitExceeded", "Interface count %d exceeds the limit for %s", len(cards), l.kind.name)
	}
	return cards, nil
}

// subnetOf returns the subnet that determines a launch's zone.
func (s *Service) subnetOf(
	p wire.Target,
	primary *types.LaunchTemplateInstanceNetworkInterfaceSpecification,
	d *launchData,
) (vpc.Subnet, error) {
	id := aws.ToString(primary.SubnetId)
	if primary.NetworkInterfaceId != nil {
		card, ok := s.network.Interface(p.Account, p.Region, *primary.NetworkInterfaceId)
		if !ok {
			return vpc.Subnet{}, wire.Errorf(
				"InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '%s' does not exist", *primary.NetworkInterfaceId,
			)
		}
		id = card.SubnetID
	}
	if id == "" {
		zone := ""
		if d.Placement != nil {
			zone = aws.ToString(d.Placement.AvailabilityZone)
		}
		return s.network.DefaultSubnet(p.Account, p.Region, zone)
	}
	subnet, ok := s.network.Subnet(p.Account, p.Region, id)
	if !ok {
		return vpc.Subnet{}, wire.Errorf("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
	}
	if want := d.Placement; want != nil && want.AvailabilityZone != nil && *want.AvailabilityZone != subnet.Zone {
		return vpc.Subnet{}, wire.Errorf(
			"InvalidParameterCombination",
			"The availability zone '%s' does not match the availability zone of the subnet '%s' (%s)",
			*want.AvailabilityZone,
			id,
			subnet.Zone,
		)
	}
	return subnet, nil
}

// run launches at most the requested and at least the minimum number of instances. The caller holds
// the lock.
func (s *Service) run(r *region, l *launch) (*reservation, error) {
	if err := s.decide(r, l); err != nil {
		return nil, err
	}
	cards, err := s.cardsOf(r.Target, l)
	if err != nil {
		return nil, err
	}
	subnet, err := s.subnetOf(r.Target, &cards[0], l.data)
	if err != nil {
		return nil, err
	}
	count := l.most
	for err = s.admit(r, l, subnet.Zone, count); err != nil && count > l.least; count-- {
		err = s.admit(r, l, subnet.Zone, count-1)
	}
	if err != nil {
		return nil, err
	}
	volumes, err := devices(l.image, l.data.BlockDeviceMappings)
	if err != nil {
		return nil, err
	}
	if err := l.kind.room(len(cards) + len(volumes)); err != nil {
		return nil, err
	}
	made := &reservation{id: newID("r"), owner: r.Account, requester: l.requester}
	for n := range count {
		i, err := s.make(r, l, cards, &subnet, volumes)
		if err == nil {
			i.reserved = l.reserved[n]
		}
		if err != nil {
			if n >= l.least {
				break
			}
			for _, i := range made.instances {
				s.undoMake(r, i)
			}
			return nil, err
		}
		i.reservation, i.index = made, int32(n)
		made.instances = append(made.instances, i)
	}
	for _, i := range made.instances {
		s.announce(i)
		s.runner.after(s.latency("pending"), &i.work, func() { s.boot(r, i) })
	}
	return made, nil
}

// make creates one instance with its interfaces and volumes. If it returns an error, it has removed
// what it created.
func (s *Service) make(
	r *region,
	l *launch,
	cards []types.LaunchTemplateInstanceNetworkInterfaceSpecification,
	subnet *vpc.Subnet,
	devices []types.BlockDeviceMapping,
) (*instance, error) {
	i := &instance{
		Instance: Instance{
			ID: newID("i"), Account: r.Account, Region: r.Region, Zone: subnet.Zone, VPCID: subnet.VPCID, SubnetID: subnet.ID,
			Type: l.kind.name, ImageID: *l.image.ImageId, Architecture: architectureOf(l.image.Architecture), Spot: l.spot,
			State: types.InstanceStateNamePending, Reason: types.StateReason{Code: aws.String("pending"), Message: aws.String("pending")},
			Launched: s.env.Clock.Now(),
		},
		kind: l.kind, data: l.data, userData: l.userData, profile: l.profile, token: l.token,
		rootDevice: aws.ToString(l.image.RootDeviceName),
		protect:    aws.ToBool(l.data.DisableApiTermination), protectStop: aws.ToBool(l.data.DisableApiStop),
		shutdown: l.data.InstanceInitiatedShutdownBehavior, metadata: metadataOptions(l.data.MetadataOptions), tokens: nil,
		placed: l.placed, partition: r.partitionOf(l.placed, l.data.Placement, subnet.Zone),
	}
	if l.template != nil {
		i.LaunchTemplateID, i.LaunchTemplateVersion = l.template.id, l.version
	}
	if l.profile.ARN != "" {
		i.association = newID("iip-assoc")
	}
	if l.spot {
		i.spotRequest = "sir-" + strings.ToLower(wire.RandomID(8))
	}
	tags := map[string]string{}
	maps.Copy(tags, l.kinds[types.ResourceTypeInstance])
	maps.Copy(tags, l.tags)
	if l.template != nil {
		tags["aws:ec2launchtemplate:id"], tags["aws:ec2launchtemplate:version"] = l.template.id, l.version
	}
	s.tags(r.Target).Register(i.ID, types.ResourceTypeInstance, tags)
	r.instances[i.ID] = i
	err := s.plugCards(r, i, l, cards, subnet)
	if err == nil {
		err = s.makeVolumes(r, i, l, devices)
	}
	if err != nil {
		s.undoMake(r, i)
		return nil, err
	}
	return i, nil
}

// plugCards creates or attaches the network interfaces of an instance.
func (s *Service) plugCards(
	r *region, i *instance, l *launch, cards []types.LaunchTemplateInstanceNetworkInterfaceSpecification, subnet *vpc.Subnet,
) error {
	for n := range cards {
		c := &cards[n]
		attachment := vpc.Attachment{
			InstanceID:          i.ID,
			DeviceIndex:         int32(n),
			DeleteOnTermination: c.DeleteOnTermination == nil || *c.DeleteOnTermination,
		}
		var card vpc.Interface
		var err error
		if c.NetworkInterfaceId != nil {
			attachment.DeleteOnTermination = aws.ToBool(c.DeleteOnTermination)
			card, err = s.network.AttachInterface(r.Account, r.Region, *c.NetworkInterfaceId, attachment)
		} else {
			public := n == 0 && subnet.MapPublicIP
			if c.AssociatePublicIpAddress != nil {
				public = *c.AssociatePublicIpAddress
			}
			subnetID := subnet.ID
			if c.SubnetId != nil {
				subnetID = *c.SubnetId
			}
			card, err = s.network.NewInterface(r.Account, r.Region, subnetID, vpc.InterfaceRequest{
				Description: aws.ToString(c.Description), SecurityGroups: c.Groups, PrivateIP: aws.ToString(c.PrivateIpAddress),
				PublicIP:   public,
				Attachment: &attachment, Tags: l.kinds[types.ResourceTypeNetworkInterface],
			})
		}
		if err != nil {
			return err
		}
		i.cards = append(i.cards, card.ID)
		if n == 0 {
			i.InterfaceID, i.PrivateIP, i.PrivateDNSName = card.ID, card.PrivateIP, privateName(card.PrivateIP, r.Region)
		}
	}
	return nil
}

// privateName returns the DNS name of a private address.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/hostname-types.html
func privateName(a netip.Addr, region string) string {
	suffix := region + ".compute.internal"
	if region == "us-east-1" {
		suffix = "ec2.internal"
	}
	return "ip-" + strings.ReplaceAll(a.String(), ".", "-") + "." + suffix
}

// makeVolumes creates the volumes of a launch.
func (s *Service) makeVolumes(r *region, i *instance, l *launch, devices []types.BlockDeviceMapping) error {
	for _, d := range devices {
		v, err := s.addVolume(r, newVolume{
			zone: i.Zone, size: d.Ebs.VolumeSize, iops: d.Ebs.Iops, throughput: d.Ebs.Throughput, kind: d.Ebs.VolumeType,
			encrypted: d.Ebs.Encrypted,
			key:       d.Ebs.KmsKeyId, snapshot: d.Ebs.SnapshotId, tags: l.kinds[types.ResourceTypeVolume],
			image: *l.image.OwnerId != r.Account && ofImage(l.image, d.Ebs.SnapshotId),
		})
		if doom, ok := launchFailureOf(err); ok {
			i.launchFailure = doom
			continue
		}
		if err != nil {
			return err
		}
		r.plugIn(v, &attachment{
			instance: i.ID, device: *d.DeviceName, at: i.Launched, state: types.VolumeAttachmentStateAttaching,
			deleteToo: d.Ebs.DeleteOnTermination == nil || *d.Ebs.DeleteOnTermination,
		})
	}
	return nil
}

// launchFailureOf returns the state reason of an instance whose volume cannot be encrypted: EC2
// creates the instance and terminates it at once.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-instancelaunchfailure.html
func launchFailureOf(err error) (types.StateReason, bool) {
	e, ok := errors.AsType[*wire.Error](err)
	switch {
	case !ok || e.Code != invalidKey:
		return types.StateReason{}, false
	case e.Detail[keyState] != "":
		return reason("Client.InvalidKMSKey.InvalidState", "The KMS key provided is in an incorrect state"), true
	default:
		return reason("Client.InternalError", "Client error on launch"), true
	}
}

// ofImage reports whether a snapshot is an image's own.
func ofImage(image *types.Image, snapshotID *string) bool {
	return slices.ContainsFunc(image.BlockDeviceMappings, func(d types.BlockDeviceMapping) bool {
		return d.Ebs != nil && d.Ebs.SnapshotId != nil && aws.ToString(snapshotID) == *d.Ebs.SnapshotId
	})
}

// undoMake removes an instance that could not be launched.
func (s *Service) undoMake(r *region, i *instance) {
	s.releaseCards(r, i)
	for _, v := range r.attached(i.ID) {
		r.unplug(v)
		s.forgetVolume(r, v)
	}
	delete(r.instances, i.ID)
	s.tags(r.Target).Forget(i.ID)
}
