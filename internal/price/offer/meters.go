package offer

import (
	"regexp"
	"slices"
	"strings"
)

// Codes are AWS's codes of the services with prices by region.
func Codes() []string {
	var codes []string
	for i := range meters {
		if code := meters[i].offer; code != Route53 && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return codes
}

// Route53 is the code of the service whose prices of zones are the same in all regions. The files
// of regions lack them.
const Route53 = "AmazonRoute53"

// meter says which products of a price list have which usage type of ours.
type meter struct {
	// offer is the code of the service, family the productFamily, empty for any.
	offer, family string
	// usage is the usage type without the prefix of the region. An asterisk at the end stands for
	// anything.
	usage string
	// attributes must have these values.
	attributes map[string]string
	// suffix is appended to the usage type, since AWS's does not tell its products apart.
	suffix string
	// units are the possible units of the price. The price is divided by what follows.
	units map[string]float64
}

// The attributes of Linux on demand on shared hardware, without software that costs more:
// https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-price-list-query-api-find-services-products.html
var linux = map[string]string{
	"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used",
	"licenseModel": "No License required", "operation": "RunInstances",
}

// Units of prices.
var (
	hours = map[string]float64{"Hrs": 1, "hours": 1, "Hours": 1, "hour": 1}
	gib   = map[string]float64{"GB-Mo": 1, "GB-month": 1}
	iops  = map[string]float64{"IOPS-Mo": 1}
	// Throughput is priced by GiB/s, and used in MiB/s.
	throughput = map[string]float64{"GiBps-mo": 1024, "GiBps-Mo": 1024, "MiBps-Mo": 1, "MiBps-mo": 1}
	capacity   = map[string]float64{"ReadCapacityUnit-Hrs": 1, "WriteCapacityUnit-Hrs": 1}
)

var meters = []meter{
	{offer: "AmazonEC2", family: "Compute Instance", usage: "BoxUsage:*", attributes: linux, units: hours},
	{offer: "AmazonEC2", family: "Compute Instance (bare metal)", usage: "BoxUsage:*", attributes: linux, units: hours},
	{offer: "AmazonEC2", family: "Storage", usage: "EBS:VolumeUsage", units: gib},
	{offer: "AmazonEC2", family: "Storage", usage: "EBS:VolumeUsage.gp2", units: gib},
	{offer: "AmazonEC2", family: "Storage", usage: "EBS:VolumeUsage.gp3", units: gib},
	{offer: "AmazonEC2", family: "Storage", usage: "EBS:VolumeUsage.piops", units: gib},
	{offer: "AmazonEC2", family: "Storage", usage: "EBS:VolumeUsage.io2", units: gib},
	{offer: "AmazonEC2", family: "Storage", usage: "EBS:VolumeUsage.st1", units: gib},
	{offer: "AmazonEC2", family: "Storage", usage: "EBS:VolumeUsage.sc1", units: gib},
	{offer: "AmazonEC2", family: "System Operation", usage: "EBS:VolumeP-IOPS.gp3", units: iops},
	{offer: "AmazonEC2", family: "System Operation", usage: "EBS:VolumeP-IOPS.piops", units: iops},
	{offer: "AmazonEC2", family: "System Operation", usage: "EBS:VolumeP-IOPS.io2", units: iops},
	{offer: "AmazonEC2", family: "System Operation", usage: "EBS:VolumeP-IOPS.io2.tier2", units: iops},
	{offer: "AmazonEC2", family: "System Operation", usage: "EBS:VolumeP-IOPS.io2.tier3", units: iops},
	{offer: "AmazonEC2", family: "Provisioned Throughput", usage: "EBS:VolumeP-Throughput.gp3", units: throughput},
	{offer: "AmazonEC2", family: "NAT Gateway", usage: "NatGateway-Hours", units: hours},
	{offer: "AWSELB", family: "Load Balancer-Application", usage: "LoadBalancerUsage", suffix: "/application", units: hours},
	{offer: "AWSELB", family: "Load Balancer-Network", usage: "LoadBalancerUsage", suffix: "/network", units: hours},
	{offer: "AWSELB", family: "Load Balancer-Gateway", usage: "LoadBalancerUsage", suffix: "/gateway", units: hours},
	{offer: "AmazonVPC", usage: "PublicIPv4:InUseAddress", units: hours},
	{offer: "AmazonVPC", usage: "VpcEndpoint-Hours", units: hours},
	{offer: "AmazonEKS", family: "Compute", usage: "AmazonEKS-Hours:perCluster", units: hours},
	{offer: "awskms", usage: "KMS-Keys", units: map[string]float64{"Keys": 1}},
	{offer: "AWSSecretsManager", usage: "AWSSecretsManager-Secrets", units: map[string]float64{"Secrets": 1}},
	{offer: "AmazonDynamoDB", family: "Provisioned IOPS", usage: "ReadCapacityUnit-Hrs", units: capacity},
	{offer: "AmazonDynamoDB", family: "Provisioned IOPS", usage: "WriteCapacityUnit-Hrs", units: capacity},
	{offer: "AmazonKinesis", usage: "Storage-ShardHour", units: map[string]float64{"ShardHour": 1, "Shard-Hours": 1, "Hrs": 1}},
	{offer: Route53, family: "DNS Zone", usage: "HostedZone", units: map[string]float64{"HostedZone": 1, "Zone": 1}},
}

// product is a product of a price list.
type product struct {
	Family     string            `json:"productFamily"`
	Attributes map[string]string `json:"attributes"`
}

// name returns the usage type of ours that the meter gives a product, empty if it does not match.
func (m *meter) name(p *product) string {
	if m.family != "" && m.family != p.Family {
		return ""
	}
	for name, value := range m.attributes {
		if p.Attributes[name] != value {
			return ""
		}
	}
	// Zones outside of regions have prices of their own.
	if at := p.Attributes["locationType"]; at != "" && at != "AWS Region" && m.offer != Route53 {
		return ""
	}
	usage := p.Attributes["usagetype"]
	start, open := strings.CutSuffix(m.usage, "*")
	i := strings.Index(usage, start)
	if i < 0 || !prefix.MatchString(usage[:i]) || slices.Contains(variants, usage[:i]) || !open && usage[i:] != start {
		return ""
	}
	return usage[i:] + m.suffix
}

// prefix matches what stands before usage types in regions: EUC1-, or the name of the region, or
// nothing.
var prefix = regexp.MustCompile(`^([A-Z]{2,5}[0-9]?-|[a-z]{2}(-[a-z]+)+-[0-9]+-)?$`)

// variants look like prefixes, but stand before usage types of other products: the trust stores of
// load balancers, and tables with infrequent access.
var variants = []string{"TS-", "IA-"}
