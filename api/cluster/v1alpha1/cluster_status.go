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

	// Stacks are the cluster's own stacks: base, and one for each slot.
	// +optional
	// +listType=map
	// +listMapKey=name
	Stacks []StackStatus `json:"stacks,omitempty"`
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
