package kms_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/kms"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

func start(t *testing.T) (*awskms.Client, *testclock.FakeClock) {
	t.Helper()
	clk := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	service := kms.New(&resource.Env{Clock: clk}).Service()
	return awskms.NewFromConfig(wiretest.Serve(t, wire.NewRouter([]*wire.Service{service}, nil, clk))), clk
}

func TestEncryption(t *testing.T) {
	c, _ := start(t)
	ctx := t.Context()
	made, err := c.CreateKey(ctx, &awskms.CreateKeyInput{Description: aws.String("d")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateAlias(ctx, &awskms.CreateAliasInput{AliasName: aws.String("alias/a"), TargetKeyId: made.KeyMetadata.KeyId}); err != nil {
		t.Fatal(err)
	}
	sealed, err := c.Encrypt(ctx, &awskms.EncryptInput{
		KeyId: aws.String("alias/a"), Plaintext: []byte("hello"), EncryptionContext: map[string]string{"k": "v"},
	})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := c.Decrypt(
		ctx, &awskms.DecryptInput{CiphertextBlob: sealed.CiphertextBlob, EncryptionContext: map[string]string{"k": "v"}},
	)
	if err != nil || string(opened.Plaintext) != "hello" || *opened.KeyId != *made.KeyMetadata.Arn {
		t.Errorf("decrypt: %+v %v", opened, err)
	}
	_, err = c.Decrypt(ctx, &awskms.DecryptInput{CiphertextBlob: sealed.CiphertextBlob, EncryptionContext: map[string]string{"k": "w"}})
	wiretest.WantCode(t, err, "InvalidCiphertextException")
	data, err := c.GenerateDataKey(ctx, &awskms.GenerateDataKeyInput{KeyId: made.KeyMetadata.Arn, KeySpec: types.DataKeySpecAes256})
	if err != nil || len(data.Plaintext) != 32 {
		t.Errorf("data key: %+v %v", data, err)
	}
	if _, err := c.DescribeKey(ctx, &awskms.DescribeKeyInput{KeyId: aws.String("alias/aws/sqs")}); err != nil {
		t.Errorf("AWS's own key: %v", err)
	}
}

// https://docs.aws.amazon.com/kms/latest/developerguide/key-state.html
func TestKeyStates(t *testing.T) {
	c, clk := start(t)
	ctx := t.Context()
	made, err := c.CreateKey(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := made.KeyMetadata.KeyId
	use := func() error {
		_, err := c.Encrypt(ctx, &awskms.EncryptInput{KeyId: id, Plaintext: []byte("x")})
		return err
	}
	if _, err := c.DisableKey(ctx, &awskms.DisableKeyInput{KeyId: id}); err != nil {
		t.Fatal(err)
	}
	wiretest.WantCode(t, use(), "DisabledException")
	if _, err := c.ScheduleKeyDeletion(ctx, &awskms.ScheduleKeyDeletionInput{KeyId: id, PendingWindowInDays: aws.Int32(7)}); err != nil {
		t.Fatal(err)
	}
	wiretest.WantCode(t, use(), "KMSInvalidStateException")
	clk.Step(7 * 24 * time.Hour)
	wiretest.WantCode(t, use(), "NotFoundException")
}

func TestCloudFormationKeys(t *testing.T) {
	service := kms.New(&resource.Env{Clock: testclock.NewFakeClock(time.Unix(0, 0))})
	providers := service.Providers()
	r := resource.Request{
		Account:    "1",
		Region:     "r",
		Properties: map[string]any{"EnableKeyRotation": "true", "KeyPolicy": map[string]any{"Version": "2012-10-17"}},
	}
	k, err := providers["AWS::KMS::Key"].Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	a, err := providers["AWS::KMS::Alias"].Create(t.Context(), resource.Request{
		Account: "1", Region: "r", Properties: map[string]any{"AliasName": "alias/x", "TargetKeyId": k.PhysicalID},
	})
	if err != nil || a.PhysicalID != "alias/x" {
		t.Fatalf("alias: %+v %v", a, err)
	}
	r.PhysicalID = k.PhysicalID
	live, err := providers["AWS::KMS::Key"].Read(t.Context(), r)
	if err != nil || live["EnableKeyRotation"] != true {
		t.Errorf("read: %v %v", live, err)
	}
	if err := providers["AWS::KMS::Key"].Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var gone *resource.Error
	if _, err := providers["AWS::KMS::Key"].Read(t.Context(), r); !errors.As(err, &gone) || gone.Code != resource.NotFound {
		t.Errorf("after deletion: %v", err)
	}
}
