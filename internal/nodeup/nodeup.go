package nodeup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// Options say what to boot into, and with what.
type Options struct {
	// Bucket is the cluster's bucket.
	Bucket string
	// Region is the cluster's region.
	Region string
	// BundleSHA256 is the hash of the bundle to carry out.
	BundleSHA256 string
	// Root is the folder below which all files are; empty is the machine's own.
	Root string
	// AWS is what nodeup asks of AWS.
	AWS AWS
	// HTTP fetches artifacts.
	HTTP *http.Client
	// Resolve looks up the addresses of a name.
	Resolve func(ctx context.Context, name string) ([]string, error)
	// Dial connects to other members of etcd; nil is the machine's network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Space returns the free and the total bytes of a folder's file system; nil asks the machine's.
	Space func(folder string) (free, total uint64, err error)
	// Clock tells the time and waits.
	Clock clock.Clock
	// Log gets a line for each task.
	Log *slog.Logger
	// Done is called for each completed task. It may be nil.
	Done func(task string)
}

// PermanentError says that trying again does not help: the machine cannot become what its bundle
// says.
type PermanentError struct{ err error }

// Error says what is wrong.
func (e *PermanentError) Error() string { return e.err.Error() }

// Unwrap returns what is wrong.
func (e *PermanentError) Unwrap() error { return e.err }

func permanent(format string, args ...any) error {
	return &PermanentError{err: fmt.Errorf(format, args...)}
}

// boot is one run: what is known so far.
type boot struct {
	Options

	machine Machine
	bundle  *bundle.Bundle
	values  map[string]string // of placeholders
	files   files
	// etcdDevice is the slot's volume as the machine sees it, once it is attached.
	etcdDevice string
	// nameChange is the change by which the slot's name is published.
	nameChange string
	// volumeAwaited is since when the slot's volume is looked for.
	volumeAwaited time.Time
	// nodeAwaited is since when the kubelet is to make its Node.
	nodeAwaited time.Time
	// unitsRestarted reports that this run has restarted the user's units.
	unitsRestarted bool
	// publishedToken is the bootstrap token that this run has put into the bucket.
	publishedToken string
}

// task is one concern of a booting node. It says what it did, for the log.
type task struct {
	name string
	run  func(*boot, context.Context) (did string, err error)
	// longest is the longest wait between tries.
	longest time.Duration
}

// Run carries the bundle out. It returns when the machine is a node of its cluster, when a
// [PermanentError] says that it will never be, or when the context ends.
func Run(ctx context.Context, options Options) error {
	b := &boot{Options: options, files: files{root: options.Root}}
	started := b.Clock.Now()
	first := []task{
		{"metadata", (*boot).readMetadata, lastRetry},
		{"bundle", (*boot).readBundle, lastRetry},
	}
	if err := b.runAll(ctx, first); err != nil {
		return err
	}
	if err := b.runAll(ctx, tasksOf(b.bundle.Role)); err != nil {
		return err
	}
	b.Log.Info("this machine is a node of its cluster", "cluster", b.bundle.Cluster, "node", b.machine.NodeName, "took", b.since(started))
	return nil
}

// tasksOf returns what a machine of a role does, in order; docs/design/boot.md says why in this
// one.
func tasksOf(role bundle.Role) []task {
	tasks := []task{
		{"start at each boot", (*boot).installSelf, lastRetry},
		{"artifacts", (*boot).installArtifacts, lastRetry},
		{"kernel", (*boot).setUpKernel, lastRetry},
		{"files", (*boot).writeFiles, lastRetry},
		{"ssh keys", (*boot).writeAuthorizedKeys, lastRetry},
		{"units", (*boot).startUnits, lastRetry},
		{"extra units", (*boot).startExtraUnits, lastRetry},
	}
	if role == bundle.ControlPlane {
		tasks = append(tasks,
			task{"etcd volume", (*boot).attachVolume, lastRetry},
			task{"etcd file system", (*boot).mountVolume, lastRetry},
			task{"etcd restore", (*boot).restoreMember, lastRetry},
			task{"etcd name", (*boot).publishName, nameRetry},
			task{"authorities", (*boot).fetchPKI, lastRetry},
		)
	}
	tasks = append(tasks,
		task{"extra user data", (*boot).runExtraUserData, lastRetry},
		task{"kubelet unit", (*boot).writeKubeletUnit, lastRetry},
	)
	if role == bundle.ControlPlane {
		tasks = append(tasks, controlPlanePhases()...)
	} else {
		tasks = append(tasks,
			task{"API", (*boot).awaitAPI, apiRetry},
			task{"join", (*boot).join, joinRetry},
		)
	}
	return append(tasks,
		task{"kubelet", (*boot).enableKubelet, lastRetry},
		task{"done", (*boot).markDone, lastRetry},
	)
}

// Waits between tries.
const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 15 * time.Second
	// Workers wait for the control plane more often than for anything else, so they look often. Of
	// SSM, which has a budget for the whole account, they ask when the API is there.
	apiRetry  = time.Second
	nameRetry = 5 * time.Second
	joinRetry = 2 * time.Second
)

func (b *boot) runAll(ctx context.Context, tasks []task) error {
	for _, t := range tasks {
		if err := b.runOne(ctx, t); err != nil {
			return err
		}
		if b.Done != nil {
			b.Done(t.name)
		}
	}
	return nil
}

// runOne runs a task until it is done.
func (b *boot) runOne(ctx context.Context, t task) error {
	started, wait := b.Clock.Now(), firstRetry
	var last error
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", t.name, errors.Join(last, err))
		}
		did, err := t.run(b, ctx)
		if err == nil {
			b.Log.Info(t.name, "did", did, "took", b.since(started))
			return nil
		}
		if _, never := errors.AsType[*PermanentError](err); never {
			b.Log.Error(t.name, "error", err, "took", b.since(started))
			return fmt.Errorf("%s: %w", t.name, err)
		}
		b.Log.Warn(t.name, "error", err, "again in", wait.String())
		select {
		case <-ctx.Done():
		case <-b.Clock.After(wait):
		}
		last, wait = err, min(2*wait, t.longest)
	}
}

func (b *boot) since(started time.Time) string {
	return b.Clock.Since(started).Round(time.Millisecond).String()
}
