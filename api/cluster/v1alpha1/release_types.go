package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Release is a named, immutable set of component versions, including the version of the templates.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="KUBERNETES",type=string,JSONPath=`.spec.kubernetes`
// +kubebuilder:printcolumn:name="RESOURCESET",type=string,JSONPath=`.spec.resourceSet`
// +kubebuilder:printcolumn:name="STATE",type=string,JSONPath=`.spec.state`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^v[0-9]+[.][0-9]+[.][0-9]+(-[a-z0-9.-]+)?$')",message="use a version as the name, for example v1.36.3 or v1.36.3-acme.1"
type Release struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the content of the release.
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

// ReleaseState is whether new clusters should use a release.
//
// +kubebuilder:validation:Enum=Active;Deprecated
type ReleaseState string

// States.
const (
	// ReleaseActive is suitable for new clusters.
	ReleaseActive ReleaseState = "Active"
	// ReleaseDeprecated still works, but clusters that use it report that they should upgrade.
	ReleaseDeprecated ReleaseState = "Deprecated"
)

// ReleaseSpec is the content of a release. Only its state can change.
//
// +kubebuilder:validation:XValidation:rule="self.kubernetes == oldSelf.kubernetes && self.resourceSet == oldSelf.resourceSet",message="a release cannot change, except its state: create a new one"
// +kubebuilder:validation:XValidation:rule="has(self.components) == has(oldSelf.components) && (!has(self.components) || self.components == oldSelf.components)",message="components of a release cannot change: create a new one"
// +kubebuilder:validation:XValidation:rule="has(self.artifacts) == has(oldSelf.artifacts) && (!has(self.artifacts) || self.artifacts == oldSelf.artifacts)",message="artifacts of a release cannot change: create a new one"
// +kubebuilder:validation:XValidation:rule="self.images == oldSelf.images",message="images of a release cannot change: create a new one"
// +kubebuilder:validation:XValidation:rule="has(self.addons) == has(oldSelf.addons) && (!has(self.addons) || self.addons == oldSelf.addons)",message="addons of a release cannot change: create a new one"
type ReleaseSpec struct {
	// Kubernetes is the Kubernetes version, for example v1.36.3.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^v1[.][0-9]+[.][0-9]+$')",message="write a version of Kubernetes, for example v1.36.3"
	Kubernetes string `json:"kubernetes"`

	// ResourceSet is the version of the templates, for example 1.0.0.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+[.][0-9]+[.][0-9]+$')",message="write a version of the templates, for example 1.1.0"
	ResourceSet string `json:"resourceSet"`

	// State is whether new clusters should use the release: Active (the default) or Deprecated. It
	// is the only field that can change.
	// +optional
	// +kubebuilder:default=Active
	State ReleaseState `json:"state,omitempty"`

	// Components are the versions of components that are not artifacts, for example etcd, coredns,
	// pause, node-cache: tags of images.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Components map[string]string `json:"components,omitempty"`

	// Artifacts are the files that a node installs, in this order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Artifacts []Artifact `json:"artifacts,omitempty"`

	// Images are the machine images, by architecture.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=2
	// +kubebuilder:validation:XValidation:rule="self.all(a, a in ['amd64', 'arm64'])",message="the keys of images are architectures: use amd64 or arm64"
	Images map[Architecture]MachineImage `json:"images"`

	// Addons are the charts that the operator installs in every cluster, unless the cluster leaves
	// them out.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Addons []ReleaseAddon `json:"addons,omitempty"`
}

// ArtifactFormat is how a node installs a file.
//
// +kubebuilder:validation:Enum=Binary;TarGz
type ArtifactFormat string

// Formats.
const (
	// ArtifactBinary is an executable, installed unchanged.
	ArtifactBinary ArtifactFormat = "Binary"
	// ArtifactTarGz is an archive, unpacked below the path.
	ArtifactTarGz ArtifactFormat = "TarGz"
)

// Artifact is a file that a node installs.
type Artifact struct {
	// Name is the name of the artifact, for example kubelet.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Version is the version of the artifact, for information only.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`

	// Format is how the node installs the file: Binary (the default) installs it unchanged, TarGz
	// unpacks it.
	// +optional
	// +kubebuilder:default=Binary
	Format ArtifactFormat `json:"format,omitempty"`

	// Path is the absolute path at which the artifact is installed: a file for Binary, a directory
	// for TarGz.
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="write an absolute path"
	Path string `json:"path"`

	// Sources are the sources of the file, by architecture.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=2
	// +kubebuilder:validation:XValidation:rule="self.all(a, a in ['amd64', 'arm64'])",message="the keys of sources are architectures: use amd64 or arm64"
	Sources map[Architecture]ArtifactSource `json:"sources"`
}

// ArtifactSource is the file for one architecture.
//
// +kubebuilder:validation:XValidation:rule="has(self.sha256) != has(self.unverified)",message="give sha256, or say in unverified why it is not known"
type ArtifactSource struct {
	// URL is the https address of the file.
	// +required
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https'",message="write an https address"
	URL string `json:"url"`

	// SHA256 is the SHA-256 of the file, 64 lower-case hex digits. A node refuses a file with
	// another hash. It is required unless unverified is set.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{64}$')",message="write 64 lower-case hex digits"
	SHA256 string `json:"sha256,omitempty"`

	// Unverified is the reason why the hash is unknown.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Unverified string `json:"unverified,omitempty"`
}

// MachineImage is an AMI, by SSM parameter or by region.
//
// +kubebuilder:validation:XValidation:rule="has(self.parameter) != has(self.byRegion)",message="give parameter or byRegion"
type MachineImage struct {
	// Parameter is the name of a public SSM parameter whose value is the ID of the image.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="write the name of an SSM parameter that begins with a slash"
	Parameter string `json:"parameter,omitempty"`

	// ByRegion are the IDs of the images, by region.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(r, self[r].startsWith('ami-'))",message="write the IDs of AMIs, for example ami-0123456789abcdef0"
	ByRegion map[string]string `json:"byRegion,omitempty"`

	// User is the default user of the image, for which SSH keys are installed. The default is
	// ubuntu.
	// +optional
	// +kubebuilder:default=ubuntu
	// +kubebuilder:validation:MaxLength=32
	User string `json:"user,omitempty"`
}

// ReleaseAddon is a Helm chart of a release.
type ReleaseAddon struct {
	// Name is the name of the addon and of its Helm release.
	// +required
	// +kubebuilder:validation:MaxLength=53
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Namespace is the namespace in which the addon is installed. The default is kube-system.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Chart is the name of the chart in the repository, or an oci:// address.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Chart string `json:"chart"`

	// Repository is the https address of the chart repository. It is required if chart is a name.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Repository string `json:"repository,omitempty"`

	// Version is the version of the chart.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version"`

	// Digest is the SHA-256 of the chart's archive, 64 lower-case hex digits, as in the index.yaml
	// of a chart repository and in the chart layer of an OCI manifest. The operator refuses an
	// archive with another digest. If it is empty, the operator records the digest of the first
	// archive that a cluster uses in the cluster's status and requires it from then on.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{64}$')",message="write 64 lower-case hex digits"
	Digest string `json:"digest,omitempty"`

	// Optional leaves the addon out of clusters whose spec.addons does not name it. The default is
	// false.
	// +optional
	Optional bool `json:"optional,omitempty"`

	// PartOf is the name of an optional addon that needs this one: a cluster that gets it gets this
	// one, too. List this one first.
	// +optional
	// +kubebuilder:validation:MaxLength=53
	PartOf string `json:"partOf,omitempty"`

	// Replaces is the name of the addon that clusters with this optional one do not get. In a cluster in
	// which one of the two is installed, the operator refuses to change to the other.
	// +optional
	// +kubebuilder:validation:MaxLength=53
	Replaces string `json:"replaces,omitempty"`

	// Values are the Helm values of the chart. In their strings and keys, $(CLUSTER), $(REGION),
	// $(VPC), $(POD_CIDR) and $(SERVICE_CIDR) stand for the values of the cluster. An item of a list
	// with $(HOSTED_ZONE) is there once for each zone of the Cluster's spec.iam.hostedZones.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`

	// Patches change the manifests that the chart renders, for settings that the chart has no value
	// for.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Patches []AddonPatch `json:"patches,omitempty"`

	// WithRole is merged into the addon in clusters that have an IAM role for its service account.
	// From resource set 1.2.0 on, the operator creates such a role in clusters with
	// spec.serviceAccountIssuer for the addons aws-ebs-csi-driver and aws-load-balancer-controller,
	// and, with spec.iam.hostedZones, for external-dns and cert-manager. In the values, $(ROLE_ARN)
	// stands for the ARN of the role.
	// +optional
	WithRole *AddonVariant `json:"withRole,omitempty"`

	// WithoutRole is merged into the addon in clusters that have no IAM role for its service
	// account. An addon with withRole and without this field needs the role: clusters without it
	// cannot use the addon.
	// +optional
	WithoutRole *AddonVariant `json:"withoutRole,omitempty"`
}

// AddonVariant is the part of an addon that only some clusters have.
type AddonVariant struct {
	// Values are merged over the values of the addon.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`

	// Patches are applied after the patches of the addon.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Patches []AddonPatch `json:"patches,omitempty"`
}

// AddonPatch changes one of the manifests that a chart renders.
type AddonPatch struct {
	// Kind is the kind of the object to change, for example Deployment.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Name is the name of the object to change. The operator refuses a patch of an object that the
	// chart does not render.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Patch is merged into the object: as a strategic merge patch for built-in kinds, as a JSON
	// merge patch for others.
	// +required
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Patch runtime.RawExtension `json:"patch"`
}
