package vpc

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/place"
)

// VPC is what other simulated services see of a VPC.
type VPC struct {
	// ID, Account and Region say which it is.
	ID, Account, Region string
	// CIDRs are its IPv4 ranges, the primary first.
	CIDRs []netip.Prefix
	// DNSSupport and DNSHostnames are its attributes.
	DNSSupport, DNSHostnames bool
	// DefaultSecurityGroup is the group of interfaces that name none.
	DefaultSecurityGroup string
}

// Subnet is what other simulated services see of a subnet.
type Subnet struct {
	// ID, VPCID, Account and Region say which it is.
	ID, VPCID, Account, Region string
	// Zone and ZoneID are its availability zone.
	Zone, ZoneID string
	// CIDR is its IPv4 range, VPCRange that of its VPC it is in.
	CIDR, VPCRange netip.Prefix
	// MapPublicIP says that instances get a public address unless they say otherwise.
	MapPublicIP bool
	// InternetGateway says that one is attached to its VPC.
	InternetGateway bool
	// Free is how many addresses are left.
	Free int
}

// SecurityGroup is what other simulated services see of a security group.
type SecurityGroup struct {
	// ID, Name and VPCID say which it is.
	ID, Name, VPCID string
}

// Interface is what other simulated services see of a network interface: a copy.
type Interface struct {
	// ID, SubnetID, VPCID and Zone say which it is, and where.
	ID, SubnetID, VPCID, Zone string
	// MAC is its address on the link.
	MAC string
	// PrivateIP is its primary address, PrivateDNSName the name of that.
	PrivateIP      netip.Addr
	PrivateDNSName string
	// PublicIP is the public address mapped to it, if there is one, and
	// PublicDNSName the name of that.
	PublicIP      netip.Addr
	PublicDNSName string
	// SecurityGroups are the ids of its groups.
	SecurityGroups []string
	// Description is for people.
	Description string
	// Attachment says what it is attached to; nil if to nothing.
	Attachment *Attachment
}

// Attachment is what an interface is attached to.
type Attachment struct {
	// ID is the attachment's own; made unless given.
	ID string
	// InstanceID is the instance; "" for an interface of another service.
	InstanceID string
	// DeviceIndex is the interface's place in the instance, 0 for the primary.
	DeviceIndex int32
	// DeleteOnTermination says that it goes with the instance.
	DeleteOnTermination bool
}

// InterfaceRequest says what interface to make.
type InterfaceRequest struct {
	// Description is for people.
	Description string
	// SecurityGroups are ids of groups; the VPC's default group if empty.
	SecurityGroups []string
	// PrivateIP asks for an address; a free one unless set.
	PrivateIP string
	// PublicIP maps a public address for as long as the interface exists.
	PublicIP bool
	// Attachment attaches it at once.
	Attachment *Attachment
	// Type is "interface" unless set: nat_gateway, network_load_balancer ….
	Type types.NetworkInterfaceType
	// RequesterManaged says that it belongs to a service, RequesterID to which:
	// users can neither change nor delete it.
	RequesterManaged bool
	RequesterID      string
	// Tags are its tags.
	Tags map[string]string
}

// VPC returns a VPC.
func (s *Service) VPC(account, region, id string) (VPC, bool) {
	r, unlock := s.lock(place.Place{Account: account, Region: region})
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
	r, unlock := s.lock(place.Place{Account: account, Region: region})
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
		VPCRange: n.vpc.rangeOf(n.cidr), MapPublicIP: n.mapPublic, InternetGateway: r.gatewayOf(n.vpc) != nil, Free: n.free(),
	}
}

// Subnets returns the subnets of a VPC, in order of their ids.
func (s *Service) Subnets(account, region, vpcID string) []Subnet {
	r, unlock := s.lock(place.Place{Account: account, Region: region})
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
	r, unlock := s.lock(place.Place{Account: account, Region: region})
	defer unlock()
	g, ok := r.groups.byID[id]
	if !ok {
		return SecurityGroup{}, false
	}
	return SecurityGroup{ID: g.id, Name: g.name, VPCID: g.vpc.id}, true
}

// SecurityGroupByName returns the security group of a VPC with a name.
func (s *Service) SecurityGroupByName(account, region, vpcID, name string) (SecurityGroup, bool) {
	r, unlock := s.lock(place.Place{Account: account, Region: region})
	defer unlock()
	for _, g := range r.groups.byID {
		if g.vpc.id == vpcID && g.name == name {
			return SecurityGroup{ID: g.id, Name: g.name, VPCID: g.vpc.id}, true
		}
	}
	return SecurityGroup{}, false
}

// NewInterface makes a network interface in a subnet. It errs with EC2's codes:
// InvalidSubnetID.NotFound, InvalidGroup.NotFound, InvalidIPAddress.InUse,
// InsufficientFreeAddressesInSubnet.
func (s *Service) NewInterface(account, region, subnetID string, q InterfaceRequest) (Interface, error) {
	r, unlock := s.lock(place.Place{Account: account, Region: region})
	defer unlock()
	i, err := r.newInterface(subnetID, q)
	if err != nil {
		return Interface{}, err
	}
	return i.public(), nil
}

// Interface returns a network interface.
func (s *Service) Interface(account, region, id string) (Interface, bool) {
	r, unlock := s.lock(place.Place{Account: account, Region: region})
	defer unlock()
	i, ok := r.interfaces.byID[id]
	if !ok {
		return Interface{}, false
	}
	return i.public(), true
}

// Interfaces returns the network interfaces of an instance, the primary first.
func (s *Service) Interfaces(account, region, instanceID string) []Interface {
	r, unlock := s.lock(place.Place{Account: account, Region: region})
	defer unlock()
	var list []Interface
	for _, i := range r.attachedTo(instanceID) {
		list = append(list, i.public())
	}
	return list
}

// DescribeInterface returns a network interface as DescribeNetworkInterfaces does.
func (s *Service) DescribeInterface(account, region, id string) (types.NetworkInterface, bool) {
	r, unlock := s.lock(place.Place{Account: account, Region: region})
	defer unlock()
	i, ok := r.interfaces.byID[id]
	if !ok {
		return types.NetworkInterface{}, false
	}
	return r.describeInterface(i), true
}

// DeleteInterface removes a network interface, attached or not, with the public
// address mapped to it; an elastic one stays with its owner. It errs with
// InvalidNetworkInterfaceID.NotFound when there is none.
func (s *Service) DeleteInterface(account, region, id string) error {
	r, unlock := s.lock(place.Place{Account: account, Region: region})
	defer unlock()
	i, err := r.interfaces.get(&id)
	if err != nil {
		return err
	}
	r.dropInterface(i)
	return nil
}

// AttachInterface attaches a network interface to an instance, or says that it
// goes with one. It errs when it is attached to another.
func (s *Service) AttachInterface(account, region, id string, to Attachment) (Interface, error) {
	r, unlock := s.lock(place.Place{Account: account, Region: region})
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

// DetachInterface detaches a network interface from what it is attached to.
func (s *Service) DetachInterface(account, region, id string) error {
	r, unlock := s.lock(place.Place{Account: account, Region: region})
	defer unlock()
	i, err := r.interfaces.get(&id)
	if err != nil {
		return err
	}
	i.attachment = nil
	return nil
}

// SetInterface changes the groups (nil leaves them), the description (nil leaves it)
// and the source/destination check (nil leaves it) of a network interface. It
// errs with InvalidGroup.NotFound.
func (s *Service) SetInterface(account, region, id string, groups []string, description *string, sourceDestCheck *bool) error {
	r, unlock := s.lock(place.Place{Account: account, Region: region})
	defer unlock()
	i, err := r.interfaces.get(&id)
	if err != nil {
		return err
	}
	return r.changeInterface(i, groups, description, sourceDestCheck)
}

// Tags returns the tags of everything that EC2 has in a place. Package ec2
// registers its ids there.
func (s *Service) Tags(account, region string) *Tags {
	return s.regions.At(place.Place{Account: account, Region: region}).tags
}

// SetQuota sets how many of something an account may have in a region, from now
// on.
func (s *Service) SetQuota(account, region string, q Quota, n int) {
	r, unlock := s.lock(place.Place{Account: account, Region: region})
	defer unlock()
	r.quotas[q] = n
}

// public copies an interface.
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

// Kept returns how many of each kind of resource there are in a place, by the
// kind's name, for comparing what is left with what was: what belongs to a VPC
// by itself is not counted.
func (s *Service) Kept(account, region string) map[string]int {
	r, unlock := s.lock(place.Place{Account: account, Region: region})
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
		if !r.gone(n) {
			kept["natgateway"]++
		}
	}
	maps.DeleteFunc(kept, func(_ string, n int) bool { return n == 0 })
	return kept
}
