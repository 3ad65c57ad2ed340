// Package certificates reports when certificates of a Cluster expire.
package certificates

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

const (
	// slotsExpireSoon is how long before their expiry the certificates of slots are reported, casExpireSoon
	// those of CAs, which take longer to replace.
	slotsExpireSoon = 90 * 24 * time.Hour
	casExpireSoon   = 365 * 24 * time.Hour
)

// Reasons of the condition CertificatesValid.
const (
	reasonValid   = "Valid"
	reasonSoon    = "ExpiresSoon"
	reasonExpired = "Expired"
)

// OfSlots returns when the first certificate expires of those that instances of slots made when they joined;
// nil if no node is a slot's. A node that stays when its instance is replaced makes the time too early.
func OfSlots(nodes []workload.Node) *metav1.Time {
	var first *metav1.Time
	for i := range nodes {
		expiry := metav1.NewTime(nodes[i].Created.Add(bootstrap.LeafValidity))
		if nodes[i].Slot != workload.NoSlot && (first == nil || expiry.Before(first)) {
			first = &expiry
		}
	}
	return first
}

// Condition returns the condition CertificatesValid of a Cluster. It is about the CAs if both expire soon.
func Condition(cluster string, status *v1alpha1.CertificatesStatus, now time.Time) metav1.Condition {
	var valid []string
	for _, one := range []struct {
		what, remedy string
		at           *metav1.Time
		soon         time.Duration
	}{
		{
			"CAs", "All certificates of the cluster expire with them. Rotate them: set spec.certificates.rotate to a new text.",
			status.CAsExpire, casExpireSoon,
		},
		{
			"certificates of a slot", "New instances get new ones: aws-operator rolling-update cluster " + cluster +
				" --instance-group-roles control-plane --force --yes.", status.SlotsExpire, slotsExpireSoon,
		},
	} {
		if one.at == nil {
			continue
		}
		left, on := one.at.Sub(now), one.at.UTC().Format(time.DateOnly)
		switch {
		case left <= 0:
			return condition(metav1.ConditionFalse, reasonExpired, fmt.Sprintf("The %s expired on %s. %s", one.what, on, one.remedy))
		case left <= one.soon:
			return condition(metav1.ConditionFalse, reasonSoon, fmt.Sprintf("The %s expire on %s. %s", one.what, on, one.remedy))
		}
		valid = append(valid, fmt.Sprintf("The %s expire on %s at the earliest.", one.what, on))
	}
	return condition(metav1.ConditionTrue, reasonValid, strings.Join(valid, " "))
}

func condition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: conditions.Certificates, Status: status, Reason: reason, Message: message}
}
