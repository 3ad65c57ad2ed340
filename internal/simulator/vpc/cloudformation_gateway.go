package vpc

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

func makeGateway(r *region, q resource.Request) (resource.Result, error) {
	if err := stackTags(q); err != nil {
		return resource.Result{}, err
	}
	g, err := r.newGateway(nil)
	if err != nil {
		return resource.Result{}, err
	}
	return made(g.id, "InternetGatewayId"), r.setTags(q, g.id)
}

func changeGateway(r *region, q resource.Request) (resource.Result, error) {
	return changeTags(r, q, r.gateways, "InternetGatewayId")
}

func deleteGateway(r *region, q resource.Request) error { return r.removeGateway(&q.PhysicalID) }

func readGateway(r *region, q resource.Request) (map[string]any, error) {
	return readTagged(r, q, r.gateways, func(*gateway) map[string]any { return map[string]any{} })
}

type attachmentProperties struct{ VpcId, InternetGatewayId string } //nolint:revive // the properties' names

// attachmentPrefix is the prefix of the physical ID of an internet gateway's attachment; the VPC
// follows.
const attachmentPrefix = "IGW|"

func attachmentResult(vpcID string) resource.Result {
	return resource.Result{PhysicalID: attachmentPrefix + vpcID, Attributes: map[string]any{"AttachmentType": "IGW"}}
}

func makeAttachment(r *region, q resource.Request) (resource.Result, error) {
	var p attachmentProperties
	if err := decode(q, &p, "VpnGatewayId"); err != nil {
		return resource.Result{}, err
	}
	if err := r.attachGateway(&p.InternetGatewayId, &p.VpcId); err != nil {
		return resource.Result{}, err
	}
	return attachmentResult(p.VpcId), nil
}

// attachmentOf returns the gateway of an attachment.
func (r *region) attachmentOf(id string) (*gateway, error) {
	vpcID := strings.TrimPrefix(id, attachmentPrefix)
	g, ok := r.gateways.first(func(g *gateway) bool { return g.vpc != nil && g.vpc.id == vpcID })
	if !ok {
		return nil, property.Missing("AWS::EC2::VPCGatewayAttachment", id)
	}
	return g, nil
}

// changeAttachment attaches another gateway to a VPC.
func changeAttachment(r *region, q resource.Request) (resource.Result, error) {
	var p attachmentProperties
	if err := decode(q, &p, "VpnGatewayId"); err != nil {
		return resource.Result{}, err
	}
	g, err := r.attachmentOf(q.PhysicalID)
	if err != nil {
		return resource.Result{}, err
	}
	if g.id == p.InternetGatewayId {
		return attachmentResult(p.VpcId), nil
	}
	if _, err := r.gateways.get(&p.InternetGatewayId); err != nil {
		return resource.Result{}, err
	}
	if err := r.detachGateway(&g.id, &p.VpcId); err != nil {
		return resource.Result{}, err
	}
	return attachmentResult(p.VpcId), r.attachGateway(&p.InternetGatewayId, &p.VpcId)
}

func deleteAttachment(r *region, q resource.Request) error {
	g, err := r.attachmentOf(q.PhysicalID)
	if err != nil {
		return err
	}
	return r.detachGateway(&g.id, &g.vpc.id)
}

func readAttachment(r *region, q resource.Request) (map[string]any, error) {
	g, err := r.attachmentOf(q.PhysicalID)
	if err != nil {
		return nil, err
	}
	return map[string]any{"VpcId": g.vpc.id, "InternetGatewayId": g.id}, nil
}

func makeEgress(r *region, q resource.Request) (resource.Result, error) {
	var p inVPC
	if err := decodeNew(q, &p); err != nil {
		return resource.Result{}, err
	}
	g, err := r.newEgress(&p.VpcId, nil)
	if err != nil {
		return resource.Result{}, err
	}
	return made(g.id, "Id"), r.setTags(q, g.id)
}

func changeEgress(r *region, q resource.Request) (resource.Result, error) {
	return changeTags(r, q, r.egress, "Id")
}

func deleteEgress(r *region, q resource.Request) error { return r.removeEgress(&q.PhysicalID) }

func readEgress(r *region, q resource.Request) (map[string]any, error) {
	return readTagged(r, q, r.egress, func(g *egressGateway) map[string]any { return map[string]any{"VpcId": g.vpc.id} })
}

type natProperties struct {
	SubnetId, AllocationId, ConnectivityType, PrivateIpAddress, AvailabilityMode string //nolint:revive // the properties' names
}

// unsupportedNAT are the properties of NAT gateways for several addresses or zones.
var unsupportedNAT = []string{
	"SecondaryAllocationIds",
	"SecondaryPrivateIpAddressCount",
	"SecondaryPrivateIpAddresses",
	"AvailabilityZoneAddresses",
	"VpcId",
}

func natResult(n *nat) resource.Result {
	result := made(n.id, "NatGatewayId")
	if n.networkInterface != nil {
		result.Attributes["EniId"] = n.networkInterface.id
	}
	return result
}

func makeNAT(r *region, q resource.Request) (resource.Result, error) {
	var p natProperties
	if err := decodeNew(q, &p, unsupportedNAT...); err != nil {
		return resource.Result{}, err
	}
	n, err := r.newNAT(&ec2.CreateNatGatewayInput{
		SubnetId: optional(p.SubnetId), AllocationId: optional(p.AllocationId),
		ConnectivityType: types.ConnectivityType(p.ConnectivityType),
		PrivateIpAddress: optional(p.PrivateIpAddress), AvailabilityMode: types.AvailabilityMode(strings.ToLower(p.AvailabilityMode)),
	}, r.service.natTakes)
	if err != nil {
		return resource.Result{}, err
	}
	return natResult(n), r.setTags(q, n.id)
}

// liveNAT returns a gateway that is not deleted.
func (r *region) liveNAT(id string) (*nat, error) {
	n, err := r.nats.get(&id)
	if err == nil && !n.deleted.IsZero() {
		err = noID(id)
	}
	return n, err
}

func changeNAT(r *region, q resource.Request) (resource.Result, error) {
	if err := decode(q, &natProperties{}, unsupportedNAT...); err != nil {
		return resource.Result{}, err
	}
	n, err := r.liveNAT(q.PhysicalID)
	if err != nil {
		return resource.Result{}, err
	}
	return natResult(n), r.setTags(q, n.id)
}

func deleteNAT(r *region, q resource.Request) error {
	if _, err := r.liveNAT(q.PhysicalID); err != nil {
		return err
	}
	return r.removeNAT(&q.PhysicalID, r.service.natTakes)
}

func readNAT(r *region, q resource.Request) (map[string]any, error) {
	n, err := r.liveNAT(q.PhysicalID)
	if err != nil {
		return nil, err
	}
	d := r.describeNAT(n)
	return r.with(map[string]any{
		"SubnetId": n.subnet.id, "AllocationId": value(&n.allocation), "ConnectivityType": string(d.ConnectivityType),
		"PrivateIpAddress": value(d.NatGatewayAddresses[0].PrivateIp),
	}, q, n.id), nil
}

type addressProperties struct {
	Domain, InstanceId, NetworkBorderGroup, PublicIpv4Pool string //nolint:revive // the properties' names
}

func addressResult(a *address) resource.Result {
	ip := a.ip.String()
	return resource.Result{PhysicalID: ip, Attributes: map[string]any{"PublicIp": ip, "AllocationId": a.id}}
}

func decodeAddress(q resource.Request) (p addressProperties, err error) {
	return p, decode(q, &p, "Address", "IpamPoolId", "TransferAddress")
}

func makeAddress(r *region, q resource.Request) (resource.Result, error) {
	p, err := decodeAddress(q)
	if err != nil {
		return resource.Result{}, err
	}
	if err := stackTags(q); err != nil {
		return resource.Result{}, err
	}
	out, err := r.allocateAddress(&ec2.AllocateAddressInput{
		Domain: types.DomainType(p.Domain), NetworkBorderGroup: optional(p.NetworkBorderGroup), PublicIpv4Pool: optional(p.PublicIpv4Pool),
	})
	if err != nil {
		return resource.Result{}, err
	}
	a := r.addresses.byID[*out.AllocationId]
	if p.InstanceId != "" {
		if _, err := r.associateAddress(&ec2.AssociateAddressInput{AllocationId: &a.id, InstanceId: &p.InstanceId}); err != nil {
			_, _ = r.releaseAddress(&ec2.ReleaseAddressInput{AllocationId: &a.id}) // it is not mapped
			return resource.Result{}, err
		}
	}
	return addressResult(a), r.setTags(q, a.id)
}

func changeAddress(r *region, q resource.Request) (resource.Result, error) {
	p, err := decodeAddress(q)
	if err != nil {
		return resource.Result{}, err
	}
	var before addressProperties
	if err := property.Decode(q.Previous, &before); err != nil {
		return resource.Result{}, err
	}
	a, err := r.addressIn(q)
	if err != nil {
		return resource.Result{}, err
	}
	switch {
	case p.InstanceId != "" && p.InstanceId != before.InstanceId:
		_, err = r.associateAddress(&ec2.AssociateAddressInput{AllocationId: &a.id, InstanceId: &p.InstanceId})
	case p.InstanceId == "" && before.InstanceId != "":
		a.unmap()
	}
	if err != nil {
		return resource.Result{}, err
	}
	return addressResult(a), r.setTags(q, a.id)
}

// addressIn returns the address of a request. Its physical ID is the IP address, or the primary identifier: the IP
// address and the allocation ID.
func (r *region) addressIn(q resource.Request) (*address, error) {
	ip, _, _ := strings.Cut(q.PhysicalID, "|")
	return r.addressOf(nil, &ip)
}

// deleteAddress releases an address. If the template itself maps it to an instance, deleteAddress
// unmaps it first.
func deleteAddress(r *region, q resource.Request) error {
	a, err := r.addressIn(q)
	if err != nil {
		return err
	}
	var p addressProperties
	if err := property.Decode(q.Properties, &p); err != nil {
		return err
	}
	if p.InstanceId != "" && a.to != nil && !a.byNAT {
		a.unmap()
	}
	_, err = r.releaseAddress(&ec2.ReleaseAddressInput{AllocationId: &a.id})
	return err
}

func readAddress(r *region, q resource.Request) (map[string]any, error) {
	a, err := r.addressIn(q)
	if err != nil {
		return nil, err
	}
	return r.with(
		map[string]any{
			"AllocationId":       a.id,
			"PublicIp":           a.ip.String(),
			"Domain":             "vpc",
			"InstanceId":         value(r.describeAddress(a).InstanceId),
			"NetworkBorderGroup": r.Region,
			"PublicIpv4Pool":     "amazon",
		},
		q,
		a.id,
	), nil
}

type mappingProperties struct {
	AllocationId, EIP, InstanceId, NetworkInterfaceId, PrivateIpAddress string //nolint:revive // the properties' names
}

func makeMapping(r *region, q resource.Request) (resource.Result, error) {
	var p mappingProperties
	if err := decode(q, &p); err != nil {
		return resource.Result{}, err
	}
	out, err := r.associateAddress(&ec2.AssociateAddressInput{
		AllocationId: optional(p.AllocationId), PublicIp: optional(p.EIP), InstanceId: optional(p.InstanceId),
		NetworkInterfaceId: optional(p.NetworkInterfaceId), PrivateIpAddress: optional(p.PrivateIpAddress),
	})
	if err != nil {
		return resource.Result{}, err
	}
	return made(*out.AssociationId, "Id"), nil
}

func deleteMapping(r *region, q resource.Request) error {
	_, err := r.disassociateAddress(&ec2.DisassociateAddressInput{AssociationId: &q.PhysicalID})
	return err
}

func readMapping(r *region, q resource.Request) (map[string]any, error) {
	a, ok := r.addresses.first(func(a *address) bool { return a.association == q.PhysicalID })
	if !ok {
		return nil, property.Missing("AWS::EC2::EIPAssociation", q.PhysicalID)
	}
	d := r.describeAddress(a)
	return r.with(map[string]any{
		"AllocationId": a.id, "EIP": a.ip.String(), "InstanceId": value(d.InstanceId),
		"NetworkInterfaceId": aws.ToString(d.NetworkInterfaceId),
		"PrivateIpAddress":   aws.ToString(d.PrivateIpAddress),
	}, q, ""), nil
}
