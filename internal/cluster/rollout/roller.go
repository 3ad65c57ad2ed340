package rollout

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// Group is an Auto Scaling group to roll.
type Group struct {
	// Name is its name in messages; AutoScalingGroup its name in AWS.
	Name, AutoScalingGroup string
	Role                   Role
	// Slot is the slot of a control plane, NoSlot for other groups.
	Slot int
	// Owner are the tags that prove that the Auto Scaling group is the intended one, where its name
	// comes from a status; nil skips the check.
	Owner map[string]string
	// Cluster is the Cluster's key, or another key of its connection.
	Cluster types.NamespacedName
	// Target is its account and region.
	Target awsapi.Target
	// Bundle is the hash of the bundle that new nodes must boot with; empty accepts any.
	Bundle string
	Settings
}

// Workload is the cluster of the nodes. *workload.Cluster implements it.
type Workload interface {
	Nodes() []workload.Node
	Reachable() (reachable bool, why string)
	Core() corev1client.CoreV1Interface
}

// Drains drains nodes. *drain.Drains implements it.
type Drains interface {
	Begin(order drain.Order)
	Cancel(instance string)
	Get(instance string) (drain.Progress, bool)
}

// EC2 are the EC2 calls of the engine.
type EC2 interface {
	DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
	DescribeLaunchTemplates(
		context.Context, *ec2.DescribeLaunchTemplatesInput, ...func(*ec2.Options),
	) (*ec2.DescribeLaunchTemplatesOutput, error)
}

// Options configure an engine. All but Clock are required, except Workload if all groups are
// CloudOnly, and Drains if they do not answer hooks either.
type Options struct {
	AutoScaling func(awsapi.Target) awsapi.AutoScaling
	EC2         func(awsapi.Target) EC2
	// Workload returns the connection to a cluster, nil if there is none.
	Workload func(types.NamespacedName) Workload
	Drains   Drains
	// Clock defaults to the real one.
	Clock clock.Clock
}

// Roller replaces instances. It is safe for concurrent use, but each group must have only one
// caller at a time. Its in-memory state only saves calls or compensates for AWS's delays: all
// essential state is on the group itself, see [Memory].
type Roller struct {
	options Options

	mu     sync.Mutex
	groups map[string]*recent
}

// recent is the in-memory state of a group between steps.
type recent struct {
	// desired is the last observed capacity, since when it was first observed.
	desired int
	since   time.Time
	// launched, ended and cancelled hold the times of launches, terminations and canceled drains.
	launched, ended map[string]time.Time
	cancelled       map[string]bool
	// released instances are already released.
	released   map[string]bool
	validation Validation
	// stopped is the full reason of the stop; the group's tag may hold a shortened one.
	stopped string
}

// New returns an engine.
func New(options Options) *Roller {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	return &Roller{options: options, groups: map[string]*recent{}}
}

// Result is the state of a group after a step.
type Result struct {
	State State
	// Why describes what was done, what the rollout waits for, or why it stopped.
	Why string
	// Again is the delay until the next step; zero if no rollout is in progress.
	Again time.Duration
	// Started is when the rollout started, zero if none is in progress.
	Started time.Time
	// Updated counts the up-to-date instances whose nodes are Ready, Total all desired ones.
	Updated, Total int
	// Draining lists the drains in progress.
	Draining []drain.Progress
	// Did describes this step's actions, for users.
	Did []string
}

// recent returns the in-memory state of a group.
func (r *Roller) recent(group *Group) *recent {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := fmt.Sprint(group.Target, group.AutoScalingGroup)
	if r.groups[key] == nil {
		r.groups[key] = &recent{
			launched:  map[string]time.Time{},
			ended:     map[string]time.Time{},
			cancelled: map[string]bool{},
			released:  map[string]bool{},
		}
	}
	return r.groups[key]
}

// Forget drops the in-memory state of a group.
func (r *Roller) Forget(group *Group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.groups, fmt.Sprint(group.Target, group.AutoScalingGroup))
}

// mostRounds bounds the work of one step; the next step continues.
const mostRounds = 16

// Step advances a group as far as possible without waiting. It returns the errors of AWS; calling
// it again continues.
func (r *Roller) Step(ctx context.Context, group *Group) (Result, error) {
	if len(group.Attempt) > longestAttempt || group.Attempt == "" {
		return Result{}, fmt.Errorf("the name of an attempt must have 1 to %d characters: %q", longestAttempt, group.Attempt)
	}
	var did []string
	var result Result
	for range mostRounds {
		w, err := r.observe(ctx, group)
		if err != nil {
			return result, err
		}
		d := Decide(&w.Observation, &group.Settings, r.options.Clock.Now())
		result = resultOf(w, group, &d)
		result.Did = did
		if whole := r.recent(group).stopped; result.State == Stopped && strings.HasPrefix(whole, strings.TrimSuffix(result.Why, cutMark)) {
			result.Why = whole
		}
		if len(d.Actions) == 0 {
			return result, nil
		}
		for i := range d.Actions {
			if err := r.do(ctx, group, w, &d.Actions[i]); err != nil {
				result.State = Rolling
				return result, err
			}
		}
		if d.Actions[0].Kind != Validate {
			did = append(did, d.Why)
			result.Did = did
		}
		if d.State == Done {
			r.Forget(group)
			return result, nil
		}
	}
	result.State, result.Why, result.Again = Rolling, did[len(did)-1], pollInterval
	return result, nil
}

// resultOf returns the state of a group.
func resultOf(w *seen, group *Group, d *Decision) Result {
	p := newPlanner(&w.Observation, &group.Settings, time.Time{})
	r := Result{State: d.State, Why: d.Why, Again: d.Again, Total: w.Desired, Draining: w.drain}
	for _, i := range append(p.coming, p.settled...) {
		if p.well(i) {
			r.Updated++
		}
	}
	if w.Memory != nil {
		r.Started, r.Total = w.Memory.Started, w.Memory.Desired
	}
	return r
}
