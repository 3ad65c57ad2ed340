package pki

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// keyEncryption is the key of the Secret with the cluster's CA that has an [Encryption], in JSON. It is there, and not
// in a Secret of its own, so that it cannot be lost alone: slots that start a stage too early write what others cannot
// read.
const keyEncryption = "encryption"

// Encryption is how far spec.api.encryption is in a cluster that was created without it. It is empty for a cluster that
// was created with it.
type Encryption struct {
	// Stage is the stage that the encryption has reached, [v1alpha1.EncryptionPlain] before the first one.
	Stage v1alpha1.EncryptionStage `json:"stage"`
	// Started is when the first stage began, and Finished when the last one ended.
	Started  *time.Time `json:"started,omitempty"`
	Finished *time.Time `json:"finished,omitempty"`
	// Revision is the resource version from which on all objects were written by API servers that encrypt them. It is
	// set when the objects are rewritten.
	Revision uint64 `json:"revision,omitempty"`
}

// InProgress reports whether a stage has begun, and the last one has not ended.
func (e Encryption) InProgress() bool {
	return e.Stage != "" && e.Stage != v1alpha1.EncryptionPlain && e.Stage != v1alpha1.EncryptionDone
}

// errNoEncryption reports a state of the encryption that does not exist.
var errNoEncryption = errors.New("has no stage of spec.api.encryption that exists in " + keyEncryption + "; restore it from a backup")

// parseEncryption reads the state in the data of the Secret with the cluster's CA.
func parseEncryption(data map[string][]byte) (Encryption, error) {
	var state Encryption
	text, ok := data[keyEncryption]
	if !ok {
		return state, nil
	}
	if json.Unmarshal(text, &state) != nil {
		return state, errNoEncryption
	}
	switch state.Stage {
	case v1alpha1.EncryptionPlain, v1alpha1.EncryptionReadable, v1alpha1.EncryptionEncrypting, v1alpha1.EncryptionRewriting,
		v1alpha1.EncryptionDone:
		return state, nil
	default:
		return state, errNoEncryption
	}
}

// set stores the state in the Secret with the cluster's CA.
func (e Encryption) set(secret *corev1.Secret) {
	text, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("pki: %v", err)) // Texts, times and numbers always encode.
	}
	secret.Data[keyEncryption] = text
}

// isPlain reports whether a Cluster does not encrypt resources in etcd, and the Secret with its CA does not say so yet.
// It must say so before spec.api.encryption is set: nothing else distinguishes a cluster to which it is added from one
// that was created with it.
func isPlain(cluster *v1alpha1.Cluster, secret *corev1.Secret) bool {
	_, known := secret.Data[keyEncryption]
	return !known && cluster.Spec.API.Encryption == nil
}

// Encryption returns the state of spec.api.encryption.
func (a *CAs) Encryption() Encryption { return a.encryption }

// AdvanceEncryption changes the state of spec.api.encryption. It does nothing if the cluster is in another stage than
// the given one.
func AdvanceEncryption(
	ctx context.Context, c client.Client, clock clock.PassiveClock, cluster *v1alpha1.Cluster, from v1alpha1.EncryptionStage, to Encryption,
) error {
	found, cas, err := load(ctx, c, clock, cluster)
	if err != nil {
		return err
	}
	if cas.encryption.Stage != from {
		return nil
	}
	to.set(found[SuffixCA])
	return update(ctx, c, found[SuffixCA])
}
