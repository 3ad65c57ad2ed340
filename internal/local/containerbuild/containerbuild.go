package containerbuild

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/local/filelock"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
)

// Options configure a build.
type Options struct {
	// Root is the root of the repository. By default, it is searched for.
	Root string
	// Machine and Kube are the binaries of cmd/machine and of the kube module.
	Machine, Kube string
	// Progress receives the progress of the build; nil discards it.
	Progress io.Writer
	// Clock is the clock, the real one if nil.
	Clock clock.WithTicker
}

// ErrMissing means that the host lacks what the build needs.
var ErrMissing = errors.New("programs that run containers cannot be built here")

// program is what one command of the go tool builds.
type program struct {
	module   string // the folder of its module
	packages []string
	output   string // below the folder of programs; with a slash at the end, a folder
	flags    []string
	cgo      bool
}

const (
	containerd = "github.com/containerd/containerd/v2"
	plugins    = "github.com/containernetworking/plugins/plugins/"
	runc       = "github.com/opencontainers/runc"
	// kubelet is the kubelet and kube-proxy in one binary.
	kubelet = "kubelet"
	// addonsModule is the folder of the module with the addons' programs.
	addonsModule  = "containers/addons"
	cloudManager  = "k8s.io/cloud-provider-aws"
	metricsServer = "sigs.k8s.io/metrics-server"
)

// nodePrograms is the kubelet and kube-proxy of a version.
func nodePrograms(v kubebuild.Version) program {
	return program{module: "kube", packages: []string{"./node"}, output: kubelet, flags: v.Flags()}
}

func programs() []program {
	plain := []string{"-trimpath", "-ldflags=-s -w"}
	return []program{
		nodePrograms(kubebuild.Present),
		{
			module: "containers", output: "./",
			packages: []string{containerd + "/cmd/containerd", containerd + "/cmd/containerd-shim-runc-v2", containerd + "/cmd/ctr"},
			flags:    []string{"-trimpath", "-ldflags=-s -w -X " + containerd + "/version.Version=" + containerdVersion},
		},
		{
			module: "containers", output: "./",
			packages: []string{
				plugins + "ipam/host-local", plugins + "main/bridge", plugins + "main/loopback", plugins + "main/ptp",
				plugins + "meta/portmap",
			},
			flags: plain,
		},
		{"containers", []string{runc}, "runc", []string{"-trimpath", "-tags=seccomp", "-ldflags=-s -w -X main.version=" + runcVersion}, true},
		{"containers", []string{"github.com/coredns/coredns", "./pause", "./web"}, "./", plain, false},
		{
			module: addonsModule, output: "./", packages: []string{cloudManager + "/cmd/aws-cloud-controller-manager"},
			flags: []string{"-trimpath", "-ldflags=-s -w -X k8s.io/component-base/version.gitVersion=v" + cloudManagerVersion},
		},
		{
			module: addonsModule, output: "./", packages: []string{metricsServer + "/cmd/metrics-server"},
			flags: []string{"-trimpath", "-ldflags=-s -w -X k8s.io/component-base/version.gitVersion=v" + metricsServerVersion},
		},
	}
}

// The versions in containers/go.mod, which the programs report: those of the built-in release.
const (
	containerdVersion = "2.3.1"
	runcVersion       = "1.4.3"
)

// The versions in containers/addons/go.mod, of the minor version of the local Kubernetes.
const (
	cloudManagerVersion  = "1.36.2"
	metricsServerVersion = "0.9.0"
)

// Ensure returns the folder of up-to-date programs and images. It returns ErrMissing with what the
// host lacks, kubebuild.ErrNoSources outside the repository, and the compiler's output when the build
// fails.
func Ensure(ctx context.Context, opts Options) (string, error) {
	dir, release, err := occupy(ctx, &opts, "containers")
	if err != nil {
		return "", err
	}
	defer release()
	if err := ensurePrograms(ctx, dir, opts, programs(), sources); err != nil {
		return "", err
	}
	images, err := imagesOf(dir, opts)
	if err != nil {
		return "", err
	}
	return dir, ensureImages(dir, images)
}

// occupy completes the options, and locks a folder in bin for a build.
func occupy(ctx context.Context, opts *Options, name string) (dir string, release func(), err error) {
	if opts.Progress == nil {
		opts.Progress = io.Discard
	}
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if opts.Root == "" {
		if opts.Root, err = kubebuild.FindRoot(); err != nil {
			return "", nil, err
		}
	}
	if err := Missing(ctx); err != nil {
		return "", nil, err
	}
	dir = filepath.Join(opts.Root, "bin", name)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // programs that all users run
		return "", nil, fmt.Errorf("make the folder of programs: %w", err)
	}
	held, err := filelock.Take(ctx, dir+".lock", opts.Clock, func() {
		_, _ = fmt.Fprintln(opts.Progress, "containers: another process is building the programs; waiting for that")
	})
	if err != nil {
		return "", nil, fmt.Errorf("wait for the build of programs that run containers: %w", err)
	}
	return dir, held.Release, nil
}

// sources are the files of the repository that programs are built from.
var sources = []string{
	"kube/go.mod", "kube/go.sum", "kube/node/main.go", "containers/go.mod", "containers/go.sum", "containers/pause/main.go",
	"containers/web/main.go", "containers/addons/go.mod", "containers/addons/go.sum",
}

// ensurePrograms builds programs unless they are of these sources, which are files of the repository.
func ensurePrograms(ctx context.Context, dir string, opts Options, all []program, sources []string) error {
	golang, err := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOARCH").Output()
	if err != nil {
		return fmt.Errorf("ask Go for its version (building programs that run containers needs Go): %w", err)
	}
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%s %v\n", golang, all)
	for _, name := range sources {
		data, err := os.ReadFile(filepath.Join(opts.Root, name)) //nolint:gosec // the repository's own
		if err != nil {
			return fmt.Errorf("read the sources of programs that run containers: %w", err)
		}
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", name, len(data), data)
	}
	stamp, path := hex.EncodeToString(sum.Sum(nil)), filepath.Join(dir, "programs.stamp")
	if have, err := os.ReadFile(path); err == nil && string(have) == stamp { //nolint:gosec // our own
		return nil
	}
	_, _ = fmt.Fprintln(opts.Progress, "containers: building the programs in "+dir+"; this takes minutes, once")
	for _, p := range all {
		if err := p.build(ctx, opts.Root, dir); err != nil {
			return err
		}
	}
	// The builds above have downloaded the modules with the charts.
	if slices.ContainsFunc(all, func(p program) bool { return p.module == addonsModule }) {
		if err := writeCharts(ctx, opts.Root, dir); err != nil {
			return err
		}
	}
	return os.WriteFile(path, []byte(stamp), 0o600)
}

// Missing returns ErrMissing with what the build needs and the host lacks; nil if there is nothing.
func Missing(ctx context.Context) error {
	var missing []string
	for tool, of := range map[string]string{
		"gcc": "gcc", "pkg-config": "pkg-config", "nft": "nftables", "iptables": "iptables",
	} {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, tool+" (Debian: "+of+")")
		}
	}
	if exec.CommandContext(ctx, "pkg-config", "--exists", "libseccomp").Run() != nil {
		missing = append(missing, "libseccomp's headers (Debian: libseccomp-dev)")
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w: install %s", ErrMissing, strings.Join(missing, ", "))
}

// build builds a program. The go command does not rebuild up-to-date programs.
func (p program) build(ctx context.Context, root, dir string) error {
	output := filepath.Join(dir, p.output)
	if strings.HasSuffix(p.output, "/") {
		output += "/"
	}
	args := append([]string{"build", "-o", output}, p.flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, p.packages...)...) //nolint:gosec // this package's own arguments
	cmd.Dir = filepath.Join(root, p.module)
	cgo := "0"
	if p.cgo {
		cgo = "1"
	}
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo, "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w:\n%s", strings.Join(p.packages, ", "), err, out)
	}
	return nil
}

// ensureImages writes the images unless they are of these programs.
func ensureImages(dir string, images []Image) error {
	sum := sha256.New()
	for _, image := range images {
		_, _ = fmt.Fprintln(sum, image.Names, image.Links, image.Entrypoint)
		for _, name := range sorted(image.Files) {
			info, err := os.Stat(image.Files[name])
			if err != nil {
				return fmt.Errorf("find a file of the image %s: %w", image.Names[0], err)
			}
			_, _ = fmt.Fprintln(sum, name, info.Size(), info.ModTime())
		}
	}
	stamp, path := hex.EncodeToString(sum.Sum(nil)), filepath.Join(dir, "images.stamp")
	if have, err := os.ReadFile(path); err == nil && string(have) == stamp { //nolint:gosec // our own
		return nil
	}
	if err := WriteLayout(filepath.Join(dir, "images"), images); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(stamp), 0o600)
}
