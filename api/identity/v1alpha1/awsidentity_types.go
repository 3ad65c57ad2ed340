package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AWSIdentity is a role in AWS with which the operator acts for objects of some namespaces. It says
// in which account and regions their resources are, and what they may contain.
//
// A namespace uses an identity by default if its annotation or label aws-operator/identity names it.
// An object uses another one, or another region, by its annotations aws-operator/identity and
// aws-operator/region. Without an identity, the operator acts with its own credentials.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=aws,shortName=awsid
// +kubebuilder:printcolumn:name="ACCOUNT",type=string,JSONPath=`.status.account`
// +kubebuilder:printcolumn:name="ROLE",type=string,JSONPath=`.spec.roleARN`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type AWSIdentity struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the role, who may use it, and its limits.
	Spec AWSIdentitySpec `json:"spec"`

	// Status is whether the operator can assume the role.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status AWSIdentityStatus `json:"status,omitempty"`
}

// AWSIdentityList is a list of identities.
//
// +kubebuilder:object:root=true
type AWSIdentityList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the identities.
	Items []AWSIdentity `json:"items"`
}

// AWSIdentitySpec is a role, who may use it, and its limits.
type AWSIdentitySpec struct {
	// RoleARN is the ARN of the role that the operator assumes. Its account is where the resources
	// are, and cannot change.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^arn:aws(-cn|-us-gov)?:iam::[0-9]{12}:role/.+$')",message="write the ARN of a role, for example arn:aws:iam::123456789012:role/team-a"
	// +kubebuilder:validation:XValidation:rule="self.split(':')[4] == oldSelf.split(':')[4]",message="the account cannot change: create another AWSIdentity"
	RoleARN string `json:"roleARN"`

	// ExternalIDSecret is the Secret with the external ID that the role's trust policy requires.
	// +optional
	ExternalIDSecret *SecretKey `json:"externalIDSecret,omitempty"`

	// SessionTags are the tags of the role's sessions, which policies can use as aws:PrincipalTag.
	// The trust policy must allow sts:TagSession.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	SessionTags map[string]string `json:"sessionTags,omitempty"`

	// Regions are the regions that objects may use, the first by default. If empty, it is the
	// operator's own region.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=31
	// +kubebuilder:validation:items:Pattern=`^[a-z]{2}(-[a-z]+)+-[0-9]+$`
	Regions []string `json:"regions,omitempty"`

	// ServiceRoleARN is the ARN of the service role that CloudFormation assumes for the stacks. If
	// empty, CloudFormation acts with the permissions of roleARN.
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-iam-servicerole.html
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^arn:aws(-cn|-us-gov)?:iam::[0-9]{12}:role/.+$')",message="write the ARN of a role, for example arn:aws:iam::123456789012:role/cloudformation"
	ServiceRoleARN string `json:"serviceRoleARN,omitempty"`

	// PermissionsBoundary is the ARN of a managed policy. The operator sets it on every role and
	// user in the stacks, whatever their templates say, and refuses templates that may create roles
	// in other ways.
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^arn:aws(-cn|-us-gov)?:iam::([0-9]{12}|aws):policy/.+$')",message="write the ARN of a policy, for example arn:aws:iam::123456789012:policy/boundary"
	PermissionsBoundary string `json:"permissionsBoundary,omitempty"`

	// AllowedResourceTypes are the CloudFormation types that stacks may contain: names, or
	// beginnings followed by *, for example AWS::SQS::*. If empty, all types are allowed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MaxLength=256
	AllowedResourceTypes []string `json:"allowedResourceTypes,omitempty"`

	// Tags are set on the stacks of services, and by CloudFormation on their resources. The annotation
	// aws-operator/tags of a Namespace or an object takes precedence, and so do tags in a spec. At most
	// 40. A change updates the resources in place.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=40
	// +kubebuilder:validation:XValidation:rule="self.all(k, !['aws:', 'AWS:', 'service-operator.aws/', 'cluster-operator.aws/', 'aws-operator/', 'aws-operator.aws/', 'kubernetes.io/'].exists(p, k.startsWith(p)))",message="tags that begin with aws:, kubernetes.io/ or the name of an operator are reserved: use another key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() >= 1 && k.size() <= 128 && self[k].size() <= 256)",message="a tag has a key of 1 to 128 characters and a value of at most 256: shorten it"
	Tags map[string]string `json:"tags,omitempty"`

	// AllowedNamespaces are the namespaces whose objects may use the identity.
	AllowedNamespaces AllowedNamespaces `json:"allowedNamespaces"`
}

// SecretKey is a key of a Secret.
type SecretKey struct {
	// Namespace is the Secret's namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// Name is the Secret's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key is the key of the value.
	// +optional
	// +kubebuilder:default=externalID
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// AllowedNamespaces are namespaces by name or label. A namespace is allowed if either matches.
//
// +kubebuilder:validation:MinProperties=1
type AllowedNamespaces struct {
	// Names are names of namespaces.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	Names []string `json:"names,omitempty"`

	// Selector selects namespaces by their labels. An empty selector ({}) selects all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// AWSIdentityStatus is whether the operator can assume the role.
type AWSIdentityStatus struct {
	// Account is the account of the role.
	// +optional
	Account string `json:"account,omitempty"`

	// ObservedGeneration is the generation of the last reconcile.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Ready, Synced, Stalled and Reconciling. Ready is True if the operator last
	// could assume the role.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GetConditions returns the conditions.
func (i *AWSIdentity) GetConditions() []metav1.Condition { return i.Status.Conditions }

// SetConditions replaces the conditions.
func (i *AWSIdentity) SetConditions(conditions []metav1.Condition) { i.Status.Conditions = conditions }

// SetObservedGeneration sets the generation of the last reconcile.
func (i *AWSIdentity) SetObservedGeneration(generation int64) {
	i.Status.ObservedGeneration = generation
}
