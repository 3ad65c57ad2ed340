package nodeup

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// installSelf makes systemd run nodeup at each boot, because user data runs at the first boot only.
// At later boots nodeup mostly finds that nothing has to change.
func (b *boot) installSelf(context.Context) (string, error) {
	executable, err := ownProgram()
	if err != nil {
		return "", err
	}
	unit := fmt.Sprintf(`[Unit]
Description=Makes this machine a node of the cluster %s
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
ExecStart=%s --bucket %s --region %s --bundle %s
Restart=on-failure
RestartSec=30

[Install]
WantedBy=multi-user.target
`, b.bundle.Cluster, executable, b.Bucket, b.Region, b.BundleSHA256)
	if _, err := b.files.write(unitFolder+"/nodeup.service", []byte(unit), 0o644); err != nil {
		return "", err
	}
	// This is what systemctl enable does. It takes effect at the next boot.
	link := b.files.path(unitFolder + "/multi-user.target.wants/nodeup.service")
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil { //nolint:gosec // A folder of systemd's.
		return "", fmt.Errorf("make a folder: %w", err)
	}
	if err := os.Symlink("../nodeup.service", link); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("enable nodeup.service: %w", err)
	}
	return "nodeup.service", nil
}

// ownProgram returns the path of nodeup, for units.
func ownProgram() (string, error) {
	executable, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	return executable, nil
}

// setUpKernel loads kernel modules and sets sysctls, now and at each boot.
func (b *boot) setUpKernel(ctx context.Context) (string, error) {
	if _, err := b.files.write("/etc/modules-load.d/nodeup.conf", []byte(strings.Join(b.bundle.Modules, "\n")+"\n"), 0o644); err != nil {
		return "", err
	}
	for _, module := range b.bundle.Modules {
		if _, err := b.command(ctx, "modprobe", module); err != nil {
			return "", err
		}
	}
	var settings strings.Builder
	for _, name := range slices.Sorted(maps.Keys(b.bundle.Sysctls)) {
		fmt.Fprintf(&settings, "%s = %s\n", name, b.bundle.Sysctls[name])
	}
	const file = "/etc/sysctl.d/90-nodeup.conf"
	if _, err := b.files.write(file, []byte(settings.String()), 0o644); err != nil {
		return "", err
	}
	if _, err := b.command(ctx, "sysctl", "-p", b.files.path(file)); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d modules, %d settings", len(b.bundle.Modules), len(b.bundle.Sysctls)), nil
}

// writeFiles writes the bundle's files, and applies those that are kernel settings, which systemd
// does only when the machine starts.
func (b *boot) writeFiles(ctx context.Context) (string, error) {
	changes := 0
	for i := range b.bundle.Files {
		file := &b.bundle.Files[i]
		changed, err := b.writeFile(file)
		if err != nil {
			return "", err
		}
		if changed {
			changes++
		}
		if ok, err := filepath.Match("/etc/sysctl.d/*.conf", file.Path); err != nil || !ok {
			continue
		}
		if _, err := b.command(ctx, "sysctl", "-p", b.files.path(file.Path)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d of %d changed", changes, len(b.bundle.Files)), nil
}

// writeFile writes a file of the bundle.
func (b *boot) writeFile(file *bundle.File) (changed bool, err error) {
	mode, err := parseMode(file.Mode)
	if err != nil {
		return false, err
	}
	content := []byte(file.Content)
	if file.Base64 {
		if content, err = base64.StdEncoding.DecodeString(file.Content); err != nil {
			return false, permanent("the bundle's file %s is not base64: %w", file.Path, err)
		}
	}
	if changed, err = b.files.write(file.Path, content, mode); err != nil || file.Owner == "" {
		return changed, err
	}
	owner, err := b.account(file.Owner)
	if err != nil {
		return changed, fmt.Errorf("the owner of %s: %w", file.Path, err)
	}
	if err := os.Chown(b.files.path(file.Path), owner.user, owner.group); err != nil {
		return changed, fmt.Errorf("give %s its owner: %w", file.Path, err)
	}
	return changed, nil
}

// writeAuthorizedKeys writes the SSH keys. An image without that user still becomes a node, without
// SSH login, and nodeup logs a warning.
func (b *boot) writeAuthorizedKeys(context.Context) (string, error) {
	if b.bundle.SSH == nil {
		return "none", nil
	}
	account, err := b.account(b.bundle.SSH.User)
	if err != nil {
		b.Log.Warn("SSH login to this machine is not possible", "error", err)
		return "none", nil
	}
	folder := filepath.Join(account.home, ".ssh")
	if err := os.MkdirAll(b.files.path(folder), 0o700); err != nil {
		return "", fmt.Errorf("make a folder: %w", err)
	}
	name := filepath.Join(folder, "authorized_keys")
	var lines []string
	if existing, err := b.files.read(name); err == nil {
		lines = strings.FieldsFunc(string(existing), func(r rune) bool { return r == '\n' })
	}
	for _, key := range b.bundle.SSH.AuthorizedKeys {
		if key = strings.TrimSpace(key); !slices.Contains(lines, key) {
			lines = append(lines, key)
		}
	}
	if _, err := b.files.write(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return "", err
	}
	for _, path := range []string{folder, name} {
		if err := os.Chown(b.files.path(path), account.user, account.group); err != nil {
			return "", fmt.Errorf("give %s its owner: %w", path, err)
		}
	}
	return fmt.Sprintf("%d for %s", len(b.bundle.SSH.AuthorizedKeys), b.bundle.SSH.User), nil
}

// account is a user of the machine's image.
type account struct {
	user, group int
	home        string
}

func (b *boot) account(name string) (account, error) {
	const fields = 7
	passwd, err := b.files.read("/etc/passwd")
	if err != nil {
		return account{}, err
	}
	for line := range strings.Lines(string(passwd)) {
		entry := strings.Split(strings.TrimSpace(line), ":")
		if len(entry) != fields || entry[0] != name {
			continue
		}
		user, userErr := strconv.Atoi(entry[2])
		group, groupErr := strconv.Atoi(entry[3])
		if err := errors.Join(userErr, groupErr); err != nil {
			return account{}, fmt.Errorf("read the entry of %s in /etc/passwd: %w", name, err)
		}
		return account{user: user, group: group, home: entry[5]}, nil
	}
	return account{}, fmt.Errorf("the image has no user %s", name)
}

// runExtraUserData runs the user's script once, and again if it failed.
func (b *boot) runExtraUserData(ctx context.Context) (string, error) {
	if b.bundle.ExtraUserData == "" {
		return "none", nil
	}
	if done, err := b.files.read(extraDoneFile); err == nil && string(done) == b.BundleSHA256 {
		return "nothing, it has run", nil
	}
	if _, err := b.files.write(extraFile, []byte(b.bundle.ExtraUserData), 0o700); err != nil {
		return "", err
	}
	if _, err := b.command(ctx, "sh", b.files.path(extraFile)); err != nil {
		return "", err
	}
	_, err := b.files.write(extraDoneFile, []byte(b.BundleSHA256), 0o600)
	return "run", err
}

// markDone records that the bundle has been applied.
func (b *boot) markDone(context.Context) (string, error) {
	_, err := b.files.write(doneFile, []byte(b.BundleSHA256), 0o644)
	return b.BundleSHA256, err
}

// done reports whether this bundle has been applied before.
func (b *boot) done() bool {
	hash, err := b.files.read(doneFile)
	return err == nil && string(hash) == b.BundleSHA256
}
