//go:build linux

package guest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// makeRoot creates the machine's root for the calling process, which has its own mount namespace.
func makeRoot(c Config) error {
	// Later mounts do not reach the host.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("leave the host's mounts: %w", err)
	}
	if err := unix.Mount("tmpfs", c.Root, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("make the root: %w", err)
	}
	r := root(c.Root)
	for _, step := range []func(Config) error{
		r.folders, r.programs, r.image, r.containers, r.saved, r.settings, r.devices, r.kernel, r.shown,
	} {
		if err := step(c); err != nil {
			return err
		}
	}
	if err := r.enter(); err != nil {
		return err
	}
	// As systemd does: the volumes of pods are mounted by the kubelet and seen in their containers.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share the machine's mounts: %w", err)
	}
	return nil
}

// root is the directory in which the machine's root is created.
type root string

func (r root) path(name string) string { return filepath.Join(string(r), name) }

// folders creates the machine's own directories.
func (r root) folders(Config) error {
	for name, mode := range map[string]os.FileMode{
		"etc": 0o755, "root": 0o700, "home": 0o755, "opt": 0o755, "srv": 0o755, "mnt": 0o755, "tmp": 0o777 | os.ModeSticky,
		"run": 0o755, "run/lock": 0o755, "var": 0o755, "var/lib": 0o755, "var/cache": 0o755, "var/tmp": 0o777 | os.ModeSticky,
		"var/log": 0o755, "proc": 0o555, "sys": 0o555, "dev": 0o755, "usr": 0o755, ".host": 0o700,
		"etc/kubernetes": 0o755, "etc/systemd/system": 0o755,
	} {
		if err := os.MkdirAll(r.path(name), 0o755); err != nil { //nolint:gosec // as in any root
			return fmt.Errorf("make /%s: %w", name, err)
		}
		if err := os.Chmod(r.path(name), mode); err != nil {
			return fmt.Errorf("make /%s: %w", name, err)
		}
	}
	return os.Symlink("/run", r.path("var/run"))
}

// programs mounts the host's programs read-only. /usr/local is the machine's own.
func (r root) programs(c Config) error {
	for _, name := range []string{"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix", "gnu"} {
		info, err := os.Lstat("/" + name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return fmt.Errorf("inspect /%s: %w", name, err)
		case info.Mode()&os.ModeSymlink != 0:
			err = copyLink("/"+name, r.path(name))
		case info.IsDir():
			err = r.showReadOnly("/"+name, name)
		}
		if err != nil {
			return err
		}
	}
	if c.Containers != "" {
		if err := r.writableUsr(); err != nil {
			return err
		}
	}
	if err := unix.Mount("tmpfs", r.path("usr/local"), "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("make /usr/local: %w", err)
	}
	for _, name := range []string{"bin", "sbin", "lib", "libexec", "share"} {
		if err := os.Mkdir(r.path("usr/local/"+name), 0o755); err != nil { //nolint:gosec // as in any root
			return err
		}
	}
	return nil
}

func copyLink(from, to string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	return os.Symlink(target, to)
}

func (r root) show(source, name string) error {
	info, err := os.Stat(source)
	if err != nil {
		return fmt.Errorf("show %s: %w", source, err)
	}
	target := r.path(name)
	if info.IsDir() {
		err = os.MkdirAll(target, 0o755) //nolint:gosec // as in any root
	} else {
		err = errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, nil, 0o600)) //nolint:gosec // as in any root
	}
	if err != nil {
		return fmt.Errorf("show %s: %w", source, err)
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("show %s as /%s: %w", source, name, err)
	}
	return nil
}

func (r root) showReadOnly(source, name string) error {
	if err := r.show(source, name); err != nil {
		return err
	}
	return readOnly(r.path(name))
}

func readOnly(path string) error {
	// Some sandboxes forbid removing a mount's other flags, so keep them.
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return fmt.Errorf("inspect the mount %s: %w", path, err)
	}
	keep := uintptr(fs.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC) //nolint:gosec // flags
	if err := unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|keep, ""); err != nil {
		return fmt.Errorf("make %s read-only: %w", path, err)
	}
	return nil
}

// image installs the machine image's binaries at the paths of a release.
func (r root) image(c Config) error {
	for source, name := range map[string]string{c.Machine: "machine", c.Kube: "kube"} {
		if err := r.showReadOnly(source, filepath.Join(ImagePath, name)); err != nil {
			return err
		}
	}
	links := map[string]string{"bin/kubeadm": "kube", "bin/kubelet": "machine"}
	for name := range stubs {
		links["sbin/"+name] = "machine"
	}
	links["bin/"+ProviderName] = "machine" // where releases install it
	for name, target := range links {
		if err := os.Symlink(filepath.Join(ImagePath, target), r.path("usr/local/"+name)); err != nil {
			return fmt.Errorf("put %s into the machine image: %w", name, err)
		}
	}
	return nil
}

// bundles are the paths at which systems store their trusted CAs; the first is that of Debian and
// Ubuntu.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
}

// settings writes /etc.
func (r root) settings(c Config) error {
	short, _, _ := strings.Cut(c.Hostname, ".")
	files := map[string]string{
		"hostname":    c.Hostname + "\n",
		"hosts":       fmt.Sprintf("127.0.0.1 localhost\n::1 localhost\n%s %s %s\n", c.Address, c.Hostname, short),
		"resolv.conf": "nameserver " + c.Resolver + "\noptions timeout:1 attempts:2\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n" +
			"services: files\nprotocols: files\n",
		"os-release": "PRETTY_NAME=\"Simulated machine in the manner of Ubuntu 24.04\"\nNAME=\"Ubuntu\"\n" +
			"VERSION_ID=\"24.04\"\nID=ubuntu\nID_LIKE=debian\n",
		"machine-id": c.machineID() + "\n",
		"fstab":      "",
	}
	for _, name := range []string{"passwd", "group", "services", "protocols", "ld.so.cache", "ssl/openssl.cnf"} {
		if data, err := os.ReadFile(filepath.Join("/etc", name)); err == nil { //nolint:gosec // one of the above
			files[name] = string(data)
		}
	}
	files["ssl/certs/ca-certificates.crt"] = string(trusted(c.CACertificate))
	for name, text := range files {
		path := r.path("etc/" + name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as in any root
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // as in any root
			return fmt.Errorf("write /etc/%s: %w", name, err)
		}
	}
	for _, other := range bundles[1:] {
		if err := os.MkdirAll(filepath.Dir(r.path(other)), 0o755); err != nil { //nolint:gosec // as in any root
			return err
		}
		if err := os.Symlink(bundles[0], r.path(other)); err != nil {
			return err
		}
	}
	if _, err := os.Stat("/etc/alternatives"); err == nil {
		return r.showReadOnly("/etc/alternatives", "etc/alternatives")
	}
	return nil
}

// trusted returns the host's CAs and the simulator's.
func trusted(ca []byte) []byte {
	for _, path := range bundles {
		if data, err := os.ReadFile(path); err == nil { //nolint:gosec // one of the above
			return bytes.Join([][]byte{bytes.TrimSpace(data), ca}, []byte("\n"))
		}
	}
	return ca
}

// devices creates the devices that programs without hardware need.
func (r root) devices(c Config) error {
	if err := unix.Mount("tmpfs", r.path("dev"), "tmpfs", unix.MS_NOSUID, "mode=755"); err != nil {
		return fmt.Errorf("make /dev: %w", err)
	}
	names := []string{"null", "zero", "full", "random", "urandom", "tty"}
	if c.Containers != "" {
		names = append(names, "kmsg") // the kubelet reads which processes the kernel killed
	}
	for _, name := range names {
		if err := r.show("/dev/"+name, "dev/"+name); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
	} {
		if err := os.Symlink(target, r.path("dev/"+name)); err != nil {
			return err
		}
	}
	for name, mount := range map[string][2]string{"shm": {"tmpfs", "mode=1777"}, "pts": {"devpts", "newinstance,ptmxmode=0666,mode=620"}} {
		if err := os.Mkdir(r.path("dev/"+name), 0o755); err != nil { //nolint:gosec // as in any root
			return err
		}
		if err := unix.Mount(mount[0], r.path("dev/"+name), mount[0], unix.MS_NOSUID, mount[1]); err != nil {
			return fmt.Errorf("make /dev/%s: %w", name, err)
		}
	}
	return r.show(c.Disks, DisksPath)
}

// kernel mounts /proc and /sys. Settings of the whole host are read-only; net.* belongs to the
// machine.
func (r root) kernel(c Config) error {
	if err := unix.Mount("proc", r.path("proc"), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("make /proc: %w", err)
	}
	if err := unix.Mount(r.path("proc/sys/net"), r.path("proc/sys/net"), "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("show /proc/sys/net: %w", err)
	}
	for _, name := range []string{"proc/sys", "proc/sysrq-trigger"} {
		path := r.path(name)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue // this kernel does not have it
		}
		if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("show /%s: %w", name, err)
		}
		if err := readOnly(path); err != nil {
			return err
		}
	}
	if err := unix.Mount("sysfs", r.path("sys"), "sysfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("make /sys: %w", err)
	}
	if c.Containers == "" && c.Tree == "" {
		return nil
	}
	if c.Tree != "" {
		return r.cgroups()
	}
	if err := r.ownSettings(); err != nil {
		return err
	}
	return r.cgroups()
}

// shown mounts the directories that outlive the machine.
func (r root) shown(c Config) error {
	if err := r.show(c.Volumes, VolumesPath); err != nil {
		return err
	}
	for _, name := range onRootVolume {
		if c.RootVolume == "" {
			break
		}
		source := filepath.Join(c.RootVolume, filepath.Base(name))
		if err := os.Mkdir(source, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("make the root volume: %w", err)
		}
		if err := r.show(source, name); err != nil {
			return err
		}
	}
	return r.show(c.Log, "var/log")
}

// onRootVolume are the directories that fill with images and pods.
var onRootVolume = []string{"var/lib/containerd", "var/lib/kubelet"}

// enter makes it the root of the calling process.
func (r root) enter() error {
	if err := unix.PivotRoot(string(r), r.path(".host")); err != nil {
		return fmt.Errorf("enter the root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := unix.Unmount("/.host", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the host's root: %w", err)
	}
	return os.Remove("/.host")
}
