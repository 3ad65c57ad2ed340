package vpc

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

type interfaceProperties struct {
	SubnetId, Description, PrivateIpAddress, InterfaceType string //nolint:revive // the properties' names
	GroupSet                                               []string
	PrivateIpAddresses                                     []struct { //nolint:revive // the property's name
		Primary          bool
		PrivateIpAddress string //nolint:revive // the property's name
	}
	SecondaryPrivateIpAddressCount *int32 //nolint:revive // the property's name
	SourceDestCheck                *bool
}

var unsupportedInterface = []string{
	"Ipv4PrefixCount", "Ipv4Prefixes", "Ipv6AddressCount", "Ipv6Addresses", "Ipv6PrefixCount", "Ipv6Prefixes", "EnablePrimaryIpv6",
	"ConnectionTrackingSpecification", "PublicIpDnsHostnameTypeSpecification",
}

func interfaceResult(i *networkInterface) resource.Result {
	secondary := []any{}
	for _, a := range i.secondary {
		secondary = append(secondary, a.String())
	}
	return resource.Result{PhysicalID: i.id, Attributes: map[string]any{
		"Id": i.id, "PrimaryPrivateIpAddress": i.primary.String(), "SecondaryPrivateIpAddresses": secondary, "VpcId": i.subnet.vpc.id,
	}}
}

func makeInterface(r *region, q resource.Request) (resource.Result, error) {
	var p interfaceProperties
	if err := decodeNew(q, &p, unsupportedInterface...); err != nil {
		return resource.Result{}, err
	}
	in := &ec2.CreateNetworkInterfaceInput{
		SubnetId: optional(p.SubnetId), Description: optional(p.Description), PrivateIpAddress: optional(p.PrivateIpAddress),
		Groups:                         p.GroupSet,
		InterfaceType:                  types.NetworkInterfaceCreationType(p.InterfaceType),
		SecondaryPrivateIpAddressCount: p.SecondaryPrivateIpAddressCount,
	}
	for _, a := range p.PrivateIpAddresses {
		in.PrivateIpAddresses = append(
			in.PrivateIpAddresses, types.PrivateIpAddressSpecification{Primary: &a.Primary, PrivateIpAddress: &a.PrivateIpAddress},
		)
	}
	out, err := r.createNetworkInterface(in)
	if err != nil {
		return resource.Result{}, err
	}
	i := r.interfaces.byID[*out.NetworkInterface.NetworkInterfaceId]
	i.sourceDestCheck = p.SourceDestCheck == nil || *p.SourceDestCheck
	return interfaceResult(i), r.setTags(q, i.id)
}

func changeInterface(r *region, q resource.Request) (resource.Result, error) {
	var p, before interfaceProperties
	if err := decode(q, &p, unsupportedInterface...); err != nil {
		return resource.Result{}, err
	}
	if err := property.Decode(q.Previous, &before); err != nil {
		return resource.Result{}, err
	}
	i, err := r.interfaces.get(&q.PhysicalID)
	if err != nil {
		return resource.Result{}, err
	}
	if number(p.SecondaryPrivateIpAddressCount) != number(before.SecondaryPrivateIpAddressCount) ||
		!slices.Equal(p.PrivateIpAddresses, before.PrivateIpAddresses) {
		return resource.Result{}, unsupported("changes of PrivateIpAddresses")
	}
	groups := p.GroupSet
	if groups == nil {
		groups = []string{}
	}
	check := p.SourceDestCheck == nil || *p.SourceDestCheck
	if err := r.changeInterface(i, groups, &p.Description, &check); err != nil {
		return resource.Result{}, err
	}
	return interfaceResult(i), r.setTags(q, i.id)
}

func deleteInterface(r *region, q resource.Request) error { return r.removeInterface(&q.PhysicalID) }

func readInterface(r *region, q resource.Request) (map[string]any, error) {
	i, err := r.interfaces.get(&q.PhysicalID)
	if err != nil {
		return nil, err
	}
	return r.with(map[string]any{
		"SubnetId": i.subnet.id, "Description": i.description, "PrivateIpAddress": i.primary.String(), "InterfaceType": string(i.kind),
		"GroupSet": anys(i.groups), "SourceDestCheck": i.sourceDestCheck, "SecondaryPrivateIpAddressCount": len(i.secondary),
	}, q, i.id), nil
}

type endpointProperties struct {
	ServiceName, VpcEndpointType, VpcId, IpAddressType string //nolint:revive // the properties' names
	PolicyDocument                                     property.Document
	PrivateDnsEnabled                                  *bool    //nolint:revive // the property's name
	RouteTableIds, SecurityGroupIds, SubnetIds         []string //nolint:revive // the properties' names
}

var unsupportedEndpoint = []string{"DnsOptions", "ResourceConfigurationArn", "ServiceNetworkArn", "ServiceRegion"}

func (r *region) endpointResult(e *endpoint) resource.Result {
	interfaces, entries := []any{}, []any{}
	d := r.describeEndpoint(e)
	for _, id := range d.NetworkInterfaceIds {
		interfaces = append(interfaces, id)
	}
	for _, entry := range d.DnsEntries {
		// The format is "<hosted zone>:<name>".
		// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-vpcendpoint.html
		entries = append(entries, "Z"+strings.ToUpper(e.id[len(e.id)-13:])+":"+*entry.DnsName)
	}
	return resource.Result{PhysicalID: e.id, Attributes: map[string]any{
		"Id": e.id, "CreationTimestamp": e.created.UTC().Format(time.RFC3339), "DnsEntries": entries, "NetworkInterfaceIds": interfaces,
	}}
}

func makeEndpoint(r *region, q resource.Request) (resource.Result, error) {
	var p endpointProperties
	if err := decodeNew(q, &p, unsupportedEndpoint...); err != nil {
		return resource.Result{}, err
	}
	e, err := r.newEndpoint(&ec2.CreateVpcEndpointInput{
		ServiceName: &p.ServiceName, VpcEndpointType: types.VpcEndpointType(p.VpcEndpointType), VpcId: &p.VpcId,
		IpAddressType:  types.IpAddressType(p.IpAddressType),
		PolicyDocument: optional(string(p.PolicyDocument)), PrivateDnsEnabled: p.PrivateDnsEnabled, RouteTableIds: p.RouteTableIds,
		SecurityGroupIds: p.SecurityGroupIds, SubnetIds: p.SubnetIds,
	})
	if err != nil {
		return resource.Result{}, err
	}
	return r.endpointResult(e), r.setTags(q, e.id)
}

func changeEndpoint(r *region, q resource.Request) (resource.Result, error) {
	var p endpointProperties
	if err := decode(q, &p, unsupportedEndpoint...); err != nil {
		return resource.Result{}, err
	}
	e, err := r.endpoints.get(&q.PhysicalID)
	if err != nil {
		return resource.Result{}, err
	}
	policy := string(p.PolicyDocument)
	c := endpointChange{policy: &policy, privateDNS: p.PrivateDnsEnabled}
	if e.kind == types.VpcEndpointTypeGateway {
		c.tables = append([]string{}, p.RouteTableIds...)
	} else {
		c.subnets, c.groups = append([]string{}, p.SubnetIds...), append([]string{}, p.SecurityGroupIds...)
	}
	if err := r.changeEndpoint(e, c); err != nil {
		return resource.Result{}, err
	}
	return r.endpointResult(e), r.setTags(q, e.id)
}

func deleteEndpoint(r *region, q resource.Request) error { return r.removeEndpoint(&q.PhysicalID) }

func readEndpoint(r *region, q resource.Request) (map[string]any, error) {
	e, err := r.endpoints.get(&q.PhysicalID)
	if err != nil {
		return nil, err
	}
	properties := map[string]any{
		"ServiceName":       e.service,
		"VpcEndpointType":   string(e.kind),
		"VpcId":             e.vpc.id,
		"PrivateDnsEnabled": e.privateDNS,
	}
	if e.policy != "" {
		properties["PolicyDocument"] = e.policy
	}
	if e.kind == types.VpcEndpointTypeGateway {
		properties["RouteTableIds"] = anys(e.routeTables)
	} else {
		properties["SubnetIds"], properties["SecurityGroupIds"] = anys(e.subnetIDs()), anys(e.groups)
	}
	return r.with(properties, q, e.id), nil
}

type optionsProperties struct {
	DomainName                                        string
	DomainNameServers, NetbiosNameServers, NtpServers []string
	NetbiosNodeType, Ipv6AddressPreferredLeaseTime    *int32
}

func (p *optionsProperties) configurations() []dhcpConfiguration {
	var list []dhcpConfiguration
	add := func(key string, values ...string) {
		if len(values) > 0 && values[0] != "" {
			list = append(list, dhcpConfiguration{key, values})
		}
	}
	add("domain-name", p.DomainName)
	add("domain-name-servers", p.DomainNameServers...)
	add("ntp-servers", p.NtpServers...)
	add("netbios-name-servers", p.NetbiosNameServers...)
	add("netbios-node-type", portText(p.NetbiosNodeType))
	add("ipv6-address-preferred-lease-time", portText(p.Ipv6AddressPreferredLeaseTime))
	return list
}

func makeOptions(r *region, q resource.Request) (resource.Result, error) {
	var p optionsProperties
	if err := decodeNew(q, &p); err != nil {
		return resource.Result{}, err
	}
	o, err := r.newOptions(p.configurations(), nil)
	if err != nil {
		return resource.Result{}, err
	}
	return made(o.id, "DhcpOptionsId"), r.setTags(q, o.id)
}

func changeOptions(r *region, q resource.Request) (resource.Result, error) {
	return changeTags(r, q, r.dhcp, "DhcpOptionsId")
}

func deleteOptions(r *region, q resource.Request) error { return r.removeOptions(&q.PhysicalID) }

func readOptions(r *region, q resource.Request) (map[string]any, error) {
	o, err := r.dhcp.get(&q.PhysicalID)
	if err != nil {
		return nil, err
	}
	names := map[string]string{
		"domain-name-servers": "DomainNameServers", "ntp-servers": "NtpServers", "netbios-name-servers": "NetbiosNameServers",
		"domain-name": "DomainName", "netbios-node-type": "NetbiosNodeType",
		"ipv6-address-preferred-lease-time": "Ipv6AddressPreferredLeaseTime",
	}
	properties := map[string]any{}
	for _, c := range o.configurations {
		if strings.HasSuffix(c.key, "-servers") {
			properties[names[c.key]] = anys(c.values)
		} else {
			properties[names[c.key]] = c.values[0]
		}
	}
	return r.with(properties, q, o.id), nil
}

type optionsOf struct{ DhcpOptionsId, VpcId string } //nolint:revive // the properties' names

func makeOptionsOf(r *region, q resource.Request) (resource.Result, error) {
	var p optionsOf
	if err := decode(q, &p); err != nil {
		return resource.Result{}, err
	}
	if err := r.setOptions(&p.VpcId, &p.DhcpOptionsId); err != nil {
		return resource.Result{}, err
	}
	return resource.Result{PhysicalID: p.DhcpOptionsId + "|" + p.VpcId, Attributes: map[string]any{}}, nil
}

// optionsIn returns the VPC of an association that still exists.
func (r *region) optionsIn(id string) (*vpc, error) {
	options, vpcID, _ := strings.Cut(id, "|")
	v, ok := r.vpcs.byID[vpcID]
	if !ok || v.optionsID() != options && options != "default" {
		return nil, property.Missing("AWS::EC2::VPCDHCPOptionsAssociation", id)
	}
	return v, nil
}

func deleteOptionsOf(r *region, q resource.Request) error {
	v, err := r.optionsIn(q.PhysicalID)
	if err != nil {
		return err
	}
	v.options = r.standardOptions()
	return nil
}

func readOptionsOf(r *region, q resource.Request) (map[string]any, error) {
	v, err := r.optionsIn(q.PhysicalID)
	if err != nil {
		return nil, err
	}
	return map[string]any{"DhcpOptionsId": v.optionsID(), "VpcId": v.id}, nil
}
