package replicas

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

const (
	// operatorLabel on a Lease names the operator, shardsLabel the number of shards, and replicaLabel is on the Leases
	// of replicas.
	operatorLabel = "aws-operator/operator"
	shardsLabel   = "aws-operator/shards"
	replicaLabel  = "aws-operator/replica"
	// usesAnnotation on the Lease of a replica has how many of its shards use each thing that all share.
	usesAnnotation = "aws-operator/uses"
	// buried is how long a dead replica's Lease is kept.
	buried = time.Minute
)

// observer distinguishes Leases of live processes. Like leader election, it compares no clocks: a Lease lives if it
// changed, or was first seen, within its duration by this process's clock.
type observer struct {
	options *Options
	clock   clock.Clock
	seen    map[string]sighting
}

// sighting is when a version of a Lease was first seen.
type sighting struct {
	version string
	at      time.Time
}

// view is what the Leases say.
type view struct {
	// replicas are those that live, sorted, with this number of shards. Holders are the replicas that hold the shards.
	replicas, holders []string
	// other is a holder of a Lease that divides the objects otherwise, empty if there is none.
	other string
	// uses are how many shards of all replicas use each thing.
	uses map[string]int
}

// look reads all Leases.
func (o *observer) look(ctx context.Context) (view, error) {
	all, err := o.list(ctx)
	if err != nil {
		return view{}, err
	}
	leader, err := o.options.Client.Leases(o.options.Namespace).Get(ctx, o.options.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return view{}, fmt.Errorf("read Lease %s: %w", o.options.Name, err)
	}
	v := view{holders: make([]string, o.options.Shards), uses: map[string]int{}}
	if err == nil && o.lives(leader) {
		v.other = holderOf(leader)
	}
	known := map[string]bool{o.options.Name: true}
	for i := range all {
		lease := &all[i]
		known[lease.Name] = true
		o.add(ctx, lease, &v)
	}
	for name := range o.seen {
		if !known[name] {
			delete(o.seen, name)
		}
	}
	slices.Sort(v.replicas)
	return v, nil
}

// list returns the Leases of replicas with shards, and of shards.
func (o *observer) list(ctx context.Context) ([]coordinationv1.Lease, error) {
	list, err := o.options.Client.Leases(o.options.Namespace).List(
		ctx, metav1.ListOptions{LabelSelector: labels.Set{operatorLabel: o.options.label()}.String()})
	if err != nil {
		return nil, fmt.Errorf("list the Leases of the operator's replicas in namespace %s: %w", o.options.Namespace, err)
	}
	return list.Items, nil
}

// add adds a Lease to the view.
func (o *observer) add(ctx context.Context, lease *coordinationv1.Lease, v *view) {
	_, isReplica := lease.Labels[replicaLabel]
	switch {
	case !o.lives(lease):
		if isReplica && o.clock.Since(o.seen[lease.Name].at) > buried {
			// It fails if the replica lives after all; the next read tries again.
			_ = o.options.Client.Leases(lease.Namespace).Delete(ctx, lease.Name, metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{ResourceVersion: &lease.ResourceVersion},
			})
		}
	case lease.Labels[shardsLabel] != strconv.Itoa(o.options.Shards):
		v.other = holderOf(lease)
	case isReplica:
		v.replicas = append(v.replicas, holderOf(lease))
		uses := map[string]int{}
		_ = json.Unmarshal([]byte(lease.Annotations[usesAnnotation]), &uses) // without it, the replica uses nothing
		for thing, n := range uses {
			v.uses[thing] += max(0, n)
		}
	default:
		for shard := range v.holders {
			if o.options.shardLease(shard) == lease.Name {
				v.holders[shard] = holderOf(lease)
			}
		}
	}
}

// lives reports whether a Lease is held by a process that may live.
func (o *observer) lives(lease *coordinationv1.Lease) bool {
	last, ok := o.seen[lease.Name]
	if !ok || last.version != lease.ResourceVersion {
		last = sighting{lease.ResourceVersion, o.clock.Now()}
		o.seen[lease.Name] = last
	}
	lasts := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	return holderOf(lease) != "" && o.clock.Since(last.at) < lasts
}

func holderOf(lease *coordinationv1.Lease) string { return ptr.Deref(lease.Spec.HolderIdentity, "") }

// shardLock is the Lease of a shard.
func (o *Options) shardLock(shard int) *resourcelock.LeaseLock {
	return &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.shardLease(shard)},
		Client:    o.Client, LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity}, Labels: o.labels(),
	}
}

func (o *Options) labels() map[string]string {
	return map[string]string{operatorLabel: o.label(), shardsLabel: strconv.Itoa(o.Shards)}
}

// shardLease is the name of a shard's Lease. Shards of another number are others.
func (o *Options) shardLease(shard int) string {
	return fmt.Sprintf("%s-shard-%d-of-%d", o.Name, shard, o.Shards)
}

// presence is the Lease that says that this replica lives, and what its shards use.
type presence struct {
	options *Options
	// lease is the version that this replica wrote last.
	lease *coordinationv1.Lease
}

// renew renews the Lease.
func (p *presence) renew(ctx context.Context, now time.Time, uses map[string]int) error {
	text, err := json.Marshal(uses)
	if err != nil {
		return fmt.Errorf("write what the shards use: %w", err)
	}
	lease := p.lease
	if lease == nil {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: p.options.Namespace, Name: p.options.Name + "-replica-" + p.options.Identity, Labels: p.options.labels(),
		}}
		lease.Labels[replicaLabel] = ""
		lease.Spec.HolderIdentity, lease.Spec.AcquireTime = &p.options.Identity, new(metav1.NewMicroTime(now))
	}
	lease.Spec.LeaseDurationSeconds = new(int32(p.options.LeaseDuration / time.Second)) //nolint:gosec // some seconds
	lease.Spec.RenewTime = new(metav1.NewMicroTime(now))
	lease.Annotations = map[string]string{usesAnnotation: string(text)}
	write := func() (*coordinationv1.Lease, error) {
		if p.lease == nil {
			return p.options.Client.Leases(lease.Namespace).Create(ctx, lease, metav1.CreateOptions{})
		}
		return p.options.Client.Leases(lease.Namespace).Update(ctx, lease, metav1.UpdateOptions{})
	}
	written, err := write()
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		// A renewal whose answer was lost has taken effect.
		if written, err = p.options.Client.Leases(lease.Namespace).Get(ctx, lease.Name, metav1.GetOptions{}); err == nil {
			lease.ResourceVersion, p.lease = written.ResourceVersion, written
			written, err = write()
		}
	}
	if apierrors.IsNotFound(err) {
		p.lease = nil // another replica took this one for dead; the next renewal creates the Lease
	}
	if err != nil {
		return fmt.Errorf("renew the Lease %s: %w", lease.Name, err)
	}
	p.lease = written
	return nil
}

// end deletes the Lease.
func (p *presence) end(ctx context.Context) error {
	if p.lease == nil {
		return nil
	}
	if err := p.options.Client.Leases(p.lease.Namespace).Delete(ctx, p.lease.Name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete the Lease %s: %w", p.lease.Name, err)
	}
	return nil
}

// release gives up a Lease that this replica holds, so that another need not wait until it runs out.
func release(ctx context.Context, lock resourcelock.Interface) error {
	record, _, err := lock.Get(ctx)
	if err == nil && record.HolderIdentity == lock.Identity() {
		record.HolderIdentity, record.LeaseDurationSeconds = "", 1 // 0 is not valid
		err = lock.Update(ctx, *record)
	}
	if err != nil {
		return fmt.Errorf("release Lease %s: %w", lock.Describe(), err)
	}
	return nil
}
