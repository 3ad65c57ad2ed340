package nodeup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// installArtifacts installs the artifacts that the image does not have.
func (b *boot) installArtifacts(ctx context.Context) (string, error) {
	var installed []string
	for _, artifact := range b.bundle.Artifacts {
		if artifact.SHA256 == "" {
			return "", permanent(
				"the artifact %s has no SHA-256, and nodeup installs nothing that it cannot verify%s",
				artifact.Name,
				because(artifact.Unverified),
			)
		}
		if b.present(artifact) {
			continue
		}
		if err := b.install(ctx, artifact); err != nil {
			return "", fmt.Errorf("install %s: %w", artifact.Name, err)
		}
		installed = append(installed, artifact.Name)
	}
	if len(installed) == 0 {
		return "nothing, all are there", nil
	}
	return "installed " + strings.Join(installed, ", "), nil
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// present reports whether an artifact is installed: an executable by its hash, an archive by the
// record that this instance has unpacked it. The record of another instance, which an image may have,
// says nothing about the files.
func (b *boot) present(artifact bundle.Artifact) bool {
	if artifact.Format == bundle.TarGz {
		unpackedBy, err := b.files.read(filepath.Join(unpackedInto, artifact.SHA256))
		return err == nil && string(unpackedBy) == b.machine.InstanceID
	}
	file, err := os.Open(b.files.path(artifact.Path))
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // It was only read.
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return false
	}
	return hex.EncodeToString(hash.Sum(nil)) == artifact.SHA256
}

func (b *boot) install(ctx context.Context, artifact bundle.Artifact) error {
	path := b.files.path(artifact.Path)
	folder := filepath.Dir(path)
	if artifact.Format == bundle.TarGz {
		folder = path
	}
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // Folders of programs are readable by all users.
		return fmt.Errorf("make a folder: %w", err)
	}
	temporary, err := os.CreateTemp(folder, ".nodeup-*")
	if err != nil {
		return fmt.Errorf("make a file: %w", err)
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // An executable has been renamed.
	defer temporary.Close()           //nolint:errcheck // Writing is checked where it counts.
	cached, err := b.cached(artifact, temporary)
	if err != nil {
		return err
	}
	if !cached {
		if err := b.download(ctx, artifact, temporary); err != nil {
			return err
		}
	}
	if artifact.Format != bundle.TarGz {
		return put(temporary, path, 0o755)
	}
	if err := rewind(temporary); err != nil {
		return fmt.Errorf("read the download: %w", err)
	}
	if err := unpack(temporary, path); err != nil {
		return err
	}
	_, err = b.files.write(filepath.Join(unpackedInto, artifact.SHA256), []byte(b.machine.InstanceID), 0o644)
	return err
}

// cached writes an artifact to a file if the image's cache has it. The hash of what it writes
// decides, not the name: the image may be of another release, or damaged.
func (b *boot) cached(artifact bundle.Artifact, into *os.File) (bool, error) {
	file, err := os.Open(b.files.path(filepath.Join(bundle.CacheFolder, artifact.SHA256)))
	if err != nil {
		return false, nil // Most images have no cache.
	}
	defer file.Close() //nolint:errcheck // It was only read.
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(into, hash), file); err == nil && hex.EncodeToString(hash.Sum(nil)) == artifact.SHA256 {
		return true, nil
	}
	if err := errors.Join(into.Truncate(0), rewind(into)); err != nil {
		return false, fmt.Errorf("discard the image's copy: %w", err)
	}
	return false, nil
}

func rewind(file *os.File) error {
	_, err := file.Seek(0, io.SeekStart)
	return err //nolint:wrapcheck // The callers add the context.
}

// download downloads an artifact and verifies its hash.
func (b *boot) download(ctx context.Context, artifact bundle.Artifact, into io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, artifact.URL, http.NoBody)
	if err != nil {
		return permanent("the address %q: %w", artifact.URL, err)
	}
	response, err := b.HTTP.Do(request)
	if err != nil {
		return fmt.Errorf("fetch it: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("fetch %s: %s", artifact.URL, response.Status)
	}
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(into, hash), response.Body); err != nil {
		return fmt.Errorf("fetch %s: %w", artifact.URL, err)
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != artifact.SHA256 {
		// A mirror or a proxy may succeed later.
		return fmt.Errorf("%s has the SHA-256 %s; the release expects %s", artifact.URL, sum, artifact.SHA256)
	}
	return nil
}
