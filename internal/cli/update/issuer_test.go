package update

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The URL of the issuer is in all tokens of a cluster, so that it stays when the cluster moves to a
// release by which a new cluster has a bucket of its own for the issuer's documents.
func TestTheIssuerKeepsItsURL(t *testing.T) {
	manifest, err := os.ReadFile(examples + "minimal-public.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write := func(dir, release string) string {
		t.Helper()
		text := strings.Replace(string(manifest), "release: v1.36.3\n", "release: "+release+"\n  serviceAccountIssuer: {}\n", 1)
		if !strings.Contains(text, "serviceAccountIssuer") {
			t.Fatalf("the example names no release:\n%s", text)
		}
		file := filepath.Join(t.TempDir(), "cluster.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := run(
			t, "minimal", "-f", file, "--aws-account-id", "123456789012", "--ca-certificate", "testdata/ca.crt", "--out", dir,
		); err != nil {
			t.Fatal(err)
		}
		return files(t, dir)["kubernetes.tf"]
	}
	const own, shared = "https://minimal-123456789012-eu-central-1-oidc.s3.", "https://minimal-123456789012-eu-central-1.s3."
	moved, fresh := t.TempDir(), t.TempDir()
	for _, step := range []struct{ what, dir, release, url string }{
		{"before a bucket of its own", moved, "v1.36.3", shared},
		{"after the move", moved, "v1.36.4", shared},
		{"once more", moved, "v1.36.4", shared},
		{"a new cluster", fresh, "v1.36.4", own},
		{"a new cluster once more", fresh, "v1.36.4", own},
	} {
		text := write(step.dir, step.release)
		if !strings.Contains(text, step.url) || strings.Contains(text, map[string]string{own: shared, shared: own}[step.url]) {
			t.Errorf("%s: the configuration does not have the URL %s", step.what, step.url)
		}
		if has := hasIssuerBucket([]byte(text)); has != (step.url == own) {
			t.Errorf("%s: that there is a bucket for the issuer is %t", step.what, has)
		}
	}
}
