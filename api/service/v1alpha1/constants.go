package v1alpha1

// Annotations and labels.
const (
	// DeletionPolicyAnnotation says what happens to the stack when its object is deleted.
	DeletionPolicyAnnotation = "service-operator.aws/deletion-policy"
	// DeletionPolicyRetain, as the value of DeletionPolicyAnnotation, keeps the stack.
	DeletionPolicyRetain = "retain"
	// AllowAnnotation permits changes that lose data: a comma-separated list of "replace" and
	// "remove".
	AllowAnnotation = "service-operator.aws/allow"
	// UpdateManual, as the value of spec.updatePolicy, has changes of a stack that is in place wait until the annotation
	// aws-operator/approve has the digest in status.pendingChanges.
	UpdateManual = "Manual"
	// PausedAnnotation, set to "true", makes the operator leave the object alone.
	PausedAnnotation = "aws-operator/paused"
	// Finalizer holds an object until its stack is gone.
	Finalizer = "service-operator.aws/stack"
	// KindLabel is on every ConfigMap, Secret and Service made for an object and names its kind.
	KindLabel = "service-operator.aws/kind"
	// NameLabel is on every ConfigMap, Secret and Service made for an object and names it (cut to
	// 63 characters where it must be).
	NameLabel = "service-operator.aws/name"
)

// Types of conditions.
const (
	// ConditionReady is True when the object's stack is complete as the spec wants it and all that
	// is made from its outputs exists.
	ConditionReady = "Ready"
	// ConditionSynced is True when AWS has what the spec says; False while a change is on its way
	// or was refused.
	ConditionSynced = "Synced"
	// ConditionStalled is True when a person must act before anything more is tried.
	ConditionStalled = "Stalled"
	// ConditionReferencesResolved says whether the objects that the spec names are there and ready.
	ConditionReferencesResolved = "ReferencesResolved"
)
