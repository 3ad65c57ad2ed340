//go:build linux

package process

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// Host boots machines as processes of this host.
type Host struct {
	opts      Options
	authority *authority
	aws       *http.Server

	mu       sync.Mutex
	services machine.Services
	network  *network
	machines map[string]*guestMachine
	balanced map[netip.AddrPort]func(net.Conn)
	attached map[string]string // volume to instance
	closed   bool
}

var _ machine.Host = (*Host)(nil)

// New returns a host without machines. It errs with ErrUnsupported where
// machines cannot run, and when a binary is missing or the folder cannot be made.
func New(opts Options) (*Host, error) {
	if err := Supported(); err != nil {
		return nil, err
	}
	for _, binary := range []string{opts.Machine, opts.Kube} {
		if info, err := os.Stat(binary); err != nil || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("machines are made of the binary %q, which is not there", binary)
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
		balanced: map[netip.AddrPort]func(net.Conn){}, attached: map[string]string{},
	}
	if h.authority, err = newAuthority(); err != nil {
		return nil, err
	}
	if h.network, err = newNetwork(); err != nil {
		return nil, err
	}
	h.aws = &http.Server{Handler: http.HandlerFunc(h.serveAWS), ReadHeaderTimeout: 10 * time.Second}
	return h, nil
}

func makeFolders(dir string) (string, error) {
	var err error
	if dir == "" {
		dir, err = os.MkdirTemp("", "aws-operator-machines-")
	} else {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", fmt.Errorf("make the machines' folder: %w", err)
	}
	for _, name := range []string{consolesDir, machinesDir, volumesDir, imageDir} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return "", fmt.Errorf("make the machines' folder: %w", err)
		}
	}
	return dir, nil
}

// keep makes a binary part of the machine image, which stays as it is when the
// binary is built anew.
func keep(binary, dir string) (string, error) {
	path, err := filepath.Abs(binary)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", binary, err)
	}
	kept := filepath.Join(dir, imageDir, filepath.Base(path))
	if err := os.Link(path, kept); err != nil && !errors.Is(err, os.ErrExist) {
		return path, nil // On another file system: it serves where it is.
	}
	return kept, nil
}

// Kubeadm and Kubelet are the files that the machine image has as
// /usr/local/bin/kubeadm and /usr/local/bin/kubelet.
func (h *Host) Kubeadm() string { return h.opts.Kube }

// Kubelet is the node agent; see Kubeadm.
func (h *Host) Kubelet() string { return h.opts.Machine }

// Connect tells the host what its machines reach.
func (h *Host) Connect(services machine.Services) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.services = services
}

// serveAWS answers API calls from within machines.
func (h *Host) serveAWS(w http.ResponseWriter, req *http.Request) {
	h.mu.Lock()
	aws := h.services.AWS
	h.mu.Unlock()
	if aws == nil {
		http.Error(w, "no AWS is connected", http.StatusServiceUnavailable)
		return
	}
	aws.ServeHTTP(w, req)
}

// CACertificate is the CA, as PEM, that machines trust for AWS's endpoints.
func (h *Host) CACertificate() []byte { return slices.Clone(h.authority.pem) }

// Dir is the folder of consoles, logs and volumes.
func (h *Host) Dir() string { return h.opts.Dir }

// Close ends all machines and removes what they left.
func (h *Host) Close() {
	h.mu.Lock()
	closed := h.closed
	h.closed = true
	all := slices.Collect(maps.Keys(h.machines))
	h.mu.Unlock()
	if closed {
		return
	}
	var wg sync.WaitGroup
	for _, id := range all {
		wg.Go(func() { h.Terminate(id) })
	}
	wg.Wait()
	_ = h.aws.Close()
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

var errNoMachine = errors.New("no such machine runs")
