package nodeup

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// unpack unpacks an archive into a folder, and never outside of it. It replaces existing files
// instead of writing into them, since they may be running programs.
func unpack(archive io.Reader, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("open %s: %w", folder, err)
	}
	defer root.Close() //nolint:errcheck // Nothing is written through it.
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	reader := tar.NewReader(unzipped)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		if err := unpackEntry(root, header, reader); err != nil {
			return fmt.Errorf("unpack %s: %w", header.Name, err)
		}
	}
}

func unpackEntry(root *os.Root, header *tar.Header, content io.Reader) error {
	name := filepath.Clean(header.Name)
	if name == "." {
		return nil
	}
	mode := header.FileInfo().Mode().Perm()
	if header.Typeflag == tar.TypeDir {
		return root.MkdirAll(name, mode|0o700) //nolint:wrapcheck // unpack adds the context.
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err //nolint:wrapcheck // unpack adds the context.
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err //nolint:wrapcheck // unpack adds the context.
	}
	switch header.Typeflag {
	case tar.TypeReg:
		return writeEntry(root, name, mode, content)
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name) //nolint:wrapcheck // unpack adds the context.
	case tar.TypeLink:
		return root.Link(filepath.Clean(header.Linkname), name) //nolint:wrapcheck // unpack adds the context.
	default:
		return fmt.Errorf("an entry of the kind %q", header.Typeflag)
	}
}

func writeEntry(root *os.Root, name string, mode fs.FileMode, content io.Reader) error {
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err //nolint:wrapcheck // unpack adds the context.
	}
	if _, err := io.Copy(file, content); err != nil {
		file.Close() //nolint:errcheck,gosec // Writing has failed.
		return err   //nolint:wrapcheck // unpack adds the context.
	}
	// The process's umask has been applied.
	if err := file.Chmod(mode); err != nil {
		file.Close() //nolint:errcheck,gosec // It has failed already.
		return err   //nolint:wrapcheck // unpack adds the context.
	}
	return file.Close() //nolint:wrapcheck // unpack adds the context.
}
