package v1alpha1

// Annotations and labels.
const (
	// DeletionPolicyAnnotation is what happens to the stack when its object is deleted: retain, snapshot or
	// delete.
	DeletionPolicyAnnotation = "service-operator.aws/deletion-policy"
	// DeletionPolicyRetain, as the value of DeletionPolicyAnnotation, keeps the stack.
	DeletionPolicyRetain = "retain"
	// DeletionPolicySnapshot, as the value of DeletionPolicyAnnotation, deletes the stack, and has
	// CloudFormation take a snapshot of each resource that supports one.
	DeletionPolicySnapshot = "snapshot"
	// DeletionPolicyDelete, as the value of DeletionPolicyAnnotation, deletes the stack as its template
	// says. It is the default.
	DeletionPolicyDelete = "delete"
	// ValuesLabel, with the value ValuesAllowed, lets objects take values from a ConfigMap or a Secret by
	// spec.valuesFrom. Without it, who may create objects could read every Secret of the namespace by the
	// operator's permissions.
	ValuesLabel = "service-operator.aws/values"
	// ValuesAllowed is the value of ValuesLabel.
	ValuesAllowed = "allowed"
	// ShareWithAnnotation are the other namespaces, separated by commas, whose objects may take values from
	// an object, a ConfigMap or a Secret by spec.valuesFrom. * means every namespace.
	ShareWithAnnotation = "service-operator.aws/share-with"
	// AdoptAnnotation is the primary identifier of an existing resource that the object's stack takes
	// over instead of creating it, such as a queue's URL or a table's name. A stack with several
	// resources needs the logical ID before it: LOGICALID=IDENTIFIER. It has no effect once the stack
	// exists. It is no field of the spec, because a derived kind's spec has the properties of its type.
	AdoptAnnotation = "service-operator.aws/adopt"
	// AdoptionPolicyAnnotation is what happens if the resource in AdoptAnnotation does not exist.
	AdoptionPolicyAnnotation = "service-operator.aws/adoption-policy"
	// AdoptionPolicyAdopt, as the value of AdoptionPolicyAnnotation, stalls the object. It is the
	// default.
	AdoptionPolicyAdopt = "Adopt"
	// AdoptionPolicyAdoptOrCreate, as the value of AdoptionPolicyAnnotation, creates the resource.
	AdoptionPolicyAdoptOrCreate = "AdoptOrCreate"
	// ManagementPolicyAnnotation is what the operator does with the object's resource.
	ManagementPolicyAnnotation = "service-operator.aws/management-policy"
	// ManagementPolicyManage makes a stack that creates or adopts the resource, and changes it. It is the
	// default.
	ManagementPolicyManage = "Manage"
	// ManagementPolicyObserve reads the resource that AdoptAnnotation names and publishes its outputs. It
	// makes no stack and changes nothing, also not when the object is deleted.
	ManagementPolicyObserve = "Observe"

	// DriftPolicyAnnotation is what to do about changes of the stack's resources outside of
	// CloudFormation. It is an annotation for the same reason as AdoptAnnotation.
	DriftPolicyAnnotation = "service-operator.aws/drift-policy"
	// DriftPolicyReport, as the value of DriftPolicyAnnotation, reports them in the condition Drifted,
	// status.drift and an Event. It is the default, since it only reads.
	DriftPolicyReport = "Report"
	// DriftPolicyRevert, as the value of DriftPolicyAnnotation, also reverts them by a drift-aware change
	// set, under the same policy for losses and the same approval as any change.
	DriftPolicyRevert = "Revert"
	// DriftPolicyIgnore, as the value of DriftPolicyAnnotation, does not check the stack.
	DriftPolicyIgnore = "Ignore"
	// IgnoreDriftAnnotation lists, separated by commas, properties whose drift neither counts nor is
	// reverted: the logical ID and the path as status.drift has them, such as Queue/VisibilityTimeout,
	// or a logical ID alone for a resource.
	IgnoreDriftAnnotation = "service-operator.aws/ignore-drift"
	// CheckDriftAnnotation requests a check for drift: any new value, such as a time.
	CheckDriftAnnotation = "service-operator.aws/check-drift"
	// AllowAnnotation permits changes that lose data: a comma-separated list of "replace" and
	// "remove".
	AllowAnnotation = "service-operator.aws/allow"
	// UpdateManual, as the value of spec.updatePolicy, holds changes of an existing stack until the
	// annotation aws-operator/approve has the digest in status.pendingChanges.
	UpdateManual = "Manual"
	// RevisionAnnotation is the name of the ModelRevision that the object keeps or takes, regardless of
	// the ModelDefinition's current one. It is an annotation for the same reason as AdoptAnnotation.
	RevisionAnnotation = "service-operator.aws/model-revision"
	// PausedAnnotation, set to "true", stops the operator from reconciling the object.
	PausedAnnotation = "aws-operator/paused"
	// Finalizer holds an object until its stack is deleted.
	Finalizer = "service-operator.aws/stack"
	// RoleAnnotation names the role that the pods of a ServiceAccount assume. The webhook of EKS for
	// pod identities reads it:
	// https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html
	RoleAnnotation = "eks.amazonaws.com/role-arn"
	// KindLabel is on every ConfigMap, Secret and Service made for an object and names its kind.
	KindLabel = "service-operator.aws/kind"
	// NameLabel is on every ConfigMap, Secret and Service made for an object and names it, cut to
	// 63 characters.
	NameLabel = "service-operator.aws/name"
)

// Types of conditions.
const (
	// ConditionReady is True when the object's stack matches the spec and all objects made from its
	// outputs exist.
	ConditionReady = "Ready"
	// ConditionSynced is True when AWS matches the spec. It is False while a change is in progress
	// or after it was refused.
	ConditionSynced = "Synced"
	// ConditionStalled is True when the operator stops retrying until a user acts.
	ConditionStalled = "Stalled"
	// ConditionDrifted is True when a resource of the stack differs from the template because it was
	// changed outside of CloudFormation.
	ConditionDrifted = "Drifted"
	// ConditionRolledOut is True when every object of a ModelDefinition that may use its current revision
	// does.
	ConditionRolledOut = "RolledOut"
	// ConditionReferencesResolved is True when the objects that the spec references exist and are
	// ready.
	ConditionReferencesResolved = "ReferencesResolved"
)
