package servicequotas

// quota is a quota with its default value.
type quota struct {
	Quota

	name     string
	standard float64
	global   bool
}

// quotas are the quotas by https://docs.aws.amazon.com/general/latest/gr/aws-service-information.html, of new accounts.
var quotas = []quota{
	{Quota: Quota{"autoscaling", "L-CDE20ADC"}, name: "Auto Scaling groups per region", standard: 500},
	{Quota: Quota{"cloudformation", "L-0485CB21"}, name: "Stack count", standard: 2000},
	{Quota: Quota{"dynamodb", "L-F98FE922"}, name: "Maximum number of tables", standard: 2500},
	{Quota: Quota{"ec2", "L-0263D0A3"}, name: "EC2-VPC Elastic IPs", standard: 5},
	{Quota: Quota{"ec2", "L-1216C47A"}, name: "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", standard: 5},
	{Quota: Quota{"ec2", "L-34B43A08"}, name: "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests", standard: 5},
	{Quota: Quota{"ec2", "L-DB2E81BA"}, name: "Running On-Demand G and VT instances"},
	{Quota: Quota{"ec2", "L-3819A6DF"}, name: "All G and VT Spot Instance Requests"},
	{Quota: Quota{"ec2", "L-417A185B"}, name: "Running On-Demand P instances"},
	{Quota: Quota{"ec2", "L-7212CCBC"}, name: "All P Spot Instance Requests"},
	{Quota: Quota{"elasticfilesystem", "L-848C634D"}, name: "File systems per account", standard: 1000},
	{Quota: Quota{"elasticloadbalancing", "L-53DA6B97"}, name: "Application Load Balancers per Region", standard: 50},
	{Quota: Quota{"elasticloadbalancing", "L-69A177A2"}, name: "Network Load Balancers per Region", standard: 50},
	{Quota: Quota{"elasticloadbalancing", "L-B22855CB"}, name: "Target Groups per Region", standard: 3000},
	{Quota: Quota{"iam", "L-6E65F664"}, name: "Instance profiles per account", standard: 1000, global: true},
	{Quota: Quota{"iam", "L-858F3967"}, name: "OpenId connect providers per account", standard: 100, global: true},
	{Quota: Quota{"iam", "L-FE177D64"}, name: "Roles per account", standard: 1000, global: true},
	{Quota: Quota{"rds", "L-7B6409FD"}, name: "DB instances", standard: 40},
	{Quota: Quota{"rds", "L-952B80B8"}, name: "DB clusters", standard: 40},
	{Quota: Quota{"route53", "L-4EA4796A"}, name: "Hosted zones", standard: 500, global: true},
	{Quota: Quota{"s3", "L-DC2B2D3D"}, name: "General purpose buckets", standard: 10000, global: true},
	{Quota: Quota{"vpc", "L-407747CB"}, name: "Subnets per VPC", standard: 200},
	{Quota: Quota{"vpc", "L-A4707A72"}, name: "Internet gateways per Region", standard: 5},
	{Quota: Quota{"vpc", "L-E79EC296"}, name: "VPC security groups per Region", standard: 2500},
	{Quota: Quota{"vpc", "L-F678F1CE"}, name: "VPCs per Region", standard: 5},
	{Quota: Quota{"vpc", "L-FE5A380F"}, name: "NAT gateways per Availability Zone", standard: 5},
}
