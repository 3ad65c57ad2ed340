//go:build linux

package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// initProgram is process 1 of a distribution.
const initProgram = "/sbin/init"

// bootTree replaces this process by the systemd of a distribution's tree. It returns only if it
// cannot, with the reason.
func bootTree(c Config) error {
	// Later mounts do not reach the host.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("leave the host's mounts: %w", err)
	}
	t := tree{root(c.Root)}
	for _, step := range []func(Config) error{
		t.files, t.devices, t.kernel, t.hardware, t.run, t.image, t.stubs, t.settings, t.shown,
	} {
		if err := step(c); err != nil {
			return err
		}
	}
	if err := t.root.enter(); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share the machine's mounts: %w", err)
	}
	// The name that images have until cloud-init sets the instance's.
	if err := unix.Sethostname([]byte("localhost")); err != nil {
		return fmt.Errorf("name the machine: %w", err)
	}
	// systemd detects the legacy hierarchies of cgroups.
	if err := unix.Exec(initProgram, []string{initProgram}, []string{"TERM=dumb"}); err != nil {
		return fmt.Errorf("start %s: %w", initProgram, err)
	}
	return nil
}

// tree is the root of a machine that runs a distribution.
type tree struct{ root root }

// files mounts the distribution. What the machine writes is kept in its root volume.
func (t tree) files(c Config) error {
	upper, work := filepath.Join(c.RootVolume, "upper"), filepath.Join(c.RootVolume, "work")
	if err := errors.Join(os.MkdirAll(upper, 0o755), os.MkdirAll(work, 0o700)); err != nil { //nolint:gosec // as in any root
		return fmt.Errorf("make the root volume: %w", err)
	}
	if err := unix.Mount("overlay", c.Root, "overlay", 0, "lowerdir="+c.Tree+",upperdir="+upper+",workdir="+work); err != nil {
		return fmt.Errorf("mount the distribution %s: %w", c.Tree, err)
	}
	if err := os.MkdirAll(t.root.path(".host"), 0o700); err != nil {
		return fmt.Errorf("make the root: %w", err)
	}
	return nil
}

// devices creates the devices of a container. The console is the terminal of the calling process.
func (t tree) devices(c Config) error {
	if err := t.root.devices(c); err != nil {
		return err
	}
	// Not the file itself, which is on a mount of the host.
	terminal, err := os.Readlink("/proc/self/fd/1")
	if err != nil {
		return fmt.Errorf("find the console: %w", err)
	}
	return t.root.show(terminal, "dev/console")
}

// kernel mounts /proc, /sys and the hierarchies of cgroups.
func (t tree) kernel(c Config) error { return t.root.kernel(c) }

// dmi are the identifiers that an EC2 instance on Nitro has, by which cloud-init recognizes EC2:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/identify_ec2_instances.html
func dmi(c Config) map[string]string {
	return map[string]string{
		"sys_vendor": "Amazon EC2", "bios_vendor": "Amazon EC2", "chassis_asset_tag": "Amazon EC2", "board_vendor": "Amazon EC2",
		"board_asset_tag": c.InstanceID, "product_uuid": "ec2" + c.machineID()[3:8] + "-0000-4000-8000-" + c.machineID()[:12],
		"product_serial": "ec2" + c.machineID()[3:8] + "-0000-4000-8000-" + c.machineID()[:12],
	}
}

// hardware shows the identifiers of the instance. The host may have none or others.
func (t tree) hardware(c Config) error {
	dir := filepath.Join(filepath.Dir(c.RootVolume), "hardware")
	id := filepath.Join(dir, "dmi", "id")
	if err := os.MkdirAll(id, 0o755); err != nil { //nolint:gosec // as in /sys
		return fmt.Errorf("make the machine's hardware: %w", err)
	}
	for name, text := range dmi(c) {
		if err := os.WriteFile(filepath.Join(id, name), []byte(text+"\n"), 0o444); err != nil { //nolint:gosec // as in /sys
			return fmt.Errorf("make the machine's hardware: %w", err)
		}
	}
	class := t.root.path("sys/class")
	err := unix.Mount("overlay", class, "overlay", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "lowerdir="+dir+":"+class)
	if err != nil {
		return fmt.Errorf("show the machine's hardware: %w", err)
	}
	return nil
}

// run makes /run. systemd must know that this is a container, because it neither mounts hardware's
// file systems nor starts udev there; nothing else in the machine is meant to: see stubs.
func (t tree) run(Config) error {
	if err := unix.Mount("tmpfs", t.root.path("run"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("make /run: %w", err)
	}
	manager := t.root.path("run/host/container-manager")
	err := os.MkdirAll(filepath.Dir(manager), 0o755)                                         //nolint:gosec // as in any root
	err = errors.Join(err, os.WriteFile(manager, []byte("aws-operator-simulator\n"), 0o444)) //nolint:gosec // as in any root
	if err != nil {
		return fmt.Errorf("make /run: %w", err)
	}
	if err := t.root.ownSettings(); err != nil {
		return err
	}
	return t.bootID()
}

// bootID gives each boot an ID: that of the kernel is the same for all machines and boots.
func (t tree) bootID() error {
	id, err := os.ReadFile("/proc/sys/kernel/random/uuid")
	if err != nil {
		return fmt.Errorf("make an ID for this boot: %w", err)
	}
	own := t.root.path("run/machine/sysctl/boot_id")
	if err := os.WriteFile(own, id, 0o444); err != nil { //nolint:gosec // as in /proc
		return fmt.Errorf("make an ID for this boot: %w", err)
	}
	if err := unix.Mount(own, t.root.path("proc/sys/kernel/random/boot_id"), "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("show the ID of this boot: %w", err)
	}
	return nil
}

// image installs the binaries of the machine image at the paths of a release.
func (t tree) image(c Config) error {
	for source, name := range map[string]string{c.Machine: "machine", c.Kube: "kube"} {
		if err := t.root.showReadOnly(source, filepath.Join(ImagePath, name)); err != nil {
			return err
		}
	}
	links := map[string]string{"usr/local/bin/kubeadm": "kube", "usr/local/bin/kubelet": "machine", "usr/local/bin/" + ProviderName: "machine"}
	for _, name := range treeStubs {
		links["usr/local/sbin/"+name] = "machine"
	}
	for name, target := range links {
		if err := t.link(filepath.Join(ImagePath, target), name); err != nil {
			return err
		}
	}
	return nil
}

// treeStubs are the stubs that a distribution needs: of disks, because volumes are directories, and
// of modprobe, because the kernel is the host's.
var treeStubs = []string{"blkid", "mkfs.ext4", "mount", "modprobe"}

// detectVirt answers the programs that ask what they run on as it would on EC2: they would ignore the
// hardware of a container.
const detectVirt = `#!/bin/sh
# Installed by the machine's image: programs see an EC2 instance, not a container.
for a; do
  case $a in
  -q | --quiet) q=1 ;;
  -c | --container) c=1 ;;
  esac
done
[ -z "$c" ] || { [ -n "$q" ] || echo none; exit 1; }
[ -n "$q" ] || echo amazon
`

// unitSettings are what units need in a simulated machine: pods of the node agent are processes of
// the kubelet's unit, and must survive its restart as containers do.
const unitSettings = "[Service]\nKillMode=process\n"

// cloudConfig is the image's configuration of cloud-init: the simulator configures the network,
// since there is no DHCP, and the root is no disk that could grow.
const cloudConfig = `network: {config: disabled}
growpart: {mode: off}
resize_rootfs: false
locale: C.UTF-8
`

// stubs replaces programs of the distribution.
func (t tree) stubs(Config) error {
	if err := t.write("usr/bin/systemd-detect-virt", detectVirt, 0o755); err != nil {
		return err
	}
	if err := t.write("etc/systemd/system/kubelet.service.d/10-image.conf", unitSettings, 0o644); err != nil {
		return err
	}
	if err := t.write("etc/cloud/cloud.cfg.d/99-image.cfg", cloudConfig, 0o644); err != nil {
		return err
	}
	if err := os.Remove(t.root.path("usr/sbin/dhclient")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the DHCP client: %w", err)
	}
	// systemd's mount units call it by its path.
	mount, kept := t.root.path("usr/bin/mount"), t.root.path(realMount)
	if _, err := os.Lstat(kept); err == nil {
		return nil
	}
	if err := os.Rename(mount, kept); err != nil {
		return fmt.Errorf("replace mount: %w", err)
	}
	return t.link(filepath.Join(ImagePath, "machine"), "usr/bin/mount")
}

// settings writes what a DHCP client and the image of the simulated region would have written.
func (t tree) settings(c Config) error {
	_, domain, _ := strings.Cut(c.Hostname, ".")
	bundle, err := os.ReadFile(t.root.path(bundles[0]))
	if err != nil {
		return fmt.Errorf("read the distribution's CAs: %w", err)
	}
	text := strings.TrimSpace(string(bundle)) + "\n"
	if !strings.Contains(text, string(c.CACertificate)) {
		text += string(c.CACertificate)
	}
	return errors.Join(
		t.write("etc/resolv.conf", "nameserver "+c.Resolver+"\nsearch "+domain+"\n", 0o644),
		t.write(bundles[0], text, 0o644),
	)
}

// shown mounts the directory of volumes, which outlives the machine.
func (t tree) shown(c Config) error { return t.root.show(c.Volumes, VolumesPath) }

// write replaces a file.
func (t tree) write(name, text string, mode os.FileMode) error {
	path := t.root.path(name)
	err := os.MkdirAll(filepath.Dir(path), 0o755) //nolint:gosec // as in any root
	if err == nil {
		err = os.Remove(path) // it may be a link
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err != nil {
		return fmt.Errorf("put /%s into the machine image: %w", name, err)
	}
	return nil
}

// link makes a symbolic link unless it exists.
func (t tree) link(target, name string) error {
	err := os.MkdirAll(filepath.Dir(t.root.path(name)), 0o755) //nolint:gosec // as in any root
	if err == nil {
		err = os.Symlink(target, t.root.path(name))
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("put /%s into the machine image: %w", name, err)
	}
	return nil
}
