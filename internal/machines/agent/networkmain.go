//go:build linux

package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// NetworkName is the name under which the binary installs the pod network of machines with a real
// kubelet, in place of a release's network addon.
const NetworkName = "machine-network"

// networkEvery is the interval at which the pod network's objects are created.
const networkEvery = 5 * time.Second

// NetworkMain installs the pod network until a signal ends it, and returns the exit code. It does
// something only on control-plane nodes.
func NetworkMain(errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	k := &kubelet{options: &options{}, clock: clock.RealClock{}, log: logr.FromSlogHandler(slog.NewTextHandler(errOut, nil))}
	k.every(ctx, networkEvery, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if !exists(adminKubeconfig) {
			return
		}
		if err := installPodNetwork(ctx); err != nil && ctx.Err() == nil {
			k.log.Info("the pod network is not installed yet", "because", err.Error())
		}
	})
	_, _ = fmt.Fprintln(errOut, NetworkName+": stopped")
	return 0
}
