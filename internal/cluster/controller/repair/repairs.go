package repair

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// Clients provides the AWS clients of the repairs.
type Clients interface {
	AutoScaling(t awsapi.Target) awsapi.AutoScaling
	EC2(t awsapi.Target) awsapi.EC2
}

// Options configure [Repairs]. All are required.
type Options struct {
	Clients  Clients
	Clock    clock.PassiveClock
	Recorder events.EventRecorder
}

// Repairs replaces unhealthy instances.
type Repairs struct {
	options Options
	tracker *tracker
}

// New returns repairs that know of no instance yet.
func New(options Options) *Repairs { return &Repairs{options: options, tracker: newTracker()} }

// Forget forgets a deleted object.
func (r *Repairs) Forget(uid types.UID) { r.tracker.forget(uid) }

// Terminated forgets a terminated instance.
func (r *Repairs) Terminated(instance string) { r.tracker.terminated(instance) }

// IsReplacing reports whether the operator requested an instance's termination.
func (r *Repairs) IsReplacing(instance string) bool { return r.tracker.isReplacing(instance) }

// Hint records that a group has an instance without a node, and reports whether that was unknown.
func (r *Repairs) Hint(group types.UID) bool { return r.tracker.hint(group) }

// Vanished returns the instances of a rolling group whose nodes were observed before and no longer
// exist.
func (r *Repairs) Vanished(group types.UID, nodes []workload.Node) []string {
	return r.tracker.vanished(group, nodes)
}

// Rolled forgets the observed nodes of a group whose rollout has ended.
func (r *Repairs) Rolled(group types.UID) { r.tracker.rolled(group) }

// missingPoll is how long the operator relies on AWS's last report of instances without nodes or of
// volumes while a group lacks nodes.
const missingPoll = 2 * time.Minute
