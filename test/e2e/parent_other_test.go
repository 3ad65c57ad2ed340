//go:build !linux

package e2e

import "syscall"

// withParent has no effect: only Linux ends a process with its parent.
func withParent() *syscall.SysProcAttr { return nil }
