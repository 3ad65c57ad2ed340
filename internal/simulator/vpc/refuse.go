package vpc

import (
	"reflect"
	"strings"
)

// notSupported are the parameters, by the operation's input, that would change the result of an
// operation and that the simulator does not support. Code that reads partly supported parameters
// refuses the rest.
var notSupported = map[string][]string{
	"CreateVpcInput":           {"Ipv6CidrBlockNetworkBorderGroup", "Ipv6NetmaskLength", "VpcEncryptionControl"},
	"CreateSubnetInput":        {"Ipv6NetmaskLength"},
	"AssociateRouteTableInput": {"PublicIpv4Pool"},
	"AssociateVpcCidrBlockInput": {
		"AmazonProvidedIpv6CidrBlock", "Ipv4IpamPoolId", "Ipv4NetmaskLength", "Ipv6CidrBlock", "Ipv6IpamPoolId", "Ipv6NetmaskLength",
		"Ipv6Pool",
	},
	"AssignPrivateIpAddressesInput":   {"AllowReassignment", "Ipv4PrefixCount", "Ipv4Prefixes"},
	"UnassignPrivateIpAddressesInput": {"Ipv4Prefixes"},
	"CreateNatGatewayInput":           {"VpcId"},
	"CreateNetworkInterfaceInput":     {"ConnectionTrackingSpecification", "EnablePrimaryIpv6", "Operator"},
	"ModifyNetworkInterfaceAttributeInput": {
		"AssociatePublicIpAddress", "AssociatedSubnetIds", "ConnectionTrackingSpecification", "EnaSrdSpecification", "EnablePrimaryIpv6",
	},
	"ModifySubnetAttributeInput": {"CustomerOwnedIpv4Pool", "DisableLniAtDeviceIndex", "EnableLniAtDeviceIndex"},
	"CreateVpcEndpointInput":     {"DnsOptions", "ResourceConfigurationArn", "ServiceNetworkArn", "ServiceRegion"},
	"ModifyVpcEndpointInput":     {"DnsOptions"},
}

// refuse returns an error if an input sets an unsupported parameter. False does not count as set.
func refuse[I any](in *I) error {
	v := reflect.ValueOf(in).Elem()
	for _, name := range notSupported[v.Type().Name()] {
		f := v.FieldByName(name)
		if f.Kind() == reflect.Pointer && !f.IsNil() && f.Elem().Kind() == reflect.Bool && !f.Elem().Bool() {
			continue
		}
		if f.IsValid() && !f.IsZero() {
			return unsupported(strings.ToLower(name[:1]) + name[1:])
		}
	}
	return nil
}
