package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// AllowDNSServers is the word in the annotation cluster-operator.aws/allow with which the user
// confirms that the name servers of an existing VPC forward the names of the cluster's private
// hosted zone to the VPC's resolver.
const AllowDNSServers = "dns-servers"

// noDHCPOptions is what EC2 reports as the DHCP options of a VPC that has none:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateDhcpOptions.html
const noDHCPOptions = "default"

// AllowsDNSServers reports whether the annotation cluster-operator.aws/allow has [AllowDNSServers].
func AllowsDNSServers(cluster *v1alpha1.Cluster) bool {
	words := strings.FieldsFunc(cluster.Annotations[v1alpha1.Group+"/allow"], func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(words, AllowDNSServers)
}

// DNSProblem returns why machines in the VPC could not resolve the names of a private hosted zone,
// by which the slots' etcd members find each other, and what to do; empty if they can.
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/hosted-zone-private-considerations.html
func (v *ExistingVPC) DNSProblem(zone string, serversForward bool) string {
	var off []string
	if v.WithoutDNSSupport {
		off = append(off, "enableDnsSupport")
	}
	if v.WithoutDNSHostnames {
		off = append(off, "enableDnsHostnames")
	}
	switch {
	case len(off) > 0:
		return fmt.Sprintf("VPC %s has %s off, so instances in it cannot resolve the cluster's private names in %s. "+
			"Turn on both attributes, enableDnsSupport and enableDnsHostnames (aws ec2 modify-vpc-attribute).", v.ID, strings.Join(off, " and "), zone)
	case v.DHCPOptions == noDHCPOptions:
		return fmt.Sprintf("VPC %s has no DHCP options, so instances in it have no name server. "+
			"Associate DHCP options whose domain-name-servers is AmazonProvidedDNS.", v.ID)
	case len(v.DNSServers) > 0 && !serversForward:
		return fmt.Sprintf(
			"The DHCP options %s of VPC %s name the name servers %s, which cannot resolve the cluster's private names in %s. "+
				"Associate DHCP options whose domain-name-servers is AmazonProvidedDNS. If these servers forward %s to the VPC's resolver, "+
				"add %s to the annotation cluster-operator.aws/allow.",
			v.DHCPOptions,
			v.ID,
			strings.Join(v.DNSServers, ", "),
			zone,
			zone,
			AllowDNSServers,
		)
	default:
		return ""
	}
}
