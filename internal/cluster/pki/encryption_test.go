package pki_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
)

func encryptionOf(t *testing.T, c client.Client, cluster *v1alpha1.Cluster) pki.Encryption {
	t.Helper()
	cas, err := pki.Ensure(t.Context(), c, clock, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if cas.Keys().Encryption != cas.Encryption().Stage {
		t.Errorf("slots do what they do in stage %s, not %s", cas.Keys().Encryption, cas.Encryption().Stage)
	}
	return cas.Encryption()
}

func authorityOf(t *testing.T, c client.Client, cluster *v1alpha1.Cluster) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: cluster.Namespace, Name: "demo-ca"}, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// The Secrets say of each cluster whether it was created with encryption, also if they are from before they did.
func TestSecretsSayThatAClusterDoesNotEncrypt(t *testing.T) {
	c, cluster := newClient(t)
	made, err := pki.Ensure(t.Context(), c, clock, cluster)
	if err != nil || made.Encryption().Stage != v1alpha1.EncryptionPlain {
		t.Errorf("a new cluster is in stage %q: %v", made.Encryption().Stage, err)
	}
	secret := authorityOf(t, c, cluster)
	delete(secret.Data, "encryption")
	if err := c.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := encryptionOf(t, c, cluster).Stage; got != v1alpha1.EncryptionPlain {
			t.Errorf("an older cluster is in stage %q", got)
		}
	}
	cluster.Spec.API.Encryption = &v1alpha1.Encryption{} // It is added later.
	if got := encryptionOf(t, c, cluster).Stage; got != v1alpha1.EncryptionPlain {
		t.Errorf("the cluster is in stage %q", got)
	}

	c, cluster = newClient(t)
	cluster.Spec.API.Encryption = &v1alpha1.Encryption{}
	for range 2 {
		if got := encryptionOf(t, c, cluster); got != (pki.Encryption{}) {
			t.Errorf("a cluster that was created with encryption is in %+v", got)
		}
	}
}

// A stage is stored once, also by an operator that was killed amid it, and survives a rotation of the CAs.
func TestStageOfEncryptionIsStored(t *testing.T) {
	c, cluster, _ := made(t)
	cluster.Spec.API.Encryption = &v1alpha1.Encryption{}
	from, state := v1alpha1.EncryptionPlain, pki.Encryption{Started: &start}
	for _, to := range []v1alpha1.EncryptionStage{
		v1alpha1.EncryptionReadable, v1alpha1.EncryptionEncrypting, v1alpha1.EncryptionRewriting, v1alpha1.EncryptionDone,
	} {
		state.Stage, state.Revision = to, state.Revision+1
		for _, after := range []bool{false, true} {
			err := pki.AdvanceEncryption(t.Context(), &killed{Client: c, writes: 1, after: after}, clock, cluster, from, state)
			if err == nil {
				t.Fatal("the operator is not killed")
			}
		}
		late := pki.Encryption{Stage: v1alpha1.EncryptionReadable}
		if err := pki.AdvanceEncryption(t.Context(), c, clock, cluster, from, late); err != nil {
			t.Fatal(err)
		}
		if got := encryptionOf(t, c, cluster); got.Stage != to || got.Revision != state.Revision || !got.Started.Equal(start) {
			t.Errorf("the state is %+v, want %+v", got, state)
		}
		if got, want := encryptionOf(t, c, cluster).InProgress(), to != v1alpha1.EncryptionDone; got != want {
			t.Errorf("stage %s is in progress: %v", to, got)
		}
		from = to
	}
	rotated(t, c, cluster, "a", v1alpha1.RotationDone)
	if got := encryptionOf(t, c, cluster).Stage; got != v1alpha1.EncryptionDone {
		t.Errorf("after a rotation, the stage is %q", got)
	}
	if cas, err := pki.Read(clock, cluster, secretsOf(t, c, cluster)); err != nil || cas.Encryption().Stage != v1alpha1.EncryptionDone {
		t.Errorf("the Secrets have another stage: %v", err)
	}
}

func secretsOf(t *testing.T, c client.Client, cluster *v1alpha1.Cluster) []*corev1.Secret {
	t.Helper()
	list := &corev1.SecretList{}
	if err := c.List(t.Context(), list, client.InNamespace(cluster.Namespace)); err != nil {
		t.Fatal(err)
	}
	var all []*corev1.Secret
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all
}

func TestBrokenStageIsReported(t *testing.T) {
	for _, text := range []string{"", "{", `{"stage":"Other"}`, "null"} {
		c, cluster, _ := made(t)
		secret := authorityOf(t, c, cluster)
		secret.Data["encryption"] = []byte(text)
		if err := c.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		if _, err := pki.Ensure(t.Context(), c, clock, cluster); err == nil || !strings.Contains(err.Error(), "demo-ca has no stage") {
			t.Errorf("the stage %q is accepted: %v", text, err)
		}
	}
}

// A stage does not concern certificates, so it does not renew any.
func TestStageDoesNotConcernCertificates(t *testing.T) {
	keys := model.Keys{Folder: "a", Encryption: v1alpha1.EncryptionReadable}
	if keys.CAs() != (model.Keys{Folder: "a"}) || keys.String() == keys.CAs().String() {
		t.Errorf("the keys are %s, those of certificates %s", keys, keys.CAs())
	}
}
