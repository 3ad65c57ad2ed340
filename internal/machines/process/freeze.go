//go:build linux

package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// freezeTime limits the time until the processes of a machine have stopped, which is that of their
// longest system call.
const freezeTime = 5 * time.Second

// copyStill copies the data of an attached volume at one point in time. It stops all processes of
// the machine until the copy is complete, which the machine does not notice, like an EBS snapshot.
// The copy contains everything that they have written, synced or not, in the order in which they
// wrote it. Without the stop, files that change during the copy would be from different times. The
// caller holds the lock.
func (h *Host) copyStill(fromID, to string) error {
	if m := h.machines[h.attached[fromID]]; m != nil {
		thaw, err := m.freeze()
		if err != nil {
			return fmt.Errorf("stop the processes of %s: %w", m.spec.InstanceID, err)
		}
		defer thaw()
	}
	return os.CopyFS(to, os.DirFS(h.volumePath(fromID))) //nolint:wrapcheck // the caller adds the context
}

// freeze stops all processes of the machine, and returns a function that continues them. Containers
// have PID namespaces of their own.
func (m *guestMachine) freeze() (thaw func(), err error) {
	if len(m.cgroups) > 0 {
		return m.cgroups.freeze()
	}
	return freeze(m.cmd.Process.Pid)
}

// freeze stops all processes in the PID namespace of a process, and returns a function that
// continues them.
func freeze(first int) (thaw func(), err error) {
	space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", first))
	if err != nil {
		return nil, fmt.Errorf("find the machine's processes: %w", err)
	}
	var stopped []int
	thaw = func() {
		for _, pid := range stopped {
			_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended
		}
	}
	timeout := time.NewTimer(freezeTime)
	defer timeout.Stop()
	for {
		moving := 0
		for _, pid := range inNamespace(space) {
			if still(pid) {
				continue
			}
			moving++ // includes those just stopped, which are checked again
			if syscall.Kill(pid, syscall.SIGSTOP) == nil {
				stopped = append(stopped, pid)
			}
		}
		if moving == 0 {
			return thaw, nil
		}
		select {
		case <-timeout.C:
			thaw()
			return nil, errors.New("its processes do not stop")
		case <-time.After(time.Millisecond):
		}
	}
}

// inNamespace returns the processes of a PID namespace.
func inNamespace(space string) []int {
	links, err := filepath.Glob("/proc/[0-9]*/ns/pid")
	if err != nil {
		return nil
	}
	var pids []int
	for _, link := range links {
		if found, err := os.Readlink(link); err != nil || found != space {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(link, "/")[2]); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// still reports whether all threads of a process are stopped:
// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
func still(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread) //nolint:gosec // of /proc
		if err != nil {
			continue // it has ended
		}
		// The state follows the name, which is in parentheses and may contain parentheses.
		if _, state, ok := strings.Cut(string(text[max(0, strings.LastIndexByte(string(text), ')')):]), " "); ok &&
			!strings.ContainsAny(state[:1], "TtZX") {
			return false
		}
	}
	return true
}
