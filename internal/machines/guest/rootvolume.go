//go:build linux

package guest

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// rootFile, in a volume's directory, is an archive of the machine's own files as of its last orderly
// shutdown. A machine whose root volume has one starts with these files.
const rootFile = "root.tar"

// kept are the directories in the archive, and forgotten those below them that are not: what Log and
// RootVolume hold is elsewhere, and the certificates that a machine trusts are the host's.
var (
	kept      = []string{"etc", "home", "opt", "root", "srv", "usr/local", "var"}
	forgotten = []string{"etc/ssl", "etc/pki", "var/log", "var/tmp", "var/lib/machine", ImagePath[1:]}
)

// powerOff ends the machine in order: it ends all processes, keeps the files of the root in the root
// volume, and ends process 1 with exit code 0, which says that the machine is off.
func (u *units) powerOff(rootVolume string) {
	log.Print("powering off")
	u.mu.Lock()
	var names []string
	for name := range u.known {
		names = append(names, name)
	}
	u.mu.Unlock()
	for _, name := range names {
		u.stop(name)
	}
	_ = unix.Kill(-1, unix.SIGKILL) // all but process 1
	if rootVolume != "" {
		if err := saveRoot("/", filepath.Join(VolumesPath, filepath.Base(rootVolume))); err != nil {
			log.Printf("keep the root volume: %v", err)
		}
	}
	os.Exit(0)
}

// saveRoot archives a root's own files: those in its own file systems, and not those that are mounted.
func saveRoot(root, volume string) (err error) {
	if err := os.MkdirAll(volume, 0o700); err != nil {
		return err
	}
	temporary := filepath.Join(volume, rootFile+".part")
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // a volume's
	if err != nil {
		return err
	}
	archive := tar.NewWriter(file)
	for _, folder := range kept {
		if err = saveFolder(archive, root, folder); err != nil {
			break
		}
	}
	if err = errors.Join(err, archive.Close(), file.Close()); err != nil {
		return err
	}
	return os.Rename(temporary, filepath.Join(volume, rootFile))
}

func saveFolder(archive *tar.Writer, root, folder string) error {
	device, err := deviceOf(filepath.Join(root, folder))
	if err != nil {
		return err
	}
	return filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		on, err := deviceOf(path)
		if err != nil {
			return err
		}
		switch {
		case on != device || slices.Contains(forgotten, name) || name == "usr/local" && folder != name:
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0:
			return nil // a socket, a pipe or a device
		}
		return saveEntry(archive, path, name, entry)
	})
}

func deviceOf(path string) (uint64, error) {
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return 0, fmt.Errorf("inspect %s: %w", path, err)
	}
	return stat.Dev, nil
}

func saveEntry(archive *tar.Writer, path, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err = os.Readlink(path); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	header.Name = name
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(path) //nolint:gosec // one of the root's
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	_, err = io.Copy(archive, file)
	return err
}

// saved puts the files of the root volume into the root, if it has any.
func (r root) saved(c Config) error {
	if c.RootVolumeID == "" {
		return nil
	}
	file, err := os.Open(filepath.Join(c.Volumes, filepath.Base(c.RootVolumeID), rootFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the root volume: %w", err)
	}
	defer func() { _ = file.Close() }()
	if err := restoreRoot(string(r), file); err != nil {
		return fmt.Errorf("read the root volume: %w", err)
	}
	return nil
}

func restoreRoot(folder string, from io.Reader) error {
	within, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = within.Close() }()
	archive := tar.NewReader(from)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := restoreEntry(within, header, archive); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}

func restoreEntry(within *os.Root, header *tar.Header, content io.Reader) error {
	name, mode := strings.TrimSuffix(header.Name, "/"), header.FileInfo().Mode()
	if mode.IsDir() {
		if err := within.MkdirAll(name, 0o755); err != nil {
			return err
		}
		return errors.Join(within.Lchown(name, header.Uid, header.Gid), within.Chmod(name, mode.Perm()|mode&fs.ModeSticky))
	}
	if err := within.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if mode&fs.ModeSymlink != 0 {
		return within.Symlink(header.Linkname, name)
	}
	file, err := within.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Chown(header.Uid, header.Gid), file.Chmod(mode.Perm()), file.Close())
}
