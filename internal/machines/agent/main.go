//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Name is the name under which the binary is the kubelet.
const Name = "kubelet"

// Main runs the kubelet until a signal ends it, and returns the exit code.
func Main(args []string, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o, err := parse(args)
	Version = imageVersion(ctx)
	if err == nil && o.version {
		_, _ = fmt.Fprintf(out, "Kubernetes %s\n", Version)
		return 0
	}
	if err == nil {
		log := logr.FromSlogHandler(slog.NewTextHandler(errOut, nil))
		klog.SetLogger(log) // the log of client-go
		err = newKubelet(o, log, clock.RealClock{}).run(ctx)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		_, _ = fmt.Fprintf(errOut, "kubelet: %v\n", err)
		return 1
	}
	return 0
}

// kubelet simulates the kubelet of one node.
type kubelet struct {
	*options
	log    logr.Logger
	clock  clock.WithTicker
	static *staticPods

	api *api
	// masqueraded is what the rules of the pod network were last written for.
	masqueraded string
}

func newKubelet(o *options, log logr.Logger, clk clock.WithTicker) *kubelet {
	k := &kubelet{options: o, log: log, clock: clk}
	k.static = newStaticPods(o.manifests, log, clk)
	return k
}

// run simulates the node until ctx ends. Static pods start before the API is available, because the
// API server is one of them.
func (k *kubelet) run(ctx context.Context) error {
	if k.kubeconfig == "" {
		return errors.New("--kubeconfig is needed: standalone mode is not simulated")
	}
	health, err := k.serveHealth(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = health.Close() }()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { k.static.run(ctx) })
	if err := k.retry(ctx, "get a kubeconfig", k.ensureKubeconfig); err != nil {
		return err
	}
	if k.api, err = newAPI(k.kubeconfig); err != nil {
		return err
	}
	if err := k.retry(ctx, "register the node", k.register); err != nil {
		return err
	}
	k.log.Info("registered", "node", k.nodeName)
	wg.Go(func() { k.keepLease(ctx) })
	wg.Go(func() { k.keepStatus(ctx) })
	wg.Go(func() { newCloud(k).run(ctx) })
	if k.servesIssued {
		wg.Go(func() { _ = k.retry(ctx, "serve", k.serve) }) // It ends with ctx.
	}
	newPods(k).run(ctx)
	return ctx.Err()
}

// serveHealth serves /healthz, for which kubeadm waits.
func (k *kubelet) serveHealth(ctx context.Context) (io.Closer, error) {
	if k.healthzPort == 0 {
		return io.NopCloser(nil), nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", k.healthzPort))
	if err != nil {
		return nil, fmt.Errorf("serve /healthz: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: patience}
	go func() { _ = server.Serve(listener) }()
	return server, nil
}

// The delays of retries while the API server is not available.
const (
	retryFirst = 250 * time.Millisecond
	retryLast  = 2 * time.Second
)

// retry calls f until it succeeds or ctx ends. It logs each different error once.
func (k *kubelet) retry(ctx context.Context, what string, f func(context.Context) error) error {
	wait, lastError := retryFirst, ""
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		if said := err.Error(); said != lastError {
			lastError = said
			k.log.Info("not yet: "+what, "because", said)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-k.clock.After(wait):
		}
		wait = min(2*wait, retryLast)
	}
}

// every calls f now and then once per period until ctx ends.
func (k *kubelet) every(ctx context.Context, period time.Duration, f func(context.Context)) {
	ticker := k.clock.NewTicker(period)
	defer ticker.Stop()
	for {
		f(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}
