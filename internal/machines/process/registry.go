//go:build linux

package process

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// registry serves the images of an OCI layout as the registries that their names contain, over the
// OCI distribution protocol: https://github.com/opencontainers/distribution-spec/blob/main/spec.md
type registry struct {
	dir    string
	images map[string]blob // manifests by the names of images
	types  map[string]string
	hosts  map[string]bool
}

type blob struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Annotations map[string]string `json:"annotations"`
}

// openRegistry reads the index of a layout.
func openRegistry(dir string) (*registry, error) {
	text, err := os.ReadFile(filepath.Join(dir, "index.json")) //nolint:gosec // of the image
	if err != nil {
		return nil, fmt.Errorf("read the container images: %w", err)
	}
	var index struct {
		Manifests []blob `json:"manifests"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("read the container images: %w", err)
	}
	r := &registry{dir: dir, images: map[string]blob{}, types: map[string]string{}, hosts: map[string]bool{}}
	for _, manifest := range index.Manifests {
		name := manifest.Annotations["org.opencontainers.image.ref.name"]
		host, _, _ := strings.Cut(name, "/")
		r.images[name], r.types[manifest.Digest], r.hosts[host] = manifest, manifest.MediaType, true
	}
	return r, nil
}

// serves reports whether there are images of a registry with that name. A nil registry has none.
func (r *registry) serves(host string) bool { return r != nil && r.hosts[host] }

var (
	registryPath = regexp.MustCompile(`^/v2/([a-z0-9/._-]+)/(manifests|blobs)/([A-Za-z0-9:._-]+)$`)
	digestFormat = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// ServeHTTP serves manifests by tag and digest, and blobs. It is read-only.
func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		http.Error(w, `{"errors": [{"code": "UNSUPPORTED"}]}`, http.StatusMethodNotAllowed)
		return
	}
	if req.URL.Path == "/v2/" {
		return
	}
	parts := registryPath.FindStringSubmatch(req.URL.Path)
	if parts == nil {
		http.Error(w, `{"errors": [{"code": "NAME_INVALID"}]}`, http.StatusNotFound)
		return
	}
	digest := parts[3]
	if image, ok := r.images[req.Host+"/"+parts[1]+":"+digest]; ok {
		digest = image.Digest
	}
	if !digestFormat.MatchString(digest) {
		http.Error(w, `{"errors": [{"code": "MANIFEST_UNKNOWN"}]}`, http.StatusNotFound)
		return
	}
	w.Header().Set("Docker-Content-Digest", digest)
	w.Header().Set("Content-Type", "application/octet-stream")
	if media := r.types[digest]; media != "" {
		w.Header().Set("Content-Type", media)
	}
	name := strings.TrimPrefix(digest, "sha256:")
	http.ServeFile(w, req, filepath.Join(r.dir, "blobs", "sha256", name)) //nolint:gosec // 64 hex digits
}
