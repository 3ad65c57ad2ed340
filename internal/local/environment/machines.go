package environment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/local/containerbuild"
	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/local/nodebuild"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// Machines is what simulated instances run on.
type Machines string

// Kinds of machines.
const (
	// AutoMachines are processes where they can be, and simulated elsewhere.
	AutoMachines Machines = "auto"
	// ProcessMachines boot for real: Linux, as root. Package process has the rest.
	ProcessMachines Machines = "process"
	// ContainerMachines are process machines with the real kubelet, containerd and runc, so that pods
	// run. Their programs are built from Go modules: package containerbuild has the rest.
	ContainerMachines Machines = "container"
	// FakeMachines are simulated: no process runs, and Nodes are made directly.
	FakeMachines Machines = "fake"
	// NoMachines runs nothing: instances exist only in EC2's data.
	NoMachines Machines = "none"
)

// MachinesHelp describes the choice, for flags.
const MachinesHelp = "what EC2 instances run on: process (processes; Linux, as root), container (processes with the real kubelet and containerd), fake (simulated Nodes), none, or auto (process where possible, else fake)"

// ParseMachines returns the kind of that name. It returns an error for an unknown name.
func ParseMachines(name string) (Machines, error) {
	all := []Machines{AutoMachines, ProcessMachines, ContainerMachines, FakeMachines, NoMachines}
	if m := Machines(name); slices.Contains(all, m) {
		return m, nil
	}
	return "", fmt.Errorf("unknown kind of machines %q; use one of %q", name, all)
}

// MachinesOptions configure machines.
type MachinesOptions struct {
	// Kind is the kind of machines. The default is AutoMachines.
	Kind Machines
	// Dir is the folder for consoles, logs and volumes; a temporary one unless set.
	Dir string
	// Tree is the root directory of a distribution that process machines boot; by default they simulate
	// systemd and cloud-init.
	Tree string
	// Programs returns the programs of machines. Only process machines need them.
	Programs func(context.Context) (nodebuild.Programs, error)
	// Kube finds the kube binary.
	Kube func(context.Context) (string, error)
	// Containers returns the folder of the programs that run containers. Only container machines need
	// them.
	Containers func(context.Context, nodebuild.Programs, string) (string, error)
	// WithoutKube returns why AutoMachines should not wait for the build of a kube binary; nil if
	// they should.
	WithoutKube func(context.Context) error
	// Images are other kube binaries, by the ID of the machine image that has them, and Kubelets other
	// kubelets, which container machines need with those.
	Images, Kubelets map[string]string
	// Layouts are OCI layouts of other container images, which container machines can pull.
	Layouts []string
}

// NewMachines returns the host of machines, and a line that describes them, with the reason if
// AutoMachines are not processes. It returns an error if process machines are requested and not
// possible, or if a binary cannot be built.
func NewMachines(ctx context.Context, opts MachinesOptions) (host machine.Host, line string, err error) {
	kind, why := opts.Kind, ""
	if kind == "" || kind == AutoMachines {
		kind = ProcessMachines
		err := process.Supported()
		if err == nil && opts.WithoutKube != nil {
			err = opts.WithoutKube(ctx)
		}
		if err != nil {
			kind, why = FakeMachines, ", because "+strings.ReplaceAll(err.Error(), "\n", " ")
		}
	}
	switch kind {
	case NoMachines:
		return machine.Absent{}, "none: instances run nothing", nil
	case FakeMachines:
		return fake.New(fake.Options{}), "simulated Nodes" + why, nil
	default:
		opts.Kind = kind
		host, err := newProcesses(ctx, opts)
		if err != nil {
			return nil, "", err
		}
		line := "processes of this host"
		if kind == ContainerMachines {
			line = "the real kubelet and containerd, as processes of this host"
		}
		line += "; consoles in " + host.Dir() + "/consoles"
		if err := process.CanFilterPackets(); err != nil {
			line += "; packets are not filtered, because " + err.Error()
		}
		return host, line, nil
	}
}

func newProcesses(ctx context.Context, opts MachinesOptions) (*process.Host, error) {
	if err := process.Supported(); err != nil {
		return nil, err
	}
	programs, err := opts.Programs(ctx)
	if err != nil {
		return nil, err
	}
	kube, err := opts.Kube(ctx)
	if err != nil {
		return nil, err
	}
	options := process.Options{
		Dir:     opts.Dir,
		Machine: programs.Machine,
		Kube:    kube,
		Images:  opts.Images,
		Tree:    opts.Tree,
		Log:     logr.Discard(),
	}
	if opts.Kind == ContainerMachines {
		if options.Containers, err = opts.Containers(ctx, programs, kube); err != nil {
			return nil, err
		}
		options.Layouts, options.Kubelets = opts.Layouts, opts.Kubelets
		if options.Unpacked, err = archives(); err != nil {
			return nil, err
		}
	}
	return process.New(options)
}

// BuildContainers returns a function that builds the programs that run containers, for
// MachinesOptions.
func BuildContainers(progress io.Writer) func(context.Context, nodebuild.Programs, string) (string, error) {
	return func(ctx context.Context, programs nodebuild.Programs, kube string) (string, error) {
		return containerbuild.Ensure(ctx, containerbuild.Options{Machine: programs.Machine, Kube: kube, Progress: progress})
	}
}

// withoutKube returns an error if KUBEBUILDER_ASSETS names the Kubernetes to run and bin/kube is
// not built: the variable is set to avoid that build, which takes minutes.
func withoutKube(ctx context.Context) error {
	if os.Getenv(controlplane.AssetsVariable) == "" || kubebuild.IsBuilt(ctx, kubebuild.Options{}) {
		return nil
	}
	return fmt.Errorf(
		"they need kubeadm from bin/kube, which is not built while %s is set (build it: bin/aws-operator local build)",
		controlplane.AssetsVariable,
	)
}

// startMachines creates the host of machines, and the programs that the operator distributes.
func (e *Environment) startMachines(ctx context.Context) (string, error) {
	programs, err := nodebuild.Ensure(
		ctx, nodebuild.Options{Progress: e.opts.Progress, Clock: e.opts.Clock, WithoutRestore: e.opts.WithoutRestore},
	)
	if err == nil {
		e.programs = programs
	} else if !errors.Is(err, kubebuild.ErrNoSources) {
		return "", err
	}
	var line string
	e.machines, line, err = NewMachines(ctx, MachinesOptions{
		Kind: e.opts.Machines, Dir: e.folder.path(machinesDir), Tree: e.opts.Tree,
		Programs: func(context.Context) (nodebuild.Programs, error) { return programs, err },
		Images:   e.opts.Images, Kubelets: e.opts.Kubelets,
		Layouts: e.opts.Layouts, WithoutKube: withoutKube, Containers: BuildContainers(e.opts.Progress),
		Kube: func(ctx context.Context) (string, error) {
			return kubebuild.Ensure(ctx, kubebuild.Options{Progress: e.opts.Progress})
		},
	})
	switch e.machines.(type) {
	case *process.Host:
		e.state.Machines = ProcessMachines
		if e.opts.Machines == ContainerMachines {
			e.state.Machines = ContainerMachines
		}
	case *fake.Host:
		e.state.Machines = FakeMachines
	default:
		e.state.Machines = NoMachines
	}
	host, _ := e.machines.(*process.Host)
	var repository string
	if err == nil && host != nil && host.Containers() != "" {
		if e.charts, repository, err = serveCharts(ctx, containerbuild.ChartsDir(host.Containers())); err != nil {
			return "", err
		}
	}
	// It hashes some 200 MB, which can be done while the cluster starts.
	e.releases = sync.OnceValues(func() ([]*v1alpha1.Release, error) { return localReleases(host, repository) })
	go func() { _, _ = e.releases() }()
	return line, err
}
