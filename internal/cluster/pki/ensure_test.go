package pki_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

func newClient(t *testing.T) (client.Client, *v1alpha1.Cluster) {
	t.Helper()
	shared := controlplanetest.Shared(t)
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(shared.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c, &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: controlplanetest.Namespace(t, shared), UID: "uid"}}
}

var clock = clocktesting.NewFakePassiveClock(start)

func TestEnsureMakesOnceAndKeeps(t *testing.T) {
	c, cluster := newClient(t)
	made, err := pki.Ensure(t.Context(), c, clock, cluster)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := pki.Ensure(t.Context(), c, clock, cluster)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range made.Files() {
		if string(kept.Files()[name]) != string(content) {
			t.Errorf("%s is another the second time", name)
		}
	}
	secret := &corev1.Secret{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: cluster.Namespace, Name: "demo-ca"}, secret); err != nil {
		t.Fatal(err)
	}
	if owner := metav1.GetControllerOf(secret); owner == nil || owner.UID != cluster.UID || owner.Kind != "Cluster" {
		t.Errorf("the Secret is owned by %v", owner)
	}
}

// The operator may be killed between two of the Secrets of a new cluster; no machine has seen any.
func TestEnsureCompletesANewClustersSet(t *testing.T) {
	c, cluster := newClient(t)
	made, err := pki.Ensure(t.Context(), c, clock, cluster)
	if err != nil {
		t.Fatal(err)
	}
	remove(t, c, cluster, pki.SuffixFrontProxyCA)
	completed, err := pki.Ensure(t.Context(), c, clock, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if string(completed.CACertificate()) != string(made.CACertificate()) {
		t.Error("a Secret that was there has been overwritten")
	}
}

// A Cluster is deleted and made again under its name: Kubernetes removes the Secrets of the first
// when it gets to it, and a cluster that was made with them would be lost.
func TestEnsureTakesNoSecretsOfAClusterThatIsGone(t *testing.T) {
	c, cluster := newClient(t)
	before, err := pki.Ensure(t.Context(), c, clock, cluster)
	if err != nil {
		t.Fatal(err)
	}
	cluster.UID = "another"
	_, err = pki.Ensure(t.Context(), c, clock, cluster)
	if _, broken := errors.AsType[*pki.BrokenError](err); err == nil || broken ||
		!strings.Contains(err.Error(), "demo-ca belongs to a deleted Cluster of the same name") {
		t.Fatalf("it says %v", err)
	}
	for _, suffix := range []string{pki.SuffixCA, pki.SuffixEtcdCA, pki.SuffixFrontProxyCA, pki.SuffixServiceAccount} {
		remove(t, c, cluster, suffix)
	}
	after, err := pki.Ensure(t.Context(), c, clock, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if string(after.CACertificate()) == string(before.CACertificate()) {
		t.Error("the new cluster trusts the old one's CA")
	}
}

// An author of services can have a Secret written with a name and content of their choice, without the
// right to write Secrets. No cluster trusts a CA of theirs.
func TestEnsureTakesNoSecretsOfOtherObjects(t *testing.T) {
	c, cluster := newClient(t)
	if _, err := pki.Ensure(t.Context(), c, clock, cluster); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Name + pki.SuffixCA}, secret); err != nil {
		t.Fatal(err)
	}
	secret.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "service-operator.aws/v1alpha1", Kind: "SQSQueue", Name: "planted", UID: "theirs", Controller: new(true),
	}}
	if err := c.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	_, err := pki.Ensure(t.Context(), c, clock, cluster)
	if err == nil || !strings.Contains(err.Error(), "demo-ca belongs to SQSQueue planted") {
		t.Fatalf("it says %v", err)
	}
}

func remove(t *testing.T, c client.Client, cluster *v1alpha1.Cluster, suffix string) {
	t.Helper()
	if err := c.Delete(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.Name + suffix},
	}); err != nil {
		t.Fatal(err)
	}
}

func TestEnsureDoesNotRepairSilently(t *testing.T) {
	for reason, damage := range map[string]struct {
		suffix, says string
		change       func(*testing.T, client.Client, *v1alpha1.Cluster, *corev1.Secret)
	}{
		"a Secret of a running cluster is missing": {pki.SuffixEtcdCA, "restore it from a backup", func(t *testing.T, c client.Client, cluster *v1alpha1.Cluster, _ *corev1.Secret) {
			t.Helper()
			remove(t, c, cluster, pki.SuffixEtcdCA)
			cluster.Status.Endpoint = "https://example.com:6443"
		}},
		"half a pair": {pki.SuffixCA, "has no EC private key", func(t *testing.T, c client.Client, _ *v1alpha1.Cluster, s *corev1.Secret) {
			t.Helper()
			delete(s.Data, corev1.TLSPrivateKeyKey)
			update(t, c, s)
		}},
		"another's key": {pki.SuffixCA, "does not match the certificate", func(t *testing.T, c client.Client, _ *v1alpha1.Cluster, s *corev1.Secret) {
			t.Helper()
			s.Data[corev1.TLSPrivateKeyKey] = newCAs(t).Files()["pki/ca.key"]
			update(t, c, s)
		}},
		"another's public key": {pki.SuffixServiceAccount, "does not match the key", func(t *testing.T, c client.Client, _ *v1alpha1.Cluster, s *corev1.Secret) {
			t.Helper()
			s.Data[corev1.TLSCertKey] = newCAs(t).Files()["pki/sa.pub"]
			update(t, c, s)
		}},
		"no certificate": {pki.SuffixFrontProxyCA, "has no certificate", func(t *testing.T, c client.Client, _ *v1alpha1.Cluster, s *corev1.Secret) {
			t.Helper()
			s.Data[corev1.TLSCertKey] = []byte("what")
			update(t, c, s)
		}},
	} {
		t.Run(reason, func(t *testing.T) {
			c, cluster := newClient(t)
			if _, err := pki.Ensure(t.Context(), c, clock, cluster); err != nil {
				t.Fatal(err)
			}
			secret := &corev1.Secret{}
			if err := c.Get(t.Context(), client.ObjectKey{
				Namespace: cluster.Namespace, Name: cluster.Name + damage.suffix,
			}, secret); err != nil {
				t.Fatal(err)
			}
			damage.change(t, c, cluster, secret)
			_, err := pki.Ensure(t.Context(), c, clock, cluster)
			broken, ok := errors.AsType[*pki.BrokenError](err)
			if !ok || broken.Secret.Name != cluster.Name+damage.suffix || !strings.Contains(err.Error(), damage.says) {
				t.Errorf("it says %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "PRIVATE KEY-----") {
				t.Errorf("the error holds a key: %v", err)
			}
		})
	}
}

func TestEnsureRefusesAnAuthorityThatIsOver(t *testing.T) {
	c, cluster := newClient(t)
	if _, err := pki.Ensure(t.Context(), c, clock, cluster); err != nil {
		t.Fatal(err)
	}
	later := clocktesting.NewFakePassiveClock(start.Add(11 * 365 * 24 * time.Hour))
	if _, err := pki.Ensure(t.Context(), c, later, cluster); err == nil || !strings.Contains(err.Error(), "expired on") {
		t.Errorf("it says %v", err)
	}
}

func update(t *testing.T, c client.Client, s *corev1.Secret) {
	t.Helper()
	if err := c.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}
