//go:build unix && !linux

package process

import "syscall"

// endWithParent gives the child its own process group, so that Ctrl-C at the terminal signals only
// the parent, which then stops its children in order.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
