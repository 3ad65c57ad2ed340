package image_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/aws-operator/aws-operator/release/image"
)

// registry is a fake registry in memory, with what a push needs.
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#push
type registry struct {
	mu sync.Mutex
	// blobs and manifests by digest, manifests also by tag.
	blobs, manifests map[string][]byte
}

func (r *registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kind, reference, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/v2/aws-operator/"), "/")
	of := map[string]map[string][]byte{"blobs": r.blobs, "manifests": r.manifests}[kind]
	switch {
	case request.Method == http.MethodHead || request.Method == http.MethodGet:
		data, ok := of[reference]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Docker-Content-Digest", digest.FromBytes(data).String())
		_, _ = w.Write(data)
	case request.Method == http.MethodPost && request.URL.Path == "/v2/aws-operator/blobs/uploads/":
		w.Header().Set("Location", "/v2/aws-operator/blobs/upload")
		w.WriteHeader(http.StatusAccepted)
	case request.Method == http.MethodPut:
		data, err := io.ReadAll(request.Body)
		if claimed := request.URL.Query().Get("digest"); claimed != "" {
			reference = claimed
		}
		sum := digest.FromBytes(data).String()
		if err != nil || strings.HasPrefix(reference, "sha256:") && reference != sum {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		of[reference], of[sum] = data, data
		w.Header().Set("Docker-Content-Digest", sum)
		w.WriteHeader(http.StatusCreated)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func TestPushedImagesAreThoseOfTheLayout(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // no credentials
	folder, of := write(t)
	r := &registry{blobs: map[string][]byte{}, manifests: map[string][]byte{}}
	server := httptest.NewServer(r)
	defer server.Close()
	pushed, err := image.Push(t.Context(), folder, "v1.2.3", strings.TrimPrefix(server.URL, "http://")+"/aws-operator")
	if err != nil || pushed != of {
		t.Fatalf("pushed %s, %v, want %s", pushed, err, of)
	}
	if digest.FromBytes(r.manifests["v1.2.3"]) != of {
		t.Errorf("the tag is of %s, want %s", digest.FromBytes(r.manifests["v1.2.3"]), of)
	}
	if got := len(r.blobs); got != 5 { // two configurations, two own layers and one that both share
		t.Errorf("the registry has %d blobs, want 5", got)
	}
}

func TestPushNamesWhatIsWrong(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	folder, _ := write(t)
	for name, c := range map[string]struct{ name, repository, want string }{
		"no repository":   {"v1.2.3", "aws-operator", "is not a repository such as registry.example.com/aws-operator"},
		"another version": {"v2.0.0", "127.0.0.1:1/aws-operator", "push v2.0.0 to 127.0.0.1:1/aws-operator: "},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := image.Push(t.Context(), folder, c.name, c.repository); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
