package controller_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestAuroraCluster follows a cluster with two instances through its lifecycle.
func TestAuroraCluster(t *testing.T) {
	w := newSuite(t, nil)
	const clusterType = "AWS::RDS::DBCluster"
	w.apply("{kind: AuroraCluster, metadata: {name: payments}, spec: {engine: aurora-postgresql, databaseName: payments}}")
	obj := w.ready("AuroraCluster", "payments")
	live := w.live(clusterType, "payments")
	for property, want := range map[string]any{
		"StorageEncrypted": true, "ManageMasterUserPassword": true, "DeletionProtection": true, "MasterUserPassword": nil,
		"ServerlessV2ScalingConfiguration": map[string]any{"MinCapacity": 0.5, "MaxCapacity": 4},
	} {
		if got := live[property]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", property, got, want)
		}
	}
	instance := w.live(dbInstanceType, "payments-0")
	if instance["PubliclyAccessible"] != false || instance["DBClusterIdentifier"] != "payments" {
		t.Errorf("the instance is %v", instance)
	}
	for name, output := range map[string]string{"payments": "address", "payments-reader": "readerAddress"} {
		service := &corev1.Service{}
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, service); err != nil {
			t.Fatal(err)
		}
		if address := nested(obj, "status", "output", output); service.Spec.ExternalName != address || address == nil {
			t.Errorf("the Service %s stands for %q, the output is %v", name, service.Spec.ExternalName, address)
		}
	}
	data, err := w.configMap("payments")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(data["masterUserSecretARN"], "arn:aws:secretsmanager:eu-west-1:123456789012:secret:rds!cluster-") || data["readerServiceName"] != "payments-reader" ||
		data["databaseName"] != "payments" {
		t.Errorf("the ConfigMap holds %v", data)
	}
	w.change("AuroraCluster", "payments", `{"spec":{"instances":2,"deletionProtection":false}}`)
	w.becomes(clusterType, "payments", "DeletionProtection", false)
	w.ready("AuroraCluster", "payments")
	if w.live(dbInstanceType, "payments-1") == nil {
		t.Error("there is no second instance")
	}
	w.delete("AuroraCluster", "payments")
	if cluster, instance := w.live(clusterType, "payments"), w.live(dbInstanceType, "payments-0"); cluster != nil || instance != nil {
		t.Errorf("resources are left: %v %v", cluster, instance)
	}
	if stacks := w.stacks(); len(stacks) != 0 {
		t.Errorf("stacks are left: %v", stacks)
	}
}
