package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
)

// file is a file or, with mode of a directory, a folder of a layer.
type file struct {
	mode    int64
	content []byte
}

const (
	modeProgram = 0o755
	modeFile    = 0o644
	// modeTmp is that of /tmp: everyone may write to it, and remove only their own.
	modeTmp = 0o1777
)

// layer is a layer of an image.
type layer struct {
	compressed []byte
	// diffID is the digest of the layer before compression.
	// https://github.com/opencontainers/image-spec/blob/v1.1.1/config.md#layer-diffid
	diffID digest.Digest
}

// newLayer returns a layer with files by their paths, and the folders above them. All belong to root
// and have the same time, so that the layer depends on nothing but their content.
func newLayer(files map[string]file) (*layer, error) {
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	for _, name := range slices.Sorted(maps.Keys(withFolders(files))) {
		f, isFile := files[name]
		header := &tar.Header{Name: name, Mode: f.mode, Size: int64(len(f.content)), ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg}
		if !isFile || f.content == nil {
			header.Name, header.Typeflag = name+"/", tar.TypeDir
		}
		if !isFile {
			header.Mode = modeProgram
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("add %s to a layer: %w", name, err)
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, fmt.Errorf("add %s to a layer: %w", name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("end a layer: %w", err)
	}
	made := &layer{diffID: digest.FromBytes(packed.Bytes())}
	var compressed bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress a layer: %w", err)
	}
	if _, err := zipped.Write(packed.Bytes()); err != nil {
		return nil, fmt.Errorf("compress a layer: %w", err)
	}
	if err := zipped.Close(); err != nil {
		return nil, fmt.Errorf("compress a layer: %w", err)
	}
	made.compressed = compressed.Bytes()
	return made, nil
}

// withFolders returns the paths of files and of the folders above them.
func withFolders(files map[string]file) map[string]bool {
	all := map[string]bool{}
	for name := range files {
		for ; name != "."; name = path.Dir(name) {
			all[name] = true
		}
	}
	return all
}
