package nodeup_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
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
