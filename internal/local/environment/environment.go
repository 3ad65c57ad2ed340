package environment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/local/filelock"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/local/nodebuild"
	"github.com/aws-operator/aws-operator/internal/local/process"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// ErrRunning means that an environment already runs in the folder.
var ErrRunning = errors.New("it is already running")

// Options configure an environment.
type Options struct {
	// Dir is the environment's folder. Up creates it if it does not exist, and Stop removes it if
	// it is empty.
	Dir string
	// Operator is the aws-operator binary to run as the operator; if empty, none runs.
	Operator string
	// Latency is how long CloudFormation takes for each resource, so that operations in progress
	// are visible.
	Latency time.Duration
	// Seed and Lag are those of [AWSOptions].
	Seed uint64
	Lag  time.Duration
	// IAM is that of [AWSOptions]; what is audited goes to Out.
	IAM access.Mode
	// Machines is what instances run on. The default is AutoMachines.
	Machines Machines
	// Tree is the root directory of a distribution that process machines boot; by default they simulate
	// systemd and cloud-init.
	Tree string
	// Layouts are folders of container images, each an OCI layout, that container machines can pull
	// beside those of a cluster.
	Layouts []string
	// Images and Kubelets are those of [MachinesOptions], for images that AddImage adds.
	Images, Kubelets map[string]string
	// WithoutRestore leaves out etcd-restore, so that less is built: no cluster can be restored
	// from a snapshot.
	WithoutRestore bool
	// Detached keeps the log that this process writes to the folder.
	Detached bool
	// Out receives a line for each part that is ready; nil discards them.
	Out io.Writer
	// Progress receives the progress of building the kube binary.
	Progress io.Writer
	// Clock is the clock, the real one if nil.
	Clock clock.WithTicker
}

// DefaultLatency is long enough to see a stack at work, and short enough not to
// wait for.
const DefaultLatency = time.Second

// Environment is a running environment.
type Environment struct {
	opts   Options
	folder folder
	state  State
	lock   *filelock.Lock

	cluster  *controlplane.ControlPlane
	programs nodebuild.Programs
	machines machine.Host
	releases func() ([]*v1alpha1.Release, error)
	aws      *awsServer
	charts   io.Closer // serves the charts of addons; nil without containers
	operator *process.Process
}

// Up starts an environment and returns when all of it serves. It returns ErrRunning if one runs in
// the folder. After an error nothing is left running; the logs stay in the folder.
func Up(ctx context.Context, opts Options) (*Environment, error) {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if opts.Out == nil {
		opts.Out = io.Discard
	}
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the folder %s: %w", opts.Dir, err)
	}
	e := &Environment{opts: opts, folder: folder(dir)}
	if err := e.occupy(ctx); err != nil {
		return nil, err
	}
	if err := e.start(ctx); err != nil {
		return nil, errors.Join(err, e.abandon(context.WithoutCancel(ctx)))
	}
	return e, nil
}

// occupy locks the folder and removes the files of a crashed environment.
func (e *Environment) occupy(ctx context.Context) error {
	if err := os.MkdirAll(string(e.folder), 0o700); err != nil {
		return fmt.Errorf("make the environment's folder: %w", err)
	}
	// A process that only checks whether the lock is held holds it for a moment.
	patience, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	lock, err := filelock.Take(patience, e.folder.path(lockFile), e.opts.Clock, func() {})
	if errors.Is(err, context.DeadlineExceeded) {
		return e.alreadyRunning()
	}
	if err != nil {
		return fmt.Errorf("lock the folder %s: %w", e.folder, err)
	}
	e.lock = lock
	crashed := e.folder.has(stateFile)
	if err := e.folder.refuseStrangers(crashed); err != nil {
		return errors.Join(err, e.leave())
	}
	e.say("starting in %s", e.folder)
	if crashed {
		e.say("an earlier run in this folder ended without cleaning up; removing its files")
	}
	if err := e.folder.clear(e.ownLog()...); err != nil {
		return fmt.Errorf("clear the folder %s: %w", e.folder, err)
	}
	e.state = State{PID: os.Getpid(), Phase: Starting, StartedAt: e.opts.Clock.Now()}
	return e.folder.writeState(e.state)
}

func (e *Environment) alreadyRunning() error {
	state, err := e.folder.readState()
	if err != nil || state.PID == 0 {
		return fmt.Errorf("%w in %s", ErrRunning, e.folder)
	}
	return fmt.Errorf("%w in %s (process %d)", ErrRunning, e.folder, state.PID)
}

func (e *Environment) start(ctx context.Context) error {
	for _, part := range []struct {
		name  string
		start func(context.Context) (string, error)
	}{
		{"machines", e.startMachines},
		{"cluster", e.startCluster},
		{"AWS", e.startAWS},
		{"releases", e.applyReleases},
		{"examples", e.writeExamples},
		{"operator", e.startOperator},
	} {
		began := e.opts.Clock.Now()
		what, err := part.start(ctx)
		if err != nil {
			return fmt.Errorf("start the %s: %w", part.name, err)
		}
		took := e.opts.Clock.Since(began).Round(100 * time.Millisecond).Seconds()
		e.say("  %-10s %-66s %4.1f s", part.name, what, took)
	}
	e.state.Phase = Serving
	return e.folder.writeState(e.state)
}

func (e *Environment) startCluster(ctx context.Context) (string, error) {
	binaries, err := controlplane.FindBinaries(ctx, e.opts.Progress)
	if err != nil {
		return "", err
	}
	e.cluster, err = controlplane.Start(ctx, controlplane.Options{
		Dir: e.folder.path(controlPlaneDir), Binaries: binaries, ControllerManager: true,
		Progress: e.opts.Progress, Clock: e.opts.Clock,
	})
	if err != nil {
		return "", err
	}
	e.state.APIServer = e.cluster.Host()
	what := e.cluster.Host() + ", Kubernetes " + kubebuild.KubernetesVersion
	if os.Getenv(controlplane.AssetsVariable) != "" {
		what = e.cluster.Host() + ", Kubernetes of " + controlplane.AssetsVariable
	}
	return what, e.folder.write(kubeconfigFile, e.cluster.Kubeconfig())
}

func (e *Environment) startAWS(ctx context.Context) (string, error) {
	server, err := serveAWS(ctx, AWSOptions{
		Latency: e.opts.Latency, Seed: e.opts.Seed, Lag: e.opts.Lag, Machines: e.machines, IAM: e.opts.IAM,
		Audit: func(line string) { e.say("iam: %s", line) },
	})
	if err != nil {
		return "", err
	}
	e.aws = server
	e.state.AWS = server.url
	what := fmt.Sprintf("%s, account %s, region %s, seed %d", server.url, Account, Region, server.simulator.Seed())
	return what, e.folder.write(awsEnvFile, []byte(e.shellAssignments()))
}

// Done is closed when a part has exited unexpectedly. Err then returns which part, and why.
func (e *Environment) Done() <-chan struct{} {
	if e.operator == nil {
		return e.cluster.Done()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-e.cluster.Done():
		case <-e.operator.Done():
		}
	}()
	return done
}

// Err returns an error that names the part that exited unexpectedly, nil while all parts run.
func (e *Environment) Err() error {
	err := e.cluster.Err()
	if e.operator != nil {
		err = errors.Join(err, e.operator.Err())
	}
	return err
}

// Dir is the environment's folder, as an absolute path.
func (e *Environment) Dir() string { return string(e.folder) }

// Machines are what instances run on.
func (e *Environment) Machines() machine.Host { return e.machines }

// AddImage adds a machine image to EC2 in a region.
func (e *Environment) AddImage(region string, image types.Image) {
	e.aws.simulator.Instances().AddImage(region, image)
}

// State is what other processes can read about the environment.
func (e *Environment) State() State { return e.state }

// RESTConfig returns a configuration for the management cluster with all permissions.
func (e *Environment) RESTConfig() *rest.Config { return e.cluster.RESTConfig() }

// Stop stops all parts in order, removes everything that the environment created, and returns when
// it no longer exists.
func (e *Environment) Stop(ctx context.Context) error {
	e.state.Phase = Stopping
	errs := []error{e.folder.writeState(e.state), e.stopParts(ctx), e.folder.clear(), e.leave()}
	return errors.Join(errs...)
}

// abandon is Stop for an environment that failed to start: it keeps the logs.
func (e *Environment) abandon(ctx context.Context) error {
	errs := []error{e.stopParts(ctx), e.folder.clear(controlPlaneDir, machinesDir, operatorLog, LocalLog), e.leave()}
	return errors.Join(errs...)
}

func (e *Environment) stopParts(ctx context.Context) error {
	var errs []error
	if e.operator != nil {
		errs = append(errs, e.operator.Stop(ctx))
	}
	if e.charts != nil {
		errs = append(errs, e.charts.Close())
	}
	switch {
	case e.aws != nil:
		errs = append(errs, e.aws.stop()) // and the machines with it
	case e.machines != nil:
		e.machines.Close()
	}
	if e.cluster != nil {
		errs = append(errs, e.cluster.Stop())
	}
	return errors.Join(errs...)
}

// leave unlocks the folder, and removes it if it is empty.
func (e *Environment) leave() error {
	err := os.Remove(e.folder.path(lockFile))
	e.lock.Release()
	// Not empty: another client's files, or logs of a failure, are in it.
	_ = os.Remove(string(e.folder))
	return err
}

// ownLog returns the log that this process writes.
func (e *Environment) ownLog() []string {
	if e.opts.Detached {
		return []string{LocalLog}
	}
	return nil
}

func (e *Environment) say(format string, args ...any) {
	_, _ = fmt.Fprintf(e.opts.Out, format+"\n", args...)
}
