package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Release is a named, immutable set of component versions and of the templates' version.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=aws
// +kubebuilder:printcolumn:name="KUBERNETES",type=string,JSONPath=`.spec.kubernetes`
// +kubebuilder:printcolumn:name="RESOURCESET",type=string,JSONPath=`.spec.resourceSet`
// +kubebuilder:printcolumn:name="STATE",type=string,JSONPath=`.spec.state`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type Release struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the release consists of.
	Spec ReleaseSpec `json:"spec"`
}

// ReleaseList is a list of releases.
//
// +kubebuilder:object:root=true
type ReleaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the releases.
	Items []Release `json:"items"`
}

// ReleaseState says whether new clusters should use a release.
//
// +kubebuilder:validation:Enum=Active;Deprecated
type ReleaseState string

// States.
const (
	// ReleaseActive is for new clusters.
	ReleaseActive ReleaseState = "Active"
	// ReleaseDeprecated still works; clusters on it say that they should move.
	ReleaseDeprecated ReleaseState = "Deprecated"
)

// ReleaseSpec is what a release consists of. It cannot change, except its state.
type ReleaseSpec struct {
	// Kubernetes is the version of Kubernetes, for example v1.36.3.
	Kubernetes string `json:"kubernetes"`

	// ResourceSet is the version of the templates, for example 1.0.0.
	ResourceSet string `json:"resourceSet"`

	// State says whether new clusters should use it.
	// +optional
	// +kubebuilder:default=Active
	State ReleaseState `json:"state,omitempty"`

	// Components are the versions of what is not an artifact, for example etcd, coredns, pause: image tags
	// that kubeadm is given.
	// +optional
	Components map[string]string `json:"components,omitempty"`

	// Artifacts are the files that a node installs, in their order.
	// +optional
	// +listType=atomic
	Artifacts []Artifact `json:"artifacts,omitempty"`

	// Images are the machine images by architecture.
	Images map[Architecture]MachineImage `json:"images"`

	// Addons are the charts that every cluster gets unless it leaves them out.
	// +optional
	// +listType=map
	// +listMapKey=name
	Addons []ReleaseAddon `json:"addons,omitempty"`
}

// ArtifactFormat says what to do with a fetched file.
//
// +kubebuilder:validation:Enum=Binary;TarGz
type ArtifactFormat string

// Formats.
const (
	// ArtifactBinary is an executable, installed as it is.
	ArtifactBinary ArtifactFormat = "Binary"
	// ArtifactTarGz is an archive, unpacked below path.
	ArtifactTarGz ArtifactFormat = "TarGz"
)

// Artifact is a file that a node installs.
type Artifact struct {
	// Name is what it is, for example kubelet.
	Name string `json:"name"`

	// Version is its own version, for people.
	// +optional
	Version string `json:"version,omitempty"`

	// Format says what to do with it.
	// +optional
	// +kubebuilder:default=Binary
	Format ArtifactFormat `json:"format,omitempty"`

	// Path is where it is installed: a file for Binary, a folder for TarGz.
	Path string `json:"path"`

	// Sources say where it is fetched, by architecture.
	Sources map[Architecture]ArtifactSource `json:"sources"`
}

// ArtifactSource is one architecture's file.
type ArtifactSource struct {
	// URL is where the file is.
	URL string `json:"url"`

	// SHA256 is its hash. A node refuses a file without one.
	// +optional
	SHA256 string `json:"sha256,omitempty"`

	// Unverified says why the hash is not known.
	// +optional
	Unverified string `json:"unverified,omitempty"`
}

// MachineImage is a machine image, by SSM parameter or by region.
type MachineImage struct {
	// Parameter is the name of a public SSM parameter that holds the image's ID.
	// +optional
	Parameter string `json:"parameter,omitempty"`

	// ByRegion are the images' IDs by region.
	// +optional
	ByRegion map[string]string `json:"byRegion,omitempty"`

	// User is the image's default user, whom SSH keys are for.
	// +optional
	// +kubebuilder:default=ubuntu
	User string `json:"user,omitempty"`
}

// ReleaseAddon is a Helm chart of a release.
type ReleaseAddon struct {
	// Name is the addon's, and its Helm release's.
	Name string `json:"name"`

	// Namespace is where it is installed; kube-system when empty.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Chart is the chart's name in the repository, or an oci:// address.
	Chart string `json:"chart"`

	// Repository is the chart repository's address, if chart is a name.
	// +optional
	Repository string `json:"repository,omitempty"`

	// Version is the chart's version.
	Version string `json:"version"`

	// Values are the chart's values.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
}
