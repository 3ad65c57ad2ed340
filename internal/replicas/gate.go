package replicas

import (
	"context"
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
)

// LeaderLock returns the Lease of a single leader, for leader election: it is not acquired while a replica lives that
// serves shards. Namespace, name and identity are those of [Options].
func LeaderLock(client coordinationv1client.LeasesGetter, namespace, name, identity string) resourcelock.Interface {
	options := &Options{Client: client, Namespace: namespace, Name: name, Identity: identity}
	others := &observer{options: options, clock: clock.RealClock{}, seen: map[string]sighting{}}
	return &gate{open: others.none, Interface: &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Client:    client, LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}}
}

// none returns an error while a replica lives that serves shards.
func (o *observer) none(ctx context.Context) error {
	all, err := o.list(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if o.lives(&all[i]) {
			return fmt.Errorf("the Lease %s lives: %w", all[i].Name, errNotOurs)
		}
	}
	return nil
}

// gate is a Lease that is acquired only while open returns no error. Its holder may renew it.
type gate struct {
	resourcelock.Interface

	open func(context.Context) error
	held atomic.Bool
}

// Create creates the Lease, held by this replica.
func (g *gate) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return g.write(ctx, record, g.Interface.Create)
}

// Update acquires, renews or releases the Lease.
func (g *gate) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return g.write(ctx, record, g.Interface.Update)
}

func (g *gate) write(
	ctx context.Context, record resourcelock.LeaderElectionRecord, write func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	if !g.held.Load() {
		if err := g.open(ctx); err != nil {
			return err
		}
	}
	if err := write(ctx, record); err != nil {
		return err //nolint:wrapcheck // client-go's leader election compares it
	}
	g.held.Store(true)
	return nil
}
