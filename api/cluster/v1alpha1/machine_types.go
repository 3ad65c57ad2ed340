package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ControlPlane configures the nodes that run etcd and the Kubernetes API. Each of them fills a
// slot, which has an etcd volume of its own.
//
// +kubebuilder:validation:XValidation:rule="(has(self.etcdVolume) && has(self.etcdVolume.sizeGiB) ? self.etcdVolume.sizeGiB : 20) >= (has(oldSelf.etcdVolume) && has(oldSelf.etcdVolume.sizeGiB) ? oldSelf.etcdVolume.sizeGiB : 20)",message="a volume cannot shrink: keep etcdVolume.sizeGiB, or raise it"
// +kubebuilder:validation:XValidation:rule="has(self.eks) == has(oldSelf.eks)",message="eks cannot be added or removed: create a new cluster"
type ControlPlane struct {
	// EKS lets Amazon EKS run the control plane, without slots. All other fields of controlPlane are
	// for slots: leave them out. It cannot be added or removed.
	// +optional
	EKS *EKS `json:"eks,omitempty"`

	// Replicas is the number of slots, 1, 3 or 5. It can change in a cluster that an operator runs, once
	// its API has been up. New slots join etcd one after another, slots that are removed leave it one
	// after another, the highest first, and then their volumes are deleted, with a last snapshot of
	// each. The nodes of the slots that stay are replaced one at a time. The default is 3. With 5, two
	// nodes may fail at once, and writes are slower.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:XValidation:rule="self == 1 || self == 3 || self == 5",message="use 1, 3 or 5 slots: etcd needs an odd number for its quorum"
	Replicas int32 `json:"replicas,omitempty"`

	// InstanceType is the instance type of the nodes. A change replaces the nodes one at a time.
	// +optional
	// +kubebuilder:default=m6i.large
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z][a-z0-9-]*[.][a-z0-9-]+$')",message="write an instance type, for example m6i.large"
	InstanceType string `json:"instanceType,omitempty"`

	// Zones are the zones of the slots, in order. If empty, the slots use the zones of the network.
	// Slots beyond the third use these zones again. A zone may be named twice. A change moves slots
	// to other zones one at a time: each gets a new instance and a new etcd volume, and the other
	// slots give it etcd's data. It requires 3 or 5 slots, an operator, and resource set 1.2.0.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=32
	Zones []string `json:"zones,omitempty"`

	// Image is the ID of the AMI to use instead of the release's. A change replaces the nodes one
	// at a time.
	// +optional
	// +kubebuilder:validation:MaxLength=21
	// +kubebuilder:validation:XValidation:rule="self.matches('^ami-([0-9a-f]{8}|[0-9a-f]{17})$')",message="write the ID of an AMI, for example ami-0123456789abcdef0"
	Image string `json:"image,omitempty"`

	// RootVolume is the root volume of the instances. The default is gp3 with 30 GiB. A change
	// replaces the nodes one at a time.
	// +optional
	RootVolume Volume `json:"rootVolume,omitempty"`

	// EtcdVolume is the volume that holds the data of etcd and outlives its instance. The default
	// is gp3 with 20 GiB. It changes in place. It can grow, but its file system does not grow with
	// it: run resize2fs on the node. It cannot shrink.
	// +optional
	EtcdVolume Volume `json:"etcdVolume,omitempty"`

	// RestoreSnapshot is the ID of an EBS snapshot of a slot's etcd volume from which to restore
	// the control plane. Setting or changing it replaces the etcd volumes of all slots with copies
	// of the snapshot; the API is unavailable meanwhile. It requires the annotation
	// cluster-operator.aws/allow: remove on the Cluster, since the existing volumes are deleted
	// (CloudFormation takes a final snapshot of each). Keep the value after the restore: if it is
	// removed, the operator stalls the Cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=22
	// +kubebuilder:validation:XValidation:rule="self.matches('^snap-([0-9a-f]{8}|[0-9a-f]{17})$')",message="write the ID of a snapshot, for example snap-0123456789abcdef0"
	RestoreSnapshot string `json:"restoreSnapshot,omitempty"`

	// Roll triggers one replacement of all nodes, one slot at a time, whenever it is set to a new
	// value: any text of up to 253 characters, for example a date or a ticket number. Removing it
	// replaces no nodes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Roll string `json:"roll,omitempty"`

	// Repair configures the replacement of unhealthy slots, one at a time and only while the others
	// serve.
	// +optional
	Repair SlotRepair `json:"repair,omitempty"`

	// SecurityGroups are the IDs of existing security groups to attach to the nodes in addition to
	// the cluster's. At most 4. A change replaces the nodes one at a time.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a security group twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(g, g.matches('^sg-([0-9a-f]{8}|[0-9a-f]{17})$'))",message="write the IDs of security groups, for example sg-0123456789abcdef0"
	SecurityGroups []string `json:"securityGroups,omitempty"`

	// Labels are added to the nodes. At most 32. A change replaces the nodes one at a time.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('cluster-operator.aws/'))",message="labels that begin with cluster-operator.aws/ are reserved for the operator: use another key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.startsWith('node.kubernetes.io/') || k.startsWith('kubelet.kubernetes.io/') || !(k.contains('kubernetes.io/') || k.contains('k8s.io/')))",message="kubelets may not set labels of kubernetes.io and k8s.io: use a key of your own domain, of node.kubernetes.io or of kubelet.kubernetes.io"
	// +kubebuilder:validation:XValidation:rule="!('node.kubernetes.io/instance-type' in self)",message="the label node.kubernetes.io/instance-type is set from the instance: leave it out"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 63)",message="a label has a key of at most 317 characters and a value of at most 63: shorten it"
	Labels map[string]string `json:"labels,omitempty"`

	// ExtraArgs are further arguments of the control plane's components. A change replaces the
	// nodes one at a time.
	// +optional
	ExtraArgs ExtraArgs `json:"extraArgs,omitempty"`

	// The files and units of slots override those of spec.nodes with the same path or name.
	NodeSetup `json:",inline"`
}

// Slots returns the number of slots: none if EKS runs the control plane.
func (c *ControlPlane) Slots() int32 {
	if c.EKS != nil {
		return 0
	}
	return c.Replicas
}

// SlotRepair configures when the instance of an unhealthy slot is replaced.
type SlotRepair struct {
	// Disabled keeps the operator from replacing unhealthy slots. The default is false.
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// After is how long the node of a slot must be unhealthy or missing before its instance is
	// replaced, 10s to 24h. The default is 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:XValidation:rule="self >= duration('10s') && self <= duration('24h')",message="use 10s to 24h"
	After *metav1.Duration `json:"after,omitempty"`
}

// ExtraArgs are further arguments, by name without dashes.
type ExtraArgs struct {
	// APIServer are arguments of kube-apiserver.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('-'))",message="write arguments without dashes, for example v, not --v"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['advertise-address', 'etcd-servers', 'secure-port', 'service-account-issuer', 'service-cluster-ip-range']))",message="advertise-address, etcd-servers, secure-port, service-account-issuer, service-cluster-ip-range are set by the operator: leave them out"
	APIServer map[string]string `json:"apiServer,omitempty"`

	// ControllerManager are arguments of kube-controller-manager.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('-'))",message="write arguments without dashes, for example v, not --v"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['cloud-provider', 'cluster-cidr', 'service-cluster-ip-range']))",message="cloud-provider, cluster-cidr, service-cluster-ip-range are set by the operator: leave them out"
	ControllerManager map[string]string `json:"controllerManager,omitempty"`

	// Scheduler are arguments of kube-scheduler.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('-'))",message="write arguments without dashes, for example v, not --v"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['kubeconfig']))",message="kubeconfig is set by the operator: leave it out"
	Scheduler map[string]string `json:"scheduler,omitempty"`

	// Etcd are arguments of etcd.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('-'))",message="write arguments without dashes, for example v, not --v"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['name', 'data-dir', 'initial-cluster', 'initial-cluster-state', 'initial-cluster-token', 'initial-advertise-peer-urls', 'advertise-client-urls', 'listen-peer-urls', 'listen-client-urls']))",message="name, data-dir, initial-cluster, initial-cluster-state, initial-cluster-token, initial-advertise-peer-urls, advertise-client-urls, listen-peer-urls, listen-client-urls are set by the operator: leave them out"
	Etcd map[string]string `json:"etcd,omitempty"`
}

// VolumeType is an EBS volume type.
//
// +kubebuilder:validation:Enum=gp3;io2
type VolumeType string

// Volume types.
const (
	// VolumeGP3 is General Purpose SSD.
	VolumeGP3 VolumeType = "gp3"
	// VolumeIO2 is Provisioned IOPS SSD.
	VolumeIO2 VolumeType = "io2"
)

// Volume is an EBS volume. It is always encrypted.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'io2' || !has(self.throughputMiBps)",message="the throughput of an io2 volume follows from its IOPS: leave out throughputMiBps"
// +kubebuilder:validation:XValidation:rule="has(self.type) && self.type == 'io2' || !has(self.iops) || self.iops >= 3000 && self.iops <= 80000",message="a gp3 volume has 3000 to 80000 IOPS: use a value in this range, or type io2"
// +kubebuilder:validation:XValidation:rule="!has(self.throughputMiBps) || self.throughputMiBps * 4 <= (has(self.iops) ? self.iops : 3000)",message="a gp3 volume needs 4 IOPS for each MiB a second: raise iops, or lower throughputMiBps"
type Volume struct {
	// Type is the type of the volume: gp3 (the default) or io2.
	// +optional
	Type VolumeType `json:"type,omitempty"`

	// SizeGiB is the size of the volume in GiB, 1 to 65536.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	SizeGiB int32 `json:"sizeGiB,omitempty"`

	// IOPS is the number of I/O operations per second. The default is 3000. A gp3 volume supports
	// 3000 to 80000, an io2 volume 100 to 256000.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=256000
	IOPS int32 `json:"iops,omitempty"`

	// ThroughputMiBps is the throughput in MiB per second, 125 to 2000, and at most a quarter of
	// the IOPS. It applies to gp3 only. The default is 125.
	// +optional
	// +kubebuilder:validation:Minimum=125
	// +kubebuilder:validation:Maximum=2000
	ThroughputMiBps int32 `json:"throughputMiBps,omitempty"`
}

// Bastion is a group of instances through which users reach the nodes by SSH.
type Bastion struct {
	// InstanceType is the instance type of the bastions.
	// +optional
	// +kubebuilder:default=t3.micro
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z][a-z0-9-]*[.][a-z0-9-]+$')",message="write an instance type, for example t3.micro"
	InstanceType string `json:"instanceType,omitempty"`

	// Replicas is the number of bastions, 1 to 10.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Replicas int32 `json:"replicas,omitempty"`

	// AllowedCIDRs are the IPv4 ranges from which users may log in to the bastions, at most 50. The
	// default is ssh.allowedCIDRs of the cluster. A change takes effect in place.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="self.all(c, isCIDR(c) && cidr(c).ip().family() == 4)",message="write IPv4 ranges, for example 192.0.2.0/24"
	// +kubebuilder:validation:XValidation:rule="self.all(c, !isCIDR(c) || cidr(c).masked() == cidr(c))",message="a range has host bits set: write, for example, 192.0.2.0/24, not 192.0.2.7/24"
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a range twice: name each once"
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`
}

// SSH configures SSH access to the nodes.
type SSH struct {
	// AuthorizedKeys are public keys of users who may log in as the image's default user, at most
	// 16. A change replaces all nodes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh.com|sk-ecdsa-sha2-nistp256@openssh.com) [A-Za-z0-9+/]+=*( .*)?$'))",message="write public keys in one line as in authorized_keys, for example ssh-ed25519 AAAAC3… someone@example.com"
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a key twice: name each once"
	AuthorizedKeys []string `json:"authorizedKeys,omitempty"`

	// AllowedCIDRs are the IPv4 ranges from which users may reach the nodes by SSH, at most 50. If
	// empty, none may. A change takes effect in place.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="self.all(c, isCIDR(c) && cidr(c).ip().family() == 4)",message="write IPv4 ranges, for example 192.0.2.0/24"
	// +kubebuilder:validation:XValidation:rule="self.all(c, !isCIDR(c) || cidr(c).masked() == cidr(c))",message="a range has host bits set: write, for example, 192.0.2.0/24, not 192.0.2.7/24"
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a range twice: name each once"
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`
}

// NodeIAM configures further permissions of nodes.
type NodeIAM struct {
	// ControlPlanePolicies are the ARNs of policies to attach to the IAM role of the control
	// plane's nodes, at most 10. A change updates the role in place.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a policy twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(a, a.matches('^arn:aws(-cn|-us-gov)?:iam::([0-9]{12}|aws):policy/.+$'))",message="write the ARNs of IAM policies, for example arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
	ControlPlanePolicies []string `json:"controlPlanePolicies,omitempty"`

	// WorkerPolicies are the ARNs of policies to attach to the IAM role of the workers, at most 10.
	// A change updates the role in place.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a policy twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(a, a.matches('^arn:aws(-cn|-us-gov)?:iam::([0-9]{12}|aws):policy/.+$'))",message="write the ARNs of IAM policies, for example arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
	WorkerPolicies []string `json:"workerPolicies,omitempty"`

	// ImageRepositories are the ECR repositories from which nodes may pull images, at most 16:
	// names of repositories in the cluster's account, in any region, or ARNs. The wildcard *
	// matches any characters. If empty, nodes may pull from the repositories of the account that
	// have the tag kubernetes.io/cluster/<cluster> with the value owned or shared; clusters with a
	// resource set before 1.2.0 may pull from all repositories of the account. A change updates the
	// roles in place.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=100
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a repository twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(a, a.matches('^(arn:aws(-cn|-us-gov)?:ecr:[a-z0-9*-]+:[0-9]{12}:repository/)?[a-z0-9*][a-z0-9*._/-]*$'))",message="write names or ARNs of ECR repositories, for example team/* or arn:aws:ecr:*:123456789012:repository/team/*"
	ImageRepositories []string `json:"imageRepositories,omitempty"`

	// HostedZones are the IDs of the Route 53 zones whose records the addons external-dns and
	// cert-manager may change, at most 10. cert-manager may change only TXT records of
	// _acme-challenge names. A change updates the roles in place.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.all(z, z.matches('^Z[A-Z0-9]+$'))",message="write IDs of hosted zones, for example Z0123456789ABCDEFGHIJ"
	HostedZones []string `json:"hostedZones,omitempty"`

	// PermissionsBoundary is the ARN of the permissions boundary of every role that the operator
	// creates. A change updates the roles in place.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^arn:aws(-cn|-us-gov)?:iam::([0-9]{12}|aws):policy/.+$')",message="write the ARN of an IAM policy, for example arn:aws:iam::123456789012:policy/boundary"
	PermissionsBoundary string `json:"permissionsBoundary,omitempty"`
}

// ServiceAccountIssuer configures where the keys of service accounts are published.
type ServiceAccountIssuer struct {
	// URL is the https URL at which the documents are published. If empty, the operator publishes
	// them in a bucket of their own (before resource set 1.2.0, in the cluster's bucket). Set it
	// where the account blocks public bucket policies. If the operator publishes the documents at
	// the URL, it must have no path. A change replaces the control plane's nodes one at a time.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHost().size() > 0 && url(self).getQuery().size() == 0 && !self.endsWith('/')",message="write an https URL without a query or a trailing slash, for example https://oidc.example.com/demo"
	URL string `json:"url,omitempty"`
}
