package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// killAfter is how long a child may take to exit after SIGTERM.
const killAfter = 5 * time.Second

// Spec describes the process to run.
type Spec struct {
	// Name is the name of the process in messages.
	Name string
	// Path is the executable.
	Path string
	// Args are its arguments, the first of which is the program's name.
	Args []string
	// Env replaces the environment when it is not nil.
	Env []string
	// Dir is the working directory; empty means the parent's.
	Dir string
	// LogFile receives standard output and standard error.
	LogFile string
}

// Process is a running, or ended, child.
type Process struct {
	spec Spec
	pid  int
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start runs spec and returns once the child exists. It returns an error if the log file cannot be
// created or the executable cannot be run.
func Start(spec Spec) (*Process, error) {
	log, err := os.OpenFile(spec.LogFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: make its log: %w", spec.Name, err)
	}
	cmd := &exec.Cmd{
		Path: spec.Path, Args: spec.Args, Env: spec.Env, Dir: spec.Dir,
		Stdout: log, Stderr: log, SysProcAttr: endWithParent(),
	}
	p := &Process{spec: spec, cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.run(log, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s: start it: %w", spec.Name, err)
	}
	return p, nil
}

// run starts the child and waits for it on one thread that lives as long as the child: Linux
// signals a child when the thread that created it exits, not when the process does
// (https://go.dev/issue/27505).
func (p *Process) run(log *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	defer func() { _ = log.Close() }()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = p.cmd.Process.Pid
	started <- nil
	p.err = p.cmd.Wait()
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// PID is the process's id.
func (p *Process) PID() int { return p.pid }

// Err returns why the process exited, with the end of its log. It is nil while the process runs.
func (p *Process) Err() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	how := "ended"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s: %s; the end of its log:\n%s", p.spec.Name, how, p.LastWords(12))
}

// Stop signals the process to exit, and kills it if it takes too long or ctx ends first. It returns
// once the process no longer exists.
func (p *Process) Stop(ctx context.Context) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	timer := time.NewTimer(killAfter)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	case <-timer.C:
	}
	return p.Kill()
}

// Kill kills the process and returns when it no longer exists.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

func (p *Process) signal(sig os.Signal) error {
	err := p.cmd.Process.Signal(sig)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: end it: %w", p.spec.Name, err)
	}
	return nil
}

// LastWords returns the last lines of the process's log, indented.
func (p *Process) LastWords(lines int) string {
	data, err := os.ReadFile(p.spec.LogFile)
	if err != nil {
		return fmt.Sprintf("(its log cannot be read: %v)", err)
	}
	if len(data) == 0 {
		return "  (its log is empty)"
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return "  " + strings.Join(all[max(0, len(all)-lines):], "\n  ")
}
