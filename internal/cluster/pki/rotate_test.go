package pki_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
)

var stages = []v1alpha1.RotationStage{
	v1alpha1.RotationTrust, v1alpha1.RotationIssue, v1alpha1.RotationRenew, v1alpha1.RotationForget, v1alpha1.RotationDone,
}

// killed fails the n-th write, before or after it happened, as if the operator was killed then.
type killed struct {
	client.Client
	writes int
	after  bool
}

var errKilled = errors.New("killed")

func (k *killed) write(do func() error) error {
	k.writes--
	if k.writes == 0 && !k.after {
		return errKilled
	}
	err := do()
	if k.writes == 0 && err == nil {
		return errKilled
	}
	return err
}

func (k *killed) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	return k.write(func() error { return k.Client.Create(ctx, o, options...) })
}

func (k *killed) Update(ctx context.Context, o client.Object, options ...client.UpdateOption) error {
	return k.write(func() error { return k.Client.Update(ctx, o, options...) })
}

func (k *killed) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	return k.write(func() error { return k.Client.Delete(ctx, o, options...) })
}

// rotated runs a rotation to a stage.
func rotated(t *testing.T, c client.Client, cluster *v1alpha1.Cluster, request string, to v1alpha1.RotationStage) *pki.CAs {
	t.Helper()
	if err := pki.Rotate(t.Context(), c, clock, cluster, request); err != nil {
		t.Fatal(err)
	}
	for i := range slices.Index(stages, to) {
		if err := pki.Advance(t.Context(), c, clock, cluster, stages[i], stages[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	cas, err := pki.Ensure(t.Context(), c, clock, cluster)
	if err != nil {
		t.Fatal(err)
	}
	return cas
}

func made(t *testing.T) (client.Client, *v1alpha1.Cluster, *pki.CAs) {
	t.Helper()
	c, cluster := newClient(t)
	cas, err := pki.Ensure(t.Context(), c, clock, cluster)
	if err != nil {
		t.Fatal(err)
	}
	cluster.Status.Endpoint = "https://api" // From now on, a missing Secret is lost.
	return c, cluster, cas
}

func TestRotationReplacesAllCAsAndKeys(t *testing.T) {
	c, cluster, before := made(t)
	if got := before.Rotation(); got.Stage != "" || got.Due("") || !got.Due("a") {
		t.Errorf("before, the rotation is %v", got)
	}
	after := rotated(t, c, cluster, "a", v1alpha1.RotationDone)
	if got := after.Rotation(); got.Stage != "" || got.Rotated != "a" || got.Due("a") || !got.Due("b") {
		t.Errorf("after, the rotation is %v", got)
	}
	if len(after.Files()) != len(before.Files()) {
		t.Errorf("there are %d files, before %d", len(after.Files()), len(before.Files()))
	}
	for name, content := range before.Files() {
		renamed := after.Keys().Dir() + strings.TrimPrefix(name, "pki/")
		if found := after.Files()[renamed]; len(found) == 0 || bytes.Equal(found, content) || renamed == name {
			t.Errorf("%s is at %s and the same", name, renamed)
		}
	}
	if !bytes.Equal(after.Origin(), before.Origin()) || !bytes.Equal(before.Origin(), before.CACertificate()) {
		t.Error("the certificate that identifies the bucket's owner has changed")
	}
	if found := secretOf(t, c, cluster, pki.SuffixRotation); found != nil {
		t.Errorf("the Secret of the rotation is left: %v", found.Name)
	}
	again := rotated(t, c, cluster, "b", v1alpha1.RotationDone)
	if bytes.Equal(again.CACertificate(), after.CACertificate()) || !bytes.Equal(again.Origin(), before.Origin()) {
		t.Error("the second rotation does not replace the CA, or forgets the first one")
	}
}

func secretOf(t *testing.T, c client.Client, cluster *v1alpha1.Cluster, suffix string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	err := c.Get(t.Context(), client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Name + suffix}, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// Whichever write is the last one before the operator is killed, the next operator continues. As soon as CAs are in use,
// they stay.
func TestRotationContinuesAfterEachWrite(t *testing.T) {
	const most = 12 // more than there are writes
	c, cluster, _ := made(t)
	for n := 1; n <= most; n++ {
		for _, after := range []bool{false, true} {
			request := strings.Repeat("x", n)
			if after {
				request += "y"
			}
			k := &killed{Client: c, writes: n, after: after}
			next := ""
			for attempt := range 20 {
				cas, err := pki.Ensure(t.Context(), c, clock, cluster)
				if err != nil {
					t.Fatalf("killed at write %d: %v", n, err)
				}
				state := cas.Rotation()
				if state.Stage == "" && state.Rotated == request {
					break
				}
				if attempt == 19 {
					t.Fatalf("killed at write %d: the rotation is %v", n, state)
				}
				if state.Stage != "" {
					if next != "" && cas.Keys().Next != next {
						t.Fatalf("killed at write %d: the next CAs have changed", n)
					}
					next = cas.Keys().Next
					err = pki.Advance(t.Context(), k, clock, cluster, state.Stage, stages[slices.Index(stages, state.Stage)+1])
				} else {
					err = pki.Rotate(t.Context(), k, clock, cluster, request)
				}
				if err != nil && !errors.Is(err, errKilled) {
					t.Fatalf("killed at write %d: %v", n, err)
				}
			}
			if cas, err := pki.Ensure(t.Context(), c, clock, cluster); err != nil || cas.Keys().Dir() != next {
				t.Fatalf("killed at write %d: the CAs are not the next ones: %v", n, err)
			}
		}
	}
}

// A rotation because of the age of the CAs leaves the last request as it is.
func TestRotationWithoutRequest(t *testing.T) {
	c, cluster, _ := made(t)
	rotated(t, c, cluster, "a", v1alpha1.RotationDone)
	if got := rotated(t, c, cluster, "", v1alpha1.RotationDone).Rotation(); got.Stage != "" || got.Rotated != "a" {
		t.Errorf("the rotation is %v", got)
	}
}

func TestStageIsNotSkipped(t *testing.T) {
	c, cluster, _ := made(t)
	rotated(t, c, cluster, "a", v1alpha1.RotationTrust)
	for _, from := range []v1alpha1.RotationStage{"", v1alpha1.RotationIssue, v1alpha1.RotationForget} {
		if err := pki.Advance(t.Context(), c, clock, cluster, from, v1alpha1.RotationDone); err != nil {
			t.Fatal(err)
		}
	}
	if err := pki.Rotate(t.Context(), c, clock, cluster, "b"); err != nil {
		t.Fatal(err)
	}
	cas, err := pki.Ensure(t.Context(), c, clock, cluster)
	if err != nil || cas.Rotation().Stage != v1alpha1.RotationTrust || cas.Rotation().Requested != "a" {
		t.Errorf("the rotation is %v: %v", cas.Rotation(), err)
	}
}

func TestLostRotationIsReported(t *testing.T) {
	for name, change := range map[string]func(*corev1.Secret) bool{
		"is missing although":                 func(*corev1.Secret) bool { return false },
		"unknown stage":                       func(s *corev1.Secret) bool { s.Data["stage"] = []byte("Other"); return true },
		"no EC private key in tls.key":        func(s *corev1.Secret) bool { s.Data["etcd-ca-tls.key"] = nil; return true },
		"has the CAs of another rotation":     nil,
		"has no certificate in cross-new.crt": func(s *corev1.Secret) bool { delete(s.Data, "cross-new.crt"); return true },
	} {
		t.Run(name, func(t *testing.T) {
			c, cluster, _ := made(t)
			rotated(t, c, cluster, "a", v1alpha1.RotationIssue)
			secret := secretOf(t, c, cluster, pki.SuffixRotation)
			if change == nil {
				change = func(s *corev1.Secret) bool {
					other, another, _ := made(t)
					rotated(t, other, another, "a", v1alpha1.RotationIssue)
					s.Data = secretOf(t, other, another, pki.SuffixRotation).Data
					return true
				}
			}
			write := func() error { return c.Delete(t.Context(), secret) }
			if change(secret) {
				write = func() error { return c.Update(t.Context(), secret) }
			}
			if err := write(); err != nil {
				t.Fatal(err)
			}
			_, err := pki.Ensure(t.Context(), c, clock, cluster)
			broken, ok := errors.AsType[*pki.BrokenError](err)
			if !ok || broken.Secret.Name != "demo-ca-rotation" || !strings.Contains(err.Error(), name) {
				t.Errorf("the error is %v", err)
			}
			if err := pki.Rotate(t.Context(), c, clock, cluster, "b"); err == nil {
				t.Error("another rotation begins")
			}
		})
	}
}

func TestNewClusterIsNotRotated(t *testing.T) {
	c, cluster := newClient(t)
	cluster.Spec.Certificates = &v1alpha1.Certificates{Rotate: "a"}
	cas, err := pki.Ensure(t.Context(), c, clock, cluster)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := pki.Ensure(t.Context(), c, clock, cluster)
	if err != nil || kept.Rotation().Due("a") || !kept.Rotation().Due("b") {
		t.Errorf("the rotation is %v, at first %v: %v", kept.Rotation(), cas.Rotation(), err)
	}
}

// certificates returns the certificates of a file.
func certificates(t *testing.T, file []byte) []*x509.Certificate {
	t.Helper()
	var found []*x509.Certificate
	for block, rest := pem.Decode(file); block != nil; block, rest = pem.Decode(rest) {
		parsed, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, parsed)
	}
	return found
}

// A client that trusts only one of the CAs verifies the other one by the file cross-ca.crt of the stage in which that
// one issues.
func TestCAsVerifyEachOther(t *testing.T) {
	c, cluster, _ := made(t)
	cas := rotated(t, c, cluster, "a", v1alpha1.RotationTrust)
	files, next := cas.Files(), cas.Keys().Next
	for _, folder := range []string{"trust/", "issue/"} {
		issuing := certificates(t, files[next+folder+"ca.crt"])
		cross := certificates(t, files[next+folder+"cross-ca.crt"])
		if len(issuing) != 2 || len(cross) != 1 {
			t.Fatalf("%s has %d CAs and %d issued by the other", folder, len(issuing), len(cross))
		}
		sameKey := bytes.Equal(cross[0].RawSubjectPublicKeyInfo, issuing[0].RawSubjectPublicKeyInfo)
		if !bytes.Equal(cross[0].RawSubject, issuing[0].RawSubject) || !sameKey {
			t.Errorf("the certificate in %s is not of the CA that issues", folder)
		}
		roots := x509.NewCertPool()
		roots.AddCert(issuing[1])
		if _, err := cross[0].Verify(x509.VerifyOptions{Roots: roots, CurrentTime: start.Add(time.Hour)}); err != nil {
			t.Errorf("the certificate in %s is not issued by the other CA: %v", folder, err)
		}
		if got := strings.Count(string(files[next+folder+"sa.pub"]), "PUBLIC KEY") / 2; got != 2 {
			t.Errorf("%ssa.pub has %d keys", folder, got)
		}
	}
}

func TestKubeconfigFollowsTheStage(t *testing.T) {
	_, _, before := made(t)
	in := pki.KubeconfigInput{
		Cluster: "demo", Server: "https://api:6443", CommonName: "admin", Organisations: []string{pki.GroupAdmins}, Validity: time.Hour,
	}
	kubeconfig, err := before.Kubeconfig(clock, in)
	if err != nil {
		t.Fatal(err)
	}
	for stage, want := range map[v1alpha1.RotationStage]struct {
		cas, workers, keys int
		issuedByOld        bool
	}{
		v1alpha1.RotationTrust: {2, 1, 2, true}, v1alpha1.RotationIssue: {2, 1, 2, false}, v1alpha1.RotationRenew: {2, 2, 2, false},
		v1alpha1.RotationForget: {1, 1, 1, false}, v1alpha1.RotationDone: {1, 1, 1, false},
	} {
		c, cluster, before := made(t)
		old := certificates(t, before.CACertificate())[0]
		cas := rotated(t, c, cluster, "a", stage)
		if cas.KubeconfigDue(clock, in, kubeconfig) == "" {
			t.Errorf("in stage %s the former kubeconfig is kept", stage)
		}
		renewed, err := cas.Kubeconfig(clock, in)
		if err != nil {
			t.Fatal(err)
		}
		if due := cas.KubeconfigDue(clock, in, renewed); due != "" {
			t.Errorf("in stage %s the new kubeconfig is due: %s", stage, due)
		}
		config, err := clientcmd.Load(renewed)
		if err != nil {
			t.Fatal(err)
		}
		trusted := certificates(t, config.Clusters["demo"].CertificateAuthorityData)
		leaf := certificates(t, config.AuthInfos["admin"].ClientCertificateData)[0]
		if issuedByOld := leaf.CheckSignatureFrom(old) == nil; len(trusted) != want.cas || issuedByOld != want.issuedByOld {
			t.Errorf("in stage %s it trusts %d CAs and the old one issued it: %t", stage, len(trusted), issuedByOld)
		}
		if workers := certificates(t, cas.CACertificate()); len(workers) != want.workers {
			t.Errorf("in stage %s workers trust %d CAs", stage, len(workers))
		}
		documents, err := cas.IssuerDocuments("https://issuer")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(documents["oidc/openid/v1/jwks"]), `"kid"`); got != want.keys {
			t.Errorf("in stage %s the issuer has %d keys", stage, got)
		}
	}
}
