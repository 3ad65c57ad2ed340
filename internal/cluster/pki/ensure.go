package pki

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

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
	// SuffixCA is that of the cluster's CA.
	SuffixCA = "-ca"
	// SuffixEtcdCA is that of etcd's CA.
	SuffixEtcdCA = "-etcd-ca"
	// SuffixFrontProxyCA is that of the front proxy's CA.
	SuffixFrontProxyCA = "-front-proxy-ca"
	// SuffixServiceAccount is that of the service-account key pair.
	SuffixServiceAccount = "-sa"
	// SuffixKubeconfig is that of the kubeconfig.
	SuffixKubeconfig = "-kubeconfig"
)

// KubeconfigKey is the key of the kubeconfig in its Secret.
const KubeconfigKey = "value"

// Ensure returns the authorities that the cluster's Secrets hold, and makes them if there are none.
// It never overwrites a Secret. It errs as long as there are Secrets of a deleted Cluster of the same
// name. It errs when only some of the Secrets are there and the cluster has
// been made already, and when one is not what it must be; the error names the Secret.
func Ensure(ctx context.Context, c client.Client, clock clock.PassiveClock, cluster *v1alpha1.Cluster) (*CAs, error) {
	if cluster.Status.ObservedGeneration == 0 && cluster.Status.Endpoint == "" && len(cluster.Status.Outputs) == 0 { // Nobody has looked at it before.
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
	return parseSecrets(clock, cluster, found)
}

// Read returns the authorities that Secrets of a cluster hold, wherever these are kept. It makes and changes nothing. It errs when one is
// missing, and when one is not what it must be; the error is a [BrokenError] that names the Secret.
func Read(clock clock.PassiveClock, cluster *v1alpha1.Cluster, secrets []*corev1.Secret) (*CAs, error) {
	found := map[string]*corev1.Secret{}
	for _, suffix := range suffixes {
		for _, secret := range secrets {
			if secret.Name == cluster.Name+suffix {
				found[suffix] = secret
			}
		}
		if found[suffix] == nil {
			return nil, &BrokenError{Secret: types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name + suffix}, Problem: "is missing"}
		}
	}
	return parseSecrets(clock, cluster, found)
}

// Secrets returns the Secrets that hold a cluster's authorities, owned by the Cluster.
func (a *CAs) Secrets(cluster *v1alpha1.Cluster) []*corev1.Secret {
	var secrets []*corev1.Secret
	for _, suffix := range suffixes {
		secrets = append(secrets, newSecret(cluster, suffix, a.secretData(suffix)))
	}
	return secrets
}

// suffixes are those of the Secrets that hold authorities.
var suffixes = []string{SuffixCA, SuffixEtcdCA, SuffixFrontProxyCA, SuffixServiceAccount}

func readSecrets(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster) (map[string]*corev1.Secret, error) {
	found := map[string]*corev1.Secret{}
	for _, suffix := range suffixes {
		secret := &corev1.Secret{}
		key := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name + suffix}
		switch err := c.Get(ctx, key, secret); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("read the Secret %s: %w", key, err)
		case ofAnother(secret, cluster):
			return nil, fmt.Errorf("the Secret %s is of a Cluster of that name that was deleted, and is about to be removed with it; if it is to be kept, take its owner reference away", key)
		default:
			found[suffix] = secret
		}
	}
	return found, nil
}

// ofAnother says whether a Secret is on its way out: it is being deleted, or it belongs to a Cluster that
// had the same name, and Kubernetes removes it as that one is gone. A cluster made with it would lose it.
func ofAnother(secret *corev1.Secret, cluster *v1alpha1.Cluster) bool {
	owner := metav1.GetControllerOf(secret)
	return secret.DeletionTimestamp != nil || owner != nil && owner.Kind == "Cluster" && owner.UID != cluster.UID
}

// mayComplete errs when Secrets are missing that machines may have booted from. The first run makes
// four Secrets one after another and may end between two of them; as long as the cluster has no
// endpoint no machine has read any.
func mayComplete(cluster *v1alpha1.Cluster, found map[string]*corev1.Secret) error {
	if cluster.Status.Endpoint == "" && len(cluster.Status.Outputs) == 0 {
		return nil
	}
	for _, suffix := range suffixes {
		if found[suffix] == nil {
			return &BrokenError{Secret: types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name + suffix}, Problem: "is missing, and the cluster runs with it; restore it from a backup: a new one would lock out every machine"}
		}
	}
	return nil
}

// BrokenError says that a Secret with an authority is missing or not what it must be. Trying again
// does not help: a person has to restore it.
type BrokenError struct {
	// Secret is which.
	Secret types.NamespacedName
	// Problem is what is wrong with it, in words that follow its name.
	Problem string
}

// Error names the Secret and says what is wrong.
func (e *BrokenError) Error() string { return fmt.Sprintf("the Secret %s %s", e.Secret, e.Problem) }

// makeAll makes the authorities of a new cluster without looking for them first. It returns none when one of the Secrets is there
// already: then it depends on all that are there what is to be done.
func makeAll(ctx context.Context, c client.Client, clock clock.PassiveClock, cluster *v1alpha1.Cluster) (*CAs, error) {
	made, err := New(clock)
	if err != nil {
		return nil, err
	}
	for _, secret := range made.Secrets(cluster) {
		switch err := c.Create(ctx, secret); {
		case apierrors.IsAlreadyExists(err):
			return nil, nil //nolint:nilnil // that there is one is an answer
		case err != nil:
			return nil, fmt.Errorf("make the Secret %s: %w", client.ObjectKeyFromObject(secret), err)
		}
	}
	return made, nil
}

func makeMissing(ctx context.Context, c client.Client, clock clock.PassiveClock, cluster *v1alpha1.Cluster, found map[string]*corev1.Secret) error {
	made, err := New(clock)
	if err != nil {
		return err
	}
	for _, suffix := range suffixes {
		if found[suffix] != nil {
			continue
		}
		secret := newSecret(cluster, suffix, made.secretData(suffix))
		err := c.Create(ctx, secret)
		if apierrors.IsAlreadyExists(err) {
			// A cache that is behind; what is there counts, and the next look finds it.
			return fmt.Errorf("the Secret %s has been made meanwhile: %w", client.ObjectKeyFromObject(secret), err)
		}
		if err != nil {
			return fmt.Errorf("make the Secret %s: %w", client.ObjectKeyFromObject(secret), err)
		}
		found[suffix] = secret
	}
	return nil
}

func (a *CAs) secretData(suffix string) map[string][]byte {
	switch suffix {
	case SuffixCA:
		return a.cluster.secretData()
	case SuffixEtcdCA:
		return a.etcd.secretData()
	case SuffixFrontProxyCA:
		return a.frontProxy.secretData()
	default:
		return map[string][]byte{corev1.TLSCertKey: a.serviceAccount.publicPEM, corev1.TLSPrivateKeyKey: a.serviceAccount.privatePEM}
	}
}

func (a *authority) secretData() map[string][]byte {
	return map[string][]byte{corev1.TLSCertKey: a.certificatePEM, corev1.TLSPrivateKeyKey: a.keyPEM}
}

// newSecret returns a Secret of the cluster's. It is owned by the Cluster, so that it goes with it.
func newSecret(cluster *v1alpha1.Cluster, suffix string, data map[string][]byte) *corev1.Secret {
	owner := metav1.NewControllerRef(cluster, v1alpha1.GroupVersion.WithKind("Cluster"))
	// Whoever deletes the Cluster need not wait for its Secrets, and not everybody who may make a
	// Cluster may set its finalizers.
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
	authorities := &CAs{}
	for suffix, into := range map[string]**authority{SuffixCA: &authorities.cluster, SuffixEtcdCA: &authorities.etcd, SuffixFrontProxyCA: &authorities.frontProxy} {
		parsed, err := parseAuthority(clock, found[suffix].Data)
		if err != nil {
			return nil, &BrokenError{Secret: client.ObjectKeyFromObject(found[suffix]), Problem: err.Error()}
		}
		*into = parsed
	}
	pair, err := parseKeyPair(found[SuffixServiceAccount].Data)
	if err != nil {
		return nil, &BrokenError{Secret: types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name + SuffixServiceAccount}, Problem: err.Error()}
	}
	authorities.serviceAccount = pair
	return authorities, nil
}

func parseAuthority(clock clock.PassiveClock, data map[string][]byte) (*authority, error) {
	parsed := &authority{certificatePEM: data[corev1.TLSCertKey], keyPEM: data[corev1.TLSPrivateKeyKey]}
	block, _ := pem.Decode(parsed.certificatePEM)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("has no certificate in %s", corev1.TLSCertKey)
	}
	var err error
	if parsed.certificate, err = x509.ParseCertificate(block.Bytes); err != nil {
		return nil, fmt.Errorf("has a certificate in %s that cannot be read", corev1.TLSCertKey)
	}
	if parsed.key, err = parseKey(parsed.keyPEM); err != nil {
		return nil, err
	}
	if !parsed.key.PublicKey.Equal(parsed.certificate.PublicKey) {
		return nil, fmt.Errorf("has a key in %s that does not go with the certificate in %s", corev1.TLSPrivateKeyKey, corev1.TLSCertKey)
	}
	if !parsed.certificate.IsCA {
		return nil, errors.New("has a certificate that is no authority's")
	}
	if now := clock.Now(); now.After(parsed.certificate.NotAfter) {
		return nil, fmt.Errorf("has a certificate that ended on %s", parsed.certificate.NotAfter)
	}
	return parsed, nil
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
		return nil, fmt.Errorf("has a public key in %s that does not go with the key in %s", corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
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
		// What x509 says might quote the key.
		return nil, fmt.Errorf("has a private key in %s that cannot be read", corev1.TLSPrivateKeyKey)
	}
	return key, nil
}
