package model

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Limits of an update policy:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-updatepolicy.html
const (
	mostInBatch      = 100
	maxSignalTimeout = time.Hour
)

// Limits of a lifecycle hook's heartbeat timeout:
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutLifecycleHook.html
// What lasts longer is drained with heartbeats in between.
const (
	shortestHook = 30 * time.Second
	longestHook  = 7200 * time.Second
)

// minReadyTimeout is the shortest realistic time for a node to become Ready.
const minReadyTimeout = 10 * time.Second

// resolveRolling converts the settings of rolling updates to numbers. A percentage is of the
// maximum size for a batch and a surge, and of the minimum size for what stays in service, rounded
// up.
func (r *Group) resolveRolling(problems *Problems) {
	u := &r.Spec.RollingUpdate
	batch, ok := numberOf(u.BatchSize, r.Spec.MaxSize)
	if !ok || batch < 1 {
		problems.add(
			"spec.rollingUpdate.batchSize",
			"set a number of at least 1, or a percentage such as 25%",
			"%s is not a valid batch size",
			u.BatchSize,
		)
	}
	stay, ok := numberOf(u.MinInService, r.Spec.MinSize)
	if !ok || stay < 0 {
		problems.add(
			"spec.rollingUpdate.minInService",
			"set a number of at least 0, or a percentage such as 75%",
			"%s is not a valid minimum in service",
			u.MinInService,
		)
	}
	surge, ok := numberOf(u.Surge, r.Spec.MaxSize)
	if !ok || surge < 0 || u.Canary < 0 {
		problems.add(
			"spec.rollingUpdate.surge",
			"set numbers of at least 0, or a percentage such as 25%",
			"a surge of %s after a canary of %d is not valid",
			u.Surge,
			u.Canary,
		)
	}
	if u.Engine == v1alpha1.RollCloudFormation && (surge > 0 || u.Canary > 0) {
		problems.add(
			"spec.rollingUpdate.engine",
			"leave out surge and canary, or set engine to Operator",
			"CloudFormation supports neither surge nor canary",
		)
	}
	r.checkTimes(problems)
	if len(*problems) > 0 {
		return
	}
	drain := u.DrainTimeout.Duration
	r.Rolling = Rolling{
		Engine:    u.Engine,
		BatchSize: min(batch, r.Spec.MaxSize, mostInBatch),
		// The number must be less than the maximum size, or nothing could be replaced: the page
		// above requires it.
		MinInService: min(stay, r.Spec.MaxSize-1),
		Surge:        min(surge, r.Spec.MaxSize), Canary: u.Canary,
		Pause: u.Pause.Duration, ReadyTimeout: u.ReadyTimeout.Duration, SignalTimeout: u.Pause.Duration + u.ReadyTimeout.Duration,
		DrainTimeout: drain, OnDrainTimeout: u.OnDrainTimeout,
		HookTimeout: min(max(drain.Truncate(time.Second), shortestHook), longestHook),
	}
}

// checkTimes checks how long the steps of a rolling update may take.
func (r *Group) checkTimes(problems *Problems) {
	u := &r.Spec.RollingUpdate
	pause, ready, drain := u.Pause.Duration, u.ReadyTimeout.Duration, u.DrainTimeout.Duration
	if ready < minReadyTimeout || ready > maxSignalTimeout {
		problems.add(
			"spec.rollingUpdate.readyTimeout",
			fmt.Sprintf("set it to %s to %s", minReadyTimeout, maxSignalTimeout),
			"%s is not a valid timeout",
			ready,
		)
	} else if pause < 0 || pause > maxSignalTimeout-ready {
		problems.add(
			"spec.rollingUpdate.pause", fmt.Sprintf("set it to 0s to %s", maxSignalTimeout-ready), "%s is not a valid pause", pause,
		)
	}
	if drain < 0 {
		problems.add("spec.rollingUpdate.drainTimeout", "set it to 0s or more", "%s is not a valid drain timeout", drain)
	}
}

// numberOf returns a number, or a percentage of a total, rounded up. It returns false for other
// values.
func numberOf(value *intstr.IntOrString, of int32) (int32, bool) {
	number, err := intstr.GetScaledValueFromIntOrPercent(value, int(of), true)
	if err != nil || number != int(int32(number)) { //nolint:gosec // the range check itself
		return 0, false
	}
	return int32(number), true //nolint:gosec // checked above
}
