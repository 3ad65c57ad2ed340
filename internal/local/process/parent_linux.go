package process

import "syscall"

// endWithParent has the kernel kill the child when its parent dies. The child
// gets a process group of its own, so that an interrupt typed at the terminal
// reaches only the parent, which then ends its children in order.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
