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

// freezeTime bounds how long the processes of a machine may take to stand still: as long as their longest system call.
const freezeTime = 5 * time.Second

// copyStill copies a volume's data as it is at one moment, while a machine has it: all of the machine's processes stand still
// until the copy is made, as a machine does not notice that EBS takes a snapshot. What they have written is in the
// copy, whether they have waited for the disk or not, and in the order in which they wrote it: files that they go on
// writing while they are copied would be from different moments. The caller holds the lock.
func (h *Host) copyStill(fromID, to string) error {
	if m := h.machines[h.attached[fromID]]; m != nil {
		thaw, err := freeze(m.cmd.Process.Pid)
		if err != nil {
			return fmt.Errorf("hold %s still: %w", m.spec.InstanceID, err)
		}
		defer thaw()
	}
	return os.CopyFS(to, os.DirFS(h.volumePath(fromID))) //nolint:wrapcheck // The caller says what it was.
}

// freeze stops all processes in the PID namespace of a process, and returns what lets them go on.
func freeze(first int) (thaw func(), err error) {
	space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", first))
	if err != nil {
		return nil, fmt.Errorf("find the machine's processes: %w", err)
	}
	var stopped []int
	thaw = func() {
		for _, pid := range stopped {
			_ = syscall.Kill(pid, syscall.SIGCONT) // It may have ended.
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
			moving++ // Also those that were just stopped: they are looked at again.
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
			return nil, errors.New("its processes do not stand still")
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

// still says whether no thread of a process runs: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
func still(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread) //nolint:gosec // of /proc
		if err != nil {
			continue // It has ended.
		}
		// The state stands behind the name, which is in parentheses and may have some in it.
		if _, state, ok := strings.Cut(string(text[max(0, strings.LastIndexByte(string(text), ')')):]), " "); ok && !strings.ContainsAny(state[:1], "TtZX") {
			return false
		}
	}
	return true
}
