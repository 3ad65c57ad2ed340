package controller_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const dbInstanceType = "AWS::RDS::DBInstance"

// TestRDSInstance follows a database through its lifecycle. RDS keeps its password, and it is deleted
// only after its protection was turned off.
func TestRDSInstance(t *testing.T) {
	w := newSuite(t, nil)
	w.apply("{kind: RDSInstance, metadata: {name: orders}, spec: {engine: postgres, instanceClass: db.t4g.micro, allocatedStorage: 20, databaseName: orders}}")
	obj := w.ready("RDSInstance", "orders")
	live := w.live(dbInstanceType, "orders")
	for property, want := range map[string]any{
		"StorageEncrypted": true, "PubliclyAccessible": false, "ManageMasterUserPassword": true, "DeletionProtection": true,
		"MasterUserPassword": nil, "BackupRetentionPeriod": 7,
	} {
		if got := live[property]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", property, got, want)
		}
	}
	service := &corev1.Service{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "orders"}, service); err != nil {
		t.Fatal(err)
	}
	if address := nested(obj, "status", "output", "address"); service.Spec.ExternalName != address || address == nil {
		t.Errorf("the Service stands for %q, the output is %v", service.Spec.ExternalName, address)
	}
	data, err := w.configMap("orders")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(data["masterUserSecretARN"], "arn:aws:secretsmanager:eu-west-1:123456789012:secret:rds!db-") || data["masterUsername"] != "dbadmin" ||
		data["databaseName"] != "orders" ||
		data["serviceName"] != "orders" || data["port"] != "5432" {
		t.Errorf("the ConfigMap holds %v", data)
	}
	if template := w.template("RDSInstance", "orders"); !strings.Contains(template, `"DeletionPolicy":"Snapshot"`) {
		t.Errorf("the template takes no final snapshot: %s", template)
	}
	w.change("RDSInstance", "orders", `{"spec":{"allocatedStorage":40}}`)
	w.becomes(dbInstanceType, "orders", "AllocatedStorage", "40")
	w.change("RDSInstance", "orders", `{"spec":{"deletionProtection":false}}`)
	w.becomes(dbInstanceType, "orders", "DeletionProtection", false)
	w.ready("RDSInstance", "orders")
	w.delete("RDSInstance", "orders")
	if live := w.live(dbInstanceType, "orders"); live != nil {
		t.Errorf("the database is left: %v", live)
	}
	if stacks := w.stacks(); len(stacks) != 0 {
		t.Errorf("stacks are left: %v", stacks)
	}
}

// TestProtectedRDSInstanceOutlivesItsObject tests that a database whose object is deleted by mistake
// stays, that the condition says why, and that the object can be released without the database.
func TestProtectedRDSInstanceOutlivesItsObject(t *testing.T) {
	w := newSuite(t, nil)
	w.apply("{kind: RDSInstance, metadata: {name: precious}, spec: {engine: mysql, instanceClass: db.t4g.micro, allocatedStorage: 20}}")
	obj := w.ready("RDSInstance", "precious")
	if err := w.client.Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	w.eventually("the condition says that the database is protected", func() error {
		obj, err := w.get("RDSInstance", "precious")
		if err != nil {
			return err
		}
		if c := findCondition(obj, "Ready"); c == nil || !strings.Contains(c.Message, "disable deletion protection") {
			return fmt.Errorf("the condition is %+v", c)
		}
		return nil
	})
	w.change("RDSInstance", "precious", `{"metadata":{"annotations":{"service-operator.aws/deletion-policy":"retain"}}}`)
	w.gone("RDSInstance", "precious")
	if live := w.live(dbInstanceType, "precious"); live == nil {
		t.Error("the database is deleted")
	}
}
