package simulated_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

type properties = map[string]any

func attributesOf(t *testing.T, resourceType string, p properties) map[string]any {
	t.Helper()
	made, err := simulated.NewStore(schema.Default()).Provider(resourceType).Create(t.Context(), resource.Request{
		Account: "123456789012", Region: "us-east-1", StackName: "one", LogicalID: "It", Properties: p,
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.Attributes
}

func TestAttributesOfResources(t *testing.T) {
	for _, test := range []struct {
		name, resourceType string
		properties         properties
		has, lacks         string
	}{
		{
			"a password that RDS does not manage", "AWS::RDS::DBInstance",
			properties{"Engine": "mysql"},
			"DBInstanceArn DbiResourceId Endpoint.Address Endpoint.Port", "MasterUserSecret.SecretArn",
		},
		{
			"a password that RDS manages", "AWS::RDS::DBCluster",
			properties{"ManageMasterUserPassword": true},
			"DBClusterArn MasterUserSecret.SecretArn", "",
		},
		{
			"a key of the secret alone", "AWS::RDS::DBCluster",
			properties{"MasterUserSecret": properties{"KmsKeyId": "alias/a"}},
			"MasterUserSecret.KmsKeyId", "MasterUserSecret.SecretArn",
		},
		{
			"cluster mode", "AWS::ElastiCache::ReplicationGroup",
			properties{"NumNodeGroups": 2},
			"ConfigurationEndPoint.Address ConfigurationEndPoint.Port", "PrimaryEndPoint.Address ReaderEndPoint.Port",
		},
		{
			"no cluster mode", "AWS::ElastiCache::ReplicationGroup",
			properties{"NumCacheClusters": 2},
			"PrimaryEndPoint.Address ReaderEndPoint.Port", "ConfigurationEndPoint.Address ConfigurationEndPoint.Port",
		},
		{"the ID of a cluster that is not on an Outpost", "AWS::EKS::Cluster", properties{"Name": "a"}, "Arn Endpoint", "Id EncryptionConfigKeyArn"},
		{"an empty list turns nothing on", "AWS::EKS::Cluster", properties{"EncryptionConfig": []any{}}, "Arn", "EncryptionConfigKeyArn"},
		{"an address of IPv4 only", "AWS::GlobalAccelerator::Accelerator", properties{}, "AcceleratorArn DnsName", "DualStackDnsName"},
		{"a client without a secret", "AWS::Cognito::UserPoolClient", properties{"UserPoolId": "a"}, "ClientId", "ClientSecret"},
		{"a client with a secret", "AWS::Cognito::UserPoolClient", properties{"UserPoolId": "a", "GenerateSecret": true}, "ClientSecret", ""},
		{
			"the part of an object that is not set", "AWS::MWAA::Environment",
			properties{"Name": "a"},
			"Arn WebserverUrl", "LoggingConfiguration.WebserverLogs.CloudWatchLogGroupArn",
		},
		{"the reason of a failure", "AWS::Pipes::Pipe", properties{"Name": "a"}, "Arn CurrentState", "StateReason"},
		{"an attribute that AWS does not describe", "AWS::RDS::DBInstance", properties{}, "DBInstanceArn", "LatestRestorableTime"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := attributesOf(t, test.resourceType, test.properties)
			for name := range strings.FieldsSeq(test.has) {
				if _, ok := got[name]; !ok {
					t.Errorf("attribute %s is missing", name)
				}
			}
			for name := range strings.FieldsSeq(test.lacks) {
				if _, ok := got[name]; ok {
					t.Errorf("attribute %s exists", name)
				}
			}
		})
	}
}

// An update that sets what is set already must not change a generated value.
func TestUpdateKeepsGeneratedAttributes(t *testing.T) {
	provider := simulated.NewStore(schema.Default()).Provider("AWS::RDS::DBInstance")
	r := resource.Request{Account: "123456789012", Region: "us-east-1", StackName: "one", LogicalID: "It", Properties: properties{
		"ManageMasterUserPassword": true, "MasterUserSecret": properties{"KmsKeyId": "alias/a"},
	}}
	before, err := provider.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	r.PhysicalID = before.PhysicalID
	r.Properties = properties{"ManageMasterUserPassword": true, "MasterUserSecret": properties{"KmsKeyId": "alias/b"}}
	after, err := provider.Update(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"DBInstanceArn", "DbiResourceId", "Endpoint.Address", "MasterUserSecret.SecretArn"} {
		if before.Attributes[name] != after.Attributes[name] || after.Attributes[name] == nil {
			t.Errorf("%s was %v and is %v", name, before.Attributes[name], after.Attributes[name])
		}
	}
	if got := after.Attributes["MasterUserSecret.KmsKeyId"]; got != "alias/b" {
		t.Errorf("MasterUserSecret.KmsKeyId is %v", got)
	}
}

// Every resource of every type has the attributes of its primary identifier, and fewer than the
// schema lists.
func TestEveryTypeHasItsIdentifierAndNotEverything(t *testing.T) {
	registry := schema.Default()
	declared, present := 0, 0
	for _, name := range registry.Names() {
		rt, _ := registry.Type(name)
		minimal, err := simulated.MinimalProperties(rt)
		// Tests of their own have their engines, or their cluster.
		if err != nil || name == "AWS::ElastiCache::CacheCluster" || name == "AWS::EKS::PodIdentityAssociation" {
			continue
		}
		if name == "AWS::Lambda::Function" { // its schema lacks what a function of a deployment package needs
			minimal["Runtime"], minimal["Handler"] = "python3.13", "app.handler"
		}
		if name == distribution { // its schema lacks that an origin exists
			minimal = distributionWith(t, "", "", "")
		}
		got := attributesOf(t, name, minimal)
		for _, path := range rt.PrimaryIdentifier {
			if _, ok := got[strings.ReplaceAll(path, "/", ".")]; !ok {
				t.Errorf("%s has no %s", name, path)
			}
		}
		for _, attribute := range rt.Attributes() {
			declared++
			if _, ok := got[attribute]; ok {
				present++
			}
		}
	}
	t.Logf("%d of %d read-only properties exist with the smallest properties", present, declared)
	if present > declared*4/5 {
		t.Errorf("%d of %d read-only properties exist", present, declared)
	}
}

// The conditions name properties and attributes of the schemas: a typing error would never hold.
func TestConditionsNameAttributes(t *testing.T) {
	registry := schema.Default()
	for resourceType, paths := range simulated.ConditionalAttributes() {
		rt, ok := registry.Type(resourceType)
		if !ok {
			t.Errorf("there is no type %s", resourceType)
			continue
		}
		for _, path := range paths {
			dotted := strings.ReplaceAll(path, "/", ".")
			known := slices.ContainsFunc(rt.Attributes(), func(a string) bool { return a == dotted || strings.HasPrefix(a, dotted+".") })
			if !known {
				t.Errorf("%s has no attribute %s", resourceType, path)
			}
		}
	}
}
