package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ClusterStatus says how far a cluster is.
type ClusterStatus struct {
	// ObservedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions say how far the cluster is and what a person can do about it: Ready, Synced, Stalled,
	// Reconciling, NetworkReady, ControlPlaneReady, APIReachable, NodesReady, AddonsReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Version is the Kubernetes version that the API servers run.
	// +optional
	Version string `json:"version,omitempty"`

	// ResourceSet is the version of the templates that the cluster is made from.
	// +optional
	ResourceSet string `json:"resourceSet,omitempty"`

	// Release is the Release that the whole control plane runs: the spec's, once all slots are in place. Instance groups follow
	// it, since no node may be newer than its control plane.
	// +optional
	Release string `json:"release,omitempty"`

	// Endpoint is the address of the Kubernetes API, https://host:port.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// Account is the AWS account that the cluster stands in.
	// +optional
	Account string `json:"account,omitempty"`

	// Nodes counts the cluster's nodes.
	// +optional
	Nodes NodeCount `json:"nodes,omitempty"`

	// Outputs are the outputs of the cluster's base stack, by name.
	// +optional
	Outputs map[string]string `json:"outputs,omitempty"`

	// Rollout is the replacement of the control plane's machines that is under way, or the last one.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// Backup is what is known of the snapshots of etcd's volumes.
	// +optional
	Backup *BackupStatus `json:"backup,omitempty"`

	// Etcd is what the operator must remember of etcd's volumes.
	// +optional
	Etcd *EtcdStatus `json:"etcd,omitempty"`

	// Repairs count, for each slot that is not well, how often its instance was replaced.
	// +optional
	// +listType=map
	// +listMapKey=slot
	Repairs []SlotRepairStatus `json:"repairs,omitempty"`

	// Addons are the chart archives that the cluster's addons were installed from.
	// +optional
	// +listType=map
	// +listMapKey=name
	Addons []AddonStatus `json:"addons,omitempty"`

	// PendingChanges are changes that wait for approval.
	// +optional
	// +listType=map
	// +listMapKey=stack
	PendingChanges []PendingChange `json:"pendingChanges,omitempty"`

	// Stacks are the cluster's own stacks: base, and one for each slot.
	// +optional
	// +listType=map
	// +listMapKey=name
	Stacks []StackStatus `json:"stacks,omitempty"`
}

// AddonStatus is the chart archive that an addon was installed from.
type AddonStatus struct {
	// Name is the addon's.
	Name string `json:"name"`

	// Chart is the chart's name in the repository, or an oci:// address.
	Chart string `json:"chart"`

	// Repository is the chart repository's address, empty for an oci:// chart.
	// +optional
	Repository string `json:"repository,omitempty"`

	// Version is the chart's version.
	Version string `json:"version"`

	// Digest is the SHA-256 of the archive. Another archive of the same chart and version is refused, unless the
	// spec's or the release's digest names it.
	Digest string `json:"digest"`
}

// NodeCount counts nodes.
type NodeCount struct {
	// Desired is how many there should be.
	// +optional
	Desired int32 `json:"desired,omitempty"`

	// Ready is how many are ready.
	// +optional
	Ready int32 `json:"ready,omitempty"`

	// Updated is how many run the present bundle.
	// +optional
	Updated int32 `json:"updated,omitempty"`

	// Summary is ready and desired for people, for example 5/6.
	// +optional
	Summary string `json:"summary,omitempty"`

	// UpdatedSummary is updated and desired for people, for example 2/5.
	// +optional
	UpdatedSummary string `json:"updatedSummary,omitempty"`
}

// RolloutState says how far a rollout is.
//
// +kubebuilder:validation:Enum=Rolling;RollingBack;Done;RolledBack;Stopped
type RolloutState string

// States of a rollout.
const (
	// RolloutRolling replaces nodes.
	RolloutRolling RolloutState = "Rolling"
	// RolloutRollingBack replaces new nodes by nodes of the former shape, since the new ones did not do.
	RolloutRollingBack RolloutState = "RollingBack"
	// RolloutDone has replaced all nodes.
	RolloutDone RolloutState = "Done"
	// RolloutRolledBack is back at the former shape.
	RolloutRolledBack RolloutState = "RolledBack"
	// RolloutStopped needs a person: what is left of the old shape stays until the next edit.
	RolloutStopped RolloutState = "Stopped"
)

// RolloutStatus is a replacement of nodes.
type RolloutStatus struct {
	// State says how far it is.
	// +required
	State RolloutState `json:"state"`

	// Started and Finished are when it began and ended.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`
	// +optional
	Finished *metav1.Time `json:"finished,omitempty"`

	// Updated and Total count the nodes of the new shape and all of them.
	// +optional
	Updated int32 `json:"updated"`
	// +optional
	Total int32 `json:"total"`

	// Draining are the nodes that are being emptied.
	// +optional
	// +listType=map
	// +listMapKey=node
	Draining []DrainStatus `json:"draining,omitempty"`

	// Message says in a sentence what goes on or why it ended.
	// +optional
	Message string `json:"message,omitempty"`
}

// DrainStatus is one node that is being emptied.
type DrainStatus struct {
	// Node is the node's name.
	// +required
	Node string `json:"node"`

	// Instance is the EC2 instance that it runs on.
	// +optional
	Instance string `json:"instance,omitempty"`

	// Since is when it began, Deadline until when it may take.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`

	// Pods is how many pods are still to go.
	// +optional
	Pods int32 `json:"pods,omitempty"`

	// BlockedBy are the PodDisruptionBudgets that keep pods, as namespace/name.
	// +optional
	// +listType=atomic
	BlockedBy []string `json:"blockedBy,omitempty"`
}

// BackupStatus is what is known of the snapshots of etcd's volumes.
type BackupStatus struct {
	// LastTime is when the last backup was complete, NextTime when the next begins.
	// +optional
	LastTime *metav1.Time `json:"lastTime,omitempty"`
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`

	// Backups are those that are kept, newest first.
	// +optional
	// +listType=map
	// +listMapKey=snapshot
	Backups []Backup `json:"backups,omitempty"`
}

// Backup is one snapshot of an etcd volume.
type Backup struct {
	// Snapshot is the EBS snapshot's ID: what spec.controlPlane.restoreSnapshot takes.
	// +required
	Snapshot string `json:"snapshot"`

	// Time is when it was taken.
	// +optional
	Time metav1.Time `json:"time,omitempty"`

	// Slot is the slot whose volume it is of.
	// +optional
	Slot int32 `json:"slot"`

	// State is EC2's word: pending, completed or error.
	// +optional
	State string `json:"state,omitempty"`
}

// EtcdStatus is what the operator must remember of etcd's volumes.
type EtcdStatus struct {
	// RestoreProgram is the SHA-256 of the program that the cluster was restored with, in hex.
	// +optional
	RestoreProgram string `json:"restoreProgram,omitempty"`

	// Volumes are those that were lost and replaced by blank ones.
	// +optional
	// +listType=map
	// +listMapKey=slot
	Volumes []EtcdVolumeStatus `json:"volumes,omitempty"`
}

// EtcdVolumeStatus is one slot's etcd volume that was lost and replaced.
type EtcdVolumeStatus struct {
	// Slot is the slot's number.
	// +required
	Slot int32 `json:"slot"`

	// Generation counts how often the volume was lost. It is part of the volume's name in the base stack.
	// +optional
	Generation int32 `json:"generation,omitempty"`

	// Lost is the ID of the volume that was lost last.
	// +optional
	Lost string `json:"lost,omitempty"`

	// Snapshot is the spec.controlPlane.restoreSnapshot that the generations are counted for. A restore
	// replaces all volumes and starts over.
	// +optional
	Snapshot string `json:"snapshot,omitempty"`
}

// SlotRepairStatus counts how often the instance of a slot was replaced.
type SlotRepairStatus struct {
	// Slot is the slot's number.
	// +required
	Slot int32 `json:"slot"`

	RepairStatus `json:",inline"`
}

// RepairStatus counts replacements of instances that did not help. The delay before the next one doubles
// each time, up to six hours. The count starts over once nodes have been Ready for that long.
type RepairStatus struct {
	// Replaced is how often instances were replaced.
	// +optional
	Replaced int32 `json:"replaced,omitempty"`

	// LastTime is when instances were replaced last.
	// +optional
	LastTime metav1.Time `json:"lastTime,omitempty"`

	// NextTime is the earliest time of the next replacement.
	// +optional
	NextTime metav1.Time `json:"nextTime,omitempty"`
}

// PendingChange is a change of a stack that waits for approval.
type PendingChange struct {
	// Stack is the stack's name.
	// +required
	Stack string `json:"stack"`

	// Digest names exactly this change: the annotation aws-operator/approve with it carries it out.
	// +optional
	Digest string `json:"digest,omitempty"`

	// Summary says it in a sentence, replacements of what holds data first.
	// +optional
	Summary string `json:"summary,omitempty"`

	// Changes are what CloudFormation would do, by resource.
	// +optional
	// +listType=atomic
	Changes []ResourceChange `json:"changes,omitempty"`
}

// ResourceChange is what would be done with one resource.
type ResourceChange struct {
	// Resource is its logical ID, Type its CloudFormation type, PhysicalID its name in AWS if it has one.
	// +required
	Resource string `json:"resource"`
	// +optional
	Type string `json:"type,omitempty"`
	// +optional
	PhysicalID string `json:"physicalID,omitempty"`

	// Action is CloudFormation's word: Add, Modify, Remove, Import or Dynamic.
	// +optional
	Action string `json:"action,omitempty"`

	// Replacement is True, False or Conditional, of a modification.
	// +optional
	Replacement string `json:"replacement,omitempty"`

	// Properties are what changes, by their paths.
	// +optional
	// +listType=atomic
	Properties []string `json:"properties,omitempty"`

	// Warning says in plain words what would be lost, if anything.
	// +optional
	Warning string `json:"warning,omitempty"`
}

// StackStatus is what is known of one stack.
type StackStatus struct {
	// Name is the stack's name.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`

	// Status is CloudFormation's word.
	// +optional
	Status string `json:"status,omitempty"`

	// Reason says why the stack is in that status.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Bundle is the SHA-256 of the bundle that the stack's machines boot from.
	// +optional
	Bundle string `json:"bundle,omitempty"`

	// Record is what the operator must remember of the stack to go on after a restart without asking
	// AWS. Its form is the operator's own.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Record *runtime.RawExtension `json:"record,omitempty"`
}

// GetConditions returns the cluster's conditions.
func (c *Cluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the cluster's conditions.
func (c *Cluster) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

// SetObservedGeneration records the generation that the status speaks of.
func (c *Cluster) SetObservedGeneration(generation int64) { c.Status.ObservedGeneration = generation }
