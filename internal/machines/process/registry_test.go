//go:build linux

package process

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// layoutOf writes a layout with one image.
func layoutOf(t *testing.T, name, hex string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range map[string]string{
		"blobs/sha256/" + hex: "the manifest",
		"index.json": `{"manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": "sha256:` + hex +
			`", "annotations": {"org.opencontainers.image.ref.name": "` + name + `"}}]}`,
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestImagesAreServedUnderTheirRegistriesNames(t *testing.T) {
	hex, otherHex := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	digest := "sha256:" + hex
	r, err := openRegistry(layoutOf(t, "registry.k8s.io/coredns/coredns:v1", hex), layoutOf(t, "registry.k8s.io/tests/agnhost:1", otherHex))
	if err != nil {
		t.Fatal(err)
	}
	if !r.serves("registry.k8s.io") || r.serves("quay.io") || (*registry)(nil).serves("registry.k8s.io") {
		t.Error("it serves other registries than those of its images")
	}
	for path, want := range map[string]int{
		"/v2/": http.StatusOK, "/v2/coredns/coredns/manifests/v1": http.StatusOK, "/v2/coredns/coredns/manifests/" + digest: http.StatusOK,
		"/v2/coredns/coredns/blobs/" + digest: http.StatusOK, "/v2/coredns/coredns/manifests/v2": http.StatusNotFound,
		"/v2/tests/agnhost/manifests/1": http.StatusOK,
		"/v2/other/manifests/v1":        http.StatusNotFound, "/v2/a/blobs/sha256:../../index.json": http.StatusNotFound,
	} {
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://registry.k8s.io"+path, http.NoBody))
		if answer.Code != want {
			t.Errorf("%s answers %d, want %d", path, answer.Code, want)
		}
		digest := digest
		if strings.Contains(path, "agnhost") {
			digest = "sha256:" + otherHex
		}
		if strings.Contains(path, "/manifests/") && want == http.StatusOK && (answer.Body.String() != "the manifest" ||
			answer.Header().Get("Content-Type") != "application/vnd.oci.image.manifest.v1+json" ||
			answer.Header().Get("Docker-Content-Digest") != digest) {
			t.Errorf("%s answers %q with %v", path, answer.Body, answer.Header())
		}
	}
}
