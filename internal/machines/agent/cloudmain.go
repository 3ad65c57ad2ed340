//go:build linux

package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// CloudName is the name under which the binary takes the place of a release's addons on machines
// with a real kubelet: the cloud controller manager's part for nodes, and the pod network.
const CloudName = "machine-cloud"

// CloudMain runs the addons' part until a signal ends it, and returns the exit code. It does
// something only on control-plane nodes.
func CloudMain(errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	k := &kubelet{
		options: &options{cloudProvider: "external"}, clock: clock.RealClock{},
		log: logr.FromSlogHandler(slog.NewTextHandler(errOut, nil)),
	}
	c := newCloud(k)
	go k.every(ctx, cloudEvery, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if !exists(adminKubeconfig) {
			return
		}
		if err := installPodNetwork(ctx); err != nil && ctx.Err() == nil {
			k.log.Info("the pod network is not installed yet", "because", err.Error())
		}
	})
	c.run(ctx)
	_, _ = fmt.Fprintln(errOut, CloudName+": stopped")
	return 0
}
