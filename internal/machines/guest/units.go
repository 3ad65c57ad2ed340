//go:build linux

package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/utils/clock"
)

// stopWithin is how long a unit may take to stop after SIGTERM.
const stopWithin = 10 * time.Second

// units are the services of a machine.
type units struct {
	children *children
	clock    clock.Clock
	off      func() // powers the machine off

	mu    sync.Mutex
	known map[string]*service
}

// service is a started unit.
type service struct {
	stop      chan struct{} // closed to request its end
	ended     chan struct{} // closed when it has ended
	active    bool
	failed    bool // it ended with an error and does not start again
	noProcess bool // there is no process to stop
}

func newUnits(c *children) *units {
	return &units{children: c, clock: clock.RealClock{}, known: map[string]*service{}}
}

// order is a request of systemctl to process 1; answer is the response.
type order struct {
	Verb  string
	Units []string
}

type answer struct {
	Text string
	Code int
}

// listen starts to serve systemctl.
func (u *units) listen(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as in any root
		return fmt.Errorf("listen to systemctl: %w", err)
	}
	listener, err := net.Listen("unix", path) //nolint:noctx // the listener stays open
	if err != nil {
		return fmt.Errorf("listen to systemctl: %w", err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				log.Printf("listen to systemctl: %v", err)
				return
			}
			go u.converse(conn)
		}
	}()
	return nil
}

func (u *units) converse(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	var o order
	if err := json.NewDecoder(conn).Decode(&o); err != nil {
		return
	}
	_ = json.NewEncoder(conn).Encode(u.obey(o))
}

// obey executes an order for each of its units. Exit codes are systemctl's.
func (u *units) obey(o order) answer {
	if o.Verb == "poweroff" {
		go u.off()
		return answer{}
	}
	var said []string
	code := 0
	for _, name := range o.Units {
		if !strings.Contains(name, ".") {
			name += ".service"
		}
		text, err := u.do(o.Verb, name)
		if text != "" {
			said = append(said, text)
		}
		var failed *exitError
		switch {
		case errors.As(err, &failed):
			code = failed.code
		case err != nil:
			said, code = append(said, err.Error()), 1
		}
	}
	return answer{Text: strings.Join(said, "\n"), Code: code}
}

// exitError makes systemctl exit with a code.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

func (u *units) do(verb, name string) (string, error) {
	switch verb {
	case "start":
		return "", u.start(name)
	case "stop":
		u.stop(name)
		return "", nil
	case "restart", "reload-or-restart":
		u.stop(name)
		return "", u.start(name)
	case "is-active", "status":
		state := u.state(name)
		if state == "active" {
			return state, nil
		}
		return state, &exitError{code: 3}
	default:
		return "", fmt.Errorf("systemctl %s is not supported", verb)
	}
}

// state returns the state of a unit, as systemctl is-active prints it.
func (u *units) state(name string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch s, ok := u.known[name]; {
	case ok && s.active:
		return "active"
	case ok && s.failed:
		return "failed"
	default:
		return "inactive"
	}
}

// start starts a unit unless it runs.
func (u *units) start(name string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s, ok := u.known[name]; ok && s.active {
		return nil
	}
	described, err := readUnit(name, unitFolders)
	if errors.Is(err, os.ErrNotExist) && name == "containerd.service" {
		// The archive that contains the unit is not in the image either.
		u.known[name] = &service{active: true, noProcess: true}
		return nil
	}
	if err != nil {
		return err
	}
	args, environment, err := described.command()
	if err != nil {
		return err
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		log.Printf("%s does nothing: %s is not in this machine image", name, args[0])
		u.known[name] = &service{active: true, noProcess: true}
		return nil
	}
	out, err := os.OpenFile("/var/log/"+name+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600) //nolint:gosec // a unit's name
	if err != nil {
		return fmt.Errorf("unit %s: %w", name, err)
	}
	p := program{path: path, args: args, env: environment, dir: described.dir, out: out}
	if described.oneshot {
		return u.once(name, p)
	}
	s := &service{active: true, stop: make(chan struct{}), ended: make(chan struct{})}
	u.known[name] = s
	go u.keep(described, s, p)
	return nil
}

// once runs a unit to completion.
func (u *units) once(name string, p program) error {
	defer func() { _ = p.out.Close() }()
	status, err := u.children.run(p)
	if err != nil {
		return fmt.Errorf("unit %s: %w", name, err)
	}
	if status.ExitStatus() != 0 {
		u.known[name] = &service{failed: true, noProcess: true}
		return fmt.Errorf("unit %s ended %s; see /var/log/%s.log", name, describe(status), name)
	}
	u.known[name] = &service{active: true, noProcess: true}
	return nil
}

// keep runs a unit until it is stopped, and restarts it if its settings say so.
func (u *units) keep(described *unit, s *service, p program) {
	defer close(s.ended)
	defer func() { _ = p.out.Close() }()
	defer func() {
		u.mu.Lock()
		s.active = false
		u.mu.Unlock()
	}()
	for {
		status, stopped := u.attend(s, p)
		if stopped {
			return
		}
		log.Printf("%s ended %s", described.name, describe(status))
		again := described.restart == "always" || described.restart == "on-failure" && status != 0
		if !again {
			return
		}
		select {
		case <-u.clock.After(described.restartAfter):
		case <-s.stop:
			return
		}
	}
}

// attend runs a unit's program once. It reports whether the unit was stopped.
func (u *units) attend(s *service, p program) (status unix.WaitStatus, stopped bool) {
	pid, ended, err := u.children.start(p)
	if err != nil {
		log.Printf("start %s: %v", p.path, err)
		return 1 << 8, false
	}
	select {
	case status = <-ended:
		return status, false
	case <-s.stop:
	}
	_ = unix.Kill(pid, unix.SIGTERM)
	select {
	case <-ended:
	case <-u.clock.After(stopWithin):
		_ = unix.Kill(-pid, unix.SIGKILL)
		<-ended
	}
	return 0, true
}

// stop stops a unit and returns when it has ended.
func (u *units) stop(name string) {
	u.mu.Lock()
	s, ok := u.known[name]
	delete(u.known, name)
	u.mu.Unlock()
	if !ok || s.noProcess {
		return
	}
	close(s.stop)
	<-s.ended
}
