package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
)

// ClusterStatus is the observed state of a cluster.
type ClusterStatus struct {
	// ObservedGeneration is the generation of the spec that this status reports on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are the conditions of the cluster: Ready, Synced, Stalled, Reconciling,
	// NetworkReady, ControlPlaneReady, APIReachable, NodesReady, AddonsReady, EKSAddonsReady,
	// CertificatesValid, EtcdHasSpace, ResourcesEncrypted, AuditLogShipped, BackedUp, BackedUpToBucket,
	// Drifted; and with Cluster API: ClusterAPIFollowed, Available, Paused. Their messages name the
	// action that a user can take.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Version is the Kubernetes version of the API servers.
	// +optional
	Version string `json:"version,omitempty"`

	// ResourceSet is the version of the templates that the cluster's stacks are rendered from.
	// +optional
	ResourceSet string `json:"resourceSet,omitempty"`

	// Release is the Release that the entire control plane runs. It becomes the spec's release when
	// all slots are updated. Instance groups follow it, since no node may be newer than its control
	// plane.
	// +optional
	Release string `json:"release,omitempty"`

	// Endpoint is the address of the Kubernetes API, https://host:port.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// Account is the ID of the cluster's AWS account.
	// +optional
	Account string `json:"account,omitempty"`

	// Nodes are the numbers of the cluster's nodes.
	// +optional
	Nodes NodeCount `json:"nodes,omitempty"`

	// Outputs are the outputs of the cluster's base stack, by name.
	// +optional
	Outputs map[string]string `json:"outputs,omitempty"`

	// Rollout is the current replacement of the control plane's nodes, or the last one.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// Backup is the status of the snapshots of the etcd volumes.
	// +optional
	Backup *BackupStatus `json:"backup,omitempty"`

	// Certificates are the times at which certificates of the cluster expire.
	// +optional
	Certificates *CertificatesStatus `json:"certificates,omitempty"`

	// Etcd is how full etcd is, and the operator's record of its volumes.
	// +optional
	Etcd *EtcdStatus `json:"etcd,omitempty"`

	// Encryption is how far spec.api.encryption is in a cluster that was created without it.
	// +optional
	Encryption *EncryptionStatus `json:"encryption,omitempty"`

	// Repairs are the numbers of instance replacements, for each slot that is unhealthy.
	// +optional
	// +listType=map
	// +listMapKey=slot
	Repairs []SlotRepairStatus `json:"repairs,omitempty"`

	// Addons are the chart archives that the cluster's addons were installed from.
	// +optional
	// +listType=map
	// +listMapKey=name
	Addons []AddonStatus `json:"addons,omitempty"`

	// PendingChanges are the changes that wait for approval.
	// +optional
	// +listType=map
	// +listMapKey=stack
	PendingChanges []PendingChange `json:"pendingChanges,omitempty"`

	// Stacks are the cluster's own stacks: the base stack, and one for each slot.
	// +optional
	// +listType=map
	// +listMapKey=name
	Stacks []StackStatus `json:"stacks,omitempty"`

	// Initialization reports to Cluster API how far the creation of the cluster is. It is set only in
	// clusters that a Cluster of Cluster API owns.
	// +optional
	Initialization *ClusterInitialization `json:"initialization,omitempty"`

	// ExternalManagedControlPlane tells Cluster API that the control plane has no Machines. It is set
	// only in clusters that a Cluster of Cluster API owns.
	// +optional
	ExternalManagedControlPlane *bool `json:"externalManagedControlPlane,omitempty"`
}

// CertificatesStatus are the times at which certificates of a cluster expire, and the last rotation.
type CertificatesStatus struct {
	// CAsExpire is when the first of the cluster's CAs expires. All other certificates expire with it.
	// +optional
	CAsExpire *metav1.Time `json:"casExpire,omitempty"`

	// SlotsExpire is when the first certificate of a slot's instance expires: three years after its node
	// joined. An instance that replaces it gets new certificates.
	// +optional
	SlotsExpire *metav1.Time `json:"slotsExpire,omitempty"`

	// Rotation is the rotation in progress, or the last one.
	// +optional
	Rotation *CertificateRotation `json:"rotation,omitempty"`
}

// CertificateRotation is a rotation of a cluster's CAs and of its service-account key.
type CertificateRotation struct {
	// Requested is the value of spec.certificates.rotate that the rotation is for, empty if
	// spec.certificates.rotateBefore triggered it.
	// +optional
	Requested string `json:"requested,omitempty"`

	// Stage is the stage that the rotation has reached.
	Stage RotationStage `json:"stage"`

	// Started is when the rotation began.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`

	// Finished is when it ended.
	// +optional
	Finished *metav1.Time `json:"finished,omitempty"`

	// Message describes what the rotation waits for.
	// +optional
	Message string `json:"message,omitempty"`
}

// RotationStage is a stage of a rotation. A stage ends when all nodes that it replaces were replaced
// and are healthy.
//
// +kubebuilder:validation:Enum=Trust;Issue;Renew;Forget;Done
type RotationStage string

// Stages of a rotation, in their order.
const (
	// RotationTrust replaces the control plane's nodes: they trust the new CAs and keys, too.
	RotationTrust RotationStage = "Trust"
	// RotationIssue replaces the control plane's nodes: they issue certificates and tokens with the
	// new CAs and keys, and still trust the old ones.
	RotationIssue RotationStage = "Issue"
	// RotationRenew replaces the nodes of instance groups: they and their pods get certificates and
	// tokens of the new CAs and keys.
	RotationRenew RotationStage = "Renew"
	// RotationForget replaces all nodes: they trust only the new CAs and keys.
	RotationForget RotationStage = "Forget"
	// RotationDone is the end.
	RotationDone RotationStage = "Done"
)

// AddonStatus is the chart archive that an addon was installed from.
type AddonStatus struct {
	// Name is the name of the addon.
	Name string `json:"name"`

	// Chart is the name of the chart in the repository, or an oci:// address.
	Chart string `json:"chart"`

	// Repository is the address of the chart repository. It is empty for an oci:// chart.
	// +optional
	Repository string `json:"repository,omitempty"`

	// Version is the version of the chart.
	Version string `json:"version"`

	// Digest is the SHA-256 of the archive. The operator refuses another archive of the same chart
	// and version, unless the digest of the spec or the release matches it.
	Digest string `json:"digest"`
}

// NodeCount is the numbers of nodes.
type NodeCount struct {
	// Desired is the desired number of nodes.
	// +optional
	Desired int32 `json:"desired,omitempty"`

	// Ready is the number of nodes that are Ready.
	// +optional
	Ready int32 `json:"ready,omitempty"`

	// Updated is the number of nodes that run the current bundle.
	// +optional
	Updated int32 `json:"updated,omitempty"`

	// Summary is ready and desired in one text, for example 5/6.
	// +optional
	Summary string `json:"summary,omitempty"`

	// UpdatedSummary is updated and desired in one text, for example 2/5.
	// +optional
	UpdatedSummary string `json:"updatedSummary,omitempty"`
}

// RolloutState is the state of a rollout.
//
// +kubebuilder:validation:Enum=Rolling;RollingBack;Done;RolledBack;Stopped
type RolloutState string

// States of a rollout.
const (
	// RolloutRolling means that nodes are being replaced.
	RolloutRolling RolloutState = "Rolling"
	// RolloutRollingBack means that the operator or CloudFormation restores the former
	// configuration, because the new nodes did not become Ready.
	RolloutRollingBack RolloutState = "RollingBack"
	// RolloutDone means that all nodes have been replaced.
	RolloutDone RolloutState = "Done"
	// RolloutRolledBack means that the former configuration has been restored.
	RolloutRolledBack RolloutState = "RolledBack"
	// RolloutStopped means that a user must act: the remaining nodes of the old configuration stay
	// until the next edit.
	RolloutStopped RolloutState = "Stopped"
)

// RolloutStatus is a replacement of nodes.
type RolloutStatus struct {
	// State is the state of the rollout: Rolling, RollingBack, Done, RolledBack or Stopped.
	// +required
	State RolloutState `json:"state"`

	// Started is the time at which the rollout began.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`

	// Finished is the time at which the rollout ended.
	// +optional
	Finished *metav1.Time `json:"finished,omitempty"`

	// Updated is the number of nodes with the new configuration.
	// +optional
	Updated int32 `json:"updated"`

	// Total is the number of all nodes.
	// +optional
	Total int32 `json:"total"`

	// Draining are the nodes that are being drained.
	// +optional
	// +listType=map
	// +listMapKey=node
	Draining []DrainStatus `json:"draining,omitempty"`

	// Message describes in a sentence the progress of the rollout, or why it ended.
	// +optional
	Message string `json:"message,omitempty"`
}

// DrainStatus is a node that is being drained.
type DrainStatus struct {
	// Node is the name of the node.
	// +required
	Node string `json:"node"`

	// Instance is the ID of the node's EC2 instance.
	// +optional
	Instance string `json:"instance,omitempty"`

	// Since is the time at which the drain began.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// Deadline is the time at which the drain times out.
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`

	// Pods is the number of pods that still have to be evicted.
	// +optional
	Pods int32 `json:"pods,omitempty"`

	// BlockedBy are the PodDisruptionBudgets that block evictions, as namespace/name.
	// +optional
	// +listType=atomic
	BlockedBy []string `json:"blockedBy,omitempty"`
}

// UpkeepConditions returns the types of the conditions of Clusters that are not part of Ready and that
// someone on call has to know about.
func UpkeepConditions() []string {
	return []string{"BackedUp", "BackedUpToBucket", "CertificatesValid", "EtcdHasSpace", "ResourcesEncrypted", "AuditLogShipped"}
}

// BackupStatus is the status of the backups of etcd.
type BackupStatus struct {
	// LastTime is the time at which the last backup completed.
	// +optional
	LastTime *metav1.Time `json:"lastTime,omitempty"`

	// NextTime is the time at which the next backup begins.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`

	// Backups are the backups that the operator keeps, newest first.
	// +optional
	// +listType=map
	// +listMapKey=snapshot
	Backups []Backup `json:"backups,omitempty"`

	// Bucket are the backups that the control plane's nodes put into the bucket, with
	// spec.backup.bucket. It is absent until there is one.
	// +optional
	Bucket *BucketBackups `json:"bucket,omitempty"`
}

// BucketBackups are the backups of etcd in the cluster's bucket, as the operator last listed them:
// when the next one should have been made, or every ten minutes if it was not.
type BucketBackups struct {
	// LastTime is the time at which the newest backup was begun.
	// +required
	LastTime metav1.Time `json:"lastTime"`

	// LastKey is the key of the newest backup in the bucket.
	// +required
	LastKey string `json:"lastKey"`

	// Count is the number of backups.
	// +required
	Count int32 `json:"count"`
}

// Backup is one snapshot of an etcd volume.
type Backup struct {
	// Snapshot is the ID of the EBS snapshot. It is a valid value of
	// spec.controlPlane.restoreSnapshot.
	// +required
	Snapshot string `json:"snapshot"`

	// Time is the time at which the snapshot was taken.
	// +optional
	Time metav1.Time `json:"time,omitempty"`

	// Slot is the slot to which the volume belongs.
	// +optional
	Slot int32 `json:"slot"`

	// State is the state that EC2 reports: pending, completed or error.
	// +optional
	State string `json:"state,omitempty"`
}

// EtcdStatus is the operator's record of the etcd volumes.
type EtcdStatus struct {
	// RestoreProgram is the SHA-256, in hex, of the program that restored the cluster.
	// +optional
	RestoreProgram string `json:"restoreProgram,omitempty"`

	// Volumes are the volumes that were lost and replaced by blank ones, and those of slots that
	// move or have moved to another zone.
	// +optional
	// +listType=map
	// +listMapKey=slot
	Volumes []EtcdVolumeStatus `json:"volumes,omitempty"`

	// Space is how full etcd is.
	// +optional
	Space *EtcdSpaceStatus `json:"space,omitempty"`
}

// EtcdSpaceStatus is how full etcd is. etcd refuses all writes when its database reaches the quota.
type EtcdSpaceStatus struct {
	// SizeBytes is the size of the database in bytes, with what is free in its file; 0 if the API
	// server does not report it.
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty"`

	// QuotaBytes is the size in bytes at which etcd refuses writes; 0 if there is no quota.
	// +optional
	QuotaBytes int64 `json:"quotaBytes,omitempty"`

	// CheckedAt is when the operator measured the size.
	CheckedAt metav1.Time `json:"checkedAt"`
}

// EtcdVolumeStatus is the etcd volume of a slot that was replaced by a blank one: the former one was
// lost, or the slot moved to another zone.
type EtcdVolumeStatus struct {
	// Slot is the number of the slot.
	// +required
	Slot int32 `json:"slot"`

	// Generation is how often the volume was replaced. It is part of the volume's name in the base
	// stack.
	// +optional
	Generation int32 `json:"generation,omitempty"`

	// Lost is the ID of the volume that was lost last.
	// +optional
	Lost string `json:"lost,omitempty"`

	// Snapshot is the spec.controlPlane.restoreSnapshot for which generations are counted. A
	// restore replaces all volumes and resets the count.
	// +optional
	Snapshot string `json:"snapshot,omitempty"`

	// Zone is the zone of the volume of this generation, as EC2 reported it, while the slot moves.
	// +optional
	Zone string `json:"zone,omitempty"`

	// MovesTo is the zone of the volume of the next generation, which exists beside this one while
	// the slot moves.
	// +optional
	MovesTo string `json:"movesTo,omitempty"`
}

// SlotRepairStatus is how often the instance of a slot was replaced.
type SlotRepairStatus struct {
	// Slot is the number of the slot.
	// +required
	Slot int32 `json:"slot"`

	RepairStatus `json:",inline"`
}

// RepairStatus counts replacements of instances after which nodes did not stay Ready. The delay
// before the next replacement doubles each time, up to six hours. The count is reset once nodes
// have been Ready for that long.
type RepairStatus struct {
	// Replaced is how often instances were replaced.
	// +optional
	Replaced int32 `json:"replaced,omitempty"`

	// LastTime is the time of the last replacement.
	// +optional
	LastTime metav1.Time `json:"lastTime,omitempty"`

	// NextTime is the earliest time of the next replacement.
	// +optional
	NextTime metav1.Time `json:"nextTime,omitempty"`
}

// PendingChange is a change of a stack that waits for approval.
type PendingChange struct {
	// Stack is the name of the stack.
	// +required
	Stack string `json:"stack"`

	// Digest identifies this change. To approve it, set the annotation aws-operator/approve to the
	// digest.
	// +optional
	Digest string `json:"digest,omitempty"`

	// Summary describes the change in a sentence, replacements of resources that hold data first.
	// +optional
	Summary string `json:"summary,omitempty"`

	// Changes are the changes that CloudFormation would make, by resource.
	// +optional
	// +listType=atomic
	Changes []ResourceChange `json:"changes,omitempty"`
}

// ResourceChange is a change of one resource.
type ResourceChange struct {
	// Resource is the logical ID of the resource.
	// +required
	Resource string `json:"resource"`

	// Type is the CloudFormation type of the resource.
	// +optional
	Type string `json:"type,omitempty"`

	// PhysicalID is the ID of the resource in AWS, if it has one.
	// +optional
	PhysicalID string `json:"physicalID,omitempty"`

	// Action is the action that CloudFormation reports: Add, Modify, Remove, Import or Dynamic.
	// +optional
	Action string `json:"action,omitempty"`

	// Replacement is whether a modification replaces the resource: True, False or Conditional.
	// +optional
	Replacement string `json:"replacement,omitempty"`

	// Properties are the paths of the properties that change.
	// +optional
	// +listType=atomic
	Properties []string `json:"properties,omitempty"`

	// Warning describes what would be lost, if anything.
	// +optional
	Warning string `json:"warning,omitempty"`
}

// StackStatus is the status of one stack.
type StackStatus struct {
	// Name is the name of the stack.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`

	// Status is the status that CloudFormation reports, for example UPDATE_COMPLETE.
	// +optional
	Status string `json:"status,omitempty"`

	// Reason is the reason for the status.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Bundle is the SHA-256 of the bundle that the stack's instances boot from.
	// +optional
	Bundle string `json:"bundle,omitempty"`

	// Record is the operator's record of the stack, from which it continues after a restart without
	// AWS calls: JSON as a text. Its format is internal and may change.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Record *runtime.RawExtension `json:"record,omitempty"`

	// Drift is what the last check for drift found.
	// +optional
	Drift *StackDriftStatus `json:"drift,omitempty"`
}

// StackDriftStatus is what the last check of one of several stacks for drift found.
type StackDriftStatus struct {
	// Status is Drifted, InSync or Unknown.
	// +optional
	Status string `json:"status,omitempty"`

	// Reason is the reason for the status, in CamelCase.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message explains the status.
	// +optional
	Message string `json:"message,omitempty"`

	servicev1alpha1.DriftStatus `json:",inline"`
}

// GetConditions returns the cluster's conditions.
func (c *Cluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the cluster's conditions.
func (c *Cluster) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

// SetObservedGeneration records the generation that the status reports on.
func (c *Cluster) SetObservedGeneration(generation int64) { c.Status.ObservedGeneration = generation }
