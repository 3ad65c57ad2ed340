//go:build linux

package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// stubs are the machine image's stubs of programs, by name. They return their exit code.
var stubs = map[string]func(args []string, out, errOut io.Writer) int{
	"systemctl": systemctl, "journalctl": nothing, "modprobe": nothing, "sysctl": sysctl,
	"poweroff": poweroff, "udevadm": nothing, "swapoff": nothing, ProviderName: provider, "blkid": blkid, "mkfs.ext4": mkfs, "mount": mount,
}

// RunStub runs the stub of a program. It reports whether there is a stub with that name.
func RunStub(name string, args []string, out, errOut io.Writer) (code int, ok bool) {
	run, ok := stubs[name]
	if !ok {
		return 0, false
	}
	return run(args, out, errOut), true
}

// nothing replaces programs that would change the host's kernel or query services that do not
// exist.
func nothing(args []string, _, errOut io.Writer) int {
	_, _ = fmt.Fprintf(errOut, "simulated: nothing was done with %s\n", strings.Join(args, " "))
	return 0
}

// ProviderName is the credential provider of the machine image, with which the kubelet's
// configuration of it is checked.
const ProviderName = "ecr-credential-provider"

// provider answers the kubelet that an image is fetched without credentials:
// https://kubernetes.io/docs/reference/config-api/kubelet-credentialprovider.v1/
func provider(_ []string, out, _ io.Writer) int {
	_, _ = fmt.Fprintln(out, `{"kind": "CredentialProviderResponse", "apiVersion": "credentialprovider.kubelet.k8s.io/v1", `+
		`"cacheKeyType": "Registry", "cacheDuration": "1m0s", "auth": {}}`)
	return 0
}

// sysctl writes the settings of a file to the machine's kernel, like sysctl -p. It reports those that
// the kernel does not have, or that the machine may not change.
func sysctl(args []string, _, errOut io.Writer) int {
	text, err := os.ReadFile(last(args))
	if err != nil {
		_, _ = fmt.Fprintf(errOut, "sysctl: %v\n", err)
		return 1
	}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		path := filepath.Join("/proc/sys", filepath.FromSlash(strings.ReplaceAll(name, ".", "/")))
		if err := os.WriteFile(path, []byte(strings.TrimSpace(value)), 0); err != nil {
			_, _ = fmt.Fprintf(errOut, "simulated: %s does not change: %v\n", name, err)
		}
	}
	return 0
}

// poweroff powers the machine off, like systemctl poweroff.
func poweroff(_ []string, out, errOut io.Writer) int {
	return systemctl([]string{"poweroff"}, out, errOut)
}

// systemctl sends its arguments to process 1.
func systemctl(args []string, out, errOut io.Writer) int {
	quiet := slices.Contains(args, "--quiet") || slices.Contains(args, "-q")
	now := slices.Contains(args, "--now")
	words := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
	if len(words) == 0 {
		_, _ = fmt.Fprintln(errOut, "systemctl: name a verb")
		return 1
	}
	o := order{Verb: words[0], Units: words[1:]}
	if err := checkUnitFiles(o, unitFolders); err != nil {
		_, _ = fmt.Fprintf(errOut, "systemctl: %v\n", err)
		return 1
	}
	switch {
	case o.Verb == "enable" && now:
		o.Verb = "start"
	case (o.Verb == "disable" || o.Verb == "mask") && now:
		o.Verb = "stop"
	case slices.Contains([]string{
		"enable", "disable", "daemon-reload", "daemon-reexec", "mask", "unmask", "is-enabled", "reset-failed",
	}, o.Verb):
		// Units are read when they start, and no machine starts twice.
		return 0
	}
	said, err := ask(o)
	if err != nil {
		_, _ = fmt.Fprintf(errOut, "systemctl: %v\n", err)
		return 1
	}
	switch {
	case said.Text == "":
	case said.Code == 1: // an error, and not a state
		_, _ = fmt.Fprintln(errOut, said.Text)
	case !quiet:
		_, _ = fmt.Fprintln(out, said.Text)
	}
	return said.Code
}

// checkUnitFiles refuses to enable a unit without a file, and masks units by a link to /dev/null, which it refuses if a file is
// there: https://www.freedesktop.org/software/systemd/man/latest/systemctl.html. The unit of containerd comes with its archive,
// which not every image has.
func checkUnitFiles(o order, folders []string) error {
	for _, name := range o.Units {
		if !strings.Contains(name, ".") {
			name += ".service"
		}
		path := filepath.Join(folders[0], name)
		switch o.Verb {
		case "enable":
			exists := func(folder string) bool { _, err := os.Stat(filepath.Join(folder, name)); return err == nil }
			if name != "containerd.service" && !slices.ContainsFunc(folders, exists) {
				return fmt.Errorf("failed to enable unit: unit file %s does not exist", name)
			}
		case "mask":
			if target, err := os.Readlink(path); err == nil && target == os.DevNull {
				continue
			}
			if err := os.Symlink(os.DevNull, path); err != nil {
				return fmt.Errorf("failed to mask unit: %w", err)
			}
		}
	}
	return nil
}

func ask(o order) (said answer, err error) {
	conn, err := net.Dial("unix", controlSocket) //nolint:noctx // the program exits
	if err != nil {
		return said, fmt.Errorf("reach process 1: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if err := json.NewEncoder(conn).Encode(o); err != nil {
		return said, fmt.Errorf("ask process 1: %w", err)
	}
	if err := json.NewDecoder(conn).Decode(&said); err != nil {
		return said, fmt.Errorf("hear process 1: %w", err)
	}
	return said, nil
}

var errNoVolume = errors.New("no volume")

// volumeOf returns the directory of a volume's device. For any other path it returns errNoVolume.
func volumeOf(device string) (string, error) {
	path, err := filepath.EvalSymlinks(device)
	if err != nil {
		return "", fmt.Errorf("%s: %w", device, err)
	}
	volume := filepath.Dir(path)
	if filepath.Base(path) != DeviceFile || filepath.Dir(volume) != VolumesPath {
		return "", fmt.Errorf("%s: %w", device, errNoVolume)
	}
	return volume, nil
}

// fileSystem is the file system that mkfs.ext4 creates.
const fileSystem = "ext4"

func formatted(volume string) bool {
	superblock, err := os.ReadFile(filepath.Join(volume, DeviceFile)) //nolint:gosec // a volume of the machine's
	return err == nil && string(superblock) == fileSystem
}

func last(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[len(args)-1]
}

// blkid exits with 2 for an empty disk, like the real blkid:
// https://man7.org/linux/man-pages/man8/blkid.8.html
func blkid(args []string, out, errOut io.Writer) int {
	volume, err := volumeOf(last(args))
	if err != nil {
		_, _ = fmt.Fprintf(errOut, "blkid: %v\n", err)
		return 2
	}
	if !formatted(volume) {
		return 2
	}
	text := fmt.Sprintf("%s: TYPE=\"ext4\"", last(args))
	if slices.Contains(args, "value") {
		text = "ext4"
	}
	_, _ = fmt.Fprintln(out, text)
	return 0
}

// mkfs creates the volume's directory, with lost+found as in ext4.
func mkfs(args []string, _, errOut io.Writer) int {
	volume, err := volumeOf(last(args))
	if err == nil {
		err = errors.Join(
			os.RemoveAll(filepath.Join(volume, dataDir)),
			os.MkdirAll(filepath.Join(volume, dataDir, "lost+found"), 0o700),
			os.Chmod(filepath.Join(volume, dataDir), 0o755), //nolint:gosec // as mkfs.ext4 leaves it
			os.WriteFile(filepath.Join(volume, DeviceFile), []byte(fileSystem), 0o600),
		)
	}
	if err != nil {
		_, _ = fmt.Fprintf(errOut, "mkfs.ext4: %v\n", err)
		return 1
	}
	return 0
}

// mount mounts a volume; it runs the real mount for anything else.
func mount(args []string, _, errOut io.Writer) int {
	operands := operandsOf(args)
	if len(operands) != 2 {
		return trueMount(args, errOut)
	}
	device, target := operands[0], operands[1]
	volume, err := volumeOf(device)
	if err != nil {
		return trueMount(args, errOut)
	}
	if !formatted(volume) {
		_, _ = fmt.Fprintf(errOut, "mount: %s has no file system\n", device)
		return 32
	}
	if err := unix.Mount(filepath.Join(volume, dataDir), target, "", unix.MS_BIND, ""); err != nil {
		_, _ = fmt.Fprintf(errOut, "mount: %s on %s: %v\n", device, target, err)
		return 32
	}
	return 0
}

// operandsOf returns the arguments of mount that are neither options nor their values: systemd puts
// options last. https://man7.org/linux/man-pages/man8/mount.8.html
func operandsOf(args []string) []string {
	var operands []string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-t" || args[i] == "-o":
			i++ // its value
		case !strings.HasPrefix(args[i], "-"):
			operands = append(operands, args[i])
		}
	}
	return operands
}

// realMount is where the mount of a distribution is whose place the stub has taken.
const realMount = "usr/libexec/mount"

func trueMount(args []string, errOut io.Writer) int {
	program := "/" + realMount
	if _, err := os.Stat(program); err != nil {
		program = "/usr/bin/mount"
	}
	err := unix.Exec(program, append([]string{"mount"}, args...), os.Environ())
	_, _ = fmt.Fprintf(errOut, "mount: %v\n", err)
	return 1
}
