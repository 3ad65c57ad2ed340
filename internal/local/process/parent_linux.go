package process

import "syscall"

// endWithParent makes the kernel kill the child when its parent exits. The child has its own
// process group, so that Ctrl-C at the terminal signals only the parent, which then stops its
// children in order.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
