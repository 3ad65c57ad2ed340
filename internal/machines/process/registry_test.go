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

func TestImagesAreServedUnderTheirRegistriesNames(t *testing.T) {
	dir, hex := t.TempDir(), strings.Repeat("ab", 32)
	digest := "sha256:" + hex
	for name, text := range map[string]string{
		"blobs/sha256/" + hex: "the manifest",
		"index.json": `{"manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": "` + digest +
			`", "annotations": {"org.opencontainers.image.ref.name": "registry.k8s.io/coredns/coredns:v1"}}]}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := openRegistry(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !r.serves("registry.k8s.io") || r.serves("quay.io") || (*registry)(nil).serves("registry.k8s.io") {
		t.Error("it serves other registries than those of its images")
	}
	for path, want := range map[string]int{
		"/v2/": http.StatusOK, "/v2/coredns/coredns/manifests/v1": http.StatusOK, "/v2/coredns/coredns/manifests/" + digest: http.StatusOK,
		"/v2/coredns/coredns/blobs/" + digest: http.StatusOK, "/v2/coredns/coredns/manifests/v2": http.StatusNotFound,
		"/v2/other/manifests/v1": http.StatusNotFound, "/v2/a/blobs/sha256:../../index.json": http.StatusNotFound,
	} {
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://registry.k8s.io"+path, http.NoBody))
		if answer.Code != want {
			t.Errorf("%s answers %d, want %d", path, answer.Code, want)
		}
		if strings.Contains(path, "/manifests/") && want == http.StatusOK && (answer.Body.String() != "the manifest" ||
			answer.Header().Get("Content-Type") != "application/vnd.oci.image.manifest.v1+json" ||
			answer.Header().Get("Docker-Content-Digest") != digest) {
			t.Errorf("%s answers %q with %v", path, answer.Body, answer.Header())
		}
	}
}
