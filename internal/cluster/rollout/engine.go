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

// Group is one Auto Scaling group to roll.
type Group struct {
	// Name is its name for people; AutoScalingGroup that in AWS.
	Name, AutoScalingGroup string
	Role                   Role
	// Slot is the slot of a control plane, NoSlot for other groups.
	Slot int
	// Owner are the tags that prove the Auto Scaling group to be the one that is meant, where its name comes from a status; nil asks for
	// none.
	Owner map[string]string
	// Cluster is the cluster's object, or what else its connection is known by.
	Cluster types.NamespacedName
	// Target is where it is.
	Target awsapi.Target
	// Bundle is the hash of the bundle that its new nodes are to boot from; empty if any will do.
	Bundle string
	Settings
}

// Workload is the cluster whose nodes the machines are; *workload.Cluster is one.
type Workload interface {
	Nodes() []workload.Node
	Reachable() (reachable bool, why string)
	Core() corev1client.CoreV1Interface
}

// Drains empty nodes; *drain.Drains do.
type Drains interface {
	Begin(order drain.Order)
	Cancel(instance string)
	Get(instance string) (drain.Progress, bool)
}

// EC2 are the calls of EC2 that the engine makes.
type EC2 interface {
	DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
	DescribeLaunchTemplates(context.Context, *ec2.DescribeLaunchTemplatesInput, ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplatesOutput, error)
}

// Options are what an engine works with. All but Clock are required; Workload is not asked of groups that are CloudOnly, Drains neither unless
// they are to answer hooks.
type Options struct {
	AutoScaling func(awsapi.Target) awsapi.AutoScaling
	EC2         func(awsapi.Target) EC2
	// Workload returns the connection to a cluster, nil if there is none.
	Workload func(types.NamespacedName) Workload
	Drains   Drains
	// Clock defaults to the real one.
	Clock clock.Clock
}

// Engine replaces machines. It is safe for use by many goroutines, but one group must not be worked at by two at once. What it remembers
// between steps only saves work or waits for AWS to catch up: all that matters is on the group itself, see [Memory].
type Engine struct {
	options Options

	mu     sync.Mutex
	groups map[string]*recent
}

// recent is what is remembered of a group between steps.
type recent struct {
	// desired is the capacity that was seen last, since when it has been so.
	desired int
	since   time.Time
	// launched is when machines were launched, ended when they were ended, cancelled whose drains were given up.
	launched, ended map[string]time.Time
	cancelled       map[string]bool
	// released machines are let go already.
	released   map[string]bool
	validation Validation
	// stopped says why it stopped, whole: on the group is only as much as fits there.
	stopped string
}

// New returns an engine.
func New(options Options) *Engine {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	return &Engine{options: options, groups: map[string]*recent{}}
}

// Result is where a step left a group.
type Result struct {
	State State
	// Why says in a sentence what is done or waited for, or why it stopped.
	Why string
	// Again is when to look again; zero if nothing is under way.
	Again time.Duration
	// Started is when the roll began, zero if none is under way.
	Started time.Time
	// Updated and Total count the machines of the new shape whose nodes are Ready, and all that are to be.
	Updated, Total int
	// Draining are the drains under way.
	Draining []drain.Progress
	// Did are the sentences of what this step did, for people.
	Did []string
}

// recent returns what is remembered of a group.
func (e *Engine) recent(group *Group) *recent {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := fmt.Sprint(group.Target, group.AutoScalingGroup)
	if e.groups[key] == nil {
		e.groups[key] = &recent{launched: map[string]time.Time{}, ended: map[string]time.Time{}, cancelled: map[string]bool{}, released: map[string]bool{}}
	}
	return e.groups[key]
}

// Forget drops what is remembered of a group that is looked at no more.
func (e *Engine) Forget(group *Group) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.groups, fmt.Sprint(group.Target, group.AutoScalingGroup))
}

// mostRounds bounds how much one step does: what is left is done by the next.
const mostRounds = 16

// Step takes a group as far as it goes without waiting. It errs when AWS does; calling it again goes on.
func (e *Engine) Step(ctx context.Context, group *Group) (Result, error) {
	if len(group.Attempt) > longestAttempt || group.Attempt == "" {
		return Result{}, fmt.Errorf("an attempt is named by 1 to %d characters, not by %q", longestAttempt, group.Attempt)
	}
	var did []string
	for range mostRounds {
		w, err := e.observe(ctx, group)
		if err != nil {
			return Result{}, err
		}
		d := Decide(&w.Suite, &group.Settings, e.options.Clock.Now())
		result := resultOf(w, group, &d)
		result.Did = did
		if whole := e.recent(group).stopped; result.State == Stopped && strings.HasPrefix(whole, strings.TrimSuffix(result.Why, cutMark)) {
			result.Why = whole
		}
		if len(d.Actions) == 0 {
			return result, nil
		}
		for i := range d.Actions {
			if err := e.do(ctx, group, w, &d.Actions[i]); err != nil {
				return Result{State: Rolling, Did: did}, err
			}
		}
		if d.Actions[0].Kind != Validate {
			did = append(did, d.Why)
			result.Did = did
		}
		if d.State == Done {
			e.Forget(group)
			return result, nil
		}
	}
	return Result{State: Rolling, Why: did[len(did)-1], Again: lookAgain, Did: did}, nil
}

// resultOf says where a group is.
func resultOf(w *seen, group *Group, d *Decision) Result {
	p := newPlanner(&w.Suite, &group.Settings, time.Time{})
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
