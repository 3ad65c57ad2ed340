package etcdspace_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/etcdspace"
)

func TestQuota(t *testing.T) {
	for given, want := range map[string]int64{
		"": 2 << 30, "0": 2 << 30, "nonsense": 2 << 30, "8589934592": 8 << 30, "-1": 0,
	} {
		spec := &v1alpha1.ClusterSpec{}
		if given != "" {
			spec.ControlPlane.ExtraArgs.Etcd = map[string]string{"quota-backend-bytes": given}
		}
		if got := etcdspace.Quota(spec); got != want {
			t.Errorf("the quota of %q is %d, want %d", given, got, want)
		}
	}
}

// A measurement that fails is tried again soon, and ever more rarely while it keeps failing.
func TestNext(t *testing.T) {
	checked := time.Date(2026, time.November, 28, 22, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		size          int64
		failing, want time.Duration
	}{
		{size: 1 << 20, failing: 0, want: 30 * time.Minute},
		{failing: 0, want: time.Minute},
		{failing: 4 * time.Minute, want: 4 * time.Minute},
		{failing: 5 * time.Hour, want: 30 * time.Minute},
	} {
		space := &v1alpha1.EtcdSpaceStatus{SizeBytes: c.size, QuotaBytes: 1 << 30, CheckedAt: metav1.NewTime(checked)}
		condition := etcdspace.Condition(space)
		condition.LastTransitionTime = metav1.NewTime(checked.Add(-c.failing))
		if got := etcdspace.Next(space, []metav1.Condition{condition}); !got.Equal(checked.Add(c.want)) {
			t.Errorf("%d bytes, failing since %s: measured again at %s, want %s later", c.size, c.failing, got, c.want)
		}
	}
}

func TestCondition(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		size, quota  int64
		status       metav1.ConditionStatus
		reason, text string
	}{
		{300 << 20, 2 * gib, "True", "Sufficient", "The database of etcd has 300Mi of at most 2Gi."},
		{300 << 20, 0, "True", "Sufficient", "The database of etcd has 300Mi. It has no quota."},
		{2*gib*8/10 + 1, 2 * gib, "False", "NearlyFull", "The database of etcd has 1638Mi of at most 2Gi. When it is full, etcd refuses all writes. Delete"},
		{2 * gib, 2 * gib, "False", "Full", "The database of etcd has 2Gi of at most 2Gi. etcd refuses all writes. Delete"},
		{0, 2 * gib, "Unknown", "NotMeasured", "The API server does not report the size of etcd's database."},
	} {
		got := etcdspace.Condition(&v1alpha1.EtcdSpaceStatus{SizeBytes: c.size, QuotaBytes: c.quota})
		if got.Type != "EtcdHasSpace" || got.Status != c.status || got.Reason != c.reason || !strings.HasPrefix(got.Message, c.text) {
			t.Errorf("%d of %d: got %+v", c.size, c.quota, got)
		}
	}
}
