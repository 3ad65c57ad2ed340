package certificates_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/certificates"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

const day = 24 * time.Hour

func TestCertificatesAreReportedLongBeforeTheyExpire(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	in := func(left time.Duration) *metav1.Time { return new(metav1.NewTime(now.Add(left))) }
	const roll = "New instances get new ones: aws-operator rolling-update cluster demo --instance-group-roles control-plane --force --yes."
	const rotate = "All certificates of the cluster expire with them. Rotate them: set spec.certificates.rotate to a new text."
	for name, c := range map[string]struct {
		cas, slots      *metav1.Time
		reason, message string
	}{
		"a cluster without slots":    {in(366 * day), nil, "Valid", "The CAs expire on 2027-01-03 at the earliest."},
		"a new cluster":              {in(3650 * day), in(1095 * day), "Valid", "The CAs expire on 2035-12-31 at the earliest. The certificates of a slot expire on 2029-01-01 at the earliest."},
		"slots that expire soon":     {in(3650 * day), in(90 * day), "ExpiresSoon", "The certificates of a slot expire on 2026-04-02. " + roll},
		"slots that expired":         {in(3650 * day), in(0), "Expired", "The certificates of a slot expired on 2026-01-02. " + roll},
		"CAs that expire soon":       {in(365 * day), in(-day), "ExpiresSoon", "The CAs expire on 2027-01-02. " + rotate},
		"CAs that expired":           {in(-day), in(100 * day), "Expired", "The CAs expired on 2026-01-01. " + rotate},
		"slots that last 91 days":    {in(3650 * day), in(91 * day), "Valid", "The CAs expire on 2035-12-31 at the earliest. The certificates of a slot expire on 2026-04-03 at the earliest."},
		"a cluster that has nothing": {nil, nil, "Valid", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := certificates.Condition("demo", &v1alpha1.CertificatesStatus{CAsExpire: c.cas, SlotsExpire: c.slots}, now)
			if got.Reason != c.reason || got.Message != c.message || (got.Status == metav1.ConditionTrue) != (c.reason == "Valid") {
				t.Errorf("the condition is %s %s: %s\nwant %s: %s", got.Status, got.Reason, got.Message, c.reason, c.message)
			}
		})
	}
}

func TestFirstSlotDecidesTheExpiry(t *testing.T) {
	joined := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	nodes := []workload.Node{
		{Name: "worker", Slot: workload.NoSlot, Created: joined.Add(-100 * day)},
		{Name: "second", Slot: 1, Created: joined.Add(day)},
		{Name: "first", Slot: 0, Created: joined},
	}
	if got := certificates.OfSlots(nodes); got == nil || !got.Time.Equal(joined.Add(3*365*day)) {
		t.Errorf("it is %v, want three years after %s", got, joined)
	}
	if got := certificates.OfSlots(nodes[:1]); got != nil {
		t.Errorf("without slots, it is %v", got)
	}
}
