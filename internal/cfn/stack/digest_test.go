package stack

import "testing"

// TestDigestHidesSecrets tests that a digest, which records contain, depends on the version of a secret and
// not on its value.
func TestDigestHidesSecrets(t *testing.T) {
	digest := func(value, version string) string {
		d := desire(t, 1)
		d.Parameters, d.Hidden = map[string]string{"Password": value, "Shown": "a"}, map[string]string{"Password": version}
		return d.Digest()
	}
	if digest("hunter2", "v1") != digest("hunter3", "v1") {
		t.Error("the digest depends on the value, and reveals it")
	}
	if digest("hunter2", "v1") == digest("hunter2", "v2") {
		t.Error("the digest does not depend on the version")
	}
}
