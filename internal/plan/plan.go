package plan

import (
	"strconv"
	"time"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/price"
	"github.com/aws-operator/aws-operator/internal/quota"
)

// Action is what happens to a stack or a resource.
type Action string

// The actions.
const (
	// None does not change it.
	None Action = "None"
	// Create creates it.
	Create Action = "Create"
	// Update changes it in place.
	Update Action = "Update"
	// Replace creates a new one and deletes the old one.
	Replace Action = "Replace"
	// MayReplace is Update or Replace: only AWS can determine which.
	MayReplace Action = "MayReplace"
	// Delete deletes it.
	Delete Action = "Delete"
	// Import takes an existing resource into a stack, which changes nothing of the resource.
	Import Action = "Import"
)

// Part is the part of a cluster that a stack contains.
type Part string

// The parts of a cluster, and services.
const (
	// Base has the resources that nodes share and that outlive them.
	Base Part = "Base"
	// Slot is one slot of the control plane.
	Slot Part = "Slot"
	// Group is an instance group.
	Group Part = "InstanceGroup"
	// EKSAddons are the add-ons that EKS installs.
	EKSAddons Part = "EKSAddons"
	// Service is the stack of an object such as a DynamoDB or an SQSQueue.
	Service Part = "Service"
)

// Plan describes what would happen.
type Plan struct {
	// Name is the name of the cluster, empty for services.
	Name string `json:"cluster,omitempty"`
	// Digest identifies exactly this plan: the deployed and the desired state of the stacks that
	// change. It reveals nothing of their content.
	Digest string `json:"digest"`
	// Terraform reports that Terraform made the cluster. Such a plan has no stacks.
	Terraform bool `json:"terraform,omitempty"`
	// Stacks are all stacks, including those without changes: the base stack, slots and groups in
	// their order.
	Stacks []Stack `json:"stacks"`
	// Rolls are the replacements of instances, in the order in which they begin.
	Rolls []Roll `json:"rolls,omitempty"`
	// Takes is the minimum time until all instances are replaced, in seconds in JSON; 0 if none
	// are.
	Takes Duration `json:"takesAtLeastSeconds,omitempty"`
	// Price is what the stacks cost in a month before and after; nil if nothing changes, or if no
	// price list was given.
	Price *price.Comparison `json:"price,omitempty"`
	// Quotas says whether the account's quotas suffice; nil if nothing changes, or if they were not to be checked.
	Quotas *quota.Report `json:"quotas,omitempty"`
	// Notes are sentences about assumptions of the plan: placeholders, operations in progress.
	Notes []string `json:"notes,omitempty"`
	// Summary counts the changes.
	Summary Summary `json:"summary"`
}

// Summary counts the changes of resources.
type Summary struct {
	// Create, Update, Replace, MayReplace and Delete count resources.
	Create     int `json:"create"`
	Update     int `json:"update"`
	Replace    int `json:"replace"`
	MayReplace int `json:"mayReplace"`
	Delete     int `json:"delete"`
	// Import counts the resources that are imported, whether they then change or not.
	Import int `json:"import,omitempty"`
	// Stacks counts the stacks that change.
	Stacks int `json:"stacks"`
	// Roll counts the instances that are replaced.
	Roll int `json:"roll"`
	// Drift counts the stacks that were checked for drift; nil if none was to be checked.
	Drift *DriftSummary `json:"drift,omitempty"`
}

// DriftSummary counts stacks.
type DriftSummary struct {
	// Checked are the deployed stacks, Drifted those of them that differ from their templates.
	Checked int `json:"checked"`
	Drifted int `json:"drifted"`
}

// Stack describes the changes of one stack.
type Stack struct {
	// Name is the name of the stack.
	Name string `json:"name"`
	// Part is its part of the cluster, Of its slot or instance group.
	Part Part   `json:"part"`
	Of   string `json:"of,omitempty"`
	// Action is what happens to the stack: None, Create, Update, Delete or Import.
	Action Action `json:"action"`
	// Resources are the resources that change, sorted by logical ID.
	Resources []Resource `json:"resources,omitempty"`
	// Tags are the stack's tags that change, and with them those of its taggable resources.
	Tags []Value `json:"tags,omitempty"`
	// Parameters, Outputs and Sections are the names of other parts of the stack that change.
	Parameters []string `json:"parameters,omitempty"`
	Outputs    []string `json:"outputs,omitempty"`
	Sections   []string `json:"sections,omitempty"`
	// Refused are sentences about changes that the operator refuses without approval. It then
	// changes nothing of the stack.
	Refused []string `json:"refused,omitempty"`
	// Differences are sentences about differences from CloudFormation's change set. Asked reports
	// whether there was a change set.
	Differences []string `json:"differences,omitempty"`
	Asked       bool     `json:"changeSet,omitempty"`
	// Drift is how the resources differ from the deployed template; nil if the stack was not to be
	// checked, is not deployed or is deleted.
	Drift *Drift `json:"drift,omitempty"`
}

// Value is a named text before and after, empty for none.
type Value struct {
	Name string `json:"name"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// Resource describes the change of one resource.
type Resource struct {
	// LogicalID is its name in the template, Type its CloudFormation type.
	LogicalID string `json:"logicalID"`
	Type      string `json:"type"`
	// Action is its change.
	Action Action `json:"action"`
	// Identifier is the primary identifier of a resource that is imported. Its properties change in the
	// update that follows, which waits for approval.
	Identifier string `json:"identifier,omitempty"`
	// Size describes in a few words how large a resource that is created is; empty if unknown.
	Size string `json:"size,omitempty"`
	// Properties are the properties that change, by path. Resources that are created or deleted
	// list none.
	Properties []Property `json:"properties,omitempty"`
	// Stateful reports that it holds data.
	Stateful bool `json:"stateful,omitempty"`
	// OldResource is what happens to a replaced or deleted resource: Delete, Retain or Snapshot.
	OldResource string `json:"oldResource,omitempty"`
	// Rolls is true for an Auto Scaling group or a managed node group whose instances are replaced.
	Rolls bool `json:"rolls,omitempty"`
	// FitStay is true if only the list of types or subnets changes, so that instances that still
	// match it stay.
	FitStay bool `json:"fitStay,omitempty"`
}

// Property is a property that changes.
type Property struct {
	// Path is separated by slashes. The path of a resource attribute begins with a dot, as
	// .UpdatePolicy.
	Path string `json:"path"`
	// Old and New are the values, nil for none; secrets are masked.
	Old *template.Node `json:"old,omitempty"`
	New *template.Node `json:"new,omitempty"`
	// Forces reports that the change replaces the resource, MayForce that it may.
	Forces   bool `json:"forcesReplacement,omitempty"`
	MayForce bool `json:"mayForceReplacement,omitempty"`
	// Cause is the logical ID of the resource whose change alone causes this one, if any.
	Cause string `json:"cause,omitempty"`
	// Parts are the parts of the instances' bundle that differ, if it is the user data that names
	// the bundle and they are known.
	Parts []string `json:"parts,omitempty"`
}

// Roll is the replacement of the instances of the control plane, of an instance group or of the
// bastions.
type Roll struct {
	// The kind: ControlPlane, InstanceGroup or Bastion. Name is the name of the instance group.
	What string `json:"what"`
	Name string `json:"name,omitempty"`
	// Machines is how many instances are replaced. With UpTo it is a maximum: instances whose type
	// and subnet are still in the definition stay.
	Machines int  `json:"machines"`
	UpTo     bool `json:"upTo,omitempty"`
	// Order has the names of the control plane's stacks in the order in which their instances are
	// replaced.
	Order []string `json:"order,omitempty"`
	// BatchSize is how many are replaced at once, Batches the number of batches.
	BatchSize int `json:"batchSize"`
	Batches   int `json:"batches"`
	// By is the party that replaces them: CloudFormation, the operator or EKS.
	By string `json:"by"`
	// After reports that it begins after the replacement of the control plane's instances.
	After bool `json:"afterControlPlane,omitempty"`
	// AtLeast is the minimum duration, AtMost the time after which it is given up; 0 if unbounded.
	AtLeast Duration `json:"atLeastSeconds"`
	AtMost  Duration `json:"atMostSeconds,omitempty"`
	// Assumes describes the assumptions of AtLeast in a sentence.
	Assumes string `json:"assumes"`
}

// Kinds of replaced nodes.
const (
	RollControlPlane = "ControlPlane"
	RollGroup        = "InstanceGroup"
	RollBastion      = "Bastion"
)

// Duration is a duration that is encoded in JSON as seconds.
type Duration time.Duration

// MarshalJSON encodes the duration as seconds.
func (d Duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, int64(time.Duration(d)/time.Second), 10), nil
}

// String returns the duration in a short form.
func (d Duration) String() string { return words(time.Duration(d)) }

// Empty reports whether nothing would change.
func (p *Plan) Empty() bool { return p == nil || p.Summary.Stacks == 0 }

// Drifted reports whether a stack differs from its template.
func (p *Plan) Drifted() bool {
	return p != nil && p.Summary.Drift != nil && p.Summary.Drift.Drifted > 0
}

// Stack returns the stack of that name, nil if there is none.
func (p *Plan) Stack(name string) *Stack {
	for i := range p.Stacks {
		if p.Stacks[i].Name == name {
			return &p.Stacks[i]
		}
	}
	return nil
}

// Resource returns the change of a resource, nil if it does not change.
func (s *Stack) Resource(logicalID string) *Resource {
	for i := range s.Resources {
		if s.Resources[i].LogicalID == logicalID {
			return &s.Resources[i]
		}
	}
	return nil
}
