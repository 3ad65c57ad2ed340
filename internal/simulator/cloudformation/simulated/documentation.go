package simulated

import (
	_ "embed" // for the documented attributes
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

//go:embed attributes.txt
var documentedAttributes string

// documented returns the attributes that AWS documents without a condition, by resource type.
var documented = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(documentedAttributes) {
		if name, attributes, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "#") {
			out[name] = strings.Fields(attributes)
		}
	}
	return out
})

// hasAttribute reports whether a resource with these properties has an attribute, a read-only
// property of its type. The schemas do not say: some attributes belong to features that are off, and
// Fn::GetAtt of a missing attribute fails. So an attribute exists only if something says so:
//
//   - a condition that AWS documents ([conditions]) holds for the properties, or
//   - it is in the primary identifier, which every handler returns, is required, or is the ARN or ID
//     of the resource itself, or
//   - AWS documents it without a condition (attributes.txt).
//
// An attribute inside an object that the user may set exists only if the user sets the object.
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract.html
func hasAttribute(t *schema.Type, path string, properties map[string]any) bool {
	if holds, ok := conditionOf(t.Name, path); ok {
		return holds(properties)
	}
	if slices.Contains(t.PrimaryIdentifier, path) {
		return true
	}
	if parent := settableParent(t, path); parent != "" && !isSet(parent)(properties) {
		return false
	}
	return slices.Contains(t.Root.Required, path) || isOwnIdentity(t.Name, path) || slices.Contains(documented()[t.Name], dotted(path))
}

// conditionOf returns the documented condition for an attribute, or for an object that contains it.
func conditionOf(resourceType, path string) (condition, bool) {
	for {
		if holds, ok := conditions[resourceType][path]; ok {
			return holds, true
		}
		end := strings.LastIndexByte(path, '/')
		if end < 0 {
			return nil, false
		}
		path = path[:end]
	}
}

// isOwnIdentity reports whether an attribute is the ARN or ID of the resource itself by its name: Arn,
// DBInstanceArn of AWS::RDS::DBInstance.
func isOwnIdentity(resourceType, attribute string) bool {
	kind := resourceType[strings.LastIndexByte(resourceType, ':')+1:]
	rest := strings.TrimPrefix(attribute, kind)
	return slices.Contains([]string{"Arn", "ARN", "Id", "Identifier"}, rest)
}

// settableParent returns the innermost object around a nested attribute that has other properties
// which users set, or nothing.
func settableParent(t *schema.Type, path string) string {
	parts := strings.Split(path, "/")
	for i := len(parts) - 1; i > 0; i-- {
		object := t.At(parts[:i])
		if object == nil {
			return ""
		}
		parent := strings.Join(parts[:i], "/")
		for name := range object.Properties {
			if !t.IsReadOnly(append(slices.Clone(parts[:i]), name)) {
				return parent
			}
		}
	}
	return ""
}

// condition reports whether AWS sets an attribute of a resource with these properties.
type condition func(properties map[string]any) bool

// conditions are the attributes that AWS sets only for some resources, by type and path.
var conditions = map[string]map[string]condition{
	// Endpoints of the type EDGE, which is the default, have the name of a CloudFront distribution; those
	// of the type REGIONAL have a regional name.
	// https://docs.aws.amazon.com/apigateway/latest/api/API_DomainName.html
	"AWS::ApiGateway::DomainName": {
		"DistributionDomainName":   not(isRegional),
		"DistributionHostedZoneId": not(isRegional),
		"RegionalDomainName":       isRegional,
		"RegionalHostedZoneId":     isRegional,
	},
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudtrail-trail.html
	"AWS::CloudTrail::Trail": {"SnsTopicArn": isSet("SnsTopicName")},
	// https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_UserPoolClientType.html
	"AWS::Cognito::UserPoolClient": {"ClientSecret": isTrue("GenerateSecret"), "Name": always},
	// The ID is that of a local cluster on an Outpost.
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-eks-cluster.html
	"AWS::EKS::Cluster": {
		"Id":                     isSet("OutpostConfig"),
		"EncryptionConfigKeyArn": isSet("EncryptionConfig"),
		"KubernetesNetworkConfig/ServiceIpv6Cidr": is("KubernetesNetworkConfig/IpFamily", "ipv6"),
	},
	// Of the two endpoints, a cluster has that of its engine, and Fn::GetAtt of the other fails.
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-elasticache-cachecluster.html
	cacheClusterType: {
		"ConfigurationEndpoint": is("Engine", "memcached"),
		"RedisEndpoint":         not(is("Engine", "memcached")),
	},
	// Groups with cluster mode have the configuration endpoint, the others have the primary and the
	// readers' endpoint.
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-elasticache-replicationgroup.html
	// https://docs.aws.amazon.com/AmazonElastiCache/latest/APIReference/API_ReplicationGroup.html
	"AWS::ElastiCache::ReplicationGroup": {
		"ConfigurationEndPoint": isClustered,
		"PrimaryEndPoint":       not(isClustered),
		"ReadEndPoint":          not(isClustered),
		"ReaderEndPoint":        not(isClustered),
	},
	// https://docs.aws.amazon.com/AmazonElastiCache/latest/APIReference/API_ServerlessCache.html
	"AWS::ElastiCache::ServerlessCache": {
		"CreateTime": always, "Endpoint": always, "FullEngineVersion": always, "ReaderEndpoint": always, "Status": always,
	},
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-fsx-filesystem.html
	"AWS::FSx::FileSystem": {
		"LustreMountName": is("FileSystemType", "LUSTRE"),
		"RootVolumeId":    is("FileSystemType", "OPENZFS"),
		"DNSName":         not(is("FileSystemType", "ONTAP")),
	},
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-globalaccelerator-accelerator.html
	"AWS::GlobalAccelerator::Accelerator": {
		"DualStackDnsName": is("IpAddressType", "DUAL_STACK"),
		"Ipv6Addresses":    is("IpAddressType", "DUAL_STACK"),
	},
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-lambda-function-snapstartresponse.html
	"AWS::Lambda::Function": {"SnapStartResponse": isSet("SnapStart")},
	// Domains in a VPC have the map of endpoints, and those with dual stack the second endpoint.
	// https://docs.aws.amazon.com/opensearch-service/latest/APIReference/API_DomainStatus.html
	// https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/1920
	"AWS::OpenSearchService::Domain": {
		"DomainEndpoints":  isSet("VPCOptions"),
		"DomainEndpointV2": is("IPAddressType", "dualstack"),
	},
	// RDS returns the secret only if it manages the master user's password in Secrets Manager.
	// https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_MasterUserSecret.html
	"AWS::RDS::DBCluster":  {"MasterUserSecret/SecretArn": isTrue("ManageMasterUserPassword")},
	"AWS::RDS::DBInstance": {"MasterUserSecret/SecretArn": isTrue("ManageMasterUserPassword")},
	// https://docs.aws.amazon.com/redshift/latest/APIReference/API_Cluster.html
	"AWS::Redshift::Cluster": {
		"DeferMaintenanceIdentifier": isTrue("DeferMaintenance"),
		"MasterPasswordSecretArn":    isTrue("ManageMasterPassword"),
	},
	// Private zones have no name servers.
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-route53-hostedzone.html
	"AWS::Route53::HostedZone": {"NameServers": not(isSet("VPCs"))},
	// https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_DescribeDomain.html
	"AWS::SageMaker::Domain": {
		"SingleSignOnManagedApplicationInstanceId": is("AuthMode", "SSO"),
		"SecurityGroupIdForDomainBoundary":         isSet("DomainSettings/RStudioServerProDomainSettings"),
	},
}

func always(map[string]any) bool { return true }

func not(c condition) condition { return func(p map[string]any) bool { return !c(p) } }

// isSet reports whether the property at a path has a value: an empty list or object has none.
func isSet(path string) condition {
	return func(properties map[string]any) bool {
		switch value := at(properties, path).(type) {
		case nil:
			return false
		case []any:
			return len(value) > 0
		case map[string]any:
			return len(value) > 0
		}
		return true
	}
}

func is(path, want string) condition {
	return func(properties map[string]any) bool {
		value := at(properties, path)
		return value != nil && strings.EqualFold(fmt.Sprint(value), want)
	}
}

func isTrue(path string) condition { return is(path, "true") }

// isRegional reports whether a domain name of API Gateway has a regional endpoint.
func isRegional(properties map[string]any) bool {
	types, _ := at(properties, "EndpointConfiguration/Types").([]any)
	return slices.ContainsFunc(types, func(item any) bool { return fmt.Sprint(item) == "REGIONAL" })
}

// isClustered reports whether cluster mode is enabled: by the property, by several node groups, or by
// a parameter group that enables it.
// https://docs.aws.amazon.com/AmazonElastiCache/latest/dg/ParameterGroups.Engine.html
func isClustered(properties map[string]any) bool {
	if groups, ok := asFloat(properties["NumNodeGroups"]); ok && groups > 1 {
		return true
	}
	group, _ := properties["CacheParameterGroupName"].(string)
	return is("ClusterMode", "enabled")(properties) || isSet("NodeGroupConfiguration")(properties) || strings.HasSuffix(group, ".cluster.on")
}

// at returns the value at a path, or nil.
func at(value any, path string) any {
	for part := range strings.SplitSeq(path, "/") {
		object, _ := value.(map[string]any)
		value = object[part]
	}
	return value
}
