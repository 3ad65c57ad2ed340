package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Audit configures the audit log of the API servers. Each control plane node has a log of its own,
// /var/log/kubernetes/audit/audit.log, with a JSON object in each line.
type Audit struct {
	// Policy says which requests are logged, and with how much detail. It is a Policy of
	// audit.k8s.io/v1, with or without its apiVersion and kind:
	// https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/. If empty, the metadata of
	// all requests is logged, without bodies and so without Secrets, except for reads of Events,
	// leases, health checks and the API's own description.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Policy *runtime.RawExtension `json:"policy,omitempty"`

	// MaxAge is how many days a rotated file is kept, 1 to 3650. The default is 30.
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	MaxAge int32 `json:"maxAge,omitempty"`

	// MaxBackups is how many rotated files are kept, 1 to 1000. The default is 10.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxBackups int32 `json:"maxBackups,omitempty"`

	// MaxSize is the size in MiB at which a file is rotated, 1 to 10240. The default is 100. The
	// root volume needs room for the current file and maxBackups others.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10240
	MaxSize int32 `json:"maxSize,omitempty"`

	// Ship makes each control plane node ship its log to a bucket, where it can add objects, but
	// neither replace nor delete them. If empty, the log stays on the nodes, and is lost with them.
	// Setting, changing or removing it replaces the control plane's nodes one at a time. Existing
	// objects stay if it is removed.
	// +optional
	Ship *AuditShipping `json:"ship,omitempty"`
}

// AuditShipping configures the bucket to which control plane nodes ship their audit logs.
//
// +kubebuilder:validation:XValidation:rule="has(self.bucket) || !has(self.prefix) && !has(self.account) && !has(self.kmsKeyARN)",message="prefix, account and kmsKeyARN are for a bucket of yours: name it in bucket, or leave them out"
type AuditShipping struct {
	// Bucket is the name of a bucket of yours in the cluster's region. The default is the cluster's
	// own bucket, which is deleted with the cluster.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9][a-z0-9.-]*[a-z0-9]$')",message="write the name of a bucket: lower-case letters, digits, dots and hyphens"
	Bucket string `json:"bucket,omitempty"`

	// Account is the ID of the account that owns the bucket. The default is the cluster's account.
	// Nodes ship nothing to a bucket of that name of another account.
	// +optional
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{12}$')",message="write the 12 digits of an account's ID"
	Account string `json:"account,omitempty"`

	// Prefix begins the keys of the objects, with a slash at its end. The default is audit/. The
	// names of the cluster and the slot, and the time, follow it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9._-]+/)+$')",message="write letters, digits, dots, hyphens and underscores with slashes after them, for example logs/kubernetes/"
	Prefix string `json:"prefix,omitempty"`

	// KMSKeyARN is the ARN of the KMS key with which the bucket encrypts objects, if that is a key of
	// yours. It lets the nodes use the key for this.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^arn:aws(-cn|-us-gov)?:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$')",message="write the ARN of a KMS key, for example arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	KMSKeyARN string `json:"kmsKeyARN,omitempty"`

	// Every is the longest time that a line waits before it is shipped, 10s to 1h. The default is 1m.
	// It is shipped earlier when 5 MiB wait, and when the file is rotated.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:XValidation:rule="self >= duration('10s') && self <= duration('1h')",message="use 10s to 1h"
	Every *metav1.Duration `json:"every,omitempty"`
}

// Encryption configures the encryption of resources in etcd. The API server of each control plane
// node encrypts each object with a key of its own, derived from a seed that AWS KMS encrypts:
// https://kubernetes.io/docs/tasks/administer-cluster/kms-provider/. The encryption context has the
// names of the cluster and its account.
//
// +kubebuilder:validation:XValidation:rule="has(self.kmsKeyARN) == has(oldSelf.kmsKeyARN) && (!has(self.kmsKeyARN) || self.kmsKeyARN == oldSelf.kmsKeyARN)",message="kmsKeyARN cannot change, since nodes are replaced one at a time, and API servers with one key cannot read what those with another encrypt: set it back, or create a new cluster; KMS rotates a key without a change of its ARN",fieldPath=".kmsKeyARN"
// +kubebuilder:validation:XValidation:rule="has(self.resources) == has(oldSelf.resources) && (!has(self.resources) || self.resources == oldSelf.resources)",message="resources cannot change, since nodes are replaced one at a time, and API servers that do not encrypt a resource cannot read what others encrypt: set it back, or create a new cluster",fieldPath=".resources"
type Encryption struct {
	// KMSKeyARN is the ARN of a symmetric KMS key of yours in the cluster's region. The default is the
	// cluster's own key, whose deletion is scheduled when the cluster is deleted. A key of another
	// account must allow the cluster's account kms:Encrypt and kms:Decrypt in its policy. It cannot
	// change.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^arn:aws(-cn|-us-gov)?:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$')",message="write the ARN of a KMS key, for example arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	KMSKeyARN string `json:"kmsKeyARN,omitempty"`

	// Resources are the resources to encrypt, 1 to 64, as kubectl api-resources lists them, with the
	// group of those that have one: secrets, configmaps, widgets.example.com. The default is secrets.
	// It cannot change.
	// +optional
	// +listType=atomic
	// +kubebuilder:default={"secrets"}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a resource twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(r, r.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'))",message="write resources in lower case, with the group of those that have one, for example secrets or widgets.example.com"
	Resources []string `json:"resources,omitempty"`
}

// PodSecurityLevel is a Pod Security Standard:
// https://kubernetes.io/docs/concepts/security/pod-security-standards/
//
// +kubebuilder:validation:Enum=privileged;baseline;restricted
type PodSecurityLevel string

// Pod Security Standards.
const (
	// PodSecurityPrivileged allows everything.
	PodSecurityPrivileged PodSecurityLevel = "privileged"
	// PodSecurityBaseline prevents known privilege escalations.
	PodSecurityBaseline PodSecurityLevel = "baseline"
	// PodSecurityRestricted requires current hardening practices.
	PodSecurityRestricted PodSecurityLevel = "restricted"
)

// PodSecurity configures the Pod Security Standards of namespaces that have no labels of their own
// (pod-security.kubernetes.io/enforce and others).
type PodSecurity struct {
	// Enforce is the standard that pods must meet. The default is privileged.
	// +optional
	// +kubebuilder:default=privileged
	Enforce PodSecurityLevel `json:"enforce,omitempty"`

	// Audit is the standard whose violations the audit log records. The default is that of enforce.
	// +optional
	Audit PodSecurityLevel `json:"audit,omitempty"`

	// Warn is the standard of whose violations clients get a warning. The default is that of
	// enforce.
	// +optional
	Warn PodSecurityLevel `json:"warn,omitempty"`

	// ExemptNamespaces are namespaces to which no standard applies, not even that of their labels,
	// at most 64. kube-system is always exempt. Name the namespaces of addons whose pods need more
	// than enforce allows.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a namespace twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(n, n.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))",message="write names of namespaces"
	ExemptNamespaces []string `json:"exemptNamespaces,omitempty"`
}
