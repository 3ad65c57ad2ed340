package instances

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// terminations records which instances events reported as terminated, and when to ask EC2 about
// others.
type terminations struct {
	mu    sync.Mutex
	known map[string]bool
	ring  []string
	next  int
	askAt map[string]time.Time
}

// rememberedInstances bounds the record: a node is reconciled soon after its event.
const rememberedInstances = 8192

func newTerminations() *terminations {
	return &terminations{known: map[string]bool{}, ring: make([]string, rememberedInstances), askAt: map[string]time.Time{}}
}

// add records that an instance is terminated.
func (d *terminations) add(instance string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[instance] {
		return
	}
	delete(d.known, d.ring[d.next])
	d.ring[d.next] = instance
	d.next = (d.next + 1) % len(d.ring)
	d.known[instance] = true
	delete(d.askAt, instance)
}

func (d *terminations) has(instance string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[instance]
}

// askIn returns the delay until EC2 is to be asked about an instance whose node has not been Ready
// since a time.
func (d *terminations) askIn(instance string, since, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, ok := d.askAt[instance]
	if !ok {
		at = since.Add(lostAfter)
	}
	return at.Sub(now)
}

// asked records that EC2 was asked.
func (d *terminations) asked(instance string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.askAt) >= rememberedInstances {
		clear(d.askAt)
	}
	d.askAt[instance] = now.Add(lostAfter)
}

// lostAfter is how long a node may be NotReady before the operator asks EC2 whether its instance
// exists, in case its termination event was lost.
const lostAfter = 5 * time.Minute

// Terminated records that an event reported an instance as terminated.
func (i *Instances) Terminated(instance string) { i.terminations.add(instance) }

// IsTerminated reports whether the instance that a node claims is terminated: according to an
// event, even if the kubelet's last report was healthy, or according to EC2, which is asked about
// nodes that have been NotReady for long. Wait is the delay until the next check. A false claim
// does no harm, since only the Node itself is deleted.
func (i *Instances) IsTerminated(
	ctx context.Context,
	cluster *v1alpha1.Cluster,
	node *workload.Node,
) (terminated bool, wait time.Duration, err error) {
	if node.Claimed == "" {
		return false, 0, nil
	}
	if i.terminations.has(node.Claimed) {
		return true, 0, nil
	}
	if node.Ready {
		return false, 0, nil
	}
	now := i.options.Clock.Now()
	if wait := i.terminations.askIn(node.Claimed, node.ReadyChanged, now); wait > 0 {
		return false, wait, nil
	}
	i.terminations.asked(node.Claimed, now)
	found, err := i.describe(ctx, cluster, []string{node.Claimed})
	if err != nil {
		return false, 0, err
	}
	for j := range found {
		if state := found[j].State; state != nil && state.Name != types.InstanceStateNameTerminated {
			return false, lostAfter, nil
		}
	}
	return true, 0, nil
}
