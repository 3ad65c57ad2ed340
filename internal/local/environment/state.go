package environment

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/aws-operator/aws-operator/internal/local/filelock"
)

// Phase is the phase of an environment.
type Phase string

// The phases, in their order.
const (
	Starting Phase = "Starting"
	Serving  Phase = "Serving"
	Stopping Phase = "Stopping"
)

// State is the state of an environment for other processes.
type State struct {
	// PID is the environment's process.
	PID int `json:"pid"`
	// Phase is its phase.
	Phase Phase `json:"phase"`
	// StartedAt is the time at which its start began.
	StartedAt time.Time `json:"startedAt"`
	// APIServer and AWS are the addresses of the two.
	APIServer string `json:"apiServer,omitempty"`
	AWS       string `json:"aws,omitempty"`
	// Machines describes what EC2 instances run on.
	Machines Machines `json:"machines,omitempty"`
	// OperatorPID is the operator's process, 0 without one.
	OperatorPID int `json:"operatorPid,omitempty"`
	// Metrics is the address of the operator's metrics.
	Metrics string `json:"metrics,omitempty"`
}

// ErrNotRunning means that no environment runs in a folder.
var ErrNotRunning = errors.New("nothing runs")

// folder is an environment's folder.
type folder string

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

// Names in the folder.
const (
	kubeconfigFile  = "kubeconfig"
	awsEnvFile      = "aws.env"
	stateFile       = "state.json"
	lockFile        = "lock"
	controlPlaneDir = "control-plane"
	operatorLog     = "operator.log"
	machinesDir     = "machines"
	releasesDir     = "releases"
	quickStartDir   = "quickstart"
	// LocalLog is the log of a detached environment.
	LocalLog = "local.log"
)

// Read returns the state of the environment that runs in dir. It returns ErrNotRunning if none
// does, whatever a crash may have left there.
func Read(dir string) (State, error) {
	f := folder(dir)
	held, err := filelock.Held(f.path(lockFile))
	if err != nil {
		return State{}, err
	}
	if !held {
		return State{}, ErrNotRunning
	}
	return f.readState()
}

func (f folder) readState() (State, error) {
	data, err := os.ReadFile(f.path(stateFile))
	if errors.Is(err, os.ErrNotExist) {
		// It holds the lock and has not written its state yet, or is about to release the lock.
		return State{Phase: Starting}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("read the environment's state: %w", err)
	}
	var state State
	if err := json.Unmarshal(data, &state); err != nil {
		return State{}, fmt.Errorf("read the environment's state in %s: %w", f.path(stateFile), err)
	}
	return state, nil
}

// writeState replaces the state in one step, so that no reader sees half of it.
func (f folder) writeState(state State) error {
	data, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the environment's state: %w", err)
	}
	return f.write(stateFile, append(data, '\n'))
}

func (f folder) write(name string, data []byte) error {
	next := f.path(name + ".next")
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(next, f.path(name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (f folder) has(name string) bool {
	_, err := os.Stat(f.path(name))
	return err == nil
}

// refuseStrangers returns an error when the folder holds files of the names that an
// environment writes, and no environment that crashed can have written them.
func (f folder) refuseStrangers(crashed bool) error {
	for _, name := range []string{kubeconfigFile, awsEnvFile} {
		if !crashed && f.has(name) {
			return fmt.Errorf("%s was not written by aws-operator and would be overwritten: use another folder with --dir", f.path(name))
		}
	}
	return nil
}

// clear removes what an environment makes, except the lock and the logs that
// keep names.
func (f folder) clear(keep ...string) error {
	var errs []error
	kept := map[string]bool{}
	for _, name := range keep {
		kept[name] = true
	}
	for _, name := range []string{
		stateFile, stateFile + ".next", kubeconfigFile, awsEnvFile, controlPlaneDir, machinesDir, releasesDir, quickStartDir, operatorLog, LocalLog,
	} {
		if !kept[name] {
			errs = append(errs, os.RemoveAll(f.path(name)))
		}
	}
	return errors.Join(errs...)
}
