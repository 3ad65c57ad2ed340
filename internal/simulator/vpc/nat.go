package vpc

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// nat is a NAT gateway. Its state depends on the time.
// https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html
type nat struct {
	named

	subnet               *subnet
	public               bool
	networkInterface     *networkInterface
	allocation           string
	created, ready       time.Time
	deleted, deletionEnd time.Time // when deletion begins and ends
	failure, reason      string
}

// keptFor is how long a deleted NAT gateway can still be described.
const keptFor = time.Hour

func (r *region) natState(n *nat) types.NatGatewayState {
	now := r.now()
	switch {
	case n.failure != "":
		return types.NatGatewayStateFailed
	case !n.deleted.IsZero() && now.Before(n.deletionEnd):
		return types.NatGatewayStateDeleting
	case !n.deleted.IsZero():
		return types.NatGatewayStateDeleted
	case now.Before(n.ready):
		return types.NatGatewayStatePending
	default:
		return types.NatGatewayStateAvailable
	}
}

// inactive reports whether a NAT gateway has failed or is deleted.
func (r *region) inactive(n *nat) bool { return n.failure != "" || !n.deleted.IsZero() }

// forget forgets NAT gateways that were deleted long ago.
func (r *region) forget() {
	for _, n := range r.nats.byID {
		end := n.deletionEnd
		if n.failure != "" {
			end = n.created
		}
		if !end.IsZero() && r.now().Sub(end) >= keptFor {
			drop(r, r.nats, n)
		}
	}
}

// newNAT creates a NAT gateway. As in AWS, one whose VPC has no internet gateway, or whose address
// is in use, is created and then fails:
// https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-troubleshooting.html
func (r *region) newNAT(in *ec2.CreateNatGatewayInput, takes time.Duration) (*nat, error) {
	if err := supportedNAT(in); err != nil {
		return nil, err
	}
	subnet, err := r.subnets.get(in.SubnetId)
	if err != nil {
		return nil, err
	}
	tags, err := TagsFor(in.TagSpecifications, types.ResourceTypeNatgateway)
	if err != nil {
		return nil, err
	}
	public := in.ConnectivityType != types.ConnectivityTypePrivate
	var mapped *address
	switch {
	case public && in.AllocationId == nil:
		return nil, missing("AllocationId")
	case !public && in.AllocationId != nil:
		return nil, wire.Errorf("InvalidParameterCombination", "AllocationId cannot be given for a private NAT gateway")
	case public:
		if mapped, err = r.addresses.get(in.AllocationId); err != nil {
			return nil, err
		}
	}
	inZone := r.nats.count(func(n *nat) bool { return n.subnet.zone == subnet.zone && !r.inactive(n) })
	err = r.within(
		NATGateways,
		inZone,
		"NatGatewayLimitExceeded",
		"Performing this operation would exceed the limit of "+decimal(r.quotas[NATGateways])+" NAT gateways",
	)
	if err != nil {
		return nil, err
	}
	n := &nat{subnet: subnet, public: public, allocation: aws.ToString(in.AllocationId), created: r.now()}
	n.ready = n.created.Add(takes)
	if err := r.wireNAT(n, mapped, aws.ToString(in.PrivateIpAddress)); err != nil {
		return nil, err
	}
	n.named = r.newID("nat", types.ResourceTypeNatgateway, tags[types.ResourceTypeNatgateway])
	if n.networkInterface != nil {
		n.networkInterface.description = "Interface for NAT Gateway " + n.id
	}
	r.nats.byID[n.id] = n
	if takes > 0 {
		r.service.env.Clock.AfterFunc(takes, r.service.notify)
	}
	return n, nil
}

func supportedNAT(in *ec2.CreateNatGatewayInput) error {
	switch {
	case in.AvailabilityMode == types.AvailabilityModeRegional || len(in.AvailabilityZoneAddresses) > 0:
		return unsupported("availabilityMode")
	case len(in.SecondaryAllocationIds) > 0:
		return unsupported("secondaryAllocationIds")
	case in.SecondaryPrivateIpAddressCount != nil || len(in.SecondaryPrivateIpAddresses) > 0:
		return unsupported("secondaryPrivateIpAddresses")
	default:
		return nil
	}
}

// wireNAT creates a NAT gateway's interface and maps its address.
func (r *region) wireNAT(n *nat, mapped *address, privateIP string) error {
	if n.public {
		switch {
		case n.subnet.vpc.gateway == nil:
			n.failure, n.reason = "Gateway.NotAttached", "Network "+n.subnet.vpc.id+" has no Internet gateway attached"
			return nil
		case mapped.to != nil:
			n.failure, n.reason = "Resource.AlreadyAssociated", "Elastic IP address ["+mapped.id+"] is already associated"
			return nil
		}
	}
	i, err := r.newInterface(n.subnet.id, InterfaceRequest{
		PrivateIP: privateIP, Type: types.NetworkInterfaceTypeNatGateway, RequesterManaged: true, RequesterID: r.Account,
		Attachment: &Attachment{},
	})
	if err != nil {
		return err
	}
	i.sourceDestCheck = false
	n.networkInterface = i
	if mapped != nil {
		mapped.mapTo(i)
		mapped.byNAT = true
	}
	return nil
}

func (r *region) createNatGateway(in *ec2.CreateNatGatewayInput) (*ec2.CreateNatGatewayOutput, error) {
	n, err := r.newNAT(in, r.service.natTakes)
	if err != nil {
		return nil, err
	}
	d := r.describeNAT(n)
	return &ec2.CreateNatGatewayOutput{NatGateway: &d, ClientToken: in.ClientToken}, nil
}

// removeNAT deletes a NAT gateway, which takes some time. It releases the gateway's address and
// interface at once.
func (r *region) removeNAT(id *string, takes time.Duration) error {
	n, err := r.nats.get(id)
	if err != nil {
		return err
	}
	if !n.deleted.IsZero() {
		return nil
	}
	n.deleted = r.now()
	n.deletionEnd = n.deleted.Add(takes)
	n.failure = ""
	if n.networkInterface != nil {
		r.dropInterface(n.networkInterface)
	}
	return nil
}

func (r *region) deleteNatGateway(in *ec2.DeleteNatGatewayInput) (*ec2.DeleteNatGatewayOutput, error) {
	return &ec2.DeleteNatGatewayOutput{NatGatewayId: in.NatGatewayId}, r.removeNAT(in.NatGatewayId, r.service.natTakes)
}

func (r *region) describeNAT(n *nat) types.NatGateway {
	d := types.NatGateway{
		NatGatewayId: aws.String(n.id), SubnetId: aws.String(n.subnet.id), VpcId: aws.String(n.subnet.vpc.id), State: r.natState(n),
		CreateTime: aws.Time(n.created), ConnectivityType: types.ConnectivityTypePublic, Tags: r.tags.List(n.id),
		FailureCode: wire.Optional(n.failure), FailureMessage: wire.Optional(n.reason), NatGatewayAddresses: []types.NatGatewayAddress{},
	}
	if !n.public {
		d.ConnectivityType = types.ConnectivityTypePrivate
	}
	if !n.deleted.IsZero() {
		d.DeleteTime = aws.Time(n.deleted)
	}
	a := types.NatGatewayAddress{
		AllocationId: wire.Optional(n.allocation),
		IsPrimary:    aws.Bool(true),
		Status:       types.NatGatewayAddressStatusSucceeded,
	}
	if i := n.networkInterface; i != nil {
		a.NetworkInterfaceId, a.PrivateIp = aws.String(i.id), aws.String(i.primary.String())
		if m := i.mapped(); m.IsValid() {
			a.PublicIp, a.AssociationId = aws.String(m.String()), wire.Optional(i.elastic.association)
		}
	}
	d.NatGatewayAddresses = append(d.NatGatewayAddresses, a)
	return d
}

func (r *region) describeNatGateways(in *ec2.DescribeNatGatewaysInput) (*ec2.DescribeNatGatewaysOutput, error) {
	r.forget()
	fields := Fields[*nat]{
		"nat-gateway-id": func(n *nat) []string { return text(n.id) },
		"state":          func(n *nat) []string { return text(string(r.natState(n))) },
		"subnet-id":      func(n *nat) []string { return text(n.subnet.id) },
		"vpc-id":         func(n *nat) []string { return text(n.subnet.vpc.id) },
	}
	list, next, err := describe(r, r.nats, wanted{in.NatGatewayIds, in.Filter, in.MaxResults, in.NextToken}, fields, r.describeNAT)
	return &ec2.DescribeNatGatewaysOutput{NatGateways: list, NextToken: next}, err
}
