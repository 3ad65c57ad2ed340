package controlplane

import (
	"context"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/local/process"
)

// readyWithin is how long a component may take to serve. A very busy computer needs minutes; one that
// ends is reported at once.
const readyWithin = 10 * time.Minute

// startAttempts is how often a component is started when another process took
// the port that was free a moment before.
const startAttempts = 3

// Options say how to start a control plane.
type Options struct {
	// Dir holds its data, keys and logs. Empty means a folder of its own that
	// Stop removes; a given one is left to the caller.
	Dir string
	// Binaries are the executables; the zero value has FindBinaries find them.
	Binaries Binaries
	// ControllerManager also starts kube-controller-manager: owned objects are
	// collected, namespaces emptied, service accounts made.
	ControllerManager bool
	// Profiling makes the API server serve profiles at /debug/pprof/.
	Profiling bool
	// Progress receives what a build of the binaries says; nil keeps it silent.
	Progress io.Writer
	// Clock is the machine's when nil.
	Clock clock.WithTicker
}

// ControlPlane is a running Kubernetes API.
type ControlPlane struct {
	opts    Options
	dir     string
	ownsDir bool
	ca      *authority
	admin   pair
	host    string
	store   string // the address of etcd

	etcd, apiServer *process.Process

	managerMu sync.Mutex
	manager   *process.Process
}

// Start starts a control plane and returns when its API serves. It returns an error when
// the binaries cannot be had, or when a component ends or does not serve in
// time; the error then ends with that component's last words. Nothing is left
// running after an error.
func Start(ctx context.Context, opts Options) (*ControlPlane, error) {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if opts.Binaries == (Binaries{}) {
		found, err := FindBinaries(ctx, opts.Progress)
		if err != nil {
			return nil, err
		}
		opts.Binaries = found
	}
	c := &ControlPlane{opts: opts, dir: opts.Dir}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context) error {
	if err := c.makeDir(); err != nil {
		return err
	}
	if err := c.makeKeys(); err != nil {
		return err
	}
	var err error
	if c.store, err = c.startEtcd(ctx); err != nil {
		return err
	}
	if err := c.startAPIServer(ctx, c.store); err != nil {
		return err
	}
	if !c.opts.ControllerManager {
		return nil
	}
	return c.EnsureControllerManager(ctx)
}

func (c *ControlPlane) makeDir() error {
	if c.dir != "" {
		if err := os.MkdirAll(c.dir, 0o700); err != nil {
			return fmt.Errorf("make the control plane's folder: %w", err)
		}
		return nil
	}
	removeOrphans()
	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", tempPrefix, os.Getpid()))
	if err != nil {
		return fmt.Errorf("make the control plane's folder: %w", err)
	}
	c.dir, c.ownsDir = dir, true
	return nil
}

func (c *ControlPlane) makeKeys() error {
	ca, err := newAuthority(c.dir, c.opts.Clock.Now())
	if err != nil {
		return err
	}
	c.ca = ca
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := ca.issue(name, pkix.Name{CommonName: name}); err != nil {
			return err
		}
	}
	c.admin, err = ca.issue("admin", pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}})
	if err != nil {
		return err
	}
	return ca.serviceAccountKey()
}

// RESTConfig returns a configuration with every right. Its client sends as fast
// as it can: the API server's own priority and fairness is the only limit.
func (c *ControlPlane) RESTConfig() *rest.Config {
	return &rest.Config{
		Host: c.host, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.caCert(), CertData: c.admin.cert, KeyData: c.admin.key},
	}
}

// Host is the address of the API server, as in https://127.0.0.1:6443.
func (c *ControlPlane) Host() string { return c.host }

// Store is the address of etcd, whose clients need the certificate and the key
// kube-apiserver.crt and kube-apiserver.key in Dir.
func (c *ControlPlane) Store() string { return c.store }

// Dir holds the logs of the components: etcd.log, kube-apiserver.log and
// kube-controller-manager.log.
func (c *ControlPlane) Dir() string { return c.dir }

// Done is closed when etcd or the API server has ended, which they do by
// themselves only when something is wrong; Err then says what.
func (c *ControlPlane) Done() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-c.etcd.Done():
		case <-c.apiServer.Done():
		}
	}()
	return done
}

// Err explains why a component that should run has ended.
func (c *ControlPlane) Err() error {
	return errors.Join(c.etcd.Err(), c.apiServer.Err())
}

// Stop ends all components at once and removes the folder that Start made. The
// data is not worth a graceful end: nothing ever starts from it again.
func (c *ControlPlane) Stop() error {
	c.managerMu.Lock()
	defer c.managerMu.Unlock()
	var errs []error
	for _, p := range []*process.Process{c.manager, c.apiServer, c.etcd} {
		if p != nil {
			errs = append(errs, p.Kill())
		}
	}
	if c.ownsDir {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}

func (c *ControlPlane) file(name string) string { return filepath.Join(c.dir, name) }
