package workload

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a slot's Node says about the audit log is bounded, and is one line without control characters.
// Heartbeats and the IDs in messages are no news. Nodes of workers say nothing about it.
func TestReportsOfNodes(t *testing.T) {
	node := func(labels map[string]string, status corev1.ConditionStatus, message string, at time.Time) Node {
		return nodeFrom(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: labels}, Spec: corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/i-1"},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
				Type: "AuditLogShipped", Status: status, Reason: "Reason", Message: message, LastHeartbeatTime: metav1.NewTime(at),
			}}},
		})
	}
	slot, now := map[string]string{slotLabel: "0"}, time.Now()
	first := node(slot, corev1.ConditionFalse, "a\n\x1b[31mé\xff"+strings.Repeat("x", 9999), now)
	if r := first.AuditLog; r.Status != corev1.ConditionFalse || r.Reason != "Reason" || !strings.HasPrefix(r.Message, "a  [31mé\ufffdx") ||
		len(r.Message) > 520 || !r.At.Equal(now) {
		t.Errorf("got %+v", r)
	}
	if next := node(slot, corev1.ConditionFalse, "b", now.Add(time.Minute)); !first.same(&next) {
		t.Error("a heartbeat is news")
	}
	if next := node(slot, corev1.ConditionTrue, "", now); first.same(&next) {
		t.Error("another status is no news")
	}
	if worker := node(map[string]string{groupLabel: "g"}, corev1.ConditionFalse, "", now); worker.AuditLog != nil || first.same(&worker) {
		t.Errorf("a worker reports %+v", worker.AuditLog)
	}
}
