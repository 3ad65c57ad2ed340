package controller_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// A slot says in a condition of its Node whether it ships the audit log, and the Cluster repeats it.
func TestClusterReportsWhetherSlotsShipTheAuditLog(t *testing.T) {
	r := runs(t, 1, func(cluster *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) {
		cluster.Spec.API.Audit = &v1alpha1.Audit{Ship: &v1alpha1.AuditShipping{}}
		group.Spec.MinSize = 0
	})
	r.condition(r.cluster, "AuditLogShipped", metav1.ConditionUnknown, "NotReported")
	report := func(status corev1.ConditionStatus, reason, message string) {
		t.Helper()
		var nodes corev1.NodeList
		if err := r.inside.List(t.Context(), &nodes, client.HasLabels{"node-role.kubernetes.io/control-plane"}); err != nil || len(nodes.Items) != 1 {
			t.Fatalf("there are %d nodes of slots: %v", len(nodes.Items), err)
		}
		before := nodes.Items[0].DeepCopy()
		nodes.Items[0].Status.Conditions = append(nodes.Items[0].Status.Conditions, corev1.NodeCondition{
			Type: "AuditLogShipped", Status: status, Reason: reason, Message: message, LastHeartbeatTime: metav1.Now(),
		})
		if err := r.inside.Status().Patch(t.Context(), &nodes.Items[0], client.StrategicMergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	report(corev1.ConditionFalse, "ShippingFailed", "AccessDenied.")
	c := r.condition(r.cluster, "AuditLogShipped", metav1.ConditionFalse, "ShippingFailed")
	if !strings.Contains(c.Message, "Slot 0: AccessDenied.") {
		t.Errorf("the message is %q", c.Message)
	}
	r.condition(r.cluster, "Ready", metav1.ConditionTrue, "")
}
