package pki

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Keys of the Secret with the cluster's CA, in addition to the CA.
const (
	// keyRotation has the fingerprint of the next CA while the CAs are rotated. If the Secret with the next CAs is
	// lost then, this proves that there was one.
	keyRotation = "rotation"
	// keyRotated has the request for the last rotation that ended.
	keyRotated = "rotated"
	// keyOrigin has the certificate of the CA that the cluster was created with, once it has another one.
	keyOrigin = "origin.crt"
)

// Keys of the Secret of a rotation: its state, certificates of one CA that the other one issued, and the next CAs,
// each with a prefix.
const (
	keyStage     = "stage"
	keyRequested = "requested"
	keyStarted   = "started"
	keyCrossNew  = "cross-new.crt"
	keyCrossOld  = "cross-old.crt"
)

// prefixes are the prefixes of the next CAs in the Secret of a rotation, by the suffix of the Secret that gets them
// at its end.
var prefixes = map[string]string{
	SuffixCA: "ca-", SuffixEtcdCA: "etcd-ca-", SuffixFrontProxyCA: "front-proxy-ca-", SuffixServiceAccount: "sa-",
}

// isRotating reports whether the Secret with the cluster's CA says that the CAs are being rotated.
func isRotating(secret *corev1.Secret) bool {
	return secret != nil && len(secret.Data[keyRotation]) > 0
}

// readRotation adds the Secret of the rotation to those found.
func readRotation(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, found map[string]*corev1.Secret) error {
	secret, err := readSecret(ctx, c, cluster, SuffixRotation)
	if err != nil {
		return err
	}
	if secret == nil {
		return broken(cluster, SuffixRotation, errors.New(
			"is missing although a rotation is in progress; restore it from a backup, since instances trust the CAs in it",
		))
	}
	found[SuffixRotation] = secret
	return nil
}

// parseRotation reads the Secret of a rotation whose next CA has a fingerprint.
func parseRotation(clock clock.PassiveClock, next string, data map[string][]byte) (*rotation, error) {
	r := &rotation{
		stage: v1alpha1.RotationStage(data[keyStage]), requested: string(data[keyRequested]),
		crossNew: data[keyCrossNew], crossOld: data[keyCrossOld],
	}
	for _, suffix := range suffixes {
		its := map[string][]byte{}
		for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
			its[key] = data[prefixes[suffix]+key]
		}
		if err := r.next.parse(clock, suffix, its); err != nil {
			return nil, fmt.Errorf("%w, with the prefix %s", err, prefixes[suffix])
		}
	}
	if fingerprint(r.next.cluster) != next {
		return nil, errors.New("has the CAs of another rotation than the one in progress; restore it from a backup")
	}
	for _, key := range []string{keyCrossNew, keyCrossOld} {
		if _, err := parseCertificate(data[key], key); err != nil {
			return nil, err
		}
	}
	if !knownStage(r.stage) {
		return nil, errNoStage
	}
	var err error
	if r.started, err = time.Parse(time.RFC3339, string(data[keyStarted])); err != nil {
		return nil, fmt.Errorf("has a time in %s that cannot be read", keyStarted)
	}
	return r, nil
}

func (r *rotation) secretData() map[string][]byte {
	data := map[string][]byte{
		keyStage: []byte(r.stage), keyRequested: []byte(r.requested), keyStarted: []byte(r.started.Format(time.RFC3339)),
		keyCrossNew: r.crossNew, keyCrossOld: r.crossOld,
	}
	for suffix, prefix := range prefixes {
		for key, value := range r.next.secretData(suffix) {
			data[prefix+key] = value
		}
	}
	return data
}

// Rotate begins a rotation of the cluster's CAs for a request, empty if there is none, unless one is in progress. It creates the next CAs
// once. If it is interrupted, call it again: no instance knows CAs that it created before.
func Rotate(ctx context.Context, c client.Client, clock clock.PassiveClock, cluster *v1alpha1.Cluster, request string) error {
	found, cas, err := load(ctx, c, clock, cluster)
	if err != nil {
		return err
	}
	if cas.rotation != nil {
		return nil
	}
	made, err := cas.newRotation(clock.Now(), request)
	if err != nil {
		return err
	}
	if err := removeRotation(ctx, c, cluster); err != nil {
		return err
	}
	secret := newSecret(cluster, SuffixRotation, made.secretData())
	if err := c.Create(ctx, secret); err != nil {
		return fmt.Errorf("create the Secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	// From here on the rotation is in progress.
	authority := found[SuffixCA]
	authority.Data[keyRotation] = []byte(fingerprint(made.next.cluster))
	return update(ctx, c, authority)
}

// Advance moves a rotation from a stage to the one that follows it. It does nothing if the rotation is not in that
// stage.
func Advance(
	ctx context.Context, c client.Client, clock clock.PassiveClock, cluster *v1alpha1.Cluster, from, to v1alpha1.RotationStage,
) error {
	found, cas, err := load(ctx, c, clock, cluster)
	if err != nil {
		return err
	}
	if cas.stage() != from || from == "" {
		return nil
	}
	if to == v1alpha1.RotationDone {
		return finish(ctx, c, cluster, cas, found)
	}
	secret := found[SuffixRotation]
	secret.Data[keyStage] = []byte(to)
	return update(ctx, c, secret)
}

// finish makes the next CAs the current ones. The Secret with the cluster's CA is written last: until then, the
// rotation is in its last stage, in which nothing depends on the previous CAs, and finish can be repeated.
func finish(
	ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, cas *CAs, found map[string]*corev1.Secret,
) error {
	for _, suffix := range []string{SuffixEtcdCA, SuffixFrontProxyCA, SuffixServiceAccount, SuffixCA} {
		secret := found[suffix]
		before := maps.Clone(secret.Data)
		maps.Copy(secret.Data, cas.rotation.next.secretData(suffix))
		if suffix == SuffixCA {
			secret.Data[keyOrigin] = cas.Origin()
			delete(secret.Data, keyRotation)
			if cas.rotation.requested != "" { // The last request must not start another one.
				secret.Data[keyRotated] = []byte(cas.rotation.requested)
			}
		}
		if maps.EqualFunc(before, secret.Data, bytes.Equal) {
			continue
		}
		if err := update(ctx, c, secret); err != nil {
			return err
		}
	}
	return removeRotation(ctx, c, cluster)
}

// load reads the cluster's Secrets and CAs.
func load(
	ctx context.Context, c client.Client, clock clock.PassiveClock, cluster *v1alpha1.Cluster,
) (map[string]*corev1.Secret, *CAs, error) {
	found, err := readSecrets(ctx, c, cluster)
	if err != nil {
		return nil, nil, err
	}
	for _, suffix := range suffixes {
		if found[suffix] == nil {
			return nil, nil, broken(cluster, suffix, errors.New("is missing"))
		}
	}
	if isRotating(found[SuffixCA]) {
		if err := readRotation(ctx, c, cluster, found); err != nil {
			return nil, nil, err
		}
	}
	cas, err := parseSecrets(clock, cluster, found)
	return found, cas, err
}

// removeRotation deletes the Secret of a rotation that ended, or that was interrupted before it began.
func removeRotation(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster) error {
	secret, err := readSecret(ctx, c, cluster, SuffixRotation)
	if err != nil || secret == nil {
		return err
	}
	uid := secret.UID
	if err := c.Delete(ctx, secret, client.Preconditions{UID: &uid}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the Secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	return nil
}

// update writes a Secret, unless it was changed since it was read.
func update(ctx context.Context, c client.Client, secret *corev1.Secret) error {
	if err := c.Update(ctx, secret); err != nil {
		return fmt.Errorf("write the Secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	return nil
}
