//go:build linux

package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// The programs of an image that runs containers, at the paths of a release: those in ContainersPath,
// and those that run adapted.
var (
	containerLinks = map[string]string{
		"usr/local/bin/containerd-shim-runc-v2": "containerd-shim-runc-v2", "usr/local/bin/ctr": "ctr", "usr/local/sbin/runc": "runc",
		"opt/cni/bin/bridge": "bridge", "opt/cni/bin/host-local": "host-local", "opt/cni/bin/loopback": "loopback",
		"opt/cni/bin/portmap": "portmap", "opt/cni/bin/ptp": "ptp",
	}
	adaptedLinks = []string{"usr/local/bin/containerd"}
)

// unpackedPath is where nodeup records the archives that it has unpacked, by hash, with the ID of the
// instance: it fetches none that is recorded.
const unpackedPath = "var/lib/nodeup/artifacts"

// networkUnit installs the pod network, as a release's addon would: see package agent.
const networkUnit = "machine-network.service"

// containers installs the programs with which a machine runs containers.
func (r root) containers(c Config) error {
	if c.Containers == "" {
		return nil
	}
	if err := r.showReadOnly(c.Containers, ContainersPath); err != nil {
		return err
	}
	if c.Kubelet != "" {
		shown := r.path(filepath.Join(ContainersPath, "kubelet"))
		if err := unix.Mount(c.Kubelet, shown, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("show the kubelet of the machine image: %w", err)
		}
		if err := readOnly(shown); err != nil {
			return err
		}
	}
	links := map[string]string{}
	for name, program := range containerLinks {
		links[name] = filepath.Join(ContainersPath, program)
	}
	for _, name := range adaptedLinks {
		links[name] = filepath.Join(ImagePath, "machine")
	}
	for name, target := range links {
		err := os.MkdirAll(filepath.Dir(r.path(name)), 0o755) //nolint:gosec // as in any root
		if err := errors.Join(err, os.Symlink(target, r.path(name))); err != nil {
			return fmt.Errorf("put %s into the machine image: %w", name, err)
		}
	}
	files := map[string]string{
		"etc/systemd/system/" + networkUnit: "[Service]\nExecStart=" + ImagePath + "/machine machine-network\nRestart=always\nRestartSec=2\n",
	}
	for _, hash := range c.Unpacked {
		files[filepath.Join(unpackedPath, hash)] = c.InstanceID
	}
	for name, text := range files {
		err := os.MkdirAll(filepath.Dir(r.path(name)), 0o755) //nolint:gosec // as in any root
		err = errors.Join(err, os.WriteFile(r.path(name), []byte(text), 0o600))
		if err != nil {
			return fmt.Errorf("put %s into the machine image: %w", name, err)
		}
	}
	return nil
}

// writableUsr makes /usr writable, without effect on the host: pods mount directories below it, such
// as /lib/modules, and the runtime creates those that do not exist.
func (r root) writableUsr() error {
	upper, work := r.path("var/lib/machine/usr"), r.path("var/lib/machine/work")
	if err := errors.Join(os.MkdirAll(upper, 0o755), os.MkdirAll(work, 0o700)); err != nil { //nolint:gosec // as in any root
		return fmt.Errorf("make /usr: %w", err)
	}
	usr := r.path("usr")
	if err := unix.Mount("overlay", usr, "overlay", 0, "lowerdir="+usr+",upperdir="+upper+",workdir="+work); err != nil {
		return fmt.Errorf("make /usr: %w", err)
	}
	return nil
}

// hostSettings are settings of the whole host that a node sets. The machine has files of its own for
// them: programs read what they have written, and the host does not change.
var hostSettings = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
	"kernel/keys/root_maxbytes", "fs/inotify/max_user_instances", "fs/inotify/max_user_watches",
}

// ownSettings replaces the host's settings by files of the machine.
func (r root) ownSettings() error {
	// Their own file system: the kubelet takes one mount of a file system for all, and no setting is
	// to be taken for that of the root.
	dir := r.path("run/machine/sysctl")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as in any root
		return fmt.Errorf("make the folder of settings: %w", err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=755"); err != nil {
		return fmt.Errorf("make the folder of settings: %w", err)
	}
	for _, name := range hostSettings {
		shown := r.path("proc/sys/" + name)
		value, err := os.ReadFile(shown) //nolint:gosec // one of the above
		if errors.Is(err, os.ErrNotExist) {
			continue // this kernel does not have it
		}
		if err != nil {
			return fmt.Errorf("read the setting %s: %w", name, err)
		}
		own := filepath.Join(dir, name)
		err = os.MkdirAll(filepath.Dir(own), 0o755)                               //nolint:gosec // as in any root
		if err := errors.Join(err, os.WriteFile(own, value, 0o600)); err != nil { //nolint:gosec // one of the above
			return fmt.Errorf("copy the setting %s: %w", name, err)
		}
		if err := unix.Mount(own, shown, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("show the setting %s: %w", name, err)
		}
	}
	return nil
}

const cgroupRoot = "sys/fs/cgroup"

// cgroups mounts the hierarchies of cgroups. The machine is in a cgroup namespace, so it has only its
// own: https://man7.org/linux/man-pages/man7/cgroup_namespaces.7.html
func (r root) cgroups() error {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return fmt.Errorf("find the hierarchies of cgroups: %w", err)
	}
	if err := unix.Mount("tmpfs", r.path(cgroupRoot), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=755"); err != nil {
		return fmt.Errorf("make /%s: %w", cgroupRoot, err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 || fields[1] == "" {
			continue // version 2, whose hierarchy has no controllers on such a host
		}
		if err := r.hierarchy(fields[1]); err != nil {
			return err
		}
	}
	return nil
}

// hierarchy mounts the hierarchy with controllers, or with a name: name=systemd.
func (r root) hierarchy(controllers string) error {
	options, folder := controllers, controllers
	if name, named := strings.CutPrefix(controllers, "name="); named {
		options, folder = "none,"+controllers, name
	}
	target := r.path(filepath.Join(cgroupRoot, folder))
	if err := os.Mkdir(target, 0o755); err != nil { //nolint:gosec // as in any root
		return fmt.Errorf("make /%s: %w", cgroupRoot, err)
	}
	if err := unix.Mount("cgroup", target, "cgroup", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options); err != nil {
		return fmt.Errorf("mount the hierarchy of cgroups %s: %w", controllers, err)
	}
	all := strings.Split(folder, ",")
	if len(all) == 1 {
		return nil
	}
	for _, one := range slices.Compact(all) {
		if err := os.Symlink(folder, r.path(filepath.Join(cgroupRoot, one))); err != nil {
			return fmt.Errorf("name the hierarchy of cgroups %s: %w", one, err)
		}
	}
	return nil
}
