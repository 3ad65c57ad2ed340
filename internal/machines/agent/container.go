//go:build linux

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/machines/guest"
)

// The delays before a container restarts. They are shorter than a kubelet's, which are 10 s to 5
// min, because what an API server lacks at its first start exists a second later.
const (
	backOffFirst  = time.Second
	backOffLast   = 30 * time.Second
	backOffForget = time.Minute
	stopWithin    = 10 * time.Second
)

// programs are the programs in the kube binary.
var programs = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// recordsDir holds records of processes for the next kubelet. It is deleted with the machine, like
// the processes.
const recordsDir = "/run/machine/containers"

// container runs a static pod's first container as a process.
type container struct {
	pod     *corev1.Pod
	spec    corev1.Container
	key     string
	changed func()
	log     logr.Logger
	clock   clock.WithTicker

	stopOnce sync.Once
	stopping chan struct{}

	mu    sync.Mutex
	state containerState
}

// containerState is the state that the pod's status shows.
type containerState struct {
	Running  bool
	Ready    bool
	Started  metav1.Time
	Restarts int32
	Reason   string // why it is not running
	Message  string
}

// record is a process that outlives its kubelet.
type record struct {
	PID      int
	Born     string // the process's start time, to detect a reused PID
	Started  metav1.Time
	Restarts int32
}

func newContainer(pod *corev1.Pod, key string, changed func(), log logr.Logger, clk clock.WithTicker) *container {
	return &container{
		pod: pod, spec: pod.Spec.Containers[0], key: key, changed: changed, stopping: make(chan struct{}),
		log: log.WithValues("pod", pod.Name), clock: clk, state: containerState{Reason: "ContainerCreating"},
	}
}

func (c *container) now() containerState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

func (c *container) set(change func(*containerState)) {
	c.mu.Lock()
	before := c.state
	change(&c.state)
	differs := c.state != before
	c.mu.Unlock()
	if differs {
		c.changed()
	}
}

// stop requests the end of the process, which run then ends.
func (c *container) stop() { c.stopOnce.Do(func() { close(c.stopping) }) }

// run keeps the process running until it is stopped. If ctx ends, run returns and leaves the
// process running.
func (c *container) run(ctx context.Context) {
	wait := backOffFirst
	for {
		pid, err := c.adoptOrStart()
		if err != nil {
			c.log.Error(err, "start a static pod")
			c.set(func(s *containerState) { s.Running, s.Reason, s.Message = false, "CreateContainerError", err.Error() })
		} else {
			began := c.clock.Now()
			if over := c.attend(ctx, pid); over {
				return
			}
			c.log.Info("a static pod's process ended; restarting it", "after", wait.String(), "log", c.logPath())
			if c.clock.Since(began) > backOffForget {
				wait = backOffFirst
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-c.stopping:
			return
		case <-c.clock.After(wait):
		}
		wait = min(2*wait, backOffLast)
	}
}

// attend probes the process until it ends. It reports whether run is to return, because the pod or
// the kubelet is stopping.
func (c *container) attend(ctx context.Context, process *handle) (over bool) {
	probing, done := context.WithCancel(ctx)
	defer done()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer done()
	wg.Go(func() { c.probe(probing) })
	select {
	case <-process.ended:
		_ = os.Remove(c.recordPath())
		c.set(func(s *containerState) {
			s.Running, s.Ready, s.Restarts, s.Reason = false, false, s.Restarts+1, "CrashLoopBackOff"
			s.Message = "the process ended; its log is " + c.logPath()
		})
		return false
	case <-ctx.Done():
		return true
	case <-c.stopping:
	}
	_ = unix.Kill(process.pid, unix.SIGTERM)
	select {
	case <-process.ended:
	case <-c.clock.After(stopWithin):
		_ = unix.Kill(process.pid, unix.SIGKILL)
		<-process.ended
	}
	_ = os.Remove(c.recordPath())
	c.set(func(s *containerState) { s.Running, s.Ready, s.Reason = false, false, "Completed" })
	return true
}

// handle is a running process.
type handle struct {
	pid   int
	ended chan struct{}
}

// adoptOrStart adopts the process that an earlier kubelet left running, or starts a new one.
func (c *container) adoptOrStart() (*handle, error) {
	if r, ok := c.readRecord(); ok {
		h, err := watch(r.PID)
		if err == nil {
			c.log.Info("adopted a static pod's process", "pid", r.PID)
			c.set(func(s *containerState) { s.Running, s.Started, s.Restarts = true, r.Started, r.Restarts })
			return h, nil
		}
	}
	return c.start()
}

func (c *container) start() (*handle, error) {
	command, err := c.command()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(c.logPath()), 0o750); err != nil {
		return nil, fmt.Errorf("create the log: %w", err)
	}
	log, err := os.OpenFile(c.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the log: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := &exec.Cmd{
		Path: guest.KubePath, Args: command, Env: append(guest.Environment(), c.environment()...), Dir: "/",
		Stdout: log, Stderr: log,
		// With its own session the process outlives the kubelet.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	h := &handle{pid: cmd.Process.Pid, ended: make(chan struct{})}
	started := metav1.NewTime(c.clock.Now().Truncate(time.Second)) // in the API server's resolution
	c.writeRecord(record{PID: h.pid, Born: born(h.pid), Started: started, Restarts: c.now().Restarts})
	c.set(func(s *containerState) { s.Running, s.Started, s.Reason, s.Message = true, started, "", "" })
	go func() {
		_ = cmd.Wait()
		close(h.ended)
	}()
	return h, nil
}

// command returns the command in the manifest, with variables expanded. It returns an error for
// programs that are not in the kube binary.
func (c *container) command() ([]string, error) {
	words := slices.Concat(c.spec.Command, c.spec.Args)
	if len(words) == 0 {
		return nil, fmt.Errorf("the manifest of %s has no command, and images are not supported", c.pod.Name)
	}
	program := filepath.Base(words[0])
	if !slices.Contains(programs, program) {
		return nil, fmt.Errorf("%s is not a program of this machine image; it has %s", program, strings.Join(programs, ", "))
	}
	filled := []string{program}
	environment := c.environment()
	for _, word := range words[1:] {
		for _, setting := range environment {
			name, value, _ := strings.Cut(setting, "=")
			word = strings.ReplaceAll(word, "$("+name+")", value)
		}
		filled = append(filled, word)
	}
	return filled, nil
}

func (c *container) environment() []string {
	environment := make([]string, 0, len(c.spec.Env))
	for _, variable := range c.spec.Env {
		value := variable.Value
		if from := variable.ValueFrom; from != nil && from.FieldRef != nil {
			value = c.field(from.FieldRef.FieldPath)
		}
		environment = append(environment, variable.Name+"="+value)
	}
	return environment
}

func (c *container) field(path string) string {
	switch path {
	case "metadata.name":
		return c.pod.Name
	case "metadata.namespace":
		return c.pod.Namespace
	case "metadata.uid":
		return string(c.pod.UID)
	case "spec.nodeName":
		name, _ := os.Hostname()
		return name
	case "status.podIP", "status.hostIP", "status.podIPs", "status.hostIPs":
		if eth0, err := net.InterfaceByName("eth0"); err == nil {
			if addresses, err := eth0.Addrs(); err == nil && len(addresses) > 0 {
				ip, _, _ := strings.Cut(addresses[0].String(), "/")
				return ip
			}
		}
	}
	return ""
}

func (c *container) logPath() string {
	return filepath.Join("/var/log/pods", c.pod.Namespace+"_"+c.pod.Name, c.spec.Name+".log")
}

func (c *container) recordPath() string { return filepath.Join(recordsDir, c.key+".json") }

func (c *container) writeRecord(r record) {
	data, err := json.Marshal(r)
	if err == nil {
		err = os.MkdirAll(recordsDir, 0o750)
	}
	if err == nil {
		err = os.WriteFile(c.recordPath(), data, 0o600)
	}
	if err != nil {
		c.log.Error(err, "remember a static pod's process")
	}
}

// readRecord returns the record of this manifest's process if that still runs.
func (c *container) readRecord() (record, bool) {
	var r record
	data, err := os.ReadFile(c.recordPath())
	if err != nil || json.Unmarshal(data, &r) != nil || r.Born == "" || born(r.PID) != r.Born {
		return record{}, false
	}
	return r, true
}

// born returns the start time of a process in the kernel's clock ticks, or "" if it does not exist:
// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
func born(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

// watch waits for the end of a process that is not a child.
func watch(pid int) (*handle, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("watch process %d: %w", pid, err)
	}
	h := &handle{pid: pid, ended: make(chan struct{})}
	go func() {
		defer close(h.ended)
		defer func() { _ = unix.Close(fd) }()
		for {
			_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1) //nolint:gosec // a descriptor fits
			if err != unix.EINTR {
				return
			}
		}
	}()
	return h, nil
}
