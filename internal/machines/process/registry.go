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

// registry serves the images of OCI layouts as the registries that their names contain, over the
// OCI distribution protocol: https://github.com/opencontainers/distribution-spec/blob/main/spec.md
type registry struct {
	dirs   []string
	images map[string]blob // manifests by the names of images
	types  map[string]string
	hosts  map[string]bool
}

type blob struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Annotations map[string]string `json:"annotations"`
}

// openRegistry reads the indexes of layouts. Of two images with the same name, it serves the later.
func openRegistry(dirs ...string) (*registry, error) {
	r := &registry{dirs: dirs, images: map[string]blob{}, types: map[string]string{}, hosts: map[string]bool{}}
	for _, dir := range dirs {
		if err := r.add(dir); err != nil {
			return nil, fmt.Errorf("read the container images in %s: %w", dir, err)
		}
	}
	return r, nil
}

func (r *registry) add(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "index.json")) //nolint:gosec // of the image
	if err != nil {
		return err
	}
	var index struct {
		Manifests []blob `json:"manifests"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return err
	}
	for _, manifest := range index.Manifests {
		name := manifest.Annotations["org.opencontainers.image.ref.name"]
		host, _, _ := strings.Cut(name, "/")
		r.images[name], r.types[manifest.Digest], r.hosts[host] = manifest, manifest.MediaType, true
	}
	return nil
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
	http.ServeFile(w, req, r.find(strings.TrimPrefix(digest, "sha256:")))
}

// find returns the file of a blob: one that does not exist if no layout has it.
func (r *registry) find(hex string) string {
	var path string
	for _, dir := range r.dirs {
		path = filepath.Join(dir, "blobs", "sha256", hex)
		if _, err := os.Stat(path); err == nil { //nolint:gosec // 64 hex digits
			break
		}
	}
	return path
}
