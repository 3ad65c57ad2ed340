// Package auditshipping reports whether the slots of a cluster ship the audit logs of their API
// servers, from what they say in a condition of their Nodes.
package auditshipping

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

const (
	// silence is after what time without a report a slot counts as silent. It reports every five
	// minutes.
	silence = 20 * time.Minute
	// Again is when to check the reports again, as nothing reports that a slot is silent.
	Again = 30 * time.Minute
)

// Reasons of the condition AuditLogShipped. Slots report the first three.
const (
	reasonShipped     = "Shipped"
	reasonFailed      = "ShippingFailed"
	reasonLost        = "LinesLost"
	reasonNotReported = "NotReported"
)

// Condition returns the condition AuditLogShipped of a Cluster with a number of slots.
func Condition(slots int, nodes []workload.Node, now time.Time) metav1.Condition {
	latest := make([]*workload.NodeReport, slots)
	for i := range nodes {
		slot, report := nodes[i].Slot, nodes[i].AuditLog
		if slot >= 0 && slot < slots && report != nil && (latest[slot] == nil || report.At.After(latest[slot].At)) {
			latest[slot] = report
		}
	}
	c := metav1.Condition{
		Type: conditions.AuditLog, Status: metav1.ConditionTrue, Reason: reasonShipped, Message: "All slots ship the audit log to the bucket.",
	}
	var silent []string
	for slot, report := range latest {
		switch {
		case report == nil || now.Sub(report.At) > silence:
			silent = append(silent, strconv.Itoa(slot))
		case report.Status != corev1.ConditionTrue && c.Status == metav1.ConditionTrue:
			c.Status, c.Reason = metav1.ConditionFalse, reasonFailed
			if report.Reason == reasonLost {
				c.Reason = reasonLost
			}
			c.Message = fmt.Sprintf("Slot %d: %s", slot, report.Message)
		}
	}
	if c.Status == metav1.ConditionTrue && len(silent) > 0 {
		c.Status, c.Reason = metav1.ConditionUnknown, reasonNotReported
		c.Message = fmt.Sprintf("These slots have not reported for %s whether they ship the audit log: %s. "+
			"See journalctl -u nodeup-audit on them.", silence, strings.Join(silent, ", "))
	}
	return c
}
