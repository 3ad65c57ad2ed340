package vpc

import (
	"reflect"
	"strings"
)

// notSupported are the parameters that would change what an operation does and
// that the simulator does not have, by the operation's input. What it has in part
// is refused where it is read.
var notSupported = map[string][]string{
	"CreateVpcInput":           {"Ipv6CidrBlockNetworkBorderGroup", "Ipv6NetmaskLength", "VpcEncryptionControl"},
	"CreateSubnetInput":        {"Ipv6NetmaskLength"},
	"AssociateRouteTableInput": {"PublicIpv4Pool"},
	"AssociateVpcCidrBlockInput": {
		"AmazonProvidedIpv6CidrBlock", "Ipv4IpamPoolId", "Ipv4NetmaskLength", "Ipv6CidrBlock", "Ipv6IpamPoolId", "Ipv6NetmaskLength", "Ipv6Pool",
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

// refuse errs if an input sets a parameter that is not supported. One that says
// false asks for nothing.
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
