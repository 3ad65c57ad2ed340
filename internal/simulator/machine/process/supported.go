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

// Supported says why machines cannot run as processes on this host; nil if they
// can. It errs with ErrUnsupported.
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

// mounts are what process 1 of a machine needs to be allowed. Containers that have
// root may lack it.
const mounts = `mount --make-rprivate / && mount -t tmpfs none /tmp && mkdir /tmp/p /tmp/s &&
mount -t proc none /tmp/p && mount -t sysfs -o ro none /tmp/s`

// namespacesWork makes one namespace of each kind and mounts in them, in a child
// that ends at once and takes both with it.
func namespacesWork() error {
	cmd := exec.Command("/bin/sh", "-c", mounts) //nolint:noctx // ends at once
	cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: cloneFlags | unix.CLONE_NEWNET}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the kernel does not let namespaces be made and mounted in: %w %s", err, strings.TrimSpace(string(out)))
	}
	hub, err := newNamespace()
	if err != nil {
		return err
	}
	defer hub.close()
	return bridgesWork(hub)
}

// curlSigns looks for curl 7.75, the first that signs requests for AWS
// (https://curl.se/ch/7.75.0.html).
func curlSigns() error {
	// Where the machine has it: /usr/local is its own.
	for _, path := range []string{"/usr/bin/curl", "/bin/curl"} {
		out, err := exec.Command(path, "--version").Output() //nolint:noctx,gosec // one of the above, which ends at once
		if err != nil {
			continue
		}
		fields := strings.Fields(string(out))
		if len(fields) < 2 || !atLeast(fields[1], 7, 75) {
			return fmt.Errorf("%w: user data needs curl 7.75 or later, %s is %s", ErrUnsupported, path, strings.Join(fields[:min(2, len(fields))], " "))
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

// Architecture is the one that boots here.
func architecture() string { return runtime.GOARCH }
