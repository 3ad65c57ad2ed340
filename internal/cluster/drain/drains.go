package drain

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// Clients gives the drains their AWS clients; *awsapi.Clients does.
type Clients interface {
	AutoScaling(t awsapi.Target) awsapi.AutoScaling
}

// Options configure Drains; Clients and Workload are required.
type Options struct {
	Clients Clients
	// Workload holds the connections to the workload clusters.
	Workload *workload.Clusters
	// Clock defaults to the real one.
	Clock clock.Clock
	// Logger defaults to silence.
	Logger logr.Logger
	// Tell, if not nil, is told what people should hear, for example as Kubernetes Events. It must return quickly.
	Tell func(Notice)
}

// Drains empties nodes. It is a manager's Runnable, and safe for use by many goroutines.
type Drains struct{ options Options }

// New returns Drains that keep orders, but work at none of them until they are started.
func New(options Options) *Drains { return &Drains{options: options} }

// Start works at the orders until the context ends.
func (d *Drains) Start(ctx context.Context) error {
	<-ctx.Done()
	return errors.ErrUnsupported
}

// NeedLeaderElection says that only the leader empties nodes.
func (d *Drains) NeedLeaderElection() bool { return true }

// Begin begins to empty a node. An order for an instance that is known already changes what that order says, but not when it began: a
// lifecycle action that it lacked is completed, and of two deadlines the earlier holds.
func (d *Drains) Begin(order Order) { _ = order }

// Cancel ends work at an instance, whose machine stays after all. Its node is open for pods again.
func (d *Drains) Cancel(instance string) { _ = instance }

// Get returns how far the drain of an instance is; false if there is none. What has ended is known for an hour more.
func (d *Drains) Get(instance string) (Progress, bool) { _ = instance; return Progress{}, false }

// Of returns the drains of a cluster's instance group that have not ended, by node; of its slots if group is empty.
func (d *Drains) Of(cluster types.NamespacedName, group string) []Progress {
	_, _ = cluster, group
	return nil
}

// Subscribe has fn called with every change of a drain. It must return quickly and may be called by several goroutines at once.
func (d *Drains) Subscribe(fn func(Progress)) { _ = fn }
