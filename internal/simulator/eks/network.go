package eks

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// setVPC sets the network of a cluster.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_VpcConfigRequest.html
func (s *Service) setVPC(c *cluster, in *eks.CreateClusterInput) error {
	given := in.ResourcesVpcConfig
	if given == nil {
		given = &types.VpcConfigRequest{}
	}
	vpcID, err := s.checkSubnets(c, given.SubnetIds, true)
	if err != nil {
		return err
	}
	if err := s.checkGroups(c, given.SecurityGroupIds, vpcID); err != nil {
		return err
	}
	config := types.VpcConfigResponse{
		SubnetIds: given.SubnetIds, SecurityGroupIds: given.SecurityGroupIds, VpcId: &vpcID, EndpointPublicAccess: true,
	}
	if config.SecurityGroupIds == nil {
		config.SecurityGroupIds = []string{}
	}
	if err := setEndpoint(*c.Name, &config, given); err != nil {
		return err
	}
	c.ResourcesVpcConfig = &config
	return nil
}

// checkSubnets returns the VPC of subnets, or an error if a cluster cannot use them.
// https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html#network-requirements-subnets
func (s *Service) checkSubnets(c *cluster, ids []string, ofCluster bool) (vpcID string, err error) {
	name := *c.Name
	if len(ids) == 0 {
		return "", invalidParameter(name, "Subnets are required: subnetIds has no subnet.")
	}
	var zones []string
	for _, id := range ids {
		subnet, ok := s.options.Networks.Subnet(c.at.Account, c.at.Region, id)
		switch {
		case !ok:
			return "", invalidParameter(name, "The subnet ID '%s' does not exist (Service: AmazonEC2; Status Code: 400; "+
				"Error Code: InvalidSubnetID.NotFound)", id)
		case vpcID != "" && subnet.VPCID != vpcID:
			return "", invalidParameter(name, "Subnets specified must be in the same VPC: %s is in %s, not in %s", id, subnet.VPCID, vpcID)
		case ofCluster && subnet.Free < 6: //nolint:mnd // of the page
			return "", invalidParameter(name, "Subnet %s does not have enough free addresses", id)
		}
		vpcID = subnet.VPCID
		if !slices.Contains(zones, subnet.Zone) {
			zones = append(zones, subnet.Zone)
		}
	}
	if ofCluster && len(zones) < 2 { //nolint:mnd // of the page
		return "", invalidParameter(name, "Subnets specified must be in at least two different AZs")
	}
	return vpcID, nil
}

func (s *Service) checkGroups(c *cluster, ids []string, vpcID string) error {
	var elsewhere []string
	for _, id := range ids {
		group, ok := s.options.Networks.SecurityGroup(c.at.Account, c.at.Region, id)
		if !ok {
			return invalidParameter(*c.Name, "The security group '%s' does not exist (Service: AmazonEC2; Status Code: 400; "+
				"Error Code: InvalidGroup.NotFound)", id)
		}
		if group.VPCID != vpcID {
			elsewhere = append(elsewhere, id)
		}
	}
	if elsewhere != nil {
		return invalidParameter(*c.Name, "Security group(s) [%s] are not in the same VPC as the subnets. Please specify a security group "+
			"that is associated with the VPC: %s.", strings.Join(elsewhere, ", "), vpcID)
	}
	return nil
}

// setEndpoint applies the access to the endpoint. What a request does not name stays.
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
func setEndpoint(cluster string, config *types.VpcConfigResponse, given *types.VpcConfigRequest) error {
	config.EndpointPublicAccess = *or(given.EndpointPublicAccess, config.EndpointPublicAccess)
	config.EndpointPrivateAccess = *or(given.EndpointPrivateAccess, config.EndpointPrivateAccess)
	if given.PublicAccessCidrs != nil {
		config.PublicAccessCidrs = given.PublicAccessCidrs
	}
	switch {
	case !config.EndpointPublicAccess && !config.EndpointPrivateAccess:
		return invalidParameter(cluster, "Private and public endpoint access cannot be false")
	case !config.EndpointPublicAccess && len(given.PublicAccessCidrs) > 0:
		return invalidParameter(cluster, "publicAccessCidrs cannot be set if endpointPublicAccess is false")
	case !config.EndpointPublicAccess:
		config.PublicAccessCidrs = []string{}
	case len(config.PublicAccessCidrs) == 0:
		config.PublicAccessCidrs = []string{"0.0.0.0/0"}
	}
	var refused []string
	for _, cidr := range config.PublicAccessCidrs {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil || prefix != prefix.Masked() || prefix.Addr().IsPrivate() {
			refused = append(refused, cidr)
		}
	}
	if refused != nil {
		return invalidParameter(cluster, "The following CIDRs are not allowed in publicAccessCidrs: [%s]", strings.Join(refused, ", "))
	}
	return nil
}

// setNetwork sets the range of services.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html
func (s *Service) setNetwork(c *cluster, in *eks.CreateClusterInput) error {
	network, _ := s.options.Networks.VPC(c.at.Account, c.at.Region, *c.ResourcesVpcConfig.VpcId)
	overlaps := func(prefix netip.Prefix) bool { return slices.ContainsFunc(network.CIDRs, prefix.Overlaps) }
	cidr := "10.100.0.0/16"
	if slices.ContainsFunc(network.CIDRs, netip.MustParsePrefix("10.0.0.0/8").Overlaps) {
		cidr = "172.20.0.0/16"
	}
	if n := in.KubernetesNetworkConfig; n != nil && n.ServiceIpv4Cidr != nil {
		cidr = *n.ServiceIpv4Cidr
		prefix, err := netip.ParsePrefix(cidr)
		switch {
		case err != nil, prefix != prefix.Masked(), !prefix.Addr().IsPrivate(), prefix.Bits() < 12, prefix.Bits() > 24:
			return invalidParameter(*c.Name, "serviceIpv4Cidr %q is not valid: it is a block of 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16 "+
				"between /24 and /12", cidr)
		case overlaps(prefix):
			return invalidParameter(*c.Name, "serviceIpv4Cidr %s overlaps with a CIDR block of VPC %s", cidr, network.ID)
		}
	}
	c.KubernetesNetworkConfig = &types.KubernetesNetworkConfigResponse{
		IpFamily: types.IpFamilyIpv4, ServiceIpv4Cidr: &cidr, ElasticLoadBalancing: &types.ElasticLoadBalancing{Enabled: new(false)},
	}
	return nil
}

// addSecurityGroup creates the security group of a cluster, whose members reach each other.
// https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html
func (s *Service) addSecurityGroup(c *cluster) error {
	ctx, at := s.acting(c.at), c.at
	name := fmt.Sprintf("eks-cluster-sg-%s-%d", *c.Name, mathrand.Uint32()) //nolint:gosec // a name
	made, err := wire.Do[ec2.CreateSecurityGroupOutput](ctx, s.options.EC2, "CreateSecurityGroup", &ec2.CreateSecurityGroupInput{
		GroupName: &name, VpcId: c.ResourcesVpcConfig.VpcId,
		Description: new("EKS created security group applied to ENI that is attached to EKS Control Plane master nodes, " +
			"as well as any managed workloads."),
	})
	if err != nil {
		return err
	}
	_, err = wire.Do[ec2.AuthorizeSecurityGroupIngressOutput](ctx, s.options.EC2, "AuthorizeSecurityGroupIngress",
		&ec2.AuthorizeSecurityGroupIngressInput{GroupId: made.GroupId, IpPermissions: []ec2types.IpPermission{{
			IpProtocol: new("-1"), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: made.GroupId}},
		}}})
	if err != nil {
		return err
	}
	s.options.Networks.Tags(at.Account, at.Region).Set(*made.GroupId, map[string]string{
		"Name": name, "kubernetes.io/cluster/" + *c.Name: "owned", "aws:eks:cluster-name": *c.Name,
	})
	config := *c.ResourcesVpcConfig
	config.ClusterSecurityGroupId = made.GroupId
	c.ResourcesVpcConfig = &config
	return nil
}

// deleteSecurityGroup deletes the security group of a cluster. A group that something else refers to
// stays behind, as in AWS.
func (s *Service) deleteSecurityGroup(c *cluster) {
	_, _ = wire.Do[ec2.DeleteSecurityGroupOutput](s.acting(c.at), s.options.EC2, "DeleteSecurityGroup", &ec2.DeleteSecurityGroupInput{
		GroupId: c.ResourcesVpcConfig.ClusterSecurityGroupId,
	})
}

// absentEndpoint returns the endpoint of a cluster that nothing serves, with a CA of its own.
func absentEndpoint(now time.Time, region, id string) (endpoint machine.ControlPlaneEndpoint, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return endpoint, fmt.Errorf("generate a key: %w", err)
	}
	const years = 10
	template := &x509.Certificate{
		SerialNumber: big.NewInt(0), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: now, NotAfter: now.AddDate(years, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign, IsCA: true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return endpoint, fmt.Errorf("make a certificate: %w", err)
	}
	endpoint.URL = "https://" + id + ".gr7." + region + ".eks." + suffix(region)
	endpoint.CertificateAuthority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return endpoint, nil
}
