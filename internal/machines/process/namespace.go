//go:build linux

package process

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// namespace is an unnamed network namespace: it exists as long as its file is open or it has
// processes or sockets.
type namespace struct{ file *os.File }

// newNamespace creates a network namespace in which not even loopback is up.
func newNamespace() (*namespace, error) {
	var made *namespace
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("create a network namespace: %w", err)
		}
		file, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			return fmt.Errorf("open a network namespace: %w", err)
		}
		made = &namespace{file: file}
		return nil
	})
	return made, err
}

// do calls f on a thread that is in the namespace. Sockets and processes that f creates stay in the
// namespace.
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

// onThread calls f on its own thread, which f may move to another network namespace. A thread that
// cannot return to its namespace ends.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			runtime.UnlockOSThread()
			done <- fmt.Errorf("open the thread's network namespace: %w", err)
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
