package ec2

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/md5" //nolint:gosec // EC2's fingerprint of a public key
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/crypto/ssh"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// keyPair is a named public SSH key.
type keyPair struct {
	id, name, public, fingerprint string
	kind                          types.KeyType
	created                       time.Time
}

func (s *Service) keyPairOperations() map[string]wire.Operation {
	return map[string]wire.Operation{
		"CreateKeyPair":    wire.Op(s.createKeyPair),
		"DeleteKeyPair":    wire.Op(s.deleteKeyPair),
		"DescribeKeyPairs": wire.Op(s.describeKeyPairs),
		"ImportKeyPair":    wire.Op(s.importKeyPair),
	}
}

// fingerprint returns the fingerprint of a public key: the MD5 hash of the DER form of an imported
// RSA key, or the SHA-256 hash that SSH shows for an ED25519 key.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/verify-keys.html
func fingerprint(public string) (string, types.KeyType, error) {
	malformed := wire.Errorf("InvalidKey.Format", "Key is not in valid OpenSSH public key format")
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(public))
	if err != nil {
		return "", "", malformed
	}
	switch key.Type() {
	case ssh.KeyAlgoED25519:
		sum := sha256.Sum256(key.Marshal())
		return base64.StdEncoding.EncodeToString(sum[:]), types.KeyTypeEd25519, nil
	case ssh.KeyAlgoRSA:
		holder, ok := key.(ssh.CryptoPublicKey)
		if !ok {
			return "", "", malformed
		}
		der, err := x509.MarshalPKIXPublicKey(holder.CryptoPublicKey())
		if err != nil {
			return "", "", malformed
		}
		sum := md5.Sum(der) //nolint:gosec // EC2's fingerprint of a public key
		return colons(sum[:]), types.KeyTypeRsa, nil
	default:
		return "", "", malformed
	}
}

func colons(sum []byte) string {
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = hex.EncodeToString([]byte{b})
	}
	return strings.Join(parts, ":")
}

// addKeyPair stores a public key. The caller holds the lock.
func (s *Service) addKeyPair(r *region, name, public string, tags map[string]string) (*keyPair, error) {
	switch _, ok := r.keyPairs[name]; {
	case name == "":
		return nil, missing("KeyName")
	case ok:
		return nil, wire.Errorf("InvalidKeyPair.Duplicate", "The keypair already exists")
	}
	digits, kind, err := fingerprint(public)
	if err != nil {
		return nil, err
	}
	k := &keyPair{
		id:          newID("key"),
		name:        name,
		public:      strings.TrimSpace(public),
		fingerprint: digits,
		kind:        kind,
		created:     s.env.Clock.Now(),
	}
	r.keyPairs[name] = k
	s.tags(r.Target).Register(k.id, types.ResourceTypeKeyPair, tags)
	return k, nil
}

func (s *Service) removeKeyPair(r *region, k *keyPair) {
	delete(r.keyPairs, k.name)
	s.tags(r.Target).Forget(k.id)
}

func (s *Service) importKeyPair(ctx context.Context, in *ec2.ImportKeyPairInput) (*ec2.ImportKeyPairOutput, error) {
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeKeyPair)
	if err != nil {
		return nil, err
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	k, err := s.addKeyPair(r, aws.ToString(in.KeyName), string(in.PublicKeyMaterial), tags)
	if err != nil {
		return nil, err
	}
	return &ec2.ImportKeyPairOutput{
		KeyFingerprint: &k.fingerprint,
		KeyName:        &k.name,
		KeyPairId:      &k.id,
		Tags:           s.tags(r.Target).List(k.id),
	}, nil
}

// newSSHKey generates a key pair and returns the public key in SSH's format and the private key.
func newSSHKey(kind types.KeyType) (public, private string, err error) {
	var block *pem.Block
	var half any
	if kind == types.KeyTypeEd25519 {
		publicKey, privateKey, _ := ed25519.GenerateKey(rand.Reader) // never fails, see crypto/rand
		half = publicKey
		if block, err = ssh.MarshalPrivateKey(privateKey, ""); err != nil {
			return "", "", wire.Errorf("InternalError", "making a key: %v", err).WithStatus(500)
		}
	} else {
		privateKey, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return "", "", wire.Errorf("InternalError", "making a key: %v", err).WithStatus(500)
		}
		half = &privateKey.PublicKey
		block = &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(privateKey)}
	}
	key, err := ssh.NewPublicKey(half)
	if err != nil {
		return "", "", wire.Errorf("InternalError", "making a key: %v", err).WithStatus(500)
	}
	return string(ssh.MarshalAuthorizedKey(key)), string(pem.EncodeToMemory(block)), nil
}

func (s *Service) createKeyPair(ctx context.Context, in *ec2.CreateKeyPairInput) (*ec2.CreateKeyPairOutput, error) {
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeKeyPair)
	if err != nil {
		return nil, err
	}
	if in.KeyFormat != "" && in.KeyFormat != types.KeyFormatPem {
		return nil, unsupported("KeyFormat")
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	public, private, err := newSSHKey(cmp.Or(in.KeyType, types.KeyTypeRsa))
	if err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	k, err := s.addKeyPair(r, aws.ToString(in.KeyName), public, tags)
	if err != nil {
		return nil, err
	}
	return &ec2.CreateKeyPairOutput{
		KeyFingerprint: &k.fingerprint, KeyName: &k.name, KeyPairId: &k.id, KeyMaterial: &private, Tags: s.tags(r.Target).List(k.id),
	}, nil
}

func (s *Service) deleteKeyPair(ctx context.Context, in *ec2.DeleteKeyPairInput) (*ec2.DeleteKeyPairOutput, error) {
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	for _, k := range r.keyPairs {
		if k.name == aws.ToString(in.KeyName) || k.id == aws.ToString(in.KeyPairId) {
			s.removeKeyPair(r, k)
			return &ec2.DeleteKeyPairOutput{Return: aws.Bool(true), KeyPairId: &k.id}, nil
		}
	}
	return &ec2.DeleteKeyPairOutput{Return: aws.Bool(true)}, nil // as EC2 does
}

func (s *Service) describeKeyPairs(ctx context.Context, in *ec2.DescribeKeyPairsInput) (*ec2.DescribeKeyPairsOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	byID := map[string]*keyPair{}
	ids := in.KeyPairIds
	for name, k := range r.keyPairs {
		byID[k.id] = k
		for _, asked := range in.KeyNames {
			if asked == name {
				ids = append(ids, k.id)
			}
		}
	}
	for _, name := range in.KeyNames {
		if _, ok := r.keyPairs[name]; !ok {
			return nil, noKeyPair(name)
		}
	}
	found, _, err := choose(s, r, choice[*keyPair]{
		items: byID, ids: ids, missing: noKeyPair, filters: in.Filters,
		fields: vpc.Fields[*keyPair]{
			"key-name":    func(k *keyPair) []string { return []string{k.name} },
			"key-pair-id": func(k *keyPair) []string { return []string{k.id} },
			"fingerprint": func(k *keyPair) []string { return []string{k.fingerprint} },
		},
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeKeyPairsOutput{KeyPairs: []types.KeyPairInfo{}}
	for _, k := range found {
		info := types.KeyPairInfo{
			KeyName: &k.name, KeyPairId: &k.id, KeyFingerprint: &k.fingerprint, KeyType: k.kind, CreateTime: &k.created,
			Tags: s.tags(r.Target).List(k.id),
		}
		if aws.ToBool(in.IncludePublicKey) {
			info.PublicKey = &k.public
		}
		out.KeyPairs = append(out.KeyPairs, info)
	}
	return out, nil
}
