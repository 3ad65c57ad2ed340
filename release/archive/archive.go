package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// File is a file, or a folder if its mode says so.
type File struct {
	Mode    fs.FileMode
	Content []byte
}

// The modes of files and folders.
const (
	ModeProgram = 0o755
	ModeFile    = 0o644
	ModeFolder  = fs.ModeDir | 0o755
)

// Tar returns a tar archive with files by their paths, and the folders above them.
func Tar(files map[string]File) ([]byte, error) {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, name := range sorted(files) {
		f, ok := files[name]
		if !ok {
			f.Mode = ModeFolder
		}
		header := &tar.Header{
			Name: name, Typeflag: tar.TypeReg, Mode: int64(f.Mode.Perm()), Size: int64(len(f.Content)), ModTime: time.Unix(0, 0),
		}
		if f.Mode.IsDir() {
			header.Name, header.Typeflag = name+"/", tar.TypeDir
		}
		if f.Mode&fs.ModeSticky != 0 {
			header.Mode |= 0o1000
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
		if _, err := archive.Write(f.Content); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("end the archive: %w", err)
	}
	return out.Bytes(), nil
}

// Gzip returns compressed data.
func Gzip(data []byte) ([]byte, error) {
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if _, err := zipped.Write(data); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := zipped.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return out.Bytes(), nil
}

// TarGzip returns a compressed tar archive with files by their paths, and the folders above them.
func TarGzip(files map[string]File) ([]byte, error) {
	packed, err := Tar(files)
	if err != nil {
		return nil, err
	}
	return Gzip(packed)
}

// Checksums returns the SHA-256 of files by their names, as sha256sum --check reads them.
func Checksums(files map[string][]byte) []byte {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	return []byte(out.String())
}

// sorted returns the paths of files and of the folders above them.
func sorted(files map[string]File) []string {
	all := map[string]bool{}
	for name := range files {
		for ; name != "."; name = path.Dir(name) {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
