//go:build linux

package process

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/aws-operator/aws-operator/internal/machines/guest"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// Host boots machines as processes of this host.
type Host struct {
	opts      Options
	authority *authority
	aws       *http.Server
	registry  *registry
	filter    *filter

	mu       sync.Mutex
	services machine.Services
	network  *network
	machines map[string]*guestMachine
	routers  map[string]*router // by VPC
	attached map[string]string  // volume to instance
	closed   bool
}

var _ machine.Host = (*Host)(nil)

// New returns a host without machines. It returns ErrUnsupported if machines cannot run on this
// system, and another error if a binary is missing or the directory cannot be created.
func New(opts Options) (*Host, error) {
	if err := Supported(); err != nil {
		return nil, err
	}
	for _, binary := range []string{opts.Machine, opts.Kube} {
		if info, err := os.Stat(binary); err != nil || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("machines need the binary %q, which does not exist", binary)
		}
	}
	var err error
	if opts.Dir, err = makeFolders(opts.Dir); err != nil {
		return nil, err
	}
	for _, binary := range []*string{&opts.Machine, &opts.Kube} {
		if *binary, err = keep(*binary, opts.Dir); err != nil {
			return nil, err
		}
	}
	h := &Host{
		opts: opts, machines: map[string]*guestMachine{},
		routers: map[string]*router{}, attached: map[string]string{},
	}
	if h.authority, err = newAuthority(); err != nil {
		return nil, err
	}
	if h.network, err = newNetwork(); err != nil {
		return nil, err
	}
	h.filter = newFilter(h)
	if err := h.openImages(); err != nil {
		return nil, err
	}
	h.aws = &http.Server{Handler: http.HandlerFunc(h.serveAWS), ReadHeaderTimeout: 10 * time.Second}
	return h, nil
}

// openImages checks and opens what machines run besides the machine image: a distribution's tree, or
// images of containers.
func (h *Host) openImages() (err error) {
	if h.opts.Containers == "" && h.opts.Tree == "" {
		return nil
	}
	if _, err := ownCgroups(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	if h.opts.Tree != "" {
		if err := usableTree(h.opts.Tree, h.opts.Dir); err != nil {
			return err
		}
	}
	if h.opts.Containers != "" {
		layouts := append([]string{filepath.Join(h.opts.Containers, guest.ImagesDir)}, h.opts.Layouts...)
		h.registry, err = openRegistry(layouts...)
	}
	return err
}

func makeFolders(dir string) (string, error) {
	var err error
	if dir == "" {
		dir, err = os.MkdirTemp("", "aws-operator-machines-")
	} else {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", fmt.Errorf("create the machines' directory: %w", err)
	}
	for _, name := range []string{consolesDir, machinesDir, volumesDir, imageDir} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return "", fmt.Errorf("create the machines' directory: %w", err)
		}
	}
	return dir, nil
}

// keep adds a binary to the machine image, so that a later build of the binary does not change the
// image.
func keep(binary, dir string) (string, error) {
	path, err := filepath.Abs(binary)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", binary, err)
	}
	kept := filepath.Join(dir, imageDir, filepath.Base(path))
	if err := os.Link(path, kept); err != nil && !errors.Is(err, os.ErrExist) {
		return path, nil // it is on another file system, so use it in place
	}
	return kept, nil
}

// Kubeadm is the file that the machine image contains as /usr/local/bin/kubeadm.
func (h *Host) Kubeadm() string { return h.opts.Kube }

// Kubelet is the file that the machine image contains as /usr/local/bin/kubelet: the node agent.
func (h *Host) Kubelet() string { return h.opts.Machine }

// Runc is the file that the machine image contains as /usr/local/sbin/runc; "" if it has none.
func (h *Host) Runc() string {
	if h.opts.Containers == "" {
		return ""
	}
	return filepath.Join(h.opts.Containers, "runc")
}

// Containers is the folder of the programs with which machines run containers; "" if they do not.
func (h *Host) Containers() string { return h.opts.Containers }

// Connect sets the services that machines reach.
func (h *Host) Connect(services machine.Services) {
	h.mu.Lock()
	h.services = services
	h.mu.Unlock()
	h.filter.connect(services)
}

// serveAWS serves API calls from machines, and images of containers under the registries' names.
func (h *Host) serveAWS(w http.ResponseWriter, req *http.Request) {
	if h.registry.serves(req.Host) {
		h.registry.ServeHTTP(w, req)
		return
	}
	h.mu.Lock()
	aws := h.services.AWS
	h.mu.Unlock()
	if aws == nil {
		http.Error(w, "no AWS is connected", http.StatusServiceUnavailable)
		return
	}
	aws.ServeHTTP(w, req)
}

// CACertificate returns the CA, as PEM, that machines trust for AWS's endpoints.
func (h *Host) CACertificate() []byte { return slices.Clone(h.authority.pem) }

// Dir returns the directory of consoles, logs and volumes.
func (h *Host) Dir() string { return h.opts.Dir }

// Close ends all machines and removes their files.
func (h *Host) Close() {
	h.mu.Lock()
	closed := h.closed
	h.closed = true
	all := slices.Collect(maps.Keys(h.machines))
	routers := h.routers
	h.routers = nil
	h.mu.Unlock()
	if closed {
		return
	}
	for _, r := range routers {
		r.close()
	}
	var wg sync.WaitGroup
	for _, id := range all {
		wg.Go(func() { h.Terminate(id) })
	}
	wg.Wait()
	_ = h.aws.Close()
	h.filter.close()
	h.network.close()
	if err := os.RemoveAll(h.opts.Dir); err != nil {
		h.opts.Log.Error(err, "remove the machines' folder")
	}
}

// find returns a running machine.
func (h *Host) find(instanceID string) (*guestMachine, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, ok := h.machines[instanceID]
	if !ok {
		return nil, fmt.Errorf("%w: %s", errNoMachine, instanceID)
	}
	return m, nil
}

var errNoMachine = errors.New("no such machine is running")
