package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

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
