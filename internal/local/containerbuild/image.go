package containerbuild

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Media types of the OCI image format:
// https://github.com/opencontainers/image-spec/blob/main/media-types.md
const (
	mediaIndex    = "application/vnd.oci.image.index.v1+json"
	mediaManifest = "application/vnd.oci.image.manifest.v1+json"
	mediaConfig   = "application/vnd.oci.image.config.v1+json"
	mediaLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
	// refName names an image in an index.
	refName = "org.opencontainers.image.ref.name"
)

// Image describes a container image.
type Image struct {
	// Names are the names with tags under which registries serve it.
	Names []string
	// Files are the host's files by their path in the image, Links symbolic links.
	Files, Links map[string]string
	// Texts are files by their path in the image: their content.
	Texts map[string]string
	// Modes are the modes of files that are not 0755, by their path.
	Modes map[string]int64
	// Entrypoint is the command, Args the arguments that containers can replace.
	Entrypoint, Args []string
	// User is the user that containers run as; root if it is empty.
	User string
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// WriteLayout writes images as an OCI layout, which registries of simulated machines serve
// (https://github.com/opencontainers/image-spec/blob/main/image-layout.md).
func WriteLayout(dir string, images []Image) error {
	l := layout(dir)
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the old images: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o750); err != nil {
		return fmt.Errorf("make the folder of images: %w", err)
	}
	var manifests []descriptor
	for _, image := range images {
		d, err := l.add(image)
		if err != nil {
			return fmt.Errorf("make the image %s: %w", image.Names[0], err)
		}
		for _, name := range image.Names {
			d.Annotations = map[string]string{refName: name}
			manifests = append(manifests, d)
		}
	}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": mediaIndex, "manifests": manifests})
	if err != nil {
		return fmt.Errorf("write the index of images: %w", err)
	}
	files := map[string][]byte{"index.json": index, "oci-layout": []byte(`{"imageLayoutVersion": "1.0.0"}`)}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return fmt.Errorf("write the index of images: %w", err)
		}
	}
	return nil
}

// layout is the folder of an OCI layout.
type layout string

// add writes the blobs of an image and returns its manifest.
func (l layout) add(image Image) (descriptor, error) {
	layer, content, err := l.layer(image)
	if err != nil {
		return descriptor{}, err
	}
	run := map[string]any{"Entrypoint": image.Entrypoint, "Env": []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}}
	if len(image.Args) > 0 {
		run["Cmd"] = image.Args
	}
	if image.User != "" {
		run["User"] = image.User
	}
	config, err := l.json(mediaConfig, map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": run,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{content}},
	})
	if err != nil {
		return descriptor{}, err
	}
	return l.json(mediaManifest, map[string]any{
		"schemaVersion": 2, "mediaType": mediaManifest, "config": config, "layers": []descriptor{layer},
	})
}

func (l layout) json(media string, value any) (descriptor, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return descriptor{}, err
	}
	sum := sha256.Sum256(data)
	d := descriptor{MediaType: media, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(data))}
	return d, os.WriteFile(l.blob(d.Digest), data, 0o600)
}

func (l layout) blob(digest string) string {
	return filepath.Join(string(l), "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
}

// layer writes the only layer of an image and returns it with the digest of its content.
func (l layout) layer(image Image) (d descriptor, content string, err error) {
	file, err := os.CreateTemp(filepath.Join(string(l), "blobs"), "layer-")
	if err != nil {
		return d, "", err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	defer func() { _ = file.Close() }()
	compressed, plain := sha256.New(), sha256.New()
	zipped, err := gzip.NewWriterLevel(io.MultiWriter(file, compressed), gzip.BestSpeed)
	if err != nil {
		return d, "", err
	}
	if err := writeTar(io.MultiWriter(zipped, plain), image); err != nil {
		return d, "", err
	}
	if err := zipped.Close(); err != nil {
		return d, "", err
	}
	info, err := file.Stat()
	if err != nil {
		return d, "", err
	}
	d = descriptor{MediaType: mediaLayer, Digest: "sha256:" + hex.EncodeToString(compressed.Sum(nil)), Size: info.Size()}
	return d, "sha256:" + hex.EncodeToString(plain.Sum(nil)), os.Rename(file.Name(), l.blob(d.Digest))
}

// writeTar writes the files and links of an image with the folders above them, in order.
func writeTar(out io.Writer, image Image) error {
	archive := tar.NewWriter(out)
	entries := map[string]func() error{"tmp": folder(archive, "tmp", 0o1777)}
	for name, source := range image.Files {
		entries[clean(name)] = func() error { return copyInto(archive, clean(name), source, image.mode(name)) }
	}
	for name, text := range image.Texts {
		entries[clean(name)] = func() error {
			header := &tar.Header{Typeflag: tar.TypeReg, Name: clean(name), Size: int64(len(text)), Mode: image.mode(name)}
			if err := archive.WriteHeader(header); err != nil {
				return err
			}
			_, err := io.WriteString(archive, text)
			return err
		}
	}
	for name, target := range image.Links {
		entries[clean(name)] = func() error {
			return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: clean(name), Linkname: target, Mode: 0o777})
		}
	}
	for _, name := range slices.Collect(maps.Keys(entries)) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := entries[dir]; !ok {
				entries[dir] = folder(archive, dir, 0o755)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if err := entries[name](); err != nil {
			return err
		}
	}
	return archive.Close()
}

func (i Image) mode(name string) int64 {
	if mode, ok := i.Modes[name]; ok {
		return mode
	}
	return 0o755
}

func clean(name string) string { return strings.TrimPrefix(path.Clean(name), "/") }

func folder(archive *tar.Writer, name string, mode int64) func() error {
	return func() error {
		return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode})
	}
}

func copyInto(archive *tar.Writer, name, source string, mode int64) error {
	file, err := os.Open(source) //nolint:gosec // a program of ours, or of the host
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: mode}); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}
