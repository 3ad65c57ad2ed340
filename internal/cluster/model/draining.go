package model

import (
	"cmp"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Draining returns how long draining a group's node may take, the timeout of the hook that holds its machine meanwhile, and what
// happens after the first. It never errs: a spec that is not valid drains as its group does that was made before.
func Draining(u *v1alpha1.RollingUpdate) (timeout, hook time.Duration, policy v1alpha1.DrainPolicy) {
	timeout = drainTimeout
	if u.DrainTimeout != nil {
		timeout = max(0, u.DrainTimeout.Duration)
	}
	return timeout, min(max(timeout.Truncate(time.Second), shortestHook), longestHook), cmp.Or(u.OnDrainTimeout, v1alpha1.DrainContinue)
}
