package vpc

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// gateway is an internet gateway. It may be attached to a VPC.
type gateway struct {
	named

	vpc *vpc
}

// egressGateway is an egress-only internet gateway.
type egressGateway struct {
	named

	vpc *vpc
}

func (r *region) newGateway(tags map[string]string) (*gateway, error) {
	err := r.within(
		InternetGateways, len(r.gateways.byID), "InternetGatewayLimitExceeded", "The maximum number of internet gateways has been reached.",
	)
	if err != nil {
		return nil, err
	}
	g := &gateway{named: r.newID("igw", types.ResourceTypeInternetGateway, tags)}
	r.gateways.byID[g.id] = g
	return g, nil
}

func (r *region) createInternetGateway(in *ec2.CreateInternetGatewayInput) (*ec2.CreateInternetGatewayOutput, error) {
	tags, err := TagsFor(in.TagSpecifications, types.ResourceTypeInternetGateway)
	if err != nil {
		return nil, err
	}
	g, err := r.newGateway(tags[types.ResourceTypeInternetGateway])
	if err != nil {
		return nil, err
	}
	d := r.describeGateway(g)
	return &ec2.CreateInternetGatewayOutput{InternetGateway: &d}, nil
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteInternetGateway.html
func (r *region) removeGateway(id *string) error {
	g, err := r.gateways.get(id)
	if err != nil {
		return err
	}
	if g.vpc != nil {
		return depends("internetGateway", g.id)
	}
	drop(r, r.gateways, g)
	return nil
}

func (r *region) deleteInternetGateway(in *ec2.DeleteInternetGatewayInput) (*ec2.DeleteInternetGatewayOutput, error) {
	return &ec2.DeleteInternetGatewayOutput{}, r.removeGateway(in.InternetGatewayId)
}

func (r *region) attachGateway(id, vpcID *string) error {
	g, err := r.gateways.get(id)
	if err != nil {
		return err
	}
	v, err := r.vpcs.get(vpcID)
	if err != nil {
		return err
	}
	if g.vpc != nil {
		return wire.Errorf("Resource.AlreadyAssociated", "resource %s is already attached to network %s", g.id, g.vpc.id)
	}
	if v.gateway != nil {
		return wire.Errorf("InvalidParameterValue", "Network %s already has an internet gateway attached", v.id)
	}
	g.vpc, v.gateway = v, g
	return nil
}

// detachGateway detaches a gateway from a VPC without mapped public addresses.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DetachInternetGateway.html
func (r *region) detachGateway(id, vpcID *string) error {
	g, err := r.gateways.get(id)
	if err != nil {
		return err
	}
	if g.vpc == nil || g.vpc.id != aws.ToString(vpcID) {
		return wire.Errorf("Gateway.NotAttached", "resource %s is not attached to network %s", g.id, aws.ToString(vpcID))
	}
	if r.interfaces.has(func(i *networkInterface) bool { return i.subnet.vpc == g.vpc && i.mapped().IsValid() }) {
		return wire.Errorf(
			"DependencyViolation",
			"Network %s has some mapped public address(es). Please unmap those public address(es) before detaching the gateway.",
			g.vpc.id,
		)
	}
	g.vpc.gateway, g.vpc = nil, nil
	return nil
}

func (r *region) attachInternetGateway(in *ec2.AttachInternetGatewayInput) (*ec2.AttachInternetGatewayOutput, error) {
	return &ec2.AttachInternetGatewayOutput{}, r.attachGateway(in.InternetGatewayId, in.VpcId)
}

func (r *region) detachInternetGateway(in *ec2.DetachInternetGatewayInput) (*ec2.DetachInternetGatewayOutput, error) {
	return &ec2.DetachInternetGatewayOutput{}, r.detachGateway(in.InternetGatewayId, in.VpcId)
}

func attachedVPC(v *vpc) []types.InternetGatewayAttachment {
	if v == nil {
		return []types.InternetGatewayAttachment{}
	}
	// EC2 returns "available", which the SDK's enumeration lacks:
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InternetGatewayAttachment.html
	return []types.InternetGatewayAttachment{{VpcId: aws.String(v.id), State: "available"}}
}

func (r *region) describeGateway(g *gateway) types.InternetGateway {
	return types.InternetGateway{
		InternetGatewayId: aws.String(g.id), OwnerId: aws.String(r.Account), Attachments: attachedVPC(g.vpc), Tags: r.tags.List(g.id),
	}
}

func (r *region) describeInternetGateways(in *ec2.DescribeInternetGatewaysInput) (*ec2.DescribeInternetGatewaysOutput, error) {
	fields := Fields[*gateway]{
		"internet-gateway-id": func(g *gateway) []string { return text(g.id) },
		"owner-id":            func(*gateway) []string { return text(r.Account) },
		"attachment.vpc-id": func(g *gateway) []string {
			if g.vpc == nil {
				return nil
			}
			return text(g.vpc.id)
		},
		"attachment.state": func(g *gateway) []string {
			if g.vpc == nil {
				return nil
			}
			return text("available")
		},
	}
	list, next, err := describe(
		r, r.gateways, wanted{in.InternetGatewayIds, in.Filters, in.MaxResults, in.NextToken}, fields, r.describeGateway,
	)
	return &ec2.DescribeInternetGatewaysOutput{InternetGateways: list, NextToken: next}, err
}

func (r *region) newEgress(vpcID *string, tags map[string]string) (*egressGateway, error) {
	v, err := r.vpcs.get(vpcID)
	if err != nil {
		return nil, err
	}
	g := &egressGateway{named: r.newID("eigw", types.ResourceTypeEgressOnlyInternetGateway, tags), vpc: v}
	r.egress.byID[g.id] = g
	return g, nil
}

func (r *region) removeEgress(id *string) error {
	g, err := r.egress.get(id)
	if err != nil {
		return err
	}
	drop(r, r.egress, g)
	return nil
}

func (r *region) describeEgress(g *egressGateway) types.EgressOnlyInternetGateway {
	a := attachedVPC(g.vpc)
	a[0].State = types.AttachmentStatusAttached
	return types.EgressOnlyInternetGateway{EgressOnlyInternetGatewayId: aws.String(g.id), Attachments: a, Tags: r.tags.List(g.id)}
}

func (r *region) createEgressOnlyInternetGateway(
	in *ec2.CreateEgressOnlyInternetGatewayInput,
) (*ec2.CreateEgressOnlyInternetGatewayOutput, error) {
	tags, err := TagsFor(in.TagSpecifications, types.ResourceTypeEgressOnlyInternetGateway)
	if err != nil {
		return nil, err
	}
	g, err := r.newEgress(in.VpcId, tags[types.ResourceTypeEgressOnlyInternetGateway])
	if err != nil {
		return nil, err
	}
	d := r.describeEgress(g)
	return &ec2.CreateEgressOnlyInternetGatewayOutput{EgressOnlyInternetGateway: &d, ClientToken: in.ClientToken}, nil
}

func (r *region) deleteEgressOnlyInternetGateway(
	in *ec2.DeleteEgressOnlyInternetGatewayInput,
) (*ec2.DeleteEgressOnlyInternetGatewayOutput, error) {
	return &ec2.DeleteEgressOnlyInternetGatewayOutput{ReturnCode: yes()}, r.removeEgress(in.EgressOnlyInternetGatewayId)
}

func (r *region) describeEgressOnlyInternetGateways(
	in *ec2.DescribeEgressOnlyInternetGatewaysInput,
) (*ec2.DescribeEgressOnlyInternetGatewaysOutput, error) {
	w := wanted{in.EgressOnlyInternetGatewayIds, in.Filters, in.MaxResults, in.NextToken}
	list, next, err := describe(r, r.egress, w, Fields[*egressGateway]{}, r.describeEgress)
	return &ec2.DescribeEgressOnlyInternetGatewaysOutput{EgressOnlyInternetGateways: list, NextToken: next}, err
}
