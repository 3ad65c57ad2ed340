package vpc

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// zone is an availability zone.
type zone struct{ name, id string }

// regionNames are AWS's regions. Those that an account must enable begin with "+".
// https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html
var regionNames = strings.Fields(`us-east-1 us-east-2 us-west-1 us-west-2 ca-central-1 sa-east-1
	eu-central-1 eu-west-1 eu-west-2 eu-west-3 eu-north-1
	ap-south-1 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-southeast-1 ap-southeast-2
	+af-south-1 +ap-east-1 +ap-east-2 +ap-south-2 +ap-southeast-3 +ap-southeast-4 +ap-southeast-5 +ap-southeast-6 +ap-southeast-7
	+ca-west-1 +eu-central-2 +eu-south-1 +eu-south-2 +il-central-1 +me-central-1 +me-south-1 +mx-central-1`)

// zonesOf returns the zones of a region. All have a, b and c here; in AWS the letters differ
// between regions and accounts, and some regions have more zones.
func zonesOf(region string) []zone {
	letters := strings.Split("abc", "")
	switch region {
	case "us-east-1":
		letters = strings.Split("abcdef", "")
	case "us-west-2", "ap-northeast-1", "ap-northeast-2":
		letters = strings.Split("abcd", "")
	}
	zones := make([]zone, 0, len(letters))
	for i, letter := range letters {
		zones = append(zones, zone{region + letter, shortRegion(region) + "-az" + decimal(i+1)})
	}
	return zones
}

// shortRegion returns the prefix of a region's zone IDs: use1 for us-east-1.
// https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-availability-zones.html
func shortRegion(region string) string {
	parts := strings.Split(region, "-")
	if len(parts) < 3 {
		return region
	}
	short := parts[0]
	for _, part := range parts[1 : len(parts)-1] {
		for _, direction := range []string{"north", "south", "east", "west"} {
			if rest, ok := strings.CutPrefix(part, direction); ok {
				short, part = short+direction[:1], rest
			}
		}
		if part != "" {
			short += part[:1]
		}
	}
	return short + parts[len(parts)-1]
}

// zone returns a zone of the region by name or id; the first if both are empty.
func (r *region) zone(name, id *string) (zone, error) {
	zones := zonesOf(r.Region)
	names := make([]string, 0, len(zones))
	for _, z := range zones {
		if aws.ToString(name) == "" && aws.ToString(id) == "" || z.name == aws.ToString(name) || z.id == aws.ToString(id) {
			return z, nil
		}
		names = append(names, z.name)
	}
	if aws.ToString(name) == "" {
		return zone{}, invalid("availabilityZoneId", *id, "")
	}
	return zone{}, invalid(
		"availabilityZone",
		*name,
		"Subnets can currently only be created in the following availability zones: "+strings.Join(names, ", ")+".",
	)
}

var zoneFields = Fields[types.AvailabilityZone]{
	"zone-name":   func(z types.AvailabilityZone) []string { return text(*z.ZoneName) },
	"zone-id":     func(z types.AvailabilityZone) []string { return text(*z.ZoneId) },
	"zone-type":   func(z types.AvailabilityZone) []string { return text(*z.ZoneType) },
	"region-name": func(z types.AvailabilityZone) []string { return text(*z.RegionName) },
	"group-name":  func(z types.AvailabilityZone) []string { return text(*z.GroupName) },
	"state":       func(z types.AvailabilityZone) []string { return text(string(z.State)) },
	"message":     func(types.AvailabilityZone) []string { return nil },
	"group-long-name": func(z types.AvailabilityZone) []string {
		return text(*z.GroupName)
	},
	"opt-in-status": func(z types.AvailabilityZone) []string { return text(string(z.OptInStatus)) },
}

func (r *region) describeAvailabilityZones(in *ec2.DescribeAvailabilityZonesInput) (*ec2.DescribeAvailabilityZonesOutput, error) {
	pass, err := zoneFields.Compile(in.Filters)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	out := &ec2.DescribeAvailabilityZonesOutput{AvailabilityZones: []types.AvailabilityZone{}}
	for _, z := range zonesOf(r.Region) {
		known[z.name], known[z.id] = true, true
		d := types.AvailabilityZone{
			ZoneName: aws.String(z.name), ZoneId: aws.String(z.id), RegionName: aws.String(r.Region),
			GroupName:          aws.String(r.Region + "-zg-1"),
			NetworkBorderGroup: aws.String(r.Region), ZoneType: aws.String("availability-zone"),
			State: types.AvailabilityZoneStateAvailable, OptInStatus: types.AvailabilityZoneOptInStatusOptInNotRequired,
		}
		asked := len(in.ZoneNames) == 0 && len(in.ZoneIds) == 0 || slices.Contains(in.ZoneNames, z.name) ||
			slices.Contains(in.ZoneIds, z.id)
		if asked && pass(d, nil) {
			out.AvailabilityZones = append(out.AvailabilityZones, d)
		}
	}
	for _, name := range append(slices.Clone(in.ZoneNames), in.ZoneIds...) {
		if !known[name] {
			return nil, wire.Errorf("InvalidParameterValue", "Invalid availability zone: [%s]", name)
		}
	}
	return out, nil
}

var regionFields = Fields[types.Region]{
	"endpoint":      func(x types.Region) []string { return text(*x.Endpoint) },
	"opt-in-status": func(x types.Region) []string { return text(*x.OptInStatus) },
	"region-name":   func(x types.Region) []string { return text(*x.RegionName) },
}

func (r *region) describeRegions(in *ec2.DescribeRegionsInput) (*ec2.DescribeRegionsOutput, error) {
	pass, err := regionFields.Compile(in.Filters)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	for _, name := range regionNames {
		if asked, ok := strings.CutPrefix(name, "+"); ok {
			known[asked] = "not-opted-in"
		} else {
			known[name] = "opt-in-not-required"
		}
	}
	if known[r.Region] != "opt-in-not-required" {
		known[r.Region] = "opted-in"
	}
	for _, name := range in.RegionNames {
		if known[name] == "" {
			return nil, wire.Errorf("InvalidParameterValue", "Invalid region: [%s]", name)
		}
	}
	out := &ec2.DescribeRegionsOutput{Regions: []types.Region{}}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		d := types.Region{
			RegionName:  aws.String(name),
			OptInStatus: aws.String(known[name]),
			Endpoint:    aws.String("ec2." + name + ".amazonaws.com"),
		}
		asked := len(in.RegionNames) == 0 && (known[name] != "not-opted-in" || aws.ToBool(in.AllRegions)) ||
			slices.Contains(in.RegionNames, name)
		if asked && pass(d, nil) {
			out.Regions = append(out.Regions, d)
		}
	}
	return out, nil
}

// describeAccountAttributes returns the attributes of every account. There is no default VPC.
func (r *region) describeAccountAttributes(in *ec2.DescribeAccountAttributesInput) (*ec2.DescribeAccountAttributesOutput, error) {
	all := []struct{ name, value string }{
		{"supported-platforms", "VPC"},
		{"vpc-max-security-groups-per-interface", "5"},
		{"max-elastic-ips", ""},
		{"max-instances", "20"},
		{"vpc-max-elastic-ips", ""},
		{"default-vpc", "none"},
	}
	out := &ec2.DescribeAccountAttributesOutput{AccountAttributes: []types.AccountAttribute{}}
	for _, a := range all {
		if len(in.AttributeNames) > 0 && !slices.Contains(in.AttributeNames, types.AccountAttributeName(a.name)) {
			continue
		}
		if a.value == "" {
			a.value = decimal(r.quotas[ElasticAddresses])
		}
		out.AccountAttributes = append(out.AccountAttributes, types.AccountAttribute{
			AttributeName: aws.String(a.name), AttributeValues: []types.AccountAttributeValue{{AttributeValue: aws.String(a.value)}},
		})
	}
	return out, nil
}
