package controller_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
)

// TestEncryptionKey follows a key through its lifecycle: it rotates, encrypts under its alias, and is
// scheduled for deletion with its object.
func TestEncryptionKey(t *testing.T) {
	w := newSuite(t, nil)
	keys := kms.NewFromConfig(w.awsConfig())
	w.apply("{kind: EncryptionKey, metadata: {name: application}}")
	obj := w.ready("EncryptionKey", "application")
	id, alias := fmt.Sprint(nested(obj, "status", "output", "keyID")), "alias/application"
	data, err := w.configMap("application")
	if err != nil {
		t.Fatal(err)
	}
	arn := "arn:aws:kms:eu-west-1:123456789012:key/" + id
	if data["keyID"] != id || data["keyARN"] != arn || data["aliasName"] != alias || data["region"] != region {
		t.Errorf("the ConfigMap holds %v", data)
	}
	sealed, err := keys.Encrypt(t.Context(), &kms.EncryptInput{KeyId: &alias, Plaintext: []byte("hello")})
	if err != nil || aws.ToString(sealed.KeyId) != arn {
		t.Fatalf("the alias encrypts with %v, %v", sealed, err)
	}
	rotates := func(want bool) error {
		out, err := keys.GetKeyRotationStatus(t.Context(), &kms.GetKeyRotationStatusInput{KeyId: &id})
		if err == nil && out.KeyRotationEnabled != want {
			err = fmt.Errorf("rotation is %t", out.KeyRotationEnabled)
		}
		return err
	}
	if err := rotates(true); err != nil {
		t.Errorf("without a choice: %v", err)
	}

	w.change("EncryptionKey", "application", `{"spec":{"rotation":false,"pendingWindowDays":7}}`)
	w.eventually("the key does not rotate", func() error { return rotates(false) })
	w.ready("EncryptionKey", "application")

	w.delete("EncryptionKey", "application")
	out, err := keys.DescribeKey(t.Context(), &kms.DescribeKeyInput{KeyId: &id})
	if err != nil {
		t.Fatal(err)
	}
	// The simulator's clock starts with the test, whose duration is much less than a day.
	days := time.Until(aws.ToTime(out.KeyMetadata.DeletionDate)) / (24 * time.Hour)
	if out.KeyMetadata.KeyState != types.KeyStatePendingDeletion || days < 6 || days > 7 {
		t.Errorf("the key is %s and is deleted in %d days", out.KeyMetadata.KeyState, days)
	}
	_, err = keys.DescribeKey(t.Context(), &kms.DescribeKeyInput{KeyId: &alias})
	if _, ok := errors.AsType[*types.NotFoundException](err); !ok {
		t.Errorf("the alias is left: %v", err)
	}
}
