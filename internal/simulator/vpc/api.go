package vpc

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// VPC is a VPC as other simulated services see it.
type VPC struct {
	// ID, Account and Region identify the VPC.
	ID, Account, Region string
	// CIDRs are its IPv4 ranges, the primary one first.
	CIDRs []netip.Prefix
	// DNSSupport and DNSHostnames are its attributes.
	DNSSupport, DNSHostnames bool
	// DefaultSecurityGroup is the group of interfaces that do not name one.
	DefaultSecurityGroup string
}

// Subnet is a subnet as other simulated services see it.
type Subnet struct {
	// ID, VPCID, Account and Region identify the subnet.
	ID, VPCID, Account, Region string
	// Zone and ZoneID are its availability zone.
	Zone, ZoneID string
	// CIDR is its IPv4 range; VPCRange is the range of the VPC that contains it.
	CIDR, VPCRange netip.Prefix
	// MapPublicIP says that instances get a public address by default.
	MapPublicIP bool
	// InternetGateway says that an internet gateway is attached to its VPC.
	InternetGateway bool
	// Free is the number of unused addresses.
	Free int
}

// SecurityGroup is a security group as other simulated services see it.
type SecurityGroup struct {
	// ID, Name and VPCID identify the group.
	ID, Name, VPCID string
}

// Interface is a copy of a network interface for other simulated services.
type Interface struct {
	// ID, SubnetID, VPCID and Zone identify the interface and its location.
	ID, SubnetID, VPCID, Zone string
	// MAC is its MAC address.
	MAC string
	// PrivateIP is its primary address; PrivateDNSName is the DNS name of that address.
	PrivateIP      netip.Addr
	PrivateDNSName string
	// PublicIP is the public address mapped to it, if any; PublicDNSName is the DNS name of that
	// address.
	PublicIP      netip.Addr
	PublicDNSName string
	// SecurityGroups are the IDs of its groups.
	SecurityGroups []string
	// Description is its description.
	Description string
	// Attachment is its attachment, or nil.
	Attachment *Attachment
}

// Attachment is the attachment of an interface.
type Attachment struct {
	// ID is the ID of the attachment; generated if empty.
	ID string
	// InstanceID is the instance; "" for an interface of another service.
	InstanceID string
	// DeviceIndex is the index of the interface in the instance, 0 for the primary one.
	DeviceIndex int32
	// DeleteOnTermination deletes the interface with the instance.
	DeleteOnTermination bool
}

// InterfaceRequest holds the parameters of a new interface.
type InterfaceRequest struct {
	// Description is its description.
	Description string
	// SecurityGroups are the IDs of its groups. The default is the VPC's default group.
	SecurityGroups []string
	// PrivateIP is its address. The default is a free one.
	PrivateIP string
	// PublicIP maps a public address for the lifetime of the interface.
	PublicIP bool
	// Attachment, if set, attaches the interface.
	Attachment *Attachment
	// Type is the type: nat_gateway, network_load_balancer … The default is "interface".
	Type types.NetworkInterfaceType
	// RequesterManaged says that the interface belongs to the service RequesterID: users can
	// neither change nor delete it.
	RequesterManaged bool
	RequesterID      string
	// Tags are its tags.
	Tags map[string]string
}

// VPC returns a VPC.
func (s *Service) VPC(account, region, id string) (VPC, bool) {
	r, unlock := s.reading(wire.Target{Account: account, Region: region})
	defer unlock()
	v, ok := r.vpcs.byID[id]
	if !ok {
		return VPC{}, false
	}
	return VPC{
		ID: v.id, Account: account, Region: region, CIDRs: v.ranges(), DNSSupport: v.dnsSupport,
		DNSHostnames: v.dnsHostnames, DefaultSecurityGroup: r.defaultGroup(v).id,
	}, true
}

// Subnet returns a subnet.
func (s *Service) Subnet(account, region, id string) (Subnet, bool) {
	r, unlock := s.reading(wire.Target{Account: account, Region: region})
	defer unlock()
	n, ok := r.subnets.byID[id]
	if !ok {
		return Subnet{}, false
	}
	return r.subnetOf(n), true
}

func (r *region) subnetOf(n *subnet) Subnet {
	return Subnet{
		ID: n.id, VPCID: n.vpc.id, Account: r.Account, Region: r.Region, Zone: n.zone.name, ZoneID: n.zone.id, CIDR: n.cidr,
		VPCRange: n.vpc.rangeOf(n.cidr), MapPublicIP: n.mapPublic, InternetGateway: n.vpc.gateway != nil, Free: n.free(),
	}
}

// Subnets returns the subnets of a VPC, ordered by ID.
func (s *Service) Subnets(account, region, vpcID string) []Subnet {
	r, unlock := s.reading(wire.Target{Account: account, Region: region})
	defer unlock()
	var list []Subnet
	for _, n := range r.subnets.sorted() {
		if n.vpc.id == vpcID {
			list = append(list, r.subnetOf(n))
		}
	}
	return list
}

// SecurityGroup returns a security group.
func (s *Service) SecurityGroup(account, region, id string) (SecurityGroup, bool) {
	r, unlock := s.reading(wire.Target{Account: account, Region: region})
	defer unlock()
	g, ok := r.groups.byID[id]
	if !ok {
		return SecurityGroup{}, false
	}
	return SecurityGroup{ID: g.id, Name: g.name, VPCID: g.vpc.id}, true
}

// DefaultGroup returns the security group of the default VPC with a name. It returns EC2's errors.
func (s *Service) DefaultGroup(account, region, name string) (SecurityGroup, error) {
	r, unlock := s.reading(wire.Target{Account: account, Region: region})
	defer unlock()
	g, err := r.groupNamed(name)
	if err != nil {
		return SecurityGroup{}, err
	}
	return SecurityGroup{ID: g.id, Name: g.name, VPCID: g.vpc.id}, nil
}

// SecurityGroupByName returns the security group of a VPC with a name.
func (s *Service) SecurityGroupByName(account, region, vpcID, name string) (SecurityGroup, bool) {
	r, unlock := s.reading(wire.Target{Account: account, Region: region})
	defer unlock()
	for _, g := range r.groups.byID {
		if g.vpc.id == vpcID && g.name == name {
			return SecurityGroup{ID: g.id, Name: g.name, VPCID: g.vpc.id}, true
		}
	}
	return SecurityGroup{}, false
}

// NewInterface creates a network interface in a subnet. It returns errors with EC2's codes:
// InvalidSubnetID.NotFound, InvalidGroup.NotFound, InvalidIPAddress.InUse,
// InsufficientFreeAddressesInSubnet.
func (s *Service) NewInterface(account, region, subnetID string, q InterfaceRequest) (Interface, error) {
	r, unlock := s.lock(wire.Target{Account: account, Region: region})
	defer unlock()
	i, err := r.newInterface(subnetID, q)
	if err != nil {
		return Interface{}, err
	}
	return i.public(), nil
}

// Interface returns a network interface.
func (s *Service) Interface(account, region, id string) (Interface, bool) {
	r, unlock := s.reading(wire.Target{Account: account, Region: region})
	defer unlock()
	i, ok := r.interfaces.byID[id]
	if !ok {
		return Interface{}, false
	}
	return i.public(), true
}

// Interfaces returns the network interfaces of an instance, the primary one first.
func (s *Service) Interfaces(account, region, instanceID string) []Interface {
	r, unlock := s.reading(wire.Target{Account: account, Region: region})
	defer unlock()
	var list []Interface
	for _, i := range r.attachedTo(instanceID) {
		list = append(list, i.public())
	}
	return list
}

// DescribeInterface returns a network interface in the form of DescribeNetworkInterfaces.
func (s *Service) DescribeInterface(account, region, id string) (types.NetworkInterface, bool) {
	r, unlock := s.reading(wire.Target{Account: account, Region: region})
	defer unlock()
	i, ok := r.interfaces.byID[id]
	if !ok {
		return types.NetworkInterface{}, false
	}
	return r.describeInterface(i), true
}

// DeleteInterface deletes a network interface, attached or not, and the public address mapped to
// it; an elastic address stays with its owner. It returns InvalidNetworkInterfaceID.NotFound if the
// interface does not exist.
func (s *Service) DeleteInterface(account, region, id string) error {
	r, unlock := s.lock(wire.Target{Account: account, Region: region})
	defer unlock()
	i, err := r.interfaces.get(&id)
	if err != nil {
		return err
	}
	r.dropInterface(i)
	return nil
}

// AttachInterface attaches a network interface to an instance, or changes whether it is deleted
// with the instance. It returns an error if the interface is attached to another instance.
func (s *Service) AttachInterface(account, region, id string, to Attachment) (Interface, error) {
	r, unlock := s.lock(wire.Target{Account: account, Region: region})
	defer unlock()
	i, err := r.interfaces.get(&id)
	if err != nil {
		return Interface{}, err
	}
	if err := r.attach(i, to); err != nil {
		return Interface{}, err
	}
	return i.public(), nil
}

// DetachInterface detaches a network interface.
func (s *Service) DetachInterface(account, region, id string) error {
	r, unlock := s.lock(wire.Target{Account: account, Region: region})
	defer unlock()
	i, err := r.interfaces.get(&id)
	if err != nil {
		return err
	}
	i.attachment = nil
	return nil
}

// SetInterface changes the groups, the description and the source/destination check of a network
// interface; nil leaves them. It may return InvalidGroup.NotFound.
func (s *Service) SetInterface(account, region, id string, groups []string, description *string, sourceDestCheck *bool) error {
	r, unlock := s.lock(wire.Target{Account: account, Region: region})
	defer unlock()
	i, err := r.interfaces.get(&id)
	if err != nil {
		return err
	}
	return r.changeInterface(i, groups, description, sourceDestCheck)
}

// Tags returns the tags of all EC2 resources in an account and region. Package ec2 registers its
// IDs there.
func (s *Service) Tags(account, region string) *Tags {
	return s.regions.At(wire.Target{Account: account, Region: region}).tags
}

// SetQuota sets a quota of an account in a region.
func (s *Service) SetQuota(account, region string, q Quota, n int) {
	r, unlock := s.lock(wire.Target{Account: account, Region: region})
	defer unlock()
	r.quotas[q] = n
}

// Quota returns a quota of an account in a region.
func (s *Service) Quota(account, region string, q Quota) int {
	r, unlock := s.lock(wire.Target{Account: account, Region: region})
	defer unlock()
	return r.quotas[q]
}

// public returns a copy of an interface for other services.
func (i *networkInterface) public() Interface {
	c := Interface{
		ID: i.id, SubnetID: i.subnet.id, VPCID: i.subnet.vpc.id, Zone: i.subnet.zone.name, MAC: i.mac, PrivateIP: i.primary,
		PrivateDNSName: i.dnsName(), SecurityGroups: slices.Clone(i.groups), Description: i.description,
	}
	if a := i.mapped(); a.IsValid() {
		c.PublicIP, c.PublicDNSName = a, i.publicName(a)
	}
	if i.attachment != nil {
		a := *i.attachment
		c.Attachment = &a
	}
	return c
}

// Kept returns the number of resources of each kind in an account and region, by the kind's name,
// so that tests can detect leftovers. It does not count what every VPC has.
func (s *Service) Kept(account, region string) map[string]int {
	r, unlock := s.reading(wire.Target{Account: account, Region: region})
	defer unlock()
	kept := map[string]int{
		"vpc": len(r.vpcs.byID), "subnet": len(r.subnets.byID), "internet-gateway": len(r.gateways.byID),
		"egress-only-internet-gateway": len(r.egress.byID), "elastic-ip": len(r.addresses.byID),
		"network-interface": len(r.interfaces.byID), "vpc-endpoint": len(r.endpoints.byID), "dhcp-options": len(r.dhcp.byID),
	}
	for _, t := range r.routeTables.byID {
		if !t.isMain() {
			kept["route-table"]++
		}
	}
	for _, g := range r.groups.byID {
		if g.name != defaultName {
			kept["security-group"]++
		}
	}
	for _, n := range r.nats.byID {
		if !r.inactive(n) {
			kept["natgateway"]++
		}
	}
	maps.DeleteFunc(kept, func(_ string, n int) bool { return n == 0 })
	return kept
}
