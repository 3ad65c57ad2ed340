//go:build linux

package systemd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/machines/process"
)

const (
	// enabled makes the tests run: they download a distribution.
	enabled = "TEST_SYSTEMD"
	// suite is Debian 12, the oldest distribution whose curl signs requests as user data needs.
	suite = "bookworm"
)

// packages are those of an image for EC2 that boots as a node, in addition to Debian's minimum.
// debootstrap does not resolve virtual packages: cloud-init needs python3-cffi-backend for one.
var packages = []string{
	"systemd", "systemd-sysv", "dbus", "libpam-systemd", "udev", "cloud-init", "python3-cffi-backend", "openssh-server", "curl", "ca-certificates", "iproute2", "kmod", "procps",
	"util-linux", "netbase", "iputils-ping", "conntrack", "socat", "ethtool", "ebtables", "iptables",
}

// tree returns the root directory of the distribution. It fails the test if it is to run and cannot.
func tree(t *testing.T) string {
	t.Helper()
	if os.Getenv(enabled) == "" {
		t.Skipf("run it with make test-systemd, which sets %s: it downloads a distribution", enabled)
	}
	if err := process.Supported(); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		t.Fatal("debootstrap is not installed, which makes the Debian tree: apt-get install debootstrap")
	}
	path, err := debian()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// debian makes the tree unless it is in the cache.
var debian = sync.OnceValues(func() (string, error) {
	root, err := kubebuild.FindRoot()
	if err != nil {
		return "", err
	}
	key := sha256.Sum256([]byte(strings.Join(append([]string{suite}, packages...), " ")))
	path := filepath.Join(root, ".cache", "debian-"+suite+"-"+hex.EncodeToString(key[:6]))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a cache
		return "", err
	}
	partial := path + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return "", err
	}
	fmt.Fprintln(os.Stderr, "debootstrap makes", path)
	// It mounts /proc in the tree: in a mount namespace of its own, nothing stays mounted.
	cmd := exec.CommandContext(
		context.Background(),
		"unshare", "--mount", "debootstrap", "--variant=minbase", "--include="+strings.Join(packages, ","), suite, partial,
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("debootstrap: %w: %s", err, out[max(0, len(out)-2000):])
	}
	return path, errors.Join(generalize(partial), os.Rename(partial, path))
})

// generalize makes an image of the tree: it removes what is the host's, and the downloaded packages.
func generalize(tree string) error {
	for _, pattern := range []string{"var/cache/apt/archives/*.deb", "etc/hostname", "etc/resolv.conf", "etc/ssh/ssh_host_*"} {
		paths, err := filepath.Glob(filepath.Join(tree, pattern))
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	// An empty file makes systemd generate an ID at the first boot:
	// https://www.freedesktop.org/software/systemd/man/latest/machine-id.html
	return os.WriteFile(filepath.Join(tree, "etc/machine-id"), nil, 0o444) //nolint:gosec // as in any root
}
