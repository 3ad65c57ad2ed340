package kms

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// A ciphertext consists of a version, the key's ID, a nonce and the output of AES-GCM.
const (
	blobVersion   = 1
	maxPlaintext  = 4096
	maxCiphertext = 6144
)

func random(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.Read(data) // never fails, see crypto/rand
	return data
}

func (k *key) aead() (cipher.AEAD, error) {
	block, err := aes.NewCipher(k.material[:])
	if err != nil {
		return nil, fmt.Errorf("making the cipher: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("making the cipher: %w", err)
	}
	return aead, nil
}

// authenticated returns the encryption context in a canonical order.
func authenticated(values map[string]string) []byte {
	var data []byte
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, text := range []string{name, values[name]} {
			data = binary.BigEndian.AppendUint32(data, uint32(len(text))) //nolint:gosec // bounded by the request
			data = append(data, text...)
		}
	}
	return data
}

func (k *key) seal(plaintext []byte, values map[string]string) ([]byte, error) {
	if err := k.usable(); err != nil {
		return nil, err
	}
	aead, err := k.aead()
	if err != nil {
		return nil, err
	}
	id, err := uuid.Parse(k.id)
	if err != nil {
		return nil, fmt.Errorf("reading the key's id: %w", err)
	}
	nonce := random(aead.NonceSize())
	blob := append([]byte{blobVersion}, id[:]...)
	blob = append(blob, nonce...)
	return aead.Seal(blob, nonce, plaintext, authenticated(values)), nil
}

func invalidCiphertext() error {
	return &wire.Error{Code: "InvalidCiphertextException", Status: 400}
}

// keyOf returns the ID of the key of a ciphertext.
func keyOf(blob []byte) (string, error) {
	if len(blob) < 1+16+12+16 || blob[0] != blobVersion {
		return "", invalidCiphertext()
	}
	id, err := uuid.FromBytes(blob[1:17])
	if err != nil {
		return "", invalidCiphertext()
	}
	return id.String(), nil
}

func (k *key) open(blob []byte, values map[string]string) ([]byte, error) {
	if err := k.usable(); err != nil {
		return nil, err
	}
	aead, err := k.aead()
	if err != nil {
		return nil, err
	}
	plaintext, err := aead.Open(nil, blob[17:29], blob[29:], authenticated(values))
	if err != nil {
		return nil, invalidCiphertext()
	}
	return plaintext, nil
}

func (s *Service) encrypt(ctx context.Context, in *kms.EncryptInput) (out *kms.EncryptOutput, err error) {
	if len(in.Plaintext) == 0 {
		return nil, validation(
			"1 validation error detected: Value at 'plaintext' failed to satisfy constraint: Member must have length greater than or equal to 1",
		)
	}
	if len(in.Plaintext) > maxPlaintext {
		return nil, validation(
			"1 validation error detected: Value at 'plaintext' failed to satisfy constraint: Member must have length less than or equal to %d",
			maxPlaintext,
		)
	}
	err = s.withKey(encrypting(ctx, in.EncryptionContext), in.KeyId, func(_ *region, k *key) error {
		blob, err := k.seal(in.Plaintext, in.EncryptionContext)
		out = &kms.EncryptOutput{KeyId: &k.arn, CiphertextBlob: blob, EncryptionAlgorithm: types.EncryptionAlgorithmSpecSymmetricDefault}
		return err
	})
	return out, err
}

// unseal decrypts with the ciphertext's key, which must be the requested key, if any.
func (s *Service) unseal(
	ctx context.Context, blob []byte, asked *string, values map[string]string,
) (plaintext []byte, arn string, err error) {
	ctx = encrypting(ctx, values)
	if len(blob) > maxCiphertext {
		return nil, "", validation(
			"1 validation error detected: Value at 'ciphertextBlob' failed to satisfy constraint: Member must have length less than or equal to %d",
			maxCiphertext,
		)
	}
	id, err := keyOf(blob)
	if err != nil {
		return nil, "", err
	}
	if asked != nil {
		err := s.withKey(ctx, asked, func(_ *region, k *key) error {
			if k.id != id {
				return wire.Errorf(
					"IncorrectKeyException", "The key ID in the request does not identify a CMK that can perform this operation.",
				)
			}
			return nil
		})
		if err != nil {
			return nil, "", err
		}
		if where, _ := locate(wire.TargetFrom(ctx), *asked); where != wire.TargetFrom(ctx) {
			id = where.ARN(s.partition(), "kms", "key/"+id)
		}
	}
	err = s.withKey(ctx, &id, func(_ *region, k *key) error {
		arn = k.arn
		plaintext, err = k.open(blob, values)
		return err
	})
	return plaintext, arn, err
}

func (s *Service) decrypt(ctx context.Context, in *kms.DecryptInput) (*kms.DecryptOutput, error) {
	plaintext, arn, err := s.unseal(ctx, in.CiphertextBlob, in.KeyId, in.EncryptionContext)
	if err != nil {
		return nil, err
	}
	return &kms.DecryptOutput{KeyId: &arn, Plaintext: plaintext, EncryptionAlgorithm: types.EncryptionAlgorithmSpecSymmetricDefault}, nil
}

func (s *Service) reEncrypt(ctx context.Context, in *kms.ReEncryptInput) (out *kms.ReEncryptOutput, err error) {
	plaintext, source, err := s.unseal(acting(ctx, "ReEncryptFrom"), in.CiphertextBlob, in.SourceKeyId, in.SourceEncryptionContext)
	if err != nil {
		return nil, err
	}
	destination := encrypting(acting(ctx, "ReEncryptTo"), in.DestinationEncryptionContext)
	err = s.withKey(destination, in.DestinationKeyId, func(_ *region, k *key) error {
		blob, err := k.seal(plaintext, in.DestinationEncryptionContext)
		out = &kms.ReEncryptOutput{
			CiphertextBlob: blob, KeyId: &k.arn, SourceKeyId: &source,
			SourceEncryptionAlgorithm:      types.EncryptionAlgorithmSpecSymmetricDefault,
			DestinationEncryptionAlgorithm: types.EncryptionAlgorithmSpecSymmetricDefault,
		}
		return err
	})
	return out, err
}

func (s *Service) generateDataKey(ctx context.Context, in *kms.GenerateDataKeyInput) (out *kms.GenerateDataKeyOutput, err error) {
	size := 32
	switch {
	case in.KeySpec != "" && in.NumberOfBytes != nil, in.KeySpec == "" && in.NumberOfBytes == nil:
		return nil, validation("Please specify either number of bytes or key spec.")
	case in.KeySpec == types.DataKeySpecAes128:
		size = 16
	case in.NumberOfBytes != nil:
		size = int(*in.NumberOfBytes)
	}
	if size < 1 || size > 1024 {
		return nil, validation(
			"1 validation error detected: Value '%d' at 'numberOfBytes' failed to satisfy constraint: Member must have value between 1 and 1024",
			size,
		)
	}
	err = s.withKey(encrypting(ctx, in.EncryptionContext), in.KeyId, func(_ *region, k *key) error {
		plaintext := random(size)
		blob, err := k.seal(plaintext, in.EncryptionContext)
		out = &kms.GenerateDataKeyOutput{KeyId: &k.arn, Plaintext: plaintext, CiphertextBlob: blob}
		return err
	})
	return out, err
}

func (s *Service) generateDataKeyWithoutPlaintext(
	ctx context.Context, in *kms.GenerateDataKeyWithoutPlaintextInput,
) (*kms.GenerateDataKeyWithoutPlaintextOutput, error) {
	out, err := s.generateDataKey(ctx, &kms.GenerateDataKeyInput{
		KeyId: in.KeyId, KeySpec: in.KeySpec, NumberOfBytes: in.NumberOfBytes, EncryptionContext: in.EncryptionContext,
	})
	if err != nil {
		return nil, err
	}
	return &kms.GenerateDataKeyWithoutPlaintextOutput{KeyId: out.KeyId, CiphertextBlob: out.CiphertextBlob}, nil
}

func (s *Service) generateRandom(_ context.Context, in *kms.GenerateRandomInput) (*kms.GenerateRandomOutput, error) {
	n := aws.ToInt32(in.NumberOfBytes)
	if n < 1 || n > 1024 {
		return nil, validation(
			"1 validation error detected: Value '%d' at 'numberOfBytes' failed to satisfy constraint: Member must have value between 1 and 1024",
			n,
		)
	}
	return &kms.GenerateRandomOutput{Plaintext: random(int(n))}, nil
}
