//go:build linux

package process

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// namespace is a network namespace without a name: it lives as long as it is
// open here, or has processes or sockets.
type namespace struct{ file *os.File }

// newNamespace makes a network namespace, of which not even loopback is up.
func newNamespace() (*namespace, error) {
	var made *namespace
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network namespace: %w", err)
		}
		file, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			return fmt.Errorf("hold a network namespace: %w", err)
		}
		made = &namespace{file: file}
		return nil
	})
	return made, err
}

// do calls f on a thread that is in the namespace: sockets that f opens, and
// processes that it starts, are in it and stay there.
func (n *namespace) do(f func() error) error {
	return onThread(func() error {
		if err := n.enter(); err != nil {
			return err
		}
		return f()
	})
}

// enter moves the calling thread, which must be locked, into the namespace.
func (n *namespace) enter() error {
	if err := unix.Setns(n.fd(), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter a network namespace: %w", err)
	}
	return nil
}

func (n *namespace) fd() int { return int(n.file.Fd()) }

func (n *namespace) close() { _ = n.file.Close() }

// onThread calls f on a thread of its own, which f may move to another network
// namespace. A thread that does not find back ends.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			runtime.UnlockOSThread()
			done <- fmt.Errorf("remember the network namespace: %w", err)
			return
		}
		defer func() { _ = home.Close() }()
		err = f()
		// Otherwise the thread stays locked and ends with this goroutine.
		if unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return <-done
}
