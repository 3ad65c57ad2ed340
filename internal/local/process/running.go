package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Running reports whether the process runs. A zombie, which has exited and whose parent has not
// waited for it yet, does not run; only Linux distinguishes the two.
func Running(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	// The state follows the name, which is in parentheses and may contain parentheses.
	// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) || !hasProc()
	}
	_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(" "))
	return !bytes.HasPrefix(state, []byte("Z"))
}

func hasProc() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}
