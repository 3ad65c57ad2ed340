package terminal

import "syscall"

// withParent makes a process end when its parent does.
func withParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
