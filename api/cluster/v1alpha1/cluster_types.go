package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Cluster is a Kubernetes cluster on AWS: its network, its control plane, and the settings that its
// nodes share. InstanceGroups that name it provide its worker nodes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=aws
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1alpha1"}
// +kubebuilder:printcolumn:name="RELEASE",type=string,JSONPath=`.spec.release`
// +kubebuilder:printcolumn:name="VERSION",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="NODES",type=string,JSONPath=`.status.nodes.summary`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="REGION",type=string,priority=1,JSONPath=`.spec.region`
// +kubebuilder:printcolumn:name="ENDPOINT",type=string,priority=1,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="DRIFTED",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Drifted")].status`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="stacks, a zone and a bucket are named after the cluster: use a name of at most 40 lower-case letters, digits and hyphens that begins with a letter"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.matches('^internal(-.*)?$')",message="the API's load balancer is named after the cluster, and AWS rejects load balancers whose names begin with internal-: use another name"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.matches('^sg(-.*)?$')",message="security groups are named after the cluster, and AWS rejects those whose names begin with sg-: use another name"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.matches('^(xn--.*|(sthree|amzn-s3-demo)(-.*)?)$')",message="a bucket is named after the cluster, and AWS rejects buckets whose names begin with xn--, sthree- or amzn-s3-demo-: use another name"
// +kubebuilder:validation:XValidation:rule="self.spec.controlPlane.replicas == oldSelf.spec.controlPlane.replicas || has(self.status) && has(self.status.version)",message="replicas can change only in a cluster that an operator runs, and whose API has been up: set it back, or wait",fieldPath=".spec.controlPlane.replicas"
// +kubebuilder:validation:XValidation:rule="has(self.spec.controlPlane.zones) && self.spec.controlPlane.replicas > 1 && oldSelf.spec.controlPlane.replicas > 1 && has(self.status) && has(self.status.version) || (has(self.spec.controlPlane.zones) ? self.spec.controlPlane.zones[0] == (has(oldSelf.spec.controlPlane.zones) ? oldSelf.spec.controlPlane.zones[0] : has(oldSelf.spec.network.zones) ? oldSelf.spec.network.zones[0] : oldSelf.spec.network.subnets.filter(n, n.role == oldSelf.spec.network.topology)[0].zone) : has(self.spec.network.zones) ? self.spec.network.zones[0] == (has(oldSelf.spec.controlPlane.zones) ? oldSelf.spec.controlPlane.zones[0] : has(oldSelf.spec.network.zones) ? oldSelf.spec.network.zones[0] : oldSelf.spec.network.subnets.filter(n, n.role == oldSelf.spec.network.topology)[0].zone) : self.spec.network.subnets.exists(s, s.id == self.spec.network.subnets.filter(n, n.role == self.spec.network.topology)[0].id && s.zone == (has(oldSelf.spec.controlPlane.zones) ? oldSelf.spec.controlPlane.zones[0] : has(oldSelf.spec.network.zones) ? oldSelf.spec.network.zones[0] : oldSelf.spec.network.subnets.filter(n, n.role == oldSelf.spec.network.topology)[0].zone))) && (self.spec.controlPlane.replicas == 1 || oldSelf.spec.controlPlane.replicas == 1 || (has(self.spec.controlPlane.zones) ? self.spec.controlPlane.zones[1 % self.spec.controlPlane.zones.size()] == (has(oldSelf.spec.controlPlane.zones) ? oldSelf.spec.controlPlane.zones[1 % oldSelf.spec.controlPlane.zones.size()] : has(oldSelf.spec.network.zones) ? oldSelf.spec.network.zones[1 % oldSelf.spec.network.zones.size()] : oldSelf.spec.network.subnets.filter(n, n.role == oldSelf.spec.network.topology)[1 % oldSelf.spec.network.subnets.filter(n, n.role == oldSelf.spec.network.topology).size()].zone) : has(self.spec.network.zones) ? self.spec.network.zones[1 % self.spec.network.zones.size()] == (has(oldSelf.spec.controlPlane.zones) ? oldSelf.spec.controlPlane.zones[1 % oldSelf.spec.controlPlane.zones.size()] : has(oldSelf.spec.network.zones) ? oldSelf.spec.network.zones[1 % oldSelf.spec.network.zones.size()] : oldSelf.spec.network.subnets.filter(n, n.role == oldSelf.spec.network.topology)[1 % oldSelf.spec.network.subnets.filter(n, n.role == oldSelf.spec.network.topology).size()].zone) : self.spec.network.subnets.exists(s, s.id == self.spec.network.subnets.filter(n, n.role == self.spec.network.topology)[1 % self.spec.network.subnets.filter(n, n.role == self.spec.network.topology).size()].id && s.zone == (has(oldSelf.spec.controlPlane.zones) ? oldSelf.spec.controlPlane.zones[1 % oldSelf.spec.controlPlane.zones.size()] : has(oldSelf.spec.network.zones) ? oldSelf.spec.network.zones[1 % oldSelf.spec.network.zones.size()] : oldSelf.spec.network.subnets.filter(n, n.role == oldSelf.spec.network.topology)[1 % oldSelf.spec.network.subnets.filter(n, n.role == oldSelf.spec.network.topology).size()].zone))) && (has(self.spec.controlPlane.zones) ? self.spec.controlPlane.zones[2 % self.spec.controlPlane.zones.size()] == (has(oldSelf.spec.controlPlane.zones) ? oldSelf.spec.controlPlane.zones[2 % oldSelf.spec.controlPlane.zones.size()] : has(oldSelf.spec.network.zones) ? oldSelf.spec.network.zones[2 % oldSelf.spec.network.zones.size()] : oldSelf.spec.network.subnets.filter(n, n.role == oldSelf.spec.network.topology)[2 % oldSelf.spec.network.subnets.filter(n, n.role == oldSelf.spec.network.topology).size()].zone) : has(self.spec.network.zones) ? self.spec.network.zones[2 % self.spec.network.zones.size()] == (has(oldSelf.spec.controlPlane.zones) ? oldSelf.spec.controlPlane.zones[2 % oldSelf.spec.controlPlane.zones.size()] : has(oldSelf.spec.network.zones) ? oldSelf.spec.network.zones[2 % oldSelf.spec.network.zones.size()] : oldSelf.spec.network.subnets.filter(n, n.role == oldSelf.spec.network.topology)[2 % oldSelf.spec.network.subnets.filter(n, n.role == oldSelf.spec.network.topology).size()].zone) : self.spec.network.subnets.exists(s, s.id == self.spec.network.subnets.filter(n, n.role == self.spec.network.topology)[2 % self.spec.network.subnets.filter(n, n.role == self.spec.network.topology).size()].id && s.zone == (has(oldSelf.spec.controlPlane.zones) ? oldSelf.spec.controlPlane.zones[2 % oldSelf.spec.controlPlane.zones.size()] : has(oldSelf.spec.network.zones) ? oldSelf.spec.network.zones[2 % oldSelf.spec.network.zones.size()] : oldSelf.spec.network.subnets.filter(n, n.role == oldSelf.spec.network.topology)[2 % oldSelf.spec.network.subnets.filter(n, n.role == oldSelf.spec.network.topology).size()].zone))))",message="a slot moves to another zone only by controlPlane.zones, in a cluster with 3 or 5 slots that an operator runs and whose API has been up, since the other slots give it its data: set controlPlane.zones to the zones that the slots are in, slot by slot, or controlPlane.replicas to 3 first",fieldPath=".spec.controlPlane.zones"
// +kubebuilder:validation:XValidation:rule="!(self.metadata.name in ['ec2', 'compute'])",message="the cluster's zone would be ec2.internal or compute.internal, which would hide AWS's own names of instances: use another name"
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state of the cluster.
	Spec ClusterSpec `json:"spec"`

	// Status is the observed state of the cluster.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	// +structType=atomic
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterList is a list of clusters.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the clusters.
	Items []Cluster `json:"items"`
}

// ClusterSpec is the desired state of a cluster.
//
// The API server evaluates its rules on every write, status updates included, and the number of
// field reads dominates their cost. So a rule reads a field that it needs often once, and compares
// a value as a whole before its parts.
//
// +kubebuilder:validation:XValidation:rule="has(self.role) == has(oldSelf.role) && (!has(self.role) || self.role.arn == oldSelf.role.arn)",message="role cannot change, since it determines the account: create a new cluster"
// +kubebuilder:validation:XValidation:rule="!has(self.network.zones) || [self.region].all(r, self.network.zones.all(z, z.startsWith(r) && z.size() == r.size() + 1 && z.matches('[a-h]$')))",message="network.zones has a zone of another region: write the region and a letter from a to h, for example eu-central-1a"
// +kubebuilder:validation:XValidation:rule="!has(self.network.subnets) || self.network.subnets.all(s, s.zone.startsWith(self.region) && s.zone.size() == self.region.size() + 1 && s.zone.matches('[a-h]$'))",message="network.subnets has a zone of another region: write the region and a letter from a to h, for example eu-central-1a"
// +kubebuilder:validation:XValidation:rule="!has(self.controlPlane.zones) || self.controlPlane.zones.all(z, has(self.network.zones) && z in self.network.zones || has(self.network.subnets) && self.network.subnets.exists(s, s.zone == z && s.role == self.network.topology))",message="controlPlane.zones has a zone in which the network has no subnet for nodes: name zones of the network, or add it there"
// +kubebuilder:validation:XValidation:rule="!has(self.network.subnets) || self.api.access != 'Public' || self.network.subnets.exists(s, s.role == 'Public')",message="the API is public, and network.subnets has no public subnet: add one with role Public, or set api.access to Internal"
// +kubebuilder:validation:XValidation:rule="!has(self.network.subnets) || !has(self.bastion) || self.network.subnets.exists(s, s.role == 'Public')",message="there is a bastion, and network.subnets has no public subnet: add one with role Public, or leave out bastion"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.release) || has(self.release)",message="release cannot be removed: name one of kubectl get releases"
// +kubebuilder:validation:XValidation:rule="!has(self.certificates) || !has(self.certificates.kubeletServing) || self.certificates.kubeletServing != 'Verified' || has(oldSelf.certificates) && has(oldSelf.certificates.kubeletServing) && oldSelf.certificates.kubeletServing != 'SelfSigned'",message="kubelets have no certificates that API servers could verify: set certificates.kubeletServing to Issued, and to Verified when all nodes are replaced",fieldPath=".certificates.kubeletServing"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.certificates) || !has(oldSelf.certificates.kubeletServing) || oldSelf.certificates.kubeletServing != 'Verified' || has(self.certificates) && has(self.certificates.kubeletServing) && self.certificates.kubeletServing != 'SelfSigned'",message="the API servers still verify kubelets: set certificates.kubeletServing to Issued, and remove it when the control plane's nodes are replaced",fieldPath=".certificates"
type ClusterSpec struct {
	// Release is the name of the Release whose component versions the cluster runs, for example
	// v1.36.3. A change replaces the control plane's nodes one at a time, then the nodes of the
	// instance groups. A cluster without a release is not created until a user or a Fleet sets one.
	// Once set, it cannot be removed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Release string `json:"release,omitempty"`

	// Region is the AWS region of the cluster, for example eu-central-1. It cannot change.
	// +required
	// +kubebuilder:validation:MaxLength=31
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]{2}(-[a-z]+)+-[0-9]+$')",message="write an AWS region, for example eu-central-1"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="region cannot change: create a new cluster in the other region"
	Region string `json:"region"`

	// Identity is the name of the AWSIdentity with which the operator manages the cluster. The
	// default is the one that the namespace names by the annotation or label aws-operator/identity,
	// or else the operator's own credentials. The region must be one of the identity's.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Identity string `json:"identity,omitempty"`

	// Role is the IAM role that the operator assumes to manage the cluster in another account. If
	// empty, the cluster is in the operator's own account. The ARN cannot change.
	// +optional
	Role *AssumedRole `json:"role,omitempty"`

	// Network is the VPC of the cluster and its subnets.
	// +required
	Network Network `json:"network"`

	// API configures access to the Kubernetes API.
	// +optional
	// +kubebuilder:default={access: Public}
	API APIEndpoint `json:"api,omitempty"`

	// DNS is a name for the API in a public hosted zone. If empty, clients use the DNS name of the
	// load balancer. Setting it, or changing its name, replaces the control plane's nodes one at a
	// time, since their certificates contain the name.
	// +optional
	DNS *DNS `json:"dns,omitempty"`

	// ControlPlane configures the nodes that run etcd and the Kubernetes API.
	// +optional
	// +kubebuilder:default={replicas: 3}
	ControlPlane ControlPlane `json:"controlPlane,omitempty"`

	// Backup configures the backups of etcd: the snapshots of the etcd volumes that the operator
	// takes, and those that the control plane's nodes put into the cluster's bucket.
	// +optional
	Backup EtcdBackup `json:"backup,omitempty"`

	// Bastion is a group of instances through which users reach the nodes by SSH. If empty, the
	// cluster has no bastion. It can be added and removed in place.
	// +optional
	Bastion *Bastion `json:"bastion,omitempty"`

	// SSH configures SSH access to the nodes.
	// +optional
	SSH SSH `json:"ssh,omitempty"`

	// IAM configures further permissions of the nodes.
	// +optional
	IAM NodeIAM `json:"iam,omitempty"`

	// Nodes adds files and systemd units to all nodes, but not to bastions. Those of controlPlane and
	// of an instance group override them by path or name. A change replaces all nodes.
	// +optional
	Nodes NodeSetup `json:"nodes,omitzero"`

	// ServiceAccountIssuer publishes the keys that verify the cluster's service-account tokens, so
	// that IAM roles can trust its service accounts. If empty, the cluster publishes none. A change
	// of the issuer's URL replaces the control plane's nodes one at a time.
	// +optional
	ServiceAccountIssuer *ServiceAccountIssuer `json:"serviceAccountIssuer,omitempty"`

	// Certificates configures the cluster's certificate authorities (CAs) and keys.
	// +optional
	Certificates *Certificates `json:"certificates,omitempty"`

	// Addons add addons to those of the release, change them, or leave them out. A change takes
	// effect in the running cluster and replaces no nodes.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Addons []Addon `json:"addons,omitempty"`

	// Tags are added to all AWS resources of the cluster. At most 40. A change updates the
	// resources in place.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=40
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('aws:') && !k.startsWith('AWS:'))",message="tags that begin with aws: are reserved for AWS: use another key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('kubernetes.io/cluster/') && !k.startsWith('cluster-operator.aws/'))",message="tags that begin with kubernetes.io/cluster/ or cluster-operator.aws/ are reserved for the operator: use another key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() >= 1 && k.size() <= 128 && self[k].size() <= 256)",message="a tag has a key of 1 to 128 characters and a value of at most 256: shorten it"
	Tags map[string]string `json:"tags,omitempty"`

	// Paused stops the operator from changing or deleting the cluster and its instance groups. The
	// default is false. While it is true, the operator does not renew the bootstrap token either:
	// within a day, new workers can no longer join.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// UpdatePolicy is whether the operator applies changes of the cluster's stacks at once
	// (Automatic, the default) or only after a user approves them (Manual).
	// +optional
	// +kubebuilder:default=Automatic
	UpdatePolicy UpdatePolicy `json:"updatePolicy,omitempty"`

	// VolumePolicy is whether the volumes of persistent volume claims are kept (Retain, the
	// default) or deleted (Delete) when the cluster is deleted.
	// +optional
	// +kubebuilder:default=Retain
	VolumePolicy VolumePolicy `json:"volumePolicy,omitempty"`

	// ControlPlaneEndpoint is the address of the Kubernetes API, for Cluster API. The operator sets
	// it in clusters that a Cluster of Cluster API owns; leave it out. The operator does not read it.
	// +optional
	ControlPlaneEndpoint *ControlPlaneEndpoint `json:"controlPlaneEndpoint,omitempty"`
}

// Certificates configures the certificate authorities (CAs) and keys of a cluster.
type Certificates struct {
	// Rotate triggers one rotation of all CAs and of the service-account key whenever it is set to a
	// new value: any text of up to 253 characters, for example a date or a ticket number. A rotation
	// replaces the nodes of the control plane three times and those of instance groups twice, each
	// time as an upgrade does. Kubeconfigs and service-account tokens from before it are refused at
	// its end. Removing the value has no effect, and a rotation that has begun continues.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Rotate string `json:"rotate,omitempty"`

	// RotateBefore triggers a rotation when the first CA expires in less than this time, 720h (30
	// days) to 43800h (5 years). By default, only rotate triggers one. It has no effect on clusters
	// that no operator manages.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:XValidation:rule="self >= duration('720h') && self <= duration('43800h')",message="use 720h to 43800h"
	RotateBefore *metav1.Duration `json:"rotateBefore,omitempty"`

	// KubeletServing is who issues the certificates that kubelets serve with. By default (SelfSigned),
	// each kubelet signs its own. With Issued, kubelets request them from the cluster's CA, and slots
	// approve requests for the names and addresses that EC2 reports of the instance. With Verified, the
	// API servers and metrics-server also verify them, so that nothing between them and a kubelet can
	// read or change logs, exec sessions and metrics. Setting Issued, or removing it, replaces all
	// nodes. A change between Issued and Verified replaces the control plane's nodes one at a time. An
	// existing cluster needs Issued before Verified, until all nodes are replaced. It requires resource
	// set 1.2.0: move to such a release first.
	// +optional
	KubeletServing KubeletServing `json:"kubeletServing,omitempty"`
}

// EtcdBackup configures the backups of etcd. Snapshots of the etcd volumes are enabled by default,
// but only a running operator takes them.
type EtcdBackup struct {
	// Disabled stops the operator from taking snapshots. The default is false. It does not delete
	// existing snapshots. It has no effect on bucket.
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// Interval is the time between two backups, 15m to 168h. The default is 6h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:XValidation:rule="self >= duration('15m') && self <= duration('168h')",message="use 15m to 168h"
	Interval *metav1.Duration `json:"interval,omitempty"`

	// Keep is the number of backups to keep, 1 to 500. The default is 28. The operator deletes
	// older ones.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	Keep int32 `json:"keep,omitempty"`

	// Bucket makes the control plane's nodes back up etcd to the cluster's bucket, in turns, below
	// backups/etcd/. It needs no operator: it is for clusters of Terraform or of a state in a folder
	// or a bucket. If empty, the nodes take no backups. Setting, changing or removing it replaces the
	// control plane's nodes one at a time. Existing backups stay if it is removed.
	// +optional
	Bucket *BucketBackup `json:"bucket,omitempty"`
}

// BucketBackup configures the backups of etcd in the cluster's bucket.
type BucketBackup struct {
	// Interval is the time between two backups, 15m to 168h. The default is 6h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:XValidation:rule="self >= duration('15m') && self <= duration('168h')",message="use 15m to 168h"
	Interval *metav1.Duration `json:"interval,omitempty"`

	// Keep is the number of backups to keep, 1 to 500. The default is 28. The node that makes a
	// backup deletes older ones.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	Keep int32 `json:"keep,omitempty"`
}

// AssumedRole is an IAM role that the operator assumes.
type AssumedRole struct {
	// ARN is the ARN of the role. It cannot change, since it determines the account of the cluster.
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^arn:aws(-cn|-us-gov)?:iam::[0-9]{12}:role/.+$')",message="write the ARN of a role, for example arn:aws:iam::123456789012:role/clusters"
	ARN string `json:"arn"`

	// ExternalID is the external ID that the role's trust policy requires, 2 to 1224 characters.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=1224
	ExternalID string `json:"externalID,omitempty"`
}

// Addon adds an addon, or changes or leaves out an addon of the release.
//
// +kubebuilder:validation:XValidation:rule="!has(self.chart) || has(self.version)",message="chart needs a version: pin one"
// +kubebuilder:validation:XValidation:rule="!has(self.chart) || self.chart.startsWith('oci://') || has(self.repository)",message="chart is a name: give its repository, or write an oci:// address"
// +kubebuilder:validation:XValidation:rule="!has(self.repository) || has(self.chart)",message="repository is for a chart of your own: give chart as well"
// +kubebuilder:validation:XValidation:rule="!has(self.disabled) || !self.disabled || !has(self.chart)",message="disabled leaves out an addon of the release: leave out chart, or disabled"
type Addon struct {
	// Name is the name of the addon and of its Helm release.
	// +required
	// +kubebuilder:validation:MaxLength=53
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="write lower-case letters, digits and hyphens, as in names of Helm releases"
	Name string `json:"name"`

	// Disabled leaves out an addon of the release. The default is false.
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// Namespace is the namespace in which the addon is installed. The default is kube-system.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="write the name of a namespace"
	Namespace string `json:"namespace,omitempty"`

	// Chart is the name of a chart in the repository, or the oci:// address of a chart. It is
	// required for addons that are not part of the release.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Chart string `json:"chart,omitempty"`

	// Repository is the https address of the chart repository. It is required if chart is a name.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https'",message="write the https address of a chart repository"
	Repository string `json:"repository,omitempty"`

	// Version is the version of the chart. It is required if chart is set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`

	// Digest is the SHA-256 of the chart's archive, 64 lower-case hex digits, as in the index.yaml
	// of a chart repository and in the chart layer of an OCI manifest. The operator refuses an
	// archive with another digest. If neither this field nor the release has a digest for the
	// version, the operator records the digest of the first archive that it uses in the status and
	// requires it from then on.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{64}$')",message="write 64 lower-case hex digits"
	Digest string `json:"digest,omitempty"`

	// Values are Helm values, merged over those of the release.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`

	// Patches change the manifests that the chart renders, for settings that the chart has no value
	// for. The operator applies them after the patches of the release.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Patches []AddonPatch `json:"patches,omitempty"`
}

// UpdatePolicy is whether changes require approval.
//
// +kubebuilder:validation:Enum=Automatic;Manual
type UpdatePolicy string

// Update policies.
const (
	// UpdateAutomatic applies changes at once.
	UpdateAutomatic UpdatePolicy = "Automatic"
	// UpdateManual waits for a user to approve each change of an existing stack.
	UpdateManual UpdatePolicy = "Manual"
)

// VolumePolicy is what happens to persistent volumes when the cluster is deleted.
//
// +kubebuilder:validation:Enum=Retain;Delete
type VolumePolicy string

// Volume policies.
const (
	// VolumesRetain keeps the volumes.
	VolumesRetain VolumePolicy = "Retain"
	// VolumesDelete deletes the volumes with the cluster.
	VolumesDelete VolumePolicy = "Delete"
)
