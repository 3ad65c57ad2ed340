package controller_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestOpenSearchDomain follows a domain through its lifecycle.
func TestOpenSearchDomain(t *testing.T) {
	w := newSuite(t, nil)
	const domainType = "AWS::OpenSearchService::Domain"
	w.apply("{kind: OpenSearchDomain, metadata: {name: products}, spec: {instanceType: t3.small.search, volumeSize: 10}}")
	obj := w.ready("OpenSearchDomain", "products")
	live := w.live(domainType, "products")
	for property, want := range map[string]any{
		"EncryptionAtRestOptions": map[string]any{"Enabled": true}, "NodeToNodeEncryptionOptions": map[string]any{"Enabled": true},
		"AccessPolicies": nil, "VPCOptions": nil,
		"ClusterConfig": map[string]any{
			"InstanceType": "t3.small.search", "InstanceCount": 1, "ZoneAwarenessEnabled": false, "DedicatedMasterEnabled": false,
		},
	} {
		if got := live[property]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", property, got, want)
		}
	}
	data, err := w.configMap("products")
	if err != nil {
		t.Fatal(err)
	}
	if endpoint := nested(obj, "status", "output", "endpoint"); endpoint == nil || data["url"] != fmt.Sprintf("https://%v", endpoint) ||
		!strings.HasSuffix(data["domainARN"], ":domain/products") {
		t.Errorf("the ConfigMap holds %v, the output is %v", data, nested(obj, "status", "output"))
	}
	w.change("OpenSearchDomain", "products", `{"spec":{"volumeSize":20}}`)
	w.becomes(domainType, "products", "EBSOptions", map[string]any{"EBSEnabled": true, "VolumeType": "gp3", "VolumeSize": 20})
	w.ready("OpenSearchDomain", "products")
	w.delete("OpenSearchDomain", "products")
	if live := w.live(domainType, "products"); live != nil {
		t.Errorf("the domain is left: %v", live)
	}
}
