package v1alpha1

// EKS lets Amazon EKS run the control plane: https://docs.aws.amazon.com/eks/latest/userguide/clusters.html.
// Its Kubernetes version is the minor version of the Cluster's release. Instance groups are managed
// node groups with Amazon Linux 2023, which EKS replaces and drains. Nodes and the operator reach the
// API inside the VPC if api.access is Internal.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretsKey) == has(oldSelf.secretsKey) && (!has(self.secretsKey) || self.secretsKey == oldSelf.secretsKey)",message="secretsKey cannot change: create a new cluster"
type EKS struct {
	// Access are the IAM principals that may use the Kubernetes API, besides the one that creates the
	// cluster. At most 64. A change takes effect in place.
	// +optional
	// +listType=map
	// +listMapKey=principal
	// +kubebuilder:validation:MaxItems=64
	Access []EKSAccess `json:"access,omitempty"`

	// Logs are the logs of the control plane that EKS writes to the log group
	// /aws/eks/<cluster>/cluster of CloudWatch Logs. If empty, it writes none. A change takes effect
	// in place.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=5
	Logs []EKSLog `json:"logs,omitempty"`

	// SecretsKey is the ARN of the KMS key with which EKS encrypts Secrets in addition to its own
	// encryption. It cannot change.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^arn:aws(-cn|-us-gov)?:kms:[a-z0-9-]+:[0-9]{12}:key/.+$')",message="write the ARN of a KMS key, for example arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	SecretsKey string `json:"secretsKey,omitempty"`

	// Support is what happens when the standard support of the Kubernetes version ends: Standard (the
	// default) lets EKS upgrade the control plane, Extended keeps the version for another
	// year at a higher price. A change takes effect in place.
	// https://docs.aws.amazon.com/eks/latest/userguide/view-support-policy.html
	// +optional
	// +kubebuilder:default=Standard
	Support EKSSupport `json:"support,omitempty"`
}

// EKSAccess permits an IAM principal to use the Kubernetes API, by an access entry of EKS.
type EKSAccess struct {
	// Principal is the ARN of an IAM role or user.
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^arn:aws(-cn|-us-gov)?:iam::[0-9]{12}:(role|user)/.+$')",message="write the ARN of a role or a user, for example arn:aws:iam::123456789012:role/developers"
	Principal string `json:"principal"`

	// Policy is the access policy of the principal: View, Edit, Admin or ClusterAdmin. If empty, only
	// the RBAC rules for its groups apply.
	// https://docs.aws.amazon.com/eks/latest/userguide/access-policies.html
	// +optional
	Policy EKSAccessPolicy `json:"policy,omitempty"`

	// Namespaces limit the policy to these namespaces. If empty, it applies to the whole cluster.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`

	// Groups are the Kubernetes groups of the principal, for RBAC. At most 16.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.all(g, !g.startsWith('system:'))",message="EKS reserves groups that begin with system: use another name, or a policy"
	Groups []string `json:"groups,omitempty"`
}

// EKSAccessPolicy is an access policy of EKS.
//
// +kubebuilder:validation:Enum=View;Edit;Admin;ClusterAdmin
type EKSAccessPolicy string

// Access policies.
const (
	// EKSView may read most objects, but not Secrets.
	EKSView EKSAccessPolicy = "View"
	// EKSEdit may change most objects in namespaces.
	EKSEdit EKSAccessPolicy = "Edit"
	// EKSAdmin may do almost everything in namespaces.
	EKSAdmin EKSAccessPolicy = "Admin"
	// EKSClusterAdmin may do everything.
	EKSClusterAdmin EKSAccessPolicy = "ClusterAdmin"
)

// EKSLog is a log of the control plane.
//
// +kubebuilder:validation:Enum=API;Audit;Authenticator;ControllerManager;Scheduler
type EKSLog string

// Logs.
const (
	// EKSLogAPI is the log of the API servers.
	EKSLogAPI EKSLog = "API"
	// EKSLogAudit is the audit log.
	EKSLogAudit EKSLog = "Audit"
	// EKSLogAuthenticator is the log of the authentication by IAM.
	EKSLogAuthenticator EKSLog = "Authenticator"
	// EKSLogControllerManager is the log of the controller managers.
	EKSLogControllerManager EKSLog = "ControllerManager"
	// EKSLogScheduler is the log of the schedulers.
	EKSLogScheduler EKSLog = "Scheduler"
)

// EKSSupport is what happens when the standard support of a Kubernetes version ends.
//
// +kubebuilder:validation:Enum=Standard;Extended
type EKSSupport string

// Kinds of support.
const (
	// EKSStandard lets EKS upgrade the control plane.
	EKSStandard EKSSupport = "Standard"
	// EKSExtended keeps the version, at a higher price.
	EKSExtended EKSSupport = "Extended"
)
