//go:build linux

package process

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/aws-operator/aws-operator/internal/machines/guest"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// guestMachine is a machine that runs or has ended.
type guestMachine struct {
	spec    machine.Spec
	ns      *namespace
	unplug  func()
	sockets sockets
	cgroups cgroups // only of machines that run containers

	cmd      *exec.Cmd
	terminal *terminal     // only of machines that run a distribution
	done     chan struct{} // closed when all its processes have ended
}

// Boot starts a machine.
func (h *Host) Boot(spec machine.Spec) error {
	if err := bootable(spec); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return ErrClosed
	}
	if _, runs := h.machines[spec.InstanceID]; runs {
		return fmt.Errorf("%s is already running", spec.InstanceID)
	}
	m := &guestMachine{spec: spec, done: make(chan struct{})}
	m.sockets.instanceID = spec.InstanceID
	if err := h.boot(m); err != nil {
		m.release()
		return err
	}
	h.machines[spec.InstanceID] = m
	return nil
}

func bootable(spec machine.Spec) error {
	if spec.Architecture != "" && spec.Architecture != architecture() {
		return fmt.Errorf("%s is %s, and only %s boots on this host", spec.InstanceID, spec.Architecture, architecture())
	}
	if spec.InstanceID == "" || filepath.Base(spec.InstanceID) != spec.InstanceID {
		return fmt.Errorf("%q is not an instance ID", spec.InstanceID)
	}
	if !spec.PrivateIP.Is4() || !spec.VPCRange.Contains(spec.PrivateIP) {
		return fmt.Errorf("%s: the address %s is not in its VPC, %s", spec.InstanceID, spec.PrivateIP, spec.VPCRange)
	}
	return nil
}

func (h *Host) boot(m *guestMachine) (err error) {
	if m.ns, err = newNamespace(); err != nil {
		return err
	}
	if m.unplug, err = h.network.plug(m.spec, m.ns); err != nil {
		return err
	}
	if err := h.filter.update(); err != nil {
		return err
	}
	if err := h.serveAll(m); err != nil {
		return err
	}
	flags := uintptr(cloneFlags)
	if h.opts.Containers != "" || h.opts.Tree != "" {
		flags |= unix.CLONE_NEWCGROUP
		if m.cgroups, err = newCgroups(m.spec.InstanceID); err != nil {
			return err
		}
	}
	config, err := h.configure(m.spec)
	if err != nil {
		return err
	}
	console, err := os.OpenFile(h.consolePath(m.spec.InstanceID), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("create the console of %s: %w", m.spec.InstanceID, err)
	}
	output := console
	if h.opts.Tree != "" {
		if m.terminal, err = openTerminal(console); err != nil {
			return err
		}
		output = m.terminal.machine
	}
	m.cmd = &exec.Cmd{
		Path: h.opts.Machine, Args: []string{guest.InitName}, Env: guest.Environment(), Dir: "/",
		Stdin: bytes.NewReader(config), Stdout: output, Stderr: output,
		SysProcAttr: &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL, Setsid: true},
	}
	started := make(chan error)
	go h.run(m, console, started)
	if err := <-started; err != nil {
		return fmt.Errorf("start process 1 of %s: %w", m.spec.InstanceID, err)
	}
	return nil
}

// run starts process 1 and waits for it, on one thread that is in the machine's network and lives
// as long as the machine: Linux signals a child when the thread that created it ends
// (https://go.dev/issue/27505). The thread is locked, so it ends with this goroutine.
func (h *Host) run(m *guestMachine, console *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer close(m.done)
	defer func() {
		m.terminal.close()
		_ = console.Close()
	}()
	err := m.ns.enter()
	if err == nil {
		err = m.cgroups.enter()
	}
	if err == nil {
		err = errors.Join(m.cmd.Start(), m.cgroups.leave())
	}
	started <- err
	if err != nil {
		return
	}
	// When process 1 ends, the kernel ends all others.
	err = m.cmd.Wait()
	if poweredOff := h.poweredOff(); err == nil && poweredOff != nil {
		go poweredOff(m.spec.Account, m.spec.Region, m.spec.InstanceID)
	}
	h.opts.Log.V(1).Info("a machine ended", "instance", m.spec.InstanceID, "how", fmt.Sprint(err))
}

// poweredOff returns what to call when a machine has powered itself off, nil for nothing.
func (h *Host) poweredOff() func(account, region, instanceID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.services.PoweredOff
}

// configure returns the configuration for process 1, and creates the directories that the machine
// mounts.
func (h *Host) configure(spec machine.Spec) ([]byte, error) {
	own := filepath.Join(h.opts.Dir, machinesDir, spec.InstanceID)
	config := guest.Config{
		InstanceID: spec.InstanceID, Hostname: spec.PrivateDNSName, Address: spec.PrivateIP.String(),
		Resolver: resolverAddress.String(), CACertificate: h.authority.pem, UserData: spec.UserData,
		Machine: h.opts.Machine, Kube: cmp.Or(h.opts.Images[spec.ImageID], h.opts.Kube),
		Containers: h.opts.Containers, Kubelet: h.opts.Kubelets[spec.ImageID], Unpacked: h.opts.Unpacked, Tree: h.opts.Tree,
		RootVolumeID: spec.RootVolumeID,
		Root:         filepath.Join(own, "root"), Log: filepath.Join(own, "log"), Disks: filepath.Join(own, "disks"),
		Volumes: filepath.Join(h.opts.Dir, volumesDir),
	}
	dirs := []string{config.Root, config.Log, config.Disks}
	if h.opts.Tree != "" || h.opts.Containers != "" && !overlaid(own) {
		config.RootVolume = filepath.Join(own, rootVolumeDir)
		dirs = append(dirs, config.RootVolume)
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // like any /var/log; its parent is private
			return nil, fmt.Errorf("create the directories of %s: %w", spec.InstanceID, err)
		}
	}
	data, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encode the configuration of %s: %w", spec.InstanceID, err)
	}
	return data, nil
}

// overlaid reports whether a folder, or the one above it, is in an overlay file system, on which the
// snapshots of container images cannot be.
func overlaid(folder string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(filepath.Dir(folder), &fs) == nil && fs.Type == unix.OVERLAYFS_SUPER_MAGIC
}

// Terminate ends a machine, as if its power were cut, and returns when it has ended. The
// distribution in a machine shuts down first.
func (h *Host) Terminate(instanceID string) {
	if m, err := h.find(instanceID); err == nil && h.opts.Tree != "" && !h.isClosed() {
		h.powerOff(m)
	}
	h.mu.Lock()
	m, ok := h.machines[instanceID]
	delete(h.machines, instanceID)
	for volume, instance := range h.attached {
		if instance == instanceID {
			delete(h.attached, volume)
		}
	}
	h.mu.Unlock()
	if !ok {
		return
	}
	_ = m.cmd.Process.Kill()
	<-m.done
	m.release()
	own := filepath.Join(h.opts.Dir, machinesDir, instanceID)
	lost := []string{"root", "disks"}
	if h.opts.Tree == "" {
		lost = append(lost, rootVolumeDir)
	}
	for _, dir := range lost {
		_ = os.RemoveAll(filepath.Join(own, dir))
	}
}

func (h *Host) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// release frees a machine's resources on the host. Its processes have ended.
func (m *guestMachine) release() {
	m.sockets.close()
	m.cgroups.remove()
	if m.unplug != nil {
		m.unplug()
	}
	if m.ns != nil {
		m.ns.close()
	}
}

// Console returns the console output of a machine so far, also after it has ended. It returns an
// error if there was no such machine.
func (h *Host) Console(instanceID string) ([]byte, error) {
	data, err := os.ReadFile(h.consolePath(instanceID))
	if err != nil {
		return nil, fmt.Errorf("read the console of %s: %w", instanceID, err)
	}
	return data, nil
}

func (h *Host) consolePath(instanceID string) string {
	return filepath.Join(h.opts.Dir, consolesDir, filepath.Base(instanceID)+".log")
}

// Running reports whether a machine exists and has not ended.
func (h *Host) Running(instanceID string) bool {
	m, err := h.find(instanceID)
	if err != nil {
		return false
	}
	select {
	case <-m.done:
		return false
	default:
		return true
	}
}
