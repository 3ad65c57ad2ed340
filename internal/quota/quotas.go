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
	launch.TypeGroup:                           {Service: "autoscaling", Code: "L-CDE20ADC", Name: "Auto Scaling groups per region", Unit: "groups"},
	typeStack:                                  {Service: "cloudformation", Code: "L-0485CB21", Name: "Stack count", Unit: "stacks"},
	"AWS::DynamoDB::Table":                     {Service: "dynamodb", Code: "L-F98FE922", Name: "Maximum number of tables", Unit: "tables"},
	typeAddress:                                {Service: "ec2", Code: "L-0263D0A3", Name: "EC2-VPC Elastic IPs", Unit: "addresses"},
	"AWS::EC2::InternetGateway":                {Service: "vpc", Code: "L-A4707A72", Name: "Internet gateways per Region", Unit: "gateways"},
	"AWS::EC2::SecurityGroup":                  {Service: "vpc", Code: "L-E79EC296", Name: "VPC security groups per Region", Unit: "security groups"},
	"AWS::EC2::VPC":                            {Service: "vpc", Code: "L-F678F1CE", Name: "VPCs per Region", Unit: "VPCs"},
	"AWS::EFS::FileSystem":                     {Service: "elasticfilesystem", Code: "L-848C634D", Name: "File systems per account", Unit: "file systems"},
	"AWS::ElasticLoadBalancingV2::TargetGroup": {Service: "elasticloadbalancing", Code: "L-B22855CB", Name: "Target Groups per Region", Unit: "target groups"},
	"AWS::IAM::InstanceProfile":                {Service: "iam", Code: "L-6E65F664", Name: "Instance profiles per account", Unit: "profiles", Global: true},
	"AWS::IAM::OIDCProvider":                   {Service: "iam", Code: "L-858F3967", Name: "OpenId connect providers per account", Unit: "providers", Global: true},
	"AWS::IAM::Role":                           {Service: "iam", Code: "L-FE177D64", Name: "Roles per account", Unit: "roles", Global: true},
	"AWS::RDS::DBCluster":                      {Service: "rds", Code: "L-952B80B8", Name: "DB clusters", Unit: "clusters"},
	"AWS::RDS::DBInstance":                     {Service: "rds", Code: "L-7B6409FD", Name: "DB instances", Unit: "instances"},
	"AWS::Route53::HostedZone":                 {Service: "route53", Code: "L-4EA4796A", Name: "Hosted zones", Unit: "zones", Global: true},
	"AWS::S3::Bucket":                          {Service: "s3", Code: "L-DC2B2D3D", Name: "General purpose buckets", Unit: "buckets", Global: true},
	typeBalancer + "/application":              {Service: "elasticloadbalancing", Code: "L-53DA6B97", Name: "Application Load Balancers per Region", Unit: "load balancers"},
	typeBalancer + "/network":                  {Service: "elasticloadbalancing", Code: "L-69A177A2", Name: "Network Load Balancers per Region", Unit: "load balancers"},
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
