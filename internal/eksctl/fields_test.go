package eksctl

import (
	"os"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/translation"
)

// tables are the rules by the definition of eksctl's schema.
var tables = map[string]translation.Fields{
	"ClusterConfig": clusterFields, "ClusterMeta": metaFields, "AccessConfig": accessFields, "AccessEntry": entryFields,
	"AccessPolicy": policyFields, "AccessScope": scopeFields, "Addon": addonFields, "AddonsConfig": addonsFields,
	"AutoModeConfig": autoModeFields, "ClusterCloudWatch": watchFields, "ClusterCloudWatchLogging": loggingFields,
	"ClusterEndpoints": endpointFields, "ClusterIAM": iamFields, "ClusterNAT": natFields, "ClusterSubnets": subnetsFields,
	"AZSubnetSpec": subnetFields, "ClusterVPC": vpcFields, "ControlPlaneScalingConfig": scalingFields,
	"KubernetesNetworkConfig": networkFields, "ManagedNodeGroup": managedFields, "NodeGroup": unmanagedFields,
	"NodeGroupIAM": nodeIAMFields, "NodeGroupInstancesDistribution": distributionFields, "NodeGroupNodeRepairConfig": repairFields,
	"NodeGroupSGs": securityFields, "NodeGroupSSH": sshFields, "NodeGroupTaint": taintFields, "NodeGroupUpdateConfig": updateFields,
	"PrivateCluster": privateFields, "SecretsEncryption": encryptionFields, "UpgradePolicy": upgradeFields,
	"ZonalShiftConfig": zonalFields, "IAMIdentityMapping": mappingFields, "Placement": placementFields,
	"CapacityReservation": capacityFields, "CapacityReservationTarget": targetFields, "InstanceMarketOptions": marketFields, "PodIdentityAssociation": podIdentityFields,
}

func TestEveryFieldOfEksctlHasARule(t *testing.T) {
	data, err := os.ReadFile("testdata/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		name, list, ok := strings.Cut(line, ":")
		if strings.HasPrefix(line, "#") || !ok {
			continue
		}
		seen[name] = true
		table := tables[name]
		listed := map[string]bool{}
		for field := range strings.FieldsSeq(list) {
			listed[field] = true
			if rule, ok := table[field]; !ok || rule.Handling != translation.Translated && rule.Why == "" {
				t.Errorf("%s.%s has no rule, or one without a reason", name, field)
			}
		}
		for field := range table {
			if !listed[field] {
				t.Errorf("%s.%s is not a field of eksctl", name, field)
			}
		}
	}
	for name := range tables {
		if !seen[name] {
			t.Errorf("the fields of %s are not listed", name)
		}
	}
}
