package kops

import (
	"os"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/translation"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// tables are the rules by the type of kops.
var tables = map[string]fields{
	"ClusterSpec": clusterFields, "InstanceGroupSpec": groupFields, "ClusterSubnetSpec": subnetFields, "TopologySpec": topologyFields,
	"BastionSpec": bastionFields, "AccessSpec": apiFields, "LoadBalancerAccessSpec": balancerFields, "IAMSpec": iamFields,
	"ServiceAccountIssuerDiscoveryConfig": issuerFields, "EtcdClusterSpec": etcdFields, "EtcdMemberSpec": memberFields,
	"NetworkingSpec": networks, "RollingUpdate": rollingFields, "IAMProfileSpec": profileFields, "InstanceMetadataOptions": metadataFields,
	"MixedInstancesPolicySpec": mixedFields, "VolumeSpec": volumeFields, "UserData": userDataFields, "KubeDNSConfig": dnsServiceFields, "NodeLocalDNSConfig": nodeLocalDNSFields,
	"CloudConfiguration": cloudFields, "FileAssetSpec": fileAssetFields, "HookSpec": hookFields,
	"KubeletConfigSpec": componentTable("kubelet", kubeletFlags), "KubeAPIServerConfig": componentTable("kubeAPIServer", apiServerFlags),
	"KubeControllerManagerConfig": componentTable("kubeControllerManager", controllerManagerFlags),
	"KubeSchedulerConfig":         componentTable("kubeScheduler", schedulerFlags),
}

func TestEveryFieldOfKopsHasARule(t *testing.T) {
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
		table, ok := tables[name]
		if !ok {
			t.Errorf("there are no rules for %s", name)
		}
		for field := range strings.FieldsSeq(list) {
			if rule, ok := table[field]; !ok || rule.Handling != translation.Translated && rule.Why == "" {
				t.Errorf("%s.%s has no rule, or one without a reason", name, field)
			}
		}
	}
	for name := range tables {
		if !seen[name] {
			t.Errorf("the fields of %s are not listed", name)
		}
	}
}

// TestTranslatedFieldsAreChecked sets each field that code must translate, alone, and expects that
// the code reads it: it may refuse the field, but not report it as one without a counterpart.
func TestTranslatedFieldsAreChecked(t *testing.T) {
	const manifest = `
apiVersion: kops/v1alpha2
kind: Cluster
metadata: {name: demo.example.com}
spec: {%CLUSTER%}
---
apiVersion: kops/v1alpha2
kind: InstanceGroup
metadata: {name: masters}
spec: {role: Master}
---
apiVersion: kops/v1alpha2
kind: InstanceGroup
metadata: {name: nodes}
spec: {role: Node, %GROUP%}
`
	for kind, table := range map[string]fields{"%CLUSTER%": clusterFields, "%GROUP%": groupFields} {
		for field, rule := range table {
			if rule.Handling != translation.Translated || field == "role" {
				continue
			}
			text := strings.ReplaceAll(manifest, kind, field+": {}")
			text = strings.NewReplacer("%CLUSTER%", "", "%GROUP%", "").Replace(text)
			text = strings.ReplaceAll(text, field+": {}", field+": given") // text is no empty value
			documents, err := yamltree.Parse("demo.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = Translate(documents, Options{Strict: true})
			if err == nil || strings.Contains(err.Error(), "spec."+field+": given: it has no counterpart for groups of this role") {
				t.Errorf("%s is not checked: %v", field, err)
			}
		}
	}
}
