package v1alpha1

// The types in this file, and the fields of them, are named by the contract of Cluster API for
// providers, version v1beta2.
// https://cluster-api.sigs.k8s.io/developer/providers/contracts/overview

const (
	// ClusterAPIGroup is the group of Cluster API's own kinds.
	ClusterAPIGroup = "cluster.x-k8s.io"
	// ClusterAPIPausedAnnotation stops the operator from reconciling an object that Cluster API owns,
	// whatever its value is.
	ClusterAPIPausedAnnotation = ClusterAPIGroup + "/paused"
	// ClusterAPINameLabel has the name of the Cluster of Cluster API that an object belongs to.
	ClusterAPINameLabel = ClusterAPIGroup + "/cluster-name"
	// ClusterAPIReplicasAnnotation on a MachinePool states that something else determines the number of
	// nodes, unless its value is "false".
	ClusterAPIReplicasAnnotation = ClusterAPIGroup + "/replicas-managed-by"
	// ClusterAPISecretType is the type of the Secret with the kubeconfig of a cluster.
	ClusterAPISecretType = ClusterAPIGroup + "/secret"
)

// ControlPlaneEndpoint is the address of a Kubernetes API.
type ControlPlaneEndpoint struct {
	// Host is the DNS name or IP address of the API.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host"`

	// Port is the port of the API, 1 to 65535.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}

// ClusterInitialization is how far the creation of a cluster is. A field that is true does not become false again.
type ClusterInitialization struct {
	// Provisioned is whether the network and the load balancer of the API have been created.
	// +optional
	Provisioned bool `json:"provisioned,omitempty"`

	// ControlPlaneInitialized is whether the Kubernetes API has responded.
	// +optional
	ControlPlaneInitialized bool `json:"controlPlaneInitialized,omitempty"`
}

// GroupInitialization is how far the creation of an instance group is. A field that is true does not become false again.
type GroupInitialization struct {
	// Provisioned is whether the group's stack has been created.
	// +optional
	Provisioned bool `json:"provisioned,omitempty"`
}
