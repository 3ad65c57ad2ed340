package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Fleet gives Clusters of its namespace a release and other settings, and rolls changes of them out in waves. A
// field that the author of a Cluster sets differently keeps its value.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=aws
// +kubebuilder:printcolumn:name="RELEASE",type=string,JSONPath=`.spec.template.release`
// +kubebuilder:printcolumn:name="UPDATED",type=string,JSONPath=`.status.clusters.summary`
// +kubebuilder:printcolumn:name="FAILED",type=integer,JSONPath=`.status.clusters.failed`
// +kubebuilder:printcolumn:name="WAVE",type=string,JSONPath=`.status.wave`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="OVERRIDDEN",type=integer,priority=1,JSONPath=`.status.clusters.overridden`
// +kubebuilder:printcolumn:name="REVISION",type=string,priority=1,JSONPath=`.status.revision`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="the field manager of the Clusters' fields is named after the fleet: use a name of at most 63 characters"
type Fleet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is which Clusters the fleet has, what it gives them, and how a change reaches them.
	Spec FleetSpec `json:"spec"`

	// Status is how far the last change of the template has reached the Clusters.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	// +structType=atomic
	Status FleetStatus `json:"status,omitempty"`
}

// FleetList is a list of fleets.
//
// +kubebuilder:object:root=true
type FleetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the fleets.
	Items []Fleet `json:"items"`
}

// FleetSpec is which Clusters a fleet has, what it gives them, and how a change reaches them.
type FleetSpec struct {
	// Selector selects Clusters of the fleet's namespace by their labels. An empty selector selects
	// all. A Cluster that is no longer selected keeps its values.
	// +required
	Selector metav1.LabelSelector `json:"selector"`

	// Template are the fields of the Clusters, and of their InstanceGroups, that the fleet sets. A
	// change is rolled out. A field that another client has set to another value keeps that value, and the status says so.
	// +required
	Template FleetTemplate `json:"template"`

	// Rollout is how a change of the template reaches the Clusters. It stops at the first Cluster
	// whose update fails, until the template changes again or the Cluster is corrected.
	// +optional
	Rollout FleetRollout `json:"rollout,omitempty"`
}

// FleetTemplate are fields of a Cluster's spec, and of its InstanceGroups. Fields that are left out remain
// those of each Cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.release) || has(self.release)",message="release cannot be removed, since its Clusters need one: name a release"
// +kubebuilder:validation:MinProperties=1
type FleetTemplate struct {
	// Release is the Clusters' spec.release. A Cluster that has none gets it at once, whatever the
	// state of the rollout. Once set, it cannot be removed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Release string `json:"release,omitempty"`

	// ControlPlane are fields of the Clusters' spec.controlPlane.
	// +optional
	ControlPlane *FleetControlPlane `json:"controlPlane,omitempty"`

	// Backup are fields of the Clusters' spec.backup.
	// +optional
	Backup *EtcdBackup `json:"backup,omitempty"`

	// Addons are entries of the Clusters' spec.addons. A Cluster can have others.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Addons []Addon `json:"addons,omitempty"`

	// InstanceGroups are fields of the Clusters' InstanceGroups, at most 5 entries. A group gets the
	// fields of the first entry that selects it, in the turn of its Cluster.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=5
	InstanceGroups []FleetInstanceGroups `json:"instanceGroups,omitempty"`
}

// FleetInstanceGroups are fields of the specs of InstanceGroups. Fields that are left out remain those of
// each group.
type FleetInstanceGroups struct {
	// Name is a name of the entry, which says what it is for. Groups do not need to have it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Selector selects InstanceGroups of the fleet's Clusters by their labels. The default selects
	// all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Image is the groups' spec.image, the ID of an AMI. It is of one region: select the groups of
	// that region.
	// +optional
	// +kubebuilder:validation:MaxLength=21
	Image string `json:"image,omitempty"`

	// Roll is the groups' spec.roll. A new value replaces all their nodes, wave by wave.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Roll string `json:"roll,omitempty"`

	// RollingUpdate are fields of the groups' spec.rollingUpdate.
	// +optional
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`

	// Repair are fields of the groups' spec.repair.
	// +optional
	Repair *Repair `json:"repair,omitempty"`
}

// FleetControlPlane are fields of a Cluster's spec.controlPlane.
//
// +kubebuilder:validation:MinProperties=1
type FleetControlPlane struct {
	// InstanceType is the Clusters' spec.controlPlane.instanceType.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	InstanceType string `json:"instanceType,omitempty"`

	// Roll is the Clusters' spec.controlPlane.roll. A new value replaces the nodes of all control
	// planes, wave by wave.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Roll string `json:"roll,omitempty"`
}

// FleetRollout is how a change of a fleet's template reaches its Clusters.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxConcurrent) || (type(self.maxConcurrent) == string ? self.maxConcurrent.matches('^([1-9][0-9]?|100)%$') : int(self.maxConcurrent) >= 1)",message="maxConcurrent is a number of at least 1, or a percentage such as 10%"
type FleetRollout struct {
	// MaxConcurrent is how many Clusters of a wave are updated at the same time, a number of at least
	// 1 or a percentage of the wave's Clusters. The default is 10%. More than 200 count as 200.
	// +optional
	MaxConcurrent *intstr.IntOrString `json:"maxConcurrent,omitempty"`

	// Paused holds the change back from further Clusters. The default is false. Clusters without a
	// release get one all the same.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// ProgressDeadline is how long the update of a Cluster may take, 1m to 168h, before it counts as
	// failed. The default is 2h. Waits for approval and pauses do not count.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:XValidation:rule="self >= duration('1m') && self <= duration('168h')",message="use 1m to 168h"
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`

	// Waves are the stages of a rollout, at most 16. A Cluster is in the first wave that selects it.
	// Those that no wave selects are in a last wave, named rest. A wave begins when all Clusters of the
	// waves before it are updated and have been Ready for the soak time. Without waves, all
	// Clusters are in the wave rest.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Waves []FleetWave `json:"waves,omitempty"`
}

// FleetWave is one stage of a rollout.
type FleetWave struct {
	// Name is the name of the wave. The name rest is that of the last wave.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self != 'rest'",message="rest is the name of the last wave: use another"
	Name string `json:"name"`

	// Selector selects the Clusters of the wave among those of the fleet that no wave before it
	// selects. The default selects all of them.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Size limits the wave to a number of at least 1, or to a percentage of the fleet's Clusters. A
	// hash of their UIDs chooses them. By default, there is no limit.
	// +optional
	Size *intstr.IntOrString `json:"size,omitempty"`

	// MaxConcurrent is how many Clusters of the wave are updated at the same time. The default is that
	// of the rollout.
	// +optional
	MaxConcurrent *intstr.IntOrString `json:"maxConcurrent,omitempty"`

	// Soak is how long all Clusters of the wave must have been updated and Ready before the next wave
	// begins, up to 720h. The default is 0s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:XValidation:rule="self >= duration('0s') && self <= duration('720h')",message="use 0s to 720h"
	Soak *metav1.Duration `json:"soak,omitempty"`
}

// FleetStatus is how far a rollout has reached the Clusters of a fleet.
type FleetStatus struct {
	// ObservedGeneration is the generation of the spec that this status reports on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are the conditions of the fleet: Ready, Synced, Stalled, Reconciling, RolledOut.
	// Their messages name the action that a user can take.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Revision identifies the content of the template that is rolled out.
	// +optional
	Revision string `json:"revision,omitempty"`

	// Wave is the name of the current wave. It is empty when the template is rolled out.
	// +optional
	Wave string `json:"wave,omitempty"`

	// Clusters are the numbers of Clusters by their state.
	// +optional
	Clusters FleetCount `json:"clusters,omitempty"`

	// Waves are the waves in their order.
	// +optional
	// +listType=map
	// +listMapKey=name
	Waves []FleetWaveStatus `json:"waves,omitempty"`

	// Updating are the Clusters that are being updated, at most as many as may be at the same time. The
	// operator records a Cluster here before it changes it.
	// +optional
	// +listType=map
	// +listMapKey=uid
	Updating []FleetUpdate `json:"updating,omitempty"`

	// Details are the states of at most 20 Clusters that need attention: those that failed first.
	// +optional
	// +listType=map
	// +listMapKey=name
	Details []FleetDetail `json:"details,omitempty"`
}

// FleetCount are numbers of Clusters. Each Cluster has one of the states, and overridden ones another
// state as well.
type FleetCount struct {
	// Total is the number of Clusters that the fleet selects and that are not being deleted.
	// +optional
	Total int32 `json:"total"`

	// Updated is the number of Clusters that have the template's fields and are Ready with them.
	// +optional
	Updated int32 `json:"updated"`

	// Updating is the number of Clusters that are being updated, with those that wait for approval.
	// +optional
	Updating int32 `json:"updating"`

	// Waiting is the number of Clusters that do not have the template's fields yet.
	// +optional
	Waiting int32 `json:"waiting"`

	// Failed is the number of Clusters whose update failed.
	// +optional
	Failed int32 `json:"failed"`

	// NotReady is the number of Clusters that have the template's fields and are not Ready, although
	// they are not being updated.
	// +optional
	NotReady int32 `json:"notReady"`

	// Paused is the number of Clusters that the rollout skips because they are paused.
	// +optional
	Paused int32 `json:"paused"`

	// Overridden is the number of Clusters in which another client has set a field of the template to
	// another value.
	// +optional
	Overridden int32 `json:"overridden"`

	// Summary is updated and total in one text, for example 12/200.
	// +optional
	Summary string `json:"summary,omitempty"`
}

// FleetWaveStatus is the status of a wave.
type FleetWaveStatus struct {
	// Name is the name of the wave.
	// +required
	Name string `json:"name"`

	// Total is the number of Clusters of the wave.
	// +optional
	Total int32 `json:"total"`

	// Updated is the number of Clusters of the wave that are updated.
	// +optional
	Updated int32 `json:"updated"`

	// Completed is when all Clusters of the wave were updated and Ready. The soak time begins then.
	// +optional
	Completed *metav1.Time `json:"completed,omitempty"`
}

// FleetUpdate is a Cluster that is being updated.
type FleetUpdate struct {
	// Name is the name of the Cluster.
	// +required
	Name string `json:"name"`

	// UID is the UID of the Cluster.
	// +required
	UID types.UID `json:"uid"`

	// Since is when its update began, or when it was last approved or resumed.
	// +required
	Since metav1.Time `json:"since"`

	// Held is whether the Cluster waits for approval or is paused.
	// +optional
	Held bool `json:"held,omitempty"`
}

// FleetClusterState is the state of a Cluster in a fleet.
//
// +kubebuilder:validation:Enum=Updated;Updating;Approving;Waiting;Failed;NotReady;Paused
type FleetClusterState string

// States of a Cluster in a fleet.
const (
	// FleetUpdated means that the Cluster has the template's fields and is Ready with them.
	FleetUpdated FleetClusterState = "Updated"
	// FleetUpdating means that the Cluster is being updated.
	FleetUpdating FleetClusterState = "Updating"
	// FleetApproving means that the update waits for a user to approve changes.
	FleetApproving FleetClusterState = "Approving"
	// FleetWaiting means that it is not the Cluster's turn yet.
	FleetWaiting FleetClusterState = "Waiting"
	// FleetFailed means that the update failed.
	FleetFailed FleetClusterState = "Failed"
	// FleetNotReady means that the Cluster has the template's fields and is not Ready.
	FleetNotReady FleetClusterState = "NotReady"
	// FleetPaused means that the Cluster is paused.
	FleetPaused FleetClusterState = "Paused"
)

// FleetDetail is the state of one Cluster.
type FleetDetail struct {
	// Name is the name of the Cluster.
	// +required
	Name string `json:"name"`

	// Wave is the name of the Cluster's wave.
	// +optional
	Wave string `json:"wave,omitempty"`

	// State is the state of the Cluster.
	// +required
	State FleetClusterState `json:"state"`

	// Overridden are the fields of the template that another client has set to another value, at most
	// five. Those of an InstanceGroup begin with its name.
	// +optional
	// +listType=atomic
	Overridden []string `json:"overridden,omitempty"`

	// Message explains the state.
	// +optional
	Message string `json:"message,omitempty"`
}

// GetConditions returns the fleet's conditions.
func (f *Fleet) GetConditions() []metav1.Condition { return f.Status.Conditions }

// SetConditions replaces the fleet's conditions.
func (f *Fleet) SetConditions(conditions []metav1.Condition) { f.Status.Conditions = conditions }

// SetObservedGeneration records the generation that the status reports on.
func (f *Fleet) SetObservedGeneration(generation int64) { f.Status.ObservedGeneration = generation }
