package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// measure is a property that says how large or expensive a resource is. Path is separated by
// slashes; an asterisk stands for each item of a list.
type measure struct{ path, format string }

// measures are the measures of the resource types that cost money, hold data or grant access.
var measures = map[string][]measure{
	typeGroup: {
		{"MinSize", "min %s"}, {"MaxSize", "max %s"}, {"MixedInstancesPolicy/LaunchTemplate/Overrides/*/InstanceType", "%s"},
	},
	typeLaunchTemplate: {{"LaunchTemplateData/InstanceType", "%s"}},
	"AWS::ApplicationAutoScaling::ScalableTarget": {{"ScalableDimension", "%s"}, {"MinCapacity", "min %s"}, {"MaxCapacity", "max %s"}},
	"AWS::CloudFront::Distribution":               {{"DistributionConfig/PriceClass", "%s"}},
	"AWS::DynamoDB::Table": {
		{"BillingMode", "%s"},
		{"ProvisionedThroughput/ReadCapacityUnits", "%s read units"},
		{"ProvisionedThroughput/WriteCapacityUnits", "%s write units"},
	},
	"AWS::EFS::FileSystem":  {{"ThroughputMode", "%s throughput"}, {"ProvisionedThroughputInMibps", "%s MiB/s"}},
	"AWS::EC2::EIP":         nil,
	"AWS::EC2::Instance":    {{"InstanceType", "%s"}},
	"AWS::EC2::NatGateway":  nil,
	"AWS::EC2::Subnet":      {{"CidrBlock", "%s"}, {"AvailabilityZone", "%s"}},
	"AWS::EC2::VPC":         {{"CidrBlock", "%s"}},
	"AWS::EC2::Volume":      {{"Size", "%s GiB"}, {"VolumeType", "%s"}, {"AvailabilityZone", "%s"}},
	"AWS::EKS::AccessEntry": {{"PrincipalArn", "%s"}, {"AccessPolicies/*/PolicyArn", "%s"}},
	"AWS::EKS::Cluster":     {{"Version", "Kubernetes %s"}},
	typeNodegroup: {
		{"InstanceTypes/*", "%s"}, {"CapacityType", "%s"}, {"ScalingConfig/MinSize", "min %s"}, {"ScalingConfig/MaxSize", "max %s"},
	},
	"AWS::ElastiCache::CacheCluster": {
		{"CacheNodeType", "%s"}, {"NumCacheNodes", "nodes: %s"},
	},
	"AWS::ElastiCache::ReplicationGroup":        {{"CacheNodeType", "%s"}, {"NumNodeGroups", "shards: %s"}},
	"AWS::ElasticLoadBalancingV2::LoadBalancer": {{"Type", "%s"}, {"Scheme", "%s"}},
	typeIngress:                      {{"CidrIp", "from %s"}, {"CidrIpv6", "from %s"}, {"FromPort", "port %s"}},
	"AWS::IAM::ManagedPolicy":        nil,
	"AWS::IAM::Role":                 nil,
	"AWS::KMS::Key":                  nil,
	"AWS::Kinesis::Stream":           {{"StreamModeDetails/StreamMode", "%s"}, {"ShardCount", "shards: %s"}},
	"AWS::Lambda::Function":          {{"MemorySize", "%s MiB"}, {"Runtime", "%s"}},
	"AWS::OpenSearchService::Domain": {{"ClusterConfig/InstanceType", "%s"}, {"ClusterConfig/InstanceCount", "nodes: %s"}, {"EBSOptions/VolumeSize", "%s GiB each"}},
	"AWS::RDS::DBCluster":            {{"Engine", "%s"}, {"ServerlessV2ScalingConfiguration/MaxCapacity", "up to %s ACUs"}},
	"AWS::RDS::DBInstance":           {{"DBInstanceClass", "%s"}, {"AllocatedStorage", "%s GiB"}, {"Engine", "%s"}},
	"AWS::S3::Bucket":                nil,
	"AWS::SecretsManager::Secret":    nil,
}

// sizeOf describes the size of a resource in a few words, empty if it has none or it is not known
// before the creation.
func sizeOf(r *template.Resource) string {
	var words []string
	for _, m := range measures[r.Type] {
		if values := scalars(r.Properties, strings.Split(m.path, "/")); len(values) > 0 {
			words = append(words, fmt.Sprintf(m.format, strings.Join(values, " or ")))
		}
	}
	return strings.Join(words, ", ")
}

// scalars returns the texts at a path.
func scalars(node *template.Node, path []string) []string {
	switch {
	case node == nil:
		return nil
	case len(path) == 0:
		if text, ok := node.Scalar(); ok {
			return []string{text}
		}
		return nil
	case path[0] == "*":
		var all []string
		for _, item := range node.Items {
			all = append(all, scalars(item, path[1:])...)
		}
		return all
	default:
		return scalars(node.Get(path[0]), path[1:])
	}
}

// listed is the number of resources up to which a plan lists all resources of a stack that is
// created or deleted.
const listed = 10

// abridge divides the resources of a stack that is created or deleted into those to list, and a
// summary of the others by type. A stack with few resources, or one that is updated, has no others.
func (s *Stack) abridge() (shown []Resource, others string) {
	if s.Action != Create && s.Action != Delete || len(s.Resources) <= listed {
		return s.Resources, ""
	}
	counts, hidden := map[string]int{}, 0
	for i := range s.Resources {
		r := &s.Resources[i]
		_, matters := measures[r.Type]
		if r.Type == typeIngress && !strings.HasPrefix(r.Size, "from ") { // between the cluster's own security groups
			matters = false
		}
		if matters || r.Stateful {
			shown = append(shown, *r)
			continue
		}
		counts[strings.TrimPrefix(r.Type, "AWS::")]++
		hidden++
	}
	types := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, one := range types {
		parts = append(parts, fmt.Sprintf("%d %s", counts[one], one))
	}
	return shown, fmt.Sprintf("%d others (-o json lists them): %s", hidden, strings.Join(parts, ", "))
}
