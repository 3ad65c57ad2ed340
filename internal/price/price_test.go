package price_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/price"
)

// The list of the tests has prices that are easy to calculate with.
const list = `formatVersion: v1
sections:
- region: eu-test-1
  offer: AmazonEC2
  date: "2026-01-02"
  source: test
  prices:
    BoxUsage:m6i.large: 0.1
    BoxUsage:m6a.large: 0.08
    EBS:VolumeUsage.gp3: 0.1
    EBS:VolumeP-IOPS.gp3: 0.01
    EBS:VolumeP-Throughput.gp3: 0.05
    EBS:VolumeUsage.io2: 0.1
    EBS:VolumeP-IOPS.io2: 0.1
    EBS:VolumeP-IOPS.io2.tier2: 0.01
    NatGateway-Hours: 0.05
- region: eu-test-1
  offer: AWSELB
  date: "2026-03-04"
  source: test
  prices: {LoadBalancerUsage/network: 0.02}
- region: eu-test-1
  offer: AmazonVPC
  date: "2026-01-02"
  source: test
  prices: {"PublicIPv4:InUseAddress": 0.01, VpcEndpoint-Hours: 0.01}
- region: eu-test-1
  offer: AmazonDynamoDB
  date: "2026-01-02"
  source: test
  prices: {ReadCapacityUnit-Hrs: 0.001, WriteCapacityUnit-Hrs: 0.01}
- region: global
  offer: AmazonRoute53
  date: "2026-01-02"
  source: test
  prices: {HostedZone: 0.5, KMS-Keys: 1}
`

func prices(t *testing.T) *price.List {
	t.Helper()
	l, err := price.Parse([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// side is a stack with these resources, in YAML.
func side(t *testing.T, resources string, parameters ...string) *diff.Side {
	t.Helper()
	if resources == "" {
		return nil
	}
	parsed, err := template.Parse("test", []byte("Parameters: {Size: {Type: String, Default: \"10\"}}\nResources:\n"+resources))
	if err != nil {
		t.Fatal(err)
	}
	s := &diff.Side{Template: parsed, Parameters: map[string]string{}}
	for i := 0; i+1 < len(parameters); i += 2 {
		s.Parameters[parameters[i]] = parameters[i+1]
	}
	return s
}

const group = `  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: TYPE
        NetworkInterfaces: [{AssociatePublicIpAddress: PUBLIC}]
        BlockDeviceMappings: [{Ebs: {VolumeType: gp3, VolumeSize: 30}}]
  Group:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
`

// instances are those of a group with these properties.
func instances(kind, public, properties string) string {
	const version = "LaunchTemplateId: !Ref Template, Version: !GetAtt Template.LatestVersionNumber"
	return strings.NewReplacer("TYPE", kind, "PUBLIC", public).Replace(group) + strings.ReplaceAll(properties, "VERSION", version)
}

// fixed are the properties of a group of instances of one type.
func fixed(sizes string) string { return "      {" + sizes + ", LaunchTemplate: {VERSION}}\n" }

// What each type costs, as the lines that a plan prints. 730 hours are 73 USD at 0.1 USD an hour.
func TestWhatAResourceCosts(t *testing.T) {
	for name, c := range map[string]struct {
		resources string
		want      []string
	}{
		"a gp3 volume": {
			"  V: {Type: AWS::EC2::Volume, Properties: {VolumeType: gp3, Size: 20, AvailabilityZone: a}}\n",
			[]string{"  + s/V  20 GiB gp3  2.00", "  Total: 0.00 → 2.00 (+2.00)."},
		},
		"IOPS and throughput beyond those that are included": {
			"  V: {Type: AWS::EC2::Volume, Properties: {VolumeType: gp3, Size: 20, Iops: 3100, Throughput: 225, AvailabilityZone: a}}\n",
			[]string{"  + s/V  20 GiB gp3 with 3100 IOPS and 225 MiB/s  8.00"},
		},
		"tiers of io2": {
			"  V: {Type: AWS::EC2::Volume, Properties: {VolumeType: io2, Size: 10, Iops: 32100, AvailabilityZone: a}}\n",
			[]string{"  + s/V  10 GiB io2 with 32100 IOPS  3202.00"},
		},
		"a type of volume that the list lacks": {
			"  V: {Type: AWS::EC2::Volume, Properties: {VolumeType: st1, Size: 10, AvailabilityZone: a}}\n",
			[]string{"  + s/V  10 GiB st1  unknown: the price of EBS:VolumeUsage.st1", "  The totals lack 1 item whose price is unknown.", "  Total: 0.00 → unknown."},
		},
		"a size that only AWS knows": {
			"  V: {Type: AWS::EC2::Volume, Properties: {VolumeType: gp3, SnapshotId: snap-1, AvailabilityZone: a}}\n",
			[]string{"unknown: the size of a volume"},
		},
		"a size of a parameter": {
			"  V: {Type: AWS::EC2::Volume, Properties: {VolumeType: gp3, Size: !Ref Size, AvailabilityZone: a}}\n",
			[]string{"  + s/V  10 GiB gp3  1.00"},
		},
		"a size that is no number": {
			"  V: {Type: AWS::EC2::Volume, Properties: {VolumeType: gp3, Size: NaN, AvailabilityZone: a}}\n",
			[]string{"unknown: the size of a volume"},
		},
		"instances with disks and addresses": {
			instances("m6i.large", "true", fixed(`MinSize: "2", MaxSize: "2"`)),
			[]string{"  + s/Group  2 × public IPv4 address  14.60", "  + s/Group  2 × 30 GiB gp3           6.00", "  + s/Group  2 × m6i.large            146.00", "  Total: 0.00 → 166.60 (+166.60)."},
		},
		"a number that is not fixed": {
			instances("m6i.large", "false", fixed(`MinSize: "1", MaxSize: "3"`)),
			[]string{"  + s/Group  1–3 × m6i.large   73.00 to 219.00", "  + s/Group  1–3 × 30 GiB gp3  3.00 to 9.00", "  Total: 0.00 → 76.00 to 228.00."},
		},
		"the desired capacity fixes it": {
			instances("m6i.large", "false", fixed(`MinSize: "1", MaxSize: "3", DesiredCapacity: "2"`)),
			[]string{"  + s/Group  2 × m6i.large   146.00"},
		},
		"spot instances of two types": {
			instances("m6i.large", "false", `      MinSize: "1"
      MaxSize: "2"
      MixedInstancesPolicy:
        InstancesDistribution: {OnDemandBaseCapacity: 0, OnDemandPercentageAboveBaseCapacity: 0}
        LaunchTemplate:
          LaunchTemplateSpecification: {VERSION}
          Overrides: [{InstanceType: m6i.large}, {InstanceType: m6a.large}]
`),
			[]string{"  + s/Group  1–2 × m6i.large or m6a.large (spot)  at most 146.00", "  Spot instances cost at most what they cost on demand.", "  Total: 0.00 → 3.00 to 152.00."},
		},
		"one on demand, and the others half": {
			instances("m6i.large", "false", `      MinSize: "3"
      MaxSize: "3"
      MixedInstancesPolicy:
        InstancesDistribution: {OnDemandBaseCapacity: 1, OnDemandPercentageAboveBaseCapacity: 50}
        LaunchTemplate:
          LaunchTemplateSpecification: {VERSION}
`),
			[]string{"  + s/Group  3 × m6i.large (partly spot)  146.00 to 219.00"},
		},
		"a type that the list lacks": {
			instances("z9.large", "false", fixed(`MinSize: "1", MaxSize: "1"`)),
			[]string{"  + s/Group  z9.large    unknown: the price of z9.large", "  The totals lack 1 item whose price is unknown.", "  Total: 0.00 → 3.00."},
		},
		"a launch template of another stack": {
			"  Group: {Type: AWS::AutoScaling::AutoScalingGroup, Properties: {MinSize: \"1\", MaxSize: \"1\", LaunchTemplate: {LaunchTemplateId: lt-1, Version: \"1\"}}}\n",
			[]string{"unknown: the launch template, which is not in the stack", "  Total: 0.00 → unknown."},
		},
		"a type that would reach the terminal": {
			instances(`"\e[31m"`, "false", fixed(`MinSize: "1", MaxSize: "1"`)),
			[]string{"  + s/Group  instance    unknown: the type of the instances"},
		},
		"what burstable instances use beyond their share": {
			instances("t3.large", "false", fixed(`MinSize: "1", MaxSize: "1"`)),
			[]string{"  By usage, and in no total: CPU credits of burstable instances, traffic of instances."},
		},
		"an empty group": {
			instances("m6i.large", "true", fixed(`MinSize: "0", MaxSize: "0"`)),
			[]string{"  Total: 0.00, as before."},
		},
		"a load balancer with addresses in two zones": {
			"  L: {Type: AWS::ElasticLoadBalancingV2::LoadBalancer, Properties: {Type: network, Scheme: internet-facing, Subnets: [subnet-1, subnet-2]}}\n",
			[]string{"  + s/L  2 × public IPv4 address  14.60", "  + s/L  network load balancer    14.60", "  By usage, and in no total: capacity units of load balancers.", "prices of 2026-01-02 to 2026-03-04"},
		},
		"an internal load balancer": {
			"  L: {Type: AWS::ElasticLoadBalancingV2::LoadBalancer, Properties: {Type: network, Scheme: internal, Subnets: [subnet-1, subnet-2]}}\n",
			[]string{"  Total: 0.00 → 14.60 (+14.60)."},
		},
		"addresses that are charged as Elastic IP addresses": {
			"  A: {Type: AWS::EC2::EIP}\n  L: {Type: AWS::ElasticLoadBalancingV2::LoadBalancer, Properties: {Type: network, SubnetMappings: [{SubnetId: subnet-1, AllocationId: !GetAtt A.AllocationId}]}}\n",
			[]string{"  + s/A  public IPv4 address    7.30", "  + s/L  network load balancer  14.60", "  Total: 0.00 → 21.90 (+21.90)."},
		},
		"a NAT gateway": {
			"  N: {Type: AWS::EC2::NatGateway, Properties: {SubnetId: subnet-1}}\n",
			[]string{"  + s/N  NAT gateway  36.50", "  By usage, and in no total: data through NAT gateways."},
		},
		"endpoints": {
			"  G: {Type: AWS::EC2::VPCEndpoint, Properties: {ServiceName: s3, VpcId: v}}\n  I: {Type: AWS::EC2::VPCEndpoint, Properties: {ServiceName: ecr, VpcId: v, VpcEndpointType: Interface, SubnetIds: [a, b]}}\n",
			[]string{"  + s/I  2 × zone of an interface endpoint  14.60", "  Total: 0.00 → 14.60 (+14.60)."},
		},
		"prices that are the same in all regions": {
			"  K: {Type: AWS::KMS::Key, Properties: {EnableKeyRotation: true, KeyPolicy: {}}}\n  Z: {Type: AWS::Route53::HostedZone, Properties: {Name: x}}\n",
			[]string{"  + s/K  KMS key      1.00", "  + s/Z  hosted zone  0.50", "  By usage, and in no total: queries for hosted zones, requests to KMS, the first two rotations of KMS keys."},
		},
		"a table with its index": {
			"  T: {Type: AWS::DynamoDB::Table, Properties: {KeySchema: [], ProvisionedThroughput: {ReadCapacityUnits: 5, WriteCapacityUnits: 1}, GlobalSecondaryIndexes: [{ProvisionedThroughput: {ReadCapacityUnits: 5, WriteCapacityUnits: 1}}]}}\n",
			[]string{"  + s/T  10 read and 2 write units  21.90"},
		},
		"a table by request, and a queue": {
			"  T: {Type: AWS::DynamoDB::Table, Properties: {KeySchema: [], BillingMode: PAY_PER_REQUEST}}\n  Q: {Type: AWS::SQS::Queue}\n",
			[]string{"  By usage, and in no total: requests and data of DynamoDB tables, requests to SQS queues.", "  Total: 0.00, as before."},
		},
		"a type that nothing is known of": {
			"  D: {Type: AWS::RDS::DBInstance, Properties: {DBInstanceClass: db.t4g.micro}}\n",
			[]string{"unknown: prices of AWS::RDS::DBInstance", "  Total: 0.00 → unknown."},
		},
		"what is free": {
			"  V: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}\n  R: {Type: AWS::IAM::Role, Properties: {AssumeRolePolicyDocument: {}}}\n",
			[]string{"  Total: 0.00, as before."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(price.Compare(prices(t), "eu-test-1", []price.Stack{{Name: "s", After: side(t, c.resources)}}).Text(), "\n")
			for _, want := range c.want {
				if !strings.Contains(got+"\n", want+"\n") && !strings.Contains(got, want) {
					t.Errorf("%q is missing in\n%s", want, got)
				}
			}
		})
	}
}

func TestOnlyWhatChangesIsListed(t *testing.T) {
	nat := "  N: {Type: AWS::EC2::NatGateway, Properties: {SubnetId: subnet-1}}\n"
	volume := func(size string) string {
		return "  V: {Type: AWS::EC2::Volume, Properties: {VolumeType: gp3, Size: " + size + ", AvailabilityZone: a}}\n"
	}
	c := price.Compare(prices(t), "eu-test-1", []price.Stack{
		{Name: "same", Before: side(t, nat), After: side(t, nat)},
		{Name: "changed", Before: side(t, nat+volume("10")), After: side(t, volume("!Ref Size"), "Size", "20")},
		{Name: "deleted", Before: side(t, "  A: {Type: AWS::EC2::EIP}\n")},
	})
	const want = `Monthly price in USD (730 hours on demand, without discounts and taxes; prices of 2026-01-02):
  - changed/N  NAT gateway              36.50
  ~ changed/V  10 GiB gp3 → 20 GiB gp3  1.00 → 2.00
  - deleted/A  public IPv4 address      7.30
  By usage, and in no total: data through NAT gateways.
  Total: 81.30 → 38.50 (-42.80).`
	if got := strings.Join(c.Text(), "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
	text, err := json.Marshal(c)
	if err != nil || !strings.Contains(string(text), `"after":{"low":38.5,"high":38.5}`) {
		t.Errorf("%s, %v", text, err)
	}
}

// CloudFormation leaves such resources in AWS, where they are charged.
func TestRetainedResourcesStayInTheTotal(t *testing.T) {
	kept := side(t, "  A: {Type: AWS::EC2::EIP, DeletionPolicy: Retain}\n  B: {Type: AWS::EC2::EIP}\n")
	c := price.Compare(prices(t), "eu-test-1", []price.Stack{{Name: "s", Before: kept}})
	volume := side(t, "  V: {Type: AWS::EC2::Volume, DeletionPolicy: Snapshot, Properties: {VolumeType: gp3, Size: 20, AvailabilityZone: a}}\n")
	text := strings.Join(price.Compare(prices(t), "eu-test-1", []price.Stack{{Name: "s", Before: volume}}).Text(), "\n")
	if !strings.Contains(text, "By usage, and in no total: snapshots of deleted resources.\n  Total: 2.00 → 0.00 (-2.00).") {
		t.Error(text)
	}
	if c.Before.High != 14.6 || c.After.High != 7.3 || len(c.Lines) != 1 || c.Lines[0].Resource != "B" {
		t.Errorf("%+v", c)
	}
}

func TestMissingRegionIsSaid(t *testing.T) {
	c := price.Compare(prices(t), "eu-test-2", []price.Stack{{Name: "s", After: side(t, "  A: {Type: AWS::EC2::EIP}\n")}})
	if got := strings.Join(c.Text(), "\n"); !strings.HasPrefix(got, "Monthly price: unknown, since the price list has no prices of region eu-test-2.") {
		t.Error(got)
	}
}

func TestBuiltinListCanBeUsed(t *testing.T) {
	l, err := price.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, region := range []string{"us-east-1", "eu-central-1"} {
		after := side(t, instances("m6i.large", "true", fixed(`MinSize: "1", MaxSize: "1"`))+
			"  N: {Type: AWS::EC2::NatGateway}\n  K: {Type: AWS::KMS::Key}\n  Z: {Type: AWS::Route53::HostedZone}\n"+
			"  L: {Type: AWS::ElasticLoadBalancingV2::LoadBalancer, Properties: {Type: network, Subnets: [a]}}\n")
		c := price.Compare(l, region, []price.Stack{{Name: "s", After: after}})
		if c.After.Unknown > 0 || c.After.Low == 0 {
			t.Errorf("%s: %s", region, strings.Join(c.Text(), "\n"))
		}
	}
	const most = 150_000
	if info, err := os.Stat("prices.yaml"); err != nil || info.Size() > most {
		t.Errorf("the list has %d bytes, at most %d are allowed: %v", info.Size(), most, err)
	}
}

func TestMistakesInAListAreNamed(t *testing.T) {
	section := func(old, with string) string {
		return strings.Replace("formatVersion: v1\nsections:\n- {region: eu-test-1, offer: AmazonEC2, date: \"2026-01-02\", source: x, prices: {NatGateway-Hours: 0.05}}\n", old, with, 1)
	}
	for want, text := range map[string]string{
		"this is not a price list":              "- 1",
		`unknown field "regions"`:               "formatVersion: v1\nregions: []",
		`formatVersion is "v2", but must be v1`: section("v1", "v2"),
		"sections is empty":                     "formatVersion: v1",
		`sections[0]: region is "Frankfurt"`:    section("eu-test-1", "Frankfurt"),
		"sections[0]: offer is missing":         section("AmazonEC2", `""`),
		`sections[0]: date is "yesterday"`:      section("2026-01-02", "yesterday"),
		"sections[0]: source is missing":        section("source: x", `source: ""`),
		"prices.NatGateway-Hours is 0: use":     section("0.05", "0"),
		"prices.NatGateway-Hours is -1: use":    section("0.05", "-1"),
		`sections[0]: prices has "\x1b[31m"`:    section("NatGateway-Hours", `"\e[31m"`),
		"sections[1]: prices.NatGateway-Hours of region eu-test-1 is in an earlier section": section("", "") +
			"- {region: eu-test-1, offer: AmazonVPC, date: \"2026-01-02\", source: x, prices: {NatGateway-Hours: 0.05}}\n",
	} {
		if _, err := price.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(list))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := price.Parse(data)
		if err != nil {
			return
		}
		text, err := l.Write()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := price.Parse(text); err != nil {
			t.Errorf("what was written cannot be read: %v", err)
		}
	})
}
