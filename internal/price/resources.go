package price

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/launch"
)

// charges returns what AWS charges for a resource, by its type. Types that are not here, and not
// free, have an unknown price.
var charges = map[string]func(*resource) []part{
	"AWS::ApplicationAutoScaling::ScalingPolicy": usage("alarms of auto scaling"),
	"AWS::AutoScaling::AutoScalingGroup":         (*resource).instances,
	"AWS::DynamoDB::Table":                       (*resource).table,
	"AWS::EC2::EIP":                              (*resource).address,
	"AWS::EC2::Instance":                         (*resource).instances,
	"AWS::EC2::NatGateway":                       (*resource).natGateway,
	"AWS::EC2::VPCEndpoint":                      (*resource).endpoint,
	"AWS::EC2::Volume":                           (*resource).volume,
	"AWS::ECR::Repository":                       usage("images in ECR repositories"),
	"AWS::EFS::FileSystem":                       (*resource).fileSystem,
	"AWS::ElasticLoadBalancingV2::LoadBalancer":  (*resource).loadBalancer,
	"AWS::KMS::Key":                              (*resource).key,
	"AWS::KMS::ReplicaKey":                       (*resource).key,
	"AWS::EKS::Cluster":                          (*resource).controlPlane,
	"AWS::EKS::Nodegroup":                        (*resource).instances,
	"AWS::Kinesis::Stream":                       (*resource).stream,
	"AWS::Lambda::Function":                      usage("calls of Lambda functions"),
	"AWS::Logs::LogGroup":                        usage("logs in CloudWatch"),
	"AWS::Route53::HostedZone":                   (*resource).hostedZone,
	"AWS::S3::Bucket":                            usage("objects and requests of S3 buckets"),
	"AWS::SNS::Subscription":                     usage("messages of SNS topics"),
	"AWS::SNS::Topic":                            usage("messages of SNS topics"),
	"AWS::SQS::Queue":                            usage("requests to SQS queues"),
	"AWS::SSM::Parameter":                        (*resource).parameter,
	"AWS::SecretsManager::Secret":                (*resource).secret,
}

// free are the types that AWS does not charge for: https://aws.amazon.com/vpc/pricing/,
// https://aws.amazon.com/iam/faqs/, https://aws.amazon.com/autoscaling/pricing/,
// https://aws.amazon.com/cloudformation/pricing/, https://aws.amazon.com/efs/pricing/,
// https://aws.amazon.com/eventbridge/pricing/ (events of AWS services). What a load balancer's
// listeners, a zone's records or a bucket's policy cause is charged by usage of the load balancer,
// the zone or the bucket.
var free = []string{
	"AWS::ApplicationAutoScaling::ScalableTarget",
	"AWS::AutoScaling::LifecycleHook", "AWS::AutoScaling::ScalingPolicy", "AWS::AutoScaling::ScheduledAction",
	"AWS::CloudFormation::WaitCondition", "AWS::CloudFormation::WaitConditionHandle",
	"AWS::EC2::DHCPOptions", "AWS::EC2::InternetGateway", "AWS::EC2::LaunchTemplate", "AWS::EC2::NetworkAcl", "AWS::EC2::NetworkAclEntry",
	"AWS::EKS::AccessEntry",
	"AWS::EKS::Addon",
	"AWS::EKS::PodIdentityAssociation",
	"AWS::EC2::PlacementGroup", "AWS::EC2::Route", "AWS::EC2::RouteTable", "AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupEgress",
	"AWS::EC2::SecurityGroupIngress", "AWS::EC2::Subnet", "AWS::EC2::SubnetRouteTableAssociation", "AWS::EC2::VPC",
	"AWS::EC2::VPCDHCPOptionsAssociation", "AWS::EC2::VPCGatewayAttachment", "AWS::EFS::MountTarget",
	"AWS::ElasticLoadBalancingV2::Listener", "AWS::ElasticLoadBalancingV2::ListenerRule", "AWS::ElasticLoadBalancingV2::TargetGroup",
	"AWS::Events::Rule", "AWS::IAM::Group", "AWS::IAM::InstanceProfile", "AWS::IAM::ManagedPolicy", "AWS::IAM::OIDCProvider",
	"AWS::IAM::Policy", "AWS::IAM::Role", "AWS::IAM::RolePolicy", "AWS::IAM::User", "AWS::KMS::Alias", "AWS::Lambda::Permission",
	"AWS::Route53::RecordSet", "AWS::S3::BucketPolicy", "AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy",
}

// parts returns what AWS charges for in the resource.
func (r *resource) parts() []part {
	if charge := charges[r.Type]; charge != nil {
		return charge(r)
	}
	if slices.Contains(free, r.Type) {
		return nil
	}
	return []part{unknown("", "", "prices of "+r.Type)}
}

// usage is the charge of a type that only usage is charged for.
func usage(what string) func(*resource) []part {
	return func(*resource) []part { return []part{byUsage(what)} }
}

// usageAddress is the usage type of public IPv4 addresses, which cost the same whether they are in
// use or not: https://aws.amazon.com/vpc/pricing/ ("Public IPv4 addresses").
const usageAddress = "PublicIPv4:InUseAddress"

func (r *resource) address() []part {
	if r.at("PublicIpv4Pool") != nil {
		return []part{unknown("address", "address of a pool", "whether the pool's addresses are the account's own, which are free")}
	}
	return []part{r.priced("address", "public IPv4 address", usageAddress, HoursPerMonth)}
}

// https://aws.amazon.com/vpc/pricing/ ("NAT gateway")
func (r *resource) natGateway() []part {
	return []part{
		r.priced("hours", "NAT gateway", "NatGateway-Hours", HoursPerMonth),
		byUsage("data through NAT gateways"),
	}
}

// controlPlane: extended support costs more, but only after the standard support of a version has ended. EKS Auto Mode
// costs the instances that it launches, and a fee for each that depends on its type. https://aws.amazon.com/eks/pricing/
func (r *resource) controlPlane() []part {
	made := []part{r.priced("hours", "EKS control plane", "AmazonEKS-Hours:perCluster", HoursPerMonth)}
	if r.text("false", "ComputeConfig", "Enabled") != "false" {
		made = append(made, byUsage("nodes, volumes and load balancers of EKS Auto Mode, and its fee for each node"))
	}
	return made
}

// endpoint: only gateway endpoints are free. The others are charged by zone, which each subnet is
// in: https://aws.amazon.com/privatelink/pricing/
func (r *resource) endpoint() []part {
	kind := r.text("Gateway", "VpcEndpointType")
	if kind == "Gateway" {
		return nil
	}
	n, ok := items(r.at("SubnetIds"))
	if kind != "Interface" || !ok {
		return []part{unknown("hours", "VPC endpoint", "its zones")}
	}
	return []part{
		r.priced("hours", count{n, n}.of("zone of an interface endpoint"), "VpcEndpoint-Hours", n*HoursPerMonth),
		byUsage("data through interface endpoints"),
	}
}

// loadBalancer: the address of each zone of an internet-facing load balancer is charged like all
// public IPv4 addresses. Those of Elastic IP addresses are charged there.
// https://aws.amazon.com/elasticloadbalancing/pricing/
func (r *resource) loadBalancer() []part {
	kind := r.text("application", "Type")
	if kind != "application" && kind != "network" && kind != "gateway" {
		return []part{unknown("hours", "load balancer", fmt.Sprintf("load balancers of type %q", kind))}
	}
	made := []part{
		r.priced("hours", kind+" load balancer", "LoadBalancerUsage/"+kind, HoursPerMonth),
		byUsage("capacity units of load balancers"),
	}
	if kind == "gateway" || r.text("internet-facing", "Scheme") == "internal" ||
		r.text("", "IpAddressType") == "dualstack-without-public-ipv4" {
		return made
	}
	subnets, ok := items(r.at("Subnets"))
	if mappings := r.at("SubnetMappings"); mappings != nil {
		if subnets, ok = items(mappings); ok {
			for _, mapping := range mappings.Items {
				if mapping.Get("AllocationId") != nil {
					subnets--
				}
			}
		}
	}
	switch {
	case !ok:
		return append(made, unknown("addresses", "public IPv4 addresses", "how many zones it has"))
	case subnets == 0:
		return made
	}
	return append(made, r.priced("addresses", count{subnets, subnets}.of("public IPv4 address"), usageAddress, subnets*HoursPerMonth))
}

// key: each of the first two rotations of a key adds as much again: https://aws.amazon.com/kms/pricing/
func (r *resource) key() []part {
	made := []part{r.priced("key", "KMS key", "KMS-Keys", 1), byUsage("requests to KMS")}
	if r.text("false", "EnableKeyRotation") != "false" {
		made = append(made, part{"rotation", Cost{Usage: "the first two rotations of KMS keys"}})
	}
	return made
}

// hostedZone: from the 26th zone of an account on, zones cost less: https://aws.amazon.com/route53/pricing/
func (r *resource) hostedZone() []part {
	return []part{r.priced("zone", "hosted zone", "HostedZone", 1), byUsage("queries for hosted zones")}
}

// https://aws.amazon.com/secrets-manager/pricing/
func (r *resource) secret() []part {
	return []part{r.priced("secret", "secret", "AWSSecretsManager-Secrets", 1), byUsage("requests to Secrets Manager")}
}

// parameter: standard parameters are free: https://aws.amazon.com/systems-manager/pricing/
func (r *resource) parameter() []part {
	if r.text("Standard", "Tier") == "Standard" {
		return nil
	}
	return []part{unknown("parameter", "parameter", "prices of parameters that are not of the standard tier")}
}

// table: https://aws.amazon.com/dynamodb/pricing/provisioned/
func (r *resource) table() []part {
	made := []part{byUsage("requests and data of DynamoDB tables")}
	if r.text("PROVISIONED", "BillingMode") == "PAY_PER_REQUEST" {
		return made
	}
	indexes := r.at("GlobalSecondaryIndexes")
	throughputs := []*resource{r}
	if indexes != nil {
		n, ok := items(indexes)
		if !ok {
			return append(made, unknown("capacity", "read and write capacity", "capacity of its indexes"))
		}
		for i := range int(n) {
			index := *r.Resource
			index.Properties = indexes.Items[i]
			throughputs = append(throughputs, &resource{Resource: &index, prices: r.prices})
		}
	}
	var reads, writes float64
	for _, of := range throughputs {
		read, ok := launch.Number(of.at("ProvisionedThroughput", "ReadCapacityUnits"), 0)
		write, ok2 := launch.Number(of.at("ProvisionedThroughput", "WriteCapacityUnits"), 0)
		if !ok || !ok2 {
			return append(made, unknown("capacity", "read and write capacity", "the number of capacity units"))
		}
		reads, writes = reads+read, writes+write
	}
	b := &bill{prices: r.prices}
	b.add("ReadCapacityUnit-Hrs", reads*HoursPerMonth, reads*HoursPerMonth)
	b.add("WriteCapacityUnit-Hrs", writes*HoursPerMonth, writes*HoursPerMonth)
	return append(made, part{"capacity", b.cost(fmt.Sprintf("%s read and %s write units", plain(reads), plain(writes)), one)})
}

// stream: https://aws.amazon.com/kinesis/data-streams/pricing/
func (r *resource) stream() []part {
	made := []part{byUsage("data of Kinesis streams")}
	if r.text("PROVISIONED", "StreamModeDetails", "StreamMode") != "PROVISIONED" {
		return append(made, unknown("hours", "stream on demand", "prices of streams on demand"))
	}
	shards, ok := launch.Number(r.at("ShardCount"), 1)
	if !ok {
		return append(made, unknown("shards", "shards", "the number of shards"))
	}
	return append(made, r.priced("shards", count{shards, shards}.of("shard"), "Storage-ShardHour", shards*HoursPerMonth))
}

// fileSystem: https://aws.amazon.com/efs/pricing/
func (r *resource) fileSystem() []part {
	made := []part{byUsage("data in EFS file systems")}
	if strings.EqualFold(r.text("bursting", "ThroughputMode"), "provisioned") {
		made = append(made, unknown("throughput", "provisioned throughput", "prices of provisioned throughput"))
	}
	return made
}
