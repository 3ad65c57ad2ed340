//go:build unix && !linux

package process

import "syscall"

// endWithParent gives the child a process group of its own, so that an
// interrupt typed at the terminal reaches only the parent, which then ends its
// children in order.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
