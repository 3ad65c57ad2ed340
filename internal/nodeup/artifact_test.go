package nodeup_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup"
)

func TestArtifactsAreInstalledByHash(t *testing.T) {
	tarball := archive(t, map[string]string{"bin/containerd": "#!containerd", "bin/ctr": "#!ctr"})
	content := map[string][]byte{"kubelet": []byte("#!kubelet"), "containerd.tar.gz": tarball}
	url := serve(t, content)
	b := worker()
	b.Artifacts = []bundle.Artifact{
		{Name: "containerd", URL: url + "containerd.tar.gz", SHA256: bundle.HashOf(tarball), Format: bundle.TarGz, Path: "/usr/local"},
		{Name: "kubelet", URL: url + "kubelet", SHA256: bundle.HashOf(content["kubelet"]), Format: bundle.Binary, Path: "/usr/bin/kubelet"},
		{
			Name:   "runc",
			URL:    url + "runc, which is not there",
			SHA256: bundle.HashOf([]byte("runc of the image")),
			Format: bundle.Binary,
			Path:   "/usr/bin/runc",
		},
	}
	m := newMachine(t, b)
	baked := filepath.Join(m.root, "/usr/bin/runc")
	if err := os.MkdirAll(filepath.Dir(baked), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(baked, []byte("runc of the image"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/usr/local/bin/containerd": "#!containerd", "/usr/bin/kubelet": "#!kubelet"} {
		if got := m.read(t, path); got != want {
			t.Errorf("%s is %q", path, got)
		}
		if info, err := os.Stat(filepath.Join(m.root, path)); err != nil || info.Mode() != 0o755 {
			t.Errorf("%s is %v, %v", path, info.Mode(), err)
		}
	}
	clear(content)
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Errorf("what is there is fetched again: %v", err)
	}
}

// An image of an instance that booted has its records, but its files may have changed since.
func TestArchiveThatAnotherInstanceUnpackedIsUnpackedAgain(t *testing.T) {
	tarball := archive(t, map[string]string{"bin/containerd": "#!containerd"})
	b := worker()
	b.Artifacts = []bundle.Artifact{{
		Name: "containerd", URL: serve(t, map[string][]byte{"a.tar.gz": tarball}) + "a.tar.gz", SHA256: bundle.HashOf(tarball),
		Format: bundle.TarGz, Path: "/usr/local",
	}}
	m := newMachine(t, b)
	for path, text := range map[string]string{
		"/var/lib/nodeup/artifacts/" + bundle.HashOf(tarball): "i-0fedcba9876543210", "/usr/local/bin/containerd": "#!changed",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(m.root, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(m.root, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	if got := m.read(t, "/usr/local/bin/containerd"); got != "#!containerd" {
		t.Errorf("containerd is %q", got)
	}
}

func TestArchiveOfTheImageIsUsedIfItsHashMatches(t *testing.T) {
	for name, test := range map[string]struct {
		change   func([]byte) []byte
		requests int64
	}{
		"the release's": {func(archive []byte) []byte { return archive }, 0},
		"damaged":       {func(archive []byte) []byte { return append(bytes.Clone(archive), 0) }, 1},
		"of another release, under this one's name": {func([]byte) []byte { return []byte("a longer text than none") }, 1},
		"empty": {func([]byte) []byte { return nil }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tarball := archive(t, map[string]string{"bin/containerd": "#!containerd"})
			var requests atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				_, _ = w.Write(tarball)
			}))
			t.Cleanup(server.Close)
			b := worker()
			b.Artifacts = []bundle.Artifact{
				{Name: "containerd", URL: server.URL, SHA256: bundle.HashOf(tarball), Format: bundle.TarGz, Path: "/usr/local"},
			}
			m := newMachine(t, b)
			cached := filepath.Join(m.root, bundle.CacheFolder, bundle.HashOf(tarball))
			if err := os.MkdirAll(filepath.Dir(cached), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(cached, test.change(tarball), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := nodeup.Run(t.Context(), m.options); err != nil {
				t.Fatal(err)
			}
			if got := m.read(t, "/usr/local/bin/containerd"); got != "#!containerd" || requests.Load() != test.requests {
				t.Errorf("containerd is %q after %d requests, want %d", got, requests.Load(), test.requests)
			}
		})
	}
}

func TestArtifactWithoutHashIsRefused(t *testing.T) {
	b := worker()
	b.Artifacts = []bundle.Artifact{
		{
			Name:       "kubelet",
			URL:        "https://example.com/kubelet",
			Unverified: "the project publishes none",
			Format:     bundle.Binary,
			Path:       "/usr/bin/kubelet",
		},
	}
	m := newMachine(t, b)
	err := nodeup.Run(t.Context(), m.options)
	if _, ok := errors.AsType[*nodeup.PermanentError](err); !ok || !strings.Contains(err.Error(), "kubelet has no SHA-256") ||
		!strings.Contains(err.Error(), "the project publishes none") {
		t.Errorf("it ended with %v", err)
	}
}

func TestArtifactOfAnotherHashIsNotInstalled(t *testing.T) {
	b := worker()
	url := serve(t, map[string][]byte{"kubelet": []byte("#!other")})
	b.Artifacts = []bundle.Artifact{
		{
			Name:   "kubelet",
			URL:    url + "kubelet",
			SHA256: bundle.HashOf([]byte("#!kubelet")),
			Format: bundle.Binary,
			Path:   "/usr/bin/kubelet",
		},
	}
	m := newMachine(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m.options.Log = slogTo(m.log, func(message string) {
		if message == "artifacts" {
			cancel()
		}
	})
	if err := nodeup.Run(ctx, m.options); err == nil || !strings.Contains(err.Error(), "the release expects") {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Stat(filepath.Join(m.root, "/usr/bin/kubelet")); !os.IsNotExist(err) {
		t.Errorf("it is installed: %v", err)
	}
}

func TestArchiveStaysInItsFolder(t *testing.T) {
	tarball := archive(t, map[string]string{"../../../etc/passwd": "me"})
	b := worker()
	url := serve(t, map[string][]byte{"a.tar.gz": tarball})
	b.Artifacts = []bundle.Artifact{
		{Name: "a", URL: url + "a.tar.gz", SHA256: bundle.HashOf(tarball), Format: bundle.TarGz, Path: "/usr/local"},
	}
	m := newMachine(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m.options.Log = slogTo(m.log, func(string) { cancel() })
	if err := nodeup.Run(ctx, m.options); err == nil {
		t.Error("an archive may leave its folder")
	}
	if _, err := os.Stat(filepath.Join(m.root, "/etc/passwd")); !os.IsNotExist(err) {
		t.Errorf("it left its folder: %v", err)
	}
}

// slogTo returns a logger that also passes the message of each warning to a function.
func slogTo(out io.Writer, seen func(message string)) *slog.Logger {
	return slog.New(&watched{Handler: slog.NewTextHandler(out, nil), seen: seen})
}

type watched struct {
	slog.Handler
	seen func(string)
}

func (w *watched) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		w.seen(r.Message)
	}
	return w.Handler.Handle(ctx, r)
}
