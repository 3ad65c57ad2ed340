package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Running says whether the process does anything. One that has ended does not,
// even while its parent has not yet asked how it ended and the process table
// therefore still has it; only Linux tells the two apart.
func Running(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	// The state follows the name, which is in parentheses and may hold any.
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
