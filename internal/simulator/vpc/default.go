package vpc

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
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
