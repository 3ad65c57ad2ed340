package plan

import (
	"strconv"
	"time"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Action is what happens to a stack or a resource.
type Action string

// The actions.
const (
	// None leaves it as it is.
	None Action = "None"
	// Create makes it.
	Create Action = "Create"
	// Update changes it in place.
	Update Action = "Update"
	// Replace makes a new one and deletes the old.
	Replace Action = "Replace"
	// MayReplace is Update or Replace: only AWS can determine which.
	MayReplace Action = "MayReplace"
	// Delete removes it.
	Delete Action = "Delete"
)

// Part is what of a cluster a stack holds.
type Part string

// The parts of a cluster, and what is none.
const (
	// Base is what the machines share and what outlives them.
	Base Part = "Base"
	// Slot is one slot of the control plane.
	Slot Part = "Slot"
	// Group is an instance group.
	Group Part = "InstanceGroup"
	// Service is an AWS service: the stack of a DynamoDB, an SQSQueue and the like.
	Service Part = "Service"
)

// Plan is what would happen.
type Plan struct {
	// Name is that of the cluster, empty for services.
	Name string `json:"cluster,omitempty"`
	// Digest names exactly this plan: what is deployed and what is wanted of the stacks that
	// change. It tells nothing of what they hold.
	Digest string `json:"digest"`
	// Stacks are all stacks, those without a change too: the base stack, slots and groups in their
	// order.
	Stacks []Stack `json:"stacks"`
	// Rolls are the machines that are replaced, in the order in which it begins.
	Rolls []Roll `json:"rolls,omitempty"`
	// Takes is how long it takes at least until all machines are replaced, in seconds in JSON; 0 if
	// none are.
	Takes Duration `json:"takesAtLeastSeconds,omitempty"`
	// Notes are sentences on what the plan rests on: placeholders, operations under way.
	Notes []string `json:"notes,omitempty"`
	// Summary counts.
	Summary Summary `json:"summary"`
}

// Summary counts what happens to resources.
type Summary struct {
	// Create, Update, Replace, MayReplace and Delete count resources.
	Create     int `json:"create"`
	Update     int `json:"update"`
	Replace    int `json:"replace"`
	MayReplace int `json:"mayReplace"`
	Delete     int `json:"delete"`
	// Stacks counts the stacks that change in any way.
	Stacks int `json:"stacks"`
	// Roll counts the machines that are replaced.
	Roll int `json:"roll"`
}

// Stack is what happens to one stack.
type Stack struct {
	// Name is the stack's.
	Name string `json:"name"`
	// Part says what it holds, Of which slot or instance group.
	Part Part   `json:"part"`
	Of   string `json:"of,omitempty"`
	// Action is what happens to the stack: None, Create, Update or Delete.
	Action Action `json:"action"`
	// Resources are those to which something happens, by logical ID.
	Resources []Resource `json:"resources,omitempty"`
	// Tags are those of the stack that change, and with them those of every resource in it that can
	// be tagged.
	Tags []Value `json:"tags,omitempty"`
	// Parameters, Outputs and Sections name what else of the stack changes.
	Parameters []string `json:"parameters,omitempty"`
	Outputs    []string `json:"outputs,omitempty"`
	Sections   []string `json:"sections,omitempty"`
	// Refused are sentences on what the operator does not do without consent; nothing of the stack
	// is changed then.
	Refused []string `json:"refused,omitempty"`
	// Differences are sentences on where CloudFormation's change set says otherwise; Asked is true
	// when it was asked.
	Differences []string `json:"differences,omitempty"`
	Asked       bool     `json:"changeSet,omitempty"`
}

// Value is a named text before and after, empty for none.
type Value struct {
	Name string `json:"name"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// Resource is what happens to one resource.
type Resource struct {
	// LogicalID is its name in the template, Type its CloudFormation type.
	LogicalID string `json:"logicalID"`
	Type      string `json:"type"`
	// Action is what happens to it.
	Action Action `json:"action"`
	// Properties are those that change, by path. Of what is created and deleted none are listed.
	Properties []Property `json:"properties,omitempty"`
	// Stateful says that it holds data.
	Stateful bool `json:"stateful,omitempty"`
	// OldResource is what becomes of one that is replaced or deleted: Delete, Retain or Snapshot.
	OldResource string `json:"oldResource,omitempty"`
	// Rolls is true for an Auto Scaling group whose machines are replaced.
	Rolls bool `json:"rolls,omitempty"`
	// FitStay is true if only the types or the subnets change among which they are chosen, so that
	// those stay which still fit.
	FitStay bool `json:"fitStay,omitempty"`
}

// Property is one that changes.
type Property struct {
	// Path is slash separated; that of a resource attribute begins with a dot, as .UpdatePolicy.
	Path string `json:"path"`
	// Old and New are the values, nil for none; secrets are masked.
	Old *template.Node `json:"old,omitempty"`
	New *template.Node `json:"new,omitempty"`
	// Forces says that the change replaces the resource, MayForce that it may.
	Forces   bool `json:"forcesReplacement,omitempty"`
	MayForce bool `json:"mayForceReplacement,omitempty"`
	// Cause is the logical ID of the resource for whose sake alone the property changes, if it is
	// so.
	Cause string `json:"cause,omitempty"`
}

// Roll is the replacement of the machines of the control plane, of an instance group or of the
// bastions.
type Roll struct {
	// The kind: ControlPlane, InstanceGroup or Bastion. Name is the name of the instance group.
	What string `json:"what"`
	Name string `json:"name,omitempty"`
	// Machines is how many are replaced; with UpTo at most so many: those stay that are of a type
	// and in a subnet that are still wanted.
	Machines int  `json:"machines"`
	UpTo     bool `json:"upTo,omitempty"`
	// Order are the stacks' names in the order in which their machines are replaced, for the
	// control plane.
	Order []string `json:"order,omitempty"`
	// BatchSize is how many are replaced at once, Batches how often that is done.
	BatchSize int `json:"batchSize"`
	Batches   int `json:"batches"`
	// By is who does it: CloudFormation, or the operator.
	By string `json:"by"`
	// After is true when it begins once the control plane's machines are replaced.
	After bool `json:"afterControlPlane,omitempty"`
	// AtLeast is how long it takes at least, AtMost before it is given up; 0 if nothing bounds it.
	AtLeast Duration `json:"atLeastSeconds"`
	AtMost  Duration `json:"atMostSeconds,omitempty"`
	// Assumes says in a sentence what AtLeast rests on.
	Assumes string `json:"assumes"`
}

// Kinds of replaced nodes.
const (
	RollControlPlane = "ControlPlane"
	RollGroup        = "InstanceGroup"
	RollBastion      = "Bastion"
)

// Duration is a time that is written in JSON as seconds.
type Duration time.Duration

// MarshalJSON writes seconds.
func (d Duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, int64(time.Duration(d)/time.Second), 10), nil
}

// String writes a time as people do.
func (d Duration) String() string { return words(time.Duration(d)) }

// Empty reports whether nothing would change.
func (p *Plan) Empty() bool { return p == nil || p.Summary.Stacks == 0 }

// Stack returns the stack of that name, nil if there is none.
func (p *Plan) Stack(name string) *Stack {
	for i := range p.Stacks {
		if p.Stacks[i].Name == name {
			return &p.Stacks[i]
		}
	}
	return nil
}

// Resource returns what happens to a resource, nil if nothing does.
func (s *Stack) Resource(logicalID string) *Resource {
	for i := range s.Resources {
		if s.Resources[i].LogicalID == logicalID {
			return &s.Resources[i]
		}
	}
	return nil
}
