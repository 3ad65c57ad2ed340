//go:build linux

package guest

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// children are the processes that process 1 started. Process 1 also inherits orphaned processes, so
// it waits for all of them in one place.
type children struct {
	mu      sync.Mutex // held while a process starts, because it may end before it is recorded
	waiting map[int]chan unix.WaitStatus
}

func newChildren() *children { return &children{waiting: map[int]chan unix.WaitStatus{}} }

// program describes a program to run.
type program struct {
	path string
	args []string
	env  []string // in addition to Environment
	dir  string
	out  *os.File
}

// start starts a process. The channel receives its exit status.
func (c *children) start(p program) (pid int, ended <-chan unix.WaitStatus, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = null.Close() }()
	if p.dir == "" {
		p.dir = "/"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	process, err := os.StartProcess(p.path, p.args, &os.ProcAttr{
		Dir: p.dir, Env: append(Environment(), p.env...), Files: []*os.File{null, p.out, p.out},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, nil, err
	}
	done := make(chan unix.WaitStatus, 1)
	c.waiting[process.Pid] = done
	pid = process.Pid
	return pid, done, process.Release()
}

// run starts a process and waits for its end.
func (c *children) run(p program) (unix.WaitStatus, error) {
	_, ended, err := c.start(p)
	if err != nil {
		return 0, err
	}
	return <-ended, nil
}

// reap waits for processes. It never returns.
func (c *children) reap() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGCHLD)
	for {
		c.collect()
		<-signals
	}
}

func (c *children) collect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if done, ours := c.waiting[pid]; ours {
			done <- status
			delete(c.waiting, pid)
		}
	}
}

// describe describes how a process ended.
func describe(status unix.WaitStatus) string {
	switch {
	case status.Signaled():
		return "killed by signal " + status.Signal().String()
	case status.ExitStatus() == 0:
		return "well"
	default:
		return fmt.Sprintf("with exit code %d", status.ExitStatus())
	}
}
