package controller_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// live returns the properties of a resource in AWS, or nothing if it does not exist.
func (w *suite) live(resourceType, physicalID string) map[string]any {
	w.t.Helper()
	properties, err := w.sim.Read(w.t.Context(), resourceType, resource.Request{Account: account, Region: region, PhysicalID: physicalID})
	if missing, ok := errors.AsType[*resource.Error](err); ok && missing.Code == resource.NotFound {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return properties
}

// becomes waits until a resource in AWS has a property with a value.
func (w *suite) becomes(resourceType, physicalID, property string, want any) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%s of %s is %v", property, physicalID, want), func() error {
		if got := w.live(resourceType, physicalID)[property]; fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("it is %v", got)
		}
		return nil
	})
}

// TestAWSSecret follows a generated secret, which waits for its key, through its lifecycle.
func TestAWSSecret(t *testing.T) {
	w := newSuite(t, nil)
	const resourceType = "AWS::SecretsManager::Secret"
	w.apply(`
kind: AWSSecret
metadata: {name: app-credentials}
spec:
  encryptionKeyName: application
  generate: {length: 40, excludePunctuation: true, template: '{"username": "app"}', key: password}
`)
	c := w.condition("AWSSecret", "app-credentials", "ReferencesResolved", "False", "ReferenceNotFound")
	if !strings.Contains(c.Message, "EncryptionKey application") {
		t.Errorf("the message is %q", c.Message)
	}
	w.apply("{kind: EncryptionKey, metadata: {name: application}, spec: {}}")
	obj := w.ready("AWSSecret", "app-credentials")
	arn := fmt.Sprint(nested(obj, "status", "output", "secretARN"))
	if !strings.HasPrefix(arn, "arn:aws:secretsmanager:eu-west-1:123456789012:secret") {
		t.Errorf("output.secretARN is %s", arn)
	}
	data, err := w.configMap("app-credentials")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"secretARN": arn, "secretName": "app-credentials", "region": region}, data); diff != "" {
		t.Errorf("the ConfigMap differs (-want +got):\n%s", diff)
	}
	key, err := w.get("EncryptionKey", "application")
	if err != nil {
		t.Fatal(err)
	}
	live := w.live(resourceType, arn)
	if live["KmsKeyId"] != nested(key, "status", "output", "keyARN") || live["SecretString"] != nil {
		t.Errorf("the secret has the properties %v, want the key %v and no value", live, nested(key, "status", "output", "keyARN"))
	}
	w.change("AWSSecret", "app-credentials", `{"spec":{"description":"changed"}}`)
	w.becomes(resourceType, arn, "Description", "changed")
	obj = w.ready("AWSSecret", "app-credentials")
	if got := nested(obj, "status", "output", "secretARN"); got != arn {
		t.Errorf("output.secretARN was %s and is %v", arn, got)
	}
	w.delete("AWSSecret", "app-credentials")
	if live := w.live(resourceType, arn); live != nil {
		t.Errorf("the secret is left: %v", live)
	}
	w.delete("EncryptionKey", "application")
	if stacks := w.stacks(); len(stacks) != 0 {
		t.Errorf("stacks are left: %v", stacks)
	}
}
