package cloudformation

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/eval"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// stack is one stack. What does not change after it was made stands first; the
// inbox is the queue's; everything else is guarded by mu.
type stack struct {
	id, name string
	engine   *Engine
	space    *space
	created  time.Time
	// endpoint is where the caller reached the simulator, for wait condition
	// handles.
	endpoint string
	// parent is the stack that this one is nested in, and the logical ID there.
	parent   *stack
	parentID string

	// protected is termination protection; nested stacks ask their root for it.
	protected atomic.Bool

	inbox  sync.Mutex
	tasks  []func()
	queued bool

	mu sync.Mutex
	// principal is who began the last operation, accessKey the key that signed it.
	principal, accessKey string
	// status, reason and times as DescribeStacks shows them.
	status           types.StackStatus
	reason           string
	updated, deleted *time.Time
	// revision is what the stack is made of or on its way to; stable is the last
	// one that was complete, to roll back to.
	revision, stable *revision
	members          map[string]*member
	outputs          []types.Output
	settings         settings
	events           []types.StackEvent
	outbox           []types.StackEvent
	changeSets       []*changeSet
	// undo remembers the members as they were in the stable revision, for those
	// that the present update touched. A nil member did not exist.
	undo map[string]*member
	// leftovers are physical resources to be deleted in a clean-up phase.
	leftovers []*member
	walk      *walk
	token     string
	tokens    map[string]string
	deleting  *deletion
	drift     driftState
	// ended is called once when the running operation ends, with its outcome;
	// for nested stacks.
	ended func(ok bool, reason string)
}

// settings are a stack's own, apart from its revisions.
type settings struct {
	disableRollback       bool
	retainExceptOnCreate  bool
	onFailure             types.OnFailure
	timeoutMinutes        int32
	policy                string
	policyDuringUpdate    string
	roleARN               string
	rollbackConfiguration *types.RollbackConfiguration
	changeSetID           string
	deletionMode          types.DeletionMode
}

// revision is one version of a stack's input. It is not changed once made.
type revision struct {
	template         *template.Template
	body             string // as it was given
	processed        string // after transforms; equal to body without any
	parameters       map[string]eval.ParameterValue
	conditions       map[string]bool
	tags             []types.Tag
	capabilities     []types.Capability
	notificationARNs []string
	dependencies     map[string][]string
}

// member is one resource of a stack.
type member struct {
	id, kind   string
	physicalID string
	status     types.ResourceStatus
	reason     string
	changed    time.Time
	// properties, attributes and tags are those of the last successful operation.
	properties map[string]any
	// printed are the properties as events show them; empty before the first of them.
	printed    string
	attributes map[string]any
	tags       map[string]string
	definition *template.Resource
	drift      *types.StackResourceDrift
	// childBefore is what a nested stack was made of before the present update.
	childBefore *revision
	// signals received, by unique ID; for creation policies and wait conditions.
	signals map[string]signal
	waiting *waiting
	// initiated is when the creation of the physical resource began.
	initiated time.Time
	// rollout replaces the instances of a group; nil while it does not.
	rollout *rollout
}

func (e *Engine) newStack(sp *space, name string) *stack {
	s := &stack{
		name:    name,
		engine:  e,
		space:   sp,
		created: e.now(),
		members: map[string]*member{},
		tokens:  map[string]string{},
	}
	s.id = "arn:" + e.partition() + ":cloudformation:" + sp.region + ":" + sp.account + ":stack/" + name + "/" + newUUID()
	return s
}

func (s *stack) post(task func()) { s.engine.queue.post(s, task) }

// after runs a task when the time has passed. The clock only posts it: a fake
// clock calls back with its lock held.
func (s *stack) after(d time.Duration, task func()) {
	if d <= 0 {
		s.post(task)
		return
	}
	s.engine.options.Env.Clock.AfterFunc(d, func() { s.post(task) })
}

// outside runs a function without the stack's lock, for calls of providers. The
// stack's tasks do not run meanwhile, but the API may look and act.
func (s *stack) outside(call func()) {
	s.mu.Unlock()
	defer s.mu.Lock()
	call()
}

// faults decides about an operation on a member: as CloudFormation's handler
// and as the service action that it calls.
func (s *stack) faults(info fault.CallInfo) fault.Effect {
	info.Account, info.Region = s.space.account, s.space.region
	return s.engine.options.Faults.Decide(info)
}

func (s *stack) background() context.Context { return context.Background() }

// live reports whether the stack still exists.
func (s *stack) live() bool { return s.status != types.StackStatusDeleteComplete }
