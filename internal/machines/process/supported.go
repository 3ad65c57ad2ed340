//go:build linux

package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Supported returns nil if machines can run as processes on this host. Otherwise it returns an
// ErrUnsupported with the reason.
func Supported() error { return supported() }

var supported = sync.OnceValue(func() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: they need root, this is user %d", ErrUnsupported, os.Geteuid())
	}
	if _, err := os.Stat("/bin/sh"); err != nil {
		return fmt.Errorf("%w: user data needs /bin/sh", ErrUnsupported)
	}
	if err := namespacesWork(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return curlSigns()
})

// mounts does the mounts that process 1 of a machine needs. Root in a container may not have the
// permission.
const mounts = `mount --make-rprivate / && mount -t tmpfs none /tmp && mkdir /tmp/p /tmp/s &&
mount -t proc none /tmp/p && mount -t sysfs -o ro none /tmp/s`

// namespacesWork creates one namespace of each kind and mounts in them, in a child process that
// exits at once.
func namespacesWork() error {
	cmd := exec.Command("/bin/sh", "-c", mounts) //nolint:noctx // exits at once
	cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: cloneFlags | unix.CLONE_NEWNET}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the kernel does not allow creating namespaces and mounting in them: %w %s", err, strings.TrimSpace(string(out)))
	}
	hub, err := newNamespace()
	if err != nil {
		return err
	}
	defer hub.close()
	return bridgesWork(hub)
}

// curlSigns looks for curl 7.87, the first version that signs the headers of a request for AWS, of
// which S3 requires one (https://github.com/curl/curl/issues/8810).
func curlSigns() error {
	// The paths in a machine: its /usr/local is not the host's.
	for _, path := range []string{"/usr/bin/curl", "/bin/curl"} {
		out, err := exec.Command(path, "--version").Output() //nolint:noctx,gosec // one of the above, which exits at once
		if err != nil {
			continue
		}
		fields := strings.Fields(string(out))
		if len(fields) < 2 || !atLeast(fields[1], 7, 87) {
			return fmt.Errorf(
				"%w: user data needs curl 7.87 or later, %s is %s", ErrUnsupported, path, strings.Join(fields[:min(2, len(fields))], " "),
			)
		}
		return nil
	}
	return fmt.Errorf("%w: user data needs /usr/bin/curl", ErrUnsupported)
}

func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	gotMajor, err1 := strconv.Atoi(parts[0])
	gotMinor, err2 := strconv.Atoi(parts[1])
	if err1 != nil || err2 != nil {
		return false
	}
	return gotMajor > major || gotMajor == major && gotMinor >= minor
}

// architecture returns the architecture of the host, the only one that boots.
func architecture() string { return runtime.GOARCH }
