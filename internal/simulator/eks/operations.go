package eks

import "github.com/aws-operator/aws-operator/internal/simulator/wire"

// Service returns the operations for the wire layer.
func (s *Service) Service() *wire.Service {
	service := &wire.Service{
		Name: "eks", Describe: s.access, NameOf: nameOf, Protocols: []wire.Protocol{wire.RESTJSON}, APIVersion: "2017-11-01", LowerCamel: true,
		Operations: map[string]wire.Operation{}, Routes: map[string]string{},
	}
	for _, o := range s.operations() {
		service.Operations[o.name], service.Routes[o.name] = o.operation, o.route
	}
	return service
}

// operation is an operation with its method and path.
type operation struct {
	name, route string
	operation   wire.Operation
}

// https://docs.aws.amazon.com/eks/latest/APIReference/API_Operations.html
func (s *Service) operations() []operation {
	const (
		cluster      = "/clusters/{name}"
		of           = "/clusters/{clusterName}"
		entries      = of + "/access-entries"
		entry        = entries + "/{principalArn}"
		policies     = entry + "/access-policies"
		groups       = of + "/node-groups"
		group        = groups + "/{nodegroupName}"
		addons       = of + "/addons"
		addon        = addons + "/{addonName}"
		associations = of + "/pod-identity-associations"
		association  = associations + "/{associationId}"
		tags         = "/tags/{resourceArn}"
	)
	return []operation{
		{"CreateCluster", "POST /clusters", wire.Op(s.createCluster)},
		{"ListClusters", "GET /clusters", wire.Op(s.listClusters)},
		{"DescribeCluster", "GET " + cluster, wire.Op(s.describeCluster)},
		{"DeleteCluster", "DELETE " + cluster, wire.Op(s.deleteCluster)},
		{"UpdateClusterConfig", "POST " + cluster + "/update-config", wire.Op(s.updateClusterConfig)},
		{"UpdateClusterVersion", "POST " + cluster + "/updates", wire.Op(s.updateClusterVersion)},
		{"ListUpdates", "GET " + cluster + "/updates", wire.Op(s.listUpdates)},
		{"DescribeUpdate", "GET " + cluster + "/updates/{updateId}", wire.Op(s.describeUpdate)},
		{"DescribeClusterVersions", "GET /cluster-versions", wire.Op(s.describeClusterVersions)},

		{"TagResource", "POST " + tags, wire.Op(s.tagResource)},
		{"UntagResource", "DELETE " + tags, wire.Op(s.untagResource)},
		{"ListTagsForResource", "GET " + tags, wire.Op(s.listTags)},

		{"CreateAccessEntry", "POST " + entries, wire.Op(s.createAccessEntry)},
		{"ListAccessEntries", "GET " + entries, wire.Op(s.listAccessEntries)},
		{"DescribeAccessEntry", "GET " + entry, wire.Op(s.describeAccessEntry)},
		{"UpdateAccessEntry", "POST " + entry, wire.Op(s.updateAccessEntry)},
		{"DeleteAccessEntry", "DELETE " + entry, wire.Op(s.deleteAccessEntry)},
		{"AssociateAccessPolicy", "POST " + policies, wire.Op(s.associateAccessPolicy)},
		{"ListAssociatedAccessPolicies", "GET " + policies, wire.Op(s.listAssociatedPolicies)},
		{"DisassociateAccessPolicy", "DELETE " + policies + "/{policyArn}", wire.Op(s.disassociateAccessPolicy)},
		{"ListAccessPolicies", "GET /access-policies", wire.Op(s.listAccessPolicies)},

		{"CreateNodegroup", "POST " + groups, wire.Op(s.createNodegroup)},
		{"ListNodegroups", "GET " + groups, wire.Op(s.listNodegroups)},
		{"DescribeNodegroup", "GET " + group, wire.Op(s.describeNodegroup)},
		{"DeleteNodegroup", "DELETE " + group, wire.Op(s.deleteNodegroup)},
		{"UpdateNodegroupConfig", "POST " + group + "/update-config", wire.Op(s.updateNodegroupConfig)},
		{"UpdateNodegroupVersion", "POST " + group + "/update-version", wire.Op(s.updateNodegroupVersion)},

		{"CreateAddon", "POST " + addons, wire.Op(s.createAddon)},
		{"ListAddons", "GET " + addons, wire.Op(s.listAddons)},
		{"DescribeAddon", "GET " + addon, wire.Op(s.describeAddon)},
		{"DeleteAddon", "DELETE " + addon, wire.Op(s.deleteAddon)},
		{"UpdateAddon", "POST " + addon + "/update", wire.Op(s.updateAddon)},
		{"DescribeAddonVersions", "GET /addons/supported-versions", wire.Op(s.describeAddonVersions)},

		{"CreatePodIdentityAssociation", "POST " + associations, wire.Op(s.createAssociation)},
		{"ListPodIdentityAssociations", "GET " + associations, wire.Op(s.listAssociations)},
		{"DescribePodIdentityAssociation", "GET " + association, wire.Op(s.describeAssociation)},
		{"UpdatePodIdentityAssociation", "POST " + association, wire.Op(s.updateAssociation)},
		{"DeletePodIdentityAssociation", "DELETE " + association, wire.Op(s.deleteAssociation)},
	}
}
