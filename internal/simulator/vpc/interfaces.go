package vpc

import (
	"crypto/rand"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// networkInterface is an elastic network interface.
type networkInterface struct {
	named

	region          *region
	subnet          *subnet
	mac             string
	primary         netip.Addr
	secondary       []netip.Addr
	groups          []string
	description     string
	kind            types.NetworkInterfaceType
	managed         bool
	requester       string
	sourceDestCheck bool
	attachment      *Attachment
	attached        time.Time
	elastic         *address   // mapped to it
	auto            netip.Addr // a public address that lives as long as the interface
}

// mapped returns the public address of an interface; invalid if it has none.
func (i *networkInterface) mapped() netip.Addr {
	if i.elastic != nil {
		return i.elastic.ip
	}
	return i.auto
}

// dnsName returns the DNS name of the private address.
// https://docs.aws.amazon.com/vpc/latest/userguide/vpc-dns.html
func (i *networkInterface) dnsName() string {
	suffix := i.region.Region + ".compute.internal"
	if i.region.Region == "us-east-1" {
		suffix = "ec2.internal"
	}
	return "ip-" + dashed(i.primary) + "." + suffix
}

// publicName returns the DNS name of a public address, or "" if the VPC assigns none.
func (i *networkInterface) publicName(a netip.Addr) string {
	if !i.subnet.vpc.dnsHostnames {
		return ""
	}
	return publicName(i.region.Region, a)
}

func publicName(region string, a netip.Addr) string {
	if region == "us-east-1" {
		return "ec2-" + dashed(a) + ".compute-1.amazonaws.com"
	}
	return "ec2-" + dashed(a) + "." + region + ".compute.amazonaws.com"
}

func dashed(a netip.Addr) string { return strings.ReplaceAll(a.String(), ".", "-") }

func randomMAC() string {
	b := make([]byte, 5)
	_, _ = rand.Read(b) // never fails, see crypto/rand
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4])
}

// groupsIn validates that the groups belong to a VPC.
func (r *region) groupsIn(v *vpc, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return []string{r.defaultGroup(v).id}, nil
	}
	if len(ids) > 5 {
		return nil, wire.Errorf(
			"SecurityGroupsPerInterfaceLimitExceeded", "The maximum number of security groups per interface has been reached.",
		)
	}
	for _, id := range ids {
		g, err := r.groups.get(&id)
		if err != nil {
			return nil, err
		}
		if g.vpc != v {
			return nil, wire.Errorf("InvalidParameter", "Security group %s and network %s belong to different networks.", id, v.id)
		}
	}
	return slices.Compact(slices.Clone(ids)), nil
}

// newInterface creates an interface. It validates everything first.
func (r *region) newInterface(subnetID string, q InterfaceRequest) (*networkInterface, error) {
	n, err := r.subnets.get(&subnetID)
	if err != nil {
		return nil, err
	}
	var groups []string
	if hasGroups(q.Type, q.SecurityGroups) {
		if groups, err = r.groupsIn(n.vpc, q.SecurityGroups); err != nil {
			return nil, err
		}
	}
	if err := CheckTags(q.Tags, true); err != nil {
		return nil, err
	}
	ip, err := n.take(q.PrivateIP)
	if err != nil {
		return nil, err
	}
	i := &networkInterface{
		region: r, subnet: n, mac: randomMAC(), primary: ip, groups: groups, description: q.Description, kind: q.Type,
		managed: q.RequesterManaged, requester: q.RequesterID, sourceDestCheck: true,
	}
	if i.kind == "" {
		i.kind = types.NetworkInterfaceTypeInterface
	}
	if q.PublicIP {
		if i.auto, err = r.service.publics.take(); err != nil {
			delete(n.taken, ip)
			return nil, err
		}
	}
	i.named = r.newID("eni", types.ResourceTypeNetworkInterface, q.Tags)
	r.interfaces.byID[i.id] = i
	if q.Attachment != nil {
		return i, r.attach(i, *q.Attachment)
	}
	return i, nil
}

func (r *region) attach(i *networkInterface, to Attachment) error {
	if i.attachment != nil && i.attachment.InstanceID != to.InstanceID {
		return wire.Errorf("InvalidNetworkInterface.InUse", "Interface: [%s] in use.", i.id)
	}
	if to.ID == "" && i.attachment != nil {
		to.ID = i.attachment.ID
	}
	if to.ID == "" {
		to.ID = NewID("eni-attach")
	}
	if i.attachment == nil {
		i.attached = r.now()
	}
	i.attachment = &to
	return nil
}

// dropInterface deletes an interface and unmaps its public address.
func (r *region) dropInterface(i *networkInterface) {
	if i.elastic != nil {
		i.elastic.unmap()
	}
	if i.auto.IsValid() {
		r.service.publics.release(i.auto)
	}
	i.release(i.secondary)
	delete(i.subnet.taken, i.primary)
	drop(r, r.interfaces, i)
}

// release returns addresses to the interface's subnet.
func (i *networkInterface) release(addresses []netip.Addr) {
	for _, a := range addresses {
		delete(i.subnet.taken, a)
	}
}

func (r *region) changeInterface(i *networkInterface, groups []string, description *string, sourceDestCheck *bool) error {
	if groups != nil {
		checked, err := r.groupsIn(i.subnet.vpc, groups)
		if err != nil {
			return err
		}
		i.groups = checked
	}
	if description != nil {
		i.description = *description
	}
	if sourceDestCheck != nil {
		i.sourceDestCheck = *sourceDestCheck
	}
	return nil
}

// attachedTo returns the interfaces of an instance, the primary one first.
func (r *region) attachedTo(instanceID string) []*networkInterface {
	var list []*networkInterface
	for _, i := range r.interfaces.byID {
		if i.attachment != nil && i.attachment.InstanceID == instanceID {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b *networkInterface) int {
		return int(a.attachment.DeviceIndex) - int(b.attachment.DeviceIndex)
	})
	return list
}

// primaryOf returns the primary interface of an instance.
func (r *region) primaryOf(instanceID string) (*networkInterface, error) {
	list := r.attachedTo(instanceID)
	if len(list) == 0 {
		return nil, noID(instanceID)
	}
	return list[0], nil
}

func (i *networkInterface) status() types.NetworkInterfaceStatus {
	if i.attachment != nil {
		return types.NetworkInterfaceStatusInUse
	}
	return types.NetworkInterfaceStatusAvailable
}

func (r *region) describeInterface(i *networkInterface) types.NetworkInterface {
	d := types.NetworkInterface{
		NetworkInterfaceId: aws.String(i.id), SubnetId: aws.String(i.subnet.id), VpcId: aws.String(i.subnet.vpc.id),
		AvailabilityZone: aws.String(i.subnet.zone.name), AvailabilityZoneId: aws.String(i.subnet.zone.id),
		Description: aws.String(i.description),
		MacAddress:  aws.String(i.mac), OwnerId: aws.String(r.Account), PrivateIpAddress: aws.String(i.primary.String()),
		PrivateDnsName: aws.String(i.dnsName()), InterfaceType: i.kind, RequesterManaged: aws.Bool(i.managed),
		RequesterId:     wire.Optional(i.requester),
		SourceDestCheck: aws.Bool(i.sourceDestCheck), Status: i.status(), TagSet: r.tags.List(i.id), Groups: r.groupIDs(i.groups),
		Association: i.association(),
		PrivateIpAddresses: []types.NetworkInterfacePrivateIpAddress{{
			Primary: aws.Bool(true), PrivateIpAddress: aws.String(i.primary.String()), PrivateDnsName: aws.String(i.dnsName()),
			Association: i.association(),
		}},
	}
	for _, a := range i.secondary {
		d.PrivateIpAddresses = append(
			d.PrivateIpAddresses,
			types.NetworkInterfacePrivateIpAddress{Primary: aws.Bool(false), PrivateIpAddress: aws.String(a.String())},
		)
	}
	if a := i.attachment; a != nil {
		d.Attachment = &types.NetworkInterfaceAttachment{
			AttachmentId: aws.String(a.ID), AttachTime: aws.Time(i.attached), DeleteOnTermination: aws.Bool(a.DeleteOnTermination),
			DeviceIndex: aws.Int32(a.DeviceIndex), InstanceId: wire.Optional(a.InstanceID), Status: types.AttachmentStatusAttached,
			InstanceOwnerId: aws.String(r.Account), NetworkCardIndex: aws.Int32(0),
		}
		if a.InstanceID == "" {
			d.Attachment.InstanceOwnerId = aws.String("amazon-aws")
		}
	}
	return d
}

func (i *networkInterface) association() *types.NetworkInterfaceAssociation {
	ip := i.mapped()
	if !ip.IsValid() {
		return nil
	}
	a := &types.NetworkInterfaceAssociation{
		IpOwnerId:     aws.String("amazon"),
		PublicIp:      aws.String(ip.String()),
		PublicDnsName: aws.String(i.publicName(ip)),
	}
	if i.elastic != nil {
		a.AllocationId, a.AssociationId, a.IpOwnerId = aws.String(i.elastic.id), aws.String(i.elastic.association), aws.String(
			i.region.Account,
		)
	}
	return a
}

func (r *region) groupIDs(ids []string) []types.GroupIdentifier {
	list := make([]types.GroupIdentifier, 0, len(ids))
	for _, id := range ids {
		if g, ok := r.groups.byID[id]; ok {
			list = append(list, types.GroupIdentifier{GroupId: aws.String(g.id), GroupName: aws.String(g.name)})
		}
	}
	return list
}
