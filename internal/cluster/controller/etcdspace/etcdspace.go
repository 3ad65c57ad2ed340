// Package etcdspace reports how full etcd is. An etcd whose database reaches its quota raises an
// alarm and refuses all writes until a person has made room:
// https://etcd.io/docs/v3.6/op-guide/maintenance/#space-quota.
package etcdspace

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
)

const (
	// interval is the time between two measurements, and retry the time after a first one that failed.
	interval = 30 * time.Minute
	retry    = time.Minute
	// quotaArgument is etcd's argument for its quota, and defaultQuota what etcd has without it:
	// https://etcd.io/docs/v3.6/dev-guide/limit/#storage-size-limit.
	quotaArgument = "quota-backend-bytes"
	defaultQuota  = 2 << 30
	// nearlyFull is the part of the quota, in percent, from which on the condition is False.
	nearlyFull = 80
)

// Reasons of the condition EtcdHasSpace.
const (
	reasonSufficient = "Sufficient"
	reasonNearlyFull = "NearlyFull"
	reasonFull       = "Full"

	reasonNotMeasured = "NotMeasured"
)

// Quota returns the quota of the cluster's etcd in bytes, 0 if it has none.
func Quota(spec *v1alpha1.ClusterSpec) int64 {
	given, err := strconv.ParseInt(spec.ControlPlane.ExtraArgs.Etcd[quotaArgument], 10, 64)
	switch {
	case err != nil || given == 0:
		return defaultQuota
	case given < 0: // etcd then has no quota.
		return 0
	default:
		return given
	}
}

// Next returns when to measure again, given the last measurement and the conditions of the Cluster.
// After a failure that is soon: an API server that has just started refuses to report its metrics
// until it has written the roles that allow it. The longer it fails, the rarer it is asked.
func Next(space *v1alpha1.EtcdSpaceStatus, of []metav1.Condition) time.Time {
	wait := interval
	if c := meta.FindStatusCondition(of, conditions.EtcdSpace); c != nil && c.Reason == reasonNotMeasured {
		wait = min(interval, max(retry, space.CheckedAt.Sub(c.LastTransitionTime.Time)))
	}
	return space.CheckedAt.Add(wait)
}

// Condition returns the condition EtcdHasSpace of a Cluster.
func Condition(space *v1alpha1.EtcdSpaceStatus) metav1.Condition {
	c := metav1.Condition{Type: conditions.EtcdSpace, Status: metav1.ConditionTrue, Reason: reasonSufficient}
	if space.SizeBytes == 0 {
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, reasonNotMeasured, "The API server does not report the size of etcd's database."
		return c
	}
	if space.QuotaBytes == 0 {
		c.Message = fmt.Sprintf("The database of etcd has %s. It has no quota.", text(space.SizeBytes))
		return c
	}
	c.Message = fmt.Sprintf("The database of etcd has %s of at most %s.", text(space.SizeBytes), text(space.QuotaBytes))
	switch percent := space.SizeBytes * 100 / space.QuotaBytes; { //nolint:mnd // percent
	case percent >= 100: //nolint:mnd // percent
		c.Status, c.Reason = metav1.ConditionFalse, reasonFull
		c.Message += " etcd refuses all writes."
	case percent >= nearlyFull:
		c.Status, c.Reason = metav1.ConditionFalse, reasonNearlyFull
		c.Message += " When it is full, etcd refuses all writes."
	default:
		return c
	}
	c.Message += " Delete what is not needed, or raise spec.controlPlane.extraArgs.etcd." + quotaArgument +
		". docs/guide/alerts.md#awsoperatoretcdnearlyfull says how."
	return c
}

// text writes a number of bytes as Kubernetes does, in MiB.
func text(bytes int64) string {
	const mib = 1 << 20
	return resource.NewQuantity((bytes+mib/2)/mib*mib, resource.BinarySI).String()
}
