package auditshipping_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/aws-operator/aws-operator/internal/cluster/controller/auditshipping"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

func TestCondition(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	node := func(slot int, status corev1.ConditionStatus, reason, message string, age time.Duration) workload.Node {
		return workload.Node{Slot: slot, AuditLog: &workload.NodeReport{
			Status: status, Reason: reason, Message: message, At: now.Add(-age),
		}}
	}
	ships := func(slot int) workload.Node { return node(slot, corev1.ConditionTrue, "Shipped", "fine", time.Minute) }
	for name, c := range map[string]struct {
		nodes []workload.Node
		want  string
	}{
		"all slots ship": {[]workload.Node{ships(0), ships(1)}, "True Shipped All slots ship"},
		"one does not": {
			[]workload.Node{ships(0), node(1, corev1.ConditionFalse, "ShippingFailed", "The audit log is not shipped: AccessDenied.", 0)},
			"False ShippingFailed Slot 1: The audit log is not shipped: AccessDenied.",
		},
		"one lost lines": {
			[]workload.Node{ships(0), node(1, corev1.ConditionFalse, "LinesLost", "Lines were lost.", 0)}, "False LinesLost Slot 1: Lines were lost.",
		},
		"a reason that is not one":           {[]workload.Node{ships(1), node(0, "nonsense", "a b", "", 0)}, "False ShippingFailed Slot 0: "},
		"no reports":                         {[]workload.Node{{Slot: 0}, ships(1)}, "Unknown NotReported These slots have not reported for 20m0s whether they ship the audit log: 0."},
		"an old report":                      {[]workload.Node{ships(0), node(1, corev1.ConditionTrue, "Shipped", "", time.Hour)}, "Unknown NotReported These slots have not reported for 20m0s whether they ship the audit log: 1."},
		"a node of the slot's last instance": {[]workload.Node{ships(0), node(1, corev1.ConditionFalse, "", "", time.Hour), ships(1)}, "True Shipped"},
		"nodes of workers and removed slots": {[]workload.Node{ships(0), ships(1), node(2, corev1.ConditionFalse, "", "", 0), node(-1, corev1.ConditionFalse, "", "", 0)}, "True Shipped"},
	} {
		t.Run(name, func(t *testing.T) {
			is := auditshipping.Condition(2, c.nodes, now)
			if got := string(is.Status) + " " + is.Reason + " " + is.Message; !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
