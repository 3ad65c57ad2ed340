package model

import (
	"cmp"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Draining returns how long a drain of a group's node may take, the timeout of the lifecycle hook
// that holds its instance, and the policy at the drain's timeout. It returns no error: an invalid
// spec drains with the defaults.
func Draining(u *v1alpha1.RollingUpdate) (timeout, hook time.Duration, policy v1alpha1.DrainPolicy) {
	timeout = drainTimeout
	if u.DrainTimeout != nil {
		timeout = max(0, u.DrainTimeout.Duration)
	}
	return timeout, min(max(timeout.Truncate(time.Second), shortestHook), longestHook), cmp.Or(u.OnDrainTimeout, v1alpha1.DrainContinue)
}
