package quota

import (
	"regexp"

	"github.com/aws-operator/aws-operator/internal/cfn/launch"
)

// Quota is a quota of an account, in a region or in all.
type Quota struct {
	// Service and Code identify the quota in Service Quotas.
	Service string `json:"service"`
	Code    string `json:"code"`
	// Name is what AWS calls it.
	Name string `json:"name"`
	// Unit is what it counts, in the plural.
	Unit string `json:"unit"`
	// Global is true if it counts the resources of all regions. Service Quotas then has it in one region only.
	Global bool `json:"global,omitempty"`
}

const (
	typeStack    = "AWS::CloudFormation::Stack"
	typeAddress  = "AWS::EC2::EIP"
	typeBalancer = "AWS::ElasticLoadBalancingV2::LoadBalancer"
)

// counted are the quotas of how many resources of a type there are:
// https://docs.aws.amazon.com/general/latest/gr/aws-service-information.html ("Service quotas")
var counted = map[string]Quota{
	launch.TypeGroup:              {"autoscaling", "L-CDE20ADC", "Auto Scaling groups per region", "groups", false},
	typeStack:                     {"cloudformation", "L-0485CB21", "Stack count", "stacks", false},
	typeAddress:                   {"ec2", "L-0263D0A3", "EC2-VPC Elastic IPs", "addresses", false},
	typeBalancer + "/application": {"elasticloadbalancing", "L-53DA6B97", "Application Load Balancers per Region", "load balancers", false},
	typeBalancer + "/network":     {"elasticloadbalancing", "L-69A177A2", "Network Load Balancers per Region", "load balancers", false},

	"AWS::DynamoDB::Table":                     {"dynamodb", "L-F98FE922", "Maximum number of tables", "tables", false},
	"AWS::EC2::InternetGateway":                {"vpc", "L-A4707A72", "Internet gateways per Region", "gateways", false},
	"AWS::EC2::SecurityGroup":                  {"vpc", "L-E79EC296", "VPC security groups per Region", "security groups", false},
	"AWS::EC2::VPC":                            {"vpc", "L-F678F1CE", "VPCs per Region", "VPCs", false},
	"AWS::EFS::FileSystem":                     {"elasticfilesystem", "L-848C634D", "File systems per account", "file systems", false},
	"AWS::ElasticLoadBalancingV2::TargetGroup": {"elasticloadbalancing", "L-B22855CB", "Target Groups per Region", "target groups", false},
	"AWS::IAM::InstanceProfile":                {"iam", "L-6E65F664", "Instance profiles per account", "profiles", true},
	"AWS::IAM::OIDCProvider":                   {"iam", "L-858F3967", "OpenId connect providers per account", "providers", true},
	"AWS::IAM::Role":                           {"iam", "L-FE177D64", "Roles per account", "roles", true},
	"AWS::RDS::DBCluster":                      {"rds", "L-952B80B8", "DB clusters", "clusters", false},
	"AWS::RDS::DBInstance":                     {"rds", "L-7B6409FD", "DB instances", "instances", false},
	"AWS::Route53::HostedZone":                 {"route53", "L-4EA4796A", "Hosted zones", "zones", true},
	"AWS::S3::Bucket":                          {"s3", "L-DC2B2D3D", "General purpose buckets", "buckets", true},
}

// processors are the quotas of how many vCPUs the instances of some families have, on demand and as
// spot instances: https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
var processors = []struct {
	families       *regexp.Regexp
	onDemand, spot Quota
}{
	{
		regexp.MustCompile(`^(inf)[0-9]`),
		vCPUs("L-1945791B", "Running On-Demand Inf instances"), vCPUs("L-B5D1601B", "All Inf Spot Instance Requests"),
	},
	{
		regexp.MustCompile(`^(g|gr|vt)[0-9]`),
		vCPUs("L-DB2E81BA", "Running On-Demand G and VT instances"), vCPUs("L-3819A6DF", "All G and VT Spot Instance Requests"),
	},
	{
		regexp.MustCompile(`^p[0-9]`),
		vCPUs("L-417A185B", "Running On-Demand P instances"), vCPUs("L-7212CCBC", "All P Spot Instance Requests"),
	},
	{
		regexp.MustCompile(`^f[0-9]`),
		vCPUs("L-74FC7D96", "Running On-Demand F instances"), vCPUs("L-88CF9481", "All F Spot Instance Requests"),
	},
	{
		regexp.MustCompile(`^x[0-9]`),
		vCPUs("L-7295265B", "Running On-Demand X instances"), vCPUs("L-E3A00192", "All X Spot Instance Requests"),
	},
	{
		regexp.MustCompile(`^(a|c|d|h|i|im|is|m|r|t|z)[0-9]`),
		vCPUs("L-1216C47A", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"),
		vCPUs("L-34B43A08", "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests"),
	},
}

func vCPUs(code, name string) Quota {
	return Quota{Service: "ec2", Code: code, Name: name, Unit: "vCPUs"}
}

// processorsOf returns the quota that instances of a type count for; false if it is not known.
func processorsOf(instanceType string, spot bool) (Quota, bool) {
	for _, p := range processors {
		switch {
		case !p.families.MatchString(instanceType):
		case spot:
			return p.spot, true
		default:
			return p.onDemand, true
		}
	}
	return Quota{}, false
}
