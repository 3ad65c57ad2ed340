package vpc

import (
	"fmt"
	"math/rand/v2"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// WithDefaultVPC creates the default VPC that AWS creates in each region of an account:
// 172.31.0.0/16 with a public subnet in each zone. It counts toward quotas.
// https://docs.aws.amazon.com/vpc/latest/userguide/default-vpc-components.html
func WithDefaultVPC() Option { return func(s *Service) { s.defaults = true } }

// addDefaultVPC creates the default VPC of an empty region.
func (r *region) addDefaultVPC() error {
	v, err := r.newVPC(&ec2.CreateVpcInput{CidrBlock: aws.String("172.31.0.0/16")})
	if err != nil {
		return err
	}
	v.isDefault, v.dnsHostnames = true, true
	g, err := r.newGateway(nil)
	if err != nil {
		return err
	}
	if err := r.attachGateway(&g.id, &v.id); err != nil {
		return err
	}
	if _, _, err := r.addRoute(&ec2.CreateRouteInput{
		RouteTableId: &v.tables[0].id, DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: &g.id,
	}); err != nil {
		return err
	}
	for i, zone := range zonesOf(r.Region) {
		n, err := r.newSubnet(&ec2.CreateSubnetInput{
			VpcId: &v.id, CidrBlock: aws.String(fmt.Sprintf("172.31.%d.0/20", 16*i)), AvailabilityZone: aws.String(zone.name),
		})
		if err != nil {
			return err
		}
		n.isDefault, n.mapPublic = true, true
	}
	return nil
}

// defaultVPC returns the default VPC of a region.
func (r *region) defaultVPC() (*vpc, error) {
	for _, v := range r.vpcs.byID {
		if v.isDefault {
			return v, nil
		}
	}
	return nil, wire.Errorf("VPCIdNotSpecified", "No default VPC for this user. GroupName is only supported for EC2-Classic and default VPC.")
}

// DefaultSubnet returns the default subnet of a zone, or of any zone if it is empty, in which EC2
// launches instances whose request names no subnet. Without one, it returns the errors of RunInstances:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RunInstances.html
// https://github.com/terraform-aws-modules/terraform-aws-ec2-instance/issues/50
func (s *Service) DefaultSubnet(account, region, zone string) (Subnet, error) {
	r, unlock := s.reading(wire.Target{Account: account, Region: region})
	defer unlock()
	v, err := r.defaultVPC()
	if err != nil {
		return Subnet{}, err
	}
	var found []*subnet
	for _, n := range r.subnets.sorted() {
		if n.vpc == v && n.isDefault && (zone == "" || n.zone.name == zone) {
			found = append(found, n)
		}
	}
	switch {
	case len(found) > 0:
		return r.subnetOf(found[rand.IntN(len(found))]), nil //nolint:gosec // EC2 chooses the zone
	case zone != "":
		return Subnet{}, wire.Errorf("InvalidInput", "No default subnet for availability zone: '%s'.", zone)
	default:
		return Subnet{}, wire.Errorf("MissingInput", "No subnets found for the default VPC '%s'. Please specify a subnet.", v.id)
	}
}
