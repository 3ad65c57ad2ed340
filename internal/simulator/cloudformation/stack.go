package cloudformation

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/eval"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// stack is one stack. The first fields never change, the queue guards the inbox, and mu guards
// everything else.
type stack struct {
	id, name string
	engine   *Engine
	space    *space
	created  time.Time
	// endpoint is the address at which the caller reached the simulator, for wait condition
	// handles.
	endpoint string
	// parent is the stack in which this one is nested; its logical ID there follows.
	parent   *stack
	parentID string

	// protected is termination protection; a nested stack uses that of its root.
	protected atomic.Bool

	inbox  sync.Mutex
	tasks  []func()
	queued bool

	mu sync.Mutex
	// principal started the last operation; accessKey is the key that signed it.
	principal *access.Principal
	accessKey string
	// status, reason and times are those that DescribeStacks shows.
	status           types.StackStatus
	reason           string
	updated, deleted *time.Time
	// revision is the current or target revision; stable is the last complete one, the target of a
	// rollback.
	revision, stable *revision
	members          map[string]*member
	outputs          []types.Output
	settings         settings
	events           []types.StackEvent
	outbox           []types.StackEvent
	changeSets       []*changeSet
	// undo holds the members that the current update touched, in their state in the stable
	// revision. A nil member did not exist.
	undo map[string]*member
	// reverting has the actual state of the members while a drift-aware change set is executed.
	reverting map[string]*actual
	// leftovers are physical resources to delete in the clean-up phase.
	leftovers []*member
	walk      *walk
	token     string
	tokens    map[string]string
	deleting  *deletion
	drift     driftState
	// detection is the running drift detection, nil if there is none.
	detection *driftDetection
	// ended, for nested stacks, is called once with the result when the running operation ends.
	ended func(ok bool, reason string)
}

// settings are the settings of a stack that are not part of its revisions.
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

// revision is one version of a stack's input. It is immutable.
type revision struct {
	template         *template.Template
	body             string // as submitted
	processed        string // after transforms; equal to body if there are none
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
	// properties, attributes and tags are the values of the last successful operation.
	properties map[string]any
	// printed are the properties as events show them; empty before the first event.
	printed    string
	attributes map[string]any
	tags       map[string]string
	definition *template.Resource
	drift      *types.StackResourceDrift
	// actual are the properties to which a rollback restores the member if they are not properties, and
	// kept the values that an update leaves alone. Gone means that the resource does not exist.
	actual map[string]any
	kept   []keptValue
	gone   bool
	// childBefore is the revision of a nested stack before the current update.
	childBefore *revision
	// signals are the received signals, by unique ID; for creation policies and wait conditions.
	signals map[string]signal
	waiting *waiting
	// initiated is when the creation of the physical resource began.
	initiated time.Time
	// rollout replaces the instances of a group; nil if none is running.
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
	s.id = "arn:" + e.partition() + ":cloudformation:" + sp.Region + ":" + sp.Account + ":stack/" + name + "/" + newUUID()
	return s
}

func (s *stack) post(task func()) { s.engine.queue.post(s, task) }

// after runs a task after a delay. The clock only posts the task, because a fake clock holds its
// lock during the callback.
func (s *stack) after(d time.Duration, task func()) {
	if d <= 0 {
		s.post(task)
		return
	}
	s.engine.options.Env.Clock.AfterFunc(d, func() { s.post(task) })
}

// outside runs a function without the stack's lock, for calls of providers. The stack's tasks do
// not run meanwhile, but API calls can read and change the stack.
func (s *stack) outside(call func()) {
	s.mu.Unlock()
	defer s.mu.Lock()
	call()
}

// faults returns the fault of an operation on a member, both as CloudFormation's handler and as the
// service action that the handler calls.
func (s *stack) faults(info fault.CallInfo) fault.Effect {
	info.Account, info.Region = s.space.Account, s.space.Region
	return s.engine.options.Faults.Decide(info)
}

func (s *stack) background() context.Context { return context.Background() }

// live reports whether the stack still exists.
func (s *stack) live() bool { return s.status != types.StackStatusDeleteComplete }
