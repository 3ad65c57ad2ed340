package conditions

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Condition types of Clusters and InstanceGroups, in addition to those that operatorkit sets.
const (
	Network      = "NetworkReady"
	ControlPlane = "ControlPlaneReady"
	API          = "APIReachable"
	Nodes        = "NodesReady"
	Updated      = "NodesUpdated"
	Addons       = "AddonsReady"
	EKSAddons    = "EKSAddonsReady"
	Certificates = "CertificatesValid"
	EtcdSpace    = "EtcdHasSpace"
	Encrypted    = "ResourcesEncrypted"
	AuditLog     = "AuditLogShipped"
	BackedUp     = "BackedUp"
	// BackedUpToBucket reports the backups that the slots make, BackedUp those of the operator.
	BackedUpToBucket = "BackedUpToBucket"
	NodeClass        = "NodeClassApplied"
	Deprecated       = "ReleaseDeprecated"
	Drifted          = servicev1alpha1.ConditionDrifted
	// ClusterAPI reports whether an object does what its owner among Cluster API's objects says.
	// Available and CAPIPaused have names that Cluster API reads.
	ClusterAPI = "ClusterAPIFollowed"
	Available  = "Available"
	CAPIPaused = "Paused"
)

// Conclude sets a step's own condition from its outcome, and returns the outcome.
func Conclude(obj client.Object, conditionType, reason, message string, outcome operatorkit.Outcome) operatorkit.Outcome {
	condition := metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: reason, Message: message}
	if !outcome.IsDone() {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, outcome.Reason(), outcome.Message()
	}
	if condition.Reason == "" { // The step failed without an explanation.
		condition.Reason = operatorkit.ReasonFailed
		if err := outcome.Err(); err != nil {
			condition.Message = "This failed and will be retried: " + err.Error() + "."
		}
	}
	operatorkit.SetCondition(obj, condition)
	return outcome
}

// IsClusterProgress reports whether only node counts of a Cluster changed.
func IsClusterProgress(before, after *v1alpha1.Cluster) bool {
	was := before.Status
	was.Nodes, was.Conditions = after.Status.Nodes, after.Status.Conditions
	return sameStatuses(before.Status.Conditions, after.Status.Conditions) && equality.Semantic.DeepEqual(was, after.Status)
}

// IsGroupProgress reports whether only node counts of an InstanceGroup changed.
func IsGroupProgress(before, after *v1alpha1.InstanceGroup) bool {
	was := before.Status
	was.Nodes, was.Conditions = after.Status.Nodes, after.Status.Conditions
	return sameStatuses(before.Status.Conditions, after.Status.Conditions) && equality.Semantic.DeepEqual(was, after.Status)
}

// sameStatuses reports whether all conditions kept their status, except those about nodes.
func sameStatuses(before, after []metav1.Condition) bool {
	return !slices.ContainsFunc(append(slices.Clone(before), after...), func(c metav1.Condition) bool {
		was, is := meta.FindStatusCondition(before, c.Type), meta.FindStatusCondition(after, c.Type)
		return c.Type != Nodes && c.Type != Updated && (was == nil || is == nil || was.Status != is.Status)
	})
}
