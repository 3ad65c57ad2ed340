package pki

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Suffixes of the names of a cluster's Secrets.
const (
	// SuffixCA is the suffix of the cluster's CA.
	SuffixCA = "-ca"
	// SuffixEtcdCA is the suffix of etcd's CA.
	SuffixEtcdCA = "-etcd-ca"
	// SuffixFrontProxyCA is the suffix of the front proxy's CA.
	SuffixFrontProxyCA = "-front-proxy-ca"
	// SuffixServiceAccount is the suffix of the service-account key pair.
	SuffixServiceAccount = "-sa"
	// SuffixRotation is the suffix of the next CAs, the next service-account key pair and the state of a rotation.
	SuffixRotation = "-ca-rotation"
	// SuffixKubeconfig is the suffix of the kubeconfig.
	SuffixKubeconfig = "-kubeconfig"
)

// KubeconfigKey is the key of the kubeconfig in its Secret.
const KubeconfigKey = "value"

// Ensure returns the CAs in the cluster's Secrets, and creates them if there are none. It never
// overwrites a Secret. It returns an error while Secrets of a deleted Cluster with the same name
// exist, if only some of the Secrets exist although the cluster has already been created, and if a
// Secret is invalid. The error names the Secret.
func Ensure(ctx context.Context, c client.Client, clock clock.PassiveClock, cluster *v1alpha1.Cluster) (*CAs, error) {
	if cluster.Status.ObservedGeneration <= 0 && cluster.Status.Endpoint == "" &&
		len(cluster.Status.Outputs) == 0 { // It was never reconciled.
		if made, err := makeAll(ctx, c, clock, cluster); made != nil || err != nil {
			return made, err
		}
	}
	found, err := readSecrets(ctx, c, cluster)
	if err != nil {
		return nil, err
	}
	if len(found) < len(suffixes) {
		if err := mayComplete(cluster, found); err != nil {
			return nil, err
		}
		if err := makeMissing(ctx, c, clock, cluster, found); err != nil {
			return nil, err
		}
	}
	if isRotating(found[SuffixCA]) {
		if err := readRotation(ctx, c, cluster, found); err != nil {
			return nil, err
		}
	}
	cas, err := parseSecrets(clock, cluster, found)
	if err != nil || !isPlain(cluster, found[SuffixCA]) {
		return cas, err
	}
	cas.encryption = Encryption{Stage: v1alpha1.EncryptionPlain}
	cas.encryption.set(found[SuffixCA])
	return cas, update(ctx, c, found[SuffixCA])
}

// Read returns the CAs in a cluster's Secrets, wherever these are stored. It creates and changes
// nothing. If one is missing or invalid, it returns a [BrokenError] that names the Secret.
func Read(clock clock.PassiveClock, cluster *v1alpha1.Cluster, secrets []*corev1.Secret) (*CAs, error) {
	found := map[string]*corev1.Secret{}
	for _, suffix := range slices.Concat(suffixes, []string{SuffixRotation}) {
		for _, secret := range secrets {
			if secret.Name == cluster.Name+suffix {
				found[suffix] = secret
			}
		}
		if found[suffix] == nil && (suffix != SuffixRotation || isRotating(found[SuffixCA])) {
			return nil, &BrokenError{
				Secret:  types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name + suffix},
				Problem: "is missing",
			}
		}
	}
	return parseSecrets(clock, cluster, found)
}

// Secrets returns the Secrets with the cluster's CAs, owned by the Cluster.
func (a *CAs) Secrets(cluster *v1alpha1.Cluster) []*corev1.Secret {
	var secrets []*corev1.Secret
	for _, suffix := range suffixes {
		secret := newSecret(cluster, suffix, a.secretData(suffix))
		if suffix == SuffixCA {
			initialize(cluster, secret)
		}
		secrets = append(secrets, secret)
	}
	return secrets
}

// initialize adds what the Secret with the CA of a new cluster says beside the CA.
func initialize(cluster *v1alpha1.Cluster, secret *corev1.Secret) {
	if requested(cluster) != "" {
		secret.Data[keyRotated] = []byte(requested(cluster)) // New CAs need no rotation.
	}
	if isPlain(cluster, secret) {
		Encryption{Stage: v1alpha1.EncryptionPlain}.set(secret)
	}
}

// requested returns the request for a rotation in the Cluster's spec.
func requested(cluster *v1alpha1.Cluster) string {
	if cluster.Spec.Certificates == nil {
		return ""
	}
	return cluster.Spec.Certificates.Rotate
}

// suffixes are those of the Secrets with CAs.
var suffixes = []string{SuffixCA, SuffixEtcdCA, SuffixFrontProxyCA, SuffixServiceAccount}

func readSecrets(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster) (map[string]*corev1.Secret, error) {
	found := map[string]*corev1.Secret{}
	for _, suffix := range suffixes {
		secret, err := readSecret(ctx, c, cluster, suffix)
		if err != nil {
			return nil, err
		}
		if secret != nil {
			found[suffix] = secret
		}
	}
	return found, nil
}

// readSecret returns a Secret of the cluster, nil if it does not exist.
func readSecret(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, suffix string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name + suffix}
	switch err := c.Get(ctx, key, secret); {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // nil means that there is none
	case err != nil:
		return nil, fmt.Errorf("read the Secret %s: %w", key, err)
	case ofAnother(secret, cluster):
		return nil, fmt.Errorf(
			"the Secret %s belongs to %s and is deleted with it; delete it, or remove its owner reference to use it", key, ownerOf(secret),
		)
	default:
		return secret, nil
	}
}

// ofAnother reports whether a Secret will be deleted: it is being deleted, or it belongs to another
// object, with which Kubernetes deletes it. A cluster that uses it would lose it. The other object may
// also be one whose author chose the content of the Secret (spec.writeTo of services) without the
// right to write Secrets.
func ofAnother(secret *corev1.Secret, cluster *v1alpha1.Cluster) bool {
	owner := metav1.GetControllerOf(secret)
	return secret.DeletionTimestamp != nil || owner != nil && owner.UID != cluster.UID
}

func ownerOf(secret *corev1.Secret) string {
	switch owner := metav1.GetControllerOf(secret); {
	case owner == nil:
		return "an object that was deleted"
	case owner.Kind == "Cluster":
		return "a deleted Cluster of the same name"
	default:
		return owner.Kind + " " + owner.Name
	}
}

// mayComplete returns an error if Secrets are missing that instances may have booted with. The
// first run creates four Secrets one after another and may be interrupted; until the cluster has an
// endpoint, no instance has read any.
func mayComplete(cluster *v1alpha1.Cluster, found map[string]*corev1.Secret) error {
	if cluster.Status.Endpoint == "" && len(cluster.Status.Outputs) == 0 {
		return nil
	}
	for _, suffix := range suffixes {
		if found[suffix] == nil {
			return &BrokenError{
				Secret:  types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name + suffix},
				Problem: "is missing although the cluster uses it; restore it from a backup, since a new one would lock out every instance",
			}
		}
	}
	return nil
}

// BrokenError reports that a Secret with a CA is missing or invalid. Retrying does not help: the
// user must restore it.
type BrokenError struct {
	// Secret is the Secret's key.
	Secret types.NamespacedName
	// Problem describes the problem, in words that follow the Secret's name.
	Problem string
}

// Error names the Secret and the problem.
func (e *BrokenError) Error() string { return fmt.Sprintf("the Secret %s %s", e.Secret, e.Problem) }

// makeAll creates the CAs of a new cluster without reading the Secrets first. It returns nil if one
// of them already exists: the existing ones then determine what to do.
func makeAll(ctx context.Context, c client.Client, clock clock.PassiveClock, cluster *v1alpha1.Cluster) (*CAs, error) {
	made, err := New(clock)
	if err != nil {
		return nil, err
	}
	if cluster.Spec.API.Encryption == nil {
		made.encryption.Stage = v1alpha1.EncryptionPlain
	}
	for _, secret := range made.Secrets(cluster) {
		switch err := c.Create(ctx, secret); {
		case apierrors.IsAlreadyExists(err):
			return nil, nil //nolint:nilnil // nil means that a Secret exists
		case err != nil:
			return nil, fmt.Errorf("create the Secret %s: %w", client.ObjectKeyFromObject(secret), err)
		}
	}
	return made, nil
}

func makeMissing(
	ctx context.Context, c client.Client, clock clock.PassiveClock, cluster *v1alpha1.Cluster, found map[string]*corev1.Secret,
) error {
	made, err := New(clock)
	if err != nil {
		return err
	}
	for _, suffix := range suffixes {
		if found[suffix] != nil {
			continue
		}
		secret := newSecret(cluster, suffix, made.secretData(suffix))
		if suffix == SuffixCA {
			initialize(cluster, secret)
		}
		err := c.Create(ctx, secret)
		if apierrors.IsAlreadyExists(err) {
			// The cache is behind. The existing Secret counts, and the next reconcile finds it.
			return fmt.Errorf("the Secret %s was created in the meantime: %w", client.ObjectKeyFromObject(secret), err)
		}
		if err != nil {
			return fmt.Errorf("create the Secret %s: %w", client.ObjectKeyFromObject(secret), err)
		}
		found[suffix] = secret
	}
	return nil
}

func (s *set) secretData(suffix string) map[string][]byte {
	switch suffix {
	case SuffixCA:
		return s.cluster.secretData()
	case SuffixEtcdCA:
		return s.etcd.secretData()
	case SuffixFrontProxyCA:
		return s.frontProxy.secretData()
	default:
		return map[string][]byte{corev1.TLSCertKey: s.serviceAccount.publicPEM, corev1.TLSPrivateKeyKey: s.serviceAccount.privatePEM}
	}
}

func (a *ca) secretData() map[string][]byte {
	return map[string][]byte{corev1.TLSCertKey: a.certificatePEM, corev1.TLSPrivateKeyKey: a.keyPEM}
}

// newSecret returns a Secret of the cluster, owned by the Cluster so that it is deleted with it.
func newSecret(cluster *v1alpha1.Cluster, suffix string, data map[string][]byte) *corev1.Secret {
	owner := metav1.NewControllerRef(cluster, v1alpha1.GroupVersion.WithKind("Cluster"))
	// Deleting the Cluster need not wait for its Secrets, and users who may create a Cluster may
	// lack the permission to set its finalizers.
	owner.BlockOwnerDeletion = nil
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: cluster.Name + suffix, Namespace: cluster.Namespace,
			Labels:          map[string]string{"cluster-operator.aws/cluster": cluster.Name},
			OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Type: corev1.SecretTypeOpaque,
		Data: data,
	}
}

func parseSecrets(clock clock.PassiveClock, cluster *v1alpha1.Cluster, found map[string]*corev1.Secret) (*CAs, error) {
	cas := &CAs{}
	for _, suffix := range suffixes {
		if err := cas.parse(clock, suffix, found[suffix].Data); err != nil {
			return nil, broken(cluster, suffix, err)
		}
	}
	data := found[SuffixCA].Data
	cas.rotated = string(data[keyRotated])
	var err error
	if cas.encryption, err = parseEncryption(data); err != nil {
		return nil, broken(cluster, SuffixCA, err)
	}
	if origin := data[keyOrigin]; len(origin) > 0 {
		if _, err := parseCertificate(origin, keyOrigin); err != nil {
			return nil, broken(cluster, SuffixCA, err)
		}
		cas.origin = origin
	}
	if !isRotating(found[SuffixCA]) {
		return cas, nil
	}
	if cas.rotation, err = parseRotation(clock, string(data[keyRotation]), found[SuffixRotation].Data); err != nil {
		return nil, broken(cluster, SuffixRotation, err)
	}
	return cas, nil
}

func broken(cluster *v1alpha1.Cluster, suffix string, err error) *BrokenError {
	return &BrokenError{
		Secret: types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name + suffix}, Problem: err.Error(),
	}
}

// parse reads the part of the set that the Secret with a suffix holds.
func (s *set) parse(clock clock.PassiveClock, suffix string, data map[string][]byte) error {
	var err error
	switch suffix {
	case SuffixCA:
		s.cluster, err = parseCA(clock, data)
	case SuffixEtcdCA:
		s.etcd, err = parseCA(clock, data)
	case SuffixFrontProxyCA:
		s.frontProxy, err = parseCA(clock, data)
	default:
		s.serviceAccount, err = parseKeyPair(data)
	}
	return err
}

func parseCA(clock clock.PassiveClock, data map[string][]byte) (*ca, error) {
	parsed := &ca{certificatePEM: data[corev1.TLSCertKey], keyPEM: data[corev1.TLSPrivateKeyKey]}
	var err error
	if parsed.certificate, err = parseCertificate(parsed.certificatePEM, corev1.TLSCertKey); err != nil {
		return nil, err
	}
	if parsed.key, err = parseKey(parsed.keyPEM); err != nil {
		return nil, err
	}
	if !parsed.key.PublicKey.Equal(parsed.certificate.PublicKey) {
		return nil, fmt.Errorf("has a key in %s that does not match the certificate in %s", corev1.TLSPrivateKeyKey, corev1.TLSCertKey)
	}
	if !parsed.certificate.IsCA {
		return nil, errors.New("has a certificate that is not a CA's")
	}
	if now := clock.Now(); now.After(parsed.certificate.NotAfter) {
		return nil, fmt.Errorf("has a certificate that expired on %s", parsed.certificate.NotAfter)
	}
	return parsed, nil
}

// parseCertificate parses the certificate of a Secret's key.
func parseCertificate(encoded []byte, key string) (*x509.Certificate, error) {
	block, _ := pem.Decode(encoded)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("has no certificate in %s", key)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("has a certificate in %s that cannot be read", key)
	}
	return certificate, nil
}

func parseKeyPair(data map[string][]byte) (*keyPair, error) {
	pair := &keyPair{publicPEM: data[corev1.TLSCertKey], privatePEM: data[corev1.TLSPrivateKeyKey]}
	var err error
	if pair.key, err = parseKey(pair.privatePEM); err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(pair.key.Public())
	if err != nil {
		return nil, errors.New("has a key that cannot be encoded")
	}
	block, _ := pem.Decode(pair.publicPEM)
	if block == nil || !bytes.Equal(block.Bytes, public) {
		return nil, fmt.Errorf("has a public key in %s that does not match the key in %s", corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}
	return pair, nil
}

func parseKey(encoded []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(encoded)
	if block == nil || block.Type != "EC PRIVATE KEY" {
		return nil, fmt.Errorf("has no EC private key in %s", corev1.TLSPrivateKeyKey)
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		// Errors of x509 might quote the key.
		return nil, fmt.Errorf("has a private key in %s that cannot be read", corev1.TLSPrivateKeyKey)
	}
	return key, nil
}
