//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aws-operator/aws-operator/internal/machines/guest"
)

// shutdownTime is how long a distribution may take to shut down before its power is cut. EC2 does
// not document its own limit; systemd's for a unit is 90 seconds.
const shutdownTime = 2 * time.Minute

// usableTree returns an error if a directory cannot be the root of machines on this host.
func usableTree(tree, dir string) error {
	if _, err := os.Lstat(filepath.Join(tree, "sbin", "init")); err != nil {
		return fmt.Errorf("the tree %s has no systemd: %w", tree, err)
	}
	if overlaid(filepath.Join(dir, machinesDir)) {
		return fmt.Errorf("%w: %s is in an overlay file system, in which no other overlay can write", ErrUnsupported, dir)
	}
	return nil
}

// terminal is the serial console of a machine: a terminal whose output is copied.
type terminal struct {
	machine, host *os.File
	copied        chan struct{} // closed when all output has been copied
}

// openTerminal opens a terminal: https://man7.org/linux/man-pages/man7/pty.7.html
func openTerminal(output io.Writer) (*terminal, error) {
	host, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	fd := int(host.Fd()) //nolint:gosec // a file descriptor
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	if err != nil {
		_ = host.Close()
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	machine, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		_ = host.Close()
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	t := &terminal{machine: machine, host: host, copied: make(chan struct{})}
	go func() {
		defer close(t.copied)
		_, _ = io.Copy(output, host) // it ends with EIO when no process has the terminal open
	}()
	return t, nil
}

// close closes the terminal of a machine that has ended. It stays open until then, because systemd
// closes and opens its console.
func (t *terminal) close() {
	if t == nil {
		return
	}
	_ = t.machine.Close()
	<-t.copied
	_ = t.host.Close()
}

// Command returns a command that runs inside a machine, as a login of root would, with the
// machine's namespaces and root. It returns an error if the machine does not run.
func (h *Host) Command(ctx context.Context, instanceID string, args ...string) (*exec.Cmd, error) {
	m, err := h.find(instanceID)
	if err != nil {
		return nil, err
	}
	enter := []string{"--target", strconv.Itoa(m.cmd.Process.Pid), "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--"}
	cmd := exec.CommandContext(ctx, "nsenter", append(enter, args...)...) //nolint:gosec // the caller's command
	cmd.Env = guest.Environment()
	return cmd, nil
}

// powerOff asks the distribution in a machine to shut down, as EC2 does when it stops, reboots or
// terminates an instance, and returns when it has, or when it takes too long.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/how-ec2-instance-stop-start-works.html
func (h *Host) powerOff(m *guestMachine) {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	cmd, err := h.Command(ctx, m.spec.InstanceID, "systemctl", "poweroff")
	if err != nil {
		return
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		h.opts.Log.Info("a machine does not shut down", "instance", m.spec.InstanceID, "output", string(out), "error", err.Error())
		return
	}
	select {
	case <-m.done:
	case <-ctx.Done():
		h.opts.Log.Info("a machine takes too long to shut down", "instance", m.spec.InstanceID)
	}
}
