package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// EKS lets Amazon EKS run the control plane: https://docs.aws.amazon.com/eks/latest/userguide/clusters.html.
// Its Kubernetes version is the minor version of the Cluster's release. Instance groups are managed
// node groups, which EKS replaces and drains, or self-managed ones: see eks of InstanceGroups. Nodes and the
// operator reach the API inside the VPC if api.access is Internal.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretsKey) == has(oldSelf.secretsKey) && (!has(self.secretsKey) || self.secretsKey == oldSelf.secretsKey)",message="secretsKey cannot change: create a new cluster"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.autoMode) || has(self.autoMode)",message="autoMode cannot be removed, since EKS must disable it first: set autoMode.state to Disabled",fieldPath=".autoMode"
// +kubebuilder:validation:XValidation:rule="has(oldSelf.autoMode) || !has(self.autoMode) || self.autoMode.selfManagedAddons == 'Kept'",message="EKS installed its network add-ons when it created this cluster: set autoMode.selfManagedAddons to Kept",fieldPath=".autoMode"
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

	// Addons are add-ons that EKS installs, in a stack of their own, once a node is ready. They replace
	// what EKS has installed itself. At most 32. A change takes effect in place.
	// https://docs.aws.amazon.com/eks/latest/userguide/eks-add-ons.html
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Addons []EKSAddon `json:"addons,omitempty"`

	// AutoMode lets EKS launch nodes when pods need them, and run the network, DNS, volumes and load
	// balancers of the cluster: EKS Auto Mode. Instance groups are possible besides. It can be added
	// later, but not removed. A change takes effect in place.
	// https://docs.aws.amazon.com/eks/latest/userguide/automode.html
	// +optional
	AutoMode *EKSAutoMode `json:"autoMode,omitempty"`

	// PodIdentities give pods IAM roles, by EKS Pod Identity. They need the add-on
	// eks-pod-identity-agent among addons, except with autoMode. At most 64. A change takes effect in place, for pods that
	// are created after it.
	// https://docs.aws.amazon.com/eks/latest/userguide/pod-identities.html
	// +optional
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=serviceAccount
	// +kubebuilder:validation:MaxItems=64
	PodIdentities []EKSPodIdentity `json:"podIdentities,omitempty"`
}

// EKSAutoMode are the settings of EKS Auto Mode.
type EKSAutoMode struct {
	// NodePools are EKS's own node pools: general-purpose, and system, whose nodes have the taint
	// CriticalAddonsOnly. Without any, EKS launches nodes only for the NodePools that you create in
	// the cluster. EKS terminates the nodes of a pool that is removed.
	// https://docs.aws.amazon.com/eks/latest/userguide/set-builtin-node-pools.html
	// +required
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	NodePools []EKSNodePool `json:"nodePools"`

	// State is Enabled, the default, or Disabled. When Auto Mode is disabled, EKS terminates its nodes
	// and deletes its load balancers, but keeps its volumes.
	// https://docs.aws.amazon.com/eks/latest/userguide/auto-disable.html
	// +optional
	// +kubebuilder:default=Enabled
	State EKSAutoModeState `json:"state,omitempty"`

	// SelfManagedAddons are the VPC CNI plugin, kube-proxy and CoreDNS that EKS installs in new clusters
	// without Auto Mode. None, the default, is for clusters that are created with autoMode: nodes of
	// Auto Mode do not need these, and instance groups need them among addons. Kept is for clusters that
	// existed before. It cannot change.
	// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
	// +optional
	// +kubebuilder:default=None
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="selfManagedAddons cannot change, since EKS installs them only when it creates a cluster: set it back"
	SelfManagedAddons EKSSelfManagedAddons `json:"selfManagedAddons,omitempty"`
}

// EKSNodePool is a node pool that EKS Auto Mode has itself.
//
// +kubebuilder:validation:Enum=general-purpose;system
type EKSNodePool string

// Node pools.
const (
	// EKSGeneralPurpose has nodes for all pods.
	EKSGeneralPurpose EKSNodePool = "general-purpose"
	// EKSSystem has nodes for pods that tolerate the taint CriticalAddonsOnly.
	EKSSystem EKSNodePool = "system"
)

// EKSAutoModeState is whether EKS Auto Mode is enabled.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type EKSAutoModeState string

// States of EKS Auto Mode.
const (
	// EKSAutoModeEnabled lets EKS run nodes.
	EKSAutoModeEnabled EKSAutoModeState = "Enabled"
	// EKSAutoModeDisabled terminates them.
	EKSAutoModeDisabled EKSAutoModeState = "Disabled"
)

// EKSSelfManagedAddons are the add-ons that EKS has installed in a cluster without managing them.
//
// +kubebuilder:validation:Enum=None;Kept
type EKSSelfManagedAddons string

// Add-ons that EKS does not manage.
const (
	// EKSNoSelfManagedAddons is for clusters that are created with Auto Mode.
	EKSNoSelfManagedAddons EKSSelfManagedAddons = "None"
	// EKSKeepSelfManagedAddons is for clusters that were created without it.
	EKSKeepSelfManagedAddons EKSSelfManagedAddons = "Kept"
)

// EKSAddon is an add-on of EKS.
type EKSAddon struct {
	// Name is the name of the add-on in EKS, for example vpc-cni; `aws eks describe-addon-versions`
	// lists all.
	// +required
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Za-z][0-9A-Za-z_-]*$')",message="write the name of an add-on of EKS, for example aws-ebs-csi-driver"
	Name string `json:"name"`

	// Version is the version of the add-on, for example v1.20.4-eksbuild.2. If empty, EKS installs its
	// default for the Kubernetes version, and the add-on stays at that version until you set another:
	// EKS does not update add-ons.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Za-z][0-9A-Za-z.+_-]*$')",message="write a version of the add-on, for example v1.20.4-eksbuild.2"
	Version string `json:"version,omitempty"`

	// Values are the configuration values of the add-on; `aws eks describe-addon-configuration` shows
	// their schema. EKS refuses others.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
}

// EKSPodIdentity gives the pods of a service account an IAM role: an existing one, or one of the
// cluster's base stack with some policies.
//
// +kubebuilder:validation:XValidation:rule="has(self.role) != has(self.policies)",message="set either role or policies",fieldPath=".role"
type EKSPodIdentity struct {
	// Namespace is the namespace of the service account.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="write the name of a namespace"
	Namespace string `json:"namespace"`

	// ServiceAccount is the name of the service account, which need not exist yet.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="write the name of a service account"
	ServiceAccount string `json:"serviceAccount"`

	// Role is the ARN of an existing role in the cluster's account, which must trust
	// pods.eks.amazonaws.com to assume it and to tag its sessions.
	// https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^arn:aws(-cn|-us-gov)?:iam::[0-9]{12}:role/.+$')",message="write the ARN of a role, for example arn:aws:iam::123456789012:role/web"
	Role string `json:"role,omitempty"`

	// Policies are the ARNs of managed policies. The base stack makes a role with them, for these pods
	// alone.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.all(p, p.matches('^arn:aws(-cn|-us-gov)?:iam::(aws|[0-9]{12}):policy/.+$'))",message="write ARNs of managed policies, for example arn:aws:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy"
	Policies []string `json:"policies,omitempty"`
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
