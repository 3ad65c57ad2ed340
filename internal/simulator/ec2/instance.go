package ec2

import (
	"maps"
	"net/netip"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/iam"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// instance is an instance. Its region's lock guards it.
type instance struct {
	Instance // without tags, which package vpc keeps

	kind        *kind
	data        *launchData // what it was launched with, changes included
	userData    []byte
	profile     iam.InstanceProfile
	association string // of the profile
	reservation *reservation
	index       int32
	cards       []string // its network interfaces
	token       string
	rootDevice  string
	transition  string // how it reached its state, for users
	spotRequest string
	ended       time.Time
	// protect and protectStop protect it from termination and stopping.
	protect, protectStop bool
	shutdown             types.ShutdownBehavior
	metadata             types.InstanceMetadataOptionsResponse
	notice               notice
	scheduled            []*scheduled
	tokens               map[string]time.Time // of its metadata service, by expiry
	session              session
	// launchFailure is the reason why it will terminate instead of reaching running, if any.
	launchFailure types.StateReason
	// onStopped is called when the instance stops. failure is the error of the start that it
	// attempted.
	onStopped func()
	failure   error
	// failing are the failing status checks, with the time since when they fail.
	failing map[StatusCheck]time.Time
	// posted is the console output of the last change of state, postedAt the time of that change.
	posted   []byte
	postedAt time.Time
	// work is the queue of tasks for its machine.
	work line
	// placed is its placement group, nil for none; partition is its partition there, 0 for none.
	placed    *placementGroup
	partition int32
	// reserved is the capacity reservation in which it runs, nil for none.
	reserved *capacityReservation
}

// reservation is the result of one launch request.
type reservation struct {
	id, owner, requester string
	digest               string
	instances            []*instance
}

// notice holds the interruption notice and rebalance recommendation of a spot instance.
type notice struct {
	action      string
	due         time.Time
	recommended time.Time
}

var stateCodes = map[types.InstanceStateName]int32{
	types.InstanceStateNamePending: 0, types.InstanceStateNameRunning: 16, types.InstanceStateNameShuttingDown: 32,
	types.InstanceStateNameTerminated: 48, types.InstanceStateNameStopping: 64, types.InstanceStateNameStopped: 80,
}

func stateOf(name types.InstanceStateName) *types.InstanceState {
	return &types.InstanceState{Name: name, Code: aws.Int32(stateCodes[name])}
}

// instance returns an instance. The caller holds the lock.
func (r *region) instance(id string) (*instance, error) {
	if err := checkID("InvalidInstanceID", "i-", id); err != nil {
		return nil, err
	}
	i, ok := r.instances[id]
	if !ok {
		return nil, noInstance(id)
	}
	return i, nil
}

// view returns a copy of an instance for other services. The caller holds the lock.
func (s *Service) view(i *instance) Instance {
	v := i.Instance
	v.Tags = s.tags(wire.Target{Account: i.Account, Region: i.Region}).Get(i.ID)
	return v
}

// Instance returns an instance; terminated instances stay visible for an hour.
func (s *Service) Instance(account, regionName, id string) (Instance, bool) {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	i, ok := r.instances[id]
	if !ok {
		return Instance{}, false
	}
	return s.view(i), true
}

// Instances returns all instances of an account in a region that are not terminated.
func (s *Service) Instances(account, regionName string) []Instance {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	var list []Instance
	for _, i := range r.instances {
		if i.State != types.InstanceStateNameTerminated {
			list = append(list, s.view(i))
		}
	}
	return list
}

// ByAddress returns the instance with a private address in a VPC. It ignores terminated instances.
func (s *Service) ByAddress(vpcID string, address netip.Addr) (Instance, bool) {
	for _, r := range s.regions.All() {
		if i, ok := s.at(r, vpcID, address); ok {
			return i, true
		}
	}
	return Instance{}, false
}

func (s *Service) at(r *region, vpcID string, address netip.Addr) (Instance, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range r.instances {
		if i.VPCID == vpcID && i.PrivateIP == address && i.State != types.InstanceStateNameTerminated {
			return s.view(i), true
		}
	}
	return Instance{}, false
}

// cards returns the network interfaces of an instance, the primary one first.
func (s *Service) cards(r *region, i *instance) []vpc.Interface {
	list := make([]vpc.Interface, 0, len(i.cards))
	for _, id := range i.cards {
		if card, ok := s.network.Interface(r.Account, r.Region, id); ok {
			list = append(list, card)
		}
	}
	return list
}

// groups returns security groups in the form that instances show.
func (s *Service) groups(p wire.Target, ids []string) []types.GroupIdentifier {
	list := make([]types.GroupIdentifier, 0, len(ids))
	for _, id := range ids {
		g, _ := s.network.SecurityGroup(p.Account, p.Region, id)
		list = append(list, types.GroupIdentifier{GroupId: aws.String(id), GroupName: aws.String(g.Name)})
	}
	return list
}

// describeInstance describes an instance. A terminated instance has no network.
func (s *Service) describeInstance(r *region, i *instance) types.Instance {
	d := types.Instance{
		InstanceId: &i.ID, ImageId: &i.ImageID, InstanceType: types.InstanceType(i.Type), State: stateOf(i.State), AmiLaunchIndex: &i.index,
		Architecture: i.kind.architecture(), ClientToken: aws.String(i.token), EbsOptimized: aws.Bool(aws.ToBool(i.data.EbsOptimized)),
		EnaSupport: aws.Bool(true), Hypervisor: types.HypervisorTypeXen, KeyName: i.data.KeyName, LaunchTime: &i.Launched,
		MetadataOptions: &i.metadata, Monitoring: &types.Monitoring{State: types.MonitoringStateDisabled},
		Placement:      i.placementView(),
		PrivateDnsName: aws.String(""), PublicDnsName: aws.String(""), RootDeviceName: &i.rootDevice, RootDeviceType: types.DeviceTypeEbs,
		StateTransitionReason: aws.String(i.transition), Tags: s.tags(r.Target).List(i.ID), VirtualizationType: types.VirtualizationTypeHvm,
		PlatformDetails: aws.String("Linux/UNIX"), UsageOperation: aws.String("RunInstances"), UsageOperationUpdateTime: &i.Launched,
		ProductCodes: []types.ProductCode{}, NetworkInterfaces: []types.InstanceNetworkInterface{},
		SecurityGroups:      []types.GroupIdentifier{},
		BlockDeviceMappings: []types.InstanceBlockDeviceMapping{}, SpotInstanceRequestId: wire.Optional(i.spotRequest),
		EnclaveOptions: &types.EnclaveOptions{
			Enabled: aws.Bool(false),
		}, HibernationOptions: &types.HibernationOptions{Configured: aws.Bool(false)},
		MaintenanceOptions: &types.InstanceMaintenanceOptions{AutoRecovery: types.InstanceAutoRecoveryStateDefault},
		CpuOptions: &types.CpuOptions{
			CoreCount: aws.Int32(max(1, i.kind.vCPUs/i.kind.threads)), ThreadsPerCore: aws.Int32(min(i.kind.threads, i.kind.vCPUs)),
		},
	}
	if i.data.Monitoring != nil && aws.ToBool(i.data.Monitoring.Enabled) {
		d.Monitoring.State = types.MonitoringStateEnabled
	}
	if i.Reason.Code != nil {
		reason := i.Reason
		d.StateReason = &reason
	}
	if i.Spot {
		d.InstanceLifecycle = types.InstanceLifecycleTypeSpot
	}
	if i.profile.ARN != "" && i.State != types.InstanceStateNameTerminated {
		d.IamInstanceProfile = &types.IamInstanceProfile{Arn: &i.profile.ARN, Id: &i.profile.ID}
	}
	i.describeCapacity(&d)
	for _, v := range r.attached(i.ID) {
		d.BlockDeviceMappings = append(d.BlockDeviceMappings, types.InstanceBlockDeviceMapping{
			DeviceName: &v.attachment.device,
			Ebs: &types.EbsInstanceBlockDevice{
				VolumeId: &v.id, AttachTime: &v.attachment.at, DeleteOnTermination: aws.Bool(v.attachment.deleteToo),
				Status: types.AttachmentStatus(v.attachment.state),
			},
		})
	}
	if i.State != types.InstanceStateNameTerminated {
		s.describeNetwork(r, i, &d)
	}
	return d
}

func (s *Service) describeNetwork(r *region, i *instance, d *types.Instance) {
	d.SubnetId, d.VpcId = &i.SubnetID, &i.VPCID
	d.PrivateIpAddress, d.PrivateDnsName = aws.String(i.PrivateIP.String()), &i.PrivateDNSName
	d.PrivateDnsNameOptions = &types.PrivateDnsNameOptionsResponse{
		HostnameType: types.HostnameTypeIpName, EnableResourceNameDnsARecord: aws.Bool(false),
		EnableResourceNameDnsAAAARecord: aws.Bool(false),
	}
	for _, card := range s.cards(r, i) {
		full, ok := s.network.DescribeInterface(r.Account, r.Region, card.ID)
		if !ok {
			continue
		}
		d.NetworkInterfaces = append(d.NetworkInterfaces, s.describeCard(r.Target, &card, &full))
		if card.ID == i.InterfaceID {
			d.SecurityGroups, d.SourceDestCheck = s.groups(r.Target, card.SecurityGroups), full.SourceDestCheck
			if card.PublicIP.IsValid() {
				d.PublicIpAddress, d.PublicDnsName = aws.String(card.PublicIP.String()), aws.String(card.PublicDNSName)
			}
		}
	}
}

func (s *Service) describeCard(p wire.Target, card *vpc.Interface, full *types.NetworkInterface) types.InstanceNetworkInterface {
	n := types.InstanceNetworkInterface{
		NetworkInterfaceId: &card.ID, SubnetId: &card.SubnetID, VpcId: &card.VPCID, MacAddress: &card.MAC,
		Description:      aws.String(card.Description),
		PrivateIpAddress: aws.String(card.PrivateIP.String()), PrivateDnsName: &card.PrivateDNSName, OwnerId: aws.String(p.Account),
		Status: types.NetworkInterfaceStatusInUse, InterfaceType: aws.String("interface"), SourceDestCheck: full.SourceDestCheck,
		Groups: s.groups(p, card.SecurityGroups), Ipv6Addresses: []types.InstanceIpv6Address{},
	}
	if a := full.Attachment; a != nil {
		n.Attachment = &types.InstanceNetworkInterfaceAttachment{
			AttachmentId: a.AttachmentId, DeviceIndex: a.DeviceIndex, DeleteOnTermination: a.DeleteOnTermination,
			AttachTime: a.AttachTime, Status: types.AttachmentStatusAttached, NetworkCardIndex: aws.Int32(0),
		}
	}
	address := types.InstancePrivateIpAddress{
		Primary:          aws.Bool(true),
		PrivateIpAddress: n.PrivateIpAddress,
		PrivateDnsName:   n.PrivateDnsName,
	}
	if card.PublicIP.IsValid() {
		n.Association = &types.InstanceNetworkInterfaceAssociation{
			PublicIp: aws.String(card.PublicIP.String()), PublicDnsName: aws.String(card.PublicDNSName), IpOwnerId: aws.String("amazon"),
		}
		if full.Association != nil && full.Association.IpOwnerId != nil {
			n.Association.IpOwnerId = full.Association.IpOwnerId
		}
		address.Association = n.Association
	}
	n.PrivateIpAddresses = []types.InstancePrivateIpAddress{address}
	return n
}

// reason returns the state reason of an instance: a code with its message.
func reason(code, sentence string) types.StateReason {
	return types.StateReason{Code: aws.String(code), Message: aws.String(code + ": " + sentence)}
}

func architectureOf(a types.ArchitectureValues) string {
	if strings.HasPrefix(string(a), "arm64") {
		return arm64
	}
	return amd64
}

// Kept returns the number of resources of each kind in an account and region, by the kind's name,
// so that tests can detect leftovers. It does not count terminated instances or the network, which
// package vpc counts.
func (s *Service) Kept(account, regionName string) map[string]int {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	kept := map[string]int{
		"volume": len(r.volumes), "snapshot": len(r.snapshots), "launch-template": len(r.templates), "key-pair": len(r.keyPairs),
		"placement-group": len(r.placement),
	}
	for _, i := range r.instances {
		if i.State != terminated {
			kept["instance"]++
		}
	}
	maps.DeleteFunc(kept, func(_ string, n int) bool { return n == 0 })
	return kept
}
