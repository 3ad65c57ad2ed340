package fake

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// useKey encrypts and decrypts with the key of a slot, as its KMS plugin does before the API server
// starts. The objects of the API are in memory, and never encrypted.
func useKey(ctx context.Context, config aws.Config, with *bundle.Encryption) error {
	if with == nil {
		return nil
	}
	keys := kms.NewFromConfig(config)
	sealed, err := keys.Encrypt(ctx, &kms.EncryptInput{KeyId: &with.KeyARN, Plaintext: []byte("seed"), EncryptionContext: with.Context})
	if err != nil {
		return fmt.Errorf("kms:Encrypt with the key %s: %w", with.KeyARN, err)
	}
	_, err = keys.Decrypt(ctx, &kms.DecryptInput{
		KeyId: &with.KeyARN, CiphertextBlob: sealed.CiphertextBlob, EncryptionContext: with.Context,
	})
	if err != nil {
		return fmt.Errorf("kms:Decrypt with the key %s: %w", with.KeyARN, err)
	}
	return nil
}

// encrypts refuses a slot that could not read what others write, or that writes what others could not read. The objects
// of the API are never encrypted, so nothing else would notice.
func (c *cluster) encrypts(slot int, with *bundle.Encryption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	reads, writes := with != nil, with != nil && with.Added != bundle.AddedReadable
	if !reads && c.encrypted {
		return errors.New("the data of etcd is encrypted, and this bundle does not read that")
	}
	for other, can := range c.reads {
		if _, runs := c.slots[other]; runs && other != slot && writes && !can {
			return fmt.Errorf("the data of etcd is in plain text, and slot %d does not read what this slot encrypts", other)
		}
	}
	c.reads[slot], c.encrypted = reads, c.encrypted || writes
	return nil
}
